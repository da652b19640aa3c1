package io.lambdadispatcher.server.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@EachRelease
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

    private static double value(Metrics metrics, String name) {
        return metrics.scrape()
                .lines()
                .filter(line -> line.startsWith(name + " "))
                .mapToDouble(line -> Double.parseDouble(line.substring(name.length())))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void should_show_the_cpu_and_the_files_of_the_process(@TempDir Path directory) throws IOException {
        List<OutputStream> open = new ArrayList<>();
        try (Metrics metrics = new Metrics(null)) {
            Await.until("the process needs its CPU", () -> value(metrics, "process_cpu_usage") > 0);
            double before = value(metrics, "process_files_open_files");
            for (int i = 0; i < 100; i++) {
                open.add(Files.newOutputStream(directory.resolve(Integer.toString(i))));
            }
            // Other tests may have left files that are closed meanwhile.
            assertThat(value(metrics, "process_files_open_files"))
                    .isBetween(before + 50, value(metrics, "process_files_max_files"));
        } finally {
            for (OutputStream each : open) {
                each.close();
            }
        }
    }
}
