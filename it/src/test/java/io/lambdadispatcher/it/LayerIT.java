package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.it.webdemo.JdkApp;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import io.lambdadispatcher.wire.worker.LaunchToken;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Starts the Lambda layer as Lambda does: its launcher runs as an extension, and the application is
 * started separately. A small server imitates Lambda's Runtime API and Extensions API.
 */
@Timeout(300)
class LayerIT {
    private static final Path WORKER =
            Path.of("..", "lambda-worker").toAbsolutePath().normalize();

    /** Serves the test's events one after the other, and keeps the responses. */
    private static final class LambdaApi implements AutoCloseable {
        final HttpServer server;
        final BlockingQueue<String> events = new LinkedBlockingQueue<>();
        final BlockingQueue<String> results = new LinkedBlockingQueue<>();
        final CompletableFuture<String> registered = new CompletableFuture<>();
        final CompletableFuture<String> asked = new CompletableFuture<>();

        LambdaApi() throws IOException {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.setExecutor(Executors.newCachedThreadPool(task -> {
                Thread thread = new Thread(task, "lambda-api");
                thread.setDaemon(true);
                return thread;
            }));
            server.createContext("/2020-01-01/extension/register", exchange -> {
                registered.complete(exchange.getRequestHeaders().getFirst("Lambda-Extension-Name"));
                exchange.getResponseHeaders().set("Lambda-Extension-Identifier", "extension-1");
                answer(exchange, 200, "{}");
            });
            server.createContext(
                    "/2020-01-01/extension/event/next",
                    exchange -> asked.complete(exchange.getRequestHeaders().getFirst("Lambda-Extension-Identifier")));
            server.createContext("/2018-06-01/runtime/", this::runtime);
            server.start();
        }

        private void runtime(HttpExchange exchange) throws IOException {
            String path = exchange.getRequestURI().getPath();
            if (!path.endsWith("/invocation/next")) {
                results.add(path + " " + new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
                answer(exchange, 202, "{}");
                return;
            }
            try {
                String event = events.take();
                exchange.getResponseHeaders().set("Lambda-Runtime-Aws-Request-Id", "request-1");
                // Without this header, the native part of AWS's Java client crashes.
                exchange.getResponseHeaders().set("Content-Type", "application/json");
                exchange.getResponseHeaders()
                        .set("Lambda-Runtime-Deadline-Ms", Long.toString(System.currentTimeMillis() + 60_000));
                exchange.getResponseHeaders()
                        .set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-west-1:1:function:web");
                answer(exchange, 200, event);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private static void answer(HttpExchange exchange, int status, String body) throws IOException {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(status, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        }

        String address() {
            return "127.0.0.1:" + server.getAddress().getPort();
        }

        String result() throws InterruptedException {
            return results.poll(120, TimeUnit.SECONDS);
        }

        @Override
        public void close() {
            server.stop(0);
        }
    }

    /** Creates the directories of the layer's archive, but with this JVM. */
    private static Path layer(Path directory) throws IOException {
        Path inside = Files.createDirectories(directory.resolve("lambda-dispatcher"));
        Files.createDirectories(directory.resolve("extensions"));
        Files.copy(
                WORKER.resolve("src/build/layer/extensions/lambda-dispatcher"),
                directory.resolve("extensions/lambda-dispatcher"));
        Files.createSymbolicLink(inside.resolve("lib"), WORKER.resolve("target/lib"));
        Files.createSymbolicLink(inside.resolve("java"), Path.of(System.getProperty("java.home")));
        Files.writeString(inside.resolve("worker.flags"), "-XX:TieredStopAtLevel=1\n-Xmx256m\n");
        return directory.resolve("extensions/lambda-dispatcher");
    }

    /** Writes the output to a file, because Maven parses the output of this JVM. */
    private static Process start(ProcessBuilder builder, Map<String, String> variables, Path log) throws IOException {
        builder.environment().putAll(variables);
        return builder.redirectErrorStream(true).redirectOutput(log.toFile()).start();
    }

    @Test
    void should_serve_an_unmodified_app_to_ordinary_invocations_and_to_the_dispatcher(@TempDir Path directory)
            throws Exception {
        String port = Integer.toString(FreePort.next());
        Process app = start(
                new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        JdkApp.class.getName()),
                Map.of("PORT", port),
                directory.resolve("app.log"));
        try (LambdaApi api = new LambdaApi();
                Rig rig = Rig.start(
                        Rig.function().build(),
                        DispatcherObserver.NONE,
                        builder -> builder.workerListener(ListenerOptions.workers("127.0.0.1", 0)))) {
            Process extension = start(
                    new ProcessBuilder("sh", layer(directory).toString()),
                    Map.of(
                            "AWS_LAMBDA_RUNTIME_API",
                            api.address(),
                            "AWS_LWA_PORT",
                            port,
                            "AWS_LWA_READINESS_CHECK_PATH",
                            "/pid",
                            "AWS_LAMBDA_FUNCTION_NAME",
                            "web"),
                    directory.resolve("extension.log"));
            try {
                assertThat(api.registered.get(120, TimeUnit.SECONDS)).isEqualTo("lambda-dispatcher");
                assertThat(api.asked.get(120, TimeUnit.SECONDS)).isEqualTo("extension-1");
                serveOrdinary(api);
                serveDispatcher(api, rig);
            } finally {
                extension.destroyForcibly().waitFor();
            }
        } finally {
            app.destroyForcibly().waitFor();
        }
    }

    private static void serveOrdinary(LambdaApi api) throws InterruptedException {
        api.events.add("{\"version\":\"2.0\",\"rawPath\":\"/echo\",\"rawQueryString\":\"a=1\","
                + "\"headers\":{\"host\":\"h\",\"content-type\":\"text/plain\"},"
                + "\"requestContext\":{\"http\":{\"method\":\"POST\"}},\"body\":\"aGk=\",\"isBase64Encoded\":true}");
        assertThat(api.result())
                .contains("/invocation/request-1/response")
                .contains("\"statusCode\":200")
                .contains("\"body\":\"hi\"", "\"x-target\":\"/echo?a=1\"");
    }

    private static void serveDispatcher(LambdaApi api, Rig rig) throws Exception {
        String token = new LaunchToken("demo", "layer-1", Instant.now().plusSeconds(300))
                .sign(LaunchToken.key(Rig.SECRET.getBytes(StandardCharsets.UTF_8), "demo"));
        api.events.add("{\"function\":\"demo\",\"workerId\":\"layer-1\",\"token\":\"" + token
                + "\",\"addresses\":[\"127.0.0.1:"
                + rig.dispatcher.workerAddress().getPort()
                + "\"],\"connections\":1,\"streams\":5,\"tlsFingerprint\":\""
                + rig.dispatcher.workerFingerprints().get(0)
                + "\"}");
        Await.until("the worker is ready", () -> rig.pool().free() == 5);
        HttpResponse<String> answer = rig.client(HttpClient.Version.HTTP_1_1)
                .send(HttpRequest.newBuilder(rig.http("/")).build(), BodyHandlers.ofString());
        assertThat(answer.body()).isEqualTo("hello\n");
    }
}
