package io.lambdadispatcher.server.status;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.event.Json;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StatusTextTest {
    private static final String ATTENTION = """
            {"functions": [
              {"name": "calm", "queued": 0, "workersReady": 3, "workersConnected": 4, "streams": 300, "streamsFree": 300,
               "history": []},
              {"name": "shop", "queued": 2, "waitReason": "max_workers",
               "waitDetail": "0 of 4 worker streams are free, and function.max-workers (2) is reached",
               "workersReady": 2, "workersConnected": 2, "workersDesired": 2, "workersStarting": 0, "workersDraining": 1,
               "workersEjected": 1, "launchesInLastMinute": 1, "launchesBlocked": "launching is paused by the kill switch",
               "rollout": {"state": "stopped", "version": "41", "newVersion": "42", "reason": "3 workers of 42 have failed"},
               "breakers": [{"name": "default", "passingPercent": 20, "reason": "60 % of 120 requests failed"},
                            {"name": "example.org/", "passingPercent": 100}],
               "streams": 4, "streamsFree": 0, "gbSecondsLastHour": 9.5, "gbSeconds": 1234.5,
               "dollars": 0.0212, "dollarsIfDirect": 2.5, "history": [[1, 2, 3, 4, 5], [1200, 1, 2, 4, 2]]}],
             "fleet": {"alone": false, "leaseValid": false, "leaseAgeMillis": 12000,
              "members": [{"id": "a", "alive": true}, {"id": "b", "alive": false}],
              "functions": [{"name": "shop", "launching": true, "workers": 1, "workersMax": 3, "launchesInLastMinute": 1,
                "launchesPerMinute": 60, "gbSecondsLastHour": 12, "gbSecondsPerHour": 36000,
                "conflict": "dispatcher b has other limits: function.max-workers=4, not function.max-workers=3"}]},
             "workers": [
              {"id": "well", "function": "shop", "state": "ready", "ageSeconds": 61, "busy": 1, "limit": 2, "completed": 50,
               "failed": 0},
              {"id": "gone", "function": "shop", "state": "draining", "ageSeconds": 3661, "busy": 1, "limit": 0,
               "completed": 9, "failed": 0},
              {"id": "late", "function": "shop", "state": "ready", "ageSeconds": 5, "busy": 0, "limit": 2, "completed": 0,
               "failed": 0, "heap": 0.99, "loopLagMillis": 900},
              {"id": "0f6f2a1c-2d0e-4b42-9a8e-6a3f1f0a7c11", "function": "shop", "version": "41", "state": "ejected",
               "ejected": "5 failures in a row", "address": "10.0.0.1:5", "ageSeconds": 59, "secondsToDeadline": 700,
               "busy": 0, "limit": 2, "completed": 5, "failed": 5, "cpu": 0.5, "heap": 0.25, "loopLagMillis": 0.3}],
             "requests": [
              {"ageMillis": 61500, "function": "shop", "state": "sent", "worker": "well", "method": "GET",
               "path": "/a\\u001b[2Jb\\u202ec\\r\\nd\\u009b\\u00fc", "client": "10.0.0.9:7", "protocol": "http_2",
               "attempts": 1, "requestBytes": 0, "responseBytes": 1500, "unreadBytes": 2000000},
              {"ageMillis": 5, "function": "shop", "state": "queued", "method": "PUT", "path": "/wait",
               "protocol": "embedded", "attempts": 0, "requestBytes": 7, "responseBytes": 0, "unreadBytes": 0}],
             "launches": [
              {"time": "2026-11-23T12:30:01Z", "function": "shop", "worker": "w", "outcome": "failed", "detail": "exit 1",
               "seconds": 2}],
             "failures": [
              {"time": "2026-11-23T12:30:02Z", "reason": "no_function", "status": 404, "method": "GET", "path": "/x",
               "millis": 1},
              {"time": "2026-11-23T12:30:00Z", "function": "shop", "reason": "timeout", "status": 504, "worker": "well",
               "method": "GET", "path": "/z", "millis": 15000}]}
            """;

    private static String text(String documents, int width, int maxRows, String... problems) {
        Members all = new Members((Map<?, ?>) Json.read(documents.getBytes(StandardCharsets.UTF_8)));
        return StatusText.of("title", all, List.of(problems), width, maxRows);
    }

    private static String text(String documents) {
        return text(documents, 140, Integer.MAX_VALUE);
    }

    /** A dispatcher with two local workers has answered so while requests waited and failed. */
    @ParameterizedTest
    @ValueSource(ints = {80, 140})
    void should_print_what_a_dispatcher_has_answered(int width) throws IOException {
        Path golden = Path.of("src/test/resources/io/lambdadispatcher/server/status/status-" + width + ".txt");
        String recorded;
        try (InputStream file = StatusTextTest.class.getResourceAsStream("api.json")) {
            recorded = new String(file.readAllBytes(), StandardCharsets.UTF_8);
        }

        String text = text(recorded, width, Integer.MAX_VALUE);

        if (Boolean.getBoolean("golden.update")) {
            Files.writeString(golden, text);
        }
        assertThat(text).as("%s; -Dgolden.update=true writes it again", golden).isEqualTo(Files.readString(golden));
    }

    @Test
    void should_say_first_what_needs_attention() {
        assertThat(text(ATTENTION, 80, 20, "/api/launches: not known.")).startsWith("""
                        title
                        Fleet: 1/2 dispatchers alive, lease renewed 12s ago

                        WARNING
                        /api/launches: not known.
                        fleet: cut off from the ledger. No launches until the lease is renewed.
                        shop: limits differ: dispatcher b has other limits: function.max-workers=4, not
                        function.max-workers=3
                        shop: queued requests: 2, max_workers: 0 of 4 worker streams are free, and
                        function.max-workers (2) is reached
                        shop: launching is paused by the kill switch
                        shop: rollout stopped: 3 workers of 42 have failed
                        shop: breaker default lets 20% of the requests pass: 60 % of 120 requests failed
                        0f6f2a1c-2d0e-4b42-9a8e-6a3f1f0a7c11: ejected: 5 failures in a row
                        late: event loop late by 900ms
                        late: 99% of the heap in use

                        FUNCTION  QUEUED""");
    }

    /** What an operator looks at first fits in 100 columns, even for a busy function. */
    @Test
    void should_show_errors_and_latencies_of_each_function_in_100_columns() {
        String function = """
                {"name": "%s", "queued": 120, "streams": 400, "streamsFree": 0, "workersReady": 40, "workersDesired": 40,
                 "workersStarting": 12, "workersDraining": 3, "workersEjected": 1,
                 "history": [[1, 1, 1, 1, 1, 1, 1, 1], [1200, 31, 120, 400, 40, 0, 5, 27]], "latencies": [%s]}
                """;
        String busy = function.formatted("shop", "[1, 1, 1, 1, 1, 1], [2, 3, 9000, 24000, 9830, 1048576]");
        String quick = function.formatted("api", "[-1, -1, 180, 24000, 180, 24575]");
        String idle = function.formatted("idle", "[-1, -1, -1, -1, -1, -1]");

        assertThat(text("{\"functions\": [" + busy + ", " + quick + ", " + idle + "]}", 100, 20))
                .contains("""
                FUNCTION  QUEUED  REQ/S  FAIL/S  5XX/S    P50   P99     BUSY  READY  STARTING  DRAINING  EJECTED
                shop         120  1,200      31     27  9.8ms    1s  400/400  40/40        12         3        1
                api          120  1,200      31     27  0.2ms  25ms  400/400  40/40        12         3        1
                idle         120  1,200      31     27      -     -  400/400  40/40        12         3        1
                """);
    }

    /** The base is not desired by the traffic, so it hides no launched worker that is missing. */
    @Test
    void should_compare_launched_workers_with_those_that_are_desired() {
        assertThat(text("""
                {"functions": [{"name": "shop", "queued": 0, "streams": 50, "streamsFree": 0, "workersReady": 5,
                  "workersReadyBase": 3, "workersConnected": 5, "workersDesired": 4}]}
                """, 80, 20)).containsPattern("shop .* 50/50 +2/4\n");
    }

    @Test
    void should_show_the_whole_ids_of_workers_that_commands_need() {
        assertThat(text(ATTENTION, 80, 20)).contains("""
                WORKER                                STATE     BUSY  FAILED  DONE  FUNCTION
                0f6f2a1c-2d0e-4b42-9a8e-6a3f1f0a7c11  ejected    0/2       5     5  shop
                late                                  ready      0/2       0     0  shop
                well                                  ready      1/2       0    50  shop
                gone                                  draining   1/0       0     9  shop
                """);
    }

    @Test
    void should_show_what_is_important_beside_a_long_name() {
        String name = "a-name-of-hundreds-of-characters".repeat(8);

        assertThat(text("{\"functions\": [{\"name\": \"" + name + "\", \"queued\": 7}]}", 80, 20))
                .contains("\n" + name.substring(0, 38) + "..       7  ");
    }

    @Test
    void should_show_what_the_dispatchers_of_a_fleet_share() {
        assertThat(text(ATTENTION)).contains("""
                FLEET-LIMITS  WORKERS  LAUNCHES/MIN  GB-S/HOUR  LAUNCHING
                shop              1/3          1/60  12/36,000         on
                """);
        assertThat(text("{\"fleet\": {\"alone\": true}}")).doesNotContainIgnoringCase("fleet");
    }

    /** While many workers start, the sick ones must not come after them. */
    @Test
    void should_show_each_symptom_before_workers_that_start() {
        assertThat(text("""
                        {"functions": [], "workers": [
                          {"id": "w-starts", "state": "starting"},
                          {"id": "w-well", "state": "ready", "busy": 1, "completed": 9},
                          {"id": "w-lags", "state": "ready", "loopLagMillis": 900},
                          {"id": "w-fails", "state": "ready", "completed": 1000, "failed": 1},
                          {"id": "w-full", "state": "draining", "heap": 0.99},
                          {"id": "w-unready", "state": "unready"},
                          {"id": "w-ejected", "state": "ejected"}]}
                        """).split("\nWORKER ")[1])
                .containsSubsequence("w-ejected", "w-unready", "w-lags", "w-fails", "w-well", "w-starts")
                .containsSubsequence("w-unready", "w-full", "w-fails");
    }

    @Test
    void should_print_texts_from_the_wire_escaped() {
        assertThat(text(ATTENTION)).contains("GET /a\\u001b[2Jb\\u202ec\\u000d\\u000ad\\u009b\\u00fc  ");
    }

    @Test
    void should_say_how_many_rows_are_not_shown() {
        List<Map<String, Object>> rows = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            rows.add(Map.of("id", "row-" + i, "ejected", "sick", "reason", "timeout", "outcome", "running"));
        }
        Map<String, Object> all = new LinkedHashMap<>();
        List.of("functions", "workers", "requests", "failures", "launches").forEach(name -> all.put(name, rows));

        assertThat(StatusText.of("", new Members(all), List.of(), 80, 4).lines())
                .hasSize(1 + 6 * (1 + 1 + 4 + 1))
                .filteredOn(".. 26 more"::equals)
                .hasSize(6);
        assertThat(StatusText.of("", new Members(all), List.of(), 80, Integer.MAX_VALUE)
                        .lines())
                .as("the latest 20, and all functions, workers and warnings")
                .hasSize(1 + 3 * (1 + 1 + 30) + 3 * (1 + 1 + 20 + 1))
                .filteredOn(".. 10 more"::equals)
                .hasSize(3);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{}",
                "{\"functions\": 5, \"workers\": [1, null, []], \"requests\": [{}], \"failures\": [{\"time\": \"now\"}]}",
                "{\"functions\": [{\"history\": [[]], \"queued\": \"many\", \"dollars\": 1}], \"launches\": [{\"worker\": {}}]}"
            })
    void should_print_what_another_version_may_send(String documents) {
        assertThat(text(documents)).startsWith("title\n");
    }

    /** Documents with all members, whose texts are anything. Widths are those of any terminal. */
    @Test
    void should_fit_any_width_and_control_no_terminal() {
        for (int seed = 0; seed < 3000; seed++) {
            Random random = new Random(seed);
            int width = 20 + random.nextInt(200);
            Members all = new Members((Map<?, ?>)
                    mutated(Json.read(ATTENTION.getBytes(StandardCharsets.UTF_8)), random, 1 + random.nextInt(30)));

            String text = StatusText.of(
                    "title " + anything(random), all, List.of(anything(random)), width, 1 + random.nextInt(9));

            assertThat(text.lines())
                    .as("seed %d", seed)
                    .allSatisfy(line -> assertThat(line).matches("[ -~]*").hasSizeLessThanOrEqualTo(width))
                    .noneMatch(line -> line.endsWith(" "));
        }
    }

    private static Object mutated(Object value, Random random, int oneIn) {
        if (value instanceof Map<?, ?> map) {
            Map<Object, Object> copy = new LinkedHashMap<>();
            map.forEach((name, member) -> copy.put(name, mutated(member, random, oneIn)));
            return copy;
        }
        if (value instanceof List<?> list) {
            return list.stream().map(each -> mutated(each, random, oneIn)).toList();
        }
        if (random.nextInt(oneIn) > 0) {
            return value;
        }
        return value instanceof String
                ? anything(random)
                : (Object) (random.nextBoolean() ? random.nextLong() : random.nextDouble() * 1e6);
    }

    private static String anything(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(random.nextBoolean() ? 12 : 300); i > 0; i--) {
            text.appendCodePoint(
                    switch (random.nextInt(4)) {
                        case 0 -> random.nextInt(0x20);
                        case 1 -> random.nextInt(Character.MAX_CODE_POINT + 1);
                        default -> ' ' + random.nextInt(0x5F);
                    });
        }
        return text.toString();
    }
}
