package io.lambdadispatcher.server.metrics;

import io.micrometer.core.instrument.Clock;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.util.concurrent.TimeUnit;

/**
 * A clock for meters whose wall time is updated once per second. Each recording reads the wall time
 * twice, to see whether a window of about a minute is over. With the system clock, these reads took
 * longer than the recording itself. Any thread.
 */
final class CoarseClock implements Clock, AutoCloseable {
    private final Future<?> ticks =
            GlobalEventExecutor.INSTANCE.scheduleAtFixedRate(this::tick, 1, 1, TimeUnit.SECONDS);
    private volatile long wallMillis = System.currentTimeMillis();

    private void tick() {
        wallMillis = System.currentTimeMillis();
    }

    @Override
    public long wallTime() {
        return wallMillis;
    }

    @Override
    public long monotonicTime() {
        return System.nanoTime();
    }

    @Override
    public void close() {
        ticks.cancel(false);
    }
}
