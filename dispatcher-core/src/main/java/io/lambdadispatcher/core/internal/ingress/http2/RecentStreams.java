package io.lambdadispatcher.core.internal.ingress.http2;

/**
 * Remembers how the last 32 streams of a client ended, which decides what a late frame means (RFC
 * 9113 section 5.1). Netty forgets a stream when it closes. Each stream takes two bits of a
 * {@code long}. Event loop only.
 */
final class RecentStreams {
    private static final int REMEMBERED = 32;
    private static final int BITS = 2;
    private static final End[] ENDS = End.values();

    enum End {
        /** The client has skipped this id, and must not use it any more. */
        SKIPPED,
        /** Both sides have ended it. */
        ENDED,
        RESET_BY_CLIENT,
        /** Frames that the client sent before it received the reset can still arrive. */
        RESET_BY_US,
        /** It is too old, or has not started. */
        UNKNOWN
    }

    private int newestId = -1;
    private long ends;

    void add(int id, End end) {
        moveTo(id);
        int age = newestId - id >> 1;
        if (age < REMEMBERED) {
            ends |= (long) end.ordinal() << age * BITS;
        }
    }

    /**
     * Returns how a stream that is not open has ended.
     *
     * @param newest id of the newest stream
     */
    End of(int id, int newest) {
        moveTo(newest);
        int age = newestId - id >> 1;
        boolean known = id <= newestId && age < REMEMBERED;
        return known ? ENDS[(int) (ends >>> age * BITS) & (1 << BITS) - 1] : End.UNKNOWN;
    }

    private void moveTo(int id) {
        if (id > newestId) {
            int steps = id - newestId >> 1;
            ends = steps < REMEMBERED ? ends << steps * BITS : 0;
            newestId = id;
        }
    }
}
