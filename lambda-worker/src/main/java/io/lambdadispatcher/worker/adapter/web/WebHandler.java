package io.lambdadispatcher.worker.adapter.web;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.worker.adapter.web.WebConfig.AppProtocol;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.transport.FreezeClocks;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.util.concurrent.FastThreadLocal;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Passes each request to a web application, and the application's response back. Bodies are
 * streamed in both directions, without waiting for their end. WebSockets are supported.
 *
 * <pre>{@code
 * WebHandler handler = new WebHandler(WebConfig.builder(8080).command("exec ./app").build());
 * }</pre>
 *
 * <p><b>Threading.</b> Called on the event loops of worker connections. Each of them has its own
 * connections to the application.
 *
 * <p><b>Errors.</b>
 * <ul>
 *   <li>The client receives 502 if the application cannot be reached, or breaks off before the
 *       headers of its response. An ordinary invocation fails.
 *   <li>The client receives an incomplete response if the application breaks off later.
 *   <li>If the request's deadline passes or the client disconnects, the request to the application
 *       is broken off.
 * </ul>
 */
public final class WebHandler implements Handler, Lifecycle, RequestStreamHandler {
    /** The environment variable for the port that the application listens on. */
    public static final String PORT_VARIABLE = "LAMBDA_DISPATCHER_WEB_PORT";

    private final WebConfig config;
    private final FreezeClocks clocks;
    private final WebApp app;
    private final WebInvocations invocations;
    private final FastThreadLocal<@Nullable Upstream> upstreams = new FastThreadLocal<>();

    /**
     * Returns the name of the environment variable that asks for a web application, or {@code null}
     * if none does. {@code PORT} does not count. See {@link #isPortGiven}.
     */
    public static @Nullable String chosenBy(Map<String, String> variables) {
        return WebEnvironment.chosenBy(variables);
    }

    /**
     * Returns whether {@code PORT} is set. Many platforms set it, so it asks for a web application
     * only on Lambda, and only if no other variable chooses what to serve.
     */
    public static boolean isPortGiven(Map<String, String> variables) {
        return WebEnvironment.isPortGiven(variables);
    }

    /**
     * Creates a handler from environment variables. {@code docs/reference/adapters.md} lists them.
     *
     * @param variables the environment variables of the worker
     * @throws IllegalArgumentException if a variable is not allowed. The message names it, its
     *     value and what was expected
     */
    public static WebHandler of(Map<String, String> variables) {
        return new WebHandler(WebEnvironment.read(variables));
    }

    /** Creates a handler. It does not start the application before {@link #start}. */
    public WebHandler(WebConfig config) {
        this(config, FreezeClocks.SYSTEM);
    }

    WebHandler(WebConfig config, FreezeClocks clocks) {
        this.config = config;
        this.clocks = clocks;
        this.app = new WebApp(config);
        this.invocations = new WebInvocations(config, this::relayUnclaimed);
    }

    /**
     * Starts the application if {@link WebConfig.Builder#command} is set, and probes it until it is
     * ready.
     *
     * @return completes when the application is ready. Fails if it is not ready within {@link
     *     WebConfig.Builder#readinessLimit}, if its process has ended three times before, or after
     *     {@link #stop}
     */
    @Override
    public CompletionStage<Void> start() {
        return app.start();
    }

    /**
     * Sends a POST to the application if {@link WebConfig.Builder#drainPath} is set. Waits at most
     * 5 s for the response.
     */
    @Override
    public CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
        String path = config.drainPath;
        if (path == null) {
            return CompletableFuture.completedFuture(null);
        }
        return new DrainNotice(path, reason, grace).send(invocations, this::relay);
    }

    /** Ends the application's process if the worker started it. Blocks for at most about 4 s. */
    @Override
    public void stop() {
        app.stop();
        invocations.stop();
    }

    /**
     * Sends the event of an ordinary invocation, of any kind, to the application as one request.
     * Blocks.
     *
     * @throws IOException if there is no response, or its status is one of {@link
     *     WebConfig.Builder#errorStatusCodes}
     */
    @Override
    public void handleRequest(InputStream event, OutputStream result, Context context) throws IOException {
        invocations.handleRequest(event, result, context);
    }

    /** Returns true, because WebSockets are passed to the application. */
    @Override
    public boolean servesTunnels() {
        return true;
    }

    /** Returns false, because the application does the work. */
    @Override
    public boolean servesInProcess() {
        return false;
    }

    @Override
    public void handle(Request request, Response response) {
        relayUnclaimed(request, response, Origin.STREAM);
    }

    private void relayUnclaimed(Request request, Response response, Origin origin) {
        if (config.drainPath != null && DrainNotice.isClaimedBy(request.headers())) {
            origin.answer(
                    request,
                    response,
                    HttpResponseStatus.BAD_REQUEST,
                    "field " + DrainNotice.REASON + " is reserved for the worker");
        } else {
            relay(request, response, origin);
        }
    }

    private void relay(Request request, Response response, Origin origin) {
        upstream((EventLoop) request.eventLoop()).relay(request, response, origin);
    }

    private Upstream upstream(EventLoop loop) {
        Upstream known = upstreams.get();
        if (known == null) {
            known = config.protocol == AppProtocol.H2C
                    ? new H2cUpstream(loop, config, clocks)
                    : new Http1Upstream(loop, config, clocks);
            upstreams.set(known);
        }
        return known;
    }
}
