package io.lambdadispatcher.core.internal.filter;

/**
 * Translates the bytes of a filtered body that a receiver has taken into the bytes of the sender's
 * window that they stand for. Filters do not say which bytes of the output are which bytes of the
 * input, so the ledger counts in shares: a receiver that has taken a third of the output that waits
 * for it returns a third of the input that has not been returned.
 *
 * <ul>
 *   <li>Each byte is returned once. When the receiver has taken everything, all bytes have been
 *       returned, including those that the filter still holds. Otherwise a body of which a filter
 *       makes no output would stop at the end of the window.
 *   <li>If the filter does not make the body larger, what waits for the receiver is at most as
 *       large as the input that has not been returned, plus what the filter held when the receiver
 *       had last taken everything. So the sender's window limits the memory for a slow receiver, as
 *       it does without a filter.
 * </ul>
 */
final class BodyLedger {
    /** Most output that waits for a receiver, before the rest of a complete body is filtered. */
    private static final int MAX_AHEAD_BYTES = 256 * 1024;

    /** Input that counts in the worker's window. */
    private long heldBytes;

    /** Output that the receiver has not taken. */
    private long untakenBytes;

    /** Counts input, before it is filtered. */
    void onReceived(int bytes) {
        heldBytes += bytes;
    }

    /** Counts output, before it is passed on. */
    void onSent(int bytes) {
        untakenBytes += bytes;
    }

    /**
     * Counts output that the receiver has taken.
     *
     * @return input that returns to the sender's window
     */
    int onTaken(int bytes) {
        long returned = bytes >= untakenBytes ? heldBytes : heldBytes * bytes / untakenBytes;
        untakenBytes = Math.max(0, untakenBytes - bytes);
        heldBytes -= returned;
        return (int) returned;
    }

    /** Returns whether the receiver has enough to take. */
    boolean isAhead() {
        return untakenBytes > MAX_AHEAD_BYTES;
    }

    /** Returns how much of what waits for the receiver no longer counts in the sender's window. */
    long excessBytes() {
        return Math.max(0, untakenBytes - heldBytes);
    }

    /** The receiver has dropped what no longer counts in the sender's window. */
    void dropExcess() {
        untakenBytes -= excessBytes();
    }

    /** Returns all input to the sender's window, whatever waits for the receiver. */
    int takeAll() {
        int returned = (int) heldBytes;
        heldBytes = 0;
        return returned;
    }

    /**
     * Returns the input that returns to the sender's window because nothing waits for the receiver.
     */
    int takeIdle() {
        return untakenBytes > 0 ? 0 : onTaken(0);
    }
}
