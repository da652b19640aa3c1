package io.lambdadispatcher.worker.web;

import io.lambdadispatcher.wire.FlatHeadersDecoder;
import io.lambdadispatcher.wire.WireLimits;
import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.http2.EagerFrameReader;
import io.lambdadispatcher.wire.http2.FairFlowController;
import io.lambdadispatcher.wire.http2.GatheringFrameWriter;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionDecoder;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionEncoder;
import io.netty.handler.codec.http2.DefaultHttp2LocalFlowController;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One HTTP/2 connection to the application, with a stream for each exchange. Usable from the application's SETTINGS on, until it says
 * GOAWAY or is gone. Event loop only.
 */
final class H2cConnection extends Http2EventAdapter {
    private static final int STREAM_WINDOW_BYTES = 512 * 1024;
    private static final int CONNECTION_WINDOW_BYTES = 16 * 1024 * 1024;
    private static final int INITIAL_WINDOW_BYTES = 65_535;

    /** RFC 8441 section 3. */
    private static final char ENABLE_CONNECT_PROTOCOL = 0x8;

    private static final Logger log = LoggerFactory.getLogger(H2cConnection.class);

    private final H2cUpstream upstream;
    private final Handler http2;
    private final Http2Connection.PropertyKey exchangeKey;

    private @Nullable ChannelHandlerContext ctx;
    private boolean ready;
    private boolean ended;
    private boolean used;
    private boolean webSockets;
    private int lastTakenStreamId = Integer.MAX_VALUE;
    private long idleSinceNanos;
    private long idleSinceMillis;
    private @Nullable Future<?> settingsTimer;

    H2cConnection(H2cUpstream upstream) {
        this.upstream = upstream;
        this.http2 = Handler.create(this);
        this.exchangeKey = http2.connection().newKey();
        http2.connection().addListener(new StreamWatch());
        noteIdle();
    }

    CoalescingHttp2Handler http2() {
        return http2;
    }

    ChannelHandlerContext ctx() {
        if (ctx == null) {
            throw new IllegalStateException("used before the channel was active");
        }
        return ctx;
    }

    /** It takes WebSockets (RFC 8441). */
    boolean takesWebSockets() {
        return webSockets;
    }

    boolean isUsed() {
        return used;
    }

    boolean hasRoom() {
        return !ended
                && http2.connection().local().canOpenStream()
                && !http2.connection().goAwayReceived();
    }

    /** Nothing is under way, and it has slept for longer than the limit, by either clock. */
    boolean isStale(long limitNanos) {
        if (http2.connection().numActiveStreams() > 0) {
            return false;
        }
        long wallMillis = upstream.clocks().wallMillis() - idleSinceMillis;
        return Math.max(upstream.clocks().nanos() - idleSinceNanos, TimeUnit.MILLISECONDS.toNanos(wallMillis))
                >= limitNanos;
    }

    private void noteIdle() {
        idleSinceNanos = upstream.clocks().nanos();
        idleSinceMillis = upstream.clocks().wallMillis();
    }

    /** @return {@code null} if the connection takes no more streams after all */
    @Nullable
    Http2Stream open(H2cExchange exchange, Http2Headers head, boolean end) {
        int id = http2.connection().local().incrementAndGetNextStreamId();
        if (id < 0) {
            close();
            return null;
        }
        http2.encoder().writeHeaders(ctx(), id, head, 0, end, ctx().newPromise());
        http2.flushSoon();
        Http2Stream stream = http2.connection().stream(id);
        if (stream != null) {
            stream.setProperty(exchangeKey, exchange);
        }
        return stream;
    }

    void writeTrailers(Http2Stream stream, Http2Headers trailers) {
        http2.encoder().writeHeaders(ctx(), stream.id(), trailers, 0, true, http2.headPromise(stream));
        http2.flushSoon();
    }

    void reset(Http2Stream stream, Http2Error error) {
        if (stream.state() != Http2Stream.State.CLOSED && !stream.isResetSent()) {
            http2.resetStream(ctx(), stream.id(), error.code(), ctx().newPromise());
            http2.flushSoon();
        }
    }

    /** The client has taken octets of the response. */
    void giveBack(Http2Stream stream, int bytes) {
        if (bytes == 0 || stream.state() == Http2Stream.State.CLOSED) {
            return;
        }
        try {
            if (http2.connection().local().flowController().consumeBytes(stream, bytes)) {
                http2.flushSoon();
            }
        } catch (Http2Exception e) {
            http2.onError(ctx(), false, e);
        }
    }

    void close() {
        ended = true;
        if (ctx != null) {
            ctx.close();
        }
    }

    // ---- the connection

    private void onConnected(ChannelHandlerContext connected) throws Http2Exception {
        ctx = connected;
        Http2Connection connection = http2.connection();
        connection
                .local()
                .flowController()
                .incrementWindowSize(connection.connectionStream(), CONNECTION_WINDOW_BYTES - INITIAL_WINDOW_BYTES);
        http2.flushSoon();
        settingsTimer = connected
                .executor()
                .schedule(() -> connected.close(), Http1Upstream.CONNECT_TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
    }

    @Override
    public void onSettingsRead(ChannelHandlerContext reading, Http2Settings settings) {
        Long enabled = settings.get(ENABLE_CONNECT_PROTOCOL);
        webSockets |= enabled != null && enabled == 1;
        if (!ready) {
            ready = true;
            stopTimer();
            // The rest of the frame's handling comes after this call: the limits in it hold for the first stream too.
            reading.executor().execute(this::onReady);
        }
    }

    private void onReady() {
        if (ended) {
            upstream.onNotReady(new java.io.IOException("the app closed the connection after its settings"));
        } else {
            upstream.onReady(this);
        }
    }

    private void stopTimer() {
        if (settingsTimer != null) {
            settingsTimer.cancel(false);
            settingsTimer = null;
        }
    }

    private void onInactive() {
        boolean wasReady = ready;
        ended = true;
        ready = true;
        stopTimer();
        upstream.onClosed(this);
        if (!wasReady) {
            upstream.onNotReady(new java.io.IOException("the app closed the connection, expected HTTP/2 settings"));
        }
    }

    @Override
    public void onGoAwayRead(ChannelHandlerContext reading, int lastStreamId, long errorCode, ByteBuf debugData) {
        log.debug("the app says goodbye: error {}, last stream {}", errorCode, lastStreamId);
        lastTakenStreamId = lastStreamId;
        upstream.onClosed(this);
        if (http2.connection().numActiveStreams() == 0) {
            close();
        }
        ended = true;
    }

    // ---- the streams

    private @Nullable H2cExchange exchange(int streamId) {
        Http2Stream stream = http2.connection().stream(streamId);
        return stream == null ? null : stream.getProperty(exchangeKey);
    }

    @Override
    public void onHeadersRead(
            ChannelHandlerContext reading, int streamId, Http2Headers headers, int padding, boolean endOfStream) {
        H2cExchange exchange = exchange(streamId);
        if (exchange != null) {
            used = true;
            exchange.onHeaders(headers, endOfStream);
        }
    }

    @Override
    public void onHeadersRead(
            ChannelHandlerContext reading,
            int streamId,
            Http2Headers headers,
            int streamDependency,
            short weight,
            boolean exclusive,
            int padding,
            boolean endOfStream) {
        onHeadersRead(reading, streamId, headers, padding, endOfStream);
    }

    @Override
    public int onDataRead(ChannelHandlerContext reading, int streamId, ByteBuf data, int padding, boolean endOfStream) {
        int bytes = data.readableBytes();
        H2cExchange exchange = exchange(streamId);
        return exchange == null ? bytes + padding : exchange.onData(data, endOfStream) + padding;
    }

    @Override
    public void onRstStreamRead(ChannelHandlerContext reading, int streamId, long errorCode) {
        H2cExchange exchange = exchange(streamId);
        if (exchange != null) {
            exchange.onReset(Http2Error.valueOf(errorCode));
        }
    }

    /** Streams end in more ways than frames tell. */
    private final class StreamWatch extends Http2ConnectionAdapter {
        @Override
        public void onStreamClosed(Http2Stream stream) {
            H2cExchange exchange = stream.getProperty(exchangeKey);
            if (exchange != null) {
                exchange.onStreamClosed(stream.id() > lastTakenStreamId);
            }
            if (http2.connection().numActiveStreams() == 0) {
                noteIdle();
                if (http2.connection().goAwayReceived()) {
                    ctx().executor().execute(H2cConnection.this::close);
                }
            }
        }
    }

    /** Netty's HTTP/2 as a client. */
    private static final class Handler extends CoalescingHttp2Handler {
        private final H2cConnection owner;
        private boolean started;

        private Handler(
                Http2ConnectionDecoder decoder,
                Http2ConnectionEncoder encoder,
                GatheringFrameWriter frames,
                Http2Settings settings,
                H2cConnection owner) {
            super(decoder, encoder, frames, settings);
            this.owner = owner;
        }

        static Handler create(H2cConnection owner) {
            DefaultHttp2Connection connection = new DefaultHttp2Connection(false);
            connection
                    .local()
                    .flowController(new DefaultHttp2LocalFlowController(
                            connection, DefaultHttp2LocalFlowController.DEFAULT_WINDOW_UPDATE_RATIO, true));
            connection.remote().flowController(new FairFlowController(connection));
            GatheringFrameWriter frames = new GatheringFrameWriter();
            Http2ConnectionEncoder encoder = new DefaultHttp2ConnectionEncoder(connection, frames);
            Http2ConnectionDecoder decoder = new DefaultHttp2ConnectionDecoder(
                    connection,
                    encoder,
                    new EagerFrameReader(new FlatHeadersDecoder(WireLimits.MAX_HEAD_LIST_BYTES, 0)));
            decoder.frameListener(owner);
            Http2Settings settings =
                    Http2Settings.defaultSettings().pushEnabled(false).initialWindowSize(STREAM_WINDOW_BYTES);
            return new Handler(decoder, encoder, frames, settings, owner);
        }

        @Override
        public void handlerAdded(ChannelHandlerContext added) throws Exception {
            super.handlerAdded(added);
            startIfActive(added);
        }

        @Override
        public void channelActive(ChannelHandlerContext active) throws Exception {
            super.channelActive(active);
            startIfActive(active);
        }

        private void startIfActive(ChannelHandlerContext active) throws Exception {
            if (!started && active.channel().isActive()) {
                started = true;
                owner.onConnected(active);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext inactive) throws Exception {
            owner.ended = true;
            super.channelInactive(inactive);
            owner.onInactive();
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext failed, Throwable cause) throws Exception {
            log.debug("connection to the app failed", cause);
            super.exceptionCaught(failed, cause);
            if (!(cause instanceof Http2Exception)) {
                failed.close();
            }
        }
    }
}
