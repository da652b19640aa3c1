package io.lambdadispatcher.server.log;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.server.config.LogFormat;
import java.io.File;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Runs a process, because Logback configures itself only once, at the start. */
@Timeout(60)
class LogConfiguratorTest {
    static final class Program {
        private static final Logger log = LoggerFactory.getLogger(Program.class);

        public static void main(String[] args) {
            Logging.setFormat(LogFormat.valueOf(args[0]));
            log.warn("two\nlines {}", "\"x\"", new IllegalStateException("broken"));
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

    private static List<String> run(Class<?> program, LogFormat format) throws Exception {
        String java = System.getProperty("java.home") + File.separator + "bin" + File.separator + "java";
        Process process = new ProcessBuilder(
                        java,
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        program.getName(),
                        format.name())
                .start();
        try (var lines = process.errorReader()) {
            List<String> printed = lines.lines().toList();
            process.waitFor(30, TimeUnit.SECONDS);
            return printed;
        }
    }

    @Test
    void should_write_the_date_with_the_zone() throws Exception {
        assertThat(run(LogFormat.TEXT).get(0))
                .matches(
                        "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}(Z|[+-]\\d\\d:\\d\\d) WARN  \\S*Program: two");
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
    void should_log_attempted_changes_at_any_level() throws Exception {
        assertThat(run(Quiet.class, LogFormat.TEXT)).singleElement().asString().endsWith(" INFO  audit: a change");
        assertThat(run(Quiet.class, LogFormat.JSON))
                .singleElement()
                .asString()
                .contains("\"loggerName\":\"audit\"", "\"formattedMessage\":\"a change\"");
    }
}
