package io.lambdadispatcher.worker.aws;

/** FreezeClocks that stand until they are moved. */
final class ManualFreezeClocks implements FreezeClocks {
    private volatile long wallMillis = 1_800_000_000_000L;
    private volatile long monotonicMillis = 77;

    synchronized void pass(long millis) {
        wallMillis += millis;
        monotonicMillis += millis;
    }

    /** Only the time of day goes on. */
    synchronized void freeze(long millis) {
        wallMillis += millis;
    }

    @Override
    public long wallMillis() {
        return wallMillis;
    }

    @Override
    public long monotonicMillis() {
        return monotonicMillis;
    }
}
