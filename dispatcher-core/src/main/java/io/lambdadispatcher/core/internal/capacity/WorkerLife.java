package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One worker from its launch to its end, and its recent behaviour.
 *
 * <pre>
 * launched → dialled → ready → draining → gone
 *     ↑          ↑________|  it reports that it is not ready for now
 *     |___________________|  it has lost its connections, and may connect again
 * </pre>
 *
 * A worker can end in each state.
 */
final class WorkerLife {
    enum State {
        /** Launched, and not connected yet. */
        LAUNCHED,
        /** Connected. It takes no requests yet, or none for now. */
        DIALLED,
        /** Takes requests. */
        READY,
        /** Takes no more requests. */
        DRAINING,
        GONE
    }

    static final long NEVER = Long.MAX_VALUE;

    /**
     * A worker that has lost its connections, or is no longer ready, still counts as capacity for
     * this time.
     */
    private static final long BACK_NANOS = TimeUnit.SECONDS.toNanos(3);

    final String id;
    /** Whether this dispatcher launched it, and may drain it. */
    final boolean ours;

    final long launchedNanos;
    final ConcurrencyLimit limit;
    private State state;
    private long enteredNanos;
    private boolean everReady;
    private long firstReadyNanos;
    private long deadlineNanos = NEVER;
    private boolean settled;
    private boolean killed;
    private boolean exited;
    private boolean parted;
    private boolean expiring;

    // Recent behaviour: exponentially weighted means of the totals' changes per second.
    private @Nullable WorkerDemand last;
    private double completed;
    private double failed;
    private double meanNanos;

    // Ejection by the outlier detector.
    int ejections;
    private boolean ejected;
    private long ejectedUntilNanos;

    private WorkerLife(String id, boolean ours, State state, long nowNanos, int streams) {
        this.id = id;
        this.ours = ours;
        this.state = state;
        this.launchedNanos = nowNanos;
        this.enteredNanos = nowNanos;
        this.limit = new ConcurrencyLimit(streams);
    }

    static WorkerLife launched(String id, long nowNanos, int streams) {
        return new WorkerLife(id, true, State.LAUNCHED, nowNanos, streams);
    }

    /** Returns a self-launched worker. */
    static WorkerLife selfLaunched(String id, long nowNanos, int streams) {
        return new WorkerLife(id, false, State.DIALLED, nowNanos, streams);
    }

    // The state machine.

    State state() {
        return state;
    }

    boolean is(State value) {
        return state == value;
    }

    boolean onDialled(long nowNanos) {
        return state == State.LAUNCHED && enter(State.DIALLED, nowNanos);
    }

    /** @param deadline time at which it must have exited; {@link #NEVER} if there is none */
    boolean onReady(long nowNanos, long deadline) {
        if (state != State.LAUNCHED && state != State.DIALLED) {
            return false;
        }
        if (!everReady) {
            everReady = true;
            firstReadyNanos = nowNanos;
        }
        deadlineNanos = deadline;
        return enter(State.READY, nowNanos);
    }

    boolean onUnready(long nowNanos) {
        return state == State.READY && enter(State.DIALLED, nowNanos);
    }

    boolean onDraining(long nowNanos) {
        return state != State.DRAINING && state != State.GONE && enter(State.DRAINING, nowNanos);
    }

    /** It has lost its last connection, but its exit was not reported. */
    boolean onDisconnected(long nowNanos) {
        return (state == State.DIALLED || state == State.READY) && enter(State.LAUNCHED, nowNanos);
    }

    /** It drains and has lost its last connection. Its exit should follow soon. */
    void onParted(long nowNanos) {
        parted = true;
        enter(State.DRAINING, nowNanos);
    }

    /** It has connected again, and still drains. */
    void onBack() {
        parted = false;
    }

    boolean hasParted() {
        return parted;
    }

    boolean onGone(long nowNanos) {
        return state != State.GONE && enter(State.GONE, nowNanos);
    }

    private boolean enter(State next, long nowNanos) {
        state = next;
        enteredNanos = nowNanos;
        return true;
    }

    /** Returns whether it serves requests, or is expected to do so soon and for some time. */
    boolean isCapacity(long nowNanos) {
        return switch (state) {
            case LAUNCHED -> isExpected(nowNanos);
            case DIALLED -> !exited && isExpected(nowNanos);
            case READY -> !ejected && !expiring;
            case DRAINING, GONE -> false;
        };
    }

    /** Returns whether it is starting, or was ready a moment ago. */
    private boolean isExpected(long nowNanos) {
        return !everReady || inStateNanos(nowNanos) < BACK_NANOS;
    }

    /** Returns how long it has been in its state. */
    long inStateNanos(long nowNanos) {
        return nowNanos - enteredNanos;
    }

    /** @return true once, when it has been in its state for that time and must be killed */
    boolean endsAfter(long nowNanos, long limitNanos) {
        if (killed || inStateNanos(nowNanos) < limitNanos) {
            return false;
        }
        killed = true;
        return true;
    }

    /** Its launcher has reported its exit, but it is still connected. */
    void onExit() {
        exited = true;
    }

    boolean hasExited() {
        return exited;
    }

    boolean everReady() {
        return everReady;
    }

    long startNanos() {
        return firstReadyNanos - launchedNanos;
    }

    /** @return true once, when it has been ready for that time */
    boolean settles(long nowNanos, long afterNanos) {
        if (settled || state != State.READY || inStateNanos(nowNanos) < afterNanos) {
            return false;
        }
        settled = true;
        return true;
    }

    boolean isSettled() {
        return settled;
    }

    // Its end.

    /** Marks it as being replaced. This is final, because the replacement has been launched. */
    void expire() {
        expiring = true;
    }

    boolean isExpiring() {
        return expiring;
    }

    boolean hasDeadline() {
        return deadlineNanos != NEVER;
    }

    long leftNanos(long nowNanos) {
        return deadlineNanos == NEVER ? NEVER : deadlineNanos - nowNanos;
    }

    /** Returns the time from launch to deadline. */
    long lifeNanos() {
        return deadlineNanos == NEVER ? NEVER : deadlineNanos - launchedNanos;
    }

    /**
     * Returns a number from 0 to 1 that differs between workers, so that workers that were launched
     * together are not replaced together.
     */
    double lot() {
        return (id.hashCode() * 0x9E3779B97F4A7C15L >>> 11) * 0x1p-53;
    }

    // How it fares.

    void onSecond(long nowNanos, WorkerDemand now) {
        WorkerDemand before = last;
        last = now;
        if (before == null || now.completed() < before.completed()) {
            return;
        }
        completed = completed * DECAY + (now.completed() - before.completed());
        failed = failed * DECAY + (now.failed() - before.failed());
        long timed = now.timed() - before.timed();
        if (timed > 0) {
            double mean = (double) (now.timedNanos() - before.timedNanos()) / timed;
            meanNanos = meanNanos == 0 ? mean : meanNanos + (mean - meanNanos) * (1 - DECAY);
        }
        limit.onSecond(nowNanos, now.peakBusy());
    }

    private static final double DECAY = Math.exp(-1.0 / 10);

    int busy() {
        return last == null ? 0 : last.busy();
    }

    /** Returns the exchanges that ended in about the last ten seconds. */
    double completed() {
        return completed;
    }

    double failureRate() {
        return completed == 0 ? 0 : Math.min(1, failed / completed);
    }

    double meanNanos() {
        return meanNanos;
    }

    boolean isEjected() {
        return ejected;
    }

    void eject(long nowNanos) {
        ejections++;
        ejected = true;
        ejectedUntilNanos = nowNanos + ejections * TimeUnit.SECONDS.toNanos(10);
    }

    /** @return true when its ejection ends */
    boolean returns(long nowNanos) {
        if (!ejected || nowNanos - ejectedUntilNanos < 0) {
            return false;
        }
        ejected = false;
        completed = 0;
        failed = 0;
        meanNanos = 0;
        return true;
    }

    /** Returns the maximum number of exchanges in flight. */
    int allowed() {
        return ejected ? 0 : limit.value();
    }
}
