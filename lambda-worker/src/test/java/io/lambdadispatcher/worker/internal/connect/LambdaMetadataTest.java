package io.lambdadispatcher.worker.internal.connect;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class LambdaMetadataTest {
    private HttpServer server;
    private volatile String answer = "{\"AvailabilityZoneID\": \"use1-az1\"}";

    @BeforeEach
    void start() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/2026-01-15/metadata/execution-environment", exchange -> {
            boolean allowed =
                    "Bearer secret".equals(exchange.getRequestHeaders().getFirst("authorization"));
            byte[] body = answer.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(allowed ? 200 : 403, allowed ? body.length : -1);
            if (allowed) {
                exchange.getResponseBody().write(body);
            }
            exchange.close();
        });
        server.start();
    }

    @AfterEach
    void stop() {
        server.stop(0);
    }

    private String zone(String token) {
        return LambdaMetadata.availabilityZone(Map.of(
                LambdaMetadata.ADDRESS, "127.0.0.1:" + server.getAddress().getPort(), LambdaMetadata.TOKEN, token));
    }

    @Test
    void should_read_the_zone() {
        assertThat(zone("secret")).isEqualTo("use1-az1");
    }

    @Test
    void should_do_without_a_zone() {
        assertThat(zone("wrong")).isEmpty();
        answer = "{}";
        assertThat(zone("secret")).isEmpty();
        answer = "{\"AvailabilityZoneID\": \"\\u0007\"}";
        assertThat(zone("secret")).isEmpty();
        assertThat(LambdaMetadata.availabilityZone(Map.of())).isEmpty();
        assertThat(LambdaMetadata.availabilityZone(Map.of(LambdaMetadata.ADDRESS, "127.0.0.1:99999")))
                .isEmpty();
        server.stop(0);
        assertThat(zone("secret")).isEmpty();
    }

    @Test
    void should_not_wait_long_for_an_answer() throws IOException {
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            long startNanos = System.nanoTime();
            String zone = LambdaMetadata.availabilityZone(
                    Map.of(LambdaMetadata.ADDRESS, "127.0.0.1:" + silent.getLocalPort()));
            assertThat(zone).isEmpty();
            assertThat(System.nanoTime() - startNanos).isLessThan(TimeUnit.SECONDS.toNanos(5));
        }
    }
}
