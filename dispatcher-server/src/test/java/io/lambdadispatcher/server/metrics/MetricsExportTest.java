package io.lambdadispatcher.server.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.aws.RequestSigner;
import io.micrometer.core.instrument.Clock;
import io.micrometer.core.ipc.http.HttpUrlConnectionSender;
import io.micrometer.registry.otlp.CompressionMode;
import io.micrometer.registry.otlp.OtlpHttpMetricsSender;
import io.micrometer.registry.otlp.OtlpMeterRegistry;
import io.micrometer.registry.otlp.OtlpMetricsSender;
import io.opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest;
import io.opentelemetry.proto.metrics.v1.Metric;
import io.opentelemetry.proto.metrics.v1.ResourceMetrics;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.http.ContentStreamProvider;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.auth.aws.signer.AwsV4HttpSigner;
import software.amazon.awssdk.http.auth.spi.signer.HttpSigner;

class MetricsExportTest {
    private static final DateTimeFormatter AMZ_DATE =
            DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);

    private record Received(String path, Map<String, List<String>> headers, byte[] body) {}

    private final Queue<Received> received = new ConcurrentLinkedQueue<>();
    private HttpServer collector;

    @BeforeEach
    void start() throws IOException {
        collector = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        collector.createContext("/", exchange -> {
            received.add(new Received(
                    exchange.getRequestURI().toString(),
                    exchange.getRequestHeaders(),
                    exchange.getRequestBody().readAllBytes()));
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        collector.start();
    }

    @AfterEach
    void stop() {
        collector.stop(0);
    }

    private URI endpoint() {
        return URI.create("http://127.0.0.1:" + collector.getAddress().getPort() + "/v1/metrics");
    }

    @Test
    void should_send_what_it_shows() throws Exception {
        try (Metrics metrics = new Metrics(endpoint())) {
            metrics.watchReadiness(() -> true);
            metrics.observer().onClientConnected();

            assertThat(metrics.scrape())
                    .contains("lambda_dispatcher_ready 1.0\n")
                    .contains("lambda_dispatcher_client_connections 1.0\n");
        }

        assertThat(received).hasSize(1);
        assertThat(received.element().path()).isEqualTo("/v1/metrics");
        ResourceMetrics sent =
                ExportMetricsServiceRequest.parseFrom(received.element().body()).getResourceMetrics(0);
        assertThat(sent.getResource().getAttributesList())
                .anyMatch(each -> each.getKey().equals("service.name")
                        && each.getValue().getStringValue().equals("lambda-dispatcher"))
                .anyMatch(each -> each.getKey().equals("service.instance.id"));
        assertThat(sent.getScopeMetrics(0).getMetricsList())
                .anyMatch(each -> isGauge(each, "lambda.dispatcher.ready", 1))
                .anyMatch(each -> isGauge(each, "lambda.dispatcher.client.connections", 1))
                .anyMatch(each -> each.getName().equals("process.uptime")
                        && each.getUnit().equals("seconds")
                        && each.getGauge().getDataPoints(0).getAsDouble() < 100_000);
    }

    private static boolean isGauge(Metric metric, String name, double value) {
        return metric.getName().equals(name)
                && metric.getGauge().getDataPoints(0).getAsDouble() == value;
    }

    /** The stand-in for CloudWatch computes the signature of what it has received. */
    @Test
    void should_sign_what_it_sends_to_aws() {
        AwsSessionCredentials credentials = AwsSessionCredentials.create("AKIDEXAMPLE", "secret key", "session");
        SignedSender sender = new SignedSender(
                new OtlpHttpMetricsSender(new HttpUrlConnectionSender()),
                new RequestSigner(StaticCredentialsProvider.create(credentials), "monitoring", "eu-west-1"));
        OtlpMeterRegistry registry = MetricsExport.registry(endpoint(), Clock.SYSTEM, sender);
        registry.counter("requests").increment();
        registry.close();

        assertThat(received).hasSize(1);
        Received request = received.element();
        Instant time = AMZ_DATE.parse(request.headers().get("X-amz-date").get(0), Instant::from);
        SdkHttpRequest expected = AwsV4HttpSigner.create()
                .sign(sign -> sign.identity(credentials)
                        .request(SdkHttpRequest.builder()
                                .method(SdkHttpMethod.POST)
                                .uri(endpoint())
                                .build())
                        .payload(ContentStreamProvider.fromByteArray(request.body()))
                        .putProperty(AwsV4HttpSigner.SERVICE_SIGNING_NAME, "monitoring")
                        .putProperty(AwsV4HttpSigner.REGION_NAME, "eu-west-1")
                        .putProperty(HttpSigner.SIGNING_CLOCK, java.time.Clock.fixed(time, ZoneOffset.UTC)))
                .request();
        for (String signed : List.of("Authorization", "Host", "X-Amz-Security-Token", "x-amz-content-sha256")) {
            assertThat(request.headers().get(capitalized(signed)))
                    .as(signed)
                    .isEqualTo(expected.matchingHeaders(signed));
        }
        assertThat(request.headers().get("Authorization").get(0)).contains("/eu-west-1/monitoring/aws4_request");
    }

    /** The signature covers the body as the sender was given it. */
    @Test
    void should_send_to_aws_what_it_has_signed() throws Exception {
        byte[] body = "what is measured".repeat(100).getBytes(StandardCharsets.UTF_8);
        AwsSessionCredentials credentials = AwsSessionCredentials.create("AKIDEXAMPLE", "secret key", "session");
        new SignedSender(
                        new OtlpHttpMetricsSender(new HttpUrlConnectionSender()),
                        new RequestSigner(StaticCredentialsProvider.create(credentials), "monitoring", "eu-west-1"))
                .send(OtlpMetricsSender.Request.builder(body)
                        .address(endpoint().toString())
                        .compressionMode(CompressionMode.GZIP)
                        .build());

        assertThat(received).hasSize(1);
        assertThat(received.element().headers()).doesNotContainKey("Content-encoding");
        assertThat(received.element().body()).isEqualTo(body);
    }

    /** Returns the name as the stand-in's map has it. */
    private static String capitalized(String name) {
        return name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1).toLowerCase(Locale.ROOT);
    }
}
