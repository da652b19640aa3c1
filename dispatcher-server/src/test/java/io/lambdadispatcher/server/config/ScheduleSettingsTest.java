package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.server.config.Configuration.Reload;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The times of function.min-workers. */
class ScheduleSettingsTest {
    private static final Map<String, String> SECRET = Map.of("LAMBDA_DISPATCHER_WORKERS_SECRET", "0123456789abcdef");
    private static final String MORNING = "8 at 0 8 * * 1-5 for 2h in Europe/Berlin";

    @TempDir
    Path directory;

    private Configuration load(String... more) throws Exception {
        return ConfigurationLoader.load(Map.of(), write(more), SECRET, Map.of(), List.of());
    }

    private Path write(String... more) throws Exception {
        List<String> lines =
                List.of("function:", "  launcher: lambda", "  lambda: shop", "  max-workers: 20", "  " + more[0]);
        return Files.write(directory.resolve("dispatcher.yaml"), lines);
    }

    private List<String> problems(String line) throws Exception {
        Path file = write(line);
        return catchThrowableOfType(
                        ConfigurationException.class,
                        () -> ConfigurationLoader.load(Map.of(), file, SECRET, Map.of(), List.of()))
                .problems();
    }

    private static int at(CapacityPolicy policy, String time) {
        return policy.schedule().workers(Instant.parse(time), workers -> Duration.ZERO);
    }

    private static CapacityPolicy policy(Configuration configuration) {
        return configuration.functions().get(0).options().capacity();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "min-workers: 2; " + MORNING + "; 20 at 0 9 * * 1 for 1h in UTC",
                "min-workers: [2, " + MORNING + ", 20 at 0 9 * * 1 for 1h in UTC]"
            })
    void should_have_a_minimum_for_certain_times(String line) throws Exception {
        CapacityPolicy policy = policy(load(line));

        assertThat(policy.minWorkers()).isEqualTo(2);
        assertThat(at(policy, "2026-03-02T06:59:59Z")).isZero();
        assertThat(at(policy, "2026-03-02T07:00:00Z")).isEqualTo(8);
        assertThat(at(policy, "2026-03-02T09:00:00Z")).isEqualTo(20);
    }

    @Test
    void should_refuse_an_age_at_which_workers_have_hardly_started() throws Exception {
        assertThat(problems("max-worker-age: 20s"))
                .hasSize(1)
                .allMatch(each -> each.contains("off, or a duration of at least 30s"));
        assertThat(policy(load("max-worker-age: 30s")).maxWorkerAge()).isEqualTo(Duration.ofSeconds(30));
    }

    @Test
    void should_have_no_such_times_by_default() throws Exception {
        assertThat(policy(load("min-workers: 2")).schedule().isEmpty()).isTrue();
    }

    @Test
    void should_change_with_a_reload() throws Exception {
        Configuration before = load("min-workers: 2");
        Configuration after = load("min-workers: 2; " + MORNING);

        Reload reload = after.reload(before, before);
        assertThat(reload.restarts()).isEmpty();
        assertThat(reload.changes()).containsExactly("function.min-workers: 2 -> 2; " + MORNING);
        assertThat(at(policy(reload.next()), "2026-03-02T07:00:00Z")).isEqualTo(8);
        Configuration same = load("min-workers: 2; " + MORNING);
        assertThat(same.reload(after, after).changes()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "many",
                MORNING,
                "2 " + MORNING,
                "2; 8 at 0 8 * * 1-5 for 2h",
                "2; 8 at 0 25 * * 1-5 for 2h in UTC",
                "2; 8 at 0 8 * * 1-5 for 2h in Nowhere",
                "2;; " + MORNING
            })
    void should_say_what_a_value_must_look_like(String value) throws Exception {
        assertThat(problems("min-workers: " + value))
                .singleElement()
                .asString()
                .startsWith(
                        "function.min-workers: expected a whole number from 0 to 100000, and optionally, each after a"
                                + " semicolon, a number of workers, at, the five fields of cron for the start, for, a duration"
                                + " from 1m to 7d, in, and a time zone, such as 20 at 0 8 * * 1-5 for 2h in Europe/Berlin, got")
                .contains(value);
    }

    @Test
    void should_not_exceed_the_maximum() throws Exception {
        assertThat(problems("min-workers: 2; 21 at 0 8 * * 1-5 for 2h in UTC"))
                .singleElement()
                .asString()
                .startsWith("function.max-workers: expected at least function.min-workers, got \"20\"");
    }
}
