package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class EjectionTest {
    private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

    private final GroupHealth base = new GroupHealth();
    private final GroupHealth launched = base.newOther();

    /** The only base worker is ejected, so no exchange of its own kind ends. */
    @Test
    void should_probe_a_lone_worker_after_exchanges_of_the_other_kind() {
        GroupHealth.Tally tally = launched.newTally();
        Ejection ejection = new Ejection(base);
        ejection.eject(0, "for the test");

        for (int i = 0; i < 99; i++) {
            tally.count(false);
        }
        assertThat(ejection.waitNanos(MINUTE)).isPositive();
        tally.count(false);
        assertThat(ejection.waitNanos(1)).as("too early").isPositive();
        assertThat(ejection.waitNanos(MINUTE)).isZero();
    }

    /** Its request could not be sent, or its worker was busy, so nothing else comes of it. */
    @Test
    void should_offer_a_probe_again_that_says_nothing() {
        Ejection ejection = new Ejection(base);
        ejection.eject(0, "for the test");
        ejection.onUnjudged();
        assertThat(ejection.limit()).as("before it is due").isZero();
        ejection.offer();
        ejection.onBegin(1);
        assertThat(ejection.limit()).isZero();
        ejection.onUnjudged();
        assertThat(ejection.limit()).isEqualTo(1);
        ejection.onBegin(2);
        assertThat(ejection.onEnd(3, 2, true, true)).isEqualTo(WorkerHealth.Verdict.PROBE_FAILED);
    }
}
