package io.lambdadispatcher.core.internal.pool;

import static org.openjdk.jcstress.annotations.Expect.ACCEPTABLE;

import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.wire.worker.ErrorCode;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;
import org.openjdk.jcstress.infra.results.ZII_Result;

/**
 * No wake-up is lost: no request waits while a worker stream is free, in whatever order they
 * arrive.
 */
public class WakeUpStress {

    /** A request arrives on one event loop while a worker stream becomes free on another. */
    @JCStressTest
    @State
    @Outcome(id = "false, 1, 0", expect = ACCEPTABLE, desc = "The request saw the permit.")
    @Outcome(id = "true, 1, 0", expect = ACCEPTABLE, desc = "The request waited, and the stream saw it.")
    public static class OneRequest {
        private final StressedPool pool = new StressedPool(0);

        @Actor
        public void client(ZII_Result result) {
            pool.onHome(() -> StressedPool.request(pool.home));
            result.r1 = pool.home.sample(false).pending() == 1;
        }

        @Actor
        public void worker() {
            pool.onAway(pool::freeStream);
        }

        @Arbiter
        public void end(ZII_Result result) {
            pool.settle();
            result.r2 = pool.carried();
            result.r3 = pool.pending();
        }
    }

    /**
     * Two requests on two event loops compete for a worker stream. The request that gets none is
     * served when the stream is free again.
     */
    @JCStressTest
    @State
    @Outcome(id = "1, 1, 2", expect = ACCEPTABLE, desc = "One request was served after the other.")
    public static class TwoRequests {
        private final StressedPool pool = new StressedPool(0);

        @Actor
        public void client() {
            pool.onHome(() -> StressedPool.request(pool.home));
        }

        @Actor
        public void worker() {
            pool.onAway(() -> {
                pool.freeStream();
                StressedPool.request(pool.away);
            });
        }

        @Arbiter
        public void end(III_Result result) {
            pool.settle();
            result.r1 = pool.carried();
            result.r2 = pool.pending();
            pool.onAway(pool::freeStream);
            pool.settle();
            result.r3 = pool.carried();
        }
    }

    /**
     * A worker stream becomes free on a loop with a queued request. An older request is queued on
     * the other loop, and its client disconnects. Whichever loop gives precedence to the other, and
     * whether or not the older request is still there, the stream serves a remaining request.
     */
    @JCStressTest
    @State
    @Outcome(id = "1, 0, 1", expect = ACCEPTABLE, desc = "The older request had left.")
    @Outcome(
            id = "1, 1, 2",
            expect = ACCEPTABLE,
            desc = "The older request had a stream, and the younger one after it.")
    public static class OlderRequestLeaves {
        private final StressedPool pool = new StressedPool(0);
        private Exchange older;

        public OlderRequestLeaves() {
            pool.onHome(() -> older = StressedPool.request(pool.home));
            pool.onAway(() -> StressedPool.request(pool.away));
        }

        @Actor
        public void client() {
            pool.onHome(() -> older.cancel(ErrorCode.CANCELLED));
        }

        @Actor
        public void worker() {
            pool.onAway(pool::freeStream);
        }

        @Arbiter
        public void end(III_Result result) {
            pool.settle();
            result.r1 = pool.carried();
            result.r2 = pool.pending();
            pool.onAway(pool::freeStream);
            pool.settle();
            result.r3 = pool.carried();
        }
    }
}
