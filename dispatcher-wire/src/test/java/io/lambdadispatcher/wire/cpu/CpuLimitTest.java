package io.lambdadispatcher.wire.cpu;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A process whose requests each need a part of a processor. The limit of its time is what would
 * serve {@code full} of them. There are always as many requests as it takes, up to {@code demand}.
 */
class CpuLimitTest {
    private static final int MOST = 100;
    private static final int PER_SECOND = 2;

    private final Random random = new Random(7);
    private double processors = 0.5;
    private double full = 40;
    private int demand = 1_000;
    /** Requests that last longer than a period, and do not feel a new limit at once. */
    private int busy;

    private double noise;
    private double background;
    private double used;
    private long nanos = 5;
    private CpuLimit limit = new CpuLimit(MOST);

    /** Passes the time, and returns the limits. */
    private int[] pass(int seconds) {
        int[] limits = new int[seconds * PER_SECOND];
        for (int i = 0; i < limits.length; i++) {
            int taken = Math.min(demand, limit.value());
            busy = taken + Math.max(0, busy - taken) / 2;
            double needed = busy / full * (1 + noise * random.nextGaussian()) + background;
            used += Math.min(1, Math.max(0, needed)) * processors * CpuLimit.PERIOD_NANOS;
            nanos += CpuLimit.PERIOD_NANOS;
            limit.onPeriod(nanos, new CpuUse("group", processors, (long) used, 0, 0));
            limits[i] = limit.value();
        }
        return limits;
    }

    private double share() {
        return Math.min(demand, limit.value()) / full + background;
    }

    @ParameterizedTest
    @CsvSource({"90, 0", "60, 0", "40, 0", "40, 0.02", "20, 0", "20, 0.02", "12, 0", "7, 0"})
    void should_come_down_until_the_time_suffices_and_then_not_oscillate(double suffices, double spread) {
        full = suffices;
        noise = spread;
        pass(1);
        pass(10 + (int) (40 / suffices));
        assertThat(share()).isLessThan(0.96);
        int[] limits = pass(60);
        for (int each : limits) {
            assertThat(each / full).as("%d of %s", each, full).isBetween(0.75, 0.97);
            assertThat(Math.abs(each - limits[0])).isLessThanOrEqualTo(MOST / 10);
        }
    }

    @Test
    void should_come_up_again_when_load_leaves() {
        pass(30);
        assertThat(limit.value()).isBetween(30, 39);
        assertThat(limit.isShort()).isTrue();
        demand = 3;
        pass(12);
        assertThat(limit.value()).isEqualTo(MOST);
        assertThat(limit.isShort()).isFalse();
    }

    @Test
    void should_follow_requests_that_become_cheaper_and_dearer() {
        pass(30);
        full = 80;
        pass(10);
        assertThat(share()).isBetween(0.8, 0.96);
        full = 20;
        pass(10);
        assertThat(share()).isBetween(0.7, 0.96);
    }

    /** Two thirds of the time go to other work: then a request more needs less than it seems. */
    @Test
    void should_come_up_again_beside_work_without_requests() {
        full = 100;
        background = 1;
        pass(30);
        assertThat(limit.value()).isEqualTo(1);
        background = 0.66;
        pass(30);
        assertThat(share()).isBetween(0.84, 0.96);
    }

    /** A worker whose requests only compute needs no more of them than it has processors. */
    @ParameterizedTest
    @CsvSource({"0.25, 1", "1, 1", "1.5, 2", "4, 4"})
    void should_take_a_request_for_each_processor_even_if_each_uses_one(double limitOfProcessors, int least) {
        processors = limitOfProcessors;
        full = limitOfProcessors;
        pass(60);
        assertThat(limit.value()).isEqualTo(least);
    }

    /** Idle WebSockets and event streams are in flight. */
    @Test
    void should_not_be_lowered_by_idle_streams() {
        full = 1_000_000;
        assertThat(pass(60)).containsOnly(MOST);
    }

    @Test
    void should_be_lowered_by_work_without_requests() {
        demand = 0;
        background = 1;
        pass(30);
        assertThat(limit.value()).isEqualTo(1);
        background = 0;
        pass(12);
        assertThat(limit.value()).isEqualTo(MOST);
    }

    @Test
    void should_be_what_the_application_wants_if_the_time_suffices_for_it() {
        limit.want(30);
        pass(10);
        assertThat(limit.value()).isEqualTo(30);
        assertThat(limit.isShort()).isFalse();
        limit.want(500);
        assertThat(limit.value()).isEqualTo(MOST);
        pass(20);
        assertThat(limit.value()).isBetween(30, 39);
        limit.want(20);
        assertThat(limit.value()).isEqualTo(20);
        pass(10);
        assertThat(limit.value()).isEqualTo(20);
    }

    /** The worker has one stream, or the limit of the container has changed. */
    @Test
    void should_do_nothing_if_it_cannot_or_does_not_know() {
        CpuLimit one = new CpuLimit(1);
        one.onPeriod(0, new CpuUse("group", 0.5, 0, 0, 0));
        one.onPeriod(1_000, new CpuUse("group", 0.5, 500, 0, 0));
        assertThat(one.value()).isEqualTo(1);

        limit.onPeriod(0, new CpuUse("group", 0.5, 0, 0, 0));
        limit.onPeriod(1_000, new CpuUse("process", 2, 1_000_000, -1, 0));
        assertThat(limit.value()).isEqualTo(MOST);
    }

    /** They send it four fifths of its limit, and the rest to launched workers. */
    @Test
    void should_not_oscillate_if_dispatchers_prefer_launched_workers_to_a_full_base() {
        full = 40;
        IntUnaryOperator target = value -> (int) (0.8 * value);
        for (int i = 0; i < 40; i++) {
            demand = target.applyAsInt(limit.value());
            pass(1);
        }
        int settled = limit.value();
        for (int i = 0; i < 60; i++) {
            demand = target.applyAsInt(limit.value());
            pass(1);
            assertThat(Math.abs(limit.value() - settled)).isLessThanOrEqualTo(MOST / 10);
        }
        assertThat(share()).isBetween(0.75, 0.96);
    }
}
