package io.lambdadispatcher.worker.blocking;

import io.netty.handler.codec.http2.Http2Headers;
import java.io.OutputStream;

/** The response of a handler that may block: {@link #head}, the body, perhaps {@link #trailers}. */
public interface BlockingResponse {
    void interim(Http2Headers head);

    void head(Http2Headers head);

    void head(int status);

    /**
     * Blocks while too much waits to be sent. Small writes are gathered until {@code flush}. The head goes first: writing without one sends status 200.
     */
    OutputStream body();

    /** To be sent when the handler returns. */
    void trailers(Http2Headers trailers);
}
