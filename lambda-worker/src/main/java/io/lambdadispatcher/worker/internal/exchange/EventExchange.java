package io.lambdadispatcher.worker.internal.exchange;

import io.lambdadispatcher.wire.event.BodyBuffer;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.RequestBody;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.handler.WholeBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request that is complete, and a response that must be complete: an ordinary invocation as a
 * {@link Handler} sees it. The handler's side is called as {@link Request} and {@link Response}
 * describe. {@link #cancel} and {@link #answer} can be called on any thread.
 */
public final class EventExchange implements Request, RequestBody, Response {
    /** @param body must not be changed */
    public record Answer(Http2Headers head, byte[] body) {}

    /** Maximum size of a response. Lambda accepts slightly more than 6 MB, including base64. */
    private static final int MOST_BODY_BYTES = 6 * 1024 * 1024 + 100 * 1024;

    private final ScheduledExecutorService loop;
    private final Http2Headers requestHead;
    private final byte[] requestBody;
    private final long deadlineNanos;
    private final CompletableFuture<Answer> answer = new CompletableFuture<>();

    private @Nullable BodyReader reader;
    private volatile boolean paused;
    private boolean dataGiven;
    private boolean endGiven;

    private @Nullable Http2Headers head;
    private final BodyBuffer responseBody = BodyBuffer.ofArray(-1, MOST_BODY_BYTES);

    private @Nullable Consumer<FailureReason> cancelListener;
    private volatile @Nullable FailureReason cancellation;

    /** @param body must not be changed */
    public EventExchange(ScheduledExecutorService loop, Http2Headers head, byte[] body, Duration remaining) {
        this.loop = loop;
        this.requestHead = head;
        this.requestBody = body;
        this.deadlineNanos = System.nanoTime() + remaining.toNanos();
    }

    /** Returns the answer, which completes exceptionally if the handler breaks its response off. */
    public CompletableFuture<Answer> answer() {
        return answer;
    }

    public void cancel(FailureReason code) {
        loop.execute(() -> {
            if (!answer.isDone()) {
                answer.completeExceptionally(new IllegalStateException("cancelled: " + code));
                leave(code);
            }
        });
    }

    /** Ends the exchange without waiting for the handler, which may continue forever. */
    private void leave(FailureReason code) {
        cancellation = code;
        if (cancelListener != null) {
            cancelListener.accept(code);
        }
    }

    // ---- the request

    @Override
    public Http2Headers headers() {
        return requestHead;
    }

    @Override
    public RequestBody body() {
        return this;
    }

    @Override
    public Optional<Duration> remaining() {
        return Optional.of(Duration.ofNanos(Math.max(0, deadlineNanos - System.nanoTime())));
    }

    /** Does nothing, because no dispatcher could drain the worker. */
    @Override
    public void onDrain(Consumer<Duration> listener) {}

    @Override
    public void onCancel(Consumer<FailureReason> listener) {
        FailureReason already = cancellation;
        if (already == null) {
            cancelListener = listener;
        } else {
            listener.accept(already);
        }
    }

    @Override
    public @Nullable FailureReason cancellation() {
        return cancellation;
    }

    @Override
    public ScheduledExecutorService eventLoop() {
        return loop;
    }

    @Override
    public boolean isEmpty() {
        return requestBody.length == 0;
    }

    @Override
    public void read(BodyReader newReader) {
        if (reader != null) {
            throw new IllegalStateException("the request's body has a reader already: " + reader);
        }
        reader = newReader;
        deliver(newReader);
    }

    @Override
    public void readAll(int maxBytes, WholeBody then) {
        read(new BodyGatherer(maxBytes, then, () -> respond(413, BodyGatherer.tooLong(maxBytes))));
    }

    private void deliver(BodyReader to) {
        try {
            if (!paused && !dataGiven) {
                dataGiven = true;
                if (!isEmpty()) {
                    to.onData(Unpooled.wrappedBuffer(requestBody));
                }
            }
            if (!paused && !endGiven) {
                endGiven = true;
                to.onEnd(EmptyHttp2Headers.INSTANCE);
            }
        } catch (Exception e) {
            fail(FailureReason.HANDLER_FAILED, e.toString());
        }
    }

    @Override
    public void pause() {
        paused = true;
    }

    @Override
    public void resume() {
        paused = false;
        loop.execute(() -> {
            if (reader != null) {
                deliver(reader);
            }
        });
    }

    // ---- the response

    /** Drops interim responses, because the answer to an event has no place for them. */
    @Override
    public void interim(Http2Headers interim) {}

    @Override
    public void head(Http2Headers newHead) {
        if (head != null && !answer.isDone()) {
            throw new IllegalStateException("the response already has headers");
        }
        head = OutgoingHeaders.ofResponse(newHead);
    }

    private Http2Headers verifyHead() {
        if (head == null) {
            throw new IllegalStateException("the response has no headers yet");
        }
        return head;
    }

    @Override
    public boolean write(ByteBuf bytes) {
        boolean ended = answer.isDone();
        if (ended || head == null) {
            bytes.release();
        }
        if (ended) {
            return true;
        }
        verifyHead();
        if (!responseBody.add(bytes)) {
            fail(FailureReason.BAD_MESSAGE, "the response is longer than " + MOST_BODY_BYTES + " bytes");
            // Not during the call that exceeded the limit.
            loop.execute(() -> leave(FailureReason.NOT_NEEDED));
        }
        return true;
    }

    @Override
    public boolean isWritable() {
        return !answer.isDone();
    }

    /** Calls nothing, because the response is always writable. */
    @Override
    public void onWritable(Runnable listener) {}

    @Override
    public void end() {
        if (!answer.isDone()) {
            answer.complete(new Answer(verifyHead(), responseBody.toArray()));
        }
    }

    /** Drops the trailers, because the answer to an event has no place for them. */
    @Override
    public void end(Http2Headers trailers) {
        end();
    }

    @Override
    public void respond(Http2Headers newHead, ByteBuf body) {
        try {
            head(newHead);
        } catch (RuntimeException e) {
            body.release();
            throw e;
        }
        write(body);
        end();
    }

    @Override
    public void respond(Http2Headers newHead) {
        head(newHead);
        end();
    }

    @Override
    public void fail(FailureReason code, String text) {
        answer.completeExceptionally(new IllegalStateException(text));
    }
}
