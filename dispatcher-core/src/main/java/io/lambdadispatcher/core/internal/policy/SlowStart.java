package io.lambdadispatcher.core.internal.policy;

/**
 * How much slower a fresh worker is than the others, by the processor time of a request that
 * workers report. A fresh JVM interprets code and compiles it, so it needs several times the
 * processor time for each request. The worker with the fewest requests in flight, multiplied by
 * this factor, gets the next request. {@code SlowStartSimulationTest} compares this with the number
 * of requests in flight alone.
 *
 * <p>It is no judgement like {@link WorkerHealth}: processor time grows neither with failures nor
 * with waiting, and a healthy worker only gets fewer requests until its code is compiled.
 *
 * <p><i>Threading:</i> any thread.
 */
public final class SlowStart {
    /** The factor of a warm worker. Factors are in sixteenths. */
    public static final int ONE = 16;

    private static final int BEFORE_REPORT = 2 * ONE;
    private static final int MAX = 8 * ONE;

    private SlowStart() {}

    /**
     * Returns the factor of a fresh worker.
     *
     * @param micros processor time of a request that the worker has reported; 0 = none yet
     * @param warmMicros processor time of a request on warm workers; 0 = not known
     */
    public static int factor(int micros, int warmMicros) {
        if (warmMicros == 0) {
            return ONE;
        }
        return micros == 0 ? BEFORE_REPORT : (int) Math.max(ONE, Math.min(MAX, (long) ONE * micros / warmMicros));
    }

    /** Returns a rank, 0 or more, multiplied by a factor. */
    public static int multiply(int rank, int factor) {
        // One more, because an idle fresh worker must come after an idle warm one.
        return (rank + 1) * factor / ONE - 1;
    }

    /** Returns the processor time of a request on warm workers, after one of them has reported. */
    public static int warmMicros(int before, int reported) {
        return before == 0 ? reported : (int) Math.max(1, (3L * before + reported) / 4);
    }
}
