package io.lambdadispatcher.core.observe;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Operators search the documents for the words of the log. */
class IncidentDocTest {
    private static final Path DOCS = Path.of("../docs");

    @ParameterizedTest
    @EnumSource(Incident.Kind.class)
    void should_be_named_as_it_is_logged_where_operators_look(Incident.Kind kind) throws IOException {
        String words = kind.headline("…", "…");
        assertThat(Files.readString(DOCS.resolve("guides/troubleshoot.md"))).contains("| `" + words + "` |");
        assertThat(Files.readString(DOCS.resolve("monitoring/alerts.yaml"))).contains('"' + words + '"');
        assertThat(Files.readString(DOCS.resolve("reference/metrics.md")))
                .contains("`" + kind.name().toLowerCase(Locale.ROOT) + "`");
    }
}
