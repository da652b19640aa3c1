package io.lambdadispatcher.core.internal.exchange;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts one client's queued requests and open request bodies of one function, over all event
 * loops. It exists only while a request of the client needs it. Any thread.
 */
public final class ClientShare {
    final Object key;

    /** Number of exchanges that refer to it. Only {@link ClientShares} changes it, atomically. */
    int references;

    /** Whether no limit applies, because it is the share of the embedding program. */
    private final boolean trusted;

    private final AtomicLong lastTag = new AtomicLong();
    private final AtomicInteger held = new AtomicInteger();
    private final AtomicInteger queued = new AtomicInteger();

    private volatile boolean slow;
    private volatile long slowUntilNanos;

    ClientShare(Object key) {
        this.key = key;
        this.trusted = key == ResponseSink.EMBEDDER;
    }

    /** Returns a share that belongs to no client. */
    public static ClientShare ofAnyone() {
        return new ClientShare(new Object());
    }

    /**
     * Returns the tag of the client's next request in the fair queue. It is behind the client's
     * other requests. The first request of a client is beside the first requests of other clients.
     *
     * @param virtualTime the tag that was served last
     */
    public long nextTag(long virtualTime) {
        return lastTag.accumulateAndGet(virtualTime, (last, now) -> Math.max(last, now) + 1);
    }

    /**
     * Counts one more request whose body has not ended.
     *
     * @return false if {@code limit} is reached
     */
    boolean tryHold(int limit) {
        return tryAdd(held, limit);
    }

    void release() {
        held.decrementAndGet();
    }

    /**
     * Counts one more queued request.
     *
     * @return false if {@code limit} is reached
     */
    public boolean tryQueue(int limit) {
        return tryAdd(queued, limit);
    }

    /** Counts a request that was served before and is queued again. No limit applies. */
    public void onQueued() {
        queued.incrementAndGet();
    }

    public void onDequeued() {
        queued.decrementAndGet();
    }

    /** Returns how many of its requests wait, whatever they wait for. */
    public int queued() {
        return queued.get();
    }

    /** Returns whether no limit applies to the client. */
    public boolean isTrusted() {
        return trusted;
    }

    /**
     * Marks the client as a slow reader.
     *
     * @param untilNanos time at which the mark ends, by the event loops' clock
     */
    public void markSlow(long untilNanos) {
        slowUntilNanos = untilNanos;
        slow = true;
    }

    /** Returns whether the client is marked as a slow reader. */
    public boolean isSlow(long nowNanos) {
        return slow && slowUntilNanos - nowNanos > 0;
    }

    private boolean tryAdd(AtomicInteger count, int limit) {
        boolean added = count.incrementAndGet() <= limit || trusted;
        if (!added) {
            count.decrementAndGet();
        }
        return added;
    }
}
