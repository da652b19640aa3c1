package io.lambdadispatcher.core.internal.exchange;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * The body and the trailers of a request. A part waits here until a worker stream has the request,
 * bounded by the client's window. A part that was sent can be kept, so that another try gets it
 * again. Owns its buffers. Serves one request after the other, as its exchange does. Client's event
 * loop only.
 *
 * <pre>
 *   arrives ──▶ waiting ──a try sends it──▶ sent, and kept ──the request waits again──▶ waiting
 *                                           sent, and not kept: there is no other try
 * </pre>
 */
final class Replay {
    /**
     * Maximum part of a sent body that is kept for another try. More than what can be on its way
     * when a worker says that it is busy: its window of 512 KiB, the client's of 256 KiB, and one
     * read of 64 KiB.
     */
    private static final int MAX_SENT_BYTES = 1024 * 1024;

    /**
     * Bytes that no worker has taken, with which the client may have to wait: half of the smallest
     * window, because HTTP/1.1 connections continue to read when half of the window is free.
     */
    private static final int FULL_BYTES = 32 * 1024 - 1;

    private final ExchangeOwner owner;

    /** The part that no try has sent, or that is sent again; {@code null} if there is none. */
    private @Nullable EarlyBody waiting;

    /** The part that was sent; {@code null} if none was, or it is not kept. */
    private @Nullable EarlyBody sent;

    private int sentBytes;

    /** Whether a part was sent since the request began to wait, or waited again. */
    private boolean begun;

    /** Trailers that wait, or that were sent and are kept. */
    private @Nullable Http2Headers trailers;

    private boolean ended;
    private long bytes;

    /** Bytes that some worker has taken, and that the client may replace. */
    private long takenBytes;

    Replay(ExchangeOwner owner) {
        this.owner = owner;
    }

    void reset() {
        waiting = null;
        sent = null;
        sentBytes = 0;
        begun = false;
        trailers = null;
        ended = false;
        bytes = 0;
        takenBytes = 0;
    }

    // What arrives.

    /** Counts a part of the body, which is then held or sent. */
    void onPart(int more) {
        bytes += more;
    }

    /** The client has sent the complete request. */
    void onEnd() {
        ended = true;
    }

    boolean isEnded() {
        return ended;
    }

    /** Returns the size of the body that has arrived. */
    long bytes() {
        return bytes;
    }

    /** Holds a part until {@link #send}. */
    void hold(ByteBuf data) {
        if (waiting == null) {
            waiting = new EarlyBody();
        }
        waiting.add(data);
    }

    /** Holds the trailers until {@link #send}. */
    void hold(Http2Headers last) {
        trailers = last;
    }

    // What is sent.

    /** Returns whether {@link #send} has something to send. */
    boolean hasParts() {
        return waiting != null || sent != null || trailers != null;
    }

    /**
     * Sends what waits, or what other tries have sent.
     *
     * @param keeps whether it is kept for another try, if it is sent for the first time
     */
    void send(Try to, boolean keeps) {
        Http2Headers last = trailers;
        EarlyBody parts = sent == null ? takeWaiting(keeps) : sent.copy();
        if (parts != null) {
            for (ByteBuf data = parts.poll(); data != null; data = parts.poll()) {
                if (to.isCarried()) {
                    to.sink().data(data, parts.isEmpty() && ended && last == null);
                } else {
                    data.release();
                }
            }
        }
        if (last != null && to.isCarried()) {
            keep(Unpooled.EMPTY_BUFFER, keeps);
            to.sink().trailers(last);
        }
    }

    /**
     * All parts are kept before one is sent: if that fails, the next try begins inside the call.
     */
    private @Nullable EarlyBody takeWaiting(boolean keeps) {
        EarlyBody parts = waiting;
        waiting = null;
        if (parts != null) {
            parts.forEach(data -> keep(data, keeps));
        }
        return parts;
    }

    /** Returns whether a part of the body was sent. */
    boolean hasBegun() {
        return begun;
    }

    /**
     * Keeps a part that is about to be sent, if all parts before it are kept.
     *
     * @param keeps whether the first part is kept
     */
    void keep(ByteBuf data, boolean keeps) {
        if (!begun) {
            begun = true;
            sent = keeps && owner.mayKeepSent(0) ? new EarlyBody() : null;
        }
        if (sent == null) {
            return;
        }
        int more = data.readableBytes();
        if (sentBytes + more > MAX_SENT_BYTES || !owner.mayKeepSent(more)) {
            forget();
            return;
        }
        sentBytes += more;
        try {
            sent.add(data.retainedDuplicate());
        } catch (RuntimeException | Error e) {
            // There is no memory. The request is sent, but only once.
            forget();
        }
    }

    /** Keeps the trailers that are about to be sent, if all of the body is kept. */
    void keep(Http2Headers last, boolean keeps) {
        keep(Unpooled.EMPTY_BUFFER, keeps);
        trailers = sent == null ? null : last;
    }

    /** Returns whether all that was sent is kept, so that another try can get it. */
    boolean isWhole() {
        return !begun || sent != null;
    }

    /** The request waits again, and what was sent waits with it. */
    void rewind() {
        waiting = sent == null ? waiting : sent;
        sent = null;
        uncount();
        begun = false;
    }

    /** There is no other try, so nothing that was sent is needed any more. */
    void forget() {
        if (sent != null) {
            sent.release();
            sent = null;
            uncount();
        }
    }

    private void uncount() {
        owner.onSentDropped(sentBytes);
        sentBytes = 0;
    }

    /** The request has ended. */
    void release() {
        if (waiting != null) {
            waiting.release();
            waiting = null;
        }
        forget();
    }

    // What is taken, and what is left.

    /**
     * Counts what a worker has taken.
     *
     * @param ofTry all bytes that the worker of this try has taken
     * @return how many of them go back to the client, because no other worker had taken them
     *     before; negative if another one had taken more
     */
    long onTaken(long ofTry) {
        long more = ofTry - takenBytes;
        takenBytes = Math.max(takenBytes, ofTry);
        return more;
    }

    /**
     * Returns whether so much of the body waits for the worker that the client may have to wait.
     */
    boolean fillsWindow() {
        return bytes - takenBytes >= FULL_BYTES;
    }

    /**
     * Returns the memory that is held in bytes, without what the client's window counts: a part
     * that waits, unless the worker of an earlier try has taken it.
     */
    long heldBytes() {
        return trailerBytes() + (waiting == null ? 0 : waiting.overheadBytes() + takenBytes) + sentBytes;
    }

    int trailerBytes() {
        return trailers == null ? 0 : RequestHead.bytesOf(trailers);
    }
}
