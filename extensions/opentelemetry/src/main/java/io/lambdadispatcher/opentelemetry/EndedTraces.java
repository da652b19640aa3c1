package io.lambdadispatcher.opentelemetry;

import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Completes traces of requests that have ended, many at once, on a thread of its own. If one
 * request in a hundred is traced, the code for traces is not in the processor's caches when a
 * request ends. It is loaded once for many traces here, and no request waits for it. Any thread.
 */
final class EndedTraces implements AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(EndedTraces.class);

    static final long PAUSE_MILLIS = 500;

    /**
     * If so many traces wait, they are completed without a pause. A span processor would drop a
     * part of many more.
     */
    static final int ENOUGH = 64;

    /** If more traces wait, event loops complete their own. So they wait for a slow collector. */
    private static final int MAX_WAITING = 4096;

    private final Queue<RequestTrace> waiting = new ConcurrentLinkedQueue<>();
    private final AtomicInteger count = new AtomicInteger();
    private final long pauseMillis;
    private final ScheduledExecutorService executor =
            Executors.newSingleThreadScheduledExecutor(new DefaultThreadFactory("lambda-dispatcher-traces", true));

    /** @param pauseMillis time for which traces are collected, in milliseconds */
    EndedTraces(long pauseMillis) {
        this.pauseMillis = pauseMillis;
    }

    void add(RequestTrace trace) {
        int before = count.getAndIncrement();
        if (before >= MAX_WAITING) {
            count.decrementAndGet();
            trace.complete();
            return;
        }
        waiting.add(trace);
        if (before == 0) {
            completeLater(pauseMillis);
        } else if (before + 1 == ENOUGH) {
            completeLater(0);
        }
    }

    private void completeLater(long afterMillis) {
        try {
            executor.schedule(this::completeAll, afterMillis, TimeUnit.MILLISECONDS);
        } catch (RejectedExecutionException e) {
            while (completeWaiting() > 0) {
                // Another thread has counted its trace, and is about to add it.
                Thread.onSpinWait();
            }
        }
    }

    private void completeAll() {
        int left = completeWaiting();
        if (left > 0) {
            completeLater(left < ENOUGH ? pauseMillis : 0);
        }
    }

    /** @return how many traces have been counted meanwhile */
    private int completeWaiting() {
        int completed = 0;
        for (RequestTrace trace = waiting.poll(); trace != null; trace = waiting.poll()) {
            completed++;
            try {
                trace.complete();
            } catch (Throwable e) { // An error must not keep the others in memory either.
                log.warn("a span processor threw an exception", e);
            }
        }
        return count.addAndGet(-completed);
    }

    /** Completes all traces that wait. Those that follow are completed at once. */
    @Override
    public void close() {
        executor.shutdownNow();
        completeLater(0);
    }
}
