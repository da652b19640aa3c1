package io.lambdadispatcher.core.spi;

import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/**
 * Follows or changes the response to one request that a {@link Filter} has passed on: {@link
 * #onHead} at most once, then {@link #onData} for each part of the body, then {@link #onEnd} once.
 * If one of the first two throws, the response fails.
 *
 * <p><b>Threading.</b> Called on the client's event loop, so it must not block.
 */
public interface ResponseFilter {
    /**
     * The final response headers have arrived. Interim responses pass by.
     *
     * @param headers may be changed until this returns, and not be used later. Whoever changes the
     *     length of the body removes {@code content-length}
     */
    default void onHead(int status, HeaderFields headers) {}

    /**
     * A part of the body has arrived.
     *
     * @param data belongs to the filter, also if it throws
     * @return what the client gets instead, which belongs to the dispatcher; may be {@code data},
     *     or empty. Flow control follows the client's reading, whatever its size
     */
    default ByteBuf onData(ByteBuf data) {
        return data;
    }

    /**
     * The response has ended.
     *
     * @param failure the token of the failure, {@code cancelled} if the client has gone; {@code
     *     null} if the response is complete
     */
    default void onEnd(@Nullable String failure) {}
}
