package io.lambdadispatcher.core.internal.pool;

import java.util.function.LongSupplier;

/**
 * Memory of one function's waiting requests on one event loop: their heads, and what has arrived of
 * their bodies. A function may have twice what all clients leave of their memory, which is the
 * dynamic threshold of Choudhury and Hahne: one function takes at most two thirds of the memory,
 * and always leaves some for the others. Event loop only.
 */
final class WaitingMemory {
    private static final int TIMES_FREE = 2;

    private LongSupplier freeBytes = () -> Long.MAX_VALUE / TIMES_FREE;
    private long bytes;

    /** @param free memory that the clients of this event loop leave, in bytes */
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
     * Returns whether a request may wait. Those that take less than half of the average may even if
     * there is no room: otherwise, one client that holds much would keep out all others.
     *
     * @param own bytes of the request
     * @param more those of them that {@link #add} has not counted yet
     * @param requests that wait
     */
    boolean admits(long own, long more, int requests) {
        return bytes + more <= TIMES_FREE * freeBytes.getAsLong() || own * 2 * requests < bytes;
    }
}
