package io.lambdadispatcher.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.bench.Results.Measurement;
import io.lambdadispatcher.bench.Results.Meta;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ResultsTest {
    private static final Meta META = meta("2026-11-21T10:00:00Z", "0123456789ab");

    @TempDir
    Path directory;

    @Test
    void should_read_what_it_has_written() throws IOException {
        Results results = new Results(META, List.of(measurement("4", 12.5), measurement("1024", 300)));
        Path file = directory.resolve("results.json");

        results.write(file);

        assertThat(Results.read(file)).isEqualTo(results);
        assertThat(Files.readString(file)).contains("\"allocated_bytes\":96.0");
    }

    @Test
    void should_replace_what_was_measured_again_and_keep_the_rest() {
        Results old = new Results(META, List.of(measurement("1024", 300), measurement("4", 12.5)));
        Meta later = meta("2026-11-21T11:00:00Z", META.commit());

        Results both = old.with(new Results(later, List.of(measurement("4", 11))));

        assertThat(both.meta().taken()).isEqualTo(later.taken());
        assertThat(both.meta().command()).isEqualTo(META.command() + " && " + later.command());
        assertThat(both.results()).containsExactly(measurement("1024", 300), measurement("4", 11));
    }

    @Test
    void should_not_mix_commits() {
        Results old = new Results(META, List.of(measurement("4", 12.5)));
        Results other = new Results(meta(META.taken(), "ba9876543210"), old.results());

        assertThatThrownBy(() -> old.with(other))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("ba9876543210")
                .hasMessageContaining("0123456789ab");
    }

    private static Meta meta(String taken, String commit) {
        return new Meta(
                taken, commit, false, "JDK 17", List.of("-Xmx512m"), "a CPU", 2, "6.1", "java -jar a.jar " + taken);
    }

    private static Measurement measurement(String bodyBytes, double score) {
        return new Measurement(
                "base64.X.exchange",
                Map.of("bodyBytes", bodyBytes),
                "avgt",
                "2 × 5 × 1 s",
                score,
                null,
                "ns/op",
                96.0,
                null);
    }
}
