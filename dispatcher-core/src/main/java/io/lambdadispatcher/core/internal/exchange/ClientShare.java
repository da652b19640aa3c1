package io.lambdadispatcher.core.internal.exchange;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * What one client has of one function now, over all event loops. It exists only while a request of
 * the client needs it. Any thread.
 */
public final class ClientShare {
    final Object key;

    /**
     * Exchanges that refer to it; changed by {@link ClientShares} only, which makes each change
     * atomic.
     */
    int references;

    /** No limit holds for it: it is the embedding program's. */
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

    /** Returns a share of nobody in particular. */
    public static ClientShare ofAnyone() {
        return new ClientShare(new Object());
    }

    /**
     * Returns the tag of the client's next request in the fair queue, which puts it behind the
     * client's others, and among other clients where a client begins that has had no request so
     * far.
     *
     * @param virtualTime the tag that was served last
     */
    public long nextTag(long virtualTime) {
        return lastTag.accumulateAndGet(virtualTime, (last, now) -> Math.max(last, now) + 1);
    }

    /**
     * Counts one more request whose body has not ended.
     *
     * @return false if there are {@code limit}
     */
    boolean tryHold(int limit) {
        return tryAdd(held, limit);
    }

    void release() {
        held.decrementAndGet();
    }

    /** Counts one more queued request. @return false if there are {@code limit} */
    public boolean tryQueue(int limit) {
        return tryAdd(queued, limit);
    }

    /** A request that was served before is queued again, which no limit forbids. */
    public void onQueued() {
        queued.incrementAndGet();
    }

    public void onDequeued() {
        queued.decrementAndGet();
    }

    /** Returns how many of its requests are queued, for whatever reason. */
    public int queued() {
        return queued.get();
    }

    /** Returns whether no limit holds for the client. */
    public boolean isTrusted() {
        return trusted;
    }

    /**
     * The client does not take its responses.
     *
     * @param untilNanos when that is forgotten, by the event loops' clock
     */
    public void markSlow(long untilNanos) {
        slowUntilNanos = untilNanos;
        slow = true;
    }

    /** Returns whether the client was found not to take its responses. */
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
