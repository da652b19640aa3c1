package io.lambdadispatcher.worker.adapter.runtime;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaders;

/**
 * Takes the body of a child's request; ends with at most one of {@link #onEnd} and {@link
 * #onBroken}. On the loop of the API.
 */
interface Upload {
    /** @param bytes the upload's from now on; never empty */
    void onBytes(ByteBuf bytes);

    /** @param trailers empty where there were none */
    void onEnd(HttpHeaders trailers);

    /** The connection is gone before the end. */
    void onBroken();
}
