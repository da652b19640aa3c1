package io.lambdadispatcher.core.internal.exchange;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Counts one client's queued requests of one function, and its requests that may hold up a worker
 * stream, over all event loops. It exists only while a request of the client needs it, or while
 * streams were taken back from the client lately. Any thread.
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

    private volatile boolean preempted;
    private volatile long preemptedUntilNanos;

    ClientShare(Object key) {
        this.key = key;
        this.trusted = key == Requester.EMBEDDER;
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
     * Counts one more request that may hold up a worker stream.
     *
     * @return false if {@code limit} is reached
     */
    boolean tryHold(int limit) {
        return tryAdd(held, limit);
    }

    void release() {
        held.decrementAndGet();
    }

    /** @return false if at most {@code limit} requests are counted, so that none is released */
    boolean tryRelease(int limit) {
        return !trusted && held.getAndUpdate(count -> count > limit ? count - 1 : count) > limit;
    }

    /** Returns how many requests may hold up a worker stream. */
    public int held() {
        return held.get();
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

    /**
     * Notes that worker streams were taken back from the client.
     *
     * @param untilNanos time until which this is remembered, by the event loops' clock
     */
    public void onPreempted(long untilNanos) {
        preemptedUntilNanos = untilNanos;
        preempted = true;
    }

    /** Returns whether worker streams were taken back from the client lately. */
    public boolean isPreempted(long nowNanos) {
        return preempted && preemptedUntilNanos - nowNanos > 0;
    }

    private boolean tryAdd(AtomicInteger count, int limit) {
        boolean added = count.incrementAndGet() <= limit || trusted;
        if (!added) {
            count.decrementAndGet();
        }
        return added;
    }
}
