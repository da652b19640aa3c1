package io.lambdadispatcher.test;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.wire.http.HeaderMaps;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.Handler;
import java.net.URI;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/**
 * A dispatcher and one worker, which serves a handler, over real HTTP/2 in this JVM. It starts in a tenth of a second on a free port. Any
 * thread.
 */
public final class TestDispatcher implements AutoCloseable {
    /** The name of its one function. */
    public static final String FUNCTION = "test";

    private static final String SECRET = "a secret for tests only";
    private static final int WAIT_SECONDS = 60;

    private final Dispatcher dispatcher;
    private final Worker worker;

    private TestDispatcher(Handler handler, UnaryOperator<Dispatcher.Builder> change) {
        dispatcher = change.apply(Dispatcher.builder()
                        .function(FunctionOptions.builder(FUNCTION)
                                .requestTimeout(Duration.ofSeconds(30))
                                .build())
                        .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                        .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                        .eventLoops(1)
                        .secret(SECRET))
                .start();
        worker = new Worker(WorkerConfig.of(FUNCTION, SECRET, dispatcher.workerAddress()), handler).start();
        try {
            await(worker.ready());
        } catch (RuntimeException e) {
            dispatcher.close(Duration.ZERO);
            throw e;
        }
    }

    /** Starts one. @throws IllegalStateException if the handler cannot start */
    public static TestDispatcher serving(Handler handler) {
        return serving(handler, builder -> builder);
    }

    /** Starts one. @throws IllegalStateException if the handler cannot start */
    public static TestDispatcher serving(BlockingHandler handler) {
        return serving(handler.asHandler());
    }

    /**
     * Starts one with other options.
     *
     * @param change must keep the function, the worker listener and the secret
     */
    public static TestDispatcher serving(Handler handler, UnaryOperator<Dispatcher.Builder> change) {
        return new TestDispatcher(handler, change);
    }

    private static <T> T await(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture()
                    .orTimeout(WAIT_SECONDS, TimeUnit.SECONDS)
                    .join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw e;
        }
    }

    public Dispatcher dispatcher() {
        return dispatcher;
    }

    public Worker worker() {
        return worker;
    }

    /** Returns the address of a path on the public port, for any HTTP client. @param path beginning with {@code /} */
    public URI uri(String path) {
        return URI.create(
                "http://127.0.0.1:" + dispatcher.publicAddresses().get(0).getPort() + path);
    }

    /** {@link #send} of a GET request. */
    public TestAnswer get(String path) {
        return send(DispatchRequest.get(path).build());
    }

    /**
     * Sends a request, and waits for the whole response.
     *
     * @throws DispatchException if there is none, for example because the handler threw
     */
    public TestAnswer send(DispatchRequest request) {
        DispatchResponse response = await(dispatcher.dispatch(request));
        byte[] body = await(response.bodyAsBytes());
        return new TestAnswer(
                response.status(), HeaderMaps.of(response.headers()), body, HeaderMaps.of(await(response.trailers())));
    }

    /** Ends worker and dispatcher, and waits for both. */
    @Override
    public void close() {
        worker.close();
        dispatcher.close();
    }
}
