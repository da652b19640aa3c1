package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.amazonaws.services.lambda.runtime.Context;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.it.runtimedemo.Meeting;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.LambdaHandler;
import io.lambdadispatcher.worker.adapter.runtime.RuntimeHandler;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Proxy;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs functions in child processes with AWS's unmodified runtime clients. */
@StartsPrograms
@Timeout(500)
class RuntimeIT {
    private static final Path APPS =
            Path.of("src", "test", "resources", "runtime").toAbsolutePath();
    private static final byte[] TEXT =
            "Grüße, \"text\" \\ of \n several 文字 \u0001\u001f".getBytes(StandardCharsets.UTF_8);
    private static final int LARGE_BYTES = 64 << 20;

    private Rig rig;

    @AfterEach
    void stop() throws Exception {
        if (rig != null) {
            rig.close();
        }
    }

    private void start(String commandLine, int children, Map<String, String> more) {
        start(commandLine, children, more, Rig.function().build());
    }

    private void start(String commandLine, int children, Map<String, String> more, FunctionOptions function) {
        Map<String, String> variables = new HashMap<>(Map.of(
                "LAMBDA_DISPATCHER_RUNTIME",
                commandLine,
                "LAMBDA_DISPATCHER_RUNTIME_CHILDREN",
                Integer.toString(children),
                "LAMBDA_TASK_ROOT",
                APPS.toString()));
        variables.putAll(more);
        rig = Rig.start(function, DispatcherObserver.NONE);
        rig.process(2, 50, variables);
    }

    private void startPython(int children, Map<String, String> more) throws Exception {
        start("exec " + RuntimeClients.python() + " -m awslambdaric app.handler", children, more);
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(rig.https(path)).timeout(Duration.ofSeconds(200));
    }

    private HttpResponse<byte[]> send(HttpRequest.Builder request) throws Exception {
        return rig.client(HttpClient.Version.HTTP_2).send(request.build(), BodyHandlers.ofByteArray());
    }

    private static HttpRequest.Builder posting(HttpRequest.Builder request, String type, byte[] body) {
        return request.header("content-type", type).POST(BodyPublishers.ofByteArray(body));
    }

    private static byte[] random(int bytes) {
        byte[] body = new byte[bytes];
        new Random(5).nextBytes(body);
        return body;
    }

    private void assertEchoes(String type, byte[] body) throws Exception {
        HttpResponse<byte[]> response = send(posting(request("/echo"), type, body));
        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(response.body()).isEqualTo(body);
        assertThat(response.headers().firstValue("content-type")).contains(type);
    }

    // Python.

    @ParameterizedTest
    @ValueSource(strings = {"alb", "alb-multi-value", "http-api-v2", "rest-api", "function-url"})
    void should_echo_through_each_shape_of_event_to_python(String shape) throws Exception {
        startPython(2, Map.of("LAMBDA_DISPATCHER_EVENT", shape));

        assertEchoes("text/plain; charset=utf-8", TEXT);
        assertEchoes("application/json", "{\"a\":[1,\"b\"]}".getBytes(StandardCharsets.UTF_8));
        assertEchoes("application/octet-stream", random(100_000));
        assertEchoes("text/plain", random(10_000));
        assertThat(send(request("/echo")).body()).isEmpty();
        assertThat(send(request("/echo").POST(BodyPublishers.noBody())).body()).isEmpty();
        for (int status : new int[] {200, 204, 299, 304, 418, 519, 599}) {
            HttpResponse<byte[]> response = send(request("/status/" + status));
            assertThat(response.statusCode()).isEqualTo(status);
            assertThat(response.body()).isEmpty();
        }

        HttpResponse<byte[]> headers = send(
                request("/pid").header("x-multi", "1").header("x-multi", "2").header("cookie", "c=3; d=4"));
        boolean multiValue = shape.equals("alb-multi-value") || shape.equals("rest-api");
        assertThat(headers.headers().firstValue("x-seen").orElse(""))
                .isEqualTo(multiValue ? "1|2 c=3; d=4" : shape.equals("alb") ? "2 c=3; d=4" : "1,2 c=3|d=4");
        assertThat(headers.headers().allValues("set-cookie"))
                .isEqualTo(shape.equals("alb") ? List.of("a=1; Path=/") : List.of("a=1; Path=/", "b=2"));
        assertThat(headers.headers().allValues("x-many")).isEqualTo(multiValue ? List.of("1", "2") : List.of());
        rig.awaitAllFree();
    }

    @Test
    void should_carry_64_megabytes_to_python_and_back() throws Exception {
        startPython(1, Map.of("IT_WORKER_HEAP", "2g"));
        assertEchoes("application/octet-stream", random(LARGE_BYTES));
        HttpResponse<byte[]> larger =
                send(posting(request("/echo"), "application/octet-stream", random(LARGE_BYTES + (16 << 20))));
        assertThat(larger.statusCode()).isEqualTo(413);
        assertThat(send(request("/status/204")).statusCode()).isEqualTo(204);
    }

    @Test
    void should_answer_502_where_the_function_fails_and_go_on() throws Exception {
        startPython(1, Map.of("LAMBDA_DISPATCHER_EVENT", "alb"));
        byte[] before = send(request("/pid")).body();

        HttpResponse<byte[]> failed = send(request("/fail"));
        assertThat(failed.statusCode()).isEqualTo(502);
        assertThat(new String(failed.body(), StandardCharsets.UTF_8)).doesNotContain("secret");
        assertThat(send(request("/not-http")).statusCode()).isEqualTo(502);
        assertThat(send(request("/pid")).body()).isEqualTo(before);
    }

    @Test
    void should_fail_only_the_request_of_a_child_that_crashes_and_start_another() throws Exception {
        startPython(2, Map.of());
        HttpClient client = rig.client(HttpClient.Version.HTTP_2);
        List<CompletableFuture<HttpResponse<String>>> others = new ArrayList<>();
        others.add(client.sendAsync(request("/sleep").build(), BodyHandlers.ofString()));
        CompletableFuture<HttpResponse<String>> crash =
                client.sendAsync(request("/crash").build(), BodyHandlers.ofString());
        for (int i = 0; i < 6; i++) {
            others.add(client.sendAsync(request("/sleep").build(), BodyHandlers.ofString()));
        }
        assertThat(crash.get().statusCode()).isEqualTo(502);
        Set<String> processes = new HashSet<>();
        for (CompletableFuture<HttpResponse<String>> other : others) {
            assertThat(other.get().statusCode()).isEqualTo(200);
            processes.add(other.get().body());
        }
        assertThat(processes).hasSizeGreaterThanOrEqualTo(1);
        rig.awaitAllFree();
    }

    @Test
    void should_answer_504_at_the_deadline_and_replace_the_child_that_hangs() throws Exception {
        start(
                "exec " + RuntimeClients.python() + " -m awslambdaric app.handler",
                1,
                Map.of(),
                Rig.function().workerTimeout(Duration.ofSeconds(3)).build());
        String before = new String(send(request("/pid")).body(), StandardCharsets.UTF_8);
        assertThat(send(request("/hang")).statusCode()).isEqualTo(504);
        Await.until("another child answers", () -> {
            try {
                HttpResponse<byte[]> response = send(request("/pid"));
                return response.statusCode() == 200
                        && !new String(response.body(), StandardCharsets.UTF_8).equals(before);
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    @Test
    void should_end_the_worker_where_the_function_cannot_be_loaded() throws Exception {
        rig = Rig.start();
        Process worker = rig.launch(
                1,
                1,
                Map.of(
                        "LAMBDA_DISPATCHER_RUNTIME",
                        "exec " + RuntimeClients.python() + " -m awslambdaric nowhere.handler",
                        "LAMBDA_TASK_ROOT",
                        APPS.toString()));
        assertThat(worker.waitFor()).isEqualTo(1);
    }

    /** The handler as Lambda creates it. */
    private static final class Function extends LambdaHandler {
        Function(RuntimeHandler handler) {
            super(handler);
        }
    }

    private static Context invoke(String id) {
        return (Context) Proxy.newProxyInstance(
                Context.class.getClassLoader(),
                new Class<?>[] {Context.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getAwsRequestId" -> id;
                    case "getInvokedFunctionArn" -> "arn:of:the:invoke";
                    case "getRemainingTimeInMillis" -> 30_000;
                    case "getClientContext", "getIdentity" -> null;
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    @Test
    void should_pass_an_event_of_a_queue_through_and_what_the_function_says() throws Exception {
        RuntimeHandler handler = RuntimeHandler.of(Map.of(
                "LAMBDA_DISPATCHER_RUNTIME",
                "exec " + RuntimeClients.python() + " -m awslambdaric app.handler",
                "LAMBDA_DISPATCHER_RUNTIME_CHILDREN",
                "1",
                "LAMBDA_TASK_ROOT",
                APPS.toString()));
        try {
            Function function = new Function(handler);
            ByteArrayOutputStream output = new ByteArrayOutputStream();
            function.handleRequest(
                    event("{\"Records\":[{\"body\":\"one\"},{\"body\":\"two\"}]}"), output, invoke("id-1"));
            assertThat(output.toString(StandardCharsets.UTF_8))
                    .contains("[\"one\", \"two\"]", "\"id-1\"", "\"arn:of:the:invoke\"")
                    .containsPattern("\"left\": [1-9]\\d{0,4}\\b");

            assertThatThrownBy(() -> function.handleRequest(
                            event("{\"Records\":[{\"nobody\":1}]}"), new ByteArrayOutputStream(), invoke("id-2")))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("KeyError");
        } finally {
            handler.stop();
        }
    }

    private static InputStream event(String json) {
        return new ByteArrayInputStream(json.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * The client forks a process for each concurrent request. Each request waits until all have
     * arrived.
     */
    @Test
    void should_let_python_take_several_at_once_in_one_child(@TempDir Path meeting) throws Exception {
        startPython(1, Map.of("LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY", "4", "MEETING", meeting.toString()));
        HttpClient client = rig.client(HttpClient.Version.HTTP_2);
        List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            all.add(client.sendAsync(request("/meet").build(), BodyHandlers.ofString()));
        }
        for (CompletableFuture<HttpResponse<String>> one : all) {
            assertThat(one.get().statusCode()).isEqualTo(200);
        }
    }

    // Node.

    @Test
    void should_serve_with_a_loop_of_forty_lines_in_node() throws Exception {
        start(
                "exec " + RuntimeClients.node() + " loop.mjs",
                2,
                Map.of("LAMBDA_DISPATCHER_RUNTIME_HANDLER", "app.echo"));
        assertEchoes("application/octet-stream", random(1_000_000));
        assertEchoes("text/plain", TEXT);
    }

    private void startNode(String handler, Map<String, String> more) throws Exception {
        Map<String, String> variables = new HashMap<>(more);
        variables.put("LAMBDA_DISPATCHER_RUNTIME_HANDLER", handler);
        start("exec node " + RuntimeClients.nodeClient(), 1, variables);
    }

    @Test
    void should_echo_through_the_client_of_node() throws Exception {
        startNode("app.echo", Map.of());
        assertEchoes("application/octet-stream", random(1_000_000));
        assertEchoes("text/plain; charset=utf-8", TEXT);
        assertThat(send(request("/")).headers().allValues("set-cookie")).containsExactly("a=1", "b=2");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 8})
    void should_stream_from_the_client_of_node(int concurrency) throws Exception {
        startNode(
                "app.stream",
                Map.of(
                        "LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY",
                        Integer.toString(concurrency),
                        "AWS_LAMBDA_NODEJS_WORKER_COUNT",
                        "2"));
        assertStreams();
        assertThat(send(request("/large?size=" + (32 << 20))).body()).hasSize((32 << 20) + 22);
        HttpResponse<byte[]> plain = send(request("/plain"));
        assertThat(plain.statusCode()).isEqualTo(200);
        assertThat(plain.headers().firstValue("content-type")).contains("text/x-plain");
        assertThat(plain.body()).asString().isEqualTo("no prelude");
        for (int i = 0; i < 20; i++) {
            assertThatThrownBy(() -> send(request("/fail").timeout(Duration.ofSeconds(60))))
                    .isInstanceOf(IOException.class)
                    .isNotInstanceOf(HttpTimeoutException.class);
        }
        assertThat(send(request("/plain")).statusCode()).isEqualTo(200);
        rig.awaitAllFree();
    }

    /**
     * Checks that the second part, which is written 5 s after the first, does not delay the first.
     */
    private void assertStreams() throws Exception {
        HttpResponse<InputStream> response = rig.client(HttpClient.Version.HTTP_2)
                .send(request("/sse?pause=5000").build(), BodyHandlers.ofInputStream());
        assertThat(response.statusCode()).isEqualTo(218);
        assertThat(response.headers().firstValue("content-type")).contains("text/event-stream");
        assertThat(response.headers().allValues("set-cookie")).containsExactly("a=1", "b=2");
        try (InputStream body = response.body()) {
            assertThat(new String(body.readNBytes(11), StandardCharsets.UTF_8)).isEqualTo("data: one\n\n");
            long firstNanos = System.nanoTime();
            assertThat(new String(body.readAllBytes(), StandardCharsets.UTF_8)).isEqualTo("data: two\n\n");
            // 5 s minus the delay of the first part. It would be zero if a hop buffered the
            // response.
            assertThat(Duration.ofNanos(System.nanoTime() - firstNanos)).isGreaterThan(Duration.ofMillis(500));
        }
    }

    // Java.

    @Test
    void should_have_32_requests_in_flight_in_the_client_of_java() throws Exception {
        List<String> client =
                ChildJvm.command("com.amazonaws.services.lambda.runtime.api.client.AWSLambda", "-Xmx256m");
        start(
                "exec " + String.join(" ", client) + " " + Meeting.class.getName(),
                1,
                Map.of("LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY", "32"));
        for (int round = 0; round < 3; round++) {
            assertThat(answersToRequestsAtOnce(32, "/meet")).hasSize(32);
        }
        assertThat(send(request("/fail")).statusCode()).isEqualTo(502);
        byte[] binary = random(3_000_000);
        assertThat(send(posting(request("/echo"), "application/octet-stream", binary))
                        .body())
                .isEqualTo(binary);
        assertThat(send(posting(request("/echo"), "text/plain", TEXT)).body()).isEqualTo(TEXT);
    }

    /** @return the distinct bodies */
    private Set<String> answersToRequestsAtOnce(int requests, String path) throws Exception {
        HttpClient client = rig.client(HttpClient.Version.HTTP_2);
        List<CompletableFuture<HttpResponse<String>>> all = new ArrayList<>();
        for (int i = 0; i < requests; i++) {
            all.add(client.sendAsync(request(path).build(), BodyHandlers.ofString()));
        }
        Set<String> bodies = new HashSet<>();
        for (CompletableFuture<HttpResponse<String>> one : all) {
            assertThat(one.get().statusCode()).isEqualTo(200);
            bodies.add(one.get().body());
        }
        return bodies;
    }

    // Go and Rust.

    private void startFunction(String language, int children, int concurrency) throws Exception {
        start(
                "exec " + RuntimeClients.function(language),
                children,
                Map.of("LAMBDA_DISPATCHER_RUNTIME_CONCURRENCY", Integer.toString(concurrency)));
    }

    /** Requests of {@code /meet} are answered when 32 have arrived. */
    @ParameterizedTest
    @ValueSource(strings = {"go", "rust"})
    void should_have_32_requests_in_flight_in_one_process_of(String language) throws Exception {
        startFunction(language, 1, 32);
        for (int round = 0; round < 3; round++) {
            assertThat(answersToRequestsAtOnce(32, "/meet")).hasSize(32);
        }
        assertThat(answersToRequestsAtOnce(32, "/sleep")).hasSize(1);
        assertEchoes("application/octet-stream", random(3_000_000));
        assertEchoes("text/plain; charset=utf-8", TEXT);
        assertThat(send(request("/fail")).statusCode()).isEqualTo(502);
        assertStreams();
        rig.awaitAllFree();
    }

    @ParameterizedTest
    @ValueSource(strings = {"go", "rust"})
    void should_have_one_request_in_each_process_of(String language) throws Exception {
        startFunction(language, 4, 1);
        Await.until("all four are there", () -> {
            try {
                return answersToRequestsAtOnce(4, "/sleep").size() == 4;
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
        assertEchoes("application/octet-stream", random(3_000_000));
        assertStreams();
    }

    /** After a panic, the client of Go ends its process; the client of Rust does not. */
    @ParameterizedTest
    @ValueSource(strings = {"go", "rust"})
    void should_go_on_after_a_panic_of(String language) throws Exception {
        startFunction(language, 1, 8);
        byte[] before = send(request("/sleep")).body();
        assertThat(send(request("/panic")).statusCode()).isEqualTo(502);
        Await.until("it goes on", () -> {
            try {
                HttpResponse<byte[]> response = send(request("/sleep"));
                return response.statusCode() == 200
                        && Arrays.equals(response.body(), before) == language.equals("rust");
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }
}
