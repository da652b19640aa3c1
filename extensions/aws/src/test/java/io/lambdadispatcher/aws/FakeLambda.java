package io.lambdadispatcher.aws;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Lambda's Invoke API on loopback. Every invocation stays open until the test answers it. */
final class FakeLambda implements AutoCloseable {
    private static final int WAIT_SECONDS = 20;

    private final HttpServer server;
    private final BlockingQueue<Invoke> invokes = new LinkedBlockingQueue<>();

    FakeLambda() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 1024);
        server.createContext(
                "/2015-03-31/functions/",
                exchange -> invokes.add(new Invoke(
                        exchange,
                        exchange.getRequestURI().getPath(),
                        new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8))));
        server.start();
    }

    URI endpoint() {
        return endpoint(server.getAddress().getPort());
    }

    static URI endpoint(int port) {
        return URI.create("http://127.0.0.1:" + port);
    }

    /**
     * Returns a bound socket that does not listen. Another process could listen on a port that is
     * only free.
     */
    static Socket deaf() throws IOException {
        Socket socket = new Socket();
        socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        return socket;
    }

    Invoke take() throws InterruptedException {
        Invoke next = invokes.poll(WAIT_SECONDS, TimeUnit.SECONDS);
        if (next == null) {
            throw new AssertionError("no invoke within " + WAIT_SECONDS + " s");
        }
        return next;
    }

    /** Returns the number of invocations that have arrived and were not taken. */
    int untaken() {
        return invokes.size();
    }

    @Override
    public void close() {
        server.stop(0);
    }

    record Invoke(HttpExchange exchange, String path, String body) {
        String header(String name) {
            return exchange.getRequestHeaders().getFirst(name);
        }

        void answer(int status, Map<String, String> headers, String json) {
            answer(status, headers, json.getBytes(StandardCharsets.UTF_8));
        }

        void answer(int status, Map<String, String> headers, byte[] bytes) {
            try (exchange) {
                headers.forEach(exchange.getResponseHeaders()::set);
                exchange.sendResponseHeaders(status, bytes.length);
                exchange.getResponseBody().write(bytes);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        void error(int status, String type, String json) {
            answer(status, Map.of("x-amzn-ErrorType", type), json);
        }

        /** Closes the connection without an answer. */
        void drop() {
            exchange.close();
        }
    }
}
