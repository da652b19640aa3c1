package io.lambdadispatcher.server.admin;

import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.INTERNAL_SERVER_ERROR;
import static io.netty.handler.codec.http.HttpResponseStatus.NOT_FOUND;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;
import static io.netty.handler.codec.http.HttpResponseStatus.SERVICE_UNAVAILABLE;

import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.server.live.Live;
import io.lambdadispatcher.wire.event.Json;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pages of the admin port, by path.
 *
 * <p>{@code /health} is answered on the port's event loop. {@code /ready}, {@code /started}, {@code
 * /launching} and most of {@code /api} are answered on a thread of their own, because they take
 * locks of the dispatcher. {@code /metrics} has another thread, because rendering takes 0.3 s with
 * 500 functions. So have {@code /api/workers}, {@code /api/requests} and the events of the live
 * page, which wait for event loops.
 */
public final class AdminPages implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(AdminPages.class);
    private static final String JSON = "application/json";
    private static final String OWN_FILES_ONLY =
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none';"
                    + " form-action 'none'; frame-ancestors 'none'";
    /** The modules of the live page. */
    private static final List<String> SCRIPTS =
            List.of("live.js", "live-dom.js", "live-functions.js", "live-tables.js", "live-changes.js");

    private static final List<String> DOCUMENTS = List.of(
            "functions", "fleet", "workers", "requests", "launches", "failures", "changes", "config", "version");
    private static final Set<String> WAIT_FOR_EVENT_LOOPS = Set.of("workers", "requests");
    private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";

    private final ExecutorService work = thread("admin-work");
    /** For commands that wait for the ledger of the fleet. */
    private final ExecutorService waiting = thread("admin-fleet");

    private final ExecutorService scrapes = thread("admin-metrics");
    private final ExecutorService inspections = thread("admin-live");
    private final Map<String, Page> pages;
    private final Page none = new Page(Runnable::run, false, this::notFound, request -> notFound());

    /** The paths of what filters can be told. */
    private final List<String> ofFilters = new ArrayList<>();

    /**
     * The page at one path.
     *
     * @param executor runs {@code get} and {@code post}
     * @param forAnyHost whether any Host is accepted, because load balancers send various names
     * @param open whether everybody may read it, because it shows nothing of this dispatcher
     * @param get answers GET and HEAD; {@code null} = only POST is allowed
     * @param post answers POST, which changes something; {@code null} = POST is not allowed
     * @param event returns the next event of a response that consists of server-sent events;
     *     {@code null} = {@code get} answers
     */
    record Page(
            Executor executor,
            boolean forAnyHost,
            boolean open,
            @Nullable Supplier<FullHttpResponse> get,
            @Nullable Change post,
            @Nullable Supplier<byte[]> event) {

        Page(Executor executor, boolean forAnyHost, Supplier<FullHttpResponse> get, @Nullable Change post) {
            this(executor, forAnyHost, forAnyHost, get, post, null);
        }

        /** Creates a page that only changes something. */
        static Page command(Executor executor, Change post) {
            return new Page(executor, false, false, null, post, null);
        }

        boolean allows(HttpMethod method) {
            return List.of(methods().split(", ")).contains(method.name());
        }

        /** Returns the value of the header {@code allow}. */
        String methods() {
            if (event != null) {
                return "GET";
            }
            if (get == null) {
                return "POST";
            }
            return post == null ? "GET, HEAD" : "GET, HEAD, POST";
        }

        /** Returns whether a request is meant to change something. */
        boolean changes(HttpRequest request) {
            return post != null && request.method().equals(HttpMethod.POST);
        }

        /** @param request must have an allowed method */
        FullHttpResponse answer(HttpRequest request) {
            try {
                return post != null && changes(request)
                        ? post.answer(request)
                        : Objects.requireNonNull(get).get();
            } catch (RefusedException e) {
                return e.answer();
            } catch (RuntimeException e) {
                log.warn("A request to the admin port failed.", e);
                return AdminAnswers.text(
                        INTERNAL_SERVER_ERROR, "The request failed. See the dispatcher's log for the reason.\n");
            }
        }
    }

    /** Answers a request that changes something. */
    interface Change {
        FullHttpResponse answer(HttpRequest request);
    }

    /**
     * @param metrics text in Prometheus format; called on one thread at a time
     * @param documents JSON by name; called on two threads at a time
     */
    public AdminPages(
            Readiness readiness,
            Launching launching,
            WorkerControl workers,
            LiveSettings settings,
            Supplier<String> metrics,
            Function<String, byte[]> documents) {
        Map<String, Page> all = new HashMap<>();
        all.put("/", file(Live.class, "live.html", "text/html; charset=utf-8"));
        all.put("/live.css", file(Live.class, "live.css", "text/css; charset=utf-8"));
        for (String script : SCRIPTS) {
            all.put("/" + script, file(Live.class, script, "text/javascript; charset=utf-8"));
        }
        all.put("/api/openapi.yaml", file(AdminPages.class, "admin-api.yaml", "application/yaml"));
        all.put("/events", new Page(inspections, false, false, this::notFound, null, () -> event(documents)));
        for (String name : DOCUMENTS) {
            Executor executor = WAIT_FOR_EVENT_LOOPS.contains(name) ? inspections : work;
            all.put("/api/" + name, new Page(executor, false, () -> document(documents, name), null));
        }
        all.put("/health", new Page(Runnable::run, true, () -> AdminAnswers.text(OK, "live\n"), null));
        all.put("/ready", new Page(work, true, () -> probe("ready", readiness.obstacle()), null));
        all.put("/started", new Page(work, true, () -> probe("started", readiness.obstacleToStart()), null));
        all.put(
                "/metrics",
                new Page(
                        scrapes,
                        false,
                        () -> AdminAnswers.text(OK, metrics.get(), HttpHeaderNames.CONTENT_TYPE, PROMETHEUS),
                        null));
        all.put(
                "/launching",
                new Page(
                        work,
                        false,
                        () -> AdminAnswers.text(OK, launching.show()),
                        request -> change(launching, request)));
        all.put("/api/workers/drain", Page.command(inspections, request -> done(workers.drain(request.uri()))));
        all.put("/api/workers/recycle", Page.command(inspections, request -> done(workers.recycle(request.uri()))));
        all.put("/api/rollout", Page.command(work, request -> done(launching.steer(request.uri()))));
        all.put("/api/weights", Page.command(work, request -> done(weights(settings, request.uri()))));
        all.put("/api/log-level", Page.command(work, request -> done(logLevel(settings, request.uri()))));
        for (FilterCommand command : settings.filterCommands()) {
            Page page = Page.command(waiting, request -> done(tellFilter(settings, command, request.uri())));
            String path = "/api/" + command.name().replace(' ', '/');
            if (all.putIfAbsent(path, page) != null) {
                throw new IllegalArgumentException("two pages " + path + ", one of them of a filter");
            }
            ofFilters.add(", " + path);
        }
        pages = Map.copyOf(all);
    }

    private static Page file(Class<?> neighbour, String name, String contentType) {
        byte[] content;
        try (InputStream resource = neighbour.getResourceAsStream(name)) {
            content = Objects.requireNonNull(resource, name).readAllBytes();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new Page(
                Runnable::run,
                false,
                true,
                () -> {
                    FullHttpResponse answer = AdminAnswers.of(OK, contentType, content);
                    answer.headers().set(HttpHeaderNames.CONTENT_SECURITY_POLICY, OWN_FILES_ONLY);
                    return answer;
                },
                null,
                null);
    }

    private static FullHttpResponse document(Function<String, byte[]> documents, String name) {
        try {
            return AdminAnswers.of(OK, JSON, documents.apply(name));
        } catch (IllegalStateException e) {
            return AdminAnswers.text(SERVICE_UNAVAILABLE, e.getMessage() + "\n");
        }
    }

    /** Returns the state, or an event of the type {@code problem}. */
    private static byte[] event(Function<String, byte[]> documents) {
        ByteArrayOutputStream event = new ByteArrayOutputStream();
        try {
            byte[] json = documents.apply("live");
            event.writeBytes("data: ".getBytes(StandardCharsets.US_ASCII));
            event.writeBytes(json);
        } catch (IllegalStateException e) {
            event.writeBytes(problem(e.getMessage()));
        } catch (RuntimeException e) {
            log.warn("The live page cannot show the state.", e);
            event.writeBytes(problem("The state cannot be read. See the dispatcher's log for the reason."));
        }
        event.writeBytes("\n\n".getBytes(StandardCharsets.US_ASCII));
        return event.toByteArray();
    }

    private static byte[] problem(@Nullable String text) {
        return ("event: problem\ndata: " + text).getBytes(StandardCharsets.UTF_8);
    }

    /**
     * The number of connections bounds the queue, because each has at most one request in flight.
     */
    private static ExecutorService thread(String name) {
        return Executors.newSingleThreadExecutor(new DefaultThreadFactory(name, true));
    }

    /** Returns the allowed methods of each path, as in the header {@code allow}. */
    Map<String, String> methods() {
        Map<String, String> methods = new HashMap<>();
        pages.forEach((path, page) -> methods.put(path, page.methods()));
        return methods;
    }

    /** Returns the page for this URI, or a page that answers 404. */
    Page find(String uri) {
        int question = uri.indexOf('?');
        return pages.getOrDefault(question < 0 ? uri : uri.substring(0, question), none);
    }

    private FullHttpResponse notFound() {
        return AdminAnswers.text(
                NOT_FOUND,
                "Not found. Expected /, /health, /ready, /started, /metrics, /launching, /events, /api/openapi.yaml, or /api/"
                        + " and one of " + DOCUMENTS + ". To change something, POST to /launching, /api/workers/drain,"
                        + " /api/workers/recycle, /api/rollout, /api/weights" + String.join("", ofFilters)
                        + " or /api/log-level.\n");
    }

    private static FullHttpResponse probe(String success, @Nullable String obstacle) {
        return obstacle == null
                ? AdminAnswers.text(OK, success + "\n")
                : AdminAnswers.text(SERVICE_UNAVAILABLE, obstacle + "\n");
    }

    private static FullHttpResponse change(Launching launching, HttpRequest request) {
        launching.toggle(request.uri());
        // The change takes effect at the next check of the workers, so its result is not known yet.
        return AdminAnswers.text(OK, "The change is accepted. GET /launching shows it in a moment.\n");
    }

    private static byte[] weights(LiveSettings settings, String uri) {
        Map<String, String> weights = ChangeParameters.of(uri);
        if (weights.isEmpty()) {
            throw new RefusedException(
                    BAD_REQUEST, "expected functions and their weights, such as ?shop=95&shop-next=5, got none");
        }
        return changed(() -> Map.of("weights", settings.setWeights(weights)));
    }

    private static byte[] logLevel(LiveSettings settings, String uri) {
        String level = ChangeParameters.of(uri, List.of("to")).get("to");
        if (level == null) {
            throw ChangeParameters.wrong("to", null, "a level such as debug");
        }
        return changed(() -> Map.of("level", settings.setLogLevel(level)));
    }

    private static byte[] tellFilter(LiveSettings settings, FilterCommand command, String uri) {
        ChangeParameters.of(uri, List.of());
        return changed(() -> Map.of(command.result(), settings.tellFilter(command)));
    }

    private static byte[] changed(Supplier<Map<String, ?>> change) {
        try {
            return Json.bytes(change.get());
        } catch (IllegalArgumentException e) {
            throw new RefusedException(BAD_REQUEST, String.valueOf(e.getMessage()));
        } catch (IllegalStateException e) {
            throw new RefusedException(SERVICE_UNAVAILABLE, String.valueOf(e.getMessage()));
        }
    }

    private static FullHttpResponse done(byte[] result) {
        return AdminAnswers.of(OK, JSON, result);
    }

    /** Stops the threads. Waits up to one second for each. */
    @Override
    public void close() {
        for (ExecutorService thread : List.of(work, waiting, scrapes, inspections)) {
            thread.shutdownNow();
            try {
                thread.awaitTermination(1, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
