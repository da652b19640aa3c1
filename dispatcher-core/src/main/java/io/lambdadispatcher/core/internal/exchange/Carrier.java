package io.lambdadispatcher.core.internal.exchange;

import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * A worker stream as an exchange sees it: takes one request at a time. Called on the client's event
 * loop.
 */
public interface Carrier {
    /**
     * Starts the request. {@code attempt} may be called before this returns.
     *
     * @param timeoutMillis what is left of the request's time; 0 = no limit
     * @return where the rest of the request goes; calls after the exchange has ended are harmless,
     *     except {@code data} to one of the same event loop, which the exchange itself prevents
     */
    RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt attempt);

    /** For the observer; {@code null} if it is not known yet. */
    @Nullable
    String workerId();
}
