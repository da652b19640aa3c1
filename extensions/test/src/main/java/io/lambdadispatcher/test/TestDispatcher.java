package io.lambdadispatcher.test;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.Handler;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/**
 * A dispatcher and one worker, which serves a handler, in this JVM. They speak HTTP/2 over free
 * ports on loopback.
 *
 * <pre>{@code
 * try (TestDispatcher dispatcher = TestDispatcher.serving(new Greeter())) {
 *     assertEquals("hello", dispatcher.get("/").text());
 * }
 * }</pre>
 *
 * <p>The request timeout is 30 s. Any thread.
 */
public final class TestDispatcher implements AutoCloseable {
    /** The name of the function that the worker serves. */
    public static final String FUNCTION = "test";

    private static final String SECRET = "a secret for tests only";
    private static final int WAIT_SECONDS = 60;

    private final Dispatcher dispatcher;
    private final Worker worker;

    private TestDispatcher(Handler handler, UnaryOperator<DispatcherBuilder> change) {
        dispatcher = change.apply(Dispatcher.builder()
                        .function(FunctionOptions.builder(FUNCTION)
                                .workerTimeout(Duration.ofSeconds(30))
                                .build())
                        .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                        .workerListener(ListenerOptions.workers("127.0.0.1", 0))
                        .eventLoops(1)
                        .secret(SECRET))
                .start();
        Worker starting = null;
        try {
            starting = new Worker(WorkerConfig.of(FUNCTION, SECRET, dispatcher.workerAddress()), handler);
            await(starting.start().ready());
        } catch (RuntimeException e) {
            if (starting != null) {
                starting.close();
            }
            dispatcher.close(Duration.ZERO);
            throw e;
        }
        worker = starting;
    }

    /**
     * Starts a dispatcher and a worker. Waits until the worker is ready, for at most 60 s.
     *
     * @throws IllegalStateException if the handler cannot start
     */
    public static TestDispatcher serving(Handler handler) {
        return serving(handler, builder -> builder);
    }

    /**
     * Starts a dispatcher and a worker. Waits until the worker is ready, for at most 60 s.
     *
     * @throws IllegalStateException if the handler cannot start
     */
    public static TestDispatcher serving(BlockingHandler handler) {
        return serving(handler.asHandler());
    }

    /**
     * Starts a dispatcher with other options, and a worker. Waits until the worker is ready, for at
     * most 60 s.
     *
     * @param change receives the builder before the start. It must keep the function, the worker
     *     listener and the secret
     * @throws IllegalStateException if the handler cannot start
     */
    public static TestDispatcher serving(Handler handler, UnaryOperator<DispatcherBuilder> change) {
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

    /** Returns the dispatcher, which {@link #close} closes. */
    public Dispatcher dispatcher() {
        return dispatcher;
    }

    /** Returns the worker, which {@link #close} closes. */
    public Worker worker() {
        return worker;
    }

    /**
     * Returns the {@code http} address of a path on the public port, for any HTTP client.
     *
     * @param path begins with {@code /}, and may have a query
     */
    public URI uri(String path) {
        return URI.create(
                "http://127.0.0.1:" + dispatcher.publicAddresses().get(0).getPort() + path);
    }

    /**
     * Sends a GET request. See {@link #send}.
     *
     * @param path begins with {@code /}, and may have a query
     */
    public TestAnswer get(String path) {
        return send(DispatchRequest.get(path).build());
    }

    /**
     * Sends a request to the dispatcher without a client connection, and waits for the complete
     * response. Blocks for at most 60 s for each of headers, body and trailers.
     *
     * <p>If the dispatcher answers by itself, the answer has the status that a client would get,
     * for example 404 if no function matches, or 500 if the handler threw an exception. Its body is
     * the failure, for example {@code no_function: no function matches /x}.
     *
     * @throws DispatchException if the response is incomplete
     */
    public TestAnswer send(DispatchRequest request) {
        DispatchResponse response;
        try {
            response = await(dispatcher.dispatch(request));
        } catch (DispatchException e) {
            byte[] failure = String.valueOf(e.getMessage()).getBytes(StandardCharsets.UTF_8);
            return new TestAnswer(e.status(), Map.of(), failure, Map.of());
        }
        byte[] body = await(response.bodyAsBytes());
        return new TestAnswer(response.status(), response.headers(), body, await(response.trailers()));
    }

    /** Closes the worker, then the dispatcher, and waits for both. */
    @Override
    public void close() {
        worker.close();
        dispatcher.close();
    }
}
