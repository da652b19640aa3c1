package io.lambdadispatcher.core.internal.capacity;

import java.util.concurrent.TimeUnit;

/**
 * Calculates how many worker streams the queued requests need. Requests that arrived within 100 ms
 * of the first one are a burst, and count one stream each. Requests that arrived later, while
 * workers were starting, count only as many streams as serve them within a second, because each
 * stream can serve several of them. Beside a base, they count as many as clear the queue somewhat
 * later than a start, which launches no workers that the traffic does not need.
 *
 * <p>No stream is needed for a queue that the workers that serve or start will clear before another
 * worker could be ready. For example, requests are queued while the replacement of a lost worker
 * starts, and fill all streams when it has started. By Little's law, the streams that the load does
 * not need clear the queue. This holds if most of the busy streams carry short requests. It is
 * believed only while a worker starts, for at most twice the time of a start, or for a moment if
 * there is a base, and as long as the queue becomes shorter in each second after that. A fleet is
 * judged as one dispatcher would be: by all requests in flight, and by what all need in the mean.
 */
final class Backlog {
    private static final long TOGETHER_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    /** Within this time, a full base can be due to chance. */
    private static final long MOMENT_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    /**
     * For this time, a queue that is empty continues: its last request may be with a worker that
     * refuses it again.
     */
    private static final long TRIAL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    /**
     * The time in which the queue is cleared beside a base, in starts. What arrives during a start
     * would otherwise launch as many workers again as the traffic needs.
     */
    private static final double STARTS_TO_CLEAR = 1.25;

    private boolean waiting;
    private long sinceNanos;
    private boolean empty = true;
    private long emptyNanos;
    private long arrivedBefore;
    private int together;
    private boolean shrinking;
    private long lookedNanos;
    private int pendingAtLook;

    /**
     * @param starting workers that have not been ready yet
     * @param startNanos mean time from launch until a worker is ready
     * @param besideBase whether a base serves
     */
    void onSample(long nowNanos, Demand demand, int starting, long startNanos, boolean besideBase) {
        int pending = demand.pending();
        findQueue(nowNanos, demand);
        long patienceNanos = starting > 0 ? 2 * startNanos : MOMENT_NANOS;
        boolean helpComes = (starting > 0 || besideBase) && (!waiting || nowNanos - sinceNanos <= patienceNanos);
        boolean due = nowNanos - lookedNanos >= SECOND;
        shrinking = helpComes || shrinking && (!due || pending < pendingAtLook);
        if (helpComes || due) {
            lookedNanos = nowNanos;
            pendingAtLook = pending;
        }
    }

    /** Finds out since when there is a queue. */
    private void findQueue(long nowNanos, Demand demand) {
        int pending = demand.pending();
        if (empty && nowNanos - emptyNanos >= TRIAL_NANOS) {
            waiting = false;
        }
        if (pending == 0) {
            emptyNanos = empty ? emptyNanos : nowNanos;
            empty = true;
            return;
        }
        empty = false;
        if (!waiting) {
            waiting = true;
            sinceNanos = nowNanos;
            arrivedBefore = demand.arrived() - pending;
            together = 0;
        }
        if (nowNanos - sinceNanos <= TOGETHER_NANOS) {
            together = Math.max(together, pending);
        }
    }

    /**
     * Returns the streams needed.
     *
     * @param demand the latest sample
     * @param elsewhere streams that the other dispatchers of the fleet need
     * @param supply streams of the workers that serve or start
     * @param startNanos mean time from launch until a worker is ready
     * @param besideBase whether a base serves. It is full now and then without a rise of the
     *     traffic
     */
    double streams(
            long nowNanos,
            Demand demand,
            OfferedLoad load,
            double elsewhere,
            double supply,
            long startNanos,
            boolean besideBase) {
        int pending = demand.pending();
        double serviceNanos = load.meanServiceNanos();
        if (pending == 0 || serviceNanos == 0) {
            // Not known how long they take: each counts one stream.
            return pending;
        }
        // The mean load follows a sudden rise too slowly.
        double since = Math.max(TOGETHER_NANOS, nowNanos - sinceNanos);
        double before = besideBase ? SECOND / 2.0 : 0;
        double recent =
                ((demand.arrived() - arrivedBefore) * serviceNanos + before * load.streams()) / (since + before);
        double needed = Math.max(load.streams(), recent);
        double others = Math.max(elsewhere, demand.taken());
        double spare = supply - needed - others;
        boolean areShort = demand.busy() + others <= 2 * (needed + elsewhere);
        // Those of the fleet may use up to twice their mean by chance.
        double busy = demand.busy() + Math.min(others, 2 * elsewhere);
        if (shrinking && areShort && pending * serviceNanos <= spare * startNanos) {
            return 0;
        }
        int first = Math.min(pending, together);
        if (!besideBase) {
            return first + (pending - first) * Math.min(1, serviceNanos / SECOND);
        }
        // Workers that have just started are busy with what was queued, which counts only once.
        double share = Math.min(1, serviceNanos / Math.max(SECOND, STARTS_TO_CLEAR * startNanos));
        double streams = first + (pending - first) * share;
        double rising = needed + elsewhere + pending * share - busy;
        return shrinking && areShort ? Math.min(streams, Math.max(0, rising)) : streams;
    }
}
