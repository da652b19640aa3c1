package io.lambdadispatcher.wire.http2;

import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;

/**
 * Limits the frames with which a peer causes work and nothing else (RFC 9113 section 10.5). Every
 * frame costs, of whatever type it is, and what has an effect gives back. So a frame that nobody
 * has thought of counts, too. A peer that does useful things gets credit for frames that go with
 * them, such as a WINDOW_UPDATE for each DATA frame that it receives.
 *
 * <p><b>Threading.</b> Event loop only.
 */
public final class FrameBudget {
    /** The part of a frame's payload that costs as much as another frame. */
    private static final int BYTES_PER_FRAME_SHIFT = 10;

    private final long maxFrames;

    /** Below 0 if there is credit. */
    private long spent;

    /**
     * @param maxFrames maximum number of frames without effect until {@link #renew}, and maximum
     *     credit
     */
    FrameBudget(long maxFrames) {
        this.maxFrames = maxFrames;
    }

    /**
     * Counts a frame.
     *
     * @param bytes size of a payload that is gathered; 0 if it is limited by other means
     * @throws Http2Exception a connection error if the budget is spent
     */
    void onFrame(int bytes) throws Http2Exception {
        int cost = 1 + (bytes >> BYTES_PER_FRAME_SHIFT);
        if (spent > maxFrames - cost) {
            throw Http2Exception.connectionError(
                    Http2Error.ENHANCE_YOUR_CALM, "more than %d frames without effect", maxFrames);
        }
        spent += cost;
    }

    /** Gives frames back that had an effect, and credit for those that may go with them. */
    public void refund(int frames) {
        spent = Math.max(spent - frames, -maxFrames);
    }

    /** Forgets the frames that have been counted. Credit remains. */
    public void renew() {
        spent = Math.min(spent, 0);
    }
}
