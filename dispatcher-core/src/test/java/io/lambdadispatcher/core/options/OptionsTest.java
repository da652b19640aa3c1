package io.lambdadispatcher.core.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.Dispatcher;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class OptionsTest {
    private static final Duration NEGATIVE = Duration.ofSeconds(-1);

    @Test
    void should_build_what_was_set() {
        CapacityPolicy capacity = CapacityPolicy.builder()
                .workers(2, 10)
                .minSpareWorkers(3)
                .targetUtilization(0.5)
                .idleTimeout(Duration.ofMinutes(1))
                .scaleDownDelay(Duration.ofMinutes(2))
                .prewarmedEnvironments(4)
                .maxWorkerAge(Duration.ofMinutes(3))
                .build();
        LaunchLimits launching = LaunchLimits.builder()
                .launchesPerMinute(5)
                .gbSecondsPerHour(6.5)
                .workerMegabytes(7)
                .launchTimeout(Duration.ofSeconds(8))
                .build();
        FunctionOptions function = FunctionOptions.builder("orders")
                .capacity(capacity)
                .launching(launching)
                .connectionsPerWorker(9)
                .streamsPerConnection(10)
                .queue(11, Duration.ofSeconds(12))
                .workerTimeout(Duration.ofSeconds(13))
                .build();

        assertThat(List.of(
                        capacity.minWorkers(),
                        capacity.maxWorkers(),
                        capacity.minSpareWorkers(),
                        capacity.targetUtilization(),
                        capacity.idleTimeout(),
                        capacity.scaleDownDelay(),
                        capacity.prewarmedEnvironments(),
                        capacity.maxWorkerAge()))
                .containsExactly(2, 10, 3, 0.5, Duration.ofMinutes(1), Duration.ofMinutes(2), 4, Duration.ofMinutes(3));
        assertThat(List.of(
                        launching.launchesPerMinute(),
                        launching.gbSecondsPerHour(),
                        launching.workerMegabytes(),
                        launching.launchTimeout()))
                .containsExactly(5, 6.5, 7, Duration.ofSeconds(8));
        assertThat(List.of(
                        function.name(),
                        function.capacity(),
                        function.launching(),
                        function.connectionsPerWorker(),
                        function.streamsPerConnection(),
                        function.streamsPerWorker(),
                        function.queueLimit(),
                        function.queueTimeout(),
                        function.workerTimeout()))
                .containsExactly(
                        "orders", capacity, launching, 9, 10, 90, 11, Duration.ofSeconds(12), Duration.ofSeconds(13));
    }

    @Test
    void should_build_the_limits_that_were_set() {
        HttpLimits limits = HttpLimits.builder()
                .maxHeaderBytes(2000)
                .maxHeaders(20)
                .maxRequestLineBytes(300)
                .maxConcurrentStreams(4)
                .streamWindowBytes(70_000)
                .headerTimeout(Duration.ofSeconds(5))
                .idleTimeout(Duration.ofSeconds(6))
                .writeTimeout(Duration.ofSeconds(7))
                .bodyTimeout(Duration.ofSeconds(8))
                .minDataRate(9)
                .maxResetsPerWindow(8)
                .build();
        DirectOptions direct = DirectOptions.builder(DirectEventFormat.ALB)
                .maxBodyBytes(1)
                .maxEventBytes(2048)
                .maxResponseBytes(4096)
                .maxConcurrentInvocations(2)
                .spilloverAfter(Duration.ofSeconds(3))
                .build();

        assertThat(List.of(
                        limits.maxHeaderBytes(),
                        limits.maxHeaders(),
                        limits.maxRequestLineBytes(),
                        limits.maxConcurrentStreams(),
                        limits.streamWindowBytes(),
                        limits.headerTimeout(),
                        limits.idleTimeout(),
                        limits.writeTimeout(),
                        limits.bodyTimeout(),
                        limits.minDataRate(),
                        limits.maxResetsPerWindow()))
                .containsExactly(
                        2000,
                        20,
                        300,
                        4,
                        70_000,
                        Duration.ofSeconds(5),
                        Duration.ofSeconds(6),
                        Duration.ofSeconds(7),
                        Duration.ofSeconds(8),
                        9,
                        8);
        assertThat(List.of(
                        direct.format(),
                        direct.maxBodyBytes(),
                        direct.maxEventBytes(),
                        direct.maxResponseBytes(),
                        direct.maxConcurrentInvocations()))
                .containsExactly(DirectEventFormat.ALB, 1, 2048, 4096, 2);
        assertThat(direct.spilloverAfter()).isEqualTo(Duration.ofSeconds(3));
    }

    @Test
    void should_have_the_limits_that_aws_has_for_the_shape() {
        assertThat(DirectOptions.of(DirectEventFormat.ALB).maxBodyBytes()).isEqualTo(1 << 20);
        assertThat(DirectOptions.of(DirectEventFormat.ALB).maxResponseBytes()).isEqualTo(1 << 20);
        assertThat(DirectOptions.of(DirectEventFormat.HTTP_API_V2).maxBodyBytes())
                .isEqualTo(6 << 20);
        assertThat(DirectOptions.of(DirectEventFormat.HTTP_API_V2).spilloverAfter())
                .isNull();
    }

    @ParameterizedTest
    @MethodSource
    void should_say_what_was_expected(String message, Supplier<Object> build) {
        assertThatThrownBy(build::get)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    static Stream<Arguments> should_say_what_was_expected() {
        return Stream.of(
                refused(
                        "maxWorkers: 3, expected minWorkers (5) to 100,000",
                        () -> CapacityPolicy.builder().workers(5, 3).build()),
                refused(
                        "minWorkers: -1, expected 0 to 100,000",
                        () -> CapacityPolicy.builder().workers(-1, 3).build()),
                refused(
                        "maxWorkers: 100,001, expected minWorkers (0) to 100,000",
                        () -> CapacityPolicy.between(0, 100_001)),
                refused(
                        "targetUtilization: 1.5, expected 0.1 to 1",
                        () -> CapacityPolicy.builder().targetUtilization(1.5).build()),
                refused(
                        "targetUtilization: NaN, expected 0.1 to 1",
                        () -> CapacityPolicy.builder()
                                .targetUtilization(Double.NaN)
                                .build()),
                refused(
                        "idleTimeout: PT-1S, expected 0 to 366 days",
                        () -> CapacityPolicy.builder().idleTimeout(NEGATIVE).build()),
                refused(
                        "prewarmedEnvironments: 1,001, expected 0 to 1,000",
                        () -> CapacityPolicy.builder()
                                .prewarmedEnvironments(1001)
                                .build()),
                refused(
                        "launchesPerMinute: 0, expected 1 or more",
                        () -> LaunchLimits.builder().launchesPerMinute(0).build()),
                refused(
                        "gbSecondsPerHour: -0.5, expected 0 or more",
                        () -> LaunchLimits.builder().gbSecondsPerHour(-0.5).build()),
                refused(
                        "launchTimeout: PT0S, expected more than 0, at most 366 days",
                        () -> LaunchLimits.builder()
                                .launchTimeout(Duration.ZERO)
                                .build()),
                refused("name: 0 characters, expected 1 to 256 characters", () -> FunctionOptions.of("")),
                refused(
                        "connectionsPerWorker: 65, expected 1 to 64",
                        () -> FunctionOptions.builder("f")
                                .connectionsPerWorker(65)
                                .build()),
                refused(
                        "queueLimit: -1, expected 0 or more",
                        () -> FunctionOptions.builder("f")
                                .queue(-1, Duration.ZERO)
                                .build()),
                refused(
                        "maxEventBytes: 1,000, expected 1,024 or more",
                        () -> DirectOptions.builder(DirectEventFormat.ALB)
                                .maxEventBytes(1000)
                                .build()),
                refused(
                        "spilloverAfter: PT0.009S, expected 10 ms to 366 days",
                        () -> DirectOptions.builder(DirectEventFormat.ALB)
                                .spilloverAfter(Duration.ofMillis(9))
                                .build()),
                refused(
                        "maxHeaderBytes: 131,073, expected 1,024 to 131,072",
                        () -> HttpLimits.builder().maxHeaderBytes(131_073).build()),
                refused(
                        "maxHeaders: 7, expected 8 to 1,000",
                        () -> HttpLimits.builder().maxHeaders(7).build()),
                refused(
                        "streamWindowBytes: 65,535, expected 65,536 to 67,108,864",
                        () -> HttpLimits.builder().streamWindowBytes(65_535).build()),
                refused(
                        "headerTimeout: PT0S, expected more than 0, at most 366 days",
                        () -> HttpLimits.builder().headerTimeout(Duration.ZERO).build()),
                refused(
                        "idleTimeout: PT-1S, expected more than 0, at most 366 days",
                        () -> HttpLimits.builder().idleTimeout(NEGATIVE).build()));
    }

    /** All setters of durations. */
    static Stream<Arguments> durations() {
        return Stream.of(
                setter(
                        "headerTimeout",
                        time -> HttpLimits.builder().headerTimeout(time).build()),
                setter(
                        "idleTimeout",
                        time -> HttpLimits.builder().idleTimeout(time).build()),
                setter(
                        "maxConnectionAge",
                        time -> HttpLimits.builder().maxConnectionAge(time).build()),
                setter(
                        "bodyTimeout",
                        time -> HttpLimits.builder().bodyTimeout(time).build()),
                setter(
                        "writeTimeout",
                        time -> HttpLimits.builder().writeTimeout(time).build()),
                setter(
                        "queueTimeout",
                        time -> FunctionOptions.builder("f").queue(1, time).build()),
                setter(
                        "workerTimeout",
                        time -> FunctionOptions.builder("f").workerTimeout(time).build()),
                setter(
                        "slowStart",
                        time -> FunctionOptions.builder("f").slowStart(time).build()),
                setter(
                        "latency",
                        time -> BreakerPolicy.builder("b").latency(time).build()),
                setter("open", time -> BreakerPolicy.builder("b").open(time).build()),
                setter("limit", time -> DeadlinePolicy.builder().limit(time).build()),
                setter(
                        "perTryTimeout",
                        time -> AttemptPolicy.builder().perTryTimeout(time).build()),
                setter(
                        "hedgeAfter",
                        time -> AttemptPolicy.builder().hedgeAfter(time).build()),
                setter(
                        "idleTimeout",
                        time -> CapacityPolicy.builder().idleTimeout(time).build()),
                setter(
                        "scaleDownDelay",
                        time -> CapacityPolicy.builder().scaleDownDelay(time).build()),
                setter(
                        "maxWorkerAge",
                        time -> CapacityPolicy.builder().maxWorkerAge(time).build()),
                setter(
                        "launchTimeout",
                        time -> LaunchLimits.builder().launchTimeout(time).build()),
                setter(
                        "versionCheck",
                        time -> LaunchLimits.builder().versionCheck(time).build()),
                setter("stepTime", time -> new RolloutPolicy(List.of(1), time)),
                setter("stepTime", time -> new RolloutPolicy(List.of(1), time)),
                setter(
                        "maxQueueDelay",
                        time -> AdmissionPolicy.builder("a").maxQueueDelay(time).build()),
                setter(
                        "spilloverAfter",
                        time -> DirectOptions.builder(DirectEventFormat.ALB)
                                .spilloverAfter(time)
                                .build()),
                setter("window", time -> RateLimit.of(1, time)),
                setter("liveness interval", time -> Dispatcher.builder().liveness(time, Duration.ofSeconds(1))),
                setter("liveness timeout", time -> Dispatcher.builder().liveness(Duration.ofSeconds(1), time)));
    }

    private static Arguments setter(String name, Function<Duration, Object> set) {
        return Arguments.of(name, set);
    }

    /** A worker needs some seconds to start, and is replaced before it reaches its age. */
    @Test
    void should_reject_an_age_at_which_workers_have_hardly_started() {
        CapacityPolicy.Builder policy = CapacityPolicy.builder().maxWorkerAge(Duration.ofMillis(29_999));
        assertThatThrownBy(policy::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("maxWorkerAge: PT29.999S, expected 0, or 30 s to 366 days");
        assertThat(policy.maxWorkerAge(Duration.ofSeconds(30)).build().maxWorkerAge())
                .isEqualTo(Duration.ofSeconds(30));
    }

    /** Such a duration overflows in nanoseconds, long after the options were accepted. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("durations")
    void should_refuse_durations_that_a_timer_cannot_have(String name, Function<Duration, Object> set) {
        for (Duration never :
                List.of(ChronoUnit.FOREVER.getDuration(), Duration.ofSeconds(Long.MAX_VALUE), Duration.ofDays(400))) {
            assertThatThrownBy(() -> set.apply(never))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith(name + ": " + never + ", expected ");
        }
    }

    private static Arguments refused(String message, Supplier<Object> build) {
        return Arguments.of(message, build);
    }
}
