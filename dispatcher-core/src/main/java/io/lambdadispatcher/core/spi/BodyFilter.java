package io.lambdadispatcher.core.spi;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/**
 * Follows or changes a body, part by part: {@link #onData(ByteBuf, boolean)} for each part, then
 * {@link #onBodyEnd} once, then {@link #onTrailers} if there are any. None is called for a message
 * without a body, and none after one has thrown, or after the request has ended in another way.
 *
 * <p>Flow control follows the reader: when it has taken a share of what waits, the sender may send
 * as large a share of what it has sent. If nothing waits for the reader, the sender may send
 * all of it again, whatever the filter still holds.
 *
 * <p><b>Threading.</b> Called on the client's event loop, so it must not block.
 */
public interface BodyFilter {
    /**
     * A part of the body has arrived.
     *
     * @param data belongs to the filter, also if it throws
     * @return what is passed on instead, which belongs to the dispatcher; may be {@code data}, or
     *     empty
     */
    default ByteBuf onData(ByteBuf data) {
        return data;
    }

    /**
     * A part of the body has arrived, as above. The dispatcher calls this method only. Default:
     * {@link #onData(ByteBuf)}.
     *
     * @param last whether all of the rest of the body has arrived. It is so for each turn of the
     *     last part, see {@link #turnBytes}. False for every part of a body that ends later, with
     *     trailers or with nothing
     */
    default ByteBuf onData(ByteBuf data, boolean last) {
        return onData(data);
    }

    /**
     * The body is complete.
     *
     * @return its last bytes, which belong to the dispatcher; empty = there are no more
     */
    default ByteBuf onBodyEnd() {
        return Unpooled.EMPTY_BUFFER;
    }

    /**
     * Returns how much of the last part the filter takes in one turn of the event loop. A response
     * can arrive as one part of several megabytes. If it is larger, the rest follows in later
     * turns. Default: all of it.
     *
     * @return 1 or more. It may differ from turn to turn
     */
    default int turnBytes() {
        return Integer.MAX_VALUE;
    }

    /**
     * Returns whether the sender waits for the reader. If not, it may continue at once, so the
     * part that has just been passed on can wait for a slow reader in the dispatcher's memory,
     * where it counts as memory of the client. Whoever returns false bounds what that can be.
     * Asked after each part. Default: true.
     */
    default boolean isPaced() {
        return true;
    }

    /** Returns the bytes that the filter holds, 0 or more, which count as memory of the client. */
    default long heldBytes() {
        return 0;
    }

    /** @param trailers may be changed until this returns, and not be used later */
    default void onTrailers(HeaderFields trailers) {}
}
