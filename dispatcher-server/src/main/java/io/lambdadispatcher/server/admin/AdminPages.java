package io.lambdadispatcher.server.admin;

import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.INTERNAL_SERVER_ERROR;
import static io.netty.handler.codec.http.HttpResponseStatus.NOT_FOUND;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;
import static io.netty.handler.codec.http.HttpResponseStatus.SERVICE_UNAVAILABLE;

import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.net.SocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pages of the admin port, by path.
 *
 * <p>{@code /health} is answered on the port's event loop. {@code /ready} and {@code /launching}
 * are answered on a thread of their own, because they take locks of the dispatcher. {@code
 * /metrics} has another thread, because rendering takes 0.3 s with 500 functions.
 */
public final class AdminPages implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(AdminPages.class);
    private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

    private static final Page NONE =
            new Page(Runnable::run, false, AdminPages::notFound, (request, remote) -> notFound());

    private final ExecutorService work = thread("admin-work");
    private final ExecutorService scrapes = thread("admin-metrics");
    private final Map<String, Page> pages;

    /**
     * The page at one path.
     *
     * @param executor runs {@code get} and {@code post}
     * @param forAnyHost whether any Host is accepted, because load balancers send various names
     * @param get answers GET and HEAD
     * @param post answers POST, which changes something; {@code null} = POST is not allowed
     */
    record Page(
            Executor executor,
            boolean forAnyHost,
            Supplier<FullHttpResponse> get,
            @Nullable Change post) {

        boolean allows(HttpMethod method) {
            return method.equals(HttpMethod.GET)
                    || method.equals(HttpMethod.HEAD)
                    || post != null && method.equals(HttpMethod.POST);
        }

        /** Returns the value of the header {@code allow}. */
        String methods() {
            return post == null ? "GET, HEAD" : "GET, HEAD, POST";
        }

        /** @param request must have an allowed method */
        FullHttpResponse answer(HttpRequest request, SocketAddress remote) {
            try {
                return post != null && request.method().equals(HttpMethod.POST)
                        ? post.answer(request, remote)
                        : get.get();
            } catch (RuntimeException e) {
                log.warn("A request to the admin port failed.", e);
                return AdminAnswers.text(
                        INTERNAL_SERVER_ERROR, "The request failed. See the dispatcher's log for the reason.\n");
            }
        }
    }

    /** Answers a request that changes something. */
    interface Change {
        FullHttpResponse answer(HttpRequest request, SocketAddress remote);
    }

    /** @param metrics text in Prometheus format; called on one thread at a time */
    public AdminPages(Readiness readiness, Launching launching, Supplier<String> metrics) {
        pages = Map.of(
                "/",
                        new Page(
                                Runnable::run,
                                false,
                                () -> AdminAnswers.text(OK, "/health\n/ready\n/metrics\n/launching\n"),
                                null),
                "/health", new Page(Runnable::run, true, () -> AdminAnswers.text(OK, "live\n"), null),
                "/ready", new Page(work, true, () -> ready(readiness), null),
                "/metrics",
                        new Page(
                                scrapes,
                                false,
                                () -> AdminAnswers.text(OK, metrics.get(), HttpHeaderNames.CONTENT_TYPE, PROMETHEUS),
                                null),
                "/launching",
                        new Page(
                                work,
                                false,
                                () -> AdminAnswers.text(OK, launching.show()),
                                (request, remote) -> change(launching, request, remote)));
    }

    /**
     * The number of connections bounds the queue, because each has at most one request in flight.
     */
    private static ExecutorService thread(String name) {
        return Executors.newSingleThreadExecutor(new DefaultThreadFactory(name, true));
    }

    /** Returns the page for this URI, or a page that answers 404. */
    Page find(String uri) {
        int question = uri.indexOf('?');
        return pages.getOrDefault(question < 0 ? uri : uri.substring(0, question), NONE);
    }

    private static FullHttpResponse notFound() {
        return AdminAnswers.text(NOT_FOUND, "Not found. Expected /health, /ready, /metrics or /launching.\n");
    }

    private static FullHttpResponse ready(Readiness readiness) {
        String obstacle = readiness.obstacle();
        return obstacle == null
                ? AdminAnswers.text(OK, "ready\n")
                : AdminAnswers.text(SERVICE_UNAVAILABLE, obstacle + "\n");
    }

    private static FullHttpResponse change(Launching launching, HttpRequest request, SocketAddress remote) {
        int question = request.uri().indexOf('?');
        String refusal = launching.toggle(question < 0 ? null : request.uri().substring(question + 1));
        if (refusal != null) {
            return AdminAnswers.text(BAD_REQUEST, refusal + "\n");
        }
        log.warn("Admin request POST {} from {} is done.", request.uri(), remote);
        // The change takes effect at the next check of the workers, so its result is not known yet.
        return AdminAnswers.text(OK, "The change is accepted. GET /launching shows it in a moment.\n");
    }

    /** Stops the threads. Waits up to one second for each. */
    @Override
    public void close() {
        for (ExecutorService thread : List.of(work, scrapes)) {
            thread.shutdownNow();
            try {
                thread.awaitTermination(1, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
