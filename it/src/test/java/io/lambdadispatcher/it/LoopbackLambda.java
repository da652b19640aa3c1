package io.lambdadispatcher.it;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The parts of Lambda's API that a dispatcher uses, on loopback: GetAlias and Invoke. Each
 * invocation is a worker in a process of its own, which ends with it. The handler of a worker
 * depends on the version of the function.
 */
final class LoopbackLambda implements AutoCloseable {
    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Set<Process> workers = ConcurrentHashMap.newKeySet();
    private final Map<String, Class<?>> handlers;

    /** The version that the alias has. */
    volatile String alias;

    /** Whether GetAlias fails. */
    volatile boolean down;

    /** @param handlers by version of the function */
    LoopbackLambda(String alias, Map<String, Class<?>> handlers) throws IOException {
        this.alias = alias;
        this.handlers = handlers;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 100);
        server.createContext("/2015-03-31/functions/", this::answer);
        server.setExecutor(threads);
        server.start();
    }

    String endpoint() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    private void answer(HttpExchange exchange) throws IOException {
        try (exchange) {
            String payload = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            if (exchange.getRequestURI().getPath().endsWith("/aliases/live")) {
                answer(exchange, down ? 503 : 200, "{\"Name\":\"live\",\"FunctionVersion\":\"" + alias + "\"}");
            } else if ("DryRun".equals(exchange.getRequestHeaders().getFirst("X-Amz-Invocation-Type"))) {
                exchange.sendResponseHeaders(204, -1);
            } else {
                String query = exchange.getRequestURI().getQuery();
                run(query == null ? alias : query.replace("Qualifier=", ""), payload);
                answer(exchange, 200, "{}");
            }
        }
    }

    private static void answer(HttpExchange exchange, int status, String json) throws IOException {
        byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
    }

    private void run(String version, String payload) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(ChildJvm.command(ChildJvm.WORKER))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.environment().put("LAMBDA_DISPATCHER_PAYLOAD", payload);
        builder.environment().put("AWS_LAMBDA_FUNCTION_VERSION", version);
        builder.environment()
                .put("LAMBDA_DISPATCHER_HANDLER", handlers.get(version).getName());
        Process worker = builder.start();
        workers.add(worker);
        try {
            worker.waitFor();
        } catch (InterruptedException e) {
            worker.destroyForcibly();
            Thread.currentThread().interrupt();
        } finally {
            workers.remove(worker);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        workers.forEach(Process::destroyForcibly);
        threads.shutdownNow();
    }
}
