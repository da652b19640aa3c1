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
 * Logs each finished exchange as one line of JSON, at level INFO, to the SLF4J logger {@value
 * #LOGGER}. If the lines cannot be written quickly enough, they are dropped and counted. Event
 * loops never wait.
 *
 * <pre>{@code
 * AccessLog accessLog = new AccessLog(16_384);
 * Dispatcher.Builder builder = Dispatcher.builder().observer(accessLog);
 * // Start the dispatcher. At the end, close it first, then call accessLog.close().
 * }</pre>
 *
 * <p><b>Threading.</b> A daemon thread of its own writes the lines. All methods can be called on
 * any thread, but {@link #close} blocks.
 */
public final class AccessLog implements DispatcherObserver, AutoCloseable {
    /** The name of the SLF4J logger that receives the lines. */
    public static final String LOGGER = "lambda-dispatcher.access";

    private static final Logger log = LoggerFactory.getLogger(AccessLog.class);

    private record Entry(ExchangeEnd end, long epochMillis) {}

    private final Logger lines = LoggerFactory.getLogger(LOGGER);
    private final BlockingQueue<Entry> queue;
    private final LongAdder dropped = new LongAdder();
    private final Thread writer = new Thread(this::writeLines, "access-log");
    private final Consumer<ExchangeEnd> listener = this::log;
    private volatile boolean closed;

    /**
     * Starts the thread that writes the lines. Configure the logger {@value #LOGGER} first.
     *
     * @param queueLimit maximum number of lines that wait to be written, 1 or more. Further lines
     *     are dropped
     * @throws IllegalArgumentException if {@code queueLimit} is less than 1
     */
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

    /** Returns the number of lines that have been dropped so far. */
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

    /**
     * Writes the queued lines and stops the thread. Blocks for at most 5 s, and drops the lines
     * that are left then. Logs a warning if lines have been dropped before. Exchanges that end
     * later are dropped, too.
     */
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
