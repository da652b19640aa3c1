package io.lambdadispatcher.server.admin;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.wire.http.TextAnswer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The admin port: the JDK's own HTTP server on a few threads, so that it answers even when every event loop is stuck. Handlers run on
 * those threads.
 */
public final class AdminServer implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(AdminServer.class);
    private static final String TEXT = TextAnswer.CONTENT_TYPE.toString();
    private static final String PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8";
    /** More than one: a slow scraper must not keep a liveness probe waiting. */
    private static final int THREADS = 4;

    static {
        // The JDK's server takes its limits from system properties: whole request head within 5 s, answers not held
        // back by Nagle.
        setUnlessSet("sun.net.httpserver.maxReqTime", "5");
        setUnlessSet("sun.net.httpserver.maxRspTime", "30");
        setUnlessSet("sun.net.httpserver.nodelay", "true");
    }

    private record Answer(int status, String type, String body) {}

    private final HttpServer server;
    private final ExecutorService threads;

    /** @throws IOException if the port cannot be bound */
    public AdminServer(InetSocketAddress address, Readiness readiness, Launching launching, Supplier<String> metrics)
            throws IOException {
        server = HttpServer.create(address, 64);
        AtomicInteger number = new AtomicInteger();
        threads = Executors.newFixedThreadPool(THREADS, task -> {
            Thread thread = new Thread(task, "admin-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        });
        server.setExecutor(threads);
        server.createContext("/health", exact("/health", () -> new Answer(200, TEXT, "live\n")));
        server.createContext("/ready", exact("/ready", () -> ready(readiness)));
        server.createContext("/metrics", exact("/metrics", () -> new Answer(200, PROMETHEUS, metrics.get())));
        server.createContext("/launching", launching(launching));
        server.createContext("/", exact("/", () -> new Answer(200, TEXT, "/health\n/ready\n/metrics\n/launching\n")));
        server.start();
    }

    private static void setUnlessSet(String property, String value) {
        if (System.getProperty(property) == null) {
            System.setProperty(property, value);
        }
    }

    public InetSocketAddress address() {
        return server.getAddress();
    }

    private static Answer ready(Readiness readiness) {
        String obstacle = readiness.obstacle();
        return obstacle == null ? new Answer(200, TEXT, "ready\n") : new Answer(503, TEXT, obstacle + "\n");
    }

    private static HttpHandler exact(String path, Supplier<Answer> answer) {
        return exact(path, "GET, HEAD", answer);
    }

    private static HttpHandler exact(String path, String methods, Supplier<Answer> answer) {
        return exchange -> {
            try (exchange) {
                send(exchange, answer(exchange, path, methods, answer));
            } catch (RuntimeException e) {
                log.warn("admin {} failed", path, e);
            }
        };
    }

    private static Answer answer(HttpExchange exchange, String path, String methods, Supplier<Answer> answer) {
        String method = exchange.getRequestMethod();
        if (!exchange.getRequestURI().getPath().equals(path)) {
            return new Answer(404, TEXT, "expected /health, /ready, /metrics or /launching\n");
        }
        if (!method.equals("GET") && !method.equals("HEAD")) {
            exchange.getResponseHeaders().set("Allow", methods);
            return new Answer(405, TEXT, "expected " + methods + "\n");
        }
        return answer.get();
    }

    private static HttpHandler launching(Launching launching) {
        HttpHandler show = exact("/launching", "GET, HEAD, POST", () -> new Answer(200, TEXT, launching.show()));
        return exchange -> {
            boolean here = exchange.getRequestURI().getPath().equals("/launching");
            if (!here || !exchange.getRequestMethod().equals("POST")) {
                show.handle(exchange);
                return;
            }
            try (exchange) {
                String refusal = launching.toggle(exchange.getRequestURI().getRawQuery());
                log.warn(
                        "admin POST {} from {}: {}",
                        exchange.getRequestURI(),
                        exchange.getRemoteAddress(),
                        refusal == null ? "done" : refusal);
                send(
                        exchange,
                        refusal == null
                                // How it stands is known after the next look at workers, not yet.
                                ? new Answer(200, TEXT, "switched; GET /launching shows it in a moment\n")
                                : new Answer(400, TEXT, refusal + "\n"));
            }
        };
    }

    private static void send(HttpExchange exchange, Answer answer) throws IOException {
        byte[] body = answer.body.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", answer.type);
        exchange.getResponseHeaders().set("Cache-Control", "no-store");
        if (exchange.getRequestMethod().equals("HEAD")) {
            exchange.sendResponseHeaders(answer.status, -1);
            return;
        }
        exchange.sendResponseHeaders(answer.status, body.length);
        exchange.getResponseBody().write(body);
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
