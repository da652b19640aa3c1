package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RetirementTest {
    private static WorkerLife ready(String id, int busy) {
        return ready(id, busy, null);
    }

    private static WorkerLife ready(String id, int busy, @Nullable String ejection) {
        WorkerLife worker = WorkerLife.launched(id, 0, 10, 0);
        worker.onReady(0, WorkerLife.NEVER);
        worker.onSecond(0, new WorkerDemand(id, busy, busy, busy, 0, 0, null, ejection == null ? 0 : 1, ejection));
        return worker;
    }

    /** Requests that hang on a sick worker make it busier than the others. */
    @Test
    void should_drain_an_ejected_worker_before_the_least_busy() {
        WorkerLife sick = ready("sick", 5, "5 of its 5 requests failed");
        WorkerLife idle = ready("idle", 0);
        WorkerLife busy = ready("busy", 2);

        assertThat(Retirement.drained(List.of(busy, idle, sick), 1, 0, false)).containsExactly(sick);
        assertThat(Retirement.drained(List.of(busy, idle), 1, 0, false)).containsExactly(idle);
        assertThat(Retirement.drained(List.of(busy, idle, sick), 2, 0, false))
                .as("the healthy ones are needed")
                .isEmpty();
    }

    /** At the spending limit, or after the idle timeout, none is kept. */
    @Test
    void should_drain_ejected_workers_if_none_is_kept() {
        WorkerLife sick = ready("sick", 5, "5 of its 5 requests failed");

        assertThat(Retirement.drained(List.of(sick), 1, 0, false))
                .as("there is no other")
                .isEmpty();
        assertThat(Retirement.drained(List.of(sick), 0, 0, false)).containsExactly(sick);
        WorkerLife healthy = ready("healthy", 0);
        assertThat(Retirement.drained(List.of(sick, healthy), 0, 0, false))
                .as("one after the other")
                .containsExactly(sick);
    }
}
