package io.lambdadispatcher.it.webdemo;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A web application on the JDK's HTTP server, with the port {@code PORT} and {@code app.js}'s
 * routes.
 */
public final class JdkApp {
    private static final int PART_BYTES = 16 * 1024;

    private final Semaphore go = new Semaphore(0);
    private final AtomicInteger disconnects = new AtomicInteger();

    private JdkApp() {}

    public static void main(String[] args) throws IOException {
        new JdkApp().serve(Integer.parseInt(System.getenv("PORT")));
    }

    private void serve(int port) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", exchange -> text(exchange, 200, "hello\n"));
        server.createContext("/echo", JdkApp::echo);
        server.createContext("/status", exchange -> {
            exchange.sendResponseHeaders(
                    Integer.parseInt(exchange.getRequestURI().getQuery()), -1);
            exchange.close();
        });
        server.createContext("/fields", JdkApp::fields);
        server.createContext(
                "/trace",
                exchange -> text(
                        exchange,
                        200,
                        String.valueOf(exchange.getRequestHeaders().getFirst("traceparent"))));
        server.createContext(
                "/pid",
                exchange -> text(
                        exchange, 200, Long.toString(ProcessHandle.current().pid())));
        server.createContext(
                "/variables",
                exchange -> text(exchange, 200, String.join(" ", System.getenv().keySet())));
        server.createContext("/events", this::events);
        server.createContext("/hang", exchange -> new Semaphore(0).acquireUninterruptibly());
        server.createContext("/go", exchange -> {
            go.release();
            text(exchange, 200, "");
        });
        server.createContext("/disconnects", exchange -> text(exchange, 200, disconnects.toString()));
        server.start();
    }

    private static void echo(HttpExchange exchange) throws IOException {
        String type = exchange.getRequestHeaders().getFirst("Content-Type");
        if (type != null) {
            exchange.getResponseHeaders().set("Content-Type", type);
        }
        exchange.getResponseHeaders().set("X-Method", exchange.getRequestMethod());
        exchange.getResponseHeaders().set("X-Target", exchange.getRequestURI().toString());
        exchange.sendResponseHeaders(200, 0);
        try (OutputStream out = exchange.getResponseBody()) {
            byte[] part = new byte[PART_BYTES];
            for (int n; (n = exchange.getRequestBody().read(part)) > 0; ) {
                out.write(part, 0, n);
            }
        }
    }

    private static void fields(HttpExchange exchange) throws IOException {
        Headers to = exchange.getResponseHeaders();
        to.put("X-Multi", List.of("one", "two"));
        to.put("Set-Cookie", List.of("a=1; Path=/", "b=2; HttpOnly"));
        to.set("X-Cookie", String.valueOf(exchange.getRequestHeaders().getFirst("Cookie")));
        to.set("X-In", String.valueOf(exchange.getRequestHeaders().get("X-In")));
        text(exchange, 200, "fields");
    }

    /**
     * Sends one event, and the others after a signal. Notices disconnected clients when it writes.
     */
    private void events(HttpExchange exchange) throws IOException {
        exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
        exchange.sendResponseHeaders(200, 0);
        try (OutputStream out = exchange.getResponseBody()) {
            write(out, "data: 1\n\n");
            while (!go.tryAcquire(50, TimeUnit.MILLISECONDS)) {
                write(out, ": still here\n\n");
            }
            write(out, "data: 2\n\n");
        } catch (IOException e) {
            disconnects.incrementAndGet();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static void write(OutputStream out, String text) throws IOException {
        out.write(text.getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    private static void text(HttpExchange exchange, int status, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        boolean head = exchange.getRequestMethod().equals("HEAD");
        exchange.sendResponseHeaders(status, head || bytes.length == 0 ? -1 : bytes.length);
        if (!head && bytes.length > 0) {
            exchange.getResponseBody().write(bytes);
        }
        exchange.close();
    }
}
