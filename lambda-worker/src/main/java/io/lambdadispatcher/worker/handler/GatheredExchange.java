package io.lambdadispatcher.worker.handler;

import io.lambdadispatcher.wire.event.BodyBuffer;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
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
 * A complete request, and a response that is gathered until it is complete. It serves a request
 * that has not come from a dispatcher, for example an ordinary invocation of a Lambda function.
 *
 * <pre>{@code
 * import io.lambdadispatcher.worker.handler.GatheredExchange.Message;
 *
 * ScheduledExecutorService loop = Executors.newSingleThreadScheduledExecutor();
 * Http2Headers head = new DefaultHttp2Headers().method("GET").path("/").scheme("https");
 * Message get = new Message(head, new byte[0]);
 * GatheredExchange exchange = new GatheredExchange(loop, get, Duration.ofSeconds(10), 6_000_000);
 * loop.execute(() -> exchange.call(handler));
 * Message response = exchange.answer().get();
 * }</pre>
 *
 * <p>The handler's side is called as {@link Request} and {@link Response} describe, and wrong calls
 * throw. There is no back-pressure and no drain. Interim responses are checked and dropped, and a
 * tunnel cannot open.
 *
 * <p><b>Threading.</b> {@link #cancel} and {@link #answer} may be called on any thread.
 */
public final class GatheredExchange implements Request, RequestBody, Response {
    /**
     * A whole request or response.
     *
     * @param head with the pseudo-headers of HTTP/2 (RFC 9113 section 8.3)
     * @param body not to be changed
     * @param trailers empty if there are none
     */
    public record Message(Http2Headers head, byte[] body, Http2Headers trailers) {
        /** Creates a message without trailers. */
        public Message(Http2Headers head, byte[] body) {
            this(head, body, EmptyHttp2Headers.INSTANCE);
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    private final ScheduledExecutorService loop;
    private final Message request;
    private final long deadlineNanos;
    private final int maxBodyBytes;
    private final CompletableFuture<Message> answer = new CompletableFuture<>();

    private HandlerInterceptor interceptor = HandlerInterceptor.NONE;
    private boolean entered;

    private @Nullable BodyReader reader;
    private volatile boolean paused;
    private boolean dataGiven;
    private boolean endGiven;

    private @Nullable Http2Headers head;
    private final ContentLength length = new ContentLength();
    private final BodyBuffer body;

    private @Nullable Consumer<FailureReason> cancelListener;
    private volatile @Nullable FailureReason cancellation;

    /**
     * @param loop the event loop of the request, with one thread
     * @param remaining the time that the handler is told to have. Nothing happens at its end
     * @param maxBodyBytes maximum size of the response's body. A longer one fails the response
     */
    public GatheredExchange(ScheduledExecutorService loop, Message request, Duration remaining, int maxBodyBytes) {
        this.loop = loop;
        this.request = request;
        this.deadlineNanos = System.nanoTime() + remaining.toNanos();
        this.maxBodyBytes = maxBodyBytes;
        this.body = BodyBuffer.ofArray(-1, maxBodyBytes);
    }

    /**
     * Returns the response. Completes exceptionally with what the handler has thrown, or if the
     * response is failed, too long or cancelled.
     */
    public CompletableFuture<Message> answer() {
        return answer;
    }

    /**
     * Calls the handler within the scope of its interceptor. To be called once, on the event loop.
     * What it throws fails the response.
     */
    public void call(Handler handler) {
        try {
            interceptor = Objects.requireNonNull(handler.interceptor(), "interceptor()");
        } catch (Throwable e) {
            answer.completeExceptionally(e);
            return;
        }
        guarded(() -> handler.handle(this, this));
    }

    /**
     * Ends the exchange without waiting for the handler, which may continue forever. Does nothing
     * after the end of the response.
     *
     * @param why the message of the exception that the response completes with
     */
    public void cancel(FailureReason code, String why) {
        loop.execute(() -> {
            if (!answer.isDone()) {
                leave(code, why);
            }
        });
    }

    private void leave(FailureReason code, String why) {
        cancellation = code;
        deliver();
        Consumer<FailureReason> listener = cancelListener;
        if (listener != null) {
            guarded(() -> listener.accept(code));
        }
        answer.completeExceptionally(new IllegalStateException(why));
    }

    private void guarded(Step step) {
        try {
            intercepted(step);
        } catch (Throwable e) {
            try {
                intercepted(() -> interceptor.onFailure(this, e));
            } catch (Throwable another) {
                e.addSuppressed(another);
            }
            answer.completeExceptionally(e);
        }
    }

    /**
     * Runs a step within the interceptor's scope. A step that the handler's own code causes runs in
     * the scope that is open already.
     */
    private void intercepted(Step step) throws Exception {
        if (entered) {
            step.run();
            return;
        }
        try (Scope scope = interceptor.enter(this)) {
            entered = true;
            step.run();
        } finally {
            entered = false;
        }
    }

    // ---- the request

    @Override
    public Http2Headers headers() {
        return request.head();
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
        return request.body().length == 0 && request.trailers().isEmpty();
    }

    @Override
    public void read(BodyReader newReader) {
        if (reader != null) {
            throw new IllegalStateException("the request's body has a reader already: " + reader);
        }
        reader = newReader;
        deliver();
    }

    @Override
    public void readAll(int maxBytes, WholeBody then) {
        read(new BodyReader() {
            @Override
            public void onData(ByteBuf part) {
                part.release();
            }

            @Override
            public void onEnd(Http2Headers trailers) throws Exception {
                if (request.body().length > maxBytes) {
                    respond(413, "the request's body is longer than " + maxBytes + " bytes\n");
                } else {
                    then.accept(request.body().clone());
                }
            }

            @Override
            public void onFailed(FailureReason code) {}
        });
    }

    private void deliver() {
        BodyReader to = reader;
        if (to != null) {
            guarded(() -> deliver(to));
        }
    }

    private void deliver(BodyReader to) throws Exception {
        FailureReason cancelled = cancellation;
        if (cancelled != null) {
            if (!endGiven) {
                endGiven = true;
                to.onFailed(cancelled);
            }
            return;
        }
        if (!paused && !dataGiven) {
            dataGiven = true;
            if (request.body().length > 0) {
                to.onData(Unpooled.wrappedBuffer(request.body()));
            }
        }
        if (!paused && dataGiven && !endGiven) {
            endGiven = true;
            to.onEnd(request.trailers());
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

    // ---- the response

    @Override
    public void interim(Http2Headers interim) {
        verifyStatus(interim, StatusCode.isInterim(StatusCode.parse(interim.status())), "100 to 199 and not 101");
        OutgoingHeaders.ofResponse(interim);
        isWanted("interim()", false);
    }

    @Override
    public void head(Http2Headers newHead) {
        int status = StatusCode.parse(newHead.status());
        verifyStatus(newHead, StatusCode.isFinal(status), "200 to 999");
        Http2Headers sent = OutgoingHeaders.ofResponse(newHead);
        if (!isWanted("head()", false)) {
            return;
        }
        if (!length.expectResponse(sent, status, false)) {
            throw new IllegalArgumentException("content-length " + sent.getAll(HttpHeaderNames.CONTENT_LENGTH)
                    + ", expected one number of at most 18 digits");
        }
        head = sent;
    }

    private static void verifyStatus(Http2Headers head, boolean fits, String expected) {
        if (!fits) {
            throw new IllegalArgumentException(":status " + head.status() + ", expected " + expected);
        }
    }

    /**
     * @return false if nobody wants the response any more
     * @throws IllegalStateException if the call is out of order
     */
    private boolean isWanted(String call, boolean afterHead) {
        if (cancellation != null || answer.isCompletedExceptionally()) {
            return false;
        }
        if (answer.isDone() || afterHead != (head != null)) {
            throw new IllegalStateException(call + " on a response that expects "
                    + (answer.isDone()
                            ? "no further call, because it has ended"
                            : head == null ? "head()" : "write() or end()"));
        }
        return true;
    }

    /**
     * @return false if the body is not sent, because the request is HEAD
     * @throws IllegalStateException if the body is not as long as announced, which also fails the
     *     response
     */
    private boolean count(int bytes, boolean end) {
        if (Methods.isHead(request.head().method())) {
            return false;
        }
        if (!length.add(bytes, end)) {
            IllegalStateException mismatch = new IllegalStateException(length.errorOfResponse());
            answer.completeExceptionally(mismatch);
            throw mismatch;
        }
        return true;
    }

    @Override
    public boolean write(ByteBuf part) {
        boolean wanted = false;
        try {
            wanted = isWanted("write()", true) && count(part.readableBytes(), false);
        } finally {
            if (!wanted) {
                part.release();
            }
        }
        if (wanted && !body.add(part)) {
            String why = "the response is longer than " + maxBodyBytes + " bytes";
            answer.completeExceptionally(new IllegalStateException(why));
            // Not during the call that exceeded the limit.
            loop.execute(() -> leave(FailureReason.NOT_NEEDED, why));
        }
        return isWritable();
    }

    @Override
    public boolean isWritable() {
        return !answer.isDone();
    }

    /** Calls nothing, because the response is writable until it ends. */
    @Override
    public void onWritable(Runnable listener) {}

    @Override
    public void end() {
        end(EmptyHttp2Headers.INSTANCE);
    }

    @Override
    public void end(Http2Headers trailers) {
        Http2Headers sent = OutgoingHeaders.ofTrailers(trailers);
        if (isWanted("end()", true)) {
            count(0, true);
            answer.complete(new Message(Objects.requireNonNull(head), body.toArray(), sent));
        }
    }

    @Override
    public void respond(Http2Headers newHead, ByteBuf whole) {
        try {
            head(newHead);
        } catch (RuntimeException e) {
            whole.release();
            throw e;
        }
        write(whole);
        end();
    }

    @Override
    public void respond(Http2Headers newHead) {
        head(newHead);
        end();
    }

    @Override
    public void fail(FailureReason code, String text) {
        if (cancellation == null) {
            answer.completeExceptionally(new IllegalStateException(code + ": " + text));
        }
    }
}
