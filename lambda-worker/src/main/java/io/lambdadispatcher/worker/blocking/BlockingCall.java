package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One request on one thread. Started on the event loop; everything else but the cancellation happens on the handler's thread. */
final class BlockingCall implements BlockingRequest, Runnable {
    private final BlockingHandler handler;
    private final Request request;
    private final Response response;
    private final BodyInput input;
    private final BodyOutput output;

    private volatile @Nullable Long goneAtNanos;
    /** Of the event loop. */
    private @Nullable Consumer<Duration> drainListener;

    private boolean headSent;
    private @Nullable Http2Headers trailers;

    /** Guards {@link #thread}: the interrupt must not hit the thread's next task. */
    private final Object threadLock = new Object();

    private @Nullable Thread thread;

    BlockingCall(BlockingHandler handler, Request request, Response response) {
        this.handler = handler;
        this.request = request;
        this.response = response;
        this.input = new BodyInput(request.body());
        this.output = new BodyOutput(this, response);
    }

    void start(Executor threads) {
        request.body().read(input);
        response.onWritable(output::onWritable);
        request.onCancel(this::onCancel);
        request.onDrain(this::onDraining);
        try {
            threads.execute(this);
        } catch (RejectedExecutionException e) {
            input.close();
            response.fail(ErrorCode.REFUSED, "no thread is free: " + e.getMessage());
        }
    }

    private void onCancel(ErrorCode code) {
        synchronized (threadLock) {
            if (thread != null) {
                thread.interrupt();
            }
        }
    }

    @Override
    public void run() {
        synchronized (threadLock) {
            thread = Thread.currentThread();
        }
        try {
            if (request.cancellation() == null) {
                serve();
            }
        } finally {
            synchronized (threadLock) {
                thread = null;
            }
            // An interrupt that was meant for this request ends with it.
            Thread.interrupted();
            input.close();
            output.drop();
        }
    }

    private void serve() {
        try {
            handler.handle(this, new Answer());
            output.flush();
            if (headSent) {
                finish();
            } else {
                String text = "handler returned without a response, expected head()";
                fail(new IllegalStateException(text), text);
            }
        } catch (Throwable e) {
            // The message is for the log only: this text gets as far as the client.
            fail(e, e.getClass().getName());
        }
    }

    private void fail(Throwable cause, String text) {
        if (request.cancellation() == null) {
            FailureLog.report("blocking handler", request, cause);
            response.fail(ErrorCode.HANDLER_FAILED, text);
        }
    }

    private void finish() {
        if (trailers == null) {
            response.end();
        } else {
            response.end(trailers);
        }
    }

    void sendHeadIfMissing() {
        if (!headSent) {
            response.head(200);
            headSent = true;
        }
    }

    void verifyWanted() throws IOException {
        ErrorCode code = request.cancellation();
        if (code != null) {
            throw new IOException("nobody wants the response any more: " + code);
        }
    }

    @Override
    public String method() {
        return request.method().toString();
    }

    @Override
    public String path() {
        return request.path();
    }

    @Override
    public Http2Headers headers() {
        return request.headers();
    }

    @Override
    public Http2Headers trailers() {
        return input.trailers();
    }

    @Override
    public Optional<Duration> remaining() {
        return request.remaining();
    }

    @Override
    public Optional<Duration> grace() {
        return Optional.ofNullable(goneAtNanos).map(at -> Duration.ofNanos(Math.max(0, at - System.nanoTime())));
    }

    @Override
    public void onDrain(Consumer<Duration> listener) {
        request.eventLoop().execute(() -> {
            drainListener = listener;
            grace().ifPresent(this::tellOfDrain);
        });
    }

    private void onDraining(Duration grace) {
        goneAtNanos = System.nanoTime() + grace.toNanos();
        tellOfDrain(grace);
    }

    private void tellOfDrain(Duration grace) {
        Consumer<Duration> listener = drainListener;
        drainListener = null;
        if (listener != null) {
            listener.accept(grace);
        }
    }

    @Override
    public @Nullable ErrorCode cancellation() {
        return request.cancellation();
    }

    @Override
    public InputStream body() {
        return input;
    }

    private final class Answer implements BlockingResponse {
        @Override
        public void interim(Http2Headers head) {
            response.interim(head);
        }

        @Override
        public void head(Http2Headers head) {
            response.head(head);
            headSent = true;
        }

        @Override
        public void head(int status) {
            response.head(status);
            headSent = true;
        }

        @Override
        public OutputStream body() {
            return output;
        }

        @Override
        public void trailers(Http2Headers fields) {
            trailers = fields;
        }
    }
}
