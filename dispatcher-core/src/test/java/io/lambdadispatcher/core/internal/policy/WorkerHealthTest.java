package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WorkerHealthTest {
    private static final long CALM_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long SLOW_NANOS = TimeUnit.MILLISECONDS.toNanos(1500);
    private static final long EACH_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final GroupHealth base = new GroupHealth();
    private final GroupHealth launched = base.newOther();
    private final WorkerHealth baseWorker = new WorkerHealth(base, base.newTally());
    private final WorkerHealth launchedWorker = new WorkerHealth(launched, launched.newTally());
    private long nowNanos = EACH_NANOS;

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
