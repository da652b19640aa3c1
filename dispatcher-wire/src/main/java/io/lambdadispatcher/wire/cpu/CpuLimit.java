package io.lambdadispatcher.wire.cpu;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * How many requests a process should take at once: as many as its application wants, but not more
 * than its processor time suffices for. If more than 95 % of that time is used, the number is
 * lowered to what would use 90 %. If less than 85 % is used, it is raised by a twentieth of the
 * maximum, but not above what would use 90 %, and at least by one. It is never below the number of
 * processors because of the time, because so many requests share none.
 *
 * <p>Open streams that are idle use no time, so they do not lower it. Work without requests does.
 *
 * <p><i>Threading:</i> not thread-safe.
 */
public final class CpuLimit {
    /** The time between two readings. */
    public static final long PERIOD_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    /** The time before the first reading, because a process that has just started compiles code. */
    public static final long DELAY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final double FULL = 0.95;
    private static final double AIM = 0.9;
    private static final double ROOM = 0.85;

    private final int most;
    private int wanted;
    private double sufficient;
    private @Nullable CpuUse before;
    private long beforeNanos;

    /** @param most the number of requests without a limit */
    public CpuLimit(int most) {
        this.most = most;
        this.wanted = most;
        this.sufficient = most;
    }

    /** Returns how many requests the process should take at once. */
    public int value() {
        return Math.min(wanted, (int) sufficient);
    }

    /** Returns whether the processor time does not suffice for the maximum. */
    public boolean isShort() {
        return (int) sufficient < most;
    }

    /** Sets how many requests the application wants at once. */
    public void want(int requests) {
        wanted = Math.min(most, requests);
    }

    /** Takes the next reading. */
    public void onPeriod(long nowNanos, CpuUse now) {
        if (before != null) {
            adjust(now.shareSince(before, nowNanos - beforeNanos), now.processors());
        }
        before = now;
        beforeNanos = nowNanos;
    }

    /** @param share the part of the processor time that was used; NaN = not known */
    private void adjust(double share, double processors) {
        double enough = value() * AIM / share;
        if (share > FULL) {
            sufficient = Math.min(sufficient, Math.max(Math.ceil(processors), enough));
        } else if (share < ROOM) {
            // One more in any case: work without requests may use most of the time.
            double raised = Math.min(sufficient + Math.max(1, most / 20.0), Math.max(enough, (int) sufficient + 1));
            sufficient = Math.min(most, Math.max(sufficient, raised));
        }
    }
}
