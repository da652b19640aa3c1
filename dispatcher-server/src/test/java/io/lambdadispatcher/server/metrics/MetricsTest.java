package io.lambdadispatcher.server.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import org.junit.jupiter.api.Test;

class MetricsTest {
    @Test
    void should_show_the_dispatcher_readiness_the_jvm_and_the_allocator() {
        try (Metrics metrics = new Metrics(null)) {
            metrics.watchReadiness(() -> true);
            metrics.observer().onClientConnected();
            metrics.onCertificate("public.tls", Instant.ofEpochSecond(1));
            metrics.onCertificate("public.tls", Instant.ofEpochSecond(2_000_000_000));

            assertThat(metrics.scrape())
                    .contains("lambda_dispatcher_client_connections 1.0\n")
                    .contains("lambda_dispatcher_ready 1.0\n")
                    .contains("lambda_dispatcher_certificate_expiry_timestamp_seconds{port=\"public.tls\"} 2.0E9\n")
                    .contains("jvm_memory_used_bytes")
                    .contains("process_files_open_files")
                    .contains("netty_allocator_memory_used");
        }
    }
}
