package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.HandlerInterceptor.Scope;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.HandlerCall;
import io.lambdadispatcher.worker.internal.exchange.Interception;
import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One request on one thread. It is started on the event loop. Everything else happens on the
 * handler's thread, except cancellation and drain.
 */
final class BlockingCall extends HandlerCall implements BlockingRequest {
    private final BlockingHandler handler;
    /** Confined to the handler's thread. */
    private final @Nullable Interception interception;

    private final BodyInput input;
    private final BodyOutput output;
    private final BlockingAnswer answer;

    private volatile @Nullable Long goneAtNanos;
    /** Confined to the event loop. */
    private @Nullable Consumer<Duration> drainListener;

    BlockingCall(BlockingHandler handler, Request request, Response response) {
        super(request, response);
        this.handler = handler;
        this.interception = Interception.of(handler.interceptor(), request);
        this.input = new BodyInput(request.body());
        this.output = new BodyOutput(this, response);
        this.answer = new BlockingAnswer(response, output);
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
        try (Scope scope = Interception.enter(interception)) {
            handler.handle(this, answer);
            answer.end();
        } catch (Throwable e) {
            fail(e);
        }
    }

    private void fail(Throwable cause) {
        if (request.cancellation() == null) {
            Interception.report(interception, "blocking handler", request, cause);
            response.fail(FailureReason.HANDLER_FAILED, "");
        }
    }

    void sendHead() {
        answer.sendHead();
    }

    void verifyWanted() throws IOException {
        FailureReason code = request.cancellation();
        if (code != null) {
            throw new IOException("the response is no longer needed: " + code);
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
    public String scheme() {
        return textOf(request.headers().scheme());
    }

    @Override
    public String authority() {
        return textOf(request.headers().authority());
    }

    private static String textOf(@Nullable CharSequence value) {
        return value == null ? "" : value.toString();
    }

    @Override
    public @Nullable String header(String name) {
        return request.header(name);
    }

    @Override
    public Map<String, List<String>> headers() {
        return HeaderMaps.of(request.headers());
    }

    @Override
    public Map<String, List<String>> trailers() {
        return HeaderMaps.of(input.trailers());
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
            // A separate interception, because the handler's thread may be within its own scope
            // now.
            Interception onLoop = Interception.of(handler.interceptor(), request);
            try (Scope scope = Interception.enter(onLoop)) {
                listener.accept(grace);
            } catch (Throwable e) {
                Interception.report(onLoop, "drain listener", request, e);
            }
        }
    }

    @Override
    public boolean isCancelled() {
        return request.cancellation() != null;
    }

    @Override
    public InputStream body() {
        return input;
    }
}
