package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.Incident;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Operators search {@code docs/guides/troubleshoot.md} for the words that they see. Each row of its
 * tables is caused by a test, which {@code troubleshoot.txt} names, and which expects these words.
 * {@link IncidentsIT} causes the incidents. For each alert, {@code alerts.txt} names a test that
 * expects the metrics of its rule.
 */
class TroubleshootDocTest {
    private static final Path ROOT = Path.of("..");
    private static final Path INDEX = Path.of("src/test/resources/troubleshoot.txt");
    private static final Path ALERTS = Path.of("src/test/resources/alerts.txt");
    /** Why no test can cause a row or an alert. */
    private static final String NONE = "none: ";

    private static final Pattern TEST = Pattern.compile("(\\w+)\\.(\\w+)");
    private static final Pattern CODE = Pattern.compile("`([^`]+)`");
    /** A metric, without our prefix, or the value of a label other than the job. */
    private static final Pattern METRIC =
            Pattern.compile("(?:lambda_dispatcher_|\\b(?=process_))(\\w+)|(?<=\\w)(?<!job)=\"(\\w+)\"");

    /** What stands for anything, and what a test can write otherwise: {@code Protection.SHED}. */
    private static final Pattern BETWEEN_WORDS = Pattern.compile("…|\\w+=|\\d+|[()\"/]");

    /** Returns the first cells of the rows of all tables except the first, and the list. */
    private static List<String> rows() throws IOException {
        List<String> rows = new ArrayList<>();
        String section = "";
        for (String line : Files.readAllLines(ROOT.resolve("docs/guides/troubleshoot.md"))) {
            if (line.startsWith("## ")) {
                section = line;
            } else if (section.equals("## Incidents")
                    || line.startsWith("| ---")
                    || line.startsWith("| what you see")) {
                continue;
            } else if (line.startsWith("| ")) {
                rows.add(line.substring(2, line.indexOf(" | ", 2)));
            } else if (line.startsWith("- **")) {
                rows.add(line.substring(4, line.lastIndexOf("**")));
            }
        }
        return rows;
    }

    /** Returns the rules by the names of the alerts. */
    private static Map<String, String> alerts() throws IOException {
        Map<String, String> rules = new LinkedHashMap<>();
        String text = Files.readString(ROOT.resolve("docs/monitoring/alerts.yaml"));
        for (String rule : text.substring(text.indexOf("- alert: ")).split("- alert: ")) {
            if (!rule.isEmpty()) {
                String expression = rule.substring(rule.indexOf(" expr: "), rule.indexOf(" for: "));
                rules.put(rule.lines().findFirst().orElseThrow(), expression.replaceAll("#.*", ""));
            }
        }
        return rules;
    }

    private static Map<String, String> index(Path file) throws IOException {
        Map<String, String> tests = new LinkedHashMap<>();
        List<String> lines = Files.readAllLines(file);
        for (int i = 0; i + 1 < lines.size(); i += 2) {
            tests.put(lines.get(i), lines.get(i + 1).strip());
        }
        return tests;
    }

    /** Returns the sources of all tests by their class, with long texts in one piece. */
    private static Map<String, String> sources() throws IOException {
        Map<String, String> sources = new LinkedHashMap<>();
        try (Stream<Path> files = Files.walk(ROOT)) {
            for (Path file : files.filter(file -> file.toString().matches(".*/src/test/java/.*(Test|IT)\\.java"))
                    .toList()) {
                String text = Files.readString(file).replaceAll("\"\\s*\\+\\s*\"", "");
                sources.put(file.getFileName().toString().replace(".java", ""), text);
            }
        }
        return sources;
    }

    /** Returns the metrics and the labels of a rule that a test must have. */
    private static List<String> metrics(String rule) {
        return METRIC.matcher(rule)
                .results()
                .map(metric -> metric.group(1) == null ? metric.group(2) : metric.group(1))
                .map(word -> word.replaceFirst("_bucket$", "").toLowerCase(Locale.ROOT))
                .distinct()
                .toList();
    }

    /** Returns the pieces of the row that a test must have. */
    private static List<String> words(String row) {
        return CODE.matcher(row)
                .results()
                .flatMap(code -> BETWEEN_WORDS.splitAsStream(code.group(1)))
                .map(word -> word.strip().toLowerCase(Locale.ROOT))
                .filter(word -> !word.isEmpty())
                .toList();
    }

    @Test
    void should_name_a_test_for_each_row() throws IOException {
        assertThat(rows()).hasSizeGreaterThan(50);
        assertThat(index(INDEX).keySet()).containsExactlyElementsOf(rows());
        assertThat(index(ALERTS).keySet()).containsExactlyElementsOf(alerts().keySet());
    }

    @Test
    void should_have_a_row_for_each_incident() throws IOException {
        String page = Files.readString(ROOT.resolve("docs/guides/troubleshoot.md"));
        assertThat(page.substring(page.indexOf("## Incidents"), page.indexOf("## No worker"))
                        .lines()
                        .filter(line -> line.startsWith("| `")))
                .hasSize(Incident.Kind.values().length);
    }

    @Test
    void should_expect_the_words_of_each_row_in_its_tests() throws IOException {
        assertThat(problems(INDEX, TroubleshootDocTest::words)).isEmpty();
    }

    @Test
    void should_expect_the_metrics_of_each_alert_in_its_tests() throws IOException {
        Map<String, String> rules = alerts();
        assertThat(metrics(rules.get("HandlersFail")))
                .containsExactly("requests_total", "5xx", "request_failures_total", "only_if_cached");
        assertThat(problems(ALERTS, alert -> metrics(rules.get(alert)))).isEmpty();
    }

    /** @param words returns the words that the tests of an entry must have */
    private static List<String> problems(Path index, Function<String, List<String>> words) throws IOException {
        Map<String, String> sources = sources();
        List<String> problems = new ArrayList<>();
        index(index).forEach((entry, tests) -> {
            if (tests.startsWith(NONE)) {
                return;
            }
            StringBuilder all = new StringBuilder();
            for (MatchResult test : TEST.matcher(tests).results().toList()) {
                String source = sources.getOrDefault(test.group(1), "");
                if (!source.contains(" " + test.group(2) + "(")) {
                    problems.add("no test " + test.group() + " for: " + entry);
                }
                all.append(source.toLowerCase(Locale.ROOT));
            }
            for (String word : words.apply(entry)) {
                if (all.indexOf(word) < 0) {
                    problems.add(tests + " does not expect '" + word + "' of: " + entry);
                }
            }
        });
        return problems;
    }
}
