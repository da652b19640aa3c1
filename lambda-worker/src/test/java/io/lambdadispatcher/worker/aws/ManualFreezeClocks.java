package io.lambdadispatcher.worker.aws;

import io.lambdadispatcher.worker.internal.transport.FreezeClocks;
import java.util.concurrent.TimeUnit;

/** Clocks that stand until they are moved. */
final class ManualFreezeClocks implements FreezeClocks {
    private volatile long wallMillis = 1_800_000_000_000L;
    private volatile long monotonicMillis = 77;

    synchronized void pass(long millis) {
        wallMillis += millis;
        monotonicMillis += millis;
    }

    /** Moves only the time of day. */
    synchronized void freeze(long millis) {
        wallMillis += millis;
    }

    @Override
    public long wallMillis() {
        return wallMillis;
    }

    @Override
    public long nanos() {
        return TimeUnit.MILLISECONDS.toNanos(monotonicMillis);
    }
}
