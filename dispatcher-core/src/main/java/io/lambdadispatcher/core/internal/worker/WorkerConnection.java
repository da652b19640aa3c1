package io.lambdadispatcher.core.internal.worker;

import static io.netty.handler.codec.http.HttpResponseStatus.FORBIDDEN;
import static io.netty.handler.codec.http.HttpResponseStatus.NOT_FOUND;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;
import static io.netty.handler.codec.http.HttpResponseStatus.UNAUTHORIZED;

import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.PoolShard;
import io.lambdadispatcher.core.internal.pool.PooledConnection;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.http2.DataOutlet;
import io.lambdadispatcher.wire.http2.Http2Events;
import io.lambdadispatcher.wire.http2.LivenessProbe;
import io.lambdadispatcher.wire.worker.ControlCodec;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainReason;
import io.lambdadispatcher.wire.worker.Endpoints;
import io.lambdadispatcher.wire.worker.FrameReader;
import io.lambdadispatcher.wire.worker.FrameType;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.wire.worker.WireException;
import io.lambdadispatcher.wire.worker.WireLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import java.net.SocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection that a worker has opened: its control stream, which says who it is and how it fares, and its worker streams.
 * Confined to its event loop, but for {@link #drain}, {@link #goodbye} and {@link #close}, which hop onto it.
 */
public final class WorkerConnection extends Http2Events implements LivenessProbe.Listener {

    private enum State {
        /** Nothing is known of the peer; only a control stream is accepted. */
        NEW,
        /** The token is good; HELLO is awaited. */
        ADMITTED,
        /** Worker streams may open. */
        WELCOMED,
        /** No new exchange. */
        DRAINING,
        CLOSED
    }

    private static final Logger log = LoggerFactory.getLogger(WorkerConnection.class);
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final WorkerPort port;
    private final CoalescingHttp2Handler handler;
    private final ChannelHandlerContext ctx;
    private final LivenessProbe liveness;
    private final Http2Connection.PropertyKey streamKey;
    private final DeadlineQueue<WorkerStream> expected;

    private State state = State.NEW;
    private boolean ready;
    private boolean goodbyeSeen;
    private int streamLimit;
    private int openStreams;
    private String goneReason = "connection closed";

    // From the token.
    private String workerId = "(unknown)";
    private @Nullable PoolShard shard;
    private @Nullable PooledConnection member;
    private @Nullable Instant deadline;

    private @Nullable Http2Stream controlStream;
    private @Nullable DataOutlet controlOutlet;
    private @Nullable FrameReader controlReader;
    private @Nullable ControlCodec controlCodec;

    WorkerConnection(
            WorkerPort port, CoalescingHttp2Handler handler, ChannelHandlerContext ctx, LivenessProbe liveness) {
        this.port = port;
        this.handler = handler;
        this.ctx = ctx;
        this.liveness = liveness;
        this.streamKey = handler.connection().newKey();
        this.expected = new DeadlineQueue<>(loop(), PATIENCE_NANOS, this::onUnanswered);
        handler.connection().addListener(this);
        ctx.executor().schedule(this::onHandshakeTimeout, port.handshakeTimeoutMillis(), TimeUnit.MILLISECONDS);
    }

    // Who it is. Fixed once admitted.

    /** Its token was good. */
    boolean isAdmitted() {
        return shard != null;
    }

    public String workerId() {
        return workerId;
    }

    /** @throws IllegalStateException before it is admitted */
    public FunctionPool pool() {
        return shard().pool();
    }

    /** When the worker must be gone; {@code null} = never. Known from HELLO on. */
    public @Nullable Instant deadline() {
        return deadline;
    }

    public SocketAddress remoteAddress() {
        return ctx.channel().remoteAddress();
    }

    private PoolShard shard() {
        if (shard == null) {
            throw new IllegalStateException("worker connection is not admitted yet");
        }
        return shard;
    }

    private EventLoop loop() {
        return ctx.channel().eventLoop();
    }

    // From the peer: HTTP/2.

    @Override
    public void onHeadersRead(ChannelHandlerContext c, int id, Http2Headers head, int padding, boolean end) {
        Http2Stream stream = handler.connection().stream(id);
        if (stream == null) {
            return;
        }
        if (stream.getProperty(streamKey) != null || stream == controlStream) {
            reset(stream); // trailers: neither kind of stream ends
        } else if (end || !HttpMethod.POST.asciiName().contentEquals(head.method())) {
            refuse(stream, NOT_FOUND, "worker port: " + head.method() + " " + head.path());
        } else if (Endpoints.STREAM_PATH.contentEquals(head.path())) {
            onWorkerStream(stream);
        } else if (Endpoints.CONTROL_PATH.contentEquals(head.path())) {
            onControlStream(stream, head);
        } else {
            refuse(stream, NOT_FOUND, "worker port: " + head.method() + " " + head.path());
        }
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
            int done = workerStream.onOctets(data);
            if (end) {
                // Normal for a worker that leaves; in the middle of an exchange it is a loss like any other.
                workerStream.close("the worker ended its stream");
                reset(stream, Http2Error.NO_ERROR);
            }
            return done + padding;
        }
        if (stream == controlStream) {
            onControlOctets(data);
            if (end) {
                close(goodbyeSeen ? goneReason : "the worker ended its control stream");
            }
        }
        return bytes + padding;
    }

    @Override
    public void onStreamClosed(Http2Stream stream) {
        WorkerStream workerStream = stream.removeProperty(streamKey);
        if (workerStream != null) {
            workerStream.close(state == State.CLOSED ? goneReason : "its stream was reset");
        } else if (stream == controlStream && state != State.CLOSED) {
            close("its control stream was reset");
        }
    }

    private void onWorkerStream(Http2Stream stream) {
        PoolShard to = shard;
        PooledConnection self = member;
        if (to == null || self == null || state != State.WELCOMED && state != State.DRAINING) {
            refuse(stream, FORBIDDEN, "a worker stream before WELCOME");
        } else if (openStreams == streamLimit) {
            refuse(stream, FORBIDDEN, "more worker streams than the " + streamLimit + " of HELLO");
        } else {
            openStreams++;
            WorkerStream workerStream = new WorkerStream(this, stream);
            stream.setProperty(streamKey, workerStream);
            accept(stream);
            to.onStreamOpened(self, workerStream);
        }
    }

    // From the peer: control.

    private void onControlStream(Http2Stream stream, Http2Headers head) {
        if (controlStream != null) {
            refuse(stream, FORBIDDEN, "a second control stream");
            return;
        }
        CharSequence authorization = head.get(HttpHeaderNames.AUTHORIZATION);
        if (authorization == null || !authorization.toString().startsWith(Endpoints.BEARER)) {
            refuse(stream, UNAUTHORIZED, "no launch token");
            return;
        }
        String token = authorization.toString().substring(Endpoints.BEARER.length());
        LaunchToken verified;
        try {
            verified = LaunchToken.verify(token, port.secret(), Instant.EPOCH);
        } catch (WireException e) {
            refuse(stream, UNAUTHORIZED, String.valueOf(e.getMessage()));
            return;
        }
        FunctionPool pool = port.pool(verified.function());
        if (pool == null) {
            refuse(stream, FORBIDDEN, "launch token for function " + verified.function() + ", which is not configured");
            return;
        }
        boolean expired = !Instant.now().isBefore(verified.expiry());
        String refusal = port.events().admit(verified, this, expired);
        if (refusal != null) {
            refuse(stream, expired ? UNAUTHORIZED : FORBIDDEN, refusal);
            return;
        }
        onAdmitted(stream, verified, token, pool);
    }

    private void onAdmitted(Http2Stream stream, LaunchToken verified, String token, FunctionPool pool) {
        state = State.ADMITTED;
        workerId = verified.workerId();
        shard = pool.shard(port.loopIndex(loop()));
        member = new PooledConnection(workerId);
        shard.onMember(member);
        controlStream = stream;
        controlCodec = new ControlCodec(ControlCodec.Role.DISPATCHER, token);
        controlOutlet = new DataOutlet(handler, ctx, stream, bytes -> {});
        controlReader = FrameReader.ofControlStream(ctx.alloc(), new FrameReader.Listener() {
            @Override
            public void onData(ByteBuf part, boolean end) {
                part.release();
                throw new AssertionError("DATA on a control stream passed the reader");
            }

            @Override
            public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
                onControlFrame(type, payload, offset);
            }
        });
        accept(stream);
    }

    private void onControlOctets(ByteBuf data) {
        if (controlReader == null || state == State.CLOSED) {
            return;
        }
        try {
            controlReader.read(data);
        } catch (WireException e) {
            log.warn("worker {} at {}: {}", workerId, remoteAddress(), e.getMessage());
            observer().onWorkerRejected(remoteAddress(), String.valueOf(e.getMessage()));
            close(String.valueOf(e.getMessage()));
        }
    }

    private void onControlFrame(FrameType type, ByteBuf payload, long offset) throws WireException {
        ControlCodec codec = controlCodec;
        if (codec == null || state == State.CLOSED) {
            return;
        }
        ControlMessage message = codec.read(type, payload, offset);
        if ((type == FrameType.HELLO) != (state == State.ADMITTED) || type == FrameType.WELCOME) {
            throw new WireException(WireException.Reason.FRAME_NOT_ALLOWED_HERE, offset, type + " in state " + state);
        }
        if (message instanceof ControlMessage.Hello hello) {
            onHello(hello, offset);
        } else if (message instanceof ControlMessage.Readiness readiness) {
            onReadiness(readiness.ready());
        } else if (message instanceof ControlMessage.Load load) {
            port.events().onLoad(this, load);
            observer()
                    .onWorkerLoad(
                            pool().options().name(),
                            workerId,
                            load.cpuPermille(),
                            load.memoryPermille(),
                            load.loopLagMicros());
        } else if (message instanceof ControlMessage.Drain drain) {
            onDrain(drain.reason());
        } else if (message instanceof ControlMessage.Goodbye goodbye) {
            goodbyeSeen = true;
            goneReason = "goodbye: " + goodbye.text();
        }
    }

    private void onHello(ControlMessage.Hello hello, long offset) throws WireException {
        if (hello.minVersion() > WireLimits.PROTOCOL_VERSION || hello.maxVersion() < WireLimits.PROTOCOL_VERSION) {
            throw new WireException(
                    WireException.Reason.UNSUPPORTED_VERSION,
                    offset,
                    "worker speaks versions " + hello.minVersion() + " to " + hello.maxVersion() + ", this dispatcher "
                            + WireLimits.PROTOCOL_VERSION);
        }
        state = State.WELCOMED;
        streamLimit = hello.streams();
        if (hello.remainingMillis() != ControlMessage.Hello.NO_DEADLINE) {
            deadline = Instant.now().plusMillis(Integer.toUnsignedLong(hello.remainingMillis()));
        }
        growConnectionWindow();
        liveness.start(port.pingIntervalMillis(), port.pingTimeoutMillis());
        say(new ControlMessage.Welcome(
                WireLimits.PROTOCOL_VERSION, (int) port.pingIntervalMillis(), (int) port.pingTimeoutMillis()));
        log.debug("worker {} at {} says hello: {}, {} streams", workerId, remoteAddress(), hello.agent(), streamLimit);
        observer().onWorkerConnected(pool().options().name(), workerId, remoteAddress(), streamLimit);
    }

    /** So large that streams whose clients do not read cannot hold up the others. */
    private void growConnectionWindow() {
        Http2Connection connection = handler.connection();
        try {
            connection.local().flowController().incrementWindowSize(connection.connectionStream(), (int)
                    Math.min(Integer.MAX_VALUE / 2, (long) streamLimit * WorkerPort.STREAM_WINDOW_BYTES));
        } catch (Http2Exception e) {
            close("connection window: " + e.getMessage());
        }
    }

    private void onReadiness(boolean nowReady) {
        if (state == State.WELCOMED && ready != nowReady) {
            ready = nowReady;
            open(nowReady);
            port.events().onReadiness(this, nowReady);
        }
    }

    private void onDrain(DrainReason reason) {
        if (state == State.WELCOMED) {
            state = State.DRAINING;
            open(false);
            port.events().onDrain(this, reason);
        }
    }

    private void open(boolean open) {
        if (shard != null && member != null) {
            shard.setOpen(member, open);
        }
    }

    // To the peer.

    /** Any thread: no new exchange; the worker ends when those under way have, or {@code grace} is over. */
    public void drain(DrainReason reason, Duration grace) {
        loop().execute(() -> {
            if (state == State.WELCOMED) {
                state = State.DRAINING;
                open(false);
                say(new ControlMessage.Drain(reason, (int) Math.min(Integer.MAX_VALUE, grace.toMillis())));
            }
        });
    }

    /** Any thread: ends it now; exchanges under way are cut off. */
    public void goodbye(String text) {
        loop().execute(() -> {
            if (state != State.CLOSED) {
                say(new ControlMessage.Goodbye(text));
                handler.flush(ctx);
                goodbyeSeen = true;
                close(text);
            }
        });
    }

    private void say(ControlMessage message) {
        if (controlCodec != null && controlOutlet != null) {
            ByteBuf frame = ctx.alloc().directBuffer();
            controlCodec.write(frame, message);
            controlOutlet.meta(frame);
            handler.flushSoon();
        }
    }

    private void accept(Http2Stream stream) {
        Http2Headers head = new DefaultHttp2Headers(false)
                .status(OK.codeAsText())
                .set(HttpHeaderNames.CONTENT_TYPE, Endpoints.MEDIA_TYPE);
        handler.encoder().writeHeaders(ctx, stream.id(), head, 0, false, ctx.newPromise());
        handler.flushSoon();
    }

    /** Turns the request away. A peer that is not let in loses its connection. */
    private void refuse(Http2Stream stream, HttpResponseStatus status, String reason) {
        observer().onWorkerRejected(remoteAddress(), reason);
        port.logRejection(remoteAddress(), reason);
        Http2Headers head = new DefaultHttp2Headers(false).status(status.codeAsText());
        handler.encoder().writeHeaders(ctx, stream.id(), head, 0, true, ctx.newPromise());
        reset(stream, Http2Error.NO_ERROR);
        if (state == State.NEW) {
            state = State.CLOSED;
            handler.flush(ctx);
            ctx.close();
        }
    }

    void reset(Http2Stream stream) {
        reset(stream, Http2Error.PROTOCOL_ERROR);
    }

    private void reset(Http2Stream stream, Http2Error error) {
        handler.encoder().writeRstStream(ctx, stream.id(), error.code(), ctx.newPromise());
        handler.flushSoon();
    }

    void onViolation(Http2Stream stream, WireException violation) {
        log.warn("worker {} at {}, stream {}: {}", workerId, remoteAddress(), stream.id(), violation.getMessage());
        reset(stream);
    }

    void flushSoon() {
        handler.flushSoon();
    }

    void returnToWindow(Http2Stream stream, int bytes) {
        handler.giveBack(stream, bytes);
    }

    ByteBufAllocator allocator() {
        return ctx.alloc();
    }

    DataOutlet outlet(Http2Stream stream, DataOutlet.Listener listener) {
        return new DataOutlet(handler, ctx, stream, listener);
    }

    // From its worker streams.

    /** @param nanos how long it took; 0 = not timed */
    void onExchangeEnd(boolean failure, long nanos) {
        if (member != null) {
            member.onExchangeEnd(failure);
            if (nanos > 0) {
                member.onTimed(nanos);
            }
        }
    }

    long nanoTime() {
        return loop().ticker().nanoTime();
    }

    void onStreamFree(WorkerStream stream) {
        if (shard != null && member != null) {
            shard.onStreamFree(member, stream);
        }
    }

    /** Its exchange is over, but the stream is not free until {@link #onStreamCaughtUp}. */
    void onStreamLags() {
        if (shard != null && member != null) {
            shard.onStreamLags(member);
        }
    }

    void onStreamCaughtUp(WorkerStream stream) {
        if (shard != null && member != null) {
            shard.onStreamCaughtUp(member, stream);
        }
    }

    void onStreamClosed(WorkerStream stream, boolean wasFree) {
        openStreams--;
        if (shard != null && member != null) {
            shard.onStreamClosed(member, stream, wasFree);
        }
    }

    /** The worker owes something without which the stream cannot go on: the end of a response, or to take octets. */
    void expectFromWorker(WorkerStream stream) {
        expected.add(stream, loop().ticker().nanoTime());
    }

    void onAnswered(WorkerStream stream) {
        expected.remove(stream);
    }

    private void onUnanswered(WorkerStream stream) {
        String owed = stream.owed();
        log.warn("worker {}, stream {}: {}", workerId, stream.http2().id(), owed);
        reset(stream.http2());
        stream.close(owed);
    }

    void execute(Runnable task) {
        loop().execute(task);
    }

    // Its end.

    @Override
    public void onProbe() {
        handler.encoder().writePing(ctx, false, 0, ctx.newPromise());
        handler.flushSoon();
    }

    @Override
    public void onSilent(long silentMillis) {
        close("silent for " + silentMillis + " ms");
    }

    private void onHandshakeTimeout() {
        if (state == State.NEW || state == State.ADMITTED) {
            close("no hello within " + port.handshakeTimeoutMillis() + " ms");
        }
    }

    private void close(String reason) {
        goneReason = reason;
        ctx.close().addListener(ChannelFutureListener.CLOSE);
    }

    /** The channel has closed; streams are still to be told. */
    void onInactive() {
        if (state == State.CLOSED) {
            return;
        }
        State before = state;
        if (shard != null && member != null) {
            shard.onMemberGone(member);
        }
        state = State.CLOSED;
        if (controlReader != null) {
            controlReader.close();
        }
        if (controlOutlet != null) {
            controlOutlet.close();
        }
        if (before != State.NEW) {
            port.events().onGone(this, goodbyeSeen, goneReason);
            if (before != State.ADMITTED) {
                observer().onWorkerDisconnected(pool().options().name(), workerId, goodbyeSeen, goneReason);
            }
        }
    }

    private DispatcherObserver observer() {
        return port.observer();
    }
}
