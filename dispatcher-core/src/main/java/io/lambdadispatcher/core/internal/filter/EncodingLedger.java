package io.lambdadispatcher.core.internal.filter;

/**
 * Translates the encoded bytes that a client has taken into the bytes of the worker's window that
 * they stand for. Encoders do not say which bytes of the output are which bytes of the input, so
 * the ledger counts in shares: a client that has taken a third of the output that waits for it
 * returns a third of the input that has not been returned.
 *
 * <ul>
 *   <li>Each byte is returned once. When the client has taken everything, all bytes have been
 *       returned, including those that the encoder still holds. Otherwise a body of which an
 *       encoder makes no output would stop at the end of the window.
 *   <li>What waits for the client is at most as large as the input that has not been returned, plus
 *       what the encoder held when the client had last taken everything. So the worker's window
 *       limits the memory for a slow client, as it does without an encoder.
 * </ul>
 */
final class EncodingLedger {
    /** Input that counts in the worker's window. */
    private long heldBytes;

    /** Output that the client has not taken. */
    private long untakenBytes;

    /** Counts input, before it is encoded. */
    void onReceived(int bytes) {
        heldBytes += bytes;
    }

    /** Counts output, before it is passed on. */
    void onSent(int bytes) {
        untakenBytes += bytes;
    }

    /**
     * Counts output that the client has taken.
     *
     * @return input that returns to the worker's window
     */
    int onTaken(int bytes) {
        long returned = bytes >= untakenBytes ? heldBytes : heldBytes * bytes / untakenBytes;
        untakenBytes -= bytes;
        heldBytes -= returned;
        return (int) returned;
    }

    /**
     * Returns the input that returns to the worker's window because nothing waits for the client.
     */
    int takeIdle() {
        return untakenBytes > 0 ? 0 : onTaken(0);
    }
}
