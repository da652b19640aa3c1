package io.lambdadispatcher.core.observe;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class AccessLogTest {
    private static final long TIME = Instant.parse("2026-11-21T10:15:30.123Z").toEpochMilli();

    private record Ended(
            @Nullable String function,
            @Nullable String workerId,
            String method,
            String path,
            int status,
            Outcome outcome,
            @Nullable String failure,
            long requestBytes,
            long responseBytes,
            long queueNanos,
            long totalNanos,
            int attempts)
            implements ExchangeEnd {}

    private static ExchangeEnd end(String path) {
        return new Ended("api", "w-1", "GET", path, 200, Outcome.COMPLETED, null, 0, 4, 3_000, 412_000, 1);
    }

    private static ExchangeEnd failed() {
        return new Ended(null, null, "GET", "/", 404, Outcome.FAILED, "NO_FUNCTION", 0, 0, 0, 5_000, 0);
    }

    @Test
    void should_write_one_json_object() {
        assertThat(AccessLine.of(end("/ping?x=1"), TIME))
                .isEqualTo("{\"time\":\"2026-11-21T10:15:30.123Z\",\"function\":\"api\",\"worker\":\"w-1\","
                        + "\"method\":\"GET\",\"path\":\"/ping?x=1\",\"status\":200,\"outcome\":\"completed\","
                        + "\"request_bytes\":0,\"response_bytes\":4,\"queue_us\":3,\"total_us\":412,\"attempts\":1}");
    }

    @Test
    void should_leave_out_what_is_not_there() {
        assertThat(AccessLine.of(failed(), TIME))
                .contains("\"failure\":\"NO_FUNCTION\"")
                .doesNotContain("function")
                .doesNotContain("worker");
    }

    @Test
    void should_write_nothing_but_printable_ascii_whatever_the_client_sends() {
        String hostile = "/\"}\n{\"path\":\"\r\0\t\u001b[31m\\\u007f\u0085\u2028\u00e4\ud83d\ude00\ud83d";

        String line = AccessLine.of(end(hostile), TIME);

        assertThat(line).matches("[ -~]+");
        JsonNode parsed = JsonMapper.shared().readTree(line);
        assertThat(parsed.get("path").stringValue()).isEqualTo(hostile);
        assertThat(parsed.size()).isEqualTo(12);
    }

    @Test
    void should_cut_endless_paths() {
        String line = AccessLine.of(end("/" + "a".repeat(100_000)), TIME);

        assertThat(line.length()).isLessThan(AccessLine.MAX_TEXT_CHARS + 400);
        assertThat(JsonMapper.shared().readTree(line).get("path").stringValue()).endsWith("aaa...");
    }

    @Test
    void should_write_everything_that_waits_before_it_is_closed() {
        Logger logger = (Logger) LoggerFactory.getLogger(AccessLog.LOGGER);
        ListAppender<ILoggingEvent> lines = new ListAppender<>();
        lines.start();
        logger.addAppender(lines);
        logger.setLevel(Level.INFO);
        logger.setAdditive(false);
        AccessLog accessLog = new AccessLog(1024);
        for (int i = 0; i < 500; i++) {
            accessLog.onExchangeStart(null).accept(end("/" + i));
        }
        accessLog.close();
        logger.detachAppender(lines);

        assertThat(lines.list).hasSize(500);
        assertThat(lines.list.get(499).getFormattedMessage()).contains("\"path\":\"/499\"");
        assertThat(accessLog.dropped()).isZero();
    }

    @Test
    void should_count_what_it_drops() {
        AccessLog accessLog = new AccessLog(1);
        accessLog.close();

        accessLog.onExchangeStart(null).accept(end("/late"));

        assertThat(accessLog.dropped()).isEqualTo(1);
    }
}
