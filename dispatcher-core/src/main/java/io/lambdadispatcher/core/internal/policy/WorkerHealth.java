package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.internal.policy.GroupHealth.Counts;
import io.lambdadispatcher.core.internal.policy.GroupHealth.Tally;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Judges a worker by how its exchanges end, compared with the other workers of its function and
 * kind, and with its own past. It reads no clock, so simulations run it in virtual time.
 *
 * <p><b>What is bad.</b> An exchange is bad if it has no response, an incomplete one, or a status
 * of 500 or above. It is also bad if it is slow: if the time to the first byte of its response is
 * longer than {@link GroupHealth#slowNanos}. The length of a response does not count. Slow
 * exchanges are not counted among the first five of a worker, because its code is cold, and if they
 * began before another slow one ended, because both have the same cause, such as a pause.
 *
 * <p><b>Doubt.</b> For 200 ms after a bad exchange, until one ends well, other workers with room
 * come first. After that, the worker gets one request at a time. Others also come first while the
 * worker has answered nothing for the time of a slow exchange, but such a worker comes before one
 * that fails. So a worker that fails quickly does not attract requests because it is never busy.
 *
 * <p><b>Ejection.</b> The first bad exchange begins a trial, which ends when fewer than half of the
 * exchanges after a second were bad. The worker is ejected during the trial if all of this is true:
 *
 * <ul>
 *   <li>The trial has lasted a second and has seen five bad exchanges, and they are at least half.
 *   <li>Chance seldom explains it, even if each exchange were bad as often as those of the other
 *       workers during the trial, or of all workers before, whichever is more. The Chernoff bound
 *       (H. Chernoff, "A Measure of Asymptotic Efficiency for Tests of a Hypothesis Based on the
 *       Sum of Observations", 1952) limits this probability to 1e-10. So there is no verdict
 *       without samples, and none if all workers fail.
 *   <li>In a group of one or two workers, all exchanges of the trial were bad.
 *   <li>If no other worker of the kind has ended an exchange since then, fewer than half of those
 *       of the other kind were bad, or half as many as of this worker. A lone base worker is not
 *       ejected for being slow before a launched worker has answered: if it uses a slow service,
 *       another would be as slow.
 *   <li>If most of the bad ones were slow, the worker's first one began more than 5 s ago.
 *   <li>The group permits it: {@link GroupHealth#tryEject}.
 * </ul>
 *
 * <p><b>Return.</b> After 10 s, 20 s for the second ejection, and so on, and after a hundred
 * exchanges of the group, it gets one request as a probe. A bad probe ejects it again. After five
 * good ones in a row, it serves as before. If all workers are ejected, all of them serve.
 *
 * <p><i>Threading:</i> confined to the event loop of the worker's connection, except for {@link
 * #typicalNanos} and {@link #seemsDoubted}.
 */
public final class WorkerHealth {
    /** What follows from the end of an exchange. */
    public enum Verdict {
        NONE,
        EJECT,
        /** The next probe may begin. */
        PROBE_AGAIN,
        PROBE_FAILED,
        RETURN
    }

    private static final long SECOND = GroupHealth.SECOND;
    private static final long DOUBT_NANOS = TimeUnit.MILLISECONDS.toNanos(200);
    private static final int FEWEST_BAD = 5;
    /** The natural logarithm of 1e10. */
    private static final double EVIDENCE = 23;
    /** Fewer exchanges of the other workers say nothing about how often theirs are bad now. */
    private static final int FEWEST_OTHERS = 5;
    /** A JVM that has just begun to serve is slow, for some time and for some requests. */
    private static final long COLD_NANOS = 5 * SECOND;

    private static final int COLD_EXCHANGES = 5;
    /** After this time, a trial that proves nothing begins again. */
    private static final long LONGEST_TRIAL_NANOS = 10 * SECOND;

    /** So many exchanges say something. */
    private static final int MANY = 50;

    private static final int FEWEST_SAMPLES = 5;

    /** What was seen since a bad exchange. */
    private static final class Trial {
        final long beginNanos;
        final Counts before;
        final Counts past;
        /** What the other kind did before, and this worker, when it was looked at. */
        Counts otherKind;

        int badBefore;
        long lookedNanos;
        int seen;
        int bad;
        int slow;

        Trial(long beginNanos, Counts before, Counts past, Counts otherKind) {
            this.beginNanos = beginNanos;
            this.before = before;
            this.past = past;
            this.otherKind = otherKind;
            this.lookedNanos = beginNanos;
        }

        boolean isRefuted(long nowNanos) {
            return nowNanos - beginNanos >= SECOND && 2 * bad < seen;
        }
    }

    private final GroupHealth group;
    private final Tally tally;

    /** The time to the first byte; moves by an eighth towards each sample, to their median. */
    private long typicalNanos;

    private int samples;
    /** {@link #typicalNanos} for other threads. */
    private final AtomicLong published = new AtomicLong();

    private long ended;

    private boolean begun;
    private long firstNanos;
    /** Since when the worker has had exchanges and answered none. Other threads read it. */
    private final AtomicLong quietNanos = new AtomicLong();

    /** Other threads read it. */
    private final AtomicBoolean doubted = new AtomicBoolean();
    /** Whether an exchange has begun since the worker has answered or ended one. */
    private boolean tried;

    /** Other threads read it. */
    private final AtomicLong lastBadNanos = new AtomicLong();

    private boolean anySlow;
    private long lastSlowNanos;
    private @Nullable Trial trial;

    /** Of the latest verdict. */
    private @Nullable String reason;

    private final Ejection ejection;

    /** @param tally that of the event loop to which this object is confined */
    public WorkerHealth(GroupHealth group, Tally tally) {
        this.group = group;
        this.tally = tally;
        this.ejection = new Ejection(group);
    }

    /**
     * Records that an exchange begins.
     *
     * @param idle whether the worker has no other
     */
    public void onBegin(long nowNanos, boolean idle) {
        if (idle) {
            quietNanos.setOpaque(nowNanos);
            if (!begun) {
                begun = true;
                firstNanos = nowNanos;
            }
        }
        tried = true;
        ejection.onBegin(nowNanos);
    }

    public void onAnswer(long nowNanos) {
        quietNanos.setOpaque(nowNanos);
        tried = false;
    }

    /**
     * Records the end of an exchange.
     *
     * @param beginNanos when it began, or when its request has ended, if that was before the
     *     response
     * @param waitedNanos the time to the first byte of its response, or until it was cancelled
     *     without one
     * @param answered false = it was cancelled without a response
     * @param failed whether it has no response, an incomplete one, or one with a status of 500 or
     *     above
     */
    public Verdict onEnd(long nowNanos, long beginNanos, long waitedNanos, boolean answered, boolean failed) {
        ended++;
        tried = false;
        boolean isSlow = !failed && waitedNanos > group.slowNanos();
        boolean bad = failed || isSlow;
        if (!ejection.isOver()) {
            return ejection.onEnd(nowNanos, beginNanos, bad, answered);
        }
        if (!bad) {
            if (answered) {
                onGood(nowNanos, waitedNanos);
            }
            return Verdict.NONE;
        }
        if (isSlow) {
            if (ended <= COLD_EXCHANGES || anySlow && beginNanos - lastSlowNanos < 0) {
                return Verdict.NONE;
            }
            anySlow = true;
            lastSlowNanos = nowNanos;
            sample(waitedNanos);
        }
        return onBad(nowNanos, isSlow) ? Verdict.EJECT : Verdict.NONE;
    }

    /** An exchange has ended that says nothing of the worker, so another probe may begin. */
    public void onUnjudged() {
        ejection.onUnjudged();
    }

    private void onGood(long nowNanos, long waitedNanos) {
        tally.count(false);
        sample(waitedNanos);
        doubted.setOpaque(false);
        Trial current = trial;
        if (current != null) {
            current.seen++;
            trial = current.isRefuted(nowNanos) ? null : current;
        }
    }

    private void sample(long waitedNanos) {
        long step = typicalNanos / 8 + 1;
        typicalNanos = samples == 0 ? waitedNanos : typicalNanos + (waitedNanos > typicalNanos ? step : -step);
        samples++;
        if (samples >= FEWEST_SAMPLES) {
            published.setOpaque(Math.max(1, typicalNanos));
        }
    }

    private boolean onBad(long nowNanos, boolean isSlow) {
        onDoubt(nowNanos);
        Trial current = trial;
        if (current == null || current.isRefuted(nowNanos)) {
            Counts totals = group.totals();
            current = new Trial(nowNanos, totals, group.past(nowNanos, totals), group.totalsOfOtherKind());
            trial = current;
        }
        tally.count(true);
        current.seen++;
        current.bad++;
        current.slow += isSlow ? 1 : 0;
        return isProven(nowNanos, current);
    }

    private boolean isProven(long nowNanos, Trial of) {
        long lasted = nowNanos - of.beginNanos;
        if (of.bad < FEWEST_BAD || lasted < SECOND || 2 * of.bad < of.seen) {
            return false;
        }
        boolean few = group.size() < GroupHealth.FEWEST_WORKERS;
        boolean slow = 2 * of.slow > of.bad;
        boolean cold = slow && nowNanos - firstNanos < COLD_NANOS;
        if (cold || few && of.bad < of.seen) {
            return false;
        }
        Counts all = group.totals().since(of.before);
        Counts others = new Counts(all.ended() - of.seen, all.bad() - of.bad);
        boolean lone = others.ended() == 0;
        if (!few && others.ended() < FEWEST_OTHERS
                || lone && (slow && group.hasOnlyPast() || isOtherKindBad(nowNanos, of))) {
            return false;
        }
        if (isWorse(of.bad, of.seen, expected(of.past, others))) {
            reason = reason(of, others);
            return true;
        }
        if (lasted > LONGEST_TRIAL_NANOS && of.seen > MANY) {
            trial = null;
        }
        return false;
    }

    /**
     * Nothing but the other kind says whether a single worker is bad, or what it is asked for.
     * Counts the last 10 to 20 s, because the other kind may recover or end.
     */
    private boolean isOtherKindBad(long nowNanos, Trial of) {
        int ours = of.bad - of.badBefore;
        if (ours < FEWEST_BAD) {
            return true;
        }
        Counts all = group.totalsOfOtherKind();
        Counts theirs = all.since(of.otherKind);
        if (2 * theirs.bad() < Math.max(ours, theirs.ended())) {
            return false;
        }
        if (nowNanos - of.lookedNanos > LONGEST_TRIAL_NANOS) {
            of.otherKind = all;
            of.badBefore = of.bad;
            of.lookedNanos = nowNanos;
        }
        return true;
    }

    /** Returns how often an exchange is bad that has nothing to do with this worker's state. */
    private static double expected(Counts past, Counts others) {
        if (others.ended() == 0) {
            return past.share();
        }
        return past.ended() < MANY ? others.share() : Math.max(past.share(), others.share());
    }

    /**
     * Returns whether chance seldom makes so many events happen.
     *
     * @param events how often something has happened
     * @param of out of how many
     * @param expected the probability of each of them, 0 to 1
     */
    public static boolean isWorse(double events, double of, double expected) {
        double share = events / of;
        if (of == 0 || share <= expected) {
            return false;
        }
        double divergence = share * Math.log(share / expected);
        divergence += share == 1 ? 0 : (1 - share) * Math.log((1 - share) / (1 - expected));
        return of * divergence >= EVIDENCE;
    }

    private String reason(Trial of, Counts others) {
        return String.format(
                Locale.ROOT,
                "%d of its %d requests %s, and %d of %d of the other workers",
                of.bad,
                of.seen,
                of.slow == 0
                        ? "failed"
                        : (of.slow == of.bad ? "" : "failed or ") + "took longer than "
                                + TimeUnit.NANOSECONDS.toMillis(group.slowNanos()) + " ms",
                others.bad(),
                others.ended());
    }

    // Doubt.

    /** Puts the worker in doubt, because an exchange was bad, or took longer than another's. */
    public void onDoubt(long nowNanos) {
        lastBadNanos.setOpaque(nowNanos);
        doubted.setOpaque(true);
    }

    /**
     * Returns whether an exchange was bad, and the worker has not had the time or is still busy to
     * do better.
     *
     * @param idle whether the worker has no exchange
     */
    public boolean hasJustFailed(long nowNanos, boolean idle) {
        return doubted.getOpaque() && (tried && !idle || isBadLately(nowNanos));
    }

    private boolean isBadLately(long nowNanos) {
        return nowNanos - lastBadNanos.getOpaque() < DOUBT_NANOS;
    }

    /**
     * Returns whether the worker has exchanges, and has answered none for too long.
     *
     * @param idle whether the worker has no exchange
     */
    public boolean isQuiet(long nowNanos, boolean idle) {
        return !idle && nowNanos - quietNanos.getOpaque() > group.slowNanos();
    }

    /**
     * Returns whether the worker had a bad exchange just now, or is quiet. Any thread, which may
     * see an earlier state.
     *
     * @param idle whether the worker has no exchange
     */
    public boolean seemsDoubted(long nowNanos, boolean idle) {
        return doubted.getOpaque() && isBadLately(nowNanos) || isQuiet(nowNanos, idle);
    }

    // Ejection.

    /** Ejects the worker, because this or another of its connections is proven to be bad. */
    public void eject(long nowNanos, String reason) {
        ejection.eject(nowNanos, reason);
        trial = null;
        doubted.setOpaque(false);
    }

    public void restore() {
        ejection.restore();
    }

    public boolean isEjected() {
        return !ejection.isOver();
    }

    /** Returns after how many nanoseconds a probe may be due; 0 = now. */
    public long probeWaitNanos(long nowNanos) {
        return ejection.waitNanos(nowNanos);
    }

    /** Lets one request begin as a probe, if the worker is ejected. */
    public void offerProbe() {
        ejection.offer();
    }

    /** Returns the maximum number of requests that may begin now. */
    public int limit() {
        return ejection.limit();
    }

    /**
     * Returns why the worker is ejected, in one line; {@code null} if it is not. After {@link
     * Verdict#EJECT}, it is the reason of the verdict.
     */
    public @Nullable String reason() {
        return ejection.isOver() ? reason : ejection.reason();
    }

    /** Returns how often the worker was ejected, or has failed a probe. */
    public int ejections() {
        return ejection.times();
    }

    /**
     * Returns the typical time to the first byte; 0 = there are too few samples. Any thread, which
     * may see an earlier value.
     */
    public long typicalNanos() {
        return published.getOpaque();
    }
}
