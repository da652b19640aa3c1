package io.lambdadispatcher.core.internal.exchange;

import java.util.concurrent.atomic.AtomicLong;

/**
 * What one client has of one function now, over all event loops. It exists only while a request of the client needs it. Any
 * thread.
 */
public final class ClientShare {
    final Object key;

    /** Exchanges that refer to it; changed by {@link ClientShares} only, which makes each change atomic. */
    int references;

    private final AtomicLong lastTag = new AtomicLong();

    ClientShare(Object key) {
        this.key = key;
    }

    /**
     * Returns the tag of the client's next request in the fair queue, which puts it behind the client's others, and among other
     * clients where a client begins that has had no request so far.
     *
     * @param virtualTime the tag that was served last
     */
    public long nextTag(long virtualTime) {
        return lastTag.accumulateAndGet(virtualTime, (last, now) -> Math.max(last, now) + 1);
    }
}
