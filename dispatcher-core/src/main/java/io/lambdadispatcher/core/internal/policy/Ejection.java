package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.internal.policy.WorkerHealth.Verdict;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The ejections of one worker connection.
 *
 * <pre>
 *   SERVING ──eject──▶ EJECTED ──due──▶ OFFERED ──a request begins──▶ PROBING
 *   PROBING ──it was bad──▶ EJECTED      PROBING ──it was good──▶ OFFERED, SERVING after five
 *   any ──restore──▶ SERVING
 * </pre>
 *
 * Pure. Confined to the event loop of the connection.
 */
final class Ejection {
    private enum State {
        SERVING,
        EJECTED,
        /** One request may begin. */
        OFFERED,
        /** It is in flight. */
        PROBING
    }

    private static final long TIME_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final int MOST_TIMES_LONGER = 30;
    /** Exchanges of the group for each probe that fails, so that at most 1 % of them do. */
    private static final int EXCHANGES = 100;

    private static final int GOOD_PROBES = 5;

    private final GroupHealth group;
    private State state = State.SERVING;
    private @Nullable String reason;
    private int times;
    private long dueNanos;
    private long dueEnded;
    private long probeNanos;
    private int good;

    Ejection(GroupHealth group) {
        this.group = group;
    }

    boolean isOver() {
        return state == State.SERVING;
    }

    void eject(long nowNanos, String why) {
        reason = why;
        eject(nowNanos);
    }

    private void eject(long nowNanos) {
        state = State.EJECTED;
        times++;
        good = 0;
        dueNanos = nowNanos + Math.min(times, MOST_TIMES_LONGER) * TIME_NANOS;
        dueEnded = group.endedOfAll() + EXCHANGES;
    }

    void restore() {
        state = State.SERVING;
        reason = null;
        good = 0;
    }

    /** Returns after how many nanoseconds a probe may be due; 0 = now. */
    long waitNanos(long nowNanos) {
        long left = dueNanos - nowNanos;
        return left > 0 ? left : group.endedOfAll() < dueEnded ? GroupHealth.SECOND : 0;
    }

    void offer() {
        if (state != State.SERVING) {
            state = State.OFFERED;
        }
    }

    void onBegin(long nowNanos) {
        if (state == State.OFFERED) {
            state = State.PROBING;
            probeNanos = nowNanos;
        }
    }

    /** An exchange has ended that says nothing of the worker. It may have been the probe. */
    void onUnjudged() {
        if (state == State.PROBING) {
            state = State.OFFERED;
        }
    }

    Verdict onEnd(long nowNanos, long beginNanos, boolean bad, boolean answered) {
        boolean probe = state == State.PROBING && beginNanos - probeNanos >= 0;
        if (!probe && !group.areAllEjected()) {
            // It began before the ejection.
            return Verdict.NONE;
        }
        if (bad && probe) {
            eject(nowNanos);
            return Verdict.PROBE_FAILED;
        }
        good = bad ? 0 : good + (answered ? 1 : 0);
        if (good >= GOOD_PROBES) {
            return Verdict.RETURN;
        }
        state = probe ? State.EJECTED : state;
        return probe ? Verdict.PROBE_AGAIN : Verdict.NONE;
    }

    /** Returns the maximum number of requests that may begin now. */
    int limit() {
        if (state == State.SERVING || group.areAllEjected()) {
            return Integer.MAX_VALUE;
        }
        return state == State.OFFERED ? 1 : 0;
    }

    @Nullable
    String reason() {
        return reason;
    }

    int times() {
        return times;
    }
}
