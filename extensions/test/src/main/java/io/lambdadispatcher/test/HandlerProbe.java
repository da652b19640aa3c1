package io.lambdadispatcher.test;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.HandlerInterceptor;
import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.RequestBody;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.handler.WholeBody;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Calls a handler with one request, without a network, for unit tests. The handler runs on its own
 * thread, which is the event loop of the request.
 *
 * <pre>{@code
 * TestAnswer answer = HandlerProbe.post("/orders")
 *         .header("content-type", "application/json")
 *         .body("{}")
 *         .call(handler);
 * }</pre>
 *
 * <p>Wrong calls throw as they do in a worker. Back-pressure, drains and tunnels are not imitated.
 * Use {@link TestDispatcher} to test them. Not thread-safe.
 */
public final class HandlerProbe {
    private static final int WAIT_SECONDS = 30;

    private final FlatHeaders headers = new FlatHeaders();
    private byte[] body = {};
    private Http2Headers trailers = EmptyHttp2Headers.INSTANCE;
    private @Nullable FailureReason cancelWith;

    private HandlerProbe(String method, String path) {
        headers.method(method).scheme("http").authority("localhost").path(HeaderText.bytesOf(path));
    }

    /**
     * Returns a probe that sends GET.
     *
     * @param path begins with {@code /}, and may have a query
     */
    public static HandlerProbe get(String path) {
        return new HandlerProbe("GET", path);
    }

    /**
     * Returns a probe that sends POST.
     *
     * @param path begins with {@code /}, and may have a query
     */
    public static HandlerProbe post(String path) {
        return new HandlerProbe("POST", path);
    }

    /**
     * Returns a probe that sends any method.
     *
     * @param method for example {@code PUT}
     * @param path begins with {@code /}, and may have a query
     */
    public static HandlerProbe of(String method, String path) {
        return new HandlerProbe(method, path);
    }

    /**
     * Adds a header. Its name becomes lower case.
     *
     * @throws IllegalArgumentException if the name or the value is not allowed in HTTP
     */
    public HandlerProbe header(String name, String value) {
        OutgoingHeaders.verifyName(name);
        headers.add(AsciiString.of(name).toLowerCase(), OutgoingHeaders.verifyValue(name, value));
        return this;
    }

    /** Sets the body, which is copied. Default: empty. */
    public HandlerProbe body(byte[] bytes) {
        body = bytes.clone();
        return this;
    }

    /** Sets the body as text in UTF-8. Default: empty. */
    public HandlerProbe body(String text) {
        return body(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Adds a trailer, which arrives after the body. Its name becomes lower case. */
    public HandlerProbe trailer(String name, String value) {
        trailers = trailers.isEmpty() ? new FlatHeaders() : trailers;
        trailers.add(AsciiString.of(name).toLowerCase(), HeaderText.bytesOf(value));
        return this;
    }

    /**
     * Lets the client disconnect as soon as {@link Handler#handle} has returned, if the response
     * has not ended by then.
     */
    public HandlerProbe clientDisconnects() {
        cancelWith = FailureReason.CANCELLED;
        return this;
    }

    /**
     * Calls the handler, and waits for the end of the response. Each call is a new request.
     *
     * @throws AssertionError if the handler throws, fails the response, or does not end it within
     *     30 s, or if the client has disconnected. The cause is the exception that was thrown
     */
    public TestAnswer call(Handler handler) {
        ScheduledThreadPoolExecutor loop = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "handler-probe");
            thread.setDaemon(true);
            return thread;
        });
        loop.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        try {
            Exchange exchange = new Exchange(loop);
            loop.execute(() -> exchange.handle(handler));
            return exchange.answer.get(WAIT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            Throwable cause = Objects.requireNonNullElse(e.getCause(), e);
            throw new AssertionError("no response: " + cause.getMessage(), cause);
        } catch (TimeoutException e) {
            loop.shutdownNow();
            throw new AssertionError("the handler has not ended its response within " + WAIT_SECONDS + " s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted", e);
        } finally {
            // Without an interrupt, because the handler may still be in the call that has ended it.
            loop.shutdown();
        }
    }

    private final class Exchange implements Request, RequestBody, Response {
        final CompletableFuture<TestAnswer> answer = new CompletableFuture<>();
        private final ScheduledExecutorService loop;
        private final ByteArrayOutputStream written = new ByteArrayOutputStream();
        private @Nullable Http2Headers head;
        private @Nullable BodyReader reader;
        private @Nullable Consumer<FailureReason> cancelListener;
        private volatile @Nullable FailureReason cancellation;
        private HandlerInterceptor interceptor = HandlerInterceptor.NONE;
        private boolean entered;
        private boolean paused;
        private boolean dataGiven;
        private boolean endGiven;

        Exchange(ScheduledExecutorService loop) {
            this.loop = loop;
        }

        void handle(Handler handler) {
            try {
                interceptor = Objects.requireNonNull(handler.interceptor(), "interceptor()");
            } catch (Throwable e) {
                answer.completeExceptionally(e);
                return;
            }
            guarded(() -> {
                handler.handle(this, this);
                if (cancelWith != null && !answer.isDone()) {
                    cancellation = cancelWith;
                    deliver();
                    if (cancelListener != null) {
                        cancelListener.accept(cancelWith);
                    }
                    answer.completeExceptionally(new IllegalStateException("the client has disconnected"));
                }
            });
        }

        private void guarded(Step step) {
            try {
                intercepted(step);
            } catch (Throwable e) {
                tellFailure(e);
                answer.completeExceptionally(e);
            }
        }

        /**
         * Runs a step within the interceptor's scope. A step that the handler's own code causes
         * runs in the scope that is open already.
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

        private void tellFailure(Throwable failure) {
            try {
                intercepted(() -> interceptor.onFailure(this, failure));
            } catch (Throwable e) {
                failure.addSuppressed(e);
            }
        }

        @Override
        public Http2Headers headers() {
            return headers;
        }

        @Override
        public RequestBody body() {
            return this;
        }

        @Override
        public Optional<Duration> remaining() {
            return Optional.of(Duration.ofSeconds(WAIT_SECONDS));
        }

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
            return body.length == 0 && trailers.isEmpty();
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
            if (body.length > maxBytes) {
                respond(413, "the request's body is longer than " + maxBytes + " bytes\n");
                return;
            }
            read(new BodyReader() {
                @Override
                public void onData(ByteBuf buffer) {
                    buffer.release();
                }

                @Override
                public void onEnd(Http2Headers ignored) throws Exception {
                    then.accept(body.clone());
                }

                @Override
                public void onFailed(FailureReason code) {}
            });
        }

        private void deliver() {
            BodyReader to = reader;
            if (to == null) {
                return;
            }
            guarded(() -> {
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
                    if (body.length > 0) {
                        to.onData(Unpooled.copiedBuffer(body));
                    }
                }
                if (!paused && dataGiven && !endGiven) {
                    endGiven = true;
                    to.onEnd(trailers);
                }
            });
        }

        @Override
        public void pause() {
            paused = true;
        }

        @Override
        public void resume() {
            loop.execute(() -> {
                paused = false;
                deliver();
            });
        }

        @Override
        public void interim(Http2Headers interim) {
            if (!StatusCode.isInterim(StatusCode.parse(interim.status()))) {
                throw new IllegalArgumentException(":status " + interim.status() + ", expected 100 to 199 and not 101");
            }
            OutgoingHeaders.ofResponse(interim);
        }

        @Override
        public void head(Http2Headers newHead) {
            if (!StatusCode.isFinal(StatusCode.parse(newHead.status()))) {
                throw new IllegalArgumentException(":status " + newHead.status() + ", expected 200 to 999");
            }
            if (head != null) {
                throw new IllegalStateException("head() on a response that has one");
            }
            head = OutgoingHeaders.ofResponse(newHead);
        }

        @Override
        public boolean write(ByteBuf buffer) {
            try {
                if (head == null || answer.isDone()) {
                    throw new IllegalStateException(
                            "write() on a response that " + (head == null ? "expects head()" : "has ended"));
                }
                written.writeBytes(ByteBufUtil.getBytes(buffer));
            } finally {
                buffer.release();
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
            end(EmptyHttp2Headers.INSTANCE);
        }

        @Override
        public void end(Http2Headers responseTrailers) {
            Http2Headers own = head;
            if (own == null) {
                throw new IllegalStateException("end() on a response that expects head()");
            }
            if (answer.isDone()) {
                throw new IllegalStateException("end() on a response that has ended");
            }
            answer.complete(new TestAnswer(
                    StatusCode.parse(own.status()),
                    HeaderMaps.of(own),
                    written.toByteArray(),
                    HeaderMaps.of(OutgoingHeaders.ofTrailers(responseTrailers))));
        }

        @Override
        public void respond(Http2Headers newHead, ByteBuf buffer) {
            try {
                head(newHead);
            } catch (RuntimeException e) {
                buffer.release();
                throw e;
            }
            write(buffer);
            end();
        }

        @Override
        public void respond(Http2Headers newHead) {
            head(newHead);
            end();
        }

        @Override
        public void fail(FailureReason code, String text) {
            answer.completeExceptionally(
                    new IllegalStateException("the handler failed the response: " + code + " " + text));
        }
    }

    private interface Step {
        void run() throws Exception;
    }
}
