package io.lambdadispatcher.worker.web;

import io.lambdadispatcher.wire.ErrorCode;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.RequestBody;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request that is at hand as a whole, and a response that is wanted as a whole: what an ordinary invocation is. Everything but {@link
 * #cancel} and the result happens on the event loop.
 */
final class EventExchange implements Request, RequestBody, Response {
    /** @param body of the response */
    record Answer(Http2Headers head, byte[] body) {}

    /** What Lambda takes of a response (6 MB and a little) and base64 makes of it: more is no use. */
    private static final int MOST_BODY_BYTES = 6 * 1024 * 1024 + 100 * 1024;

    private final EventLoop loop;
    private final WebEvent event;
    private final long deadlineNanos;
    private final CompletableFuture<Answer> answer = new CompletableFuture<>();
    private final ByteArrayOutputStream gathered = new ByteArrayOutputStream();

    private @Nullable BodyReader reader;
    private boolean paused;
    private boolean delivered;
    private @Nullable Http2Headers head;
    private @Nullable Consumer<ErrorCode> cancelListener;
    private volatile @Nullable ErrorCode cancellation;

    EventExchange(EventLoop loop, WebEvent event, long timeoutMillis) {
        this.loop = loop;
        this.event = event;
        this.deadlineNanos =
                System.nanoTime() + Duration.ofMillis(timeoutMillis).toNanos();
    }

    /** Completes exceptionally where the application breaks its response off. */
    CompletableFuture<Answer> answer() {
        return answer;
    }

    void cancel(ErrorCode code) {
        loop.execute(() -> {
            if (!answer.isDone()) {
                answer.completeExceptionally(new IllegalStateException("cancelled: " + code));
                leave(code);
            }
        });
    }

    /** The application may go on for ever. */
    private void leave(ErrorCode code) {
        cancellation = code;
        if (cancelListener != null) {
            cancelListener.accept(code);
        }
    }

    @Override
    public Http2Headers headers() {
        return event.head();
    }

    @Override
    public RequestBody body() {
        return this;
    }

    @Override
    public Optional<Duration> remaining() {
        return Optional.of(Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime())));
    }

    /** There is no dispatcher that could ask the worker to go. */
    @Override
    public void onDrain(Consumer<Duration> listener) {}

    @Override
    public void onCancel(Consumer<ErrorCode> listener) {
        ErrorCode already = cancellation;
        if (already == null) {
            cancelListener = listener;
        } else {
            listener.accept(already);
        }
    }

    @Override
    public @Nullable ErrorCode cancellation() {
        return cancellation;
    }

    @Override
    public ScheduledExecutorService eventLoop() {
        return loop;
    }

    @Override
    public boolean isEmpty() {
        return event.body().length == 0;
    }

    @Override
    public void read(BodyReader newReader) {
        reader = newReader;
        deliver();
    }

    private void deliver() {
        BodyReader to = reader;
        if (to == null || paused || delivered) {
            return;
        }
        delivered = true;
        try {
            to.onData(Unpooled.wrappedBuffer(event.body()));
            to.onEnd(EmptyHttp2Headers.INSTANCE);
        } catch (Exception e) {
            fail(ErrorCode.HANDLER_FAILED, e.toString());
        }
    }

    @Override
    public void pause() {
        paused = true;
    }

    @Override
    public void resume() {
        paused = false;
        loop.execute(this::deliver);
    }

    @Override
    public void interim(Http2Headers interim) {
        // An event's answer has no place for it.
    }

    @Override
    public void head(Http2Headers newHead) {
        head = newHead;
    }

    @Override
    public boolean write(ByteBuf octets) {
        try {
            if (answer.isDone()) {
                return true;
            }
            if (gathered.size() + octets.readableBytes() > MOST_BODY_BYTES) {
                fail(ErrorCode.BAD_MESSAGE, "the app's response is longer than " + MOST_BODY_BYTES + " octets");
                // Not from within the frame, or the part, that was too much.
                loop.execute(() -> leave(ErrorCode.NOT_NEEDED));
            } else {
                gathered.writeBytes(ByteBufUtil.getBytes(octets));
            }
            return true;
        } finally {
            octets.release();
        }
    }

    @Override
    public boolean isWritable() {
        return !answer.isDone();
    }

    @Override
    public void onWritable(Runnable listener) {
        // It always is.
    }

    @Override
    public void end() {
        Http2Headers fields = head;
        if (fields != null) {
            answer.complete(new Answer(fields, gathered.toByteArray()));
        }
    }

    /** An event's answer has no place for trailers. */
    @Override
    public void end(Http2Headers trailers) {
        end();
    }

    @Override
    public void respond(Http2Headers newHead, ByteBuf body) {
        head(newHead);
        write(body);
        end();
    }

    @Override
    public void respond(Http2Headers newHead) {
        head(newHead);
        end();
    }

    @Override
    public void fail(ErrorCode code, String text) {
        answer.completeExceptionally(new IllegalStateException(text));
    }
}
