package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.observe.ServiceTimes;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Why workers are launched and why they end, as operators read it. */
class WorkerReasonsTest {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    private final List<String> launched = new ArrayList<>();
    private final Map<String, String> drained = new LinkedHashMap<>();
    private final List<String> limited = new ArrayList<>();
    private CapacityController controller;
    private long now = 77 * SECOND;
    private List<WorkerDemand> samples = List.of();
    private long arrived;
    private int busy;
    private int pending;

    private void begin(CapacityPolicy.Builder policy) {
        controller = new CapacityController(
                FunctionOptions.builder("f")
                        .streamsPerConnection(5)
                        .capacity(policy.build())
                        .build(),
                new Random(42));
    }

    private void carryOut(Plan plan) {
        for (Plan.Launch launch : plan.launches()) {
            String id = "w" + launched.size();
            launched.add(launch.reason());
            controller.onLaunched(now, id, launch);
        }
        plan.drains().forEach(drain -> drained.put(drain.workerId(), drain.why()));
        plan.limits().forEach(limit -> limited.add(limit.exchanges() + ": " + limit.reason()));
    }

    private void second() {
        now += SECOND;
        carryOut(controller.evaluate(
                now,
                new Demand(arrived, 0, 0, busy, pending, Demand.Tunnels.NONE, 0, new ServiceTimes(), samples),
                FleetView.ALONE));
    }

    private void ready(int worker, long deadlineNanos) {
        carryOut(controller.onReady(now, "w" + worker, 5, deadlineNanos, "7"));
    }

    @Test
    void should_launch_the_minimum_and_then_for_what_waits() {
        begin(CapacityPolicy.builder().workers(1, 20));
        second();
        assertThat(launched).containsExactly("minimum");

        ready(0, WorkerLife.NEVER);
        arrived = 12;
        busy = 5;
        pending = 7;
        second();
        assertThat(launched).hasSizeGreaterThan(1);
        assertThat(launched.subList(1, launched.size())).containsOnly("7 waiting requests");
    }

    @Test
    void should_launch_spare_workers() {
        begin(CapacityPolicy.builder().workers(1, 20).minSpareWorkers(2));
        arrived = 1;
        busy = 1;
        second();
        assertThat(launched).containsExactly("minimum", "spare", "spare");
    }

    @Test
    void should_name_the_worker_that_is_replaced_and_why() {
        begin(CapacityPolicy.builder().workers(2, 20));
        second();
        ready(0, WorkerLife.NEVER);
        ready(1, now + 300 * SECOND);
        assertThat(controller.recycle("w0")).isTrue();
        second();
        assertThat(launched).containsExactly("minimum", "minimum", "replaces w0 (recycled by an operator)");

        ready(2, WorkerLife.NEVER);
        second();
        assertThat(drained).containsExactly(Map.entry("w0", "recycled by an operator"));
        assertThat(controller.workers().endReason("w0")).isEqualTo("recycled by an operator");
        controller.onExit(now, "w0", new WorkerExit(Cause.ENDED, "exit status 0"));

        for (int i = 0; i < 300 && launched.size() == 3; i++) {
            second();
        }
        assertThat(launched).last().isEqualTo("replaces w1 (deadline)");
        ready(3, WorkerLife.NEVER);
        second();
        assertThat(drained).containsEntry("w1", "deadline");
    }

    @Test
    void should_say_why_a_worker_drains() {
        begin(CapacityPolicy.builder().workers(3, 20));
        second();
        ready(0, WorkerLife.NEVER);
        ready(1, WorkerLife.NEVER);
        ready(2, WorkerLife.NEVER);
        carryOut(controller.drainNow(now, "w0"));
        controller.workers().onDraining(now, "w1", WorkerReasons.ofDrain(DrainCode.IDLE));
        controller.workers().onDraining(now, "w0", WorkerReasons.ofDrain(DrainCode.REQUESTED));
        assertThat(controller.workers().endReason("w0")).isEqualTo("drained by an operator");
        assertThat(controller.workers().endReason("w1")).isEqualTo("idle");
        assertThat(controller.workers().facts(now).get("w2"))
                .returns("minimum", WorkerFacts::launchReason)
                .returns("", WorkerFacts::endReason);
    }

    @Test
    void should_say_why_a_worker_is_limited() {
        begin(CapacityPolicy.builder().workers(0, 20));
        controller.workers().onDialled(now, "base", WorkerKind.BASE);
        carryOut(controller.onReady(now, "base", 10, WorkerLife.NEVER, ""));
        for (int i = 0; i < 10; i++) {
            second();
        }
        carryOut(controller.onLoad(now, "base", 500, 400_000));
        assertThat(limited).containsExactly("7: its event loop is late, or its heap is full");

        carryOut(controller.onReady(now, "base", 10, WorkerLife.NEVER, ""));
        assertThat(limited)
                .last()
                .isEqualTo("7: its connections or its own maximum have changed, and it was overloaded before");

        carryOut(controller.onReady(now, "base", 20, WorkerLife.NEVER, ""));
        assertThat(limited)
                .last()
                .isEqualTo("14: its connections or its own maximum have changed, and it was overloaded before");

        samples = List.of(new WorkerDemand("base", 40, 0, 0, 0, 0, null, 0, null));
        second();
        assertThat(limited)
                .last()
                .isEqualTo("28: its connections or its own maximum have changed, and it was overloaded before");
    }

    @ParameterizedTest
    @EnumSource(DrainCode.class)
    void should_have_words_for_each_reason_of_a_drain(DrainCode reason) {
        assertThat(WorkerReasons.ofDrain(reason)).isNotEmpty().doesNotContain("_");
    }
}
