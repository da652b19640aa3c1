package io.lambdadispatcher.core.internal.pool;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/**
 * Each permit is given out once, and none is lost: at rest, the permits equal the free worker
 * streams.
 */
public class PermitStress {

    /**
     * Another event loop takes permits while the shard's own loop returns one and takes one. There
     * are three attempts for two permits.
     */
    @JCStressTest
    @State
    @Outcome(id = "1, 1, 0", expect = ACCEPTABLE, desc = "Each loop has one.")
    @Outcome(id = "2, 0, 0", expect = ACCEPTABLE, desc = "The other loop has both.")
    public static class TwoTakers {
        private final StressedPool pool = new StressedPool(1);

        @Actor
        public void other(III_Result result) {
            result.r1 = take() + take();
        }

        @Actor
        public void own(III_Result result) {
            pool.onAway(() -> {
                pool.freeStream();
                result.r2 = take();
            });
        }

        private int take() {
            return pool.away.free.tryAcquire() ? 1 : 0;
        }

        @Arbiter
        public void end(III_Result result) {
            result.r3 = pool.away.free.permits();
        }
    }

    /**
     * Another event loop takes base permits while the shard's own loop returns one, takes one and
     * uses it. There are three attempts for two base permits.
     */
    @JCStressTest
    @State
    @Outcome(id = "1, 1, 0", expect = ACCEPTABLE, desc = "Each loop has one.")
    @Outcome(id = "2, 0, 0", expect = ACCEPTABLE, desc = "The other loop has both.")
    public static class TwoTakersOfTheBase {
        private final StressedPool pool = new StressedPool(2, true);

        @Actor
        public void other(III_Result result) {
            result.r1 = take() + take();
        }

        @Actor
        public void own(III_Result result) {
            pool.onAway(() -> {
                pool.freeStream();
                result.r2 = pool.away.free.tryAcquireBase() && pool.away.free.takeBase() != null ? 1 : 0;
            });
        }

        private int take() {
            return pool.away.free.tryAcquireBase() ? 1 : 0;
        }

        @Arbiter
        public void end(III_Result result) {
            result.r3 = pool.away.free.basePermits();
        }
    }

    /** A request crosses over to a worker that stops taking requests at the same time. */
    @JCStressTest
    @State
    @Outcome(id = "1, 0, 0", expect = ACCEPTABLE, desc = "The request was carried before.")
    @Outcome(id = "0, 1, 0", expect = ACCEPTABLE, desc = "The request waits, and its permit is gone.")
    public static class ClosingWorker {
        private final StressedPool pool = new StressedPool(1);

        @Actor
        public void client() {
            pool.onHome(() -> StressedPool.request(pool.home));
        }

        @Actor
        public void worker() {
            pool.closeWorker();
        }

        @Arbiter
        public void end(III_Result result) {
            pool.settle();
            result.r1 = pool.carried();
            result.r2 = pool.pending();
            result.r3 = pool.away.free.permits();
        }
    }
}
