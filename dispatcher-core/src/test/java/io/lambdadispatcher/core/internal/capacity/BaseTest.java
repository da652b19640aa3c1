package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The controller with a base, that is, with workers that nobody launches. */
class BaseTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    /** Streams of a launched worker, as by default. */
    private static final int STREAMS = 100;

    private static final String IN_PROCESS = WorkerLives.IN_PROCESS_PREFIX + "1";

    private static final int TENTHS_OF_START = 10;

    private CapacityController controller = controller(CapacityPolicy.between(0, 20));
    private final List<String> launched = new ArrayList<>();
    private final List<String> drained = new ArrayList<>();
    /** What the connected workers are. */
    private final Map<String, WorkerDemand> workers = new LinkedHashMap<>();

    private FleetView fleet = FleetView.ALONE;
    private long now = 77 * SECOND;
    private long arrived;
    private final Map<String, Integer> limits = new HashMap<>();
    private int busy;
    private int pending;
    private Demand.Tunnels tunnels = Demand.Tunnels.NONE;
    /** Streams that other dispatchers use, as the workers say. */
    private int taken;

    private static CapacityController controller(CapacityPolicy policy) {
        FunctionOptions function = FunctionOptions.builder("f")
                .streamsPerConnection(STREAMS)
                .capacity(policy)
                .build();
        return new CapacityController(function, new Random(42));
    }

    private static WorkerDemand worker(String id, int streams, int busy, @Nullable String ejection) {
        return new WorkerDemand(id, streams, busy, busy, 0, 0, null, ejection == null ? 0 : 1, ejection);
    }

    private void connect(String id, int streams) {
        connect(id, WorkerKind.BASE, streams);
    }

    private void connect(String id, WorkerKind kind, int streams) {
        workers.put(id, worker(id, streams, 0, null));
        controller.workers().onDialled(now, id, kind);
        carryOut(controller.onReady(now, id, streams, WorkerLife.NEVER, ""));
    }

    private void leave(String id) {
        workers.remove(id);
        controller.onDisconnected(now, id, false);
    }

    private void look() {
        carryOut(controller.evaluate(
                now,
                new Demand(
                        arrived,
                        arrived - busy - pending,
                        (arrived - busy - pending) * SECOND / 5,
                        busy,
                        pending,
                        tunnels,
                        taken,
                        new ServiceTimes(),
                        List.copyOf(workers.values())),
                fleet));
    }

    private void carryOut(Plan plan) {
        for (Plan.Launch launch : plan.launches()) {
            String id = "w" + launched.size();
            launched.add(id);
            controller.onLaunched(now, id, launch);
        }
        plan.drains().forEach(drain -> drained.add(drain.workerId()));
        plan.limits().forEach(limit -> limits.put(limit.workerId(), limit.exchanges()));
    }

    private void startAll() {
        now += SECOND;
        launched.stream()
                .filter(id -> !workers.containsKey(id))
                .toList()
                .forEach(id -> connect(id, WorkerKind.LAUNCHED, STREAMS));
        look();
    }

    /** Requests of 200 ms arrive evenly. */
    private void traffic(int perSecond, int seconds) {
        for (int second = 0; second < seconds; second++) {
            now += SECOND;
            arrived += perSecond;
            busy = perSecond / 5;
            look();
        }
    }

    /**
     * Without the streams that it has opened, it would count as 100, and the request would fail.
     */
    @Test
    void should_launch_at_once_if_the_base_is_full() {
        connect("base", 4);
        arrived = 4;
        busy = 4;
        look();
        assertThat(launched).isEmpty();

        now += SECOND / 10;
        arrived = 7;
        pending = 3;
        look();
        assertThat(launched).hasSize(1);
    }

    /** A handler in process serves no WebSockets, however idle it is. */
    @Test
    void should_launch_for_websockets_that_the_base_does_not_serve_and_keep_the_worker_for_them() {
        connect(IN_PROCESS, 100);
        traffic(5, 20);
        assertThat(launched).isEmpty();

        tunnels = new Demand.Tunnels(0, 1);
        look();
        assertThat(launched).hasSize(1);
        tunnels = new Demand.Tunnels(1, 0);
        startAll();
        traffic(5, 300);
        assertThat(launched).hasSize(1);
        assertThat(drained).isEmpty();

        tunnels = Demand.Tunnels.NONE;
        traffic(5, 300);
        assertThat(drained).hasSize(1);
    }

    @Test
    void should_launch_for_waiting_websockets_beside_ordinary_requests() {
        connect(IN_PROCESS, 10);
        arrived = 110;
        busy = 110;
        look();
        assertThat(launched).hasSize(1);
        tunnels = new Demand.Tunnels(0, 1);
        look();
        assertThat(launched).hasSize(2);
    }

    @Test
    void should_launch_no_workers_for_websockets_that_other_base_workers_serve() {
        connect(IN_PROCESS, 100);
        connect("base", 50);
        arrived = 40;
        busy = 40;
        tunnels = new Demand.Tunnels(40, 0);
        look();
        assertThat(launched).isEmpty();
    }

    /** They are counted among those of the fleet, of which others need as many. */
    @Test
    void should_launch_for_websockets_although_others_of_the_fleet_have_launched() {
        connect(IN_PROCESS, 100);
        fleet = new FleetView(STREAMS, 1, true, true, true, 10, null);
        tunnels = new Demand.Tunnels(0, 1);
        look();
        assertThat(launched).hasSize(1);
    }

    /** The sample that lists workers comes once a second. Before it, the base counted as 100. */
    @Test
    void should_count_a_new_base_worker_with_its_own_streams_immediately() {
        look();
        connect("base", 4);
        now += SECOND / 10;
        workers.clear();
        arrived = 7;
        busy = 4;
        pending = 3;
        look();

        assertThat(launched).hasSize(1);
        assertThat(controller.status(now, null).base()).isEqualTo(new CapacitySnapshot.Base(1, 4, 0, 3, "", null));
    }

    /**
     * 14 streams never end, and so are no part of the mean load, for which the base is large
     * enough.
     */
    @Test
    void should_launch_within_two_seconds_if_long_requests_occupy_the_base() {
        connect("base", 18);
        traffic(50, 20);
        assertThat(launched).isEmpty();

        busy = 18;
        for (int i = 1; i <= 20; i++) {
            now += SECOND / 10;
            arrived += 5;
            pending += 3;
            look();
        }
        assertThat(launched).isNotEmpty();
    }

    @Test
    void should_launch_the_minimum_beside_the_base_and_nothing_without_one() {
        connect("base", 4);
        traffic(10, 30);
        assertThat(launched).isEmpty();

        controller = controller(CapacityPolicy.between(2, 20));
        connect("base", 4);
        look();
        assertThat(launched).hasSize(2);
    }

    @Test
    void should_keep_spare_workers_beside_the_base_while_there_is_traffic() {
        controller = controller(
                CapacityPolicy.builder().workers(0, 20).minSpareWorkers(2).build());
        connect("base", 50);
        look();
        assertThat(launched).isEmpty();

        traffic(10, 1);
        assertThat(launched).hasSize(2);
    }

    @Test
    void should_not_count_the_base_against_the_maximum() {
        controller = controller(CapacityPolicy.between(0, 2));
        connect("base-1", 4);
        connect("base-2", 4);
        arrived = 1000;
        busy = 8;
        pending = 992;
        look();

        assertThat(launched).hasSize(2);
    }

    /** 40 of 50 streams is the target. It launched five workers within 30 s. */
    @Test
    void should_launch_nothing_for_traffic_that_the_base_can_hold() {
        connect("base-1", 25);
        connect("base-2", 25);
        traffic(195, 120);

        assertThat(launched).isEmpty();
        assertThat(controller.status(now, null).base()).isEqualTo(new CapacitySnapshot.Base(2, 50, 0, 0, "", null));
    }

    @Test
    void should_launch_only_the_excess() {
        connect("base", 400);
        traffic(2500, 60);

        // 500 streams are busy, 320 is the base's target: 180 in 2 workers.
        assertThat(launched).hasSize(2);
    }

    @Test
    void should_replace_a_base_that_fails_in_the_same_evaluation_and_leave_when_it_is_back() {
        connect("base-1", 50);
        connect("base-2", 50);
        traffic(300, 30);
        assertThat(launched).isEmpty();

        leave("base-1");
        leave("base-2");
        look();
        assertThat(launched).hasSize(1);

        startAll();
        connect("base-3", 100);
        traffic(300, 60);
        assertThat(drained).containsExactlyElementsOf(launched);
        traffic(300, 60);
        assertThat(launched).hasSize(1);
    }

    @Test
    void should_launch_if_the_base_is_ejected() {
        connect("base", 100);
        traffic(300, 30);
        workers.put("base", worker("base", 100, 0, "5 of its 5 requests failed"));
        traffic(300, 1);

        assertThat(launched).hasSize(1);
    }

    @Test
    void should_give_launched_workers_back_within_a_minute_after_a_burst() {
        connect("base", 50);
        traffic(150, 30);
        traffic(3000, 2);
        startAll();
        traffic(3000, 30);
        startAll();
        assertThat(launched).hasSizeGreaterThan(5);

        traffic(150, 60);
        assertThat(drained).containsExactlyInAnyOrderElementsOf(launched);
    }

    /** A quarter of the workers drains each second, so some serve on for seconds. */
    @Test
    void should_say_which_workers_drain_in_the_next_seconds() {
        connect("base", 50);
        traffic(3000, 2);
        startAll();
        traffic(3000, 30);
        startAll();
        assertThat(controller.surplus()).isEmpty();
        for (int i = 0; i < 60 && controller.surplus().isEmpty(); i++) {
            traffic(150, 1);
        }
        Set<String> surplus = controller.surplus();
        assertThat(surplus).isNotEmpty().doesNotContainAnyElementsOf(drained);
        traffic(150, 4);
        assertThat(drained).containsAll(surplus);
    }

    @Test
    void should_say_which_workers_drain_while_it_is_the_turn_of_another_dispatcher() {
        connect("base", 50);
        traffic(3000, 2);
        startAll();
        traffic(3000, 30);
        startAll();
        fleet = new FleetView(0, 0, false, true, true, 10, null);
        traffic(150, 60);

        assertThat(drained).isEmpty();
        assertThat(controller.surplus()).isNotEmpty();
    }

    /** A worker of the fleet, or of the previous dispatcher, has been launched for a time. */
    @Test
    void should_count_launched_workers_of_others_as_launched() {
        controller = controller(CapacityPolicy.fixed(2));
        connect("of the fleet", WorkerKind.LAUNCHED, STREAMS);
        connect("of the previous dispatcher", WorkerKind.LAUNCHED, STREAMS);
        look();

        assertThat(launched).isEmpty();
        assertThat(controller.status(now, null).base()).isNull();
    }

    @Test
    void should_advise_a_base_for_the_demand_of_the_fleet() {
        connect("base", 50);
        fleet = new FleetView(100, 20, true, true, true, 20, null);
        traffic(100, 600);
        assertThat(controller.status(now, null).advisedBase()).isNull();
        traffic(100, 1);

        // 20 requests here, and 80 elsewhere, at a utilization of 80 %.
        CapacitySnapshot.AdvisedBase advised = controller.status(now, null).advisedBase();
        assertThat(advised).isNotNull();
        assertThat(advised.concurrency()).isBetween(125, 130);
        assertThat(advised.dollarsPerHour()).isLessThan(advised.dollarsPerHourNow());
    }

    /** The base is connected to all dispatchers, and so counts once. */
    @Test
    void should_compare_the_base_with_the_demand_of_the_fleet() {
        connect("base", 100);
        traffic(150, 30);
        assertThat(launched).isEmpty();

        fleet = new FleetView(150, 0, true, true, true, 10, null);
        traffic(150, 1);
        assertThat(launched).hasSize(1);
    }

    /** A queue that is handed over in this moment says nothing about other dispatchers. */
    @Test
    void should_not_take_free_streams_for_streams_that_others_use_in_a_moment() {
        connect("base", 50);
        traffic(100, 20);
        for (int i = 0; i < 100; i++) {
            now += SECOND / 10;
            arrived += 10;
            pending = i % 3;
            look();
        }
        assertThat(launched).isEmpty();
    }

    /** The first sample after the base has come may be older than it. */
    @Test
    void should_not_take_the_streams_of_a_new_base_for_streams_that_others_use() {
        controller = controller(CapacityPolicy.between(0, 20));
        controller.setLaunching(false);
        arrived += 50;
        pending = 50;
        for (int i = 0; i < 10; i++) {
            now += SECOND / 10;
            look();
        }
        controller.setLaunching(true);
        connect("base", 100);
        look();
        assertThat(launched).isEmpty();
    }

    @Test
    void should_not_take_the_streams_of_a_new_worker_for_streams_that_others_use() {
        connect("base", 10);
        traffic(40, 20);
        arrived += 42;
        busy = 10;
        pending = 40;
        for (int i = 0; i < 25; i++) {
            now += SECOND / 10;
            arrived += 5;
            pending++;
            look();
        }
        assertThat(launched).hasSize(1);

        connect("w0", WorkerKind.LAUNCHED, STREAMS);
        now += SECOND / 100;
        look();
        assertThat(launched).hasSize(1);
    }

    /** It was launched with 100 streams, but opens 20. Above the base's target are 22 requests. */
    @Test
    void should_count_a_launched_worker_with_the_streams_that_it_opens() {
        connect("base", 10);
        controller.workers().onDialled(now, "of the fleet", WorkerKind.LAUNCHED);
        workers.put("of the fleet", worker("of the fleet", 20, 20, null));
        controller.onReady(now, "of the fleet", 20, WorkerLife.NEVER, "");
        traffic(150, 120);
        assertThat(launched).hasSize(1);
    }

    /** One worker of a hundred streams that wants a single request says nothing of new workers. */
    @Test
    void should_launch_as_many_workers_beside_one_that_wants_little() {
        connect("w", WorkerKind.LAUNCHED, STREAMS);
        traffic(10, 5);
        workers.put("w", worker("w", 1, 1, null));
        traffic(250, 120);
        assertThat(launched).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource({"true, 10", "false, 10", "true, 1", "false, 1"})
    void should_lift_the_limit_of_an_overloaded_base_worker_that_takes_more_again(boolean overloadFirst, int stated) {
        connect("base", 50);
        traffic(5, 15);
        if (overloadFirst) {
            carryOut(controller.onLoad(now, "base", 500, 400_000));
            assertThat(limits).containsEntry("base", 35);
        }
        state(stated);
        if (!overloadFirst) {
            carryOut(controller.onLoad(now, "base", 500, 400_000));
        }
        traffic(5, 60);
        state(50);
        traffic(5, 60);
        assertThat(limits.getOrDefault("base", Plan.Limit.NONE)).isEqualTo(Plan.Limit.NONE);
    }

    private void state(int streams) {
        workers.put("base", worker("base", streams, streams, null));
        carryOut(controller.onReady(now, "base", streams, WorkerLife.NEVER, ""));
    }

    /**
     * Other dispatchers use a part of the base for requests that never end. The fleet knows of
     * them, or they are no members of it.
     */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void should_let_no_request_wait_for_streams_that_others_use(boolean known) {
        for (int seed = 0; seed < 300; seed++) {
            Random random = new Random(seed);
            controller = controller(CapacityPolicy.between(0, 20));
            launched.clear();
            drained.clear();
            workers.clear();
            arrived = 0;
            busy = 0;
            pending = 0;
            now = 77 * SECOND;
            int base = 1 + random.nextInt(40);
            int used = 1 + random.nextInt(base);
            fleet = known ? new FleetView(used, 0, true, true, true, 20, null) : FleetView.ALONE;
            connect("base", base);
            assertThat(longestWait(random, base, used))
                    .as("seed %s, %s of %s", seed, used, base)
                    .isLessThan(TENTHS_OF_START + 10);
        }
    }

    /** Returns the longest wait of a request in tenths of a second. */
    private int longestWait(Random random, int base, int used) {
        int usedFrom = random.nextInt(100);
        double perTenth = random.nextInt(base * 2) / 5.0 * random.nextDouble();
        Deque<Integer> waiting = new ArrayDeque<>();
        Deque<Integer> ends = new ArrayDeque<>();
        List<Integer> startedAt = new ArrayList<>();
        double due = 0;
        int longest = 0;
        for (int tenth = 0; tenth < 300; tenth++) {
            now += SECOND / 10;
            for (due += perTenth; due >= 1; due--) {
                arrived++;
                waiting.add(tenth);
            }
            while (!ends.isEmpty() && ends.peek() <= tenth) {
                ends.remove();
            }
            while (startedAt.size() < launched.size()) {
                startedAt.add(tenth);
            }
            for (int i = 0; i < startedAt.size(); i++) {
                if (tenth == startedAt.get(i) + TENTHS_OF_START) {
                    connect(launched.get(i), WorkerKind.LAUNCHED, STREAMS);
                }
            }
            int here = base - (tenth < usedFrom ? 0 : used) + (workers.size() - 1) * STREAMS;
            while (!waiting.isEmpty() && ends.size() < here) {
                longest = Math.max(longest, tenth - waiting.remove());
                ends.add(tenth + 2);
            }
            busy = ends.size();
            pending = waiting.size();
            taken = pending == 0 || tenth < usedFrom ? 0 : used;
            look();
            drained.forEach(this::leave);
            drained.clear();
        }
        return Math.max(longest, waiting.isEmpty() ? 0 : 300 - waiting.peek());
    }

    /** Other dispatchers would launch for requests that only this process can serve. */
    @Test
    void should_not_ask_the_fleet_for_what_its_handlers_in_process_serve() {
        connect(WorkerLives.IN_PROCESS_PREFIX + "1", 15);
        traffic(50, 20);
        assertThat(controller.report(now, Plan.NOTHING).streams()).isZero();

        connect("base", 15);
        traffic(100, 30);
        assertThat(controller.report(now, Plan.NOTHING).streams()).isBetween(5.0, 12.0);
    }
}
