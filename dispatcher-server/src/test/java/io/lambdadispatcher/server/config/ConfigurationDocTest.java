package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** docs/CONFIGURATION.md says what the code does. {@code -Ddocs.update=true} writes its table anew. */
class ConfigurationDocTest {
    private static final Path DOC = Path.of("..", "docs", "CONFIGURATION.md");
    private static final String BEGIN = "<!-- table of settings: written by ConfigurationDocTest -->\n";
    private static final String END = "<!-- end of the table -->";
    private static final Pattern YAML = Pattern.compile("```yaml\n(.*?)```", Pattern.DOTALL);

    @Test
    void should_hold_the_table_of_settings() throws IOException {
        String doc = Files.readString(DOC);
        int begin = doc.indexOf(BEGIN) + BEGIN.length();
        int end = doc.indexOf(END);
        assertThat(end).isGreaterThanOrEqualTo(begin);
        if (Boolean.getBoolean("docs.update")) {
            Files.writeString(DOC, doc.substring(0, begin) + ConfigurationTable.markdown() + doc.substring(end));
            return;
        }
        assertThat(doc.substring(begin, end))
                .as("table in %s; -Ddocs.update=true writes it anew", DOC)
                .isEqualTo(ConfigurationTable.markdown());
    }

    @Test
    void should_show_files_that_are_right(@TempDir Path directory) throws Exception {
        Matcher examples = YAML.matcher(Files.readString(DOC));
        int count = 0;
        for (; examples.find(); count++) {
            Path file = Files.writeString(directory.resolve("example.yaml"), examples.group(1));
            ConfigurationLoader.load(Map.of(), file, Map.of(), Map.of(), List.of());
        }
        assertThat(count).isGreaterThan(0);
    }

    @Test
    void should_have_defaults_that_are_right() {
        for (Setting<?> setting : Settings.ALL) {
            assertThat(Effective.byDefault(setting).text()).as(setting.name()).isEqualTo(setting.defaultText());
            assertThat(setting.doc()).as(setting.name()).doesNotEndWith(".").doesNotContain("|");
            assertThat(setting.type().expected()).as(setting.name()).doesNotContain("|");
        }
    }
}
