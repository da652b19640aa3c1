package io.lambdadispatcher.core.internal.launch;

import java.util.concurrent.ThreadLocalRandom;

/** Exponential back-off with full jitter: a random time between 0 and a bound that doubles with every failure. Not thread-safe. */
final class Backoff {
    private final long baseMillis;
    private final long maxMillis;
    private int failures;

    Backoff(long baseMillis, long maxMillis) {
        this.baseMillis = baseMillis;
        this.maxMillis = maxMillis;
    }

    int failures() {
        return failures;
    }

    void onSuccess() {
        failures = 0;
    }

    /** @return how long to wait before the next attempt */
    long onFailureMillis() {
        long bound = Math.min(maxMillis, baseMillis << Math.min(failures, 20));
        failures++;
        return ThreadLocalRandom.current().nextLong(bound + 1);
    }
}
