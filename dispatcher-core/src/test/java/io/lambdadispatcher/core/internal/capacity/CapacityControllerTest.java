package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.capacity.FleetReport.SlotUse;
import io.lambdadispatcher.core.observe.LaunchHistory;
import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The controller with a clock that the test advances, and with workers that the test controls. */
class CapacityControllerTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    /** What the plans of the controller have said. */
    private static final class Told {
        final List<String> launched = new ArrayList<>();
        final Map<String, DrainCode> drained = new LinkedHashMap<>();
        final Map<String, Long> graces = new HashMap<>();
        final List<String> killed = new ArrayList<>();
        final Map<String, Integer> limits = new HashMap<>();
        final Map<String, Integer> shares = new LinkedHashMap<>();
    }

    private final Told told = new Told();
    private CapacityController controller = controller(CapacityPolicy.between(0, 20));
    private long now = 77 * SECOND;
    private long arrived;
    private long completed;
    private long serviceNanos;
    private int busy;
    private int pending;
    private @Nullable List<WorkerDemand> workers = List.of();

    private static FunctionOptions.Builder function() {
        return FunctionOptions.builder("f").streamsPerConnection(5);
    }

    private CapacityController controller(CapacityPolicy policy) {
        return controller(function().capacity(policy).build());
    }

    private CapacityController controller(FunctionOptions function) {
        return new CapacityController(function, new Random(42));
    }

    private void carryOut(Plan plan) {
        plan.limits().forEach(limit -> told.limits.put(limit.workerId(), limit.exchanges()));
        plan.shareChanges().forEach(change -> told.shares.put(change.workerId(), change.connections()));
        plan.kills().forEach(kill -> told.killed.add(kill.workerId()));
        for (Plan.Launch launch : plan.launches()) {
            String id = "w" + told.launched.size();
            told.launched.add(id);
            controller.onLaunched(now, id, launch);
        }
        for (Plan.Drain drain : plan.drains()) {
            told.drained.put(drain.workerId(), drain.reason());
            told.graces.put(drain.workerId(), drain.graceNanos());
        }
    }

    private void look() {
        carryOut(controller.evaluate(now, demand(), FleetView.ALONE));
    }

    private Demand demand() {
        return new Demand(
                arrived, completed, serviceNanos, busy, pending, Demand.Tunnels.NONE, 0, new ServiceTimes(), workers);
    }

    private void pass(Duration time) {
        for (long left = time.toNanos(); left > 0; left -= SECOND) {
            now += Math.min(left, SECOND);
            look();
        }
    }

    private void ready(String... ids) {
        for (String id : ids) {
            ready(id, Long.MAX_VALUE);
        }
    }

    private void ready(String id, long deadlineNanos) {
        carryOut(controller.onReady(now, id, 5, deadlineNanos, ""));
    }

    private void readyAll() {
        ready(told.launched.toArray(String[]::new));
    }

    private boolean drainNow(String id) {
        Plan plan = controller.drainNow(now, id);
        carryOut(plan);
        return !plan.drains().isEmpty();
    }

    private void fail(String id, Cause cause) {
        controller.onExit(now, id, new WorkerExit(cause, "broken"));
    }

    /**
     * Simulates {@code perSecond} requests per second of {@code service} each, for {@code time}.
     */
    private void traffic(int perSecond, Duration service, Duration time) {
        for (long left = time.toSeconds(); left > 0; left--) {
            arrived += perSecond;
            completed += perSecond;
            serviceNanos += perSecond * service.toNanos();
            busy = (int) (perSecond * service.toMillis() / 1000);
            pass(Duration.ofSeconds(1));
        }
    }

    // Plans.

    @Test
    void should_launch_what_the_fleet_has_granted_and_ask_for_the_rest() {
        controller = controller(CapacityPolicy.fixed(5));
        Plan plan = controller.evaluate(now, demand(), new FleetView(0, 0, true, true, true, 2, null));
        carryOut(plan);

        assertThat(told.launched).hasSize(2);
        assertThat(plan.ungranted()).isEqualTo(3);
        assertThat(controller.report(now, plan))
                .isEqualTo(new FleetReport(
                        Set.of("w0", "w1"),
                        0,
                        3,
                        List.of(new SlotUse("w0", false, true, 0), new SlotUse("w1", false, true, 0)),
                        null));
    }

    @Test
    void should_count_a_launch_only_when_it_is_reported() {
        controller = controller(CapacityPolicy.fixed(3));
        Plan plan = controller.evaluate(now, demand(), FleetView.ALONE);
        assertThat(controller.evaluate(now, demand(), FleetView.ALONE)).isEqualTo(plan);
        assertThat(controller.status(now, null).starting()).isZero();

        carryOut(plan);
        assertThat(controller.evaluate(now, demand(), FleetView.ALONE)).isEqualTo(Plan.NOTHING);
        assertThat(controller.status(now, null).starting()).isEqualTo(3);
    }

    // Downstream connections.

    private static FunctionOptions sharing(int workers, int connections) {
        return function()
                .capacity(CapacityPolicy.builder()
                        .workers(workers, workers)
                        .downstreamConnections(connections, 1)
                        .build())
                .build();
    }

    @Test
    void should_launch_again_only_when_a_lost_worker_has_certainly_ended() {
        // 8 workers and 2 replacements with 2 connections each.
        controller = controller(sharing(8, 20));
        look();
        readyAll();
        pass(Duration.ofSeconds(12));
        fail("w0", Cause.LOST);
        fail("w1", Cause.LOST);
        fail("w2", Cause.LOST);
        List.of("w0", "w1", "w2").forEach(id -> controller.onDisconnected(now, id, false));
        pass(Duration.ofSeconds(30));

        assertThat(told.launched).hasSize(10);
        assertThat(controller.status(now, null).blockedReason())
                .isEqualTo(
                        "launching is limited by function.downstream-connections: 20, and 7 workers run, start or end, with at"
                                + " most 2 connections each. 3 further workers are lost and may still run");

        // The launch timeout of 30 s and the longest life of 15 min.
        ready("w8", "w9");
        pass(Duration.ofMinutes(16));
        assertThat(told.launched).hasSize(11);
    }

    @Test
    void should_count_a_smaller_share_when_the_worker_has_confirmed_it() {
        controller = controller(sharing(4, 20));
        look();
        readyAll();
        told.launched.forEach(id -> controller.workers().onDownstreamShare(id, 4));
        controller.setOptions(sharing(8, 20));
        pass(Duration.ofSeconds(2));

        assertThat(told.shares)
                .containsOnly(Map.entry("w0", 2), Map.entry("w1", 2), Map.entry("w2", 2), Map.entry("w3", 2));
        assertThat(told.launched)
                .as("4 workers may still have 4 connections each")
                .hasSize(6);

        told.launched.subList(0, 4).forEach(id -> controller.workers().onDownstreamShare(id, 2));
        pass(Duration.ofSeconds(2));
        assertThat(told.launched).hasSize(8);
        assertThat(told.drained).isEmpty();
    }

    @Test
    void should_replace_workers_that_do_not_listen_a_quarter_at_a_time() {
        controller = controller(sharing(8, 40));
        look();
        readyAll();
        controller.setOptions(sharing(8, 20));
        pass(Duration.ofSeconds(3));

        assertThat(told.shares).as("what workers are told that report no share").isEmpty();
        assertThat(told.drained.keySet()).hasSize(2);
        told.drained.keySet().forEach(id -> fail(id, Cause.ENDED));
        pass(Duration.ofSeconds(3));
        assertThat(told.drained.keySet()).hasSize(3);
        assertThat(told.launched).as("the workers have 24 of 20 connections").hasSize(8);
    }

    // Age.

    private static FunctionOptions aging(int workers, Duration age) {
        return function()
                .capacity(CapacityPolicy.builder()
                        .workers(workers, 20)
                        .maxWorkerAge(age)
                        .build())
                .build();
    }

    @Test
    void should_replace_a_ready_worker_at_an_age_that_was_set_later() {
        controller = controller(aging(1, Duration.ZERO));
        look();
        readyAll();
        controller.setOptions(aging(1, Duration.ofMinutes(10)));
        pass(Duration.ofMinutes(10).minusSeconds(1));
        assertThat(told.launched).hasSize(1);

        pass(Duration.ofSeconds(2));
        assertThat(told.launched).hasSize(2);
        assertThat(told.drained).isEmpty();

        ready("w1");
        pass(Duration.ofSeconds(2));
        assertThat(told.drained).containsOnlyKeys("w0");
        assertThat(told.graces).containsEntry("w0", CapacityController.MAX_GRACE_NANOS);
    }

    @Test
    void should_not_replace_all_workers_together_that_are_older_than_a_new_age() {
        controller = controller(aging(8, Duration.ZERO));
        look();
        readyAll();
        pass(Duration.ofMinutes(10));
        controller.setOptions(aging(8, Duration.ofMinutes(5)));
        pass(Duration.ofSeconds(5));

        assertThat(told.launched).hasSize(10);
        assertThat(told.drained).as("their replacements are not ready").isEmpty();
    }

    @Test
    void should_not_drain_old_workers_that_are_ready_again_before_their_replacements_are() {
        controller = controller(aging(8, Duration.ZERO));
        look();
        readyAll();
        pass(Duration.ofMinutes(10));
        controller.setOptions(aging(8, Duration.ofMinutes(5)));
        told.launched.forEach(id -> controller.workers().onUnready(now, id));
        readyAll();
        pass(Duration.ofSeconds(5));

        assertThat(told.launched).hasSize(10);
        assertThat(told.drained).isEmpty();
    }

    // Scale-out.

    @Test
    void should_ask_at_once_for_all_that_a_burst_needs() {
        look();
        arrived = 100;
        pending = 100;
        now += TimeUnit.MILLISECONDS.toNanos(20);
        look();

        assertThat(told.launched).hasSize(20);
    }

    @Test
    void should_not_take_what_piles_up_while_workers_start_for_as_many_at_once() {
        controller = controller(CapacityPolicy.between(1, 100));
        look();
        readyAll();
        traffic(10, Duration.ofMillis(100), Duration.ofSeconds(10));
        // Then 100 requests arrive per second. None is served until the workers that they need have
        // started.
        for (int i = 0; i < 30; i++) {
            now += SECOND / 10;
            arrived += 10;
            pending += 10;
            look();
        }

        // One request is busy and 20 arrived together. A worker has five streams. Of the 25 that
        // start, the load needs 10. The others serve what is queued in 2 s, before another worker
        // could start.
        assertThat(told.launched).hasSize(5);
    }

    @Test
    void should_launch_more_when_a_worker_has_started_but_the_queue_does_not_get_shorter() {
        traffic(110, Duration.ofMillis(100), Duration.ofSeconds(60));
        readyAll();
        traffic(110, Duration.ofMillis(100), Duration.ofSeconds(60));
        assertThat(told.launched).hasSize(3);
        saturated(15, 1);
        assertThat(told.launched).as("no stream is free").hasSize(4);
        saturated(15, 9);
        assertThat(told.launched).as("one starts").hasSize(4);
        readyAll();
        busy = 20;
        look();
        assertThat(told.launched).as("it may clear the queue").hasSize(4);
        saturated(20, 4);
        assertThat(told.launched).as("it does").hasSize(4);
        saturated(20, 4);
        assertThat(told.launched).as("it does not").hasSize(5);
    }

    @Test
    void should_launch_more_if_a_worker_takes_far_longer_to_start_than_others() {
        controller = controller(CapacityPolicy.between(3, 20));
        look();
        readyAll();
        traffic(110, Duration.ofMillis(100), Duration.ofSeconds(60));
        assertThat(told.launched).hasSize(3);
        saturated(15, 1);
        for (int second = 0; second < 3; second++) {
            saturated(15, 60);
            assertThat(told.launched).hasSize(4);
        }
        for (int second = 0; second < 3; second++) {
            saturated(15, 60);
        }
        assertThat(told.launched).hasSize(5);
    }

    /** The next second of the same traffic, which finds all streams busy. */
    private void saturated(int streams, int queued) {
        arrived += 110;
        completed += 110;
        serviceNanos += 11 * SECOND;
        busy = streams;
        pending = queued;
        pass(Duration.ofSeconds(1));
    }

    /** Such as streams of events. How long the queued requests take is not known either. */
    @Test
    void should_launch_more_while_a_worker_starts_if_long_requests_occupy_the_streams() {
        traffic(10, Duration.ofMillis(100), Duration.ofSeconds(60));
        readyAll();
        assertThat(told.launched).hasSize(1);
        busy = 5;
        pending = 1;
        look();
        assertThat(told.launched).hasSize(2);
        pending = 9;
        look();
        assertThat(told.launched).hasSize(3);
    }

    @Test
    void should_not_ask_twice_for_what_is_coming() {
        arrived = 12;
        pending = 12;
        look();
        pass(Duration.ofSeconds(5));

        assertThat(told.launched).hasSize(3);
    }

    @Test
    void should_never_ask_for_more_than_the_maximum() {
        arrived = 5000;
        pending = 5000;
        pass(Duration.ofSeconds(3));

        assertThat(told.launched).hasSize(20);
    }

    @Test
    void should_hold_what_littles_law_says_and_head_room() {
        arrived = 1;
        pending = 1;
        look();
        readyAll();
        pending = 0;
        traffic(80, Duration.ofMillis(500), Duration.ofSeconds(60));

        // 80/s x 0.5 s = 40 streams. With a quarter more, there are 50, five per worker.
        assertThat(told.launched).hasSize(10);
    }

    @Test
    void should_launch_the_minimum_without_any_request() {
        controller = controller(CapacityPolicy.between(3, 20));
        look();

        assertThat(told.launched).hasSize(3);
    }

    @Test
    void should_keep_warm_workers_beyond_the_need_while_there_is_traffic() {
        controller = controller(
                CapacityPolicy.builder().workers(0, 20).minSpareWorkers(2).build());
        pass(Duration.ofSeconds(5));
        assertThat(told.launched).isEmpty();

        arrived = 5;
        busy = 5;
        look();
        assertThat(told.launched).hasSize(3);
    }

    @Test
    void should_count_workers_that_came_by_themselves() {
        controller.workers().onDialled(now, "guest", WorkerKind.BASE);
        ready("guest");
        arrived = 5;
        busy = 5;
        look();

        assertThat(told.launched).isEmpty();
    }

    @Test
    void should_not_count_base_workers_as_starting_or_draining() {
        controller.workers().onDialled(now, "base", WorkerKind.BASE);
        look();
        assertThat(controller.status(now, null).starting()).isZero();
        ready("base");
        controller.workers().onDraining(now, "base", "deadline");
        look();
        assertThat(controller.status(now, null).draining()).isZero();
    }

    // Scale-in.

    @Test
    void should_scale_in_only_when_there_were_too_many_for_a_while_and_not_all_at_once() {
        controller = controller(CapacityPolicy.builder()
                .workers(0, 20)
                .idleTimeout(Duration.ofHours(1))
                .scaleDownDelay(Duration.ofMinutes(1))
                .build());
        arrived = 100;
        busy = 100;
        look();
        readyAll();
        busy = 5;
        pass(Duration.ofSeconds(59));
        assertThat(told.drained).isEmpty();

        pass(Duration.ofSeconds(3));
        assertThat(told.drained).hasSizeBetween(2, 6);
        assertThat(told.drained.values()).containsOnly(DrainCode.SCALE_IN);

        pass(Duration.ofSeconds(60));
        assertThat(told.drained).hasSize(19);
    }

    @Test
    void should_let_the_least_busy_go() {
        arrived = 15;
        busy = 15;
        look();
        readyAll();
        workers = List.of(sample("w0", 3), sample("w1", 1), sample("w2", 2));
        busy = 6;
        pass(Duration.ofSeconds(62));

        assertThat(told.drained).containsOnlyKeys("w1");
    }

    @Test
    void should_drain_what_exceeds_a_lower_maximum_without_the_delay_of_scale_in() {
        controller = controller(CapacityPolicy.fixed(8));
        look();
        readyAll();
        controller.setOptions(function().capacity(CapacityPolicy.fixed(2)).build());
        pass(Duration.ofSeconds(10));

        assertThat(told.drained).hasSize(6);
    }

    /**
     * Clients may keep each draining worker until the end of its grace, while other workers are
     * launched for more requests.
     */
    @Test
    void should_scale_in_busy_workers_only_while_fewer_drain_than_are_ready() {
        arrived = 100;
        busy = 100;
        look();
        readyAll();
        workers = told.launched.stream().map(id -> sample(id, 1)).toList();
        busy = 20;
        pass(Duration.ofMinutes(5));
        assertThat(told.drained).hasSizeBetween(10, 11);

        workers = told.launched.stream().map(id -> sample(id, 0)).toList();
        pass(Duration.ofMinutes(2));
        assertThat(told.drained).hasSizeGreaterThan(12);
    }

    @Test
    void should_scale_to_zero_after_the_idle_time() {
        controller = controller(CapacityPolicy.builder()
                .workers(0, 20)
                .idleTimeout(Duration.ofSeconds(30))
                .scaleDownDelay(Duration.ofSeconds(5))
                .build());
        arrived = 1;
        pending = 1;
        look();
        readyAll();
        pending = 0;
        completed = 1;
        pass(Duration.ofSeconds(29));
        assertThat(told.drained).isEmpty();

        pass(Duration.ofSeconds(7));
        assertThat(told.drained).containsOnlyKeys("w0");
        controller.onExit(now, "w0", new WorkerExit(Cause.ENDED, "drained"));
        pass(Duration.ofSeconds(10));
        assertThat(told.launched).hasSize(1);
    }

    // Deadlines and disconnections.

    /** It still serves, so this dispatcher may have to adopt it in turn. */
    @Test
    void should_know_a_lost_worker_that_another_dispatcher_has_adopted_while_it_is_connected() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        ready("w0");
        fail("w0", Cause.LOST);
        controller.workers().onDisowned(now, "w0");
        assertThat(controller.workers().ids()).contains("w0");

        controller.onDisconnected(now, "w0", false);
        assertThat(controller.workers().ids()).doesNotContain("w0");
    }

    @Test
    void should_forget_an_adopted_worker_without_a_connection_that_was_given_up() {
        look();
        controller.workers().onDialled(now, "adopted", WorkerKind.LAUNCHED);
        ready("adopted");
        controller.workers().onAdopted("adopted");
        controller.onDisconnected(now, "adopted", false);
        carryOut(controller.onGivenUp(now, "adopted"));
        pass(Duration.ofSeconds(32));

        assertThat(told.killed).containsExactly("adopted");
        controller.workers().onDisowned(now, "adopted");
        assertThat(controller.workers().ids()).isEmpty();
    }

    /** It was not ready for long while another dispatcher owned it. */
    @Test
    void should_forget_an_adopted_worker_that_did_not_become_ready_in_time() {
        look();
        controller.workers().onDialled(now, "adopted", WorkerKind.LAUNCHED);
        pass(Duration.ofSeconds(121));
        ready("adopted");
        controller.workers().onAdopted("adopted");
        drainNow("adopted");
        controller.onDisconnected(now, "adopted", true);
        assertThat(told.killed).isEmpty();
        pass(Duration.ofSeconds(32));

        assertThat(told.killed).containsExactly("adopted");
    }

    @Test
    void should_have_a_replacement_ready_before_the_old_one_drains() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        ready("w0", now + 900 * SECOND);
        pass(Duration.ofSeconds(700));
        assertThat(told.launched).hasSize(1);

        pass(Duration.ofSeconds(186));
        assertThat(told.launched).hasSize(2);
        assertThat(told.drained).isEmpty();

        now += SECOND / 2;
        ready("w1");
        look();
        assertThat(told.drained).containsEntry("w0", DrainCode.DEADLINE);
    }

    @Test
    void should_not_think_better_of_a_replacement_that_is_on_its_way() {
        controller = controller(CapacityPolicy.fixed(2));
        look();
        now += 20 * SECOND; // slow to start: replacements are launched early
        told.launched.forEach(id -> ready(id, now + 60 * SECOND));
        while (told.launched.size() < 4) {
            pass(Duration.ofSeconds(1));
        }
        ready("w2", "w3"); // fast to start: later would do next time
        pass(Duration.ofSeconds(3));

        assertThat(told.drained).containsOnly(Map.entry("w0", DrainCode.DEADLINE), Map.entry("w1", DrainCode.DEADLINE));
        pass(Duration.ofSeconds(90));
        assertThat(told.drained).hasSize(2);
        assertThat(told.launched).hasSize(4);
    }

    @Test
    void should_give_a_drained_worker_until_its_deadline() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        ready("w0", now + 30 * SECOND);
        pass(Duration.ofSeconds(24));
        ready("w1");
        look();

        assertThat(told.graces.get("w0")).isBetween(3 * SECOND, 6 * SECOND);
    }

    @Test
    void should_drain_in_time_even_without_a_replacement() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        ready("w0", now + 30 * SECOND);
        pass(Duration.ofMillis(25_500));
        assertThat(told.drained).isEmpty();
        pass(Duration.ofMillis(1000));

        assertThat(told.drained).containsEntry("w0", DrainCode.DEADLINE);
    }

    @Test
    void should_replace_a_worker_that_drains_by_itself() {
        controller = controller(CapacityPolicy.fixed(2));
        look();
        readyAll();
        controller.workers().onDraining(now, "w0", "deadline");
        look();

        assertThat(told.launched).hasSize(3);
    }

    @Test
    void should_not_replace_all_that_were_launched_together_at_once() {
        FunctionOptions function =
                function().capacity(CapacityPolicy.fixed(100)).build();
        controller = controller(function);
        look();
        told.launched.forEach(id -> ready(id, now + 900 * SECOND));
        int most = 0;
        int before = told.launched.size();
        for (int second = 0; second < 898; second++) {
            pass(Duration.ofSeconds(1));
            most = Math.max(most, told.launched.size() - before);
            before = told.launched.size();
            told.launched.stream().skip(100).forEach(id -> ready(id));
        }

        assertThat(told.launched).hasSize(200);
        assertThat(most).isLessThan(10);
    }

    @Test
    void should_end_a_no_show_by_force_and_take_it_for_a_failure() {
        arrived = 1;
        pending = 1;
        pass(Duration.ofSeconds(29));
        assertThat(told.killed).isEmpty();
        pass(Duration.ofSeconds(3));
        assertThat(told.killed).containsExactly("w0");

        fail("w0", Cause.FAILED);
        look();
        assertThat(controller.status(now, null).blockedReason()).contains("broken");
    }

    @Test
    void should_launch_another_for_one_that_lost_its_connections_and_does_not_come_back() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        readyAll();
        pass(Duration.ofSeconds(20));
        controller.onDisconnected(now, "w0", false);
        pass(Duration.ofSeconds(2));
        assertThat(told.launched).hasSize(1);

        pass(Duration.ofSeconds(2));
        assertThat(told.launched).hasSize(2);
    }

    @Test
    void should_go_on_with_a_worker_whose_invoke_was_cut_but_not_its_connection() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        readyAll();
        pass(Duration.ofSeconds(60));
        fail("w0", Cause.FAILED);
        pass(Duration.ofSeconds(60));
        assertThat(told.launched).hasSize(1);

        controller.onDisconnected(now, "w0", false);
        look();
        assertThat(told.launched).hasSize(2);
    }

    @Test
    void should_not_launch_another_for_one_that_dials_in_again() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        readyAll();
        controller.onDisconnected(now, "w0", false);
        pass(Duration.ofSeconds(2));
        controller.workers().onDialled(now, "w0", WorkerKind.LAUNCHED);
        readyAll();
        pass(Duration.ofSeconds(60));

        assertThat(told.launched).hasSize(1);
    }

    @Test
    void should_tell_a_worker_again_to_drain_that_dials_in_as_if_nothing_was() {
        controller = controller(CapacityPolicy.builder()
                .workers(0, 20)
                .idleTimeout(Duration.ofHours(1))
                .scaleDownDelay(Duration.ofSeconds(5))
                .build());
        arrived = 10;
        busy = 10;
        look();
        readyAll();
        busy = 1;
        pass(Duration.ofSeconds(10));
        assertThat(told.drained).containsOnlyKeys("w0");
        told.drained.clear();

        // The worker was disconnected before it received the drain message.
        controller.onDisconnected(now, "w0", false);
        controller.workers().onDialled(now, "w0", WorkerKind.LAUNCHED);
        ready("w0");
        assertThat(told.drained).containsOnlyKeys("w0");
    }

    @Test
    void should_limit_a_worker_again_that_has_dialled_in_again() {
        controller = controller(FunctionOptions.builder("f")
                .streamsPerConnection(100)
                .capacity(CapacityPolicy.fixed(1))
                .build());
        look();
        readyAll();
        pass(Duration.ofSeconds(10));
        carryOut(controller.onLoad(now, "w0", 500, 400_000));
        told.limits.clear();
        controller.onDisconnected(now, "w0", false);
        controller.workers().onDialled(now, "w0", WorkerKind.LAUNCHED);
        ready("w0");

        assertThat(told.limits).containsEntry("w0", 70);
    }

    @Test
    void should_keep_the_worker_that_serves_while_those_too_many_have_not_even_started() {
        controller = controller(CapacityPolicy.builder()
                .workers(0, 20)
                .idleTimeout(Duration.ofHours(1))
                .scaleDownDelay(Duration.ofSeconds(5))
                .build());
        arrived = 20;
        busy = 20;
        look();
        ready("w0");
        busy = 1;
        pass(Duration.ofSeconds(20));
        assertThat(told.drained).isEmpty();

        ready("w1", "w2", "w3");
        pass(Duration.ofSeconds(5));
        assertThat(told.drained).hasSize(3);
    }

    @Test
    void should_end_a_drained_worker_by_force_that_has_gone_but_does_not_exit() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        readyAll();
        controller.workers().onDraining(now, "w0", "deadline");
        look();
        ready("w1");
        pass(Duration.ofMinutes(10)); // a long response
        assertThat(told.killed).isEmpty();

        controller.onDisconnected(now, "w0", true);
        pass(Duration.ofSeconds(28));
        assertThat(told.killed).isEmpty();
        pass(Duration.ofSeconds(4));
        assertThat(told.killed).containsExactly("w0");
    }

    // The launch guard.

    @Test
    void should_not_launch_ever_more_for_workers_that_lose_their_connections_again_and_again() {
        controller = controller(CapacityPolicy.fixed(10));
        int seen = 0;
        int ended = 0;
        int mostAlive = 0;
        for (int second = 0; second < 300; second++) {
            pass(Duration.ofSeconds(1));
            for (; seen < told.launched.size(); seen++) {
                ready(told.launched.get(seen));
                controller.onDisconnected(now, told.launched.get(seen), false);
            }
            mostAlive = Math.max(mostAlive, told.launched.size() - ended);
            for (; ended < told.killed.size(); ended++) {
                fail(told.killed.get(ended), Cause.FAILED);
            }
        }

        assertThat(mostAlive).isEqualTo(20);
        assertThat(told.launched).hasSizeBetween(40, 250);
    }

    /** Its launcher has not yet said that it has ended, and may never say so. */
    @Test
    void should_launch_another_for_one_that_was_ended_because_it_hangs_at_its_start() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        controller.workers().onDialled(now, "w0", WorkerKind.LAUNCHED);
        pass(Duration.ofSeconds(119));
        assertThat(told.launched).hasSize(1);
        pass(Duration.ofSeconds(5));
        assertThat(told.killed).containsExactly("w0");
        assertThat(told.launched).hasSize(2);
    }

    @Test
    void should_launch_another_for_one_that_hangs_at_its_start_and_is_not_seen_to_end() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        controller.workers().onDialled(now, "w0", WorkerKind.LAUNCHED);
        pass(Duration.ofSeconds(121));
        assertThat(told.killed).containsExactly("w0");

        fail("w0", Cause.FAILED); // given up by the launcher, but its connection is there
        pass(Duration.ofSeconds(3));
        assertThat(told.launched).hasSize(2);
    }

    @Test
    void should_take_a_worker_that_says_goodbye_before_it_was_ready_for_a_failure() {
        controller = controller(CapacityPolicy.fixed(10));
        int seen = 0;
        for (int second = 0; second < 600; second++) {
            pass(Duration.ofSeconds(1));
            for (; seen < told.launched.size(); seen++) {
                controller.workers().onDialled(now, told.launched.get(seen), WorkerKind.LAUNCHED);
                controller.onDisconnected(now, told.launched.get(seen), true);
                fail(told.launched.get(seen), Cause.ENDED);
            }
        }

        // First all workers are launched, then half as many each time, then a probe from time to
        // time.
        assertThat(told.launched).hasSizeBetween(25, 80);
    }

    @Test
    void should_launch_another_probe_when_one_fails_after_an_older_worker_has_settled() {
        controller = controller(CapacityPolicy.fixed(2));
        look();
        ready("w0");
        fail("w1", Cause.REFUSED);
        while (told.launched.size() == 2) {
            pass(Duration.ofSeconds(1));
        }
        pass(Duration.ofSeconds(11)); // w0 has worked for a while: failures count from one again
        fail("w2", Cause.FAILED);
        pass(Duration.ofMinutes(3));

        assertThat(told.launched).hasSizeGreaterThan(3);
    }

    @Test
    void should_never_launch_more_in_a_minute_than_permitted_however_much_waits_and_fails() {
        controller = controller(FunctionOptions.builder("f")
                .streamsPerConnection(1)
                .capacity(CapacityPolicy.between(0, 1000))
                .launching(LaunchLimits.builder().launchesPerMinute(50).build())
                .build());
        arrived = 1000;
        pending = 1000;
        ArrayDeque<Long> minute = new ArrayDeque<>();
        int most = 0;
        int seen = 0;
        for (int step = 0; step < 20 * 60 * 10; step++) {
            now += SECOND / 20;
            look();
            for (; seen < told.launched.size(); seen++) {
                minute.addLast(now);
                fail(told.launched.get(seen), Cause.FAILED);
            }
            while (!minute.isEmpty() && now - minute.peekFirst() >= 60 * SECOND) {
                minute.pollFirst();
            }
            most = Math.max(most, minute.size());
        }

        assertThat(most).isLessThanOrEqualTo(50).isGreaterThan(1);
        // While the circuit is open, only probes are launched.
        assertThat(told.launched).hasSizeBetween(60, 150);
        assertThat(controller.status(now, null).blockedReason())
                .startsWith("launching is blocked by the open circuit breaker");
    }

    @Test
    void should_close_the_circuit_when_the_probe_works() {
        controller = controller(CapacityPolicy.fixed(10));
        int seen = 0;
        for (int second = 0; second < 120; second++) {
            pass(Duration.ofSeconds(1));
            for (; seen < told.launched.size(); seen++) {
                fail(told.launched.get(seen), Cause.FAILED);
            }
        }
        assertThat(controller.status(now, null).blockedReason())
                .startsWith("launching is blocked by the open circuit breaker");
        while (told.launched.size() == seen) {
            pass(Duration.ofSeconds(1));
        }
        pass(Duration.ofSeconds(3));
        assertThat(told.launched).hasSize(seen + 1);

        ready(told.launched.get(seen));
        pass(Duration.ofSeconds(1));
        assertThat(told.launched).hasSize(seen + 10);
        assertThat(controller.status(now, null).blockedReason()).isNull();
    }

    @Test
    void should_open_the_circuit_at_once_when_the_launch_is_refused() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        fail("w0", Cause.REFUSED);
        look();

        assertThat(controller.status(now, null).blockedReason())
                .startsWith("launching is blocked by the open circuit breaker")
                .contains("broken");
    }

    @Test
    void should_say_for_how_long_the_open_circuit_blocks_launches() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        pass(Duration.ofSeconds(10));
        assertThat(controller.pause(now)).isNull(); // w0 is starting
        fail("w0", Cause.REFUSED);

        LaunchPause pause = controller.pause(now);

        assertThat(pause).isNotNull();
        assertThat(pause.refusesAll()).isTrue();
        assertThat(pause.untilNanos() - now).isBetween(SECOND, 60 * SECOND);
        now = pause.untilNanos() - 1;
        look();
        assertThat(told.launched).hasSize(1);
        now = pause.untilNanos();
        assertThat(controller.pause(now)).isNull();
        look();
        assertThat(told.launched).hasSize(2);
        assertThat(controller.pause(now)).isNull(); // the probe runs
    }

    @Test
    void should_not_pause_while_workers_of_a_previous_dispatcher_may_dial_in() {
        controller.setLaunching(false);
        look();
        pass(Duration.ofSeconds(4));
        assertThat(controller.pause(now)).isNull();
        controller.workers().onDialled(now, "earlier", WorkerKind.LAUNCHED);
        pass(Duration.ofSeconds(1));
        assertThat(controller.pause(now)).isNull();

        controller.onDisconnected(now, "earlier", true);
        assertThat(controller.pause(now)).isNotNull();
    }

    @Test
    void should_not_pause_while_other_dispatchers_have_workers() {
        controller.setLaunching(false);
        pass(Duration.ofSeconds(10));
        assertThat(controller.pause(now)).isNotNull();

        controller.evaluate(
                now,
                new Demand(0, 0, 0, 0, 0, Demand.Tunnels.NONE, 0, new ServiceTimes(), List.of()),
                new FleetView(0, 1, true, true, true, 0, null));
        assertThat(controller.pause(now)).isNull();
    }

    /** Others may have reached the spending limit. */
    @Test
    void should_not_let_requests_overflow_before_the_ledger_is_read() {
        FleetView unread = new FleetView(0, 0, false, true, true, 0, null);
        look();
        now += 10 * SECOND;
        controller.evaluate(now, demand(), unread);
        assertThat(controller.permitsOverflow()).isFalse();
        assertThat(controller.pause(now)).as("a reason that is not known").isNull();

        controller.evaluate(
                now, demand(), new FleetView(0, 0, false, true, true, 0, new Rollout.Seat("d", true, "d", "")));
        assertThat(controller.permitsOverflow()).isTrue();
    }

    /** Ten workers of 1 GB spend 600 GB-seconds in the first minute, which is the ceiling. */
    @Test
    void should_say_for_how_long_the_spending_limit_blocks_launches() {
        controller = controller(function()
                .capacity(CapacityPolicy.fixed(10))
                .launching(LaunchLimits.builder()
                        .gbSecondsPerHour(600)
                        .workerMegabytes(1024)
                        .build())
                .build());
        long began = now;
        look();
        readyAll();
        while (controller.status(now, null).ready() > 0) {
            pass(Duration.ofSeconds(1));
            told.drained.keySet().forEach(id -> {
                controller.onDisconnected(now, id, true);
                fail(id, Cause.ENDED);
            });
        }

        LaunchPause pause = controller.pause(now);

        assertThat(pause).isNotNull();
        assertThat(pause.refusesAll()).isFalse();
        now = pause.untilNanos();
        assertThat(now - began).isGreaterThan(Duration.ofHours(1).toNanos());
        int before = told.launched.size();
        look();
        assertThat(told.launched).hasSizeGreaterThan(before);
    }

    @Test
    void should_not_blame_a_spending_limit_that_allows_exactly_what_is_wanted() {
        controller = controller(function()
                .capacity(CapacityPolicy.between(10, 20))
                .launching(LaunchLimits.builder()
                        .gbSecondsPerHour(600)
                        .workerMegabytes(1024)
                        .build())
                .build());
        look();

        assertThat(told.launched).hasSize(10);
        assertThat(controller.status(now, null).blockedReason()).isNull();
    }

    @Test
    void should_wait_after_a_throttle_without_opening_the_circuit() {
        controller = controller(CapacityPolicy.fixed(20));
        int seen = 0;
        for (int second = 0; second < 60; second++) {
            pass(Duration.ofSeconds(1));
            for (; seen < told.launched.size(); seen++) {
                if (seen < 5) {
                    ready(told.launched.get(seen));
                } else {
                    fail(told.launched.get(seen), Cause.THROTTLED);
                }
            }
        }

        assertThat(told.launched).hasSizeBetween(22, 80);
        assertThat(controller.status(now, null).ready()).isEqualTo(5);
        assertThat(controller.status(now, null).blockedReason())
                .satisfiesAnyOf(
                        text -> assertThat(text).isNull(),
                        text -> assertThat(text).startsWith("launching is throttled"));
    }

    @Test
    void should_let_requests_wait_while_the_function_is_being_prepared() {
        controller = controller(CapacityPolicy.fixed(2));
        int seen = 0;
        for (int step = 0; step < 360; step++) {
            now += SECOND / 2;
            look();
            for (; seen < told.launched.size(); seen++) {
                fail(told.launched.get(seen), Cause.NOT_READY);
            }
            assertThat(controller.pause(now)).isNull();
        }
        assertThat(told.launched).hasSizeBetween(30, 120);
        assertThat(controller.status(now, null).blockedReason())
                .startsWith("the function is being prepared by its platform, last answer: ");
        for (int step = 0; step < 20 && seen == told.launched.size(); step++) {
            now += SECOND / 2;
            look();
        }
        ready(told.launched.get(seen));
        assertThat(controller.status(now, null).blockedReason()).isNull();
    }

    @Test
    void should_back_off_from_workers_that_crash_soon_after_they_were_ready() {
        controller = controller(CapacityPolicy.fixed(1));
        int seen = 0;
        for (int step = 0; step < 600; step++) {
            now += SECOND / 2;
            look();
            for (; seen < told.launched.size(); seen++) {
                ready(told.launched.get(seen));
                fail(told.launched.get(seen), Cause.FAILED);
                controller.onDisconnected(now, told.launched.get(seen), false);
            }
        }

        assertThat(told.launched).hasSizeBetween(5, 60);
    }

    @Test
    void should_launch_nothing_while_it_is_switched_off() {
        controller = controller(CapacityPolicy.fixed(4));
        controller.setLaunching(false);
        pass(Duration.ofSeconds(30));
        assertThat(told.launched).isEmpty();
        assertThat(controller.status(now, null).blockedReason()).isEqualTo("launching is paused by the kill switch");

        controller.setLaunching(true);
        look();
        assertThat(told.launched).hasSize(4);
    }

    @Test
    void should_replace_a_worker_that_is_not_ready_any_more() {
        controller = controller(CapacityPolicy.fixed(2));
        look();
        readyAll();
        pass(Duration.ofSeconds(5));
        assertThat(controller.status(now, null).ready()).isEqualTo(2);

        controller.workers().onUnready(now, "w0");
        pass(Duration.ofSeconds(2));
        assertThat(controller.status(now, null).ready()).isEqualTo(1);
        assertThat(told.launched).as("it may be back in a moment").hasSize(2);
        pass(Duration.ofSeconds(2));
        assertThat(told.launched).hasSize(3);

        ready("w0");
        pass(Duration.ofSeconds(1));
        assertThat(controller.status(now, null).ready()).isEqualTo(2);
    }

    @Test
    void should_end_a_worker_that_does_not_become_ready_again() {
        controller = controller(CapacityPolicy.fixed(1));
        look();
        readyAll();
        controller.workers().onUnready(now, "w0");
        pass(Duration.ofSeconds(110));
        assertThat(told.killed).doesNotContain("w0");
        pass(Duration.ofSeconds(15));
        assertThat(told.killed).contains("w0");
    }

    @Test
    void should_not_end_a_worker_of_others_that_was_not_ready_for_long() {
        controller.workers().onDialled(now, "base", WorkerKind.BASE);
        ready("base");
        controller.workers().onUnready(now, "base");
        pass(Duration.ofSeconds(150));
        ready("base");

        assertThat(told.killed).isEmpty();
        assertThat(controller.workers().endReason("base")).isEmpty();
    }

    private static FunctionOptions frugal() {
        return function()
                .capacity(CapacityPolicy.fixed(10))
                .launching(LaunchLimits.builder()
                        .launchesPerMinute(10)
                        .gbSecondsPerHour(6000)
                        .workerMegabytes(1024)
                        .build())
                .build();
    }

    @Test
    void should_remember_after_a_restart_what_was_spent() {
        controller = controller(frugal());
        look();
        pass(Duration.ofMinutes(4));
        double spent = controller.status(now, null).gbSecondsLastHour();
        assertThat(spent).isEqualTo(2400);
        LaunchHistory history = controller.history(now);

        controller = controller(frugal());
        controller.restore(now, history, Duration.ofSeconds(30).toNanos());
        look();
        assertThat(controller.status(now, null).gbSecondsLastHour()).isEqualTo(spent);
        // Spending no longer counts after an hour. The time without a dispatcher is part of this
        // hour.
        controller = controller(frugal());
        controller.restore(now, history, Duration.ofMinutes(59).toNanos());
        look();
        assertThat(controller.status(now, null).gbSecondsLastHour()).isBetween(1.0, 1200.0);
        controller = controller(frugal());
        controller.restore(now, history, Duration.ofDays(3).toNanos());
        look();
        assertThat(controller.status(now, null).gbSecondsLastHour()).isZero();
    }

    @Test
    void should_remember_after_a_restart_how_many_were_launched() {
        controller = controller(frugal());
        look();
        assertThat(told.launched).hasSize(10);
        LaunchHistory history = controller.history(now);

        controller = controller(frugal());
        controller.restore(now, history, 20 * SECOND);
        pass(Duration.ofSeconds(39));
        assertThat(told.launched).hasSize(10);
        pass(Duration.ofSeconds(2));
        assertThat(told.launched).hasSize(20);
    }

    @Test
    void should_stay_switched_off_after_a_restart() {
        controller.setLaunching(false);
        LaunchHistory history = controller.history(now);
        controller = controller(frugal());
        controller.restore(now, history, SECOND);
        pass(Duration.ofMinutes(2));
        assertThat(told.launched).isEmpty();
        assertThat(controller.status(now, null).blockedReason()).isEqualTo("launching is paused by the kill switch");

        controller.setLaunching(true);
        pass(Duration.ofSeconds(1));
        assertThat(told.launched).hasSize(10);
    }

    @Test
    void should_count_what_overflows_against_the_ceiling() {
        controller = controller(function()
                .capacity(CapacityPolicy.between(0, 10))
                .launching(LaunchLimits.builder()
                        .gbSecondsPerHour(1000)
                        .workerMegabytes(2048)
                        .build())
                .build());
        look();
        controller.onOverflow(499 * SECOND);
        look();
        assertThat(controller.permitsOverflow()).isTrue();
        assertThat(controller.status(now, null).gbSecondsLastHour()).isEqualTo(998);

        controller.onOverflow(SECOND);
        look();
        assertThat(controller.permitsOverflow()).isFalse();
        assertThat(controller.status(now, null).blockedReason()).contains("1000 GB-seconds");

        pass(Duration.ofMinutes(62));
        assertThat(controller.permitsOverflow()).isTrue();
    }

    /** Without the ceiling, they would spend 36,000 GB-seconds in an hour. */
    private void tenWorkersWithCeiling() {
        controller = controller(function()
                .capacity(CapacityPolicy.fixed(10))
                .launching(LaunchLimits.builder()
                        .gbSecondsPerHour(6000)
                        .workerMegabytes(1024)
                        .launchesPerMinute(1000)
                        .build())
                .build());
    }

    @Test
    void should_not_spend_more_in_an_hour_than_the_ceiling() {
        tenWorkersWithCeiling();
        double most = 0;
        for (int second = 0; second < 3 * 3600; second++) {
            pass(Duration.ofSeconds(1));
            told.launched.forEach(id -> {
                if (!told.drained.containsKey(id)) {
                    ready(id);
                }
            });
            told.drained.keySet().forEach(id -> controller.onExit(now, id, new WorkerExit(Cause.ENDED, "")));
            most = Math.max(most, controller.status(now, null).gbSecondsLastHour());
        }

        assertThat(most).isBetween(5000.0, 6000.0);
        assertThat(controller.status(now, null).gbSecondsTotal()).isGreaterThan(12_000);
    }

    /** Their requests last longer than the limit has room for. */
    @Test
    void should_not_spend_more_than_the_ceiling_on_workers_that_do_not_end() {
        tenWorkersWithCeiling();
        busy = 50;
        double most = 0;
        for (int second = 0; second < 3600; second++) {
            pass(Duration.ofSeconds(1));
            told.launched.stream().filter(id -> !told.drained.containsKey(id)).forEach(this::ready);
            workers = told.launched.stream()
                    .filter(id -> !told.killed.contains(id))
                    .map(id -> sample(id, 5))
                    .toList();
            told.killed.forEach(id -> fail(id, Cause.ENDED));
            most = Math.max(most, controller.status(now, null).gbSecondsLastHour());
        }
        assertThat(most).isBetween(5700.0, 6000.0);
    }

    /** Otherwise, each new version would add as many workers as requests keep. */
    @Test
    void should_count_draining_workers_among_the_twice_as_many_that_may_run() {
        controller = controller(CapacityPolicy.fixed(4));
        for (int round = 0; round < 5; round++) {
            look();
            told.launched.stream().filter(id -> !told.drained.containsKey(id)).forEach(this::ready);
            workers = told.launched.stream().map(id -> sample(id, 5)).toList();
            told.launched.forEach(this::drainNow);
            pass(Duration.ofSeconds(5));
        }
        assertThat(told.launched).hasSize(8);
        assertThat(controller.status(now, null).blockedReason())
                .isEqualTo("launching is limited by function.max-workers: 8 workers run, start or drain");
    }

    @Test
    void should_blame_no_maximum_if_no_worker_is_missing() {
        controller = controller(CapacityPolicy.fixed(8));
        look();
        readyAll();
        controller.setOptions(function().capacity(CapacityPolicy.fixed(2)).build());
        told.launched.subList(0, 6).forEach(this::drainNow);
        pass(Duration.ofSeconds(1));
        assertThat(told.drained).hasSize(6);
        assertThat(controller.status(now, null).blockedReason()).isNull();
    }

    // Ejected and overloaded workers.

    private static WorkerDemand sample(String id, int busy) {
        return ejected(id, busy, 0, null);
    }

    private static WorkerDemand ejected(String id, int busy, int times, @Nullable String reason) {
        return new WorkerDemand(id, 5, busy, busy, 0, 0, null, times, reason);
    }

    private static final String REASON = "5 of its 5 requests failed, and 0 of 90 of the other workers";

    /** Four workers are ready and needed, of at most {@code max}. */
    private void fourWorkers(int max) {
        controller = controller(CapacityPolicy.between(4, max));
        look();
        readyAll();
        workers = List.of(sample("w0", 1), sample("w1", 1), sample("w2", 1), sample("w3", 1));
        pass(Duration.ofSeconds(1));
        assertThat(told.launched).hasSize(4);
    }

    private void eject(int times) {
        workers = List.of(ejected("w0", 0, times, REASON), sample("w1", 1), sample("w2", 1), sample("w3", 1));
    }

    @Test
    void should_replace_an_ejected_worker_once_and_drain_it_at_its_third_ejection() {
        fourWorkers(20);
        eject(1);
        pass(Duration.ofSeconds(10));
        assertThat(told.launched).hasSize(5);
        ready("w4");
        eject(2);
        pass(Duration.ofSeconds(20));
        assertThat(told.drained).isEmpty();
        assertThat(controller.workers().facts(now).get("w0").ejection()).isEqualTo(REASON);
        eject(3);
        pass(Duration.ofSeconds(10));
        assertThat(told.drained).containsOnlyKeys("w0");
        end("w0");
        pass(Duration.ofSeconds(10));
        assertThat(told.launched).hasSize(5);
    }

    /** With a maximum of four, five workers ran. */
    @Test
    void should_replace_an_ejected_worker_within_the_maximum() {
        fourWorkers(4);
        eject(1);
        pass(Duration.ofSeconds(1));
        assertThat(told.drained).containsOnlyKeys("w0");
        assertThat(told.launched).hasSize(4);

        end("w0");
        pass(Duration.ofSeconds(1));
        assertThat(told.launched).hasSize(5);
        pass(Duration.ofSeconds(10));
        assertThat(told.launched).hasSize(5);
    }

    @Test
    void should_not_wait_for_long_until_an_ejected_worker_has_ended() {
        fourWorkers(4);
        eject(1);
        pass(Duration.ofSeconds(4));
        assertThat(told.launched).hasSize(4);
        pass(Duration.ofSeconds(4));
        assertThat(told.launched).hasSize(5);
    }

    /** Otherwise, one worker after the other would end. */
    @Test
    void should_keep_an_ejected_worker_while_no_replacement_may_be_launched() {
        fourWorkers(4);
        controller.setLaunching(false);
        eject(1);
        pass(Duration.ofSeconds(10));
        assertThat(told.drained).isEmpty();

        controller.setLaunching(true);
        pass(Duration.ofSeconds(1));
        assertThat(told.drained).containsOnlyKeys("w0");
    }

    @Test
    void should_keep_an_ejected_worker_that_needs_no_replacement() {
        fourWorkers(5);
        controller.setOptions(function().capacity(CapacityPolicy.between(3, 5)).build());
        eject(1);
        pass(Duration.ofSeconds(10));
        assertThat(told.launched).hasSize(4);
        assertThat(told.drained).isEmpty();
    }

    @Test
    void should_give_fewer_exchanges_to_a_worker_whose_event_loop_is_late_and_more_again_later() {
        controller = controller(FunctionOptions.builder("f")
                .streamsPerConnection(100)
                .capacity(CapacityPolicy.fixed(1))
                .build());
        look();
        readyAll();
        carryOut(controller.onLoad(now, "w0", 500, 400_000));
        assertThat(told.limits).isEmpty();
        pass(Duration.ofSeconds(10));
        carryOut(controller.onLoad(now, "w0", 500, 400_000));
        assertThat(told.limits).containsEntry("w0", 70);

        workers = List.of(sample("w0", 100));
        pass(Duration.ofSeconds(30));
        assertThat(told.limits).containsEntry("w0", Plan.Limit.NONE);
    }

    @Test
    void should_launch_more_workers_where_each_can_cope_with_less() {
        controller = controller(FunctionOptions.builder("f")
                .streamsPerConnection(100)
                .capacity(CapacityPolicy.between(1, 10))
                .build());
        look();
        readyAll();
        carryOut(controller.onLoad(now, "w0", 500, 400_000));
        assertThat(told.limits).isEmpty();
        pass(Duration.ofSeconds(10));
        carryOut(controller.onLoad(now, "w0", 500, 400_000));
        arrived = 200;
        busy = 100;
        pending = 100;
        look();

        assertThat(told.launched).hasSize(3);
    }

    // What an operator asks for.

    private void end(String... ids) {
        for (String id : ids) {
            controller.onDisconnected(now, id, true);
            controller.onExit(now, id, new WorkerExit(Cause.ENDED, "done"));
        }
    }

    @Test
    void should_drain_a_worker_at_once_and_launch_another_afterwards() {
        controller = controller(CapacityPolicy.between(2, 4));
        look();
        readyAll();

        assertThat(drainNow("w0")).isTrue();
        assertThat(drainNow("w0")).as("again").isFalse();
        assertThat(drainNow("unknown")).isFalse();
        assertThat(told.drained).isEqualTo(Map.of("w0", DrainCode.REQUESTED));
        assertThat(told.launched).hasSize(2);
        pass(Duration.ofSeconds(1));

        assertThat(told.launched).hasSize(3);
        assertThat(told.drained).hasSize(1);
        assertThat(drainNow("w2")).as("a worker that starts").isFalse();
    }

    @Test
    void should_replace_a_quarter_at_a_time_and_drain_only_what_is_replaced() {
        controller = controller(CapacityPolicy.between(8, 8));
        look();
        readyAll();
        pass(Duration.ofSeconds(1));
        List<String> old = List.copyOf(told.launched);
        old.forEach(id -> assertThat(controller.recycle(id)).isTrue());
        for (int replaced = 0; replaced < 8; replaced += 2) {
            pass(Duration.ofSeconds(5));
            assertThat(told.launched).hasSize(8 + replaced + 2);
            assertThat(told.drained).as("while replacements start").hasSize(replaced);

            ready(told.launched.get(8 + replaced), told.launched.get(9 + replaced));
            look();
            assertThat(told.drained).hasSize(replaced + 2);
            end(old.get(replaced), old.get(replaced + 1));
        }
        pass(Duration.ofSeconds(60));

        assertThat(told.drained.keySet()).containsExactlyElementsOf(old);
        assertThat(told.drained.values()).containsOnly(DrainCode.REQUESTED);
        assertThat(told.launched).hasSize(16);
    }

    @Test
    void should_keep_the_workers_whose_replacements_fail() {
        controller = controller(CapacityPolicy.between(8, 8));
        look();
        readyAll();
        List.copyOf(told.launched).forEach(controller::recycle);
        for (int i = 0; i < 60; i++) {
            pass(Duration.ofSeconds(1));
            for (int failed = 8; failed < told.launched.size(); failed++) {
                fail(told.launched.get(failed), Cause.FAILED);
            }
        }

        assertThat(told.launched.size()).isGreaterThan(9);
        assertThat(told.drained).isEmpty();
    }

    @Test
    void should_replace_only_its_own_workers_that_stay() {
        controller = controller(CapacityPolicy.between(1, 2));
        look();
        readyAll();
        controller.workers().onDialled(now, "self-launched", WorkerKind.BASE);
        ready("self-launched", Long.MAX_VALUE);
        drainNow("w0");

        assertThat(controller.recycle("w0")).as("it drains").isFalse();
        assertThat(controller.recycle("self-launched")).isFalse();
        assertThat(controller.recycle("unknown")).isFalse();
    }

    /** Nobody replaces it, so its age is no reason to cut off its requests. */
    @Test
    void should_not_limit_the_age_of_base_workers() {
        controller = controller(CapacityPolicy.builder()
                .workers(0, 1)
                .maxWorkerAge(Duration.ofHours(1))
                .build());
        controller.workers().onDialled(now, "base", WorkerKind.BASE);
        ready("base");
        pass(Duration.ofHours(2));

        assertThat(drainNow("base")).isTrue();
        assertThat(told.graces).containsEntry("base", CapacityController.MAX_GRACE_NANOS);
    }
}
