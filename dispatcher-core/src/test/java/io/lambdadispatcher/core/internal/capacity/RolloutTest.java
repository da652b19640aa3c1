package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.LaunchHistory;
import io.lambdadispatcher.core.observe.RolloutSnapshot;
import io.lambdadispatcher.core.observe.RolloutSnapshot.State;
import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.options.RolloutPolicy;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
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
        long readyNanos;
        long completed;
        long failed;
        /** So many of its next requests take 20 times as long as usual. */
        int slow;

        ServiceTimes times = new ServiceTimes();

        Worker(String version, long startedNanos) {
            this.version = version;
            this.startedNanos = startedNanos;
        }
    }

    private final Map<String, Worker> workers = new LinkedHashMap<>();
    private final List<String> ended = new ArrayList<>();
    /** How many workers were launched with which version. */
    private final Map<String, Integer> asked = new HashMap<>();
    /** Versions whose workers fail this share of the requests. */
    private final Map<String, Double> failureRates = new HashMap<>();
    /** Versions of which this share of the requests takes 20 times as long as usual. */
    private final Map<String, Double> slowRates = new HashMap<>();
    /** Versions that fail 30 % of the requests as soon as they have so many workers. */
    private final Map<String, Integer> crowded = new HashMap<>();
    /** Versions that get so many requests, and no more. */
    private final Map<String, Integer> requestsLeft = new HashMap<>();
    /** For so many seconds, a worker that has just started takes 20 times as long. */
    private int coldSeconds;
    /** Versions whose workers exit instead of becoming ready. */
    private final Set<String> crashing = new HashSet<>();

    private Cause crash = Cause.FAILED;

    private Random random = new Random(5);
    private RolloutPolicy policy = new RolloutPolicy(List.of(20), Duration.ofSeconds(60));
    private CapacityController controller = controller(40);
    private String alias = "7";
    /** The versions of the base workers that are connected, by id. */
    private final Map<String, String> base = new LinkedHashMap<>();
    /** The versions that match those that the base states. */
    private final Map<String, String> published = new HashMap<>();

    private boolean baseFails;
    private int baseRequests;
    private String askedFor = "";
    private boolean apiUp = true;
    private long now = 77 * SECOND;
    private int launches;
    private int busy = 100;
    private int leastReady = Integer.MAX_VALUE;
    private int mostOfNewVersion;

    private CapacityController controller(int maxWorkers) {
        return new CapacityController(function(maxWorkers), random);
    }

    private FunctionOptions function(int maxWorkers) {
        return FunctionOptions.builder("f")
                .streamsPerConnection(STREAMS)
                .capacity(CapacityPolicy.builder()
                        .workers(0, maxWorkers)
                        .scaleDownDelay(Duration.ofSeconds(5))
                        .build())
                .launching(LaunchLimits.builder().rollout(policy).build())
                .build();
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
            if (apiUp
                    && (now / SECOND % 30 == 0
                            || !askedFor.equals(controller.rollout().baseVersion()))) {
                controller.rollout().onNamed(answer());
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
            baseRequests += PER_SECOND;
            int failed = baseFails ? baseRequests : 0;
            base.keySet()
                    .forEach(id -> demands.add(new WorkerDemand(id, 1, 1, 1, baseRequests, failed, null, 0, null)));
            carryOut(controller.evaluate(
                    now,
                    new Demand(busy == 0 ? 0 : now, 0, 0, busy, 0, Demand.Tunnels.NONE, 0, new ServiceTimes(), demands),
                    FleetView.ALONE));
            int ready =
                    (int) workers.values().stream().filter(each -> each.ready).count() - ended.size();
            leastReady = Math.min(leastReady, ready);
            mostOfNewVersion = Math.max(mostOfNewVersion, count("8"));
        }
    }

    /** Answers as the launcher does. */
    private NamedVersion answer() {
        askedFor = controller.rollout().baseVersion();
        return new NamedVersion(alias, askedFor, published.getOrDefault(askedFor, ""));
    }

    private void connectBase(String id, String version) {
        base.put(id, version);
        controller.workers().onDialled(now, id, WorkerKind.BASE);
        controller.onReady(now, id, 1, Long.MAX_VALUE, version);
    }

    private void disconnectBase(String id) {
        base.remove(id);
        controller.onDisconnected(now, id, true);
    }

    private String launchedVersion() {
        return rollout().state() == State.ROLLING
                ? rollout().newVersion()
                : rollout().version();
    }

    private @Nullable String difference() {
        CapacitySnapshot.Base seen = controller.status(now, null).base();
        return seen == null ? null : seen.versionDifference();
    }

    private void carryOut(Plan plan) {
        plan.kills().forEach(kill -> ended.add(kill.workerId()));
        for (Plan.Launch launch : plan.launches()) {
            String id = "w" + launches++;
            workers.put(id, new Worker(launch.version().isEmpty() ? alias : launch.version(), now));
            asked.merge(launch.version(), 1, Integer::sum);
            controller.onLaunched(now, id, launch);
        }
        plan.drains().forEach(drain -> ended.add(drain.workerId()));
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
            worker.readyNanos = now;
            controller.workers().onDialled(now, id, WorkerKind.LAUNCHED);
            controller.onReady(now, id, STREAMS, Long.MAX_VALUE, worker.version);
        }
    }

    private void serve(Worker worker) {
        worker.times = new ServiceTimes();
        boolean crowd = count(worker.version) >= crowded.getOrDefault(worker.version, Integer.MAX_VALUE);
        double failureRate = crowd ? 0.3 : failureRates.getOrDefault(worker.version, 0.0);
        boolean cold = now - worker.readyNanos < coldSeconds * SECOND;
        for (int i = 0; i < PER_SECOND && busy > 0; i++) {
            int left = requestsLeft.getOrDefault(worker.version, Integer.MAX_VALUE);
            if (left == 0) {
                return;
            }
            requestsLeft.computeIfPresent(worker.version, (version, count) -> count - 1);
            worker.completed++;
            if (random.nextDouble() < failureRate) {
                worker.failed++;
                continue;
            }
            boolean slow =
                    cold || worker.slow-- > 0 || random.nextDouble() < slowRates.getOrDefault(worker.version, 0.0);
            // Lognormal around 20 ms.
            double millis = (slow ? 400 : 20) * Math.exp(random.nextGaussian() * 0.5);
            worker.times.record((long) (millis * 1e6));
        }
    }

    private WorkerDemand demand(String id, Worker worker) {
        return new WorkerDemand(id, STREAMS, 1, 1, worker.completed, worker.failed, worker.times, 0, null);
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
        passUntil(State.WATCHING);
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
        passUntil(State.WATCHING);
        pass(60);
        assertThat(rollout().state()).isEqualTo(State.WATCHING);
        assertThat(asked.get("8")).as("launches are delayed").isBetween(4, 30);

        crashing.clear();
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    @Test
    void should_begin_again_when_the_alias_moves_while_the_new_version_is_watched() {
        alias = "8";
        passUntil(State.WATCHING);
        pass(20);
        alias = "9";
        pass(40);

        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.WATCHING, "7", "9", 20, 2, ""));
        assertThat(count("8")).isZero();
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("9");
    }

    @Test
    void should_try_a_third_version_when_the_alias_moves_while_workers_are_replaced() {
        alias = "8";
        passUntil(State.ROLLING);
        alias = "9";
        passUntil(State.WATCHING);

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
        passUntil(State.WATCHING);
        pass(20);
        alias = "7";
        pass(60);

        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "7", "", 0, 0, ""));
        assertThat(count("8")).isZero();
        assertThat(leastReady).isGreaterThanOrEqualTo(WANTED);
    }

    @Test
    void should_return_at_once_when_the_alias_returns_while_workers_are_replaced() {
        alias = "8";
        passUntil(State.ROLLING);
        pass(3);
        alias = "7";
        controller.rollout().onNamed(answer());
        pass(60);

        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "7", "", 0, 0, ""));
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
        passUntil(State.WATCHING);
        passUntil(State.ROLLING);
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    /** A database that is sick for both versions says nothing about the new one. */
    @Test
    void should_not_stop_if_both_versions_begin_to_fail() {
        alias = "8";
        passUntil(State.WATCHING);
        pass(20);
        failureRates.put("7", 0.3);
        failureRates.put("8", 0.3);
        passUntil(State.ROLLING);
    }

    /** A twentieth of the requests is enough for the p99. The mean is only twice as long. */
    @ParameterizedTest
    @ValueSource(doubles = {0.05, 1})
    void should_stop_if_the_p99_of_the_new_version_is_higher(double rate) {
        slowRates.put("8", rate);
        alias = "8";
        passUntil(State.STOPPED);
        assertThat(rollout().reason()).matches("the p99 of version 8 is [0-9]+ ms, that of version 7 [5-9][0-9] ms");
        assertThat(count("8")).isLessThanOrEqualTo(2);
    }

    /** Then, both versions do not serve at the same time. */
    @Test
    void should_compare_with_what_the_old_version_did_if_there_is_one_worker() {
        workers.clear();
        busy = STREAMS;
        controller = controller(1);
        alias = "7";
        pass(60);
        slowRates.put("8", 1.0);
        alias = "8";
        passUntil(State.STOPPED);
        assertThat(rollout().reason()).startsWith("the p99 of version 8 is");
    }

    @Test
    void should_not_stop_if_both_versions_become_slow() {
        alias = "8";
        passUntil(State.WATCHING);
        pass(20);
        slowRates.put("7", 0.3);
        slowRates.put("8", 0.3);
        passUntil(State.ROLLING);
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    /** The JVM of a worker that has just started compiles, and loads classes. */
    @Test
    void should_not_stop_because_new_workers_are_slow_at_first() {
        coldSeconds = 25;
        alias = "8";
        passUntil(State.ROLLING);
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    @Test
    void should_stop_if_the_new_version_is_slow_and_has_few_workers() {
        workers.clear();
        busy = STREAMS / 2;
        controller = controller(40);
        alias = "7";
        pass(60);
        assertThat(count("7")).isEqualTo(1);
        slowRates.put("8", 1.0);
        alias = "8";
        passUntil(State.STOPPED);
        assertThat(rollout().reason()).startsWith("the p99 of version 8 is");
    }

    @Test
    void should_not_stop_because_of_a_few_slow_requests() {
        alias = "8";
        passUntil(State.WATCHING);
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

        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "7", "", 0, 0, ""));
        assertThat(count("7")).isEqualTo(WANTED);
        apiUp = true;
        passUntil(State.STEADY);
    }

    @Test
    void should_continue_a_change_while_the_api_is_down() {
        alias = "8";
        passUntil(State.WATCHING);
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
        passUntil(State.WATCHING);
        pass(20);
        LaunchHistory history = controller.history(now);
        restart(remembers ? history : null);
        pass(40);

        assertThat(rollout().state()).isEqualTo(State.WATCHING);
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

    /** {@code function.rollout: off} has the same effect. */
    @Test
    void should_launch_what_the_alias_names_when_versions_are_no_longer_followed() {
        failureRates.put("8", 1.0);
        alias = "8";
        passUntil(State.STOPPED);
        apiUp = false;
        controller.rollout().onNamed(new NamedVersion("", "", ""));
        pass(1);
        asked.clear();
        workers.keySet().stream().limit(3).forEach(ended::add);
        pass(10);

        assertThat(controller.status(now, null).rollout()).isNull();
        assertThat(asked).containsOnlyKeys("");
    }

    /** The step has lasted longer than a step of the new policy would. */
    @Test
    void should_not_replace_workers_when_a_reload_ends_a_change() {
        policy = new RolloutPolicy(List.of(20), Duration.ofMinutes(10));
        controller.setOptions(function(40));
        alias = "8";
        passUntil(State.WATCHING);
        pass(200);
        policy = RolloutPolicy.OFF;
        controller.setOptions(function(40));
        pass(1);

        assertThat(controller.status(now, null).rollout()).isNull();
    }

    private void restart(@Nullable LaunchHistory history) {
        controller = controller(40);
        if (history != null) {
            controller.restore(now, history, 0);
        }
        workers.forEach((id, worker) -> {
            if (worker.ready) {
                controller.workers().onDialled(now, id, WorkerKind.LAUNCHED);
                controller.onReady(now, id, STREAMS, now + TimeUnit.HOURS.toNanos(1), worker.version);
            }
        });
        workers.values().removeIf(worker -> !worker.ready);
    }

    /** Base workers have the versions that their operator gives them. */
    @Test
    void should_not_begin_with_the_version_of_base_workers() {
        restart(null);
        for (int i = 0; i < 2 * WANTED; i++) {
            controller.workers().onDialled(now, "base" + i, WorkerKind.BASE);
            controller.onReady(now, "base" + i, 1, Long.MAX_VALUE, "9");
        }
        pass(60);
        assertThat(rollout()).returns("7", RolloutSnapshot::version).returns(State.STEADY, RolloutSnapshot::state);
    }

    @Test
    void should_change_to_the_version_of_the_base_without_steps() {
        published.put("release-8", "8");
        connectBase("b1", "release-8");
        connectBase("b2", "release-8");
        asked.clear();
        pass(3);
        assertThat(rollout().state()).isEqualTo(State.ROLLING);
        passUntil(State.STEADY);
        pass(10);

        assertThat(rollout().version()).isEqualTo("8");
        assertThat(count("8")).isEqualTo(WANTED);
        assertThat(count("7")).isZero();
        assertThat(leastReady).isGreaterThanOrEqualTo(WANTED);
        assertThat(asked).containsOnlyKeys("8");
        assertThat(difference()).isNull();
    }

    @Test
    void should_launch_the_version_of_the_base_although_the_alias_names_another() {
        published.put("7", "7");
        connectBase("b1", "7");
        pass(2);
        alias = "8";
        busy = 0;
        pass(600);
        assertThat(workers).isEmpty();
        asked.clear();
        busy = 100;
        pass(60);

        assertThat(asked).containsOnlyKeys("7");
        assertThat(difference()).isNull();
    }

    @Test
    void should_follow_most_of_the_base_during_its_deployment() {
        published.put("7", "7");
        published.put("8", "8");
        List.of("b1", "b2", "b3").forEach(id -> connectBase(id, "7"));
        pass(5);
        connectBase("b4", "8");
        disconnectBase("b1");
        pass(60);
        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "7", "", 0, 0, ""));
        connectBase("b5", "8");
        pass(60);
        assertThat(rollout().version()).as("as many have each").isEqualTo("7");
        disconnectBase("b2");
        pass(2);
        assertThat(rollout().newVersion()).isEqualTo("8");
        asked.clear();
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
        assertThat(asked).containsOnlyKeys("8");
    }

    @Test
    void should_keep_the_version_of_a_base_that_is_lost_for_ten_minutes() {
        published.put("7", "7");
        connectBase("b1", "7");
        pass(5);
        alias = "8";
        disconnectBase("b1");
        pass(590);
        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "7", "", 0, 0, ""));
        pass(20);
        assertThat(rollout().newVersion()).isEqualTo("8");
    }

    @Test
    void should_say_that_the_versions_differ_until_that_of_the_base_is_published() {
        connectBase("b1", "release-8");
        pass(2);
        assertThat(difference())
                .isEqualTo("the base has version release-8, and launched workers have version 7, because no version"
                        + " that matches the base is published");
        published.put("release-8", "8");
        pass(31);
        assertThat(difference()).isNull();
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    @Test
    void should_say_that_the_versions_differ_if_the_change_to_that_of_the_base_has_stopped() {
        crashing.add("8");
        published.put("8", "8");
        connectBase("b1", "8");
        passUntil(State.STOPPED);

        assertThat(difference())
                .isEqualTo("the base has version 8, and launched workers have version 7, because the change to"
                        + " version 8 has stopped");
        assertThat(count("7")).isGreaterThan(0);
    }

    @Test
    void should_only_compare_the_versions_if_they_are_not_followed() {
        policy = RolloutPolicy.OFF;
        controller.setOptions(function(40));
        apiUp = false;
        connectBase("b1", "8");
        pass(2);
        asked.clear();
        workers.keySet().stream().limit(3).forEach(ended::add);
        pass(10);

        assertThat(difference())
                .isEqualTo("the base has version 8, and launched workers have version 7, because versions are not"
                        + " followed");
        assertThat(asked).containsOnlyKeys("");
    }

    /** Launched workers have the number of the version that the alias names. */
    @Test
    void should_not_compare_the_name_of_an_alias_with_a_version_if_versions_are_not_followed() {
        policy = RolloutPolicy.OFF;
        controller.setOptions(function(40));
        apiUp = false;
        connectBase("b1", "release-7");
        pass(2);
        assertThat(difference()).isNull();

        // A launcher of another platform may name its versions in the same way.
        workers.keySet().forEach(id -> controller.onReady(now, id, STREAMS, Long.MAX_VALUE, "release-6"));
        pass(2);
        assertThat(difference())
                .isEqualTo("the base has version release-7, and launched workers have version release-6, because"
                        + " versions are not followed");
    }

    /** Otherwise, a version that fails would look no worse than what the base does. */
    @Test
    void should_compare_launched_workers_with_launched_ones_only() {
        connectBase("b1", "");
        connectBase("b2", "");
        baseFails = true;
        failureRates.put("8", 0.3);
        alias = "8";
        passUntil(State.STOPPED);
        assertThat(rollout().reason()).contains(" 0.0 % to version 7");
    }

    /** The launcher may keep something for its own version, for example provisioned concurrency. */
    @ParameterizedTest
    @ValueSource(strings = {"release-7", "1.4.2"})
    void should_let_the_launcher_choose_while_it_names_the_version_of_the_base(String stated) {
        published.put("release-7", "7");
        connectBase("b1", stated);
        pass(40);
        workers.keySet().stream().limit(3).forEach(ended::add);
        pass(10);

        assertThat(launches).isGreaterThan(WANTED);
        assertThat(asked).containsOnlyKeys("");
    }

    @Test
    void should_not_say_that_the_versions_differ_while_a_change_to_that_of_the_base_begins() {
        published.put("7", "7");
        published.put("8", "8");
        connectBase("b1", "7");
        pass(5);
        disconnectBase("b1");
        connectBase("b1", "8");
        pass(1);
        controller.rollout().onNamed(answer());
        assertThat(rollout().state()).isEqualTo(State.STEADY);
        assertThat(difference()).as("before the next second").isNull();
        pass(1);
        assertThat(rollout().state()).isEqualTo(State.ROLLING);
        assertThat(difference()).isNull();
    }

    private void rollOutTheVersionOfTheBase() {
        published.put("release-42", "8");
        connectBase("b1", "release-42");
        passUntil(State.ROLLING);
        passUntil(State.STEADY);
        pass(10);
        assertThat(rollout().version()).isEqualTo("8");
        base.clear();
        asked.clear();
    }

    /** The alias has never moved, as in a release with a base. */
    @Test
    void should_keep_the_version_of_the_base_after_a_restart_until_the_base_has_dialled_in() {
        rollOutTheVersionOfTheBase();
        restart(controller.history(now));
        pass(60);
        workers.keySet().stream().limit(3).forEach(ended::add);
        pass(60);
        connectBase("b1", "release-42");
        pass(60);

        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "8", "", 0, 0, ""));
        assertThat(asked).containsOnlyKeys("8");
    }

    @Test
    void should_not_try_the_version_of_the_base_again_after_a_restart() {
        crashing.add("8");
        published.put("8", "8");
        connectBase("b1", "8");
        passUntil(State.STOPPED);
        base.clear();
        restart(controller.history(now));
        asked.clear();
        pass(60);
        connectBase("b1", "8");
        workers.keySet().stream().limit(3).forEach(ended::add);
        pass(60);

        assertThat(rollout().state()).isEqualTo(State.STOPPED);
        assertThat(asked).containsOnlyKeys("7");
    }

    @Test
    void should_follow_the_alias_if_the_base_does_not_come_back_for_ten_minutes_after_a_restart() {
        rollOutTheVersionOfTheBase();
        restart(controller.history(now));
        pass(590);
        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "8", "", 0, 0, ""));
        pass(60);
        assertThat(rollout().newVersion()).isEqualTo("7");
    }

    @Test
    void should_wait_for_the_base_for_a_few_seconds_after_a_restart() {
        published.put("7", "7");
        restart(controller.history(now));
        alias = "8";
        askedFor = "unknown";
        pass(3);
        connectBase("b1", "7");
        pass(3);
        asked.clear();
        workers.keySet().stream().limit(3).forEach(ended::add);
        pass(60);

        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "7", "", 0, 0, ""));
        assertThat(asked).containsOnlyKeys("7");
    }

    @Test
    void should_not_act_on_an_answer_for_another_version_of_the_base() {
        published.put("7", "7");
        connectBase("b1", "7");
        pass(5);
        apiUp = false;
        controller.rollout().onNamed(new NamedVersion("8", "", ""));
        pass(5);
        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "7", "", 0, 0, ""));
    }

    /** Bursts are rare, so there may be no launched worker at a deployment of the base. */
    @Test
    void should_stop_a_change_that_begins_without_launched_workers_if_the_new_version_fails() {
        busy = 0;
        pass(600);
        assertThat(workers).isEmpty();
        published.put("8", "8");
        crashing.add("8");
        connectBase("b1", "8");
        pass(120);
        assertThat(rollout().version()).isEqualTo("7");
        busy = 100;
        passUntil(State.STOPPED);
        pass(60);

        assertThat(count("7")).isEqualTo(WANTED);
    }

    @Test
    void should_complete_a_change_that_begins_without_launched_workers() {
        busy = 0;
        pass(600);
        published.put("8", "8");
        connectBase("b1", "8");
        pass(120);
        asked.clear();
        busy = 100;
        passUntil(State.STEADY);

        assertThat(rollout().version()).isEqualTo("8");
        assertThat(asked).containsOnlyKeys("8");
    }

    @Test
    void should_not_fall_back_to_a_version_that_has_never_served() {
        busy = 0;
        pass(600);
        published.put("release-8", "8");
        published.put("release-9", "9");
        connectBase("b1", "release-8");
        pass(60);
        disconnectBase("b1");
        connectBase("b1", "release-9");
        pass(60);

        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.ROLLING, "7", "9", 0, 0, ""));
    }

    @Test
    void should_not_follow_one_worker_of_the_base_if_most_state_no_version() {
        published.put("8", "8");
        connectBase("b1", "8");
        connectBase("b2", "");
        connectBase("b3", "");
        pass(60);
        assertThat(rollout()).isEqualTo(new RolloutSnapshot(State.STEADY, "7", "", 0, 0, ""));
        assertThat(difference()).isNull();
    }

    @Test
    void should_not_say_that_the_versions_differ_without_launched_workers() {
        policy = RolloutPolicy.OFF;
        controller.setOptions(function(40));
        apiUp = false;
        connectBase("b1", "8");
        pass(2);
        assertThat(difference()).isNotNull();
        busy = 0;
        pass(600);
        assertThat(workers).isEmpty();
        assertThat(difference()).isNull();
    }

    /** What the old version did in healthy minutes says nothing about the time of the change. */
    @Test
    void should_not_stop_a_change_to_the_version_of_the_base_because_of_a_sick_dependency() {
        pass(300);
        failureRates.put("7", 0.3);
        failureRates.put("8", 0.3);
        published.put("8", "8");
        connectBase("b1", "8");
        passUntil(State.ROLLING);
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    /** Deployments of the base, publications, losses and bursts happen at any time. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void should_launch_the_version_of_the_base_whenever_it_is_published(int seed) {
        Random events = new Random(seed);
        policy = RolloutPolicy.FAST;
        controller.setOptions(function(40));
        connectBase("b1", "7");
        connectBase("b2", "7");
        published.put("7", "7");
        int checked = 0;
        for (int step = 0; step < 300; step++) {
            String any = String.valueOf(7 + events.nextInt(3));
            switch (events.nextInt(6)) {
                case 0 -> published.put(any, any);
                case 1 -> alias = any;
                case 2 -> busy = events.nextBoolean() ? 0 : 100;
                case 3 ->
                    List.copyOf(base.keySet()).forEach(id -> {
                        disconnectBase(id);
                        connectBase(id + "'", any);
                    });
                case 4 -> {
                    String id = base.keySet().iterator().next();
                    String version = base.get(id);
                    disconnectBase(id);
                    pass(events.nextInt(120));
                    connectBase(id, version);
                }
                default -> workers.keySet().stream().limit(3).forEach(ended::add);
            }
            // The launcher is asked within 30 s, and the phase follows in the next second.
            pass(32);
            String stated = controller.rollout().baseVersion();
            boolean matched = published.containsKey(stated);
            assertThat(difference() == null)
                    .as("%s: base %s, alias %s, published %s", step, stated, alias, published.keySet())
                    .isEqualTo(matched || stated.equals(launchedVersion()));
            if (matched) {
                asked.clear();
                busy = 100;
                workers.keySet().stream().limit(3).forEach(ended::add);
                pass(events.nextInt(20));
                assertThat(asked.keySet()).isSubsetOf(stated, alias.equals(stated) ? "" : stated);
                checked += asked.size();
            }
        }
        assertThat(checked).as("steps with launches").isGreaterThan(20);
    }

    @Test
    void should_obey_an_operator() {
        controller.rollout().stop();
        alias = "8";
        passUntil(State.WATCHING);
        pass(5);
        controller.rollout().stop();
        pass(2);
        assertThat(rollout())
                .isEqualTo(new RolloutSnapshot(State.STOPPED, "7", "8", 0, 0, "an operator has stopped it"));
        pass(120);
        assertThat(rollout().state()).isEqualTo(State.STOPPED);
        controller.rollout().resume();
        pass(1);
        assertThat(rollout().state()).isEqualTo(State.WATCHING);
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
        passUntil(State.WATCHING);
        pass(30);
        int watched = Math.max(1, max / 5);
        assertThat(count("8")).isEqualTo(watched);
        assertThat(count("7")).isEqualTo(max - watched);
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
        assertThat(leastReady).isEqualTo(max);
    }

    @Test
    void should_wait_for_traffic_with_the_new_version() {
        busy = 0;
        pass(400);
        assertThat(workers).isEmpty();
        alias = "8";
        pass(300);
        assertThat(rollout().state()).isEqualTo(State.WATCHING);
        busy = 100;
        pass(20);
        assertThat(count("7")).isEqualTo(WANTED);
        assertThat(count("8")).isEqualTo(2);
    }

    // Several steps.

    /** Begins again with these steps, which last a minute each. */
    private void serveWithSteps(Integer... percents) {
        policy = new RolloutPolicy(List.of(percents), Duration.ofSeconds(60));
        workers.clear();
        controller = controller(40);
        alias = "7";
        pass(60);
        assertThat(count("7")).isEqualTo(WANTED);
        mostOfNewVersion = 0;
        leastReady = Integer.MAX_VALUE;
        alias = "8";
    }

    /** Passes the time until the change has ended, and returns its states and shares. */
    private List<String> changes() {
        List<String> changes = new ArrayList<>();
        for (int i = 0; i < 1200; i++) {
            pass(1);
            String state = rollout().state() + " " + rollout().percent();
            if (changes.isEmpty() || !changes.get(changes.size() - 1).equals(state)) {
                changes.add(state);
            }
            if (changes.size() > 1
                    && (rollout().state() == State.STEADY || rollout().state() == State.STOPPED)) {
                break;
            }
        }
        return changes;
    }

    @Test
    void should_take_all_steps_with_a_good_version() {
        serveWithSteps(10, 50);
        assertThat(changes()).containsExactly("STEADY 0", "WATCHING 10", "WATCHING 50", "ROLLING 0", "STEADY 0");
        assertThat(rollout().version()).isEqualTo("8");
        assertThat(leastReady).isGreaterThanOrEqualTo(WANTED);
    }

    @Test
    void should_stop_a_version_that_fails_at_the_second_step() {
        serveWithSteps(10, 50);
        crowded.put("8", 3);
        assertThat(changes()).containsExactly("STEADY 0", "WATCHING 10", "WATCHING 50", "STOPPED 0");
        assertThat(rollout().reason()).contains("of the requests to version 8 failed, 0.0 % to version 7");
        assertThat(mostOfNewVersion).isLessThanOrEqualTo(5);
        pass(60);
        assertThat(count("8")).isZero();
        assertThat(count("7")).isEqualTo(WANTED);
        assertThat(leastReady).as("the old workers were complete").isGreaterThanOrEqualTo(WANTED);
    }

    @Test
    void should_not_take_the_next_step_before_the_new_version_has_answered_50_requests() {
        serveWithSteps(10, 50);
        requestsLeft.put("8", 30);
        passUntil(State.WATCHING);
        pass(600);
        assertThat(rollout().state()).isEqualTo(State.WATCHING);
        assertThat(rollout().percent()).isEqualTo(10);

        requestsLeft.put("8", 20);
        pass(10);
        assertThat(rollout().percent()).isEqualTo(50);
        pass(600);
        assertThat(rollout().percent()).as("the second step needs 50, too").isEqualTo(50);
        requestsLeft.clear();
        passUntil(State.STEADY);
        assertThat(rollout().version()).isEqualTo("8");
    }

    @ParameterizedTest
    @ValueSource(doubles = {0.0, 0.001, 0.01, 0.05, 0.3})
    void should_not_stop_for_noise(double failureRate) {
        failureRates.put("7", failureRate);
        failureRates.put("8", failureRate);
        slowRates.put("7", failureRate / 10);
        slowRates.put("8", failureRate / 10);
        int stopped = 0;
        for (int seed = 0; seed < 40; seed++) {
            random = new Random(seed);
            serveWithSteps(10, 50);
            stopped += changes().contains("STOPPED 0") ? 1 : 0;
        }
        assertThat(stopped).as("stopped of 40").isLessThanOrEqualTo(1);
    }

    /** Without requests, nothing can be watched, and workers cost money. */
    @Test
    void should_end_watched_workers_without_traffic() {
        requestsLeft.put("8", 30);
        alias = "8";
        passUntil(State.WATCHING);
        pass(10);
        assertThat(count("8")).isEqualTo(2);
        busy = 0;
        pass(500);
        assertThat(rollout().state()).isEqualTo(State.WATCHING);
        assertThat(workers).isEmpty();
    }
}
