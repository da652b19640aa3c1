package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.observe.CapacitySnapshot.Scheduled;
import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.options.WorkerSchedule;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.testkit.EachRelease;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The production controller with a schedule, in virtual time. */
@EachRelease
class ScheduleTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final int STREAMS = 10;
    private static final int START_SECONDS = 3;

    private final Instant begin = Instant.parse("2026-03-02T06:50:00Z");
    private long now = Long.MAX_VALUE - 99 * SECOND; // the clock may overflow
    private final long beginNanos = now;
    private LaunchLimits limits = LaunchLimits.builder().launchesPerMinute(1000).build();
    private CapacityController controller = controller(schedule(0));
    private FleetView fleet = FleetView.ALONE;
    /** Workers that run, and when they were launched. */
    private final Map<String, Long> workers = new LinkedHashMap<>();

    private int launches;
    private String reason = "";
    private long arrived;
    private int busy;

    /** 8:00 in Berlin is 7:00 UTC. */
    private static CapacityPolicy.Builder schedule(int min) {
        return CapacityPolicy.builder()
                .workers(min, 20)
                .schedule(WorkerSchedule.parse(List.of("8 at 0 8 * * 1-5 for 10m in Europe/Berlin")));
    }

    private FunctionOptions function(CapacityPolicy.Builder policy) {
        return FunctionOptions.builder("f")
                .streamsPerConnection(STREAMS)
                .capacity(policy.build())
                .launching(limits)
                .build();
    }

    private CapacityController controller(CapacityPolicy.Builder policy) {
        return new CapacityController(function(policy), new Random(42), () -> begin.plusNanos(now - beginNanos));
    }

    private void runUntil(String clock) {
        Instant until = Instant.parse("2026-03-02T" + clock + "Z");
        while (begin.plusNanos(now - beginNanos).isBefore(until)) {
            now += SECOND;
            workers.forEach((id, launched) -> {
                if (now - launched == START_SECONDS * SECOND) {
                    controller.workers().onDialled(now, id, WorkerKind.LAUNCHED);
                    controller.onReady(now, id, STREAMS, WorkerLife.NEVER, "");
                }
            });
            arrived += 5L * busy;
            List<WorkerDemand> seen = workers.keySet().stream()
                    .filter(id -> isReady(id))
                    .map(id -> new WorkerDemand(id, STREAMS, 0, 0, 0, 0, null, 0, null))
                    .toList();
            Demand demand = new Demand(
                    arrived, arrived, arrived * SECOND / 5, busy, 0, Demand.Tunnels.NONE, 0, new ServiceTimes(), seen);
            Plan plan = controller.evaluate(now, demand, fleet);
            plan.launches().forEach(launch -> {
                String id = "w" + launches++;
                reason = launch.reason();
                workers.put(id, now);
                controller.onLaunched(now, id, launch);
            });
            plan.drains().forEach(drain -> {
                workers.remove(drain.workerId());
                controller.onDisconnected(now, drain.workerId(), true);
                controller.onExit(now, drain.workerId(), new WorkerExit(Cause.ENDED, ""));
            });
        }
    }

    private boolean isReady(String id) {
        return now - workers.get(id) >= START_SECONDS * SECOND;
    }

    private long ready() {
        return workers.keySet().stream().filter(this::isReady).count();
    }

    private Scheduled scheduled() {
        return Objects.requireNonNull(controller.status(now, null).scheduled());
    }

    @Test
    void should_have_the_workers_ready_at_the_time_and_retire_them_afterwards() {
        runUntil("06:59:40");
        assertThat(launches).isZero();
        assertThat(scheduled()).isEqualTo(new Scheduled(0, 0, 0));
        runUntil("07:00:00");
        assertThat(ready()).isEqualTo(8);
        assertThat(reason).isEqualTo("schedule");
        assertThat(scheduled().minimum()).isEqualTo(8);
        runUntil("07:10:00");
        assertThat(ready()).isEqualTo(8);
        runUntil("07:12:00");
        assertThat(workers).isEmpty();
        assertThat(launches).isEqualTo(8);
        assertThat(scheduled().minimum()).isZero();
    }

    /** After a few starts, it knows that they take 3 s, not the 5 s that it assumes at first. */
    @Test
    void should_launch_as_early_as_the_measured_start_demands() {
        runUntil("06:59:47");
        assertThat(launches).isZero();
        runUntil("06:59:49");
        assertThat(launches).isEqualTo(8);

        launches = 0;
        busy = 60;
        runUntil("07:20:00");
        busy = 0;
        controller.setOptions(function(CapacityPolicy.builder()
                .workers(0, 20)
                .schedule(WorkerSchedule.parse(List.of("9 at 0 9 * * 1-5 for 10m in Europe/Berlin")))));
        runUntil("07:59:50");
        assertThat(workers).isEmpty();
        launches = 0;
        runUntil("07:59:53");
        assertThat(launches).isEqualTo(9);
    }

    @Test
    void should_launch_a_minute_earlier_for_each_minute_that_the_launch_rate_needs() {
        limits = LaunchLimits.builder().launchesPerMinute(3).build();
        controller = controller(schedule(0));
        runUntil("07:00:00");
        assertThat(ready()).isEqualTo(8);
    }

    @Test
    void should_keep_the_limits_that_the_minimum_keeps() {
        limits = LaunchLimits.builder()
                .workerMegabytes(1024)
                .gbSecondsPerHour(200)
                .build();
        controller = controller(schedule(0));
        runUntil("07:05:00");
        assertThat(launches).isBetween(1, 3);

        workers.clear();
        launches = 0;
        now = beginNanos;
        limits = LaunchLimits.builder().build();
        controller = controller(schedule(0));
        controller.setLaunching(false);
        runUntil("07:05:00");
        assertThat(launches).isZero();
    }

    @Test
    void should_count_the_workers_of_the_fleet() {
        fleet = new FleetView(0, 5, true, false, true, Integer.MAX_VALUE, null);
        runUntil("07:00:00");
        assertThat(launches).isEqualTo(3);
    }

    /** Without it, a minute of 60 busy streams would have begun with a start of 8 workers. */
    @Test
    void should_count_what_it_cost_and_what_it_saved() {
        runUntil("07:02:00");
        double gigabytes = limits.workerMegabytes() / 1024.0;
        // Eight workers, each launched 13 s before.
        assertThat(scheduled().gbSeconds()).isCloseTo(8 * 133 * gigabytes, within(8 * 2 * gigabytes));
        assertThat(scheduled().requests()).isZero();

        busy = 60;
        runUntil("07:02:30");
        double cost = scheduled().gbSeconds();
        // 300 requests/s in a start.
        assertThat(scheduled().requests()).isBetween(600L, 1800L);
        runUntil("07:05:00");
        assertThat(scheduled().requests()).isBetween(600L, 1800L);
        assertThat(scheduled().gbSeconds()).isCloseTo(cost, within(1.0));
    }

    @Test
    void should_cost_nothing_beside_a_minimum_that_is_as_large() {
        controller = controller(schedule(8));
        busy = 30;
        runUntil("07:05:00");
        assertThat(launches).isEqualTo(8);
        assertThat(scheduled()).isEqualTo(new Scheduled(8, 0, 0));
    }

    @Test
    void should_say_nothing_without_a_schedule() {
        controller = controller(CapacityPolicy.builder().workers(2, 20));
        runUntil("07:05:00");
        assertThat(controller.status(now, null).scheduled()).isNull();
        controller.setOptions(function(schedule(2)));
        runUntil("07:05:02");
        assertThat(workers).hasSize(8);
    }
}
