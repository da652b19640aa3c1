package io.lambdadispatcher.worker.adapter.runtime;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.wire.event.EventWriter;
import io.lambdadispatcher.wire.event.ResponseReader;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import io.lambdadispatcher.worker.internal.exchange.HandlerThreads;
import io.netty.handler.codec.http.HttpMethod;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Serves requests with an unmodified Lambda runtime of any language. The worker starts it as child
 * processes, which receive the requests as events.
 *
 * <pre>{@code
 * RuntimeHandler handler = RuntimeHandler.of(Map.of(
 *         "LAMBDA_DISPATCHER_RUNTIME", "node runtime.mjs",
 *         "LAMBDA_DISPATCHER_RUNTIME_CHILDREN", "2"));
 * }</pre>
 *
 * <p>{@code docs/reference/adapters.md} lists the environment variables. Nothing is opened or
 * started before {@link #start}. Tunnels are not served. Any thread.
 */
public final class RuntimeHandler implements Handler, Lifecycle, RequestStreamHandler {
    /** The environment variable for the command line that starts the runtime. */
    public static final String VARIABLE = RuntimeConfig.COMMAND;

    /** The system property in which AWS's runtime client keeps the trace of an invocation. */
    private static final String TRACE_PROPERTY = "com.amazonaws.xray.traceHeader";

    private final RuntimeConfig config;
    private volatile RequestExchange.@Nullable Shared shared;
    private @Nullable CompletionStage<Void> ready;

    private RuntimeHandler(RuntimeConfig config) {
        this.config = config;
    }

    /**
     * Creates a handler from environment variables.
     *
     * @param variables the environment variables of the worker
     * @throws IllegalArgumentException if a variable is missing or not allowed. The message names
     *     it, its value and what was expected
     */
    public static RuntimeHandler of(Map<String, String> variables) {
        return new RuntimeHandler(RuntimeConfig.read(variables));
    }

    /**
     * Starts the child processes. Further calls return the same result.
     *
     * @return completes when the first child has asked for an event
     */
    @Override
    public synchronized CompletionStage<Void> start() {
        if (ready == null) {
            RuntimePool pool = new RuntimePool(config);
            shared = new RequestExchange.Shared(
                    pool,
                    EventWriter.of(config.format(), config.functionName()),
                    new ResponseReader(config.format(), FailureLog::reportLoss),
                    HandlerThreads.shared(),
                    config.functionArn(),
                    config.maxBytes());
            ready = pool.start();
        }
        return ready;
    }

    /** Ends the child processes. Does nothing if they were not started. */
    @Override
    public void stop() {
        RequestExchange.Shared started = shared;
        if (started != null) {
            started.pool().stop();
        }
    }

    RequestExchange.Shared shared() {
        RequestExchange.Shared started = shared;
        if (started == null) {
            throw new IllegalStateException("not started");
        }
        return started;
    }

    /** Returns false, because the children do the work. */
    @Override
    public boolean servesInProcess() {
        return false;
    }

    @Override
    public void handle(Request request, Response response) {
        if (HttpMethod.CONNECT.asciiName().contentEquals(request.method())) {
            throw new UnsupportedOperationException("an event cannot carry CONNECT");
        }
        new RequestExchange(shared(), request, response).start();
    }

    /**
     * Passes an event that is not a request of the dispatcher to a child, unmodified, and writes
     * the child's result. Blocks.
     *
     * @throws IllegalStateException if the handler has not been started
     * @throws IOException if the child failed, with its error message, or if the calling thread was
     *     interrupted
     */
    @Override
    public void handleRequest(InputStream event, OutputStream answer, Context context) throws IOException {
        RawExchange exchange = new RawExchange(config.maxBytes());
        InvokeHead head = InvokeHead.of(context, System.getProperty(TRACE_PROPERTY));
        Invocation invocation = new Invocation(head, event.readAllBytes(), exchange);
        RuntimePool pool = shared().pool();
        pool.submit(invocation);
        try {
            answer.write(exchange.result().toCompletableFuture().get());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            try {
                // Lambda may retry it. No child must run it as well.
                pool.drop(invocation);
            } catch (RejectedExecutionException ended) {
                e.addSuppressed(ended); // No child runs anything any more.
            }
            throw new IOException("interrupted while a child worked", e);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            throw new IOException(cause == null ? "no answer" : cause.getMessage(), cause);
        }
    }
}
