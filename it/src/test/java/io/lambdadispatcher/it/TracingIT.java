package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.it.functions.TraceFunction;
import io.lambdadispatcher.it.webdemo.JdkApp;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import io.opentelemetry.proto.trace.v1.Span;
import io.opentelemetry.proto.trace.v1.Span.SpanKind;
import io.opentelemetry.proto.trace.v1.Status.StatusCode;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Traces from the dispatcher's program as a collector receives them. */
@StartsPrograms
@Execution(ExecutionMode.CONCURRENT)
@Timeout(300)
class TracingIT {
    private static final String CLIENT_TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
    private static final String CLIENT_SPAN = "00f067aa0ba902b7";

    private static final Path RUNTIME =
            Path.of("src", "test", "resources", "runtime").toAbsolutePath();
    private static final int CONCURRENT = 32;

    private final HttpClient client =
            HttpClient.newBuilder().version(Version.HTTP_1_1).build();

    @TempDir
    Path directory;

    /** A dispatcher in its own process. It launches a worker for the first request. */
    private final class Program implements AutoCloseable {
        private final int port = FreePort.next();
        private final Process process;

        Program(Map<String, String> more) throws IOException {
            // Without the flag, JDK 24 and later write warnings that are not JSON.
            List<String> command = ChildJvm.command(ChildJvm.SERVER, "--enable-native-access=ALL-UNNAMED");
            command.add("serve");
            ProcessBuilder builder = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(directory.resolve("dispatcher.log").toFile());
            Map<String, String> settings = new HashMap<>();
            settings.put("PUBLIC_PLAIN_PORT", Integer.toString(port));
            settings.put("ADMIN_PORT", "off");
            settings.put("LOCAL_JVM_FLAGS", ChildJvm.workerFlags());
            settings.put("WORKERS_PORT", "127.0.0.1:" + FreePort.next());
            settings.put("SHUTDOWN_DELAY", "0");
            settings.put("FUNCTION_NAME", "shop");
            settings.put("FUNCTION_LAUNCHER", "local");
            settings.put("FUNCTION_HANDLER", "io.lambdadispatcher.server.demo.DemoHandler");
            settings.put("FUNCTION_MAX_WORKERS", "1");
            settings.put("FUNCTION_QUEUE_TIMEOUT", "60s");
            settings.putAll(more);
            settings.forEach((name, value) -> builder.environment().put("LAMBDA_DISPATCHER_" + name, value));
            process = builder.start();
        }

        HttpResponse<String> get(String path, String... headers) {
            HttpRequest.Builder request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path));
            if (headers.length > 0) {
                request.headers(headers);
            }
            AtomicReference<HttpResponse<String>> response = new AtomicReference<>();
            Await.until("the dispatcher listens", () -> {
                try {
                    response.set(client.send(request.build(), BodyHandlers.ofString()));
                    return true;
                } catch (IOException e) {
                    return false;
                }
            });
            return response.get();
        }

        @Override
        public void close() throws Exception {
            process.destroy();
            if (!process.waitFor(30, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        }
    }

    private static Map<String, String> tracing(TraceCollector collector, String protocol, String ratio) {
        return Map.of(
                "TRACING_ENDPOINT",
                collector.endpoint() + (protocol.equals("grpc") ? "" : "/v1/traces"),
                "TRACING_RATIO",
                ratio,
                "FORWARDING_TRUST",
                "append");
    }

    private static Span named(List<Span> spans, String name) {
        return spans.stream()
                .filter(span -> span.getName().equals(name))
                .findFirst()
                .orElseThrow(() -> new AssertionError(name + " is not among " + spans));
    }

    private static String hex(ByteString id) {
        return HexFormat.of().formatHex(id.toByteArray());
    }

    private static Map<String, Object> attributes(Span span) {
        return TraceCollector.attributes(span.getAttributesList());
    }

    private static void assertWithin(Span inner, Span outer) {
        assertThat(inner.getParentSpanId()).isEqualTo(outer.getSpanId());
        assertThat(inner.getTraceId()).isEqualTo(outer.getTraceId());
        assertThat(inner.getStartTimeUnixNano()).isGreaterThanOrEqualTo(outer.getStartTimeUnixNano());
        assertThat(inner.getEndTimeUnixNano()).isBetween(inner.getStartTimeUnixNano(), outer.getEndTimeUnixNano());
    }

    private static List<Span> ofTrace(TraceCollector collector, String traceId) {
        return collector.spans().stream()
                .filter(span -> hex(span.getTraceId()).equals(traceId))
                .toList();
    }

    @ParameterizedTest
    @ValueSource(strings = {"grpc", "http"})
    void should_show_a_request_from_the_queue_to_the_handler(String protocol) throws Exception {
        try (TraceCollector collector = protocol.equals("grpc") ? TraceCollector.ofGrpc() : TraceCollector.ofHttp();
                Program program = new Program(tracing(collector, protocol, "0"))) {
            HttpResponse<String> response = program.get(
                    "/delay?delay=80&secret=1",
                    "traceparent",
                    "00-" + CLIENT_TRACE + "-" + CLIENT_SPAN + "-01",
                    "tracestate",
                    "vendor=value",
                    "tracestate",
                    "other=1",
                    "user-agent",
                    "curl/8");
            assertThat(response.statusCode()).isEqualTo(200);
            Await.until("the trace", () -> ofTrace(collector, CLIENT_TRACE).size() == 4);
            List<Span> spans = ofTrace(collector, CLIENT_TRACE);

            Span request = named(spans, "GET shop");
            assertThat(hex(request.getParentSpanId())).isEqualTo(CLIENT_SPAN);
            assertThat(request.getTraceState()).isEqualTo("vendor=value,other=1");
            assertThat(request.getKind()).isEqualTo(SpanKind.SPAN_KIND_SERVER);
            assertThat(request.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_UNSET);
            assertThat(attributes(request))
                    .containsEntry("http.request.method", "GET")
                    .containsEntry("http.response.status_code", 200L)
                    .containsEntry("url.path", "/delay")
                    .containsEntry("url.scheme", "http")
                    .containsEntry("server.address", "127.0.0.1")
                    .containsEntry("server.port", (long) program.port)
                    .containsEntry("network.peer.address", "127.0.0.1")
                    .containsEntry("network.protocol.version", "1.1")
                    .containsEntry("user_agent.original", "curl/8")
                    .containsEntry("lambda_dispatcher.function", "shop")
                    .doesNotContainKey("error.type");
            assertThat(request.toString()).doesNotContain("secret");

            Span queue = named(spans, "queue");
            assertWithin(queue, request);
            assertThat(attributes(queue)).containsEntry("lambda_dispatcher.wait_reason", "workers_starting");

            Span attempt = named(spans, "attempt");
            assertWithin(attempt, request);
            assertThat(attempt.getKind()).isEqualTo(SpanKind.SPAN_KIND_CLIENT);
            assertThat(attempt.getStartTimeUnixNano()).isGreaterThan(queue.getStartTimeUnixNano());
            assertThat(attributes(attempt)).containsKey("lambda_dispatcher.worker.id");

            Span handler = named(spans, "handler");
            assertWithin(handler, attempt);
            assertThat(handler.getKind()).isEqualTo(SpanKind.SPAN_KIND_SERVER);
            assertThat(handler.getEndTimeUnixNano() - handler.getStartTimeUnixNano())
                    .isBetween(79_000_000L, 5_000_000_000L);

            Span launch = named(collector.spans(), "launch shop");
            assertThat(attributes(launch))
                    .containsEntry(
                            "lambda_dispatcher.worker.id", attributes(attempt).get("lambda_dispatcher.worker.id"));
            assertThat(attempt.getLinksList())
                    .singleElement()
                    .satisfies(link -> assertThat(link.getSpanId()).isEqualTo(launch.getSpanId()));
            assertThat(collector.resource()).containsEntry("service.name", "lambda-dispatcher");
        }
    }

    @Test
    void should_show_failures_and_follow_the_decision_of_the_client() throws Exception {
        try (TraceCollector collector = TraceCollector.ofGrpc();
                Program program = new Program(tracing(collector, "grpc", "1"))) {
            assertThat(program.get("/fail").statusCode()).isEqualTo(500);
            assertThat(program.get("/ping", "traceparent", "00-" + CLIENT_TRACE + "-" + CLIENT_SPAN + "-00")
                            .statusCode())
                    .isEqualTo(200);
            String headers =
                    program.get("/headers", "baggage", "a=1", "baggage", "b=2").body();
            assertThat(headers).contains("a=1", "b=2");
            Await.until(
                    "two traces",
                    () -> collector.spans().stream()
                                    .filter(span -> span.getName().equals("GET shop"))
                                    .count()
                            == 2);
            List<Span> spans = collector.spans();

            Span failed = named(spans, "GET shop");
            assertThat(failed.getParentSpanId().isEmpty()).isTrue();
            assertThat(failed.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_ERROR);
            assertThat(attributes(failed))
                    .containsEntry("error.type", "handler_failed")
                    .containsEntry("http.response.status_code", 500L);
            Span handler = named(spans, "handler");
            assertThat(handler.getStatus().getCode()).isEqualTo(StatusCode.STATUS_CODE_ERROR);

            assertThat(ofTrace(collector, CLIENT_TRACE)).isEmpty();
            // The handler's parent is the span of the attempt.
            assertThat(spans.stream().filter(span -> span.getName().equals("attempt")))
                    .anySatisfy(attempt -> assertThat(headers)
                            .contains("00-" + hex(attempt.getTraceId()) + "-" + hex(attempt.getSpanId()) + "-0"));
        }
    }

    @Test
    void should_serve_without_a_collector() throws Exception {
        Map<String, String> nowhere = Map.of(
                "TRACING_ENDPOINT", "http://127.0.0.1:" + FreePort.next(), "TRACING_RATIO", "1", "LOG_FORMAT", "json");
        try (Program program = new Program(nowhere)) {
            for (int i = 0; i < 20; i++) {
                assertThat(program.get("/ping").body()).isEqualTo("pong");
            }
            Await.until(
                    "a warning",
                    () -> Files.readString(directory.resolve("dispatcher.log")).contains("Failed to export"));
        }
        assertThat(Files.readAllLines(directory.resolve("dispatcher.log")))
                .allMatch(line -> line.startsWith("{") && line.endsWith("}"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"web", "runtime", "function"})
    void should_never_mix_the_traces_of_concurrent_requests(String adapter) throws Exception {
        Map<String, String> variables = new HashMap<>();
        String path = "/";
        switch (adapter) {
            case "web" -> {
                variables.put("PORT", Integer.toString(FreePort.next()));
                variables.put("LAMBDA_DISPATCHER_WEB_PORT", variables.get("PORT"));
                variables.put(
                        "LAMBDA_DISPATCHER_WEB_COMMAND",
                        "exec " + String.join(" ", ChildJvm.command(JdkApp.class.getName())));
                path = "/trace";
            }
            case "runtime" -> {
                variables.put(
                        "LAMBDA_DISPATCHER_RUNTIME",
                        "exec " + RuntimeClients.python() + " -m awslambdaric app.handler");
                variables.put("LAMBDA_DISPATCHER_RUNTIME_CHILDREN", "4");
                variables.put("LAMBDA_TASK_ROOT", RUNTIME.toString());
                path = "/trace";
            }
            default -> variables.put("LAMBDA_DISPATCHER_HANDLER", TraceFunction.class.getName());
        }
        try (Rig rig = Rig.start(Rig.function().build(), DispatcherObserver.NONE)) {
            rig.process(1, CONCURRENT, variables);
            for (int round = 0; round < 5; round++) {
                List<CompletableFuture<HttpResponse<String>>> responses = new ArrayList<>();
                for (int i = 0; i < CONCURRENT; i++) {
                    responses.add(client.sendAsync(
                            HttpRequest.newBuilder(rig.http(path))
                                    .header("traceparent", traceParent(round, i))
                                    .build(),
                            BodyHandlers.ofString()));
                }
                for (int i = 0; i < CONCURRENT; i++) {
                    assertThat(responses.get(i).get().body()).contains(traceParent(round, i));
                }
            }
        }
    }

    private static String traceParent(int round, int number) {
        return String.format("00-%016x%016x-%016x-01", round + 1, number + 1, number + 7);
    }
}
