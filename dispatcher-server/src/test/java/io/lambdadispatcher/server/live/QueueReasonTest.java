package io.lambdadispatcher.server.live;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.CapacityPolicy;
import org.junit.jupiter.api.Test;

class QueueReasonTest {
    private static PoolSnapshot pool(int ready, int queued) {
        return new PoolSnapshot("f", ready, ready, 0, 0, ready * 10, 0, queued);
    }

    private static CapacitySnapshot capacity(int starting, String blockedReason) {
        return new CapacitySnapshot("f", 2, starting, 1, 0, 0, 0, 0, null, null, null, null, blockedReason);
    }

    @Test
    void should_have_no_reason_if_nothing_waits() {
        assertThat(QueueReason.of(pool(0, 0), capacity(1, "paused"), CapacityPolicy.between(0, 5)))
                .isNull();
    }

    @Test
    void should_name_what_blocks_launches_before_anything_else() {
        assertThat(QueueReason.of(
                        pool(1, 3),
                        capacity(1, "launching is paused by the kill switch"),
                        CapacityPolicy.between(0, 5)))
                .isEqualTo(new QueueReason(
                        WaitReason.LAUNCHES_BLOCKED,
                        "0 of 10 worker streams are free, and launching is paused by the kill switch"));
    }

    @Test
    void should_say_that_workers_are_starting() {
        assertThat(QueueReason.of(pool(0, 3), capacity(2, null), CapacityPolicy.between(0, 5)))
                .isEqualTo(
                        new QueueReason(WaitReason.WORKERS_STARTING, "no worker is ready, and 2 workers are starting"));
    }

    @Test
    void should_say_that_no_worker_is_launched_here() {
        assertThat(QueueReason.of(pool(0, 3), null, CapacityPolicy.between(0, 0)))
                .isEqualTo(new QueueReason(WaitReason.NO_WORKER, "no worker is ready, and none is launched here"));
        assertThat(QueueReason.of(new PoolSnapshot("f", 1, 0, 0, 0, 10, 0, 3), null, CapacityPolicy.between(0, 0)))
                .as("a worker is draining")
                .isEqualTo(new QueueReason(WaitReason.ALL_BUSY, "no worker is ready"));
    }

    /** Metrics and traces say the same. */
    @Test
    void should_say_that_a_worker_will_start_soon() {
        assertThat(QueueReason.of(pool(0, 3), capacity(0, null), CapacityPolicy.between(0, 5)))
                .isEqualTo(
                        new QueueReason(WaitReason.WORKERS_STARTING, "no worker is ready, and none is starting yet"));
    }

    @Test
    void should_say_that_all_streams_are_busy() {
        assertThat(QueueReason.of(pool(2, 3), capacity(0, null), CapacityPolicy.between(0, 5)))
                .isEqualTo(new QueueReason(WaitReason.ALL_BUSY, "0 of 20 worker streams are free"));
        assertThat(QueueReason.of(pool(2, 3), capacity(0, null), CapacityPolicy.between(0, 2)))
                .isEqualTo(new QueueReason(
                        WaitReason.MAX_WORKERS,
                        "0 of 20 worker streams are free, and function.max-workers (2) is reached"));
    }

    @Test
    void should_name_the_limit_of_connections_if_it_permits_fewer_workers() {
        CapacityPolicy policy = CapacityPolicy.builder()
                .workers(0, 50)
                .downstreamConnections(10, 4)
                .build();

        assertThat(QueueReason.of(pool(2, 3), capacity(0, null), policy))
                .isEqualTo(new QueueReason(
                        WaitReason.MAX_WORKERS,
                        "0 of 20 worker streams are free, and function.downstream-connections (10) permits no more than"
                                + " 1 workers with 5 connections each"));
    }
}
