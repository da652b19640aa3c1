package io.lambdadispatcher.worker.adapter.runtime;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.wire.event.EventWriter;
import io.lambdadispatcher.wire.event.ResponseReader;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.HandlerThreads;
import io.netty.handler.codec.http.HttpMethod;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * Serves with the Lambda runtime of any language, unmodified: it runs as child processes of the worker, which give it requests as events. Ready when the
 * first child has asked for an event. Nothing is opened or started before {@link #start}.
 */
public final class RuntimeHandler implements Handler, Lifecycle, RequestStreamHandler {
    /** Holds the command line that starts a runtime. */
    public static final String VARIABLE = RuntimeConfig.COMMAND;

    /** Where AWS's runtime client keeps the trace of an invoke. */
    private static final String TRACE_PROPERTY = "com.amazonaws.xray.traceHeader";

    private final RuntimeConfig config;
    private volatile RequestExchange.@Nullable Shared shared;
    private @Nullable CompletionStage<Void> ready;

    private RuntimeHandler(RuntimeConfig config) {
        this.config = config;
    }

    /**
     * @param variables of the worker's environment
     * @throws IllegalArgumentException names the variable, its value and what was expected
     */
    public static RuntimeHandler of(Map<String, String> variables) {
        return new RuntimeHandler(RuntimeConfig.read(variables));
    }

    @Override
    public synchronized CompletionStage<Void> start() {
        if (ready == null) {
            RuntimePool pool = new RuntimePool(config);
            shared = new RequestExchange.Shared(
                    pool,
                    EventWriter.of(config.format(), config.functionName()),
                    new ResponseReader(config.format()),
                    HandlerThreads.shared(),
                    config.functionArn(),
                    config.maxBytes());
            ready = pool.start();
        }
        return ready;
    }

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

    @Override
    public void handle(Request request, Response response) {
        if (HttpMethod.CONNECT.asciiName().contentEquals(request.method())) {
            throw new UnsupportedOperationException("CONNECT has no place in an event");
        }
        new RequestExchange(shared(), request, response).start();
    }

    /**
     * An ordinary invoke, which is no request of the dispatcher's: goes to a child as it is, as Lambda would give it. Blocks.
     *
     * @throws IOException says what the child said, if it failed
     */
    @Override
    public void handleRequest(InputStream event, OutputStream answer, Context context) throws IOException {
        RawExchange exchange = new RawExchange(config.maxBytes());
        InvokeHead head = InvokeHead.of(
                context.getAwsRequestId(),
                context.getInvokedFunctionArn(),
                System.getProperty(TRACE_PROPERTY),
                context.getRemainingTimeInMillis());
        shared().pool().submit(new Invocation(head, event.readAllBytes(), exchange));
        try {
            answer.write(exchange.result().toCompletableFuture().get());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while a child worked", e);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            throw new IOException(cause == null ? "no answer" : cause.getMessage(), cause);
        }
    }
}
