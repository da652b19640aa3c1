package io.lambdadispatcher.core.internal.loop;

import io.netty.util.concurrent.Ticker;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Logs at most one warning per ten seconds, with the number of suppressed warnings. It is for
 * warnings that a peer can cause at any rate, because logging costs an event loop more than most of
 * the reported events. Any thread.
 */
public final class SeldomLog {
    public static final long EVERY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Logger log;
    private final Ticker ticker;
    private final AtomicLong nextNanos;
    private final AtomicLong leftOut = new AtomicLong();

    public SeldomLog(Logger log, Ticker ticker) {
        this.log = log;
        this.ticker = ticker;
        this.nextNanos = new AtomicLong(ticker.nanoTime());
    }

    public void warn(String format, @Nullable Object... arguments) {
        long now = ticker.nanoTime();
        long next = nextNanos.get();
        if (now - next < 0 || !nextNanos.compareAndSet(next, now + EVERY_NANOS)) {
            leftOut.incrementAndGet();
            return;
        }
        long others = leftOut.getAndSet(0);
        log.warn(others == 0 ? format : format + " (and " + others + " similar lines were not logged)", arguments);
    }
}
