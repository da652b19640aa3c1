package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.HandlerCall;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One request on one thread. Started on the event loop; everything else but the cancellation happens on the handler's thread. */
final class BlockingCall extends HandlerCall implements BlockingRequest {
    private final BlockingHandler handler;
    private final BodyInput input;
    private final BodyOutput output;

    private volatile @Nullable Long goneAtNanos;
    /** Of the event loop. */
    private @Nullable Consumer<Duration> drainListener;

    private boolean headSent;
    private @Nullable Http2Headers trailers;

    BlockingCall(BlockingHandler handler, Request request, Response response) {
        super(request, response);
        this.handler = handler;
        this.input = new BodyInput(request.body());
        this.output = new BodyOutput(this, response);
    }

    void start(Executor threads) {
        request.body().read(input);
        response.onWritable(output::onWritable);
        request.onCancel(this::interrupt);
        request.onDrain(this::onDraining);
        execute(threads);
    }

    @Override
    protected void release() {
        input.close();
        output.drop();
    }

    @Override
    protected void call() {
        try {
            handler.handle(this, new Answer());
            output.flush();
            if (headSent) {
                finish();
            } else {
                String text = "handler returned without a response, expected head()";
                fail("blocking handler", new IllegalStateException(text), text);
            }
        } catch (Throwable e) {
            fail("blocking handler", e, e.getClass().getName());
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
