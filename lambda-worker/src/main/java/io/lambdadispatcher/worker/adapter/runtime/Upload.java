package io.lambdadispatcher.worker.adapter.runtime;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;

/**
 * Receives the body of a child's request. It ends with at most one of {@link #onEnd} and {@link
 * #onBroken}. Confined to the loop of the API.
 */
interface Upload {
    /** @param bytes never empty; released by the upload */
    void onBytes(ByteBuf bytes);

    /** @param trailers empty if there are none */
    void onEnd(HttpHeaders trailers);

    /** The connection has closed before the end of the body. */
    void onBroken();
}
