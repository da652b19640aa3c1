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
 * Passes each request on to a web application on loopback, and its response back, by reference and as both arrive. Called on the event
 * loops of worker connections; each of them has connections to the application of its own.
 *
 * <p>Failure: 502 (of an event that is no HTTP request: a failed invocation) where the application cannot be reached or breaks off before its
 * head, a broken response after it; the request's deadline
 * closes the connection to the application, as does a client that leaves.
 */
public final class WebHandler implements Handler, Lifecycle, RequestStreamHandler {
    /** The environment variable that holds the port that the application listens on. */
    public static final String PORT_VARIABLE = "LAMBDA_DISPATCHER_WEB_PORT";

    private final WebConfig config;
    private final FreezeClocks clocks;
    private final WebApp app;
    private final WebInvocations invocations;
    private final FastThreadLocal<@Nullable Upstream> upstreams = new FastThreadLocal<>();

    /**
     * Returns the environment variable that asks for a web application; {@code null} if none does.
     * {@code PORT} does not count, see {@link #isPortGiven}.
     */
    public static @Nullable String chosenBy(Map<String, String> variables) {
        return WebEnvironment.chosenBy(variables);
    }

    /**
     * Returns whether {@code PORT} is set. Many things are told a port, so that it asks for a web
     * application only on Lambda, and only if nothing else is asked for.
     */
    public static boolean isPortGiven(Map<String, String> variables) {
        return WebEnvironment.isPortGiven(variables);
    }

    /**
     * @param variables of the worker's environment
     * @throws IllegalArgumentException names the variable, its value and what was expected
     */
    public static WebHandler of(Map<String, String> variables) {
        return new WebHandler(WebEnvironment.read(variables));
    }

    public WebHandler(WebConfig config) {
        this(config, FreezeClocks.SYSTEM);
    }

    WebHandler(WebConfig config, FreezeClocks clocks) {
        this.config = config;
        this.clocks = clocks;
        this.app = new WebApp(config);
        this.invocations = new WebInvocations(config, this::relayUnclaimed);
    }

    /** Starts the application if it is ours to start, and waits until it is ready. */
    @Override
    public CompletionStage<Void> start() {
        return app.start();
    }

    /** Passes it on to the application, where it has a path for that. */
    @Override
    public CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
        String path = config.drainPath;
        if (path == null) {
            return CompletableFuture.completedFuture(null);
        }
        return new DrainNotice(path, reason, grace).send(invocations, this::relay);
    }

    @Override
    public void stop() {
        app.stop();
        invocations.stop();
    }

    /** An ordinary invocation, with an event of whatever kind, as one request to the application. */
    @Override
    public void handleRequest(InputStream event, OutputStream result, Context context) throws IOException {
        invocations.handleRequest(event, result, context);
    }

    /** WebSockets: an upgrade, or an extended CONNECT, of the application's own. */
    @Override
    public boolean servesTunnels() {
        return true;
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
                    "field " + DrainNotice.REASON + " is only for the worker to send");
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
