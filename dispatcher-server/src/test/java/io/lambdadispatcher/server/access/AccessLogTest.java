package io.lambdadispatcher.server.access;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver.ExchangeEnd;
import io.lambdadispatcher.core.observe.DispatcherObserver.Outcome;
import io.lambdadispatcher.server.log.Logging;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class AccessLogTest {
    private static final long TIME = Instant.parse("2026-11-21T10:15:30.123Z").toEpochMilli();

    private static ExchangeEnd end(String path) {
        return new ExchangeEnd("api", "w-1", "GET", path, 200, Outcome.COMPLETED, null, 0, 4, 3_000, 412_000, 1);
    }

    private static ExchangeEnd failed() {
        return new ExchangeEnd(null, null, "GET", "/", 404, Outcome.FAILED, "NO_FUNCTION", 0, 0, 0, 5_000, 0);
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
    void should_write_everything_that_waits_before_it_is_closed(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("access.log");
        Logging.sendLinesTo(AccessLog.LOGGER, file);
        AccessLog accessLog = new AccessLog(1024);
        for (int i = 0; i < 500; i++) {
            accessLog.onExchangeEnd(end("/" + i));
        }
        accessLog.close();

        List<String> lines = Files.readAllLines(file);
        assertThat(lines).hasSize(500);
        assertThat(lines.get(499)).contains("\"path\":\"/499\"");
        assertThat(accessLog.dropped()).isZero();
    }

    @Test
    void should_count_what_it_drops(@TempDir Path directory) {
        Logging.sendLinesTo(AccessLog.LOGGER, directory.resolve("access.log"));
        AccessLog accessLog = new AccessLog(1);
        accessLog.close();

        accessLog.onExchangeEnd(end("/late"));

        assertThat(accessLog.dropped()).isEqualTo(1);
    }
}
