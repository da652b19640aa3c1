package io.lambdadispatcher.core.internal.worker;

import static io.netty.handler.codec.http.HttpResponseStatus.FORBIDDEN;

import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.PoolShard;
import io.lambdadispatcher.core.internal.pool.PooledConnection;
import io.lambdadispatcher.core.internal.worker.WorkerEvents.Departure;
import io.lambdadispatcher.core.internal.worker.WorkerEvents.Rejection;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.worker.ControlCodec;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.ControlStream;
import io.lambdadispatcher.wire.worker.FrameType;
import io.lambdadispatcher.wire.worker.WireException;
import io.lambdadispatcher.wire.worker.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection of an admitted worker: its control stream, which reports the worker's state and
 * load, and its worker streams. Confined to its event loop, except for {@link #drain}, {@link
 * #goodbye}, {@link #tellShare} and {@link #onPeersChanged}, which pass their work to it.
 */
public final class WorkerConnection extends DialIn implements ControlStream.Listener, WorkerLink {

    private enum State {
        /** The token is valid. HELLO is expected. */
        ADMITTED,
        /** Worker streams may open. */
        WELCOMED,
        /** No exchange starts any more. */
        DRAINING,
        CLOSED
    }

    private static final Logger log = LoggerFactory.getLogger(WorkerConnection.class);
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);

    /**
     * Maximum in 10 s. Our worker sends LOAD every 5 s, and few other messages. READINESS that says
     * that the worker has room again does not count, because at most one comes for each exchange.
     */
    private static final int MAX_CONTROL_MESSAGES = 100;

    /**
     * Maximum in 10 s for each worker stream. Our worker opens a lost worker stream again after a
     * second, so it loses each at most ten times in ten seconds.
     */
    private static final int MAX_LOSSES_OF_EACH_STREAM = 10;

    private static final int MAX_OTHER_LOST_STREAMS = 100;

    final PoolShard shard;
    final PooledConnection pooled;
    private final String workerId;
    private final ControlStream control;
    private final Http2Connection.PropertyKey streamKey;
    private final DeadlineQueue<WorkerStream> expected;

    private final EventRate controlMessages = new EventRate();
    private final EventRate lostStreams = new EventRate();

    private State state = State.ADMITTED;

    /** A drain that was asked for before HELLO. */
    private @Nullable Runnable drainLater;

    private boolean ready;
    private Departure departure = Departure.LOST;

    /** How often the worker has said that it has room again. */
    private long calls;

    /** The negotiated version of the protocol. */
    private int version;

    private List<String> sentPeers = List.of();

    /** Whether the worker closes only this connection, and keeps serving. */
    private boolean leaving;

    private int streamLimit;

    /** The most exchanges at once, as the worker wants it: {@link #streamLimit} or less. */
    private volatile int statedLimit;

    private int openStreams;
    private @Nullable Instant deadline;
    private String goneReason = "the connection was closed";

    /** @param token the launch token as it was sent */
    WorkerConnection(Admission admission, Http2Stream stream, String token, String workerId, PoolShard shard) {
        super(admission.port, admission.handler);
        this.workerId = workerId;
        this.shard = shard;
        this.pooled = new PooledConnection(workerId);
        this.control = new ControlStream(handler, stream, new ControlCodec(ControlCodec.Role.DISPATCHER, token), this);
        this.streamKey = handler.connection().newKey();
        this.expected = new DeadlineQueue<>(loop(), PATIENCE_NANOS, this::onUnanswered);
    }

    void start() {
        handler.onAdmitted(this);
        accept(control.stream());
    }

    @Override
    public String workerId() {
        return workerId;
    }

    @Override
    public FunctionPool pool() {
        return shard.pool();
    }

    @Override
    public @Nullable Instant deadline() {
        return deadline;
    }

    @Override
    public int streams() {
        return statedLimit;
    }

    // From the peer: HTTP/2.

    @Override
    public void onHeadersRead(ChannelHandlerContext c, int id, Http2Headers head, int padding, boolean end) {
        Http2Stream stream = handler.connection().stream(id);
        if (stream != null && (stream == control.stream() || stream.getProperty(streamKey) != null)) {
            reset(stream); // trailers: neither kind of stream has any
            onStreamLost();
        } else {
            super.onHeadersRead(c, id, head, padding, end);
        }
    }

    @Override
    void onControlStream(Http2Stream stream, Http2Headers head) {
        refuse(stream, FORBIDDEN, Rejection.PROTOCOL, "a second control stream");
        onStreamLost();
    }

    @Override
    void onWorkerStream(Http2Stream stream) {
        if (state != State.WELCOMED && state != State.DRAINING) {
            refuse(stream, FORBIDDEN, Rejection.PROTOCOL, "a worker stream before WELCOME");
            onStreamLost();
        } else if (openStreams == streamLimit) {
            port.observer.onProtection(Protection.WORKER_LIMIT);
            refuse(
                    stream,
                    FORBIDDEN,
                    Rejection.LIMIT,
                    "more worker streams than the " + streamLimit + " that it may open");
            onStreamLost();
        } else {
            openStreams++;
            WorkerStream workerStream = new WorkerStream(this, stream);
            stream.setProperty(streamKey, workerStream);
            accept(stream);
            shard.workers().onStreamOpened(pooled, workerStream);
        }
    }

    @Override
    public void onRstStreamRead(ChannelHandlerContext c, int id, long errorCode) {
        Http2Stream stream = handler.connection().stream(id);
        WorkerStream workerStream = stream == null ? null : stream.getProperty(streamKey);
        if (workerStream != null && errorCode == Http2Error.INTERNAL_ERROR.code()) {
            workerStream.onResponseMisused();
        }
        onStreamLost();
    }

    /**
     * The worker has reset a stream, has violated the protocol on it, or was refused it. A few of
     * these events are harmless, but a flood slows down all other connections of the event loop.
     */
    void onStreamLost() {
        int limit = MAX_OTHER_LOST_STREAMS + MAX_LOSSES_OF_EACH_STREAM * streamLimit;
        if (lostStreams.exceeds(nanoTime(), limit)) {
            cutOff("more than " + limit + " streams reset or refused within 10 s");
        }
    }

    private void cutOff(String reason) {
        port.observer.onProtection(Protection.WORKER_LIMIT);
        port.violations.warn("worker {} at {}: {}", workerId, remoteAddress(), reason);
        close(reason);
    }

    @Override
    public int onDataRead(ChannelHandlerContext c, int id, ByteBuf data, int padding, boolean end) {
        Http2Stream stream = handler.connection().stream(id);
        int bytes = data.readableBytes();
        if (stream == null) {
            return bytes + padding;
        }
        WorkerStream workerStream = stream.getProperty(streamKey);
        if (workerStream != null) {
            int done = workerStream.onBytes(data);
            if (end) {
                // Normal for a worker that exits. During an exchange, it is a loss like any other.
                workerStream.close("the worker ended its stream");
                handler.reset(stream, Http2Error.NO_ERROR);
                if (state == State.WELCOMED) {
                    onStreamLost();
                }
            }
            return done + padding;
        }
        if (stream == control.stream()) {
            readControl(data);
            if (end) {
                close(departure == Departure.LOST ? "the worker ended its control stream" : goneReason);
            }
        }
        return bytes + padding;
    }

    @Override
    public void onStreamClosed(Http2Stream stream) {
        WorkerStream workerStream = stream.removeProperty(streamKey);
        if (workerStream != null) {
            workerStream.close(state == State.CLOSED ? goneReason : "its stream was reset");
        } else if (stream == control.stream() && state != State.CLOSED) {
            close("its control stream was reset");
        }
    }

    // From the peer: control.

    private void readControl(ByteBuf data) {
        if (state == State.CLOSED) {
            return;
        }
        try {
            control.read(data);
        } catch (WireException e) {
            String violation = String.valueOf(e.getMessage());
            port.onRejected(remoteAddress(), Rejection.PROTOCOL, "worker " + workerId + ": " + violation);
            close(violation);
        }
    }

    @Override
    public void onMessage(ControlMessage message, long offset) throws WireException {
        FrameType type = message.type();
        boolean call = ready && message instanceof ControlMessage.Readiness again && again.ready();
        boolean answer = call && ++calls <= pooled.started();
        if (!answer && controlMessages.exceeds(nanoTime(), MAX_CONTROL_MESSAGES)) {
            port.observer.onProtection(Protection.WORKER_LIMIT);
            throw new WireException(
                    WireException.Reason.FRAME_NOT_ALLOWED_HERE,
                    offset,
                    "more than " + MAX_CONTROL_MESSAGES + " control messages within 10 s");
        }
        if ((type == FrameType.HELLO) != (state == State.ADMITTED) || type == FrameType.WELCOME) {
            throw new WireException(WireException.Reason.FRAME_NOT_ALLOWED_HERE, offset, type + " in state " + state);
        }
        if (message instanceof ControlMessage.Hello hello) {
            onHello(hello, offset);
        } else if (message instanceof ControlMessage.Readiness readiness) {
            onReadiness(readiness.ready());
        } else if (message instanceof ControlMessage.Load load) {
            shard.workers().onRequestCpu(pooled, load.requestCpuMicros());
            onRequestLimit(load.requestLimit());
            port.events.onLoad(this, load);
            port.observer.onWorkerLoad(
                    function(), workerId, load.cpuPermille(), load.memoryPermille(), load.loopLagMicros());
        } else if (message instanceof ControlMessage.Drain drain) {
            leaving |= drain.reason() == DrainCode.LEAVING;
            onDrain(drain.reason());
        } else if (message instanceof ControlMessage.Goodbye goodbye) {
            departure = leaving ? Departure.LEFT : Departure.ENDED;
            goneReason = "the worker said goodbye: " + goodbye.text();
        }
    }

    /** @param requests 0 = as many as there are worker streams */
    private void onRequestLimit(int requests) {
        int stated = requests == 0 ? streamLimit : Math.min(requests, streamLimit);
        if (stated != statedLimit) {
            statedLimit = stated;
            shard.workers().onStated(pooled, requests == 0 ? Integer.MAX_VALUE : requests);
            if (ready && state == State.WELCOMED) {
                port.events.onReadiness(this, true);
            }
        }
    }

    private String function() {
        return pool().options().name();
    }

    private void onHello(ControlMessage.Hello hello, long offset) throws WireException {
        version = Math.min(hello.maxVersion(), WireLimits.PROTOCOL_VERSION);
        if (version < Math.max(hello.minVersion(), WireLimits.OLDEST_VERSION)) {
            throw new WireException(
                    WireException.Reason.UNSUPPORTED_VERSION,
                    offset,
                    "worker speaks versions " + hello.minVersion() + " to " + hello.maxVersion() + ", this dispatcher "
                            + WireLimits.OLDEST_VERSION + " to " + WireLimits.PROTOCOL_VERSION);
        }
        state = State.WELCOMED;
        handler.onHandshakeEnd();
        streamLimit = Math.min(hello.streams(), pool().options().streamsPerConnection());
        statedLimit = streamLimit;
        if (streamLimit < hello.streams()) {
            tellStreamLimit(hello.streams());
        }
        if (hello.remainingMillis() != ControlMessage.Hello.NO_DEADLINE) {
            deadline = Instant.now().plusMillis(Integer.toUnsignedLong(hello.remainingMillis()));
        }
        pooled.setKind(port.events.onHello(this, hello));
        shard.workers().onMember(pooled);
        String zone = port.access().zone();
        if (!zone.isEmpty() && !hello.zone().isEmpty() && !zone.equals(hello.zone())) {
            pooled.onOtherZone(streamLimit);
        }
        // Twice the sum of the streams' windows, so that streams whose clients do not read cannot
        // block the others: the worker learns of bytes that were read when they are half of the
        // window.
        long windowBytes = 2L * streamLimit * WorkerPort.STREAM_WINDOW_BYTES;
        handler.growConnectionWindow((int) Math.min(Integer.MAX_VALUE / 2, windowBytes));
        long intervalMillis = port.access().pingInterval().toMillis();
        long timeoutMillis = port.access().pingTimeout().toMillis();
        handler.watch(
                intervalMillis,
                timeoutMillis,
                silentMillis -> close("no answer to a ping, and no other byte for " + silentMillis + " ms"));
        control.send(new ControlMessage.Welcome(version, (int) intervalMillis, (int) timeoutMillis));
        sendPeers();
        log.debug(
                "received HELLO from worker {} at {}: {}, {} streams",
                workerId,
                remoteAddress(),
                hello.agent(),
                streamLimit);
        port.observer.onWorkerConnected(function(), workerId, remoteAddress(), streamLimit);
        if (drainLater != null) {
            drainLater.run();
        }
    }

    /** Announces the limit in SETTINGS. Further streams of a worker that ignores it are refused. */
    private void tellStreamLimit(int announced) {
        port.observer.onProtection(Protection.WORKER_LIMIT);
        log.info("worker {} announces {} streams, but at most {} are allowed", workerId, announced, streamLimit);
        Http2Settings settings = new Http2Settings().maxConcurrentStreams(streamLimit + 1L);
        handler.encoder().writeSettings(handler.ctx(), settings, handler.ctx().newPromise());
    }

    private void onReadiness(boolean nowReady) {
        if (state == State.WELCOMED && ready && nowReady) {
            shard.workers().onRoom(pooled);
        } else if (state == State.WELCOMED && ready != nowReady) {
            ready = nowReady;
            shard.workers().setOpen(pooled, nowReady);
            port.events.onReadiness(this, nowReady);
        }
    }

    private void onDrain(DrainCode reason) {
        if (state == State.WELCOMED) {
            state = State.DRAINING;
            shard.workers().setOpen(pooled, false);
            if (leaving) {
                port.events.onReadiness(this, false);
            } else {
                port.events.onDrain(this, reason);
            }
        }
    }

    // To the peer.

    @Override
    public void drain(DrainCode reason, Duration grace) {
        loop().execute(() -> {
            if (state == State.ADMITTED) {
                // A worker expects WELCOME first.
                drainLater = () -> drain(reason, grace);
            } else if (state == State.WELCOMED) {
                state = State.DRAINING;
                shard.workers().setOpen(pooled, false);
                control.send(new ControlMessage.Drain(reason, (int) Math.min(Integer.MAX_VALUE, grace.toMillis())));
            }
        });
    }

    /**
     * Tells the worker how many downstream connections it may have. The worker must have reported a
     * share, because others do not expect this message. Any thread.
     */
    @Override
    public void tellShare(int connections) {
        loop().execute(() -> {
            if (state == State.WELCOMED) {
                control.send(new ControlMessage.Welcome(
                        version,
                        (int) port.access().pingInterval().toMillis(),
                        (int) port.access().pingTimeout().toMillis(),
                        connections));
            }
        });
    }

    @Override
    public void onPeersChanged() {
        loop().execute(this::sendPeers);
    }

    private void sendPeers() {
        List<String> peers = port.events.peers();
        boolean open = state == State.WELCOMED || state == State.DRAINING;
        if (open && version >= WireLimits.PEERS_VERSION && !peers.isEmpty() && !peers.equals(sentPeers)) {
            sentPeers = peers;
            if (peers.size() > 1) {
                pool().setShared();
            }
            control.send(ControlMessage.Peers.ofFirst(peers));
        }
    }

    @Override
    public void goodbye(String text) {
        loop().execute(() -> part(Departure.ENDED, text));
    }

    @Override
    public void dismiss(String text) {
        loop().execute(() -> part(Departure.LEFT, text));
    }

    private void part(Departure as, String text) {
        if (state != State.CLOSED) {
            if (departure == Departure.LOST) {
                departure = leaving ? Departure.LEFT : as; // A worker that leaves serves others.
            }
            control.send(new ControlMessage.Goodbye(text));
            handler.flush(handler.ctx());
            close(text);
        }
    }

    void reset(Http2Stream stream) {
        handler.reset(stream, Http2Error.PROTOCOL_ERROR);
    }

    // For its worker streams.

    /** A stream could not write a frame, and is lost. */
    void onUnsent(Http2Stream stream, Throwable cause) {
        port.violations.warn(
                "worker {} at {}, stream {}: could not send, the stream is lost",
                workerId,
                remoteAddress(),
                stream.id(),
                cause);
        reset(stream);
    }

    void onViolation(Http2Stream stream, WireException violation) {
        port.violations.warnOf(
                violation.reason().name(),
                "worker {} at {}, stream {}: {}",
                workerId,
                remoteAddress(),
                stream.id(),
                violation.getMessage());
        reset(stream);
        onStreamLost();
    }

    long nanoTime() {
        return loop().ticker().nanoTime();
    }

    void onStreamClosed(WorkerStream stream, boolean wasFree) {
        openStreams--;
        shard.workers().onStreamClosed(pooled, stream, wasFree);
    }

    /** The stream waits for the worker to end a response or to take bytes. */
    void expectFromWorker(WorkerStream stream) {
        expected.add(stream, nanoTime());
    }

    void onAnswered(WorkerStream stream) {
        expected.remove(stream);
    }

    private void onUnanswered(WorkerStream stream) {
        String owed = stream.owed();
        port.violations.warn(
                "worker {}, stream {}: {}", workerId, stream.http2().id(), owed);
        reset(stream.http2());
        stream.close(owed);
    }

    // Its end.

    void onHandshakeTimeout() {
        if (state == State.ADMITTED) {
            close("no HELLO within " + port.access().handshakeTimeout().toMillis() + " ms");
        }
    }

    /** An exception of the dispatcher ends the connection. */
    void onUnexpected(Throwable cause) {
        goneReason = "unexpected error in the dispatcher: " + PrintableText.startOf(cause);
    }

    private void close(String reason) {
        goneReason = reason;
        handler.ctx().close().addListener(ChannelFutureListener.CLOSE);
    }

    /**
     * The channel is closed. Streams learn of it later, from {@link #onStreamClosed(Http2Stream)}.
     */
    void onInactive() {
        boolean welcomed = state != State.ADMITTED;
        boolean lost = departure == Departure.LOST;
        int cost = lost ? pooled.busy() : 0;
        String told = cost == 0 ? goneReason : goneReason + ". Requests in flight: " + cost;
        shard.workers().onMemberGone(pooled);
        state = State.CLOSED;
        control.close();
        port.events.onGone(this, departure, told);
        if (welcomed) {
            port.observer.onWorkerDisconnected(function(), workerId, !lost, told);
        }
    }
}
