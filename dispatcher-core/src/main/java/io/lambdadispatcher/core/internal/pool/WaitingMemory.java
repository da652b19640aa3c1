package io.lambdadispatcher.core.internal.pool;

import java.util.function.LongSupplier;

/**
 * The memory of one function's queued requests on one event loop: their headers and the received
 * parts of their bodies. A function may use twice the free memory. This is the dynamic threshold of
 * Choudhury and Hahne: one function takes at most two thirds of the memory, and always leaves some
 * for the others. Confined to the event loop.
 */
final class WaitingMemory {
    private static final int TIMES_FREE = 2;

    private LongSupplier freeBytes = () -> Long.MAX_VALUE / TIMES_FREE;
    private long bytes;

    /**
     * Sets the source of the limit.
     *
     * @param free memory of this event loop that is free, in bytes
     */
    void limitBy(LongSupplier free) {
        freeBytes = free;
    }

    void add(long more) {
        bytes += more;
    }

    void remove(long less) {
        bytes -= less;
    }

    /**
     * Returns whether a request may be queued. A request of less than half the mean size may always
     * be queued: otherwise, one client with large requests could keep out all others.
     *
     * @param own bytes of the request
     * @param more the part of {@code own} that {@link #add} has not counted yet
     * @param requests the number of queued requests
     */
    boolean admits(long own, long more, int requests) {
        return bytes + more <= TIMES_FREE * freeBytes.getAsLong() || own * 2 * requests < bytes;
    }
}
