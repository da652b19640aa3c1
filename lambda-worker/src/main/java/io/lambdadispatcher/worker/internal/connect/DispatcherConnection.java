package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.worker.ControlCodec;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.Drain;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.ControlMessage.Goodbye;
import io.lambdadispatcher.wire.worker.ControlMessage.Hello;
import io.lambdadispatcher.wire.worker.ControlMessage.Peers;
import io.lambdadispatcher.wire.worker.ControlMessage.Readiness;
import io.lambdadispatcher.wire.worker.ControlMessage.Welcome;
import io.lambdadispatcher.wire.worker.ControlStream;
import io.lambdadispatcher.wire.worker.Endpoints;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.WireException;
import io.lambdadispatcher.wire.worker.WireLimits;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.internal.connect.ConnectionListener.Closing;
import io.lambdadispatcher.worker.internal.exchange.ServedRequests;
import io.lambdadispatcher.worker.internal.relay.ServedStream;
import io.lambdadispatcher.worker.internal.relay.StreamHost;
import io.lambdadispatcher.worker.internal.relay.WireCodes;
import io.lambdadispatcher.worker.internal.transport.Http2Client;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpScheme;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.AsciiString;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One worker connection, from the HTTP/2 preface to its end. Event loop only.
 *
 * <pre>
 *   GREETING ──WELCOME──▶ SERVING ──DRAIN sent or received──▶ DRAINING ──no exchange left──▶ ENDING
 *      ENDING ──our bodies have ended──▶ PARTING (GOODBYE sent) ──PING came back──▶ CLOSED
 * </pre>
 *
 * <p>After the worker has sent DRAIN, requests that were already in transit are still served. Later
 * requests are refused when a PING that was sent after the DRAIN has been answered. In the same
 * way, the channel is closed after GOODBYE only when the dispatcher has read everything. Each state
 * ends in CLOSED when the channel closes, when the peer is lost, or when the control stream fails.
 */
final class DispatcherConnection extends Http2Client.Owner implements StreamHost, ControlStream.Listener {
    private static final long GREETING_TIMEOUT_MILLIS = 10_000;
    private static final long PARTING_TIMEOUT_MILLIS = 2_000;

    private static final Logger log = LoggerFactory.getLogger(DispatcherConnection.class);

    private enum State {
        NEW,
        GREETING,
        SERVING,
        DRAINING,
        ENDING,
        PARTING,
        CLOSED
    }

    private final ConnectionSettings settings;
    private final Handler handler;
    private final ConnectionListener listener;
    private final Http2Client http2;
    private final ServedStreams streams;
    private final RoundTrips roundTrips;
    private final Runnable limitListener = this::onLimit;

    private State state = State.NEW;
    private @Nullable ControlStream control;
    private @Nullable LoadMeter load;
    private @Nullable Future<?> stateTimer;

    /** The negotiated version of the protocol. */
    private int version;

    /** {@code null} as long as only one dispatcher sends requests. */
    private Slots.@Nullable Share slots;

    private int busy;
    private boolean admitting = true;
    private long graceEndNanos;
    private boolean drained;
    /** Why it ends, unless it has drained. */
    private Closing.Cause cause = Closing.Cause.LOST;

    private boolean closing;
    private String ending = "";

    DispatcherConnection(
            ConnectionSettings settings, Handler handler, @Nullable Slots slots, ConnectionListener listener) {
        this.settings = settings;
        this.handler = handler;
        this.slots = slots == null ? null : slots.join(0, this::callDispatcher);
        this.listener = listener;
        this.http2 = Http2Client.create(this, settings.streamWindowBytes());
        this.roundTrips = new RoundTrips(http2);
        this.streams = new ServedStreams(
                http2, () -> open(request(Endpoints.STREAM_PATH)), stream -> new ServedStream(this, handler, stream));
        http2.connection().addListener(new StreamWatch());
    }

    // ---- opening

    @Override
    protected void onConnected(ChannelHandlerContext connected) {
        if (drained) {
            connected.close();
            return;
        }
        state = State.GREETING;
        openControl(settings.token());
        timeout(GREETING_TIMEOUT_MILLIS, () -> close("no WELCOME within " + GREETING_TIMEOUT_MILLIS + " ms"));
    }

    private void openControl(String token) {
        Http2Stream stream = open(request(Endpoints.CONTROL_PATH)
                .set(HttpHeaderNames.AUTHORIZATION, AsciiString.of(Endpoints.BEARER + token)));
        if (stream == null) {
            return;
        }
        control = new ControlStream(http2, stream, new ControlCodec(ControlCodec.Role.WORKER, token), this);
        control.send(new Hello(
                WireLimits.OLDEST_VERSION,
                WireLimits.PROTOCOL_VERSION,
                settings.streams(),
                settings.remainingMillis(),
                settings.agent(),
                System.getenv().getOrDefault("AWS_LAMBDA_FUNCTION_VERSION", ""),
                System.getenv().getOrDefault("AWS_LAMBDA_LOG_STREAM_NAME", ""),
                settings.zone()));
    }

    private Http2Headers request(AsciiString path) {
        return new DefaultHttp2Headers(false)
                .method(HttpMethod.POST.asciiName())
                .scheme((settings.tls() ? HttpScheme.HTTPS : HttpScheme.HTTP).name())
                .authority(settings.authority())
                .path(path)
                .set(HttpHeaderNames.CONTENT_TYPE, Endpoints.MEDIA_TYPE);
    }

    private @Nullable Http2Stream open(Http2Headers head) {
        int id = http2.connection().local().incrementAndGetNextStreamId();
        Future<Void> written = http2.encoder()
                .writeHeaders(http2.ctx(), id, head, 0, false, http2.ctx().newPromise());
        http2.flushSoon();
        Http2Stream stream = http2.connection().stream(id);
        if (stream == null) {
            close("stream " + id + " cannot be opened: " + written.cause());
        }
        return stream;
    }

    @Override
    public void onMessage(ControlMessage message, long offset) {
        if (message instanceof Welcome welcome && state == State.GREETING) {
            onWelcome(welcome);
        } else if (message instanceof Welcome change && change.downstreamShare() > 0) {
            settings.share().tell(change.downstreamShare());
        } else if (message instanceof Drain drain && state != State.GREETING) {
            onDrain(drain);
        } else if (message instanceof Peers peers && version >= WireLimits.PEERS_VERSION) {
            if (!listener.onPeers(peers.addresses())) {
                close("PEERS arrive too often");
            }
        } else if (message instanceof Goodbye goodbye) {
            close("the dispatcher said goodbye: " + goodbye.text());
        } else {
            close(message.type() + " in state " + state);
        }
    }

    private void onWelcome(Welcome welcome) {
        version = welcome.version();
        if (version < WireLimits.OLDEST_VERSION || version > WireLimits.PROTOCOL_VERSION) {
            close("protocol version " + version + ", expected " + WireLimits.OLDEST_VERSION + " to "
                    + WireLimits.PROTOCOL_VERSION);
            return;
        }
        state = State.SERVING;
        cancelTimeout();
        http2.watch(
                welcome.pingIntervalMillis(),
                welcome.pingTimeoutMillis(),
                silentMillis -> close("no byte from the dispatcher for " + silentMillis + " ms"));
        int opened = streams.open(settings.streams());
        if (opened < settings.streams()) {
            log.warn(
                    "the dispatcher allows {} worker streams, fewer than the {} configured",
                    opened,
                    settings.streams());
        }
        if (state == State.SERVING) {
            // A limit comes before the first request.
            load = new LoadMeter(
                    http2.ctx().executor(), settings.share()::confirmed, settings.limit()::requests, control()::send);
            settings.limit().add(limitListener);
            load.start();
            control().send(new Readiness(true));
            listener.onServing();
            // The dispatcher counts the worker when it has read all this.
            roundTrips.start(this::onCounted);
        }
    }

    /** The worker takes more or fewer requests at once. Any thread. */
    private void onLimit() {
        try {
            http2.ctx().executor().execute(() -> {
                if (load != null && state == State.SERVING) {
                    load.reportSoon();
                }
            });
        } catch (RejectedExecutionException e) {
            log.debug("the event loop has ended, and so has its connection");
        }
    }

    private void onCounted() {
        if (state == State.SERVING) {
            listener.onReady();
        }
    }

    // ---- closing

    /** Returns whether the connection is established, TLS included. */
    boolean isConnected() {
        return state != State.NEW;
    }

    /** Ends the connection when its exchanges have ended, or the grace period is over. */
    void drain(DrainCode reason, int graceMillis) {
        switch (state) {
            case NEW, GREETING -> {
                drained = true;
                close("drained before it was ready");
            }
            case SERVING -> {
                startDraining(reason, graceMillis);
                control().send(new Drain(reason, graceMillis));
                roundTrips.start(() -> {
                    admitting = false;
                    checkDrained();
                });
            }
            case DRAINING, ENDING -> shortenGrace(graceMillis);
            case PARTING, CLOSED -> {}
        }
    }

    /** The worker ends earlier than the dispatcher that drains this connection knows. */
    private void shortenGrace(int graceMillis) {
        if (graceMillis < graceLeft().toMillis()) {
            setGrace(graceMillis);
            streams.drain(Duration.ofMillis(graceMillis));
            timeout(graceMillis, state == State.DRAINING ? this::onGraceOver : this::part);
        }
    }

    private void setGrace(int graceMillis) {
        graceEndNanos = http2.ctx().executor().ticker().nanoTime() + TimeUnit.MILLISECONDS.toNanos(graceMillis);
    }

    private Duration graceLeft() {
        return Duration.ofNanos(
                Math.max(0, graceEndNanos - http2.ctx().executor().ticker().nanoTime()));
    }

    private void onDrain(Drain drain) {
        admitting = false;
        if (state == State.SERVING) {
            int graceMillis = Math.max(0, drain.graceMillis());
            startDraining(drain.reason(), graceMillis);
            listener.onDrain(WireCodes.reason(drain.reason()), Duration.ofMillis(graceMillis));
        }
        checkDrained();
    }

    /** Tells a dispatcher that drains this connection that the worker stays for others. */
    void leave() {
        if (version >= WireLimits.PEERS_VERSION) {
            control().send(new Drain(DrainCode.LEAVING, settings.drainGraceMillis()));
        }
    }

    private void startDraining(DrainCode reason, int graceMillis) {
        state = State.DRAINING;
        drained = true;
        ending = "drained: " + PrintableText.of(reason);
        setGrace(graceMillis);
        timeout(graceMillis, this::onGraceOver);
        streams.drain(Duration.ofMillis(graceMillis));
    }

    @Override
    public @Nullable Duration drainGrace() {
        return drained ? graceLeft() : null;
    }

    private void onGraceOver() {
        admitting = false;
        streams.abort("the worker's drain grace period has ended");
        if (state == State.DRAINING) {
            end();
        }
    }

    private void checkDrained() {
        if (state == State.DRAINING && !admitting && busy == 0) {
            end();
        }
    }

    private void end() {
        state = State.ENDING;
        // The last responses can still wait for the dispatcher's window.
        timeout(graceLeft().toMillis(), this::part);
        streams.end();
        checkEnded();
    }

    private void checkEnded() {
        if (state == State.ENDING && streams.haveEnded()) {
            part();
        }
    }

    private void part() {
        if (state != State.ENDING) {
            return;
        }
        state = State.PARTING;
        control().sendLast(new Goodbye(ending));
        timeout(PARTING_TIMEOUT_MILLIS, () -> close(ending));
        roundTrips.start(() -> close(ending));
    }

    private void close(String why) {
        if (state == State.CLOSED || closing) {
            return;
        }
        ending = why;
        if (state != State.NEW) {
            closing = true;
            // Bypasses the HTTP/2 handler, whose own close would wait for streams that never end by
            // themselves.
            http2.ctx().close();
        }
    }

    @Override
    protected void onInactive(@Nullable Throwable failure) {
        if (state == State.CLOSED) {
            return;
        }
        state = State.CLOSED;
        cancelTimeout();
        settings.limit().remove(limitListener);
        if (load != null) {
            load.stop();
        }
        if (control != null) {
            control.close();
        }
        if (slots != null) {
            slots.close();
        }
        streams.close();
        if (ending.isEmpty()) {
            ending = failure == null ? "closed by the dispatcher" : failure.toString();
        }
        listener.onClosed(new Closing(drained ? Closing.Cause.DRAINED : cause, ending));
    }

    private void timeout(long millis, Runnable action) {
        cancelTimeout();
        stateTimer = http2.ctx().executor().schedule(action, millis, TimeUnit.MILLISECONDS);
    }

    private void cancelTimeout() {
        if (stateTimer != null) {
            stateTimer.cancel(false);
            stateTimer = null;
        }
    }

    // ---- frames

    @Override
    public void onHeadersRead(
            ChannelHandlerContext reading, int streamId, Http2Headers headers, int padding, boolean endOfStream) {
        CharSequence status = headers.status();
        boolean accepted = status != null && AsciiString.contentEquals("200", status) && !endOfStream;
        if (isControl(streamId)) {
            CharSequence type = headers.get(HttpHeaderNames.CONTENT_TYPE);
            if (!accepted || !AsciiString.contentEquals(Endpoints.MEDIA_TYPE, type)) {
                onRefused(status);
            }
            return;
        }
        ServedStream stream = streams.of(streamId);
        if (stream != null && !accepted) {
            log.warn(
                    "the dispatcher rejected worker stream {} with status {}",
                    streamId,
                    HeaderSyntax.printable(String.valueOf(status)));
            stream.onPeerEnded();
        }
    }

    private void onRefused(@Nullable CharSequence status) {
        Refusal refusal = Refusal.of(settings.authority(), status);
        cause = refusal.cause();
        close(refusal.detail());
    }

    @Override
    public int onDataRead(ChannelHandlerContext reading, int streamId, ByteBuf data, int padding, boolean endOfStream) {
        int bytes = data.readableBytes() + padding;
        if (isControl(streamId)) {
            readControl(data, endOfStream);
            return bytes;
        }
        ServedStream stream = streams.of(streamId);
        if (stream == null) {
            return bytes;
        }
        int done = stream.read(data) + padding;
        if (endOfStream) {
            stream.onPeerEnded();
        }
        return done;
    }

    private void readControl(ByteBuf data, boolean endOfStream) {
        if (state == State.CLOSED || closing) {
            return;
        }
        try {
            control().read(data);
        } catch (WireException e) {
            close("control stream broken: " + e.getMessage());
            return;
        }
        if (endOfStream && state != State.PARTING) {
            close("the dispatcher ended the control stream");
        }
    }

    @Override
    public void onGoAwayRead(ChannelHandlerContext reading, int lastStreamId, long errorCode, ByteBuf debugData) {
        if (state == State.SERVING) {
            onDrain(new Drain(DrainCode.SHUTDOWN, settings.drainGraceMillis()));
        }
    }

    @Override
    public void onPingAckRead(ChannelHandlerContext reading, long data) {
        roundTrips.onPingAck(data);
    }

    private boolean isControl(int streamId) {
        return control != null && control.stream().id() == streamId;
    }

    /** Watches the end of streams, because not each end is visible in frames. */
    private final class StreamWatch extends Http2ConnectionAdapter {
        @Override
        public void onStreamHalfClosed(Http2Stream stream) {
            checkSoon();
        }

        @Override
        public void onStreamClosed(Http2Stream stream) {
            if (state == State.CLOSED || !http2.ctx().channel().isActive()) {
                return;
            }
            if (isControl(stream.id())) {
                if (state != State.PARTING) {
                    close("the control stream was reset");
                }
                return;
            }
            if (streams.onClosed(stream)) {
                checkSoon();
            }
        }

        /** In a separate task, because nothing may be written during a flush. */
        private void checkSoon() {
            if (state == State.ENDING) {
                http2.ctx().executor().execute(DispatcherConnection.this::checkEnded);
            }
        }
    }

    // ---- calls from the streams

    @Override
    public CoalescingHttp2Handler http2() {
        return http2;
    }

    private ControlStream control() {
        return Objects.requireNonNull(control, "used before the channel was active");
    }

    @Override
    public boolean admits() {
        return admitting;
    }

    /** Uses slots for all exchanges, those in flight included. */
    void share(Slots shared) {
        slots = shared.join(busy, this::callDispatcher);
    }

    /** Tells the dispatcher that the worker has room for one of its requests. Any thread. */
    private void callDispatcher() {
        http2.ctx().executor().execute(() -> {
            if (canCall()) {
                control().send(new Readiness(true));
            }
        });
    }

    private boolean canCall() {
        return state == State.SERVING && version >= WireLimits.PEERS_VERSION;
    }

    @Override
    public boolean onExchangeStarted() {
        busy++;
        if (slots != null && !slots.take(canCall())) {
            return false;
        }
        listener.onExchangeStarted();
        return true;
    }

    @Override
    public ErrorCode busyCode() {
        return version >= WireLimits.PEERS_VERSION ? ErrorCode.BUSY : ErrorCode.REFUSED;
    }

    @Override
    public void onExchangeEnded(boolean admitted, boolean failed, long requestBytes, long responseBytes) {
        busy--;
        if (admitted) {
            if (slots != null) {
                slots.give();
            }
            if (handler.servesInProcess()) {
                ServedRequests.onServed();
            }
            listener.onExchangeEnded(failed, requestBytes, responseBytes);
        }
        checkDrained();
    }
}
