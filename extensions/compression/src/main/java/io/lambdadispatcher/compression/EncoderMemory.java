package io.lambdadispatcher.compression;

/**
 * Limits the memory of the encoders of one function on one event loop. Clients decide how long a
 * response lasts, and most of this memory is not on the heap. Responses for which there is none are
 * not compressed.
 */
final class EncoderMemory {
    /** Enough for about 250 responses with gzip, or 50 with Zstandard. */
    static final int MAX_BYTES = 64 * 1024 * 1024;

    private int usedBytes;

    boolean tryTake(int bytes) {
        if (usedBytes + bytes > MAX_BYTES) {
            return false;
        }
        usedBytes += bytes;
        return true;
    }

    void giveBack(int bytes) {
        usedBytes -= bytes;
    }

    int usedBytes() {
        return usedBytes;
    }
}
