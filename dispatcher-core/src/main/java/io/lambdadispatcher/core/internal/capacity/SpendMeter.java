package io.lambdadispatcher.core.internal.capacity;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * GB-seconds of the last hour, by the minute, against a ceiling: those of workers and those of
 * overflowing requests. Each worker must find a minute's worth left, so that their number falls
 * smoothly as the ceiling comes near and it is not passed.
 */
final class SpendMeter {
    private static final long MINUTE_NANOS = TimeUnit.MINUTES.toNanos(1);
    private static final int MINUTES = 60;
    private static final double NANOS_PER_SECOND = TimeUnit.SECONDS.toNanos(1);

    private final double ceilingGbSeconds;
    private final double workerGb;
    private final double[] minutes = new double[MINUTES + 1];
    private boolean started;
    private long minuteStartNanos;
    private long meteredNanos;
    private int minute;
    private double total;
    private double lastHour;

    SpendMeter(double ceilingGbSeconds, int workerMegabytes) {
        this.ceilingGbSeconds = ceilingGbSeconds;
        this.workerGb = workerMegabytes / 1024.0;
    }

    /** {@code workers} have been alive since the last call. */
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

    /** Returns what each minute of the last hour has cost, the current one first. */
    List<Double> byMinute() {
        List<Double> all = new ArrayList<>(minutes.length);
        for (int age = 0; age < minutes.length; age++) {
            all.add(minutes[indexOf(age)]);
        }
        return all;
    }

    /** Adds what {@link #byMinute} has returned {@code minutesAgo}. */
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
     * A direct invocation has run for this time. It counts in the current minute, because it is
     * known only when it ends.
     */
    void addInvocations(long nanos) {
        double spent = workerGb * (nanos / NANOS_PER_SECOND);
        total += spent;
        minutes[minute] += spent;
        lastHour += spent;
    }

    /** Returns whether anything of the ceiling is left. */
    boolean isWithinCeiling() {
        return ceilingGbSeconds == 0 || lastHour < ceilingGbSeconds;
    }

    /** Workers that the ceiling allows now. */
    int affordableWorkers() {
        if (ceilingGbSeconds == 0) {
            return Integer.MAX_VALUE;
        }
        double left = Math.max(0, ceilingGbSeconds - lastHour);
        return (int) Math.min(Integer.MAX_VALUE, left / (workerGb * MINUTES));
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
