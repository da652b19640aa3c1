package io.lambdadispatcher.accesslog;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes one line of JSON for each finished exchange. By default, it logs the lines at level INFO
 * to the SLF4J logger {@value #LOGGER}. Lines that cannot be written, or not quickly enough, are
 * dropped and counted. Event loops never wait.
 *
 * <pre>{@code
 * AccessLog accessLog = AccessLog.builder().start();
 * DispatcherBuilder builder = Dispatcher.builder().observer(accessLog);
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

    private static final int MAX_LINES = 256;

    /** Large headers must not fill the heap while the disk is slow. */
    private static final long MAX_QUEUED_BYTES = 32L << 20;

    private static final int ENTRY_BYTES = 512;
    private static final int HEADER_BYTES = 64;

    /** Writes the lines of an access log, on one thread. */
    @FunctionalInterface
    public interface Writer {
        /**
         * Writes lines, which have no line break.
         *
         * @throws IOException if no line was written. The access log counts them as dropped
         */
        void write(List<String> lines) throws IOException;
    }

    /** @param bytes estimated memory of the headers */
    private record Entry(ExchangeEnd end, long epochMillis, int bytes) {}

    private final Writer writer;
    private final AccessLine format;
    private final BlockingQueue<Entry> queue;
    private final AtomicLong queuedBytes = new AtomicLong();
    private final LongAdder dropped = new LongAdder();
    private final Thread thread = new Thread(this::writeLines, "access-log");
    private final ExchangeListener listener = this::log;
    private volatile boolean closed;

    // Confined to the thread.
    private final List<Entry> taken = new ArrayList<>(MAX_LINES);
    private boolean failing;

    private AccessLog(Builder from) {
        writer = from.writer;
        format = new AccessLine(from.fields, from.requestIdHeader);
        queue = new ArrayBlockingQueue<>(from.queueLimit);
        thread.setDaemon(true);
        thread.start();
    }

    /** Returns a builder with all fields, the SLF4J logger and a queue of 16,384 lines. */
    public static Builder builder() {
        return new Builder();
    }

    /** Builds an access log. Not thread-safe. */
    public static final class Builder {
        private List<AccessField> fields = List.of(AccessField.values());
        private int queueLimit = 16_384;
        private @Nullable String requestIdHeader;
        private Writer writer = lines -> {
            Logger to = LoggerFactory.getLogger(LOGGER);
            lines.forEach(to::info);
        };

        private Builder() {}

        /**
         * Sets the fields of a line, in their order.
         *
         * @throws IllegalArgumentException if there are none
         */
        public Builder fields(Collection<AccessField> value) {
            fields = List.copyOf(value);
            if (fields.isEmpty()) {
                throw new IllegalArgumentException("fields: none, expected at least one");
            }
            return this;
        }

        /**
         * Sets the maximum number of lines that wait to be written. Further lines are dropped. So
         * are lines beyond 32 MiB of headers.
         *
         * @throws IllegalArgumentException if it is less than 1
         */
        public Builder queueLimit(int lines) {
            if (lines < 1) {
                throw new IllegalArgumentException("queueLimit: " + lines + ", expected 1 or more");
            }
            queueLimit = lines;
            return this;
        }

        /** Sets the header with the id of a request, as in {@code ForwardingPolicy}. */
        public Builder requestIdHeader(String name) {
            requestIdHeader = name.isEmpty() ? null : name;
            return this;
        }

        /** Sets what writes the lines. */
        public Builder writer(Writer value) {
            writer = Objects.requireNonNull(value, "writer");
            return this;
        }

        /** Starts the thread that writes the lines. */
        public AccessLog start() {
            return new AccessLog(this);
        }
    }

    @Override
    public ExchangeListener onExchangeStart(ExchangeStart start) {
        return listener;
    }

    private void log(ExchangeEnd end) {
        int bytes = bytesOf(end.headers());
        // Two threads may pass the limit together, which exceeds it by one entry of each.
        if (closed
                || queuedBytes.get() + bytes > MAX_QUEUED_BYTES
                || !queue.offer(new Entry(end.copy(), System.currentTimeMillis(), bytes))) {
            dropped.increment();
        } else {
            queuedBytes.addAndGet(bytes);
        }
    }

    private static int bytesOf(Http2Headers headers) {
        int bytes = ENTRY_BYTES;
        for (Map.Entry<CharSequence, CharSequence> header : headers) {
            bytes += HEADER_BYTES + header.getKey().length() + header.getValue().length();
        }
        return bytes;
    }

    /** Returns the number of lines that have been dropped so far, for whatever reason. */
    public long dropped() {
        return dropped.sum();
    }

    private void writeLines() {
        try {
            while (!closed || !queue.isEmpty()) {
                Entry first = queue.poll(100, TimeUnit.MILLISECONDS);
                if (first != null) {
                    taken.add(first);
                    queue.drainTo(taken, MAX_LINES - 1);
                    writeTaken();
                    taken.forEach(entry -> queuedBytes.addAndGet(-entry.bytes));
                    taken.clear();
                }
            }
        } catch (InterruptedException e) {
            dropped.add(queue.size());
        }
    }

    private void writeTaken() {
        try {
            writer.write(taken.stream()
                    .map(entry -> format.of(entry.end, entry.epochMillis))
                    .toList());
            if (failing) {
                failing = false;
                log.info(
                        "The access log is written again. {} been dropped so far.",
                        PrintableText.counted(dropped(), "line has", "lines have"));
            }
        } catch (IOException | RuntimeException | Error e) {
            // An Error, too, because all later lines would be lost without this thread.
            dropped.add(taken.size());
            if (!failing) {
                failing = true;
                log.warn("The access log cannot be written, and its lines are dropped: {}", PrintableText.ofFailure(e));
            }
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
            thread.join(Duration.ofSeconds(5).toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        thread.interrupt();
        if (dropped() > 0) {
            log.warn(
                    "{} dropped, because the access log could not be written or its queue was full",
                    PrintableText.counted(dropped(), "line of the access log was", "lines of the access log were"));
        }
    }
}
