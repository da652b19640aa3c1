package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.observe.BreakerSnapshot;
import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.options.BreakerPolicy;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Keeps requests away from a function that fails or hangs, and lets a rising share of them try it
 * again.
 *
 * <pre>
 *            too many fail              time is over
 *   CLOSED ────────────────► OPEN ────────────────────► RAMP_20
 *     ▲                       ▲  too many fail            │ time is over, and 5 have ended
 *     │                       └──────────────┬────────────┤
 *     │                                      │            ▼
 *     └──────────────────────────────────────┴───────── RAMP_60
 *        time is over, and 5 have ended
 * </pre>
 *
 * <p>Each phase counts its own requests: one that passed in an earlier phase says nothing about
 * this one. From any state, it closes if it has no requests any more ({@link #closeIfUnused}).
 *
 * <p><i>Event loops:</i> all loops share a breaker. A request costs one read when it arrives and
 * one atomic operation on a counter when it ends. There is no lock.
 *
 * <p><i>Threading:</i> any thread.
 */
public final class Breaker {
    /** Fewer requests say too little while the breaker is closed. */
    static final int MIN_REQUESTS = 20;

    /** Fewer requests say too little in the ramp. */
    static final int MIN_RAMP_REQUESTS = 5;

    /** The longest open time, as a multiple of the first one, is two to the power of this. */
    static final int MAX_DOUBLINGS = 2;

    /** Openings within this multiple of the open time after the last closing follow each other. */
    private static final int CALM = 10;

    /** An open time may be shorter than the pause between two requests of a quiet route. */
    private static final long UNUSED_NANOS = TimeUnit.MINUTES.toNanos(1);

    /** Receives each change of the state, once, on the thread that caused it. */
    @FunctionalInterface
    public interface Listener {
        /** @param reason why, with figures, in one line */
        void onState(BreakerState state, String reason);
    }

    /**
     * The time between two changes of the state. A request keeps the phase in which it passed for
     * {@link #onEnd}.
     */
    public static final class Phase {
        private final BreakerState state;
        private final long sinceNanos;

        /** The earliest end of the phase, as long as not too many fail. */
        private final long lengthNanos;

        /** How often the open time was doubled. */
        private final int doublings;

        /** Why it began, in one line; empty for the first phase. */
        private final String reason;

        private final RecentFailures recent;
        private final AtomicInteger arrived = new AtomicInteger();

        /** When a request came last, if the breaker is not closed. */
        private volatile long askedNanos;

        /** Of a step of the ramp. */
        private final AtomicLong ended = new AtomicLong();

        private Phase(BreakerState state, long sinceNanos, long lengthNanos, int doublings, String reason) {
            this.state = state;
            this.sinceNanos = sinceNanos;
            this.lengthNanos = lengthNanos;
            this.doublings = doublings;
            this.reason = reason;
            askedNanos = sinceNanos;
            recent = new RecentFailures();
        }

        private boolean isOver(long nowNanos) {
            return nowNanos - sinceNanos >= lengthNanos;
        }

        /** Returns the counts of all requests of the step. */
        private long count(boolean failed) {
            return ended.updateAndGet(seen -> RecentFailures.plusOne(seen, failed));
        }

        /** Spreads those that pass evenly: of each five requests, one or three. */
        private boolean passesShare() {
            long number = arrived.getAndIncrement() & Integer.MAX_VALUE;
            long fifths = state.percent() / 20;
            return number * fifths / 5 != (number + 1) * fifths / 5;
        }
    }

    private final Listener listener;
    private final AtomicReference<Phase> current;

    public Breaker(Listener listener, long nowNanos) {
        this.listener = listener;
        current = new AtomicReference<>(new Phase(BreakerState.CLOSED, nowNanos, 0, -1, ""));
    }

    public BreakerState state() {
        return phase().state;
    }

    /** Returns the state and its reason; {@code null} = the breaker has never opened. */
    public @Nullable BreakerSnapshot snapshot(String function, String name) {
        Phase phase = phase();
        return phase.reason.isEmpty() ? null : new BreakerSnapshot(function, name, phase.state, phase.reason);
    }

    private Phase phase() {
        return current.get();
    }

    /**
     * Decides about a request.
     *
     * @param nowNanos the time, of the same clock at each call
     * @return for {@link #onEnd}; {@code null} = the request is refused
     */
    public @Nullable Phase tryPass(BreakerPolicy policy, long nowNanos) {
        Phase phase = phase();
        if (phase.state == BreakerState.CLOSED) {
            return phase;
        }
        phase.askedNanos = nowNanos;
        if (phase.state == BreakerState.OPEN) {
            if (!phase.isOver(nowNanos)) {
                return null;
            }
            phase = begin(
                    phase, BreakerState.RAMP_20, openNanos(policy), nowNanos, "the time for which it was open is over");
        }
        // Another thread may have changed the state.
        return phase.state == BreakerState.CLOSED || phase.passesShare() ? phase : null;
    }

    /**
     * Closes the breaker if no request has asked it for longer than it is open. Its route may be
     * gone, or have no breaker any more. Called now and then.
     */
    public void closeIfUnused(long nowNanos) {
        Phase phase = phase();
        long unusedNanos = nowNanos - phase.askedNanos;
        if (phase.state != BreakerState.CLOSED && unusedNanos >= Math.max(UNUSED_NANOS, phase.lengthNanos)) {
            String reason = "no request for " + TimeUnit.NANOSECONDS.toSeconds(unusedNanos) + " s";
            begin(phase, BreakerState.CLOSED, 0, nowNanos, reason);
        }
    }

    /** Returns the time until the breaker lets requests pass again; 0 = it does. */
    public long leftNanos(long nowNanos) {
        Phase phase = phase();
        return phase.state == BreakerState.OPEN ? Math.max(0, phase.sinceNanos + phase.lengthNanos - nowNanos) : 0;
    }

    /**
     * A request has ended, or is too slow.
     *
     * @param passed the phase in which it passed
     */
    public void onEnd(Phase passed, boolean failed, BreakerPolicy policy, long nowNanos) {
        if (passed != phase()) {
            return;
        }
        passed.recent.count(failed, nowNanos);
        if (passed.state == BreakerState.CLOSED) {
            if (failed) {
                openIfTooMany(passed, passed.recent.last(nowNanos), MIN_REQUESTS, policy, nowNanos);
            }
        } else {
            onRampEnd(passed, failed, policy, nowNanos);
        }
    }

    /** With few requests, all of the step count, because the last seconds may have almost none. */
    private void onRampEnd(Phase step, boolean failed, BreakerPolicy policy, long nowNanos) {
        long all = step.count(failed);
        if (failed) {
            long recent = step.recent.last(nowNanos);
            boolean few = RecentFailures.total(recent) < MIN_RAMP_REQUESTS;
            openIfTooMany(step, few ? all : recent, MIN_RAMP_REQUESTS, policy, nowNanos);
        } else if (step.isOver(nowNanos) && RecentFailures.total(all) >= MIN_RAMP_REQUESTS) {
            BreakerState next = step.state == BreakerState.RAMP_20 ? BreakerState.RAMP_60 : BreakerState.CLOSED;
            begin(step, next, openNanos(policy), nowNanos, describe(all));
        }
    }

    private void openIfTooMany(Phase phase, long seen, int least, BreakerPolicy policy, long nowNanos) {
        int total = RecentFailures.total(seen);
        if (total >= least && RecentFailures.failed(seen) >= threshold(total, policy.errors())) {
            begin(phase, BreakerState.OPEN, openNanos(policy), nowNanos, describe(seen));
        }
    }

    private static long openNanos(BreakerPolicy policy) {
        return policy.open().toNanos();
    }

    /** Returns the failures that are more than the share, and not by chance. */
    private static double threshold(int total, double share) {
        double chance = 2 * Math.sqrt(total * share * (1 - share));
        return Math.min(total, total * share + chance);
    }

    private static String describe(long seen) {
        return String.format(
                Locale.ROOT,
                "%d of %d requests failed or were slow",
                RecentFailures.failed(seen),
                RecentFailures.total(seen));
    }

    /** All changes of the state are here. One of the threads that try wins. */
    private Phase begin(Phase before, BreakerState state, long openNanos, long nowNanos, String reason) {
        int doublings = before.doublings;
        if (state == BreakerState.OPEN) {
            boolean calm = before.state == BreakerState.CLOSED && nowNanos - before.sinceNanos > CALM * openNanos;
            doublings = calm ? 0 : Math.min(MAX_DOUBLINGS, doublings + 1);
        }
        long length = state == BreakerState.OPEN ? openNanos << doublings : openNanos;
        String why = state == BreakerState.OPEN
                ? reason + "; open for " + TimeUnit.NANOSECONDS.toMillis(length) + " ms"
                : reason;
        Phase next = new Phase(state, nowNanos, length, doublings, why);
        if (!current.compareAndSet(before, next)) {
            return phase();
        }
        listener.onState(state, why);
        return next;
    }
}
