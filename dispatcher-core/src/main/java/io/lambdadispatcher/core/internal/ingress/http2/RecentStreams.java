package io.lambdadispatcher.core.internal.ingress.http2;

/**
 * How the last streams of a client ended, which decides what a late frame means (RFC 9113 section
 * 5.1). Netty forgets a stream when it closes. Two bits for each of 32 streams, in one number.
 * Event loop only.
 */
final class RecentStreams {
    private static final int REMEMBERED = 32;
    private static final int BITS = 2;
    private static final End[] ENDS = End.values();

    enum End {
        /** The client has skipped its id, and must not use it any more. */
        SKIPPED,
        /** Both sides have ended it. */
        ENDED,
        RESET_BY_CLIENT,
        /** What the client sent before it knew may still come. */
        RESET_BY_US,
        /** It is too long ago, or has yet to begin. */
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
     * Looks up a stream that is not open.
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
