package io.lambdadispatcher.core.internal.capacity;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import java.util.List;
import org.junit.jupiter.api.Test;

class RetirementTest {
    private static WorkerLife ready(String id, int busy) {
        WorkerLife worker = WorkerLife.launched(id, 0, 10, 0);
        worker.onReady(0, WorkerLife.NEVER);
        worker.onSecond(0, new WorkerDemand(id, busy, busy, 0, 0, 0, 0));
        return worker;
    }

    /** Requests that hang on a sick worker make it busier than the others. */
    @Test
    void should_drain_an_ejected_worker_before_the_least_busy() {
        WorkerLife sick = ready("sick", 5);
        sick.eject(0, "its requests took 9,000 ms, typically 10 ms");
        WorkerLife idle = ready("idle", 0);
        WorkerLife busy = ready("busy", 2);

        assertThat(Retirement.surplus(List.of(busy, idle, sick), 1, 0)).containsExactly(sick);
        assertThat(Retirement.surplus(List.of(busy, idle), 1, 0)).containsExactly(idle);
        assertThat(Retirement.surplus(List.of(busy, idle, sick), 2, 0))
                .as("the healthy ones are needed")
                .isEmpty();
    }
}
