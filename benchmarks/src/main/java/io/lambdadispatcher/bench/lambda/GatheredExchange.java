package io.lambdadispatcher.bench.lambda;

import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.RequestBody;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.handler.WholeBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A complete request, and a response that is collected until it is complete. It lets a worker's
 * handler serve one Lambda invocation. It is never cancelled, never drains, and has no
 * back-pressure.
 */
final class GatheredExchange implements Request, RequestBody, Response {
    /** @param body the receiver releases it */
    record Answer(Http2Headers head, ByteBuf body) {}

    private final AlbRequest request;
    private final ScheduledExecutorService loop;
    private final long deadlineNanos;
    private final CompositeByteBuf responseBody = Unpooled.compositeBuffer(Integer.MAX_VALUE);
    private @Nullable Http2Headers responseHead;

    /** Completes exceptionally if the handler fails the response. */
    final CompletableFuture<Answer> answer = new CompletableFuture<>();

    GatheredExchange(AlbRequest request, ScheduledExecutorService loop, Duration remaining) {
        this.request = request;
        this.loop = loop;
        this.deadlineNanos = System.nanoTime() + remaining.toNanos();
    }

    @Override
    public Http2Headers headers() {
        return request.headers();
    }

    @Override
    public RequestBody body() {
        return this;
    }

    @Override
    public Optional<Duration> remaining() {
        return Optional.of(Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime())));
    }

    @Override
    public void onDrain(Consumer<Duration> listener) {}

    @Override
    public void onCancel(Consumer<FailureReason> listener) {}

    @Override
    public @Nullable FailureReason cancellation() {
        return null;
    }

    @Override
    public ScheduledExecutorService eventLoop() {
        return loop;
    }

    @Override
    public boolean isEmpty() {
        return request.body().length == 0;
    }

    @Override
    public void read(BodyReader reader) {
        try {
            if (!isEmpty()) {
                reader.onData(Unpooled.wrappedBuffer(request.body()));
            }
            reader.onEnd(EmptyHttp2Headers.INSTANCE);
        } catch (Exception e) {
            fail(FailureReason.HANDLER_FAILED, e.toString());
        }
    }

    @Override
    public void readAll(int maxBytes, WholeBody then) {
        if (request.body().length > maxBytes) {
            respond(413, "request body of " + request.body().length + " bytes, expected at most " + maxBytes);
            return;
        }
        try {
            then.accept(request.body());
        } catch (Exception e) {
            fail(FailureReason.HANDLER_FAILED, e.toString());
        }
    }

    @Override
    public void pause() {
        throw new UnsupportedOperationException("the body was delivered as a whole");
    }

    @Override
    public void resume() {}

    @Override
    public void interim(Http2Headers head) {}

    @Override
    public void head(Http2Headers head) {
        responseHead = head;
    }

    @Override
    public boolean write(ByteBuf part) {
        if (answer.isDone()) {
            part.release();
        } else {
            responseBody.addComponent(true, part);
        }
        return true;
    }

    @Override
    public boolean isWritable() {
        return !answer.isDone();
    }

    @Override
    public void onWritable(Runnable listener) {}

    @Override
    public void end() {
        if (!answer.isDone()) {
            Http2Headers head = Objects.requireNonNull(responseHead, "the response has no headers yet");
            answer.complete(new Answer(head, responseBody));
        }
    }

    @Override
    public void end(Http2Headers trailers) {
        end();
    }

    @Override
    public void respond(Http2Headers head, ByteBuf body) {
        head(head);
        write(body);
        end();
    }

    @Override
    public void respond(Http2Headers head) {
        head(head);
        end();
    }

    @Override
    public void fail(FailureReason code, String text) {
        if (answer.completeExceptionally(new IllegalStateException(text))) {
            responseBody.release();
        }
    }
}
