package io.lambdadispatcher.worker.websocket;

import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.HandlerInterceptor;
import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import io.lambdadispatcher.worker.internal.exchange.Interception;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.websocketx.BinaryWebSocketFrame;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.PingWebSocketFrame;
import io.netty.handler.codec.http.websocketx.PongWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A WebSocket session, from the headers of its response to its end. Its state is confined to the
 * event loop of the request. Calls from other threads are passed to that event loop.
 *
 * <pre>
 * OPEN    close() → close frame → CLOSING     peer's close frame, violation → close frame → CLOSED
 * CLOSING peer's close frame, violation, or too late → CLOSED
 * both    bytes end, cancellation → CLOSED
 * CLOSED  the response has ended, onClose was called
 * </pre>
 */
final class WebSocketConnection implements WebSocketSession, BodyReader {
    /** RFC 6455 section 5.5: a control frame has at most 125 bytes, of which the code takes two. */
    private static final int MOST_REASON_BYTES = 123;

    /** RFC 6455 section 7.4.2. Netty's codec does not check this. */
    private static final int HIGHEST_CODE = 4999;

    private enum State {
        OPEN,
        CLOSING,
        CLOSED
    }

    private final Request request;
    private final Response response;
    private final WebSocketOptions options;
    private final String subprotocol;
    private final @Nullable Interception interception;
    private final ScheduledExecutorService loop;
    private final FrameCodec codec;

    private State state = State.OPEN;
    private WebSocketListener listener = new WebSocketListener() {};
    private boolean heard;
    private boolean pinged;
    private byte @Nullable [] unansweredPing;
    private volatile boolean paused;
    private @Nullable Future<?> pinging;
    private @Nullable Future<?> closing;

    WebSocketConnection(
            Request request,
            Response response,
            WebSocketOptions options,
            String subprotocol,
            HandlerInterceptor interceptor) {
        this.request = request;
        this.response = response;
        this.options = options;
        this.subprotocol = subprotocol;
        this.interception = Interception.of(interceptor, request);
        this.loop = request.eventLoop();
        this.codec = new FrameCodec(options.mostMessageBytes());
    }

    /** @param head the headers of a successful response */
    void open(WebSocketHandler handler, Http2Headers head) {
        response.head(head);
        response.onWritable(this::onWritable);
        request.onCancel(code -> finish(ABNORMAL, code.name()));
        if (state == State.CLOSED) {
            // The client went while the handler decided, so it does not learn of this connection.
            return;
        }
        if (!options.pingEvery().isZero()) {
            long nanos = options.pingEvery().toNanos();
            // Not at a fixed rate: after a pause of the process, two pings would follow each other
            // immediately, and the client would have no time to answer.
            pinging = loop.scheduleWithFixedDelay(this::onPingTime, nanos, nanos, TimeUnit.NANOSECONDS);
        }
        tell(() -> listener = handler.onOpen(this));
        request.onDrain(this::onDrain);
        request.body().read(this);
    }

    private void onDrain(Duration grace) {
        if (state == State.OPEN) {
            tell(() -> listener.onDrain(this, grace));
        }
    }

    private interface Telling {
        void run() throws Exception;
    }

    private void tell(Telling telling) {
        try (Scope scope = Interception.enter(interception)) {
            telling.run();
        } catch (Throwable e) {
            Interception.report(interception, "WebSocket handler", request, e);
            onClose(HANDLER_FAILED, "");
        }
    }

    // Events of the client and the connection.

    @Override
    public void onData(ByteBuf bytes) {
        heard = true;
        pinged = false;
        WebSocketCloseStatus violation = codec.decode(bytes, this::onFrame);
        if (violation != null) {
            onViolation(violation.code(), violation.reasonText());
        }
    }

    private void onFrame(WebSocketFrame frame) {
        try {
            if (frame instanceof CloseWebSocketFrame close) {
                onPeersClose(close);
            } else if (state != State.OPEN) {
                return; // no messages after our close frame: RFC 6455 section 1.4
            } else if (frame instanceof TextWebSocketFrame text) {
                tell(() -> listener.onText(this, text.text()));
            } else if (frame instanceof BinaryWebSocketFrame binary) {
                ByteBuf bytes = binary.content().retain();
                tell(() -> listener.onBinary(this, bytes));
            } else if (frame instanceof PingWebSocketFrame ping) {
                // A client that pings but does not read gets a pong when it reads, and only for its
                // latest ping: RFC 6455 section 5.5.3.
                unansweredPing = ByteBufUtil.getBytes(ping.content());
                if (response.isWritable()) {
                    answerPing();
                }
            }
        } finally {
            frame.release();
        }
    }

    private void answerPing() {
        byte[] ping = unansweredPing;
        unansweredPing = null;
        if (ping != null && state == State.OPEN) {
            write(new PongWebSocketFrame(Unpooled.wrappedBuffer(ping)));
        }
    }

    private void onWritable() {
        // The client takes bytes. An answer to a ping may be far behind them.
        heard = true;
        pinged = false;
        answerPing();
        tell(() -> listener.onWritable(this));
    }

    private void onPeersClose(CloseWebSocketFrame close) {
        if (state == State.CLOSED) {
            return;
        }
        if (close.statusCode() > HIGHEST_CODE) {
            onViolation(PROTOCOL_ERROR, "invalid close code " + close.statusCode());
            return;
        }
        int code = close.statusCode() < 0 ? NO_CODE : close.statusCode();
        String reason = close.reasonText();
        if (state == State.OPEN) {
            write(close.statusCode() < 0 ? new CloseWebSocketFrame() : new CloseWebSocketFrame(code, ""));
        }
        finish(code, reason);
    }

    private void onViolation(int code, String reason) {
        if (state == State.OPEN) {
            write(new CloseWebSocketFrame(code, reason));
        }
        finish(code, reason);
    }

    @Override
    public void onEnd(Http2Headers trailers) {
        finish(ABNORMAL, "the client closed its side without a close frame");
    }

    @Override
    public void onFailed(FailureReason code) {
        finish(ABNORMAL, code.name());
    }

    private void onPingTime() {
        if (heard || paused || !response.isWritable()) {
            // While the handler does not read, an answer to a ping could not be read either. While
            // the client takes too little, it has not received the ping yet.
            heard = false;
        } else if (pinged) {
            onViolation(GOING_AWAY, "no answer to a ping");
        } else {
            pinged = true;
            write(new PingWebSocketFrame());
        }
    }

    // Frames to the client, and the end.

    private void onClose(int code, String reason) {
        if (state != State.OPEN) {
            return;
        }
        state = State.CLOSING;
        write(new CloseWebSocketFrame(code, reason));
        resume(); // otherwise, the client's close frame would not be read
        closing = loop.schedule(
                () -> finish(ABNORMAL, "no answer to a close frame"),
                options.closeWithin().toNanos(),
                TimeUnit.NANOSECONDS);
    }

    private void finish(int code, String reason) {
        if (state == State.CLOSED) {
            return;
        }
        state = State.CLOSED;
        cancel(pinging);
        cancel(closing);
        codec.close();
        response.end();
        resume(); // drops the rest, because the client's end is behind it
        tell(() -> listener.onClose(this, code, reason));
    }

    private static void cancel(@Nullable Future<?> timer) {
        if (timer != null) {
            timer.cancel(false);
        }
    }

    /** @param frame released by this method */
    private void write(WebSocketFrame frame) {
        if (state == State.CLOSED) {
            frame.release();
        } else {
            codec.encode(frame, response::write);
        }
    }

    /** @param frame released by this method or on the event loop */
    private boolean send(WebSocketFrame frame) {
        onLoop(
                () -> {
                    if (state == State.OPEN) {
                        write(frame);
                    } else {
                        frame.release();
                    }
                },
                frame);
        return response.isWritable();
    }

    /** @param carried released if the event loop has ended */
    private void onLoop(Runnable task, Object carried) {
        if (loop instanceof EventExecutor executor && executor.inEventLoop()) {
            task.run();
        } else {
            try {
                loop.execute(task);
            } catch (RuntimeException e) {
                ReferenceCountUtil.release(carried);
                FailureLog.report("sending after the worker's end", request.path(), e);
            }
        }
    }

    @Override
    public Request request() {
        return request;
    }

    @Override
    public String subprotocol() {
        return subprotocol;
    }

    @Override
    public boolean sendText(String text) {
        return send(new TextWebSocketFrame(ByteBufUtil.writeUtf8(ByteBufAllocator.DEFAULT, text)));
    }

    @Override
    public boolean sendBinary(ByteBuf bytes) {
        return send(new BinaryWebSocketFrame(bytes));
    }

    @Override
    public boolean isWritable() {
        return response.isWritable();
    }

    @Override
    public void pause() {
        paused = true;
        request.body().pause();
    }

    @Override
    public void resume() {
        paused = false;
        request.body().resume();
    }

    @Override
    public void close(int code, String reason) {
        if (code < NORMAL || code > HIGHEST_CODE || !WebSocketCloseStatus.isValidStatusCode(code)) {
            throw new IllegalArgumentException(
                    "code: " + code + ", expected 1000 to 1003, 1007 to 1014 or 3000 to 4999");
        }
        String fitting = ByteBufUtil.utf8Bytes(reason) <= MOST_REASON_BYTES ? reason : "";
        onLoop(() -> onClose(code, fitting), fitting);
    }
}
