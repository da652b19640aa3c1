package io.lambdadispatcher.core.internal.capacity;

import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.worker.LaunchToken;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The state of one worker from its launch to its exit, and statistics of its exchanges.
 *
 * <pre>
 * launched → dialled → ready → draining → gone
 *     ↑          ↑________|  the worker reports that it is not ready for now
 *     |___________________|  the worker has lost its connections, and may dial in again
 * </pre>
 *
 * Each state can also change to gone.
 */
final class WorkerLife {
    enum State {
        /** The worker has no connection, but is expected to dial in. */
        LAUNCHED,
        /** The worker is connected, but is not ready yet or not ready for now. */
        DIALLED,
        /** The worker takes requests. */
        READY,
        /** The worker takes no new requests, and exits soon. */
        DRAINING,
        GONE
    }

    static final long NEVER = Long.MAX_VALUE;

    /**
     * The time that a connected worker has to become ready, as a multiple of the launch timeout. A
     * handler may start slowly, but a worker that hangs must not count as capacity forever.
     */
    private static final int TIMES_LONGER_TO_BE_READY = 4;

    /**
     * The time for which a worker that has lost its connections, or is no longer ready, still
     * counts as capacity.
     */
    private static final long BACK_NANOS = TimeUnit.SECONDS.toNanos(3);

    final String id;
    private final WorkerKind kind;
    /**
     * Whether this dispatcher has launched or adopted this worker, and so may drain and replace it.
     */
    boolean ours;

    /**
     * The version of its code. Empty until the worker tells it, unless it was launched with a
     * certain version.
     */
    String version = "";

    final long launchedNanos;
    final ConcurrencyLimit limit;
    /** The downstream connections that the worker may open. */
    final ConnectionShare downstream;

    private State state;
    private long enteredNanos;
    private boolean everReady;
    private long firstReadyNanos;
    private long deadlineNanos = NEVER;
    private boolean settled;
    private boolean killed;
    private boolean exited;
    private boolean lost;
    private boolean parted;
    /** Until when it may serve other dispatchers of the fleet. */
    private long servesUntilNanos;

    /** Why the worker is being replaced; empty = it is not. */
    private String expiresFor = "";

    /** Whether a worker has been launched in its place. */
    private boolean replaced;

    /** Why it was launched; empty if this dispatcher has not launched it. */
    String launchReason = "";

    /** Why it drains or is killed; empty = it is not. */
    private String endReason = "";

    /** What its exchanges were at the latest second. */
    private @Nullable WorkerDemand last;

    private WorkerLife(
            String id,
            WorkerKind kind,
            boolean ours,
            State state,
            long nowNanos,
            int streams,
            ConnectionShare downstream) {
        this.id = id;
        this.kind = kind;
        this.ours = ours;
        this.state = state;
        this.launchedNanos = nowNanos;
        this.enteredNanos = nowNanos;
        this.servesUntilNanos = nowNanos;
        this.limit = new ConcurrencyLimit(streams);
        this.downstream = downstream;
    }

    /** @param connections the downstream connections that it may open; 0 = not limited */
    static WorkerLife launched(String id, long nowNanos, int streams, int connections) {
        return new WorkerLife(
                id, WorkerKind.LAUNCHED, true, State.LAUNCHED, nowNanos, streams, ConnectionShare.granted(connections));
    }

    /** Creates a worker that this dispatcher has not launched, but perhaps another one. */
    static WorkerLife launchedElsewhere(String id, WorkerKind kind, long nowNanos, int streams) {
        return new WorkerLife(id, kind, false, State.DIALLED, nowNanos, streams, ConnectionShare.unknown());
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

    /**
     * Makes the worker ready.
     *
     * @param deadline when it must have exited; {@link #NEVER} = no deadline. It counts the first
     *     time, because a later one may have passed after a reload with a shorter age
     */
    boolean onReady(long nowNanos, long deadline) {
        if (state != State.LAUNCHED && state != State.DIALLED) {
            return false;
        }
        if (!everReady) {
            everReady = true;
            firstReadyNanos = nowNanos;
            deadlineNanos = deadline;
        }
        return enter(State.READY, nowNanos);
    }

    boolean onUnready(long nowNanos) {
        return state == State.READY && enter(State.DIALLED, nowNanos);
    }

    boolean onDraining(long nowNanos) {
        parted |= state == State.LAUNCHED; // It has no connection that could close.
        return state != State.DRAINING && state != State.GONE && enter(State.DRAINING, nowNanos);
    }

    /**
     * Records that the last connection was lost without a goodbye. The worker may dial in again.
     */
    boolean onDisconnected(long nowNanos) {
        return (state == State.DIALLED || state == State.READY) && enter(State.LAUNCHED, nowNanos);
    }

    /** Records that the worker is told to drain. */
    void onTold(long nowNanos, long graceNanos) {
        boolean inFleet = id.startsWith(LaunchToken.FLEET_WORKER_ID_PREFIX);
        servesUntilNanos = inFleet && !parted ? nowNanos + graceNanos : servesUntilNanos;
    }

    /** Records that the last connection of a draining worker has closed. It should exit soon. */
    void onParted(long nowNanos) {
        parted = true;
        enter(State.DRAINING, nowNanos);
    }

    /** Records that a draining worker has dialled in again. It still drains. */
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

    /**
     * Returns whether the worker serves requests, or is expected to do so soon and for some time.
     */
    boolean isCapacity(long nowNanos) {
        return switch (state) {
            case LAUNCHED -> isExpected(nowNanos);
            case DIALLED -> !exited && !killed && isExpected(nowNanos);
            case READY -> !isEjected() && !isExpiring();
            case DRAINING, GONE -> false;
        };
    }

    /** Returns whether the worker is still starting, or was ready a moment ago. */
    private boolean isExpected(long nowNanos) {
        return !everReady || inStateNanos(nowNanos) < BACK_NANOS;
    }

    /** Returns how long the worker has been in its state. */
    long inStateNanos(long nowNanos) {
        return nowNanos - enteredNanos;
    }

    /** Returns whether it was killed because it did not start or did not end in time. */
    boolean wasKilled() {
        return killed;
    }

    /**
     * Returns once, if the worker does not start or end in time, why it must be killed: a predicate
     * of a sentence about it. Otherwise, returns {@code null}.
     */
    @Nullable
    String overdue(long nowNanos, Duration launchTimeout) {
        long times = inStateNanos(nowNanos) / launchTimeout.toNanos();
        if (killed || times < 1) {
            return null;
        }
        String reason = switch (state) {
            case LAUNCHED -> "has not dialled in within " + PrintableText.of(launchTimeout);
            case DIALLED -> times < TIMES_LONGER_TO_BE_READY ? null : "has dialled in, but has not become ready";
            case DRAINING ->
                parted && nowNanos - servesUntilNanos >= launchTimeout.toNanos()
                        ? "has drained, but has not exited within " + PrintableText.of(launchTimeout)
                        : null;
            case READY, GONE -> null;
        };
        killed = reason != null;
        return reason;
    }

    /** Records that this dispatcher owns the worker, so a kill is not in vain any more. */
    void adopt() {
        ours = true;
        killed = false;
    }

    /** Records that the worker is killed. Returns whether it is for the first time. */
    boolean kill() {
        boolean first = !killed;
        killed = true;
        return first;
    }

    /** Records that the launcher reported the worker's exit, although it is still connected. */
    void onExit() {
        exited = true;
    }

    /** Records whether its launcher no longer knows if the worker runs. */
    void setLost(boolean value) {
        lost = value;
    }

    /** Returns whether the worker may still run when its connections are closed. */
    boolean isLost() {
        return lost;
    }

    boolean hasExited() {
        return exited;
    }

    boolean everReady() {
        return everReady;
    }

    boolean isBase() {
        return kind == WorkerKind.BASE;
    }

    /** Returns the exchanges that it can serve concurrently now; 0 = it is not to serve. */
    int concurrency() {
        return state == State.READY && !isEjected() ? usable() : 0;
    }

    /**
     * Returns the maximum number of concurrent exchanges. The limit of a launched worker follows
     * from its launch, but it may open fewer streams, or want fewer exchanges.
     */
    int usable() {
        int opened = last == null ? 0 : last.streams();
        return opened > 0 && !isBase() ? Math.min(limit.value(), opened) : limit.value();
    }

    /** Returns whether it was launched by this dispatcher and has not been ready yet. */
    boolean isStarting() {
        return ours && !everReady && !exited;
    }

    long startNanos() {
        return firstReadyNanos - launchedNanos;
    }

    /** Returns the time since the worker was ready for the first time; 0 = it never was. */
    long readyNanos(long nowNanos) {
        return everReady ? nowNanos - firstReadyNanos : 0;
    }

    /** Returns true once, if the worker has been ready for the given time. */
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

    // Expiry.

    /**
     * Marks the worker as being replaced. This is final, even if the estimates behind the decision
     * change, because its replacement may be starting.
     *
     * @param why for operators, not empty
     */
    void expire(String why) {
        expiresFor = isExpiring() ? expiresFor : why;
    }

    boolean isExpiring() {
        return !expiresFor.isEmpty();
    }

    /** Returns why the worker is being replaced; empty = it is not. */
    String expiresFor() {
        return expiresFor;
    }

    /** Returns true once, for the launch of its replacement. */
    boolean claimsReplacement() {
        boolean first = !replaced;
        replaced = true;
        return first;
    }

    /** Notes why the worker ends. The first reason counts. */
    void endsFor(String why) {
        endReason = endReason.isEmpty() ? why : endReason;
    }

    String endReason() {
        return endReason;
    }

    boolean hasDeadline() {
        return deadlineNanos != NEVER;
    }

    /** Returns when the worker must have exited; {@link #NEVER} = not known. */
    long deadlineNanos() {
        return deadlineNanos;
    }

    long leftNanos(long nowNanos) {
        return deadlineNanos == NEVER ? NEVER : deadlineNanos - nowNanos;
    }

    /** Returns the time from launch to deadline. */
    long lifeNanos() {
        return deadlineNanos == NEVER ? NEVER : deadlineNanos - launchedNanos;
    }

    /**
     * Returns a number from 0 to 1 that differs between workers, so that workers launched together
     * are not replaced together.
     */
    double lot() {
        return (id.hashCode() * 0x9E3779B97F4A7C15L >>> 11) * 0x1p-53;
    }

    // Statistics.

    /**
     * Records how many streams a worker of the base has, which it decides itself.
     *
     * @return whether the number has changed
     */
    boolean onStreams(int streams) {
        return isBase() && streams > 0 && limit.setStreams(streams);
    }

    /**
     * Returns the difference to the previous second, or since the worker connected; {@code null} if
     * that is not known.
     */
    @Nullable
    WorkerDemand onSecond(long nowNanos, WorkerDemand now) {
        WorkerDemand before = last;
        last = now;
        if (before == null) {
            return now;
        }
        if (now.completed() < before.completed()) {
            return null;
        }
        limit.onSecond(nowNanos, now.peakBusy());
        return now.minus(before);
    }

    int busy() {
        return last == null ? 0 : last.busy();
    }

    /** Returns why the worker is or was ejected when it was seen last; {@code null} if not. */
    @Nullable
    String ejection() {
        return last == null ? null : last.ejection();
    }

    boolean isEjected() {
        return state == State.READY && ejection() != null;
    }

    /** Returns how often it was ejected since it has connected. */
    int ejections() {
        return last == null ? 0 : last.ejections();
    }
}
