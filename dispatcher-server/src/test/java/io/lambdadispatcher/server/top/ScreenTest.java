package io.lambdadispatcher.server.top;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.server.top.Line.Style;
import io.lambdadispatcher.wire.event.Json;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ScreenTest {
    private static final Line STATUS = new Line("status", Style.TITLE);
    private static final String EVENT = """
            {"time": "2026-11-23T12:30:45.5Z",
             "functions": [
              {"name": "calm", "queued": 0, "workersReady": 3, "workersConnected": 4, "streams": 300, "streamsFree": 300,
               "requests": 0, "requestsFailed": 0, "history": []},
              {"name": "shop", "queued": 2, "waitReason": "max_workers",
               "waitDetail": "0 of 4 worker streams are free, and function.max-workers (2) is reached",
               "workersReady": 2, "workersConnected": 2, "workersDesired": 2, "workersStarting": 0, "workersDraining": 1,
               "workersEjected": 1, "launchesInLastMinute": 1, "launchesBlocked": "launching is paused by the kill switch", "streams": 4,
               "streamsFree": 0, "requests": 1200, "requestsFailed": 3, "gbSecondsLastHour": 9.5, "gbSeconds": 1234.5,
               "dollars": 0.0212, "dollarsIfDirect": 2.5, "history": [[1, 2, 3, 4, 5], [1200, 1, 2, 4, 2]]}],
             "fleet": {"alone": false, "leaseValid": true, "leaseAgeMillis": 640,
              "members": [{"id": "a", "alive": true}, {"id": "b", "alive": true}],
              "functions": [{"name": "shop"}]},
             "workers": [
              {"id": "well", "function": "shop", "state": "ready", "launched": true, "ageSeconds": 61, "connections": 1,
               "streams": 2, "busy": 1, "limit": 2, "completed": 50, "failed": 0},
              {"id": "gone", "function": "shop", "state": "draining", "launched": true, "ageSeconds": 3661,
               "connections": 1, "streams": 2, "busy": 1, "limit": 0, "completed": 9, "failed": 0},
              {"id": "0123456789abcdef", "function": "shop", "state": "ejected", "ejected": "5 failures in a row",
               "launched": true, "address": "10.0.0.1:5", "ageSeconds": 59, "secondsToDeadline": 700, "connections": 1,
               "streams": 2, "busy": 0, "limit": 2, "completed": 5, "failed": 5, "cpu": 0.5, "heap": 0.25,
               "loopLagMillis": 0.3}],
             "requests": [
              {"ageMillis": 61500, "function": "shop", "state": "sent", "worker": "well", "method": "GET",
               "path": "/a\\u001b[2Jb\\u202ec\\r\\nd\\u009b", "client": "10.0.0.9:7", "protocol": "http_2", "attempts": 1,
               "requestBytes": 0, "responseBytes": 1500, "unreadBytes": 2000000},
              {"ageMillis": 5, "function": "shop", "state": "queued", "method": "PUT", "path": "/wait",
               "protocol": "embedded", "attempts": 0, "requestBytes": 7, "responseBytes": 0, "unreadBytes": 0}],
             "launches": [
              {"time": "2026-11-23T12:30:01Z", "function": "shop", "worker": "w", "outcome": "failed", "detail": "exit 1",
               "seconds": 2}],
             "failures": [
              {"time": "2026-11-23T12:30:02Z", "reason": "no_function", "status": 404, "method": "GET", "path": "/x",
               "millis": 1},
              {"time": "2026-11-23T12:30:01Z", "function": "shop", "reason": "timeout", "status": 504, "worker": "well",
               "method": "GET", "path": "/y", "millis": 15000},
              {"time": "2026-11-23T12:30:00Z", "function": "shop", "reason": "timeout", "status": 504, "worker": "well",
               "method": "GET", "path": "/z", "millis": 15000}]}
            """;

    private static List<Line> draw(int columns, int rows, String event) {
        return new Screen(columns, rows)
                .draw(STATUS, new Members((Map<?, ?>) Json.read(event.getBytes(StandardCharsets.UTF_8))));
    }

    private static String text(List<Line> lines) {
        return String.join("\n", lines.stream().map(Line::text).toList());
    }

    @Test
    void should_show_everything_in_the_order_and_words_of_the_live_page() {
        assertThat(text(draw(160, 60, EVENT))).isEqualTo("""
                        status
                        Fleet: 2 of 2 dispatchers alive, lease renewed 0.6 s ago.

                        shop
                          2 requests wait for a worker: 0 of 4 worker streams are free, and function.max-workers (2) is reached (max_workers).
                          Workers: 2 ready, 2 desired, 0 starting, 1 draining, 1 ejected. 1 launch in the last minute. Launching is paused by the kill switch.
                          1,200 requests and 1 failure in the last second. 4 of 4 worker streams are busy.
                          Cost since the start: $0.021 for 1,234.5 GB-seconds of workers, of which 9.5 in the last hour. As direct invocations: $2.50 (0.01 times). Prices of x86 in
                          us-east-1.

                        calm
                          No request waits for a worker.
                          3 of 4 connected workers are ready. None is launched here.
                          0 requests and 0 failures in the last second. 0 of 300 worker streams are busy.

                        Workers 3
                        State                         Worker      Function        Age    Time left  Requests now  Done  Failed   CPU  Heap     Lag  Address
                        ejected: 5 failures in a row  01234567..  shop           59 s  11 min 40 s        0 of 2     5       5  50 %  25 %  0.3 ms  10.0.0.1:5
                        ready                         well        shop      1 min 1 s            -        1 of 2    50       0     -     -       -  -
                        draining                      gone        shop      1 h 1 min            -        1 of 0     9       0     -     -       -  -

                        Requests in progress 2
                              Age  State               Function  Request            Worker  Client      Protocol  Attempts  Received    Sent  Unread
                        1 min 2 s  worker has it       shop      GET /a?[2Jb?c??d?  well    10.0.0.9:7  http_2           1       0 B  1.5 KB  2.0 MB
                              0 s  waits for a worker  shop      PUT /wait          -       -           embedded         0       7 B     0 B     0 B

                        Recent failures 3 (timeout: 2, no_function: 1)
                        Time      Reason       Status  Function  Request  Worker  After
                        12:30:02  no_function     404  -         GET /x   -         0 s
                        12:30:01  timeout         504  shop      GET /y   well     15 s
                        12:30:00  timeout         504  shop      GET /z   well     15 s

                        Recent launches 1
                        Time      Outcome  Function  Worker  Life  Detail
                        12:30:01  failed   shop      w        2 s  exit 1""");
    }

    /** While many workers start, the sick ones must not come after them. */
    @Test
    void should_show_each_symptom_before_workers_that_start() {
        assertThat(text(draw(160, 40, """
                        {"functions": [], "workers": [
                          {"id": "w-starts", "state": "starting"},
                          {"id": "w-well", "state": "ready", "busy": 1, "completed": 9},
                          {"id": "w-lags", "state": "ready", "loopLagMillis": 900},
                          {"id": "w-fails", "state": "ready", "completed": 1000, "failed": 1},
                          {"id": "w-full", "state": "draining", "heap": 0.99},
                          {"id": "w-unready", "state": "unready"},
                          {"id": "w-ejected", "state": "ejected"}]}
                        """)))
                .containsSubsequence("w-ejected", "w-unready", "w-lags", "w-fails", "w-well", "w-starts")
                .containsSubsequence("w-unready", "w-full", "w-fails");
    }

    @Test
    void should_colour_what_needs_attention() {
        List<Line> lines = draw(160, 60, EVENT);

        assertThat(style(lines, "2 requests wait")).isEqualTo(Style.BAD);
        assertThat(style(lines, "Launching is paused")).isEqualTo(Style.WARN);
        assertThat(style(lines, "No request waits")).isEqualTo(Style.GOOD);
        assertThat(style(lines, "ejected: 5")).isEqualTo(Style.BAD);
        assertThat(style(lines, "PUT /wait")).isEqualTo(Style.WARN);
        assertThat(style(lines, "well        shop")).isEqualTo(Style.PLAIN);
    }

    @Test
    void should_say_in_one_line_what_is_wrong_with_the_fleet() {
        assertThat(draw(200, 20, "{\"fleet\": {\"alone\": true}}"))
                .noneMatch(line -> line.text().contains("Fleet"));
        assertThat(fleet(true, ""))
                .isEqualTo(new Line("Fleet: 1 of 2 dispatchers alive, lease renewed 12 s ago.", Style.WARN));
        assertThat(fleet(false, "{\"name\": \"shop\", \"conflict\": \"dispatcher b has other limits\"}"))
                .isEqualTo(new Line(
                        "Fleet: cut off from the ledger, lease renewed 12 s ago. No launches until it is renewed."
                                + " Limits differ: shop.",
                        Style.BAD));
    }

    private static Line fleet(boolean leaseValid, String functions) {
        return draw(200, 20, """
                        {"fleet": {"alone": false, "leaseValid": %s, "leaseAgeMillis": 12000, "functions": [%s],
                          "members": [{"id": "a", "alive": true}, {"id": "b", "alive": false}]}}
                        """.formatted(leaseValid, functions)).get(1);
    }

    private static Style style(List<Line> lines, String text) {
        return lines.stream()
                .filter(line -> line.text().contains(text))
                .findFirst()
                .orElseThrow()
                .style();
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "20, 5", "40, 12", "80, 24", "80, 8", "300, 100"})
    void should_fit_any_screen(int columns, int rows) {
        List<Line> lines = draw(columns, rows, EVENT);

        assertThat(lines)
                .hasSizeLessThanOrEqualTo(rows)
                .allSatisfy(line -> assertThat(line.text())
                        .hasSizeLessThanOrEqualTo(columns)
                        .matches("[ -~]*"));
    }

    @Test
    void should_give_each_table_a_part_of_a_small_screen() {
        assertThat(text(draw(160, 31, EVENT)))
                .contains("Workers 3, 2 shown", "Requests in progress 2, 1 shown", "Recent launches 1")
                .contains("ejected: 5 failures in a row", "12:30:02  no_function", "12:30:01  failed")
                .doesNotContain("PUT /wait", "12:30:01  timeout");
    }

    @Test
    void should_show_functions_that_fit_into_half_of_the_screen() {
        assertThat(text(draw(160, 20, EVENT)))
                .contains("shop\n", "1 more function\n")
                .doesNotContain("calm");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{}",
                "{\"functions\": 5, \"workers\": [1, null, []], \"requests\": [{}], \"failures\": [{\"time\": \"now\"}]}",
                "{\"functions\": [{\"history\": [[]], \"queued\": \"many\", \"dollars\": 1}], \"launches\": [{\"worker\": {}}]}"
            })
    void should_show_what_another_version_may_send(String event) {
        assertThat(text(draw(80, 30, event))).startsWith("status\n").contains("Workers ", "Recent launches");
    }
}
