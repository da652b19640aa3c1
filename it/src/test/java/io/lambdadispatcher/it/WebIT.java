package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lambdadispatcher.it.webdemo.JdkApp;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests unmodified web applications, with a client, a dispatcher, a worker process and an
 * application process.
 */
@StartsPrograms
class WebIT {
    private static final int LARGE_BYTES = 64 * 1024 * 1024;

    /** Tests that pass with every application. */
    @TestInstance(TestInstance.Lifecycle.PER_CLASS)
    @Timeout(300)
    abstract static class AnyApp {
        private final Map<String, String> variables;
        private Rig rig;
        private HttpClient http1;
        private HttpClient http2;

        AnyApp(String command, String protocol) {
            variables = new HashMap<>(
                    Map.of("LAMBDA_DISPATCHER_WEB_COMMAND", command, "LAMBDA_DISPATCHER_WEB_PROTOCOL", protocol));
        }

        @BeforeAll
        void start() throws IOException {
            rig = Rig.start();
            http1 = rig.client(HttpClient.Version.HTTP_1_1);
            http2 = rig.client(HttpClient.Version.HTTP_2);
            variables.put("LAMBDA_DISPATCHER_WEB_PORT", "0");
            rig.process(2, 10, variables);
        }

        @AfterAll
        void stop() throws Exception {
            if (rig != null) {
                rig.close();
            }
        }

        private HttpRequest.Builder request(String path) {
            return HttpRequest.newBuilder(rig.https(path));
        }

        private String text(String path) throws Exception {
            return http2.send(request(path).build(), BodyHandlers.ofString()).body();
        }

        @Test
        void should_echo_text_and_binary_bodies_as_they_are() throws Exception {
            byte[] binary = new byte[300_000];
            new Random(1).nextBytes(binary);
            for (byte[] body : new byte[][] {{}, "grüße\r\n\0".getBytes(StandardCharsets.UTF_8), binary}) {
                for (String method : new String[] {"POST", "PUT", "PATCH"}) {
                    HttpRequest post = request("/echo?a=b%20c&d")
                            .method(method, BodyPublishers.ofByteArray(body))
                            .header("content-type", "application/x-any")
                            .build();
                    HttpResponse<byte[]> over2 = http2.send(post, BodyHandlers.ofByteArray());
                    assertThat(over2.body()).isEqualTo(body);
                    assertThat(over2.headers().firstValue("content-type")).hasValue("application/x-any");
                    assertThat(over2.headers().firstValue("x-method")).hasValue(method);
                    assertThat(over2.headers().firstValue("x-target")).hasValue("/echo?a=b%20c&d");
                }
                HttpRequest small = HttpRequest.newBuilder(rig.http("/echo"))
                        .POST(BodyPublishers.ofByteArray(body.length > 1000 ? new byte[1000] : body))
                        .build();
                assertThat(http1.send(small, BodyHandlers.ofByteArray()).statusCode())
                        .isEqualTo(200);
            }
        }

        /**
         * Uses curl, because the JDK's client reads only one window before it has sent everything.
         */
        @ParameterizedTest
        @ValueSource(strings = {"--http1.1", "--http2-prior-knowledge"})
        void should_stream_64_mb_both_ways(String protocol, @TempDir Path directory) throws Exception {
            byte[] body = new byte[LARGE_BYTES];
            new Random(2).nextBytes(body);
            Path sent = Files.write(directory.resolve("sent"), body);
            Path echoed = directory.resolve("echoed");
            Process curl = new ProcessBuilder(
                            "curl",
                            "-sS",
                            protocol,
                            "--max-time",
                            "200",
                            "-H",
                            "expect:",
                            "--data-binary",
                            "@" + sent,
                            "-o",
                            echoed.toString(),
                            rig.http("/echo").toString())
                    .redirectErrorStream(true)
                    .start();
            String said = new String(curl.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(curl.waitFor()).as(said).isZero();
            assertThat(Files.mismatch(sent, echoed)).isEqualTo(-1);
        }

        @Test
        void should_keep_the_workers_secrets_from_the_app() throws Exception {
            assertThat(text("/variables")).contains("PORT").doesNotContain("LAMBDA_DISPATCHER");
        }

        @Test
        void should_keep_every_value_of_a_field() throws Exception {
            HttpResponse<String> answer = http2.send(
                    request("/fields")
                            .header("cookie", "a=1; b=2")
                            .header("x-in", "x")
                            .build(),
                    BodyHandlers.ofString());
            assertThat(String.join(",", answer.headers().allValues("x-multi")).replace(" ", ""))
                    .isEqualTo("one,two");
            assertThat(answer.headers().allValues("set-cookie")).containsExactly("a=1; Path=/", "b=2; HttpOnly");
            assertThat(answer.headers().firstValue("x-cookie")).hasValue("a=1; b=2");
            assertThat(answer.headers().firstValue("x-in").orElse("")).contains("x");
        }

        @Test
        void should_pass_on_any_status_with_no_body() throws Exception {
            for (int status : new int[] {200, 204, 299, 304, 418, 500, 599}) {
                HttpResponse<byte[]> answer =
                        http2.send(request("/status?" + status).build(), BodyHandlers.ofByteArray());
                assertThat(answer.statusCode()).isEqualTo(status);
                assertThat(answer.body()).isEmpty();
            }
            HttpResponse<byte[]> head = http2.send(
                    request("/fields").method("HEAD", BodyPublishers.noBody()).build(), BodyHandlers.ofByteArray());
            assertThat(head.statusCode()).isEqualTo(200);
            assertThat(head.headers().allValues("set-cookie")).hasSize(2);
            assertThat(head.body()).isEmpty();
        }

        @Test
        void should_stream_events_to_curl_one_by_one() throws Exception {
            Process curl = curl("/events");
            try (BufferedReader lines = curl.inputReader()) {
                assertThat(lines.readLine()).isEqualTo("data: 1");
                text("/go");
                List<String> rest = new ArrayList<>();
                for (String line; (line = lines.readLine()) != null; ) {
                    if (line.startsWith("data")) {
                        rest.add(line);
                    }
                }
                assertThat(rest).containsExactly("data: 2");
                assertThat(curl.waitFor(60, TimeUnit.SECONDS)).isTrue();
                assertThat(curl.exitValue()).isZero();
            }
        }

        private Process curl(String path) throws IOException {
            return new ProcessBuilder(
                            "curl", "-sN", "--max-time", "200", rig.http(path).toString())
                    .start();
        }

        @Test
        void should_tell_the_app_that_the_client_has_left() throws Exception {
            int before = Integer.parseInt(text("/disconnects"));
            Process curl = curl("/events");
            assertThat(curl.inputReader().readLine()).isEqualTo("data: 1");
            curl.destroyForcibly();
            Await.until("the app notices", () -> {
                try {
                    return Integer.parseInt(text("/disconnects")) == before + 1;
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
        }

        @Test
        void should_answer_502_when_the_app_is_killed_and_go_on_with_the_next() throws Exception {
            long pid = Long.parseLong(text("/pid"));
            CompletableFuture<HttpResponse<String>> hung =
                    http2.sendAsync(request("/hang").build(), BodyHandlers.ofString());
            Await.until(
                    "the request is in flight",
                    () -> rig.pool().free() < rig.pool().streams());
            assertThat(text("/")).isEqualTo("hello\n");
            ProcessHandle.of(pid).orElseThrow().destroyForcibly();
            HttpResponse<String> broken = hung.get(60, TimeUnit.SECONDS);
            assertThat(broken.statusCode()).isEqualTo(502);
            Await.until("the app runs again", () -> {
                try {
                    HttpResponse<String> answer = http2.send(request("/pid").build(), BodyHandlers.ofString());
                    assertThat(answer.statusCode()).isIn(200, 502);
                    return answer.statusCode() == 200 && Long.parseLong(answer.body()) != pid;
                } catch (Exception e) {
                    throw new AssertionError(e);
                }
            });
            assertThat(text("/")).isEqualTo("hello\n");
            rig.awaitAllFree();
        }

        @Test
        void should_answer_504_at_the_deadline() throws Exception {
            try (Rig impatient = Rig.start(
                    Rig.function().workerTimeout(Duration.ofSeconds(3)).build(),
                    io.lambdadispatcher.core.observe.DispatcherObserver.NONE)) {
                impatient.process(1, 5, variables);
                HttpResponse<String> late = http1.send(
                        HttpRequest.newBuilder(impatient.http("/hang")).build(), BodyHandlers.ofString());
                assertThat(late.statusCode()).isEqualTo(504);
                assertThat(http1.send(
                                        HttpRequest.newBuilder(impatient.http("/"))
                                                .build(),
                                        BodyHandlers.ofString())
                                .body())
                        .isEqualTo("hello\n");
            }
        }
    }

    private static String jdkApp() {
        return "exec " + String.join(" ", ChildJvm.command(JdkApp.class.getName(), "-Xmx128m"));
    }

    @Nested
    class WithTheServerOfTheJdk extends AnyApp {
        WithTheServerOfTheJdk() {
            super(jdkApp(), "http1");
        }
    }

    @Test
    @Timeout(300)
    void should_give_each_worker_of_a_machine_a_port() throws Exception {
        Map<String, String> variables =
                Map.of("LAMBDA_DISPATCHER_WEB_COMMAND", jdkApp(), "LAMBDA_DISPATCHER_WEB_PORT", "0");
        try (Rig rig = Rig.start()) {
            rig.process(1, 2, variables);
            rig.process(1, 2, variables);
            assertThat(rig.pool().readyWorkers()).isEqualTo(2);
        }
    }

    /**
     * After SIGTERM, clients see the application's own close frame instead of a lost connection.
     */
    @Test
    @Timeout(90)
    void should_let_the_app_close_its_websockets_when_the_worker_must_go() throws Exception {
        assumeNode();
        try (Rig rig = Rig.start()) {
            Process worker = rig.process(
                    1,
                    4,
                    Map.of(
                            "LAMBDA_DISPATCHER_WEB_COMMAND",
                            node("websocket.js", ""),
                            "LAMBDA_DISPATCHER_WEB_PORT",
                            Integer.toString(FreePort.next()),
                            "LAMBDA_DISPATCHER_WEB_DRAIN_PATH",
                            "/going"));
            WebSocketIT.Told told = new WebSocketIT.Told();
            rig.client(HttpClient.Version.HTTP_1_1)
                    .newWebSocketBuilder()
                    .buildAsync(URI.create(rig.http("/").toString().replaceFirst("^http", "ws")), told)
                    .join();
            worker.destroy();
            assertThat(told.closed.get(20, TimeUnit.SECONDS)).isEqualTo(1001);
            assertThat(worker.waitFor(20, TimeUnit.SECONDS)).isTrue();
            assertThat(worker.exitValue()).isZero();
        }
    }

    private static String node(String name, String module) {
        try {
            Path script = Path.of(WebIT.class.getResource("/web/" + name).toURI());
            return "exec node " + script + " " + module;
        } catch (java.net.URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void assumeNode() {
        boolean there;
        try {
            there = new ProcessBuilder("node", "--version").start().waitFor() == 0;
        } catch (IOException | InterruptedException e) {
            there = false;
        }
        assumeTrue(there, "node is not installed");
    }

    @Nested
    class WithNode extends AnyApp {
        WithNode() {
            super(node("app.js", "http"), "http1");
        }

        @BeforeAll
        @Override
        void start() throws IOException {
            assumeNode();
            super.start();
        }
    }

    @Nested
    class WithNodeOverHttp2 extends AnyApp {
        WithNodeOverHttp2() {
            super(node("app.js", "http2"), "h2c");
        }

        @BeforeAll
        @Override
        void start() throws IOException {
            assumeNode();
            super.start();
        }
    }
}
