package io.lambdadispatcher.core.internal.loop;

import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.util.concurrent.Ticker;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;

/**
 * Logs at most one warning of each kind per ten seconds, with the number of suppressed warnings. It
 * is for warnings that a peer can cause at any rate, because logging costs an event loop more than
 * most of the reported events. Any thread.
 */
public final class SeldomLog {
    public static final long EVERY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Logger log;
    private final Ticker ticker;
    private final Map<String, Kind> kinds = new ConcurrentHashMap<>();

    private static final class Kind {
        final AtomicLong nextNanos;
        final AtomicLong leftOut = new AtomicLong();

        Kind(long nowNanos) {
            nextNanos = new AtomicLong(nowNanos);
        }
    }

    public SeldomLog(Logger log, Ticker ticker) {
        this.log = log;
        this.ticker = ticker;
    }

    /** Warns of a kind that the format distinguishes from others. */
    public void warn(String format, @Nullable Object... arguments) {
        warnOf(format, format, arguments);
    }

    /**
     * Warns of a kind. It hides no other kind.
     *
     * @param kind one of a few, because each is remembered; no text of a peer
     */
    public void warnOf(String kind, String format, @Nullable Object... arguments) {
        long now = ticker.nanoTime();
        Kind its = kinds.computeIfAbsent(kind, first -> new Kind(now));
        long next = its.nextNanos.get();
        if (now - next < 0 || !its.nextNanos.compareAndSet(next, now + EVERY_NANOS)) {
            its.leftOut.incrementAndGet();
            return;
        }
        long others = its.leftOut.getAndSet(0);
        String more =
                " (and " + PrintableText.counted(others, "similar line was", "similar lines were") + " not logged)";
        log.warn(others == 0 ? format : format + more, arguments);
    }
}
