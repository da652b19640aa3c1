package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class WorkerHealthTest {
    private static final long CALM_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long SLOW_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);
    private static final long EACH_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final GroupHealth base = new GroupHealth();
    private final GroupHealth launched = base.newOther();
    private final WorkerHealth baseWorker = new WorkerHealth(base, base.newTally());
    private final WorkerHealth launchedWorker = new WorkerHealth(launched, launched.newTally());
    private long nowNanos = EACH_NANOS;

    /** Compares the bound with the sum of the binomial distribution. */
    @ParameterizedTest
    @ValueSource(doubles = {0.001, 0.01, 0.1, 0.3, 0.5})
    void should_take_for_worse_what_chance_makes_once_in_ten_billion_cases(double expected) {
        for (int of : new int[] {5, 10, 30, 100, 1000}) {
            int events = 0;
            while (events <= of && !WorkerHealth.isWorse(events, of, expected)) {
                events++;
            }
            if (events <= of) {
                assertThat(chanceOfAtLeast(events, of, expected)).isLessThan(1.03e-10);
            }
            assertThat(chanceOfAtLeast(events - 1, of, expected)).isGreaterThan(1e-13);
        }
    }

    private static double chanceOfAtLeast(int events, int of, double probability) {
        double sum = 0;
        double logOfWays = 0;
        for (int i = 0; i <= of; i++) {
            sum += i < events
                    ? 0
                    : Math.exp(logOfWays + i * Math.log(probability) + (of - i) * Math.log(1 - probability));
            logOfWays += Math.log(of - i) - Math.log(i + 1);
        }
        return sum;
    }

    /** A JVM that has just begun to serve is slow, which ends. */
    @Test
    void should_not_eject_a_worker_that_has_begun_to_serve_for_being_slow() {
        WorkerHealth[] calm = {baseWorker, new WorkerHealth(base, base.newTally())};
        WorkerHealth fresh = new WorkerHealth(base, base.newTally());
        base.setOpen(List.of("base", "other", "fresh"));
        for (int i = 0; i < 100; i++) {
            serve(calm[i % 2], CALM_NANOS, false);
            base.onTypical(nowNanos, new long[] {calm[0].typicalNanos(), calm[1].typicalNanos()});
        }
        long began = nowNanos;
        WorkerHealth.Verdict verdict = WorkerHealth.Verdict.NONE;
        while (verdict != WorkerHealth.Verdict.EJECT && nowNanos - began < TimeUnit.SECONDS.toNanos(20)) {
            for (WorkerHealth each : calm) {
                end(each, CALM_NANOS, false);
            }
            verdict = end(fresh, 8 * CALM_NANOS, false);
            nowNanos += TimeUnit.MILLISECONDS.toNanos(100);
        }
        assertThat(verdict).isEqualTo(WorkerHealth.Verdict.EJECT);
        assertThat(TimeUnit.NANOSECONDS.toMillis(nowNanos - began)).isBetween(5_000L, 7_000L);
    }

    /** An exchange of this duration ends now. */
    private WorkerHealth.Verdict end(WorkerHealth worker, long waitedNanos, boolean fails) {
        worker.onBegin(nowNanos - waitedNanos, true);
        worker.onAnswer(nowNanos);
        return worker.onEnd(nowNanos, nowNanos - waitedNanos, waitedNanos, true, fails);
    }

    /** No other worker of its kind says whether the worker is sick, or its requests are. */
    @ParameterizedTest(name = "fails: {0}, is slow: {1}, as the other kind: {2}, which then ends: {3}")
    @CsvSource({
        "false, true, true, false",
        "false, true, true, true",
        "true, false, true, false",
        "true, false, true, true",
        "false, true, false, false",
        "true, false, false, false",
        "true, false, false, true"
    })
    void should_eject_a_lone_worker_only_if_the_other_kind_does_better(
            boolean fails, boolean slow, boolean both, boolean ends) {
        base.setOpen(List.of("base"));
        launched.setOpen(List.of("launched"));
        for (int i = 0; i < 100; i++) {
            serve(baseWorker, CALM_NANOS, false);
            serve(launchedWorker, CALM_NANOS, false);
            base.onTypical(nowNanos, new long[] {baseWorker.typicalNanos()});
            launched.onTypical(nowNanos, new long[] {launchedWorker.typicalNanos()});
        }

        if (both) {
            assertThat(isLaunchedEjected(
                            50,
                            slow,
                            fails,
                            () -> assertThat(serve(baseWorker, slow ? SLOW_NANOS : CALM_NANOS, fails))
                                    .isNotEqualTo(WorkerHealth.Verdict.EJECT)))
                    .isFalse();
        }
        // The other kind recovers, or has ended.
        Runnable other = ends ? () -> {} : () -> serve(baseWorker, CALM_NANOS, false);
        assertThat(isLaunchedEjected(20, slow, fails, other)).isTrue();
    }

    /** The base answers after this, first alone, and then beside launched workers. */
    @ParameterizedTest(name = "launched workers take {0} ms, ejected: {1}")
    @CsvSource({"1000, false", "1500, false", "2500, false", "50, true"})
    void should_not_eject_a_lone_base_worker_because_a_service_is_slow(int launchedMillis, boolean ejected) {
        base.setOpen(List.of("base"));
        for (int i = 0; i < 100; i++) {
            serve(baseWorker, CALM_NANOS, false);
            base.onTypical(nowNanos, new long[] {baseWorker.typicalNanos()});
        }
        for (int i = 0; i < 100; i++) {
            assertThat(serve(baseWorker, SLOW_NANOS, false)).isEqualTo(WorkerHealth.Verdict.NONE);
        }
        launched.setOpen(List.of("launched"));
        boolean isEjected = false;
        for (int i = 0; i < 50 && !isEjected; i++) {
            serve(launchedWorker, TimeUnit.MILLISECONDS.toNanos(launchedMillis), false);
            if (launchedWorker.typicalNanos() > 0) {
                launched.onTypical(nowNanos, new long[] {launchedWorker.typicalNanos()});
            }
            isEjected = serve(baseWorker, SLOW_NANOS, false) == WorkerHealth.Verdict.EJECT;
        }
        assertThat(isEjected).isEqualTo(ejected);
        assertThat(baseWorker.isQuiet(nowNanos + SLOW_NANOS, false)).isEqualTo(ejected);
    }

    /** Launched workers that have ended say nothing about those that come later. */
    @Test
    void should_forget_how_long_workers_took_that_have_ended() {
        base.setOpen(List.of("base"));
        launched.setOpen(List.of("launched"));
        base.onTypical(nowNanos, new long[] {CALM_NANOS});
        launched.onTypical(nowNanos, new long[] {SLOW_NANOS});
        assertThat(base.slowNanos()).isEqualTo(launched.slowNanos()).isGreaterThan(SLOW_NANOS);
        launched.setOpen(List.of());
        launched.setOpen(List.of("next"));
        assertThat(base.slowNanos()).isLessThan(SLOW_NANOS);
        assertThat(launched.slowNanos()).isEqualTo(Long.MAX_VALUE);
    }

    private boolean isLaunchedEjected(int requests, boolean slow, boolean fails, Runnable other) {
        for (int i = 0; i < requests; i++) {
            other.run();
            if (serve(launchedWorker, slow ? SLOW_NANOS : CALM_NANOS, fails) == WorkerHealth.Verdict.EJECT) {
                return true;
            }
        }
        return false;
    }

    private WorkerHealth.Verdict serve(WorkerHealth worker, long waitedNanos, boolean fails) {
        long beginNanos = nowNanos;
        worker.onBegin(beginNanos, true);
        nowNanos += EACH_NANOS;
        worker.onAnswer(beginNanos + waitedNanos);
        return worker.onEnd(beginNanos + waitedNanos, beginNanos, waitedNanos, true, fails);
    }
}
