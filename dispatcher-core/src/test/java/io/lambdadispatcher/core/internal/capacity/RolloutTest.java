package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.observe.LaunchHistory;
import io.lambdadispatcher.core.observe.RolloutSnapshot;
import io.lambdadispatcher.core.observe.RolloutSnapshot.State;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Changes of an alias in virtual time, with the controller that decides in production. A worker
 * starts in two seconds, and each ready worker serves ten requests per second.
 */
class RolloutTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final int STREAMS = 10;
    private static final int PER_SECOND = 10;
    private static final int WANTED = 10;

    private static final class Worker {
        final String version;
        final long startedNanos;
        boolean ready;
        long completed;
        long failed;
        /** A few of its requests that took longer than the others. */
        long slow;

        Worker(String version, long startedNanos) {
            this.version = version;
            this.startedNanos = startedNanos;
        }
    }

    private final class Actions implements CapacityController.Actions {
        @Override
        public int launchable(int count) {
            return count;
        }

        @Override
        public String launch(String version, int downstreamShare) {
            String id = "w" + launches++;
            workers.put(id, new Worker(version.isEmpty() ? alias : version, now));
            asked.merge(version, 1, Integer::sum);
            return id;
        }

        @Override
        public void drain(String workerId, DrainCode reason, long graceNanos) {
            ended.add(workerId);
        }

        @Override
        public void kill(String workerId, String reason) {
            ended.add(workerId);
        }

        @Override
        public void share(String workerId, int connections) {}

        @Override
        public void limit(String workerId, int exchanges, String reason) {}
    }

    private final Map<String, Worker> workers = new LinkedHashMap<>();
    private final List<String> ended = new ArrayList<>();
    /** How many workers were launched with which version. */
    private final Map<String, Integer> asked = new HashMap<>();
    /** Versions whose workers fail this share of the requests. */
    private final Map<String, Double> failureRates = new HashMap<>();
    /** Versions whose requests take this many milliseconds. */
    private final Set<String> slowVersions = new HashSet<>();
    /** Versions whose workers exit instead of becoming ready. */
    private final Set<String> crashing = new HashSet<>();

    private Cause crash = Cause.FAILED;

    private final Random random = new Random(5);
    private CapacityController controller = controller(40);
    private String alias = "7";
    private boolean apiUp = true;
    private long now = 77 * SECOND;
    private int launches;
    private int busy = 100;
    private int leastReady = Integer.MAX_VALUE;
    private int mostOfNewVersion;

    private CapacityController controller(int maxWorkers) {
        return new CapacityController(
                FunctionOptions.builder("f")
                        .streamsPerConnection(STREAMS)
                        .capacity(CapacityPolicy.builder()
                                .workers(0, maxWorkers)
                                .scaleInAfter(Duration.ofSeconds(5))
                                .build())
                        .launching(LaunchLimits.builder()
                                .canary(0.2, Duration.ofSeconds(60))
                                .build())
                        .build(),
                new Actions(),
                random);
    }

    @BeforeEach
    void serve() {
        pass(60);
        assertThat(count("7")).isEqualTo(WANTED);
        assertThat(rollout().state()).isEqualTo(State.STEADY);
        assertThat(asked).as("the launcher chooses").containsOnlyKeys("");
        leastReady = Integer.MAX_VALUE;
    }

    /** Passes the time second by second. The API is asked every 30 s. */
    private void pass(int seconds) {
        for (int i = 0; i < seconds; i++) {
            now += SECOND;
            if (apiUp && now / SECOND % 30 == 0) {
                controller.onVersion(alias);
            }
            endWorkers();
            workers.forEach(this::live);
            endWorkers();
            List<WorkerDemand> demands = new ArrayList<>();
            workers.forEach((id, worker) -> {
                if (worker.ready) {
                    serve(worker);
                    demands.add(demand(id, worker));
                }
            });
            controller.evaluate(
                    now, new Demand(busy == 0 ? 0 : now, 0, 0, busy, 0, new ServiceTimes(), demands), PeerDemand.NONE);
            int ready =
                    (int) workers.values().stream().filter(each -> each.ready).count() - ended.size();
            leastReady = Math.min(leastReady, ready);
            mostOfNewVersion = Math.max(mostOfNewVersion, count("8"));
        }
    }

    private void endWorkers() {
        for (String id : List.copyOf(ended)) {
            controller.onDisconnected(now, id, true);
            controller.onExit(now, id, new WorkerExit(Cause.ENDED, "drained"));
            workers.remove(id);
        }
        ended.clear();
    }

    private void live(String id, Worker worker) {
        if (worker.ready || now - worker.startedNanos < 2 * SECOND) {
            return;
        }
        if (crashing.contains(worker.version)) {
            controller.onExit(now, id, new WorkerExit(crash, "exit 1"));
            ended.add(id);
        } else {
            worker.ready = true;
            controller.onDialled(now, id);
            controller.onReady(now, id, Long.MAX_VALUE, worker.version);
        }
    }

    private void serve(Worker worker) {
        for (int i = 0; i < PER_SECOND && busy > 0; i++) {
            worker.completed++;
            worker.failed += random.nextDouble() < failureRates.getOrDefault(worker.version, 0.0) ? 1 : 0;
        }
    }

    private WorkerDemand demand(String id, Worker worker) {
        return new WorkerDemand(
                id,
                1,
                1,
                worker.completed,
                worker.failed,
                slowVersions.contains(worker.version) ? worker.completed - worker.failed : worker.slow,
                0,
                null);
    }

    private int count(String version) {
        return (int) workers.values().stream()
                .filter(worker -> worker.ready && worker.version.equals(version))
                .count();
    }

    private RolloutSnapshot rollout() {
        RolloutSnapshot seen = controller.status(now, null).rollout();
        return Objects.requireNonNull(seen);
    }

    private void passUntil(State state) {
        for (int i = 0; i < 600 && rollout().state() != state; i++) {
            pass(1);
        }
        assertThat(rollout().state()).isEqualTo(state);
    }

    @Test
    void should_try_a_few_workers_before_it_replaces_all_when_the_alias_moves() {
        alias = "8";
        passUntil(State.CANARY);
        pass(50);

        assertThat(count("8")).as("a fifth").isEqualTo(2);
        assertThat(count("7")).as("as many as before").isEqualTo(WANTED);

        passUntil(State.ROLLING);
        passUntil(State.STEADY);

        assertThat(rollout().version()).isEqualTo("8");
        pass(10);
        assertThat(count("8")).isEqualTo(WANTED);
        assertThat(count("7")).isZero();
        assertThat(leastReady).as("workers that were ready at any time").isGreaterThanOrEqualTo(WANTED);
    }

    @Test
    void should_replace_at_most_a_quarter_at_a_time() {
        alias = "8";
        passUntil(State.ROLLING);
        int before = count("8");
        pass(2);

        assertThat(count("8") - before).isLessThanOrEqualTo(WANTED / 4 + 1);
    }

    /** A network fault between the dispatcher and Lambda says nothing about a version. */
    @Test
    void should_go_on_if_launchers_lose_healthy_workers_of_the_new_version() {
        alias = "8";
        passUntil(State.ROLLING);
        pass(5);
        assertThat(count("8")).isGreaterThanOrEqualTo(3);
        for (String id : List.copyOf(workers.keySet())) {
            Worker worker = workers.get(id);
            if (worker.ready && worker.version.equals("8")) {
                controller.onDisconnected(now, id, false);
                controller.onExit(now, id, new WorkerExit(Cause.LOST, "connection reset"));
                workers.remove(id);
            }
        }
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    /** A dispatcher without network could not launch workers of the old version either. */
    @Test
    void should_go_on_when_the_platform_can_be_asked_again() {
        crash = Cause.UNAVAILABLE;
        crashing.add("8");
        alias = "8";
        passUntil(State.CANARY);
        pass(60);
        assertThat(rollout().state()).isEqualTo(State.CANARY);
        assertThat(asked.get("8")).as("launches are delayed").isBetween(4, 30);

        crashing.clear();
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    @Test
    void should_begin_again_when_the_alias_moves_during_the_canary() {
        alias = "8";
        passUntil(State.CANARY);
        pass(20);
        alias = "9";
        pass(40);

        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.CANARY, "7", "9", 2, ""));
        assertThat(count("8")).isZero();
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("9");
    }

    @Test
    void should_try_a_third_version_when_the_alias_moves_while_workers_are_replaced() {
        alias = "8";
        passUntil(State.ROLLING);
        alias = "9";
        passUntil(State.CANARY);

        assertThat(rollout().version()).as("it has been watched").isEqualTo("8");
        assertThat(rollout().newVersion()).isEqualTo("9");
        passUntil(State.STEADY);
        pass(10);
        assertThat(count("9")).isEqualTo(WANTED);
        assertThat(leastReady).isGreaterThanOrEqualTo(WANTED);
    }

    @Test
    void should_return_when_the_alias_returns() {
        alias = "8";
        passUntil(State.CANARY);
        pass(20);
        alias = "7";
        pass(60);

        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "7", "", 0, ""));
        assertThat(count("8")).isZero();
        assertThat(leastReady).isGreaterThanOrEqualTo(WANTED);
    }

    @Test
    void should_return_at_once_when_the_alias_returns_while_workers_are_replaced() {
        alias = "8";
        passUntil(State.ROLLING);
        pass(3);
        alias = "7";
        controller.onVersion(alias);
        pass(60);

        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "7", "", 0, ""));
        assertThat(count("7")).isEqualTo(WANTED);
        assertThat(leastReady).isGreaterThanOrEqualTo(WANTED);
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.05, 0.5, 1})
    void should_stop_if_the_new_version_fails_requests(double rate) {
        failureRates.put("8", rate);
        alias = "8";
        passUntil(State.STOPPED);

        assertThat(rollout().reason()).contains("of the requests to version 8 failed, 0.0 % to version 7");
        assertThat(mostOfNewVersion).isLessThanOrEqualTo(2);
        asked.clear();
        busy = 150;
        pass(60);
        assertThat(count("8")).isZero();
        assertThat(count("7")).isGreaterThan(WANTED);
        assertThat(asked).as("the alias names the refused version").containsOnlyKeys("7");
        assertThat(leastReady).isGreaterThanOrEqualTo(WANTED);
    }

    @Test
    void should_not_stop_if_both_versions_fail_as_often() {
        failureRates.put("7", 0.05);
        failureRates.put("8", 0.05);
        pass(60);
        alias = "8";
        passUntil(State.CANARY);
        passUntil(State.ROLLING);
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    /** A database that is sick for both versions says nothing about the new one. */
    @Test
    void should_not_stop_if_both_versions_begin_to_fail() {
        alias = "8";
        passUntil(State.CANARY);
        pass(20);
        failureRates.put("7", 0.3);
        failureRates.put("8", 0.3);
        passUntil(State.ROLLING);
    }

    @Test
    void should_stop_if_the_new_version_is_slow() {
        slowVersions.add("8");
        alias = "8";
        passUntil(State.STOPPED);
        assertThat(rollout().reason()).isEqualTo("100 % of the requests to version 8 were slow, 0 % to version 7");
    }

    @Test
    void should_stop_if_the_new_version_is_slow_and_has_few_workers() {
        workers.clear();
        busy = STREAMS / 2;
        controller = controller(40);
        alias = "7";
        pass(60);
        assertThat(count("7")).isEqualTo(1);
        slowVersions.add("8");
        alias = "8";
        passUntil(State.STOPPED);
        assertThat(rollout().reason()).isEqualTo("100 % of the requests to version 8 were slow, 0 % to version 7");
    }

    @Test
    void should_not_stop_because_of_a_few_slow_requests() {
        alias = "8";
        passUntil(State.CANARY);
        pass(20);
        assertThat(count("8")).isEqualTo(2);
        workers.values().stream().filter(worker -> worker.version.equals("8")).forEach(worker -> worker.slow = 3);

        passUntil(State.ROLLING);
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    @Test
    void should_stop_if_the_new_version_never_becomes_ready() {
        crashing.add("8");
        alias = "8";
        passUntil(State.STOPPED);

        assertThat(rollout().reason()).isEqualTo("workers of version 8 fail: exit 1");
        assertThat(asked.get("8")).as("attempts").isLessThanOrEqualTo(4);
        assertThat(controller.status(now, null).blockedReason())
                .as("the old version can be launched")
                .isNull();
        busy = 150;
        pass(10);
        assertThat(count("7")).isGreaterThan(WANTED);
    }

    @Test
    void should_stop_while_workers_are_replaced_and_bring_back_the_old_version() {
        alias = "8";
        passUntil(State.ROLLING);
        pass(3);
        failureRates.put("8", 0.3);
        passUntil(State.STOPPED);
        pass(60);

        assertThat(count("7")).isEqualTo(WANTED);
        assertThat(count("8")).isZero();
        assertThat(leastReady).isGreaterThanOrEqualTo(WANTED);
    }

    @Test
    void should_change_nothing_while_the_api_is_down() {
        apiUp = false;
        alias = "8";
        pass(300);

        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "7", "", 0, ""));
        assertThat(count("7")).isEqualTo(WANTED);
        apiUp = true;
        passUntil(State.STEADY);
    }

    @Test
    void should_continue_a_change_while_the_api_is_down() {
        alias = "8";
        passUntil(State.CANARY);
        apiUp = false;
        passUntil(State.ROLLING);
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    /** Workers of the previous process dial in again, but belong to nobody. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void should_begin_the_change_again_after_a_restart(boolean remembers) {
        alias = "8";
        passUntil(State.CANARY);
        pass(20);
        LaunchHistory history = controller.history(now);
        restart(remembers ? history : null);
        pass(40);

        assertThat(rollout().state()).isEqualTo(State.CANARY);
        assertThat(rollout().version()).isEqualTo("7");
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    @Test
    void should_stay_stopped_after_a_restart() {
        failureRates.put("8", 1.0);
        alias = "8";
        passUntil(State.STOPPED);
        workers.clear();
        restart(controller.history(now));
        asked.clear();
        pass(60);

        assertThat(rollout().state()).isEqualTo(State.STOPPED);
        assertThat(asked).containsOnlyKeys("7");
    }

    /** {@code function.version-check: 0} has the same effect. */
    @Test
    void should_launch_what_the_alias_names_when_versions_are_no_longer_followed() {
        failureRates.put("8", 1.0);
        alias = "8";
        passUntil(State.STOPPED);
        apiUp = false;
        controller.onVersion("");
        pass(1);
        asked.clear();
        workers.keySet().stream().limit(3).forEach(ended::add);
        pass(10);

        assertThat(controller.status(now, null).rollout()).isNull();
        assertThat(asked).containsOnlyKeys("");
    }

    private void restart(@Nullable LaunchHistory history) {
        controller = controller(40);
        if (history != null) {
            controller.restore(now, history, 0);
        }
        workers.forEach((id, worker) -> {
            if (worker.ready) {
                controller.onDialled(now, id);
                controller.onReady(now, id, Long.MAX_VALUE, worker.version);
            }
        });
        workers.values().removeIf(worker -> !worker.ready);
    }

    @Test
    void should_obey_an_operator() {
        controller.stopRollout();
        alias = "8";
        passUntil(State.CANARY);
        pass(5);
        controller.stopRollout();
        pass(2);
        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STOPPED, "7", "8", 0, "an operator has stopped it"));
        pass(120);
        assertThat(rollout().state()).isEqualTo(State.STOPPED);
        controller.resumeRollout();
        pass(1);
        assertThat(rollout().state()).isEqualTo(State.CANARY);
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 10})
    void should_not_exceed_the_maximum(int max) {
        workers.clear();
        busy = STREAMS * max;
        controller = controller(max);
        alias = "7";
        pass(60);
        leastReady = Integer.MAX_VALUE;
        alias = "8";
        passUntil(State.CANARY);
        pass(30);
        int canaries = Math.max(1, max / 5);
        assertThat(count("8")).isEqualTo(canaries);
        assertThat(count("7")).isEqualTo(max - canaries);
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
        assertThat(leastReady).isEqualTo(max);
    }

    @Test
    void should_wait_for_traffic_with_the_canary() {
        busy = 0;
        pass(400);
        assertThat(workers).isEmpty();
        alias = "8";
        pass(300);
        assertThat(rollout().state()).isEqualTo(State.CANARY);
        busy = 100;
        pass(20);
        assertThat(count("7")).isEqualTo(WANTED);
        assertThat(count("8")).isEqualTo(2);
    }
}
