package io.lambdadispatcher.core.internal.pool;

import java.util.function.LongSupplier;

/**
 * The memory of one function's queued requests on one event loop: their headers, and the parts of
 * their bodies that have arrived. A function can use twice the memory that all clients leave free,
 * which is the dynamic threshold of Choudhury and Hahne. One function takes at most two thirds of
 * the memory and always leaves some for others. Event loop only.
 */
final class WaitingMemory {
    private static final int TIMES_FREE = 2;

    private LongSupplier freeBytes = () -> Long.MAX_VALUE / TIMES_FREE;
    private long bytes;

    /** @param free returns the memory that the clients of this event loop leave free, in bytes */
    void limitBy(LongSupplier free) {
        freeBytes = free;
    }

    long bytes() {
        return bytes;
    }

    void add(long more) {
        bytes += more;
    }

    void remove(long less) {
        bytes -= less;
    }

    /**
     * Returns whether a request may be queued. A request that takes less than half of the average
     * may be queued even if there is no room. Otherwise, one client that holds much memory would
     * keep out all others.
     *
     * @param own bytes of the request
     * @param more the part of them that {@link #add} has not counted yet
     * @param requests number of queued requests
     */
    boolean admits(long own, long more, int requests) {
        return bytes + more <= TIMES_FREE * freeBytes.getAsLong() || own * 2 * requests < bytes;
    }
}
