package io.lambdadispatcher.core.internal.capacity;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Compares the GB-seconds of the last hour, counted per minute, with a ceiling. It counts workers
 * and the direct invocations of overflowing requests. The ceiling must leave one minute for each
 * worker, so the number of workers falls gradually near the ceiling.
 */
final class SpendMeter {
    static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int MINUTES = 60;
    private static final double NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

    private double ceilingGbSeconds;
    private double workerGb;
    private final double[] minutes = new double[MINUTES + 1];
    private boolean started;
    private long minuteStartNanos;
    private long meteredNanos;
    private int minute;
    private double total;
    private double lastHour;

    SpendMeter(double ceilingGbSeconds, int workerMegabytes) {
        setLimits(ceilingGbSeconds, workerMegabytes);
    }

    /** Changes the ceiling, and the memory of workers from now on. */
    final void setLimits(double ceiling, int workerMegabytes) {
        ceilingGbSeconds = ceiling;
        workerGb = workerMegabytes / 1024.0;
    }

    /** Adds the time since the previous call for the workers that ran in it. */
    void advance(long nowNanos, int workers) {
        if (!started) {
            started = true;
            minuteStartNanos = nowNanos;
            meteredNanos = nowNanos;
        }
        double spent = workers * workerGb * ((nowNanos - meteredNanos) / NANOS_PER_SECOND);
        meteredNanos = nowNanos;
        total += spent;
        minutes[minute] += spent;
        while (nowNanos - minuteStartNanos >= MINUTE_NANOS) {
            minuteStartNanos += MINUTE_NANOS;
            minute = (minute + 1) % minutes.length;
            minutes[minute] = 0;
        }
        sum();
    }

    private void sum() {
        lastHour = 0;
        for (double each : minutes) {
            lastHour += each;
        }
    }

    /** Returns the GB-seconds of each minute of the last hour, the current minute first. */
    List<Double> byMinute() {
        List<Double> all = new ArrayList<>(minutes.length);
        for (int age = 0; age < minutes.length; age++) {
            all.add(minutes[indexOf(age)]);
        }
        return all;
    }

    /** Adds the values that {@link #byMinute} returned {@code minutesAgo}. */
    void restore(List<Double> byMinute, long minutesAgo) {
        long age = minutesAgo;
        for (double gbSeconds : byMinute) {
            if (age < minutes.length) {
                minutes[indexOf((int) age)] += gbSeconds;
            }
            age++;
        }
        sum();
    }

    private int indexOf(int minutesAgo) {
        return Math.floorMod(minute - minutesAgo, minutes.length);
    }

    /**
     * Adds the time of direct invocations. The time counts in the current minute, because it is
     * known only when an invocation ends.
     */
    void addInvocations(long nanos) {
        double spent = workerGb * (nanos / NANOS_PER_SECOND);
        total += spent;
        minutes[minute] += spent;
        lastHour += spent;
    }

    /** Returns whether the last hour is below the ceiling. */
    boolean isWithinCeiling() {
        return ceilingGbSeconds == 0 || lastHour < ceilingGbSeconds;
    }

    /** Returns for how many workers the ceiling leaves this time. */
    int affordableWorkers(int seconds) {
        if (ceilingGbSeconds == 0) {
            return Integer.MAX_VALUE;
        }
        double left = Math.max(0, ceilingGbSeconds - lastHour);
        return (int) Math.min(Integer.MAX_VALUE, left / (workerGb * seconds));
    }

    /**
     * Returns the time until the oldest minutes have left the last hour, so that the ceiling allows
     * one worker. It is at most 61 minutes, even if the ceiling never allows one.
     */
    long nanosUntilAffordable(long nowNanos) {
        double allowed = ceilingGbSeconds - workerGb * MINUTES;
        double left = lastHour;
        long nanos = minuteStartNanos + MINUTE_NANOS - nowNanos;
        for (int age = MINUTES; age > 0 && left - minutes[indexOf(age)] > allowed; age--) {
            left -= minutes[indexOf(age)];
            nanos += MINUTE_NANOS;
        }
        return nanos;
    }

    double ceilingGbSeconds() {
        return ceilingGbSeconds;
    }

    double lastHourGbSeconds() {
        return lastHour;
    }

    double totalGbSeconds() {
        return total;
    }
}
