package io.lambdadispatcher.core.internal.policy;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * What all workers of one kind do together for a function: what {@link WorkerHealth} compares a
 * worker with, and how many workers may be ejected. Base workers and launched workers are two
 * groups, because they differ in speed and version. It reads no clock. Times are like {@link
 * System#nanoTime}.
 *
 * <p><i>Threading:</i> any thread. Each event loop counts its exchanges in its own {@link Tally}.
 */
public final class GroupHealth {
    static final long SECOND = TimeUnit.SECONDS.toNanos(1);

    /** A larger group is compared with each other, a smaller one mainly with its past. */
    static final int FEWEST_WORKERS = 3;

    private static final double TIMES_SLOWER = 4;
    private static final double NANOS_SLOWER = TimeUnit.MILLISECONDS.toNanos(100);
    /** The past of the group is this long to twice as long, or longer if there was no failure. */
    private static final long PAST_NANOS = 30 * SECOND;

    /** The exchanges of one event loop. Written by this event loop, read by any thread. */
    public static final class Tally {
        private final AtomicLong ended = new AtomicLong();
        private final AtomicLong bad = new AtomicLong();

        void count(boolean isBad) {
            // There is one writer, so this needs no atomic addition.
            ended.setOpaque(ended.getPlain() + 1);
            if (isBad) {
                bad.setOpaque(bad.getPlain() + 1);
            }
        }
    }

    /**
     * @param ended exchanges that have ended
     * @param bad those that failed or were slow
     */
    record Counts(long ended, long bad) {
        private static final Counts NONE = new Counts(0, 0);

        Counts since(Counts earlier) {
            return new Counts(ended - earlier.ended, bad - earlier.bad);
        }

        /**
         * Estimates how often an exchange is bad. Half an exchange more, so that a few good ones do
         * not say that none is ever bad.
         */
        double share() {
            return (bad + 0.5) / (ended + 0.5);
        }
    }

    private final List<Tally> tallies = new CopyOnWriteArrayList<>();
    private volatile long slowNanos = Long.MAX_VALUE;
    private volatile long lookedNanos;
    private volatile int size;
    /** Whether a worker is open and not ejected. */
    private volatile boolean sound;

    /** The workers of the other kind; {@code null} = there is none. */
    private volatile @Nullable GroupHealth other;

    /** Whether an ejected worker is replaced, because the dispatcher launches these workers. */
    private boolean replaced;

    @GuardedBy("this")
    private Counts pastBegin = Counts.NONE;

    @GuardedBy("this")
    private Counts nextPastBegin = Counts.NONE;

    @GuardedBy("this")
    private long nextPastNanos;

    @GuardedBy("this")
    private Set<String> open = Set.of();

    @GuardedBy("this")
    private final Set<String> ejected = new HashSet<>();

    /** Creates the group of the function's workers of the other kind. */
    public GroupHealth newOther() {
        GroupHealth created = new GroupHealth();
        created.replaced = true;
        created.other = this;
        other = created;
        return created;
    }

    /** Creates the tally of one more event loop. */
    public Tally newTally() {
        Tally tally = new Tally();
        tallies.add(tally);
        return tally;
    }

    // How long an exchange typically takes.

    /** Returns true about once a second, when {@link #onTypical} should be called. */
    public boolean isDue(long nowNanos) {
        long last = lookedNanos;
        return last == 0 || nowNanos - last >= SECOND;
    }

    /**
     * Takes the typical time to the first byte of each worker. A worker without enough samples must
     * not be among them.
     *
     * @param typicalNanos is sorted by this call
     */
    public void onTypical(long nowNanos, long[] typicalNanos) {
        lookedNanos = nowNanos | 1;
        if (typicalNanos.length > 0) {
            Arrays.sort(typicalNanos);
            slowNanos = (long) (typicalNanos[(typicalNanos.length - 1) / 2] * TIMES_SLOWER + NANOS_SLOWER);
        }
    }

    /**
     * Returns the time to the first byte above which an exchange is slow: four times that of the
     * median worker, and 100 ms more, in a small group of the slower kind. So a lone worker is not
     * slow because a service is that all workers use. {@link Long#MAX_VALUE} = not known.
     */
    long slowNanos() {
        GroupHealth others = other;
        return others != null && others.isKnown() && size < FEWEST_WORKERS
                ? Math.max(slowNanos, others.slowNanos)
                : slowNanos;
    }

    private boolean isKnown() {
        return size > 0 && slowNanos != Long.MAX_VALUE;
    }

    /**
     * Returns whether nothing but its past says how long the exchanges of a lone worker should
     * take, and it is not a launched worker without a base, for which that is enough.
     */
    boolean hasOnlyPast() {
        GroupHealth others = other;
        return others != null && !others.isKnown() && !(replaced && others.size == 0);
    }

    // How many exchanges are bad.

    /** Returns how many exchanges of the function have ended, on workers of either kind. */
    long endedOfAll() {
        return totals().ended() + totalsOfOtherKind().ended();
    }

    /** Returns none if there is no other kind. */
    Counts totalsOfOtherKind() {
        GroupHealth others = other;
        return others == null ? Counts.NONE : others.totals();
    }

    Counts totals() {
        long ended = 0;
        long bad = 0;
        for (Tally tally : tallies) {
            ended += tally.ended.getOpaque();
            bad += tally.bad.getOpaque();
        }
        return new Counts(ended, bad);
    }

    /** Returns what the group did before now. */
    synchronized Counts past(long nowNanos, Counts totals) {
        if (nowNanos - nextPastNanos >= PAST_NANOS) {
            pastBegin = nextPastBegin;
            nextPastBegin = totals;
            nextPastNanos = nowNanos;
        }
        return totals.since(pastBegin);
    }

    // Who is ejected.

    /**
     * Sets which workers are open for requests, ejected ones included.
     *
     * @return whether {@link #areAllEjected} may have changed, of either group
     */
    public synchronized boolean setOpen(Collection<String> workerIds) {
        open = Set.copyOf(workerIds);
        size = open.size();
        GroupHealth others = other;
        // Those that come next are compared with the other kind, or else with the past.
        slowNanos = size == 0 && others != null && others.size > 0 ? Long.MAX_VALUE : slowNanos;
        ejected.retainAll(open);
        return update();
    }

    /**
     * Ejects a worker if the group permits it: at most a third of its workers, but at least one, so
     * that a wrong decision cannot stop the function.
     */
    public synchronized boolean tryEject(String workerId) {
        boolean permitted = open.contains(workerId)
                && ejected.size() < Math.max(1, open.size() / FEWEST_WORKERS)
                && ejected.add(workerId);
        update();
        return permitted;
    }

    /** @return whether the worker was ejected */
    public synchronized boolean onReturned(String workerId) {
        boolean was = ejected.remove(workerId);
        update();
        return was;
    }

    /** Returns whether the worker is ejected, which may serve nevertheless because all are. */
    public synchronized boolean isEjected(String workerId) {
        return ejected.contains(workerId);
    }

    public synchronized boolean isNoneEjected() {
        return ejected.isEmpty();
    }

    /** Returns the ejected workers; none if all are, because they then serve all requests. */
    public synchronized Set<String> ejectedNow() {
        return areAllEjected() ? Set.of() : Set.copyOf(ejected);
    }

    @GuardedBy("this")
    private boolean update() {
        boolean before = sound;
        sound = open.size() > ejected.size();
        return sound != before;
    }

    /**
     * Returns whether no other worker of the function is open, of either kind. Ejected workers then
     * serve all requests.
     */
    public boolean areAllEjected() {
        GroupHealth others = other;
        return size > 0 && !sound && (others == null || !others.sound);
    }

    int size() {
        return size;
    }
}
