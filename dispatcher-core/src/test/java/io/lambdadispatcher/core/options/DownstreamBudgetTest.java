package io.lambdadispatcher.core.options;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class DownstreamBudgetTest {

    @Test
    void should_divide_connections_among_workers_and_their_replacements() {
        // 20 workers and 5 replacements.
        assertThat(DownstreamBudget.of(200, 1, 0, 20)).isEqualTo(new DownstreamBudget(200, 8, 20, 25));
    }

    @Test
    void should_launch_fewer_workers_if_the_share_would_be_too_small() {
        // 200 / 10 = 20 workers in all, of which 4 are replacements.
        assertThat(DownstreamBudget.of(200, 10, 0, 50)).isEqualTo(new DownstreamBudget(200, 10, 16, 20));
    }

    @Test
    void should_launch_all_workers_if_there_is_no_end_of_connections() {
        CapacityPolicy policy = CapacityPolicy.builder()
                .workers(10, 50)
                .downstreamConnections(Integer.MAX_VALUE, 1)
                .build();
        assertThat(policy.maxWorkers()).isEqualTo(50);
    }

    @Test
    void should_use_what_a_whole_share_leaves_for_further_replacements() {
        // 30 / 13 = 2, and 30 / 2 = 15 workers.
        assertThat(DownstreamBudget.of(30, 1, 0, 10)).isEqualTo(new DownstreamBudget(30, 2, 10, 15));
    }

    @Test
    void should_replace_one_worker_while_it_serves() {
        assertThat(DownstreamBudget.of(10, 5, 1, 8)).isEqualTo(new DownstreamBudget(10, 5, 1, 2));
    }

    @Test
    void should_keep_its_promises_for_all_numbers() {
        for (int connections = 1; connections <= 130; connections++) {
            for (int perWorker = 1; perWorker <= 12; perWorker++) {
                for (int max = 1; max <= 40; max++) {
                    if (connections < DownstreamBudget.least(perWorker, 0)) {
                        continue;
                    }
                    DownstreamBudget budget = DownstreamBudget.of(connections, perWorker, 0, max);
                    String what = perWorker + " of " + connections + " for " + max + " workers: " + budget;

                    assertThat(budget.share()).as(what).isGreaterThanOrEqualTo(perWorker);
                    assertThat(budget.maxWorkers()).as(what).isBetween(1, max);
                    assertThat(budget.maxAlive()).as(what).isGreaterThan(budget.maxWorkers());
                    assertThat(budget.maxAlive() * budget.share()).as(what).isLessThanOrEqualTo(connections);
                    if (budget.maxWorkers() < max) {
                        long more = DownstreamBudget.least(perWorker, budget.maxWorkers() + 1);
                        assertThat(more)
                                .as("there is room for one more: " + what)
                                .isGreaterThan(connections);
                    }
                }
            }
        }
    }

    @Test
    void should_reject_fewer_connections_than_the_minimum_of_workers_needs() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> CapacityPolicy.builder()
                        .workers(8, 20)
                        .downstreamConnections(19, 2)
                        .build())
                .withMessage("downstreamConnections: 19, expected at least 20, which is room for 8 workers (minWorkers)"
                        + " and 2 replacements with 2 connections each");
        assertThatIllegalArgumentException()
                .isThrownBy(() ->
                        CapacityPolicy.builder().downstreamConnections(100, 1).build())
                .withMessage(
                        "downstreamConnections: 100, expected 0, because no workers are launched (maxWorkers is 0)");
    }

    @Test
    void should_limit_the_maximum_of_the_policy() {
        CapacityPolicy policy = CapacityPolicy.builder()
                .workers(2, 50)
                .downstreamConnections(200, 10)
                .build();

        assertThat(policy.maxWorkers()).isEqualTo(16);
        assertThat(policy.maxAlive()).isEqualTo(20);
        assertThat(policy.isCappedByDownstream()).isTrue();
        assertThat(CapacityPolicy.between(2, 50).maxAlive()).isEqualTo(100);
        assertThat(CapacityPolicy.between(2, 50).isCappedByDownstream()).isFalse();
    }
}
