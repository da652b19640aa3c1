package io.lambdadispatcher.bench.lambda;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.worker.handler.GatheredExchange;
import io.lambdadispatcher.worker.handler.GatheredExchange.Message;
import io.lambdadispatcher.worker.handler.Handler;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;

/**
 * Serves a load balancer's events with a worker's handler, one invocation per request. JSON is read
 * and written as a stream. Bodies are base64 unless they are text. The environment's thread waits
 * until the handler has answered.
 */
public final class EventFunction implements RequestStreamHandler {
    private final Handler handler;
    private final ScheduledExecutorService timers;

    /** @param timers replaces the handler's event loop; it only runs delayed tasks */
    public EventFunction(Handler handler, ScheduledExecutorService timers) {
        this.handler = handler;
        this.timers = timers;
    }

    /**
     * @throws IOException if the event is not a load balancer's, or the handler fails its response
     */
    @Override
    public void handleRequest(InputStream input, OutputStream output, Context context) throws IOException {
        GatheredExchange exchange = new GatheredExchange(
                timers,
                AlbRequest.read(input),
                Duration.ofMillis(context.getRemainingTimeInMillis()),
                Integer.MAX_VALUE);
        exchange.call(handler);
        AlbResponse.write(await(exchange), output);
    }

    private static Message await(GatheredExchange exchange) throws IOException {
        try {
            return exchange.answer().get();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("killed", e);
        } catch (ExecutionException e) {
            Throwable cause = Objects.requireNonNull(e.getCause());
            throw new IOException(cause.getMessage(), cause);
        }
    }
}
