package io.lambdadispatcher.server.log;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.server.config.LogFormat;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.HostileText;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Runs a process, because Logback configures itself only once, at the start. */
@EachRelease
@Timeout(60)
class LogConfiguratorTest {
    static final class Program {
        private static final Logger log = LoggerFactory.getLogger(Program.class);

        public static void main(String[] args) {
            Logging.setFormat(LogFormat.valueOf(args[0]));
            log.warn("two\nlines {}", "\"x\"", new IllegalStateException("broken"));
        }
    }

    /** Logs an event, then hostile texts everywhere. */
    static final class Hostile {
        static final int EVENTS = 500;

        public static void main(String[] args) {
            Logging.setFormat(LogFormat.valueOf(args[0]));
            LoggerFactory.getLogger("audit").info("a change");
            texts().forEach(text -> {
                Thread.currentThread().setName(text);
                LoggerFactory.getLogger("x." + text.replaceAll("[.$\"\\\\]", ""))
                        .atInfo()
                        .addKeyValue(text, text)
                        .setCause(thrown(text))
                        .log("{}", text);
            });
        }

        static List<String> texts() {
            Random random = new Random(3);
            return Stream.concat(
                            Stream.of(HostileText.ALL_KINDS, "\n2026-11-24T10:12:07.181Z INFO  audit: a change"),
                            Stream.generate(() -> HostileText.random(random)))
                    .limit(EVENTS)
                    .toList();
        }

        private static Throwable thrown(String text) {
            Exception thrown = new IllegalStateException(text, new IOException(text, new Exception()));
            thrown.addSuppressed(new Exception(text));
            return thrown;
        }
    }

    static final class Quiet {
        public static void main(String[] args) {
            Logging.setFormat(LogFormat.valueOf(args[0]));
            Logging.setLevel(org.slf4j.event.Level.ERROR);
            LoggerFactory.getLogger(Quiet.class).warn("something");
            LoggerFactory.getLogger("audit").info("a change");
        }
    }

    private static List<String> run(LogFormat format) throws Exception {
        return run(Program.class, format);
    }

    /** Splits at LF only, so that other line separators stay visible. */
    private static List<String> hostile(LogFormat format) throws Exception {
        List<String> lines = List.of(printed(Hostile.class, format).split("\n"));
        assertThat(lines).allMatch(line -> HostileText.isPrintable(line.replaceFirst("^\t+", "")));
        return lines;
    }

    private static List<String> run(Class<?> program, LogFormat format) throws Exception {
        return printed(program, format).lines().toList();
    }

    private static String printed(Class<?> program, LogFormat format) throws Exception {
        String java = System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
        Process process = new ProcessBuilder(
                        java,
                        "-XX:TieredStopAtLevel=1",
                        "-Dfile.encoding=UTF-8",
                        "-cp",
                        System.getProperty("java.class.path"),
                        program.getName(),
                        format.name())
                .start();
        byte[] printed = process.getErrorStream().readAllBytes();
        process.waitFor(30, TimeUnit.SECONDS);
        return new String(printed, StandardCharsets.UTF_8);
    }

    @Test
    void should_write_the_date_with_the_zone() throws Exception {
        assertThat(run(LogFormat.TEXT).get(0))
                .matches(
                        "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}(Z|[+-]\\d\\d:\\d\\d) WARN  \\S*Program: two"
                                + "\\\\u000alines \"x\"");
    }

    @Test
    void should_write_one_json_object_in_one_line() throws Exception {
        List<String> lines = run(LogFormat.JSON);

        assertThat(lines).hasSize(1);
        JsonNode event = JsonMapper.shared().readTree(lines.get(0));
        assertThat(event.get("level").stringValue()).isEqualTo("WARN");
        assertThat(event.get("formattedMessage").stringValue()).isEqualTo("two\nlines \"x\"");
        assertThat(event.get("throwable").get("message").stringValue()).isEqualTo("broken");
        assertThat(event.get("timestamp").longValue()).isPositive();
    }

    @Test
    void should_let_no_text_add_a_line_or_control_a_terminal() throws Exception {
        List<String> lines = hostile(LogFormat.TEXT);

        assertThat(lines)
                .filteredOn(line -> line.matches("\\d{4}-\\d\\d-\\d\\dT\\S+ INFO  .*"))
                .hasSize(1 + Hostile.EVENTS);
        assertThat(lines)
                .filteredOn(line -> line.matches("\\S+ INFO  audit: .*"))
                .hasSize(1);
        assertThat(lines)
                .filteredOn(line -> !line.matches("\\d{4}-.*"))
                .allMatch(line -> line.matches("(java\\.lang\\.|\\t*(at|Caused by:|Suppressed:|\\.\\.\\.) ).*"));
        assertThat((lines.size() - 1) % Hostile.EVENTS)
                .as("each event has as many lines as the others")
                .isZero();
    }

    @Test
    void should_let_no_text_add_a_json_object() throws Exception {
        List<JsonNode> events = hostile(LogFormat.JSON).stream()
                .map(JsonMapper.shared()::readTree)
                .toList();

        assertThat(events)
                .filteredOn(event -> event.get("loggerName").stringValue().equals("audit"))
                .hasSize(1);
        // Half a pair of surrogates is no text in JSON.
        List<String> texts = Hostile.texts().stream()
                .map(text -> text.replaceAll("\\p{Cs}", "\ufffd"))
                .toList();
        assertThat(events.subList(1, events.size()))
                .allMatch(event -> event.get("formattedMessage")
                        .equals(event.get("throwable").get("message")))
                .extracting(event -> event.get("formattedMessage").stringValue())
                .isEqualTo(texts);
    }

    @Test
    void should_log_attempted_changes_at_any_level() throws Exception {
        assertThat(run(Quiet.class, LogFormat.TEXT)).singleElement().asString().endsWith(" INFO  audit: a change");
        assertThat(run(Quiet.class, LogFormat.JSON))
                .singleElement()
                .asString()
                .contains("\"loggerName\":\"audit\"", "\"formattedMessage\":\"a change\"");
    }
}
