package io.lambdadispatcher.core.internal.assembly;

import io.lambdadispatcher.core.observe.FleetSnapshot;
import io.lambdadispatcher.core.observe.FleetSnapshot.Member;
import io.netty.util.concurrent.Ticker;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Decides when a new member of a fleet begins to accept the clients of a socket that another
 * process may serve, too. It is better to leave them to a member that has workers, but not forever.
 */
final class TakeoverRule {
    /** Maximum time for workers of the other members to connect. They need a second or two. */
    static final long LONGEST_WAIT_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final Ticker ticker;
    private final long createdNanos;

    TakeoverRule(Ticker ticker) {
        this.ticker = ticker;
        createdNanos = ticker.nanoTime();
    }

    /**
     * @param ready whether this member has the workers that it must have
     * @param ledgerFails whether the latest access to the ledger has failed
     * @param idle the functions that are launched here, and of which no worker has connected
     */
    boolean accepts(FleetSnapshot seen, boolean ready, boolean ledgerFails, Set<String> idle) {
        boolean known = seen.leaseAgeMillis() >= 0;
        if (known && seen.members().stream().filter(Member::alive).count() == 1) {
            return true;
        }
        if (!ready || idle.isEmpty() || ledgerFails || ticker.nanoTime() - createdNanos >= LONGEST_WAIT_NANOS) {
            return ready;
        }
        return known && seen.functions().stream().noneMatch(of -> of.workers() > 0 && idle.contains(of.function()));
    }
}
