package io.lambdadispatcher.worker.internal.connect;

import java.util.function.DoubleSupplier;

/**
 * Waits that double from {@code firstMillis} to {@code mostMillis}. Each is shortened at random by
 * up to half, so that workers that lost the same dispatcher do not return at the same time.
 * Confined to one thread.
 */
final class Backoff {
    private final long firstMillis;
    private final long mostMillis;
    private final DoubleSupplier random;
    private long nextMillis;

    /** @param random from 0 (inclusive) to 1 (exclusive) */
    Backoff(long firstMillis, long mostMillis, DoubleSupplier random) {
        this.firstMillis = firstMillis;
        this.mostMillis = mostMillis;
        this.random = random;
        this.nextMillis = firstMillis;
    }

    long nextMillis() {
        long whole = nextMillis;
        nextMillis = Math.min(mostMillis, whole * 2);
        return whole - (long) (whole * random.getAsDouble() / 2);
    }

    void reset() {
        nextMillis = firstMillis;
    }
}
