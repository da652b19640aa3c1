package io.lambdadispatcher.server.tracing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** OpenTelemetry's SDK reads system properties as it reads environment variables. */
class TraceExportTest {
    private static final String ENDPOINT = "otel.exporter.otlp.traces.endpoint";
    private static final String PROTOCOL = "otel.exporter.otlp.traces.protocol";
    private static final String DELAY = "otel.bsp.schedule.delay";

    private final List<String> paths = new CopyOnWriteArrayList<>();
    private HttpServer collector;

    @BeforeEach
    void listen() throws Exception {
        collector = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        collector.createContext("/", exchange -> {
            paths.add(exchange.getRequestURI().getPath());
            exchange.getRequestBody().readAllBytes();
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        collector.start();
    }

    @AfterEach
    void close() {
        List.of(ENDPOINT, PROTOCOL, DELAY).forEach(System::clearProperty);
        collector.stop(0);
    }

    private String url() {
        return "http://127.0.0.1:" + collector.getAddress().getPort();
    }

    /** Exports the trace of a launch. */
    private void export(String endpoint) {
        try (TraceExport traces = new TraceExport(URI.create(endpoint), 1, false)) {
            traces.observer().onLaunch("shop", "w-1", "minimum");
            traces.observer().onLaunchEnd("shop", "w-1", false, "ended");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"/v1/traces", "/otlp/v1/traces"})
    void should_send_traces_by_http_to_a_url_with_a_path(String path) {
        export(url() + path);

        assertThat(paths).containsExactly(path);
    }

    @Test
    void should_send_traces_to_the_endpoint_that_the_settings_name() {
        System.setProperty(ENDPOINT, "http://127.0.0.1:1/elsewhere");
        System.setProperty(PROTOCOL, "grpc");

        export(url() + "/v1/traces");

        assertThat(paths).containsExactly("/v1/traces");
    }

    /** HTTP/1.1 cannot answer it, but the SDK takes it. */
    @Test
    void should_take_a_slash_at_the_end_with_grpc() {
        try (TraceExport traces = new TraceExport(URI.create(url() + "/"), 1, false)) {
            assertThat(traces.observer()).isNotNull();
        }
    }

    @Test
    void should_say_what_the_sdk_rejects() {
        System.setProperty(DELAY, "soon");

        assertThatThrownBy(() -> new TraceExport(URI.create(url() + "/v1/traces"), 1, false))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith("OpenTelemetry rejects tracing.endpoint or an environment variable OTEL_...: ")
                .hasMessageContaining(DELAY)
                .hasMessageContaining("soon");
    }
}
