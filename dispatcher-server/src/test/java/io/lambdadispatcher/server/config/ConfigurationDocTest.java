package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * docs/reference/configuration.md says what the code does. {@code -Ddocs.update=true} writes its
 * tables again.
 */
class ConfigurationDocTest {
    private static final Path DOC = Path.of("..", "docs", "reference", "configuration.md");
    private static final String BEGIN = "<!-- tables of settings: written by ConfigurationDocTest -->\n\n";
    private static final String END = "<!-- end of the tables -->";
    /** A name in backticks, with or without a value. */
    private static final Pattern NAME = Pattern.compile("`([a-z-]+\\.[a-z.-]*[a-z])(?:: [^`]*)?`");

    private static final Pattern YAML = Pattern.compile("```yaml\n(.*?)```", Pattern.DOTALL);

    private static String tables() {
        StringBuilder text = new StringBuilder();
        for (SettingTopic topic : Settings.TABLE.topics()) {
            text.append("### ").append(topic.title()).append("\n\n");
            text.append("| setting | default | value | reload | description |\n| --- | --- | --- | --- | --- |\n");
            for (Setting<?> setting : topic.settings()) {
                String byDefault = setting.defaultText();
                text.append("| `").append(setting.name()).append("` | ");
                text.append(byDefault == null || byDefault.isEmpty() ? "" : "`" + byDefault + "`");
                text.append(" | ").append(setting.type().expected());
                text.append(" | ").append(setting.reloads() ? "yes" : "restart");
                text.append(" | ").append(setting.doc()).append(" |\n");
            }
            text.append('\n');
        }
        return text.toString();
    }

    @Test
    void should_hold_the_tables_of_settings() throws IOException {
        String doc = Files.readString(DOC);
        int begin = doc.indexOf(BEGIN) + BEGIN.length();
        int end = doc.indexOf(END);
        assertThat(end).isGreaterThanOrEqualTo(begin);
        if (Boolean.getBoolean("docs.update")) {
            Files.writeString(DOC, doc.substring(0, begin) + tables() + doc.substring(end));
            return;
        }
        assertThat(doc.substring(begin, end))
                .as("tables in %s; -Ddocs.update=true writes them again", DOC)
                .isEqualTo(tables());
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
    void should_name_no_setting_in_a_document_that_there_is_not() throws IOException {
        Set<String> groups = Settings.TABLE.byName().keySet().stream()
                .filter(name -> name.contains("."))
                .flatMap(name -> IntStream.range(0, name.length())
                        .filter(i -> name.charAt(i) == '.')
                        .mapToObj(i -> name.substring(0, i)))
                .collect(Collectors.toSet());
        List<String> unknown = new ArrayList<>();
        int count = 0;
        try (Stream<Path> files = Files.walk(Path.of("..", "docs"))) {
            for (Path file :
                    files.filter(each -> each.toString().endsWith(".md")).toList()) {
                Matcher names = NAME.matcher(Files.readString(file));
                for (; names.find(); count++) {
                    String name = names.group(1);
                    boolean meant = groups.contains(name.substring(0, name.indexOf('.'))) && !name.endsWith(".py");
                    if (meant
                            && !groups.contains(name)
                            && !Settings.TABLE.byName().containsKey(name)) {
                        unknown.add(file + ": " + name);
                    }
                }
            }
        }
        assertThat(count).isGreaterThan(100);
        assertThat(unknown).isEmpty();
    }

    /** As in docs and {@code --help-all}, where each stands alone. */
    @Test
    void should_describe_each_setting_in_whole_sentences() {
        for (Setting<?> setting : Settings.TABLE.byName().values()) {
            assertThat(setting.doc())
                    .as(setting.name())
                    .matches("[A-Z].*\\.")
                    .doesNotMatch("And .*")
                    .doesNotContain("|");
            assertThat(setting.type().expected()).as(setting.name()).doesNotContain("|");
        }
    }

    /** Whoever adds one removes another, or groups some that belong together. */
    @Test
    void should_not_have_more_settings_than_people_can_choose_from() {
        assertThat(Settings.TABLE.byName()).hasSizeLessThanOrEqualTo(115);
        assertThat(Settings.TABLE.byName().values().stream().filter(Setting::isOfFunction))
                .hasSizeLessThanOrEqualTo(50);
    }

    @Test
    void should_have_defaults_that_are_right() {
        SettingValues defaults = new SettingValues(Settings.TABLE);
        assertThat(Settings.TABLE.byName().values()).allSatisfy(setting -> {
            assertThat(defaults.isDefault(setting)).isTrue();
            assertThat(defaults.isSet(setting)).isEqualTo(setting.defaultText() != null);
        });
    }
}
