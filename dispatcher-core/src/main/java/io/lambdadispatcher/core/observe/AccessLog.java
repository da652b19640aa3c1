package io.lambdadispatcher.core.observe;

import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hands finished exchanges to a thread that writes them, one line each, to the logger {@value #LOGGER}. Event loops never wait: when the
 * queue is full, lines are dropped and counted.
 */
public final class AccessLog implements DispatcherObserver, AutoCloseable {
    public static final String LOGGER = "lambda-dispatcher.access";

    private static final Logger log = LoggerFactory.getLogger(AccessLog.class);

    private record Entry(ExchangeEnd end, long epochMillis) {}

    private final Logger lines = LoggerFactory.getLogger(LOGGER);
    private final BlockingQueue<Entry> queue;
    private final LongAdder dropped = new LongAdder();
    private final Thread writer = new Thread(this::writeLines, "access-log");
    private final Consumer<ExchangeEnd> listener = this::log;
    private volatile boolean closed;

    /** Starts the thread; the logger must have been pointed somewhere before. */
    public AccessLog(int queueLimit) {
        queue = new ArrayBlockingQueue<>(queueLimit);
        writer.setDaemon(true);
        writer.start();
    }

    @Override
    public Consumer<ExchangeEnd> onExchangeStart(ExchangeStart start) {
        return listener;
    }

    private void log(ExchangeEnd end) {
        if (closed || !queue.offer(new Entry(end, System.currentTimeMillis()))) {
            dropped.increment();
        }
    }

    /** Lines that were never written. */
    public long dropped() {
        return dropped.sum();
    }

    private void writeLines() {
        try {
            while (!closed || !queue.isEmpty()) {
                Entry entry = queue.poll(100, TimeUnit.MILLISECONDS);
                if (entry != null) {
                    lines.info(AccessLine.of(entry.end, entry.epochMillis));
                }
            }
        } catch (InterruptedException e) {
            dropped.add(queue.size());
        }
    }

    /** Writes what waits, for up to 5 s. */
    @Override
    public void close() {
        closed = true;
        try {
            writer.join(Duration.ofSeconds(5).toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        writer.interrupt();
        if (dropped() > 0) {
            log.warn(
                    "{} lines of the access log were dropped; access-log.queue is too small, or the disk too slow",
                    dropped());
        }
    }
}
