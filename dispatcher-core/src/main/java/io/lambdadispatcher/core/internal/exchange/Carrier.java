package io.lambdadispatcher.core.internal.exchange;

import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * A worker stream as an exchange sees it. It carries one request at a time. Called on the client's
 * event loop.
 */
public interface Carrier {
    /**
     * Starts the request. {@code attempt} can be called before this returns.
     *
     * @param timeoutMillis remaining time of the request; 0 means no limit
     * @return the sink for the rest of the request. Calls after the end of the exchange have no
     *     effect, except {@code data} on the same event loop, which the exchange prevents
     */
    RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt attempt);

    /** Returns whether this is a worker stream, so that another worker can get the request, too. */
    default boolean isOfWorker() {
        return true;
    }

    /**
     * Returns whether this is a stream of a base worker; false if its worker is not known yet.
     */
    default boolean isOfBase() {
        return false;
    }

    /**
     * Returns whether the stream is one of another event loop, and may be gone when the request
     * arrives there. Then the request's body follows after {@link Try#onArrived}.
     */
    default boolean isOfOtherLoop() {
        return false;
    }

    /**
     * The attempt was given up for another one, because the worker was slow or its response is
     * unwanted. Other workers come first until it has served a request.
     */
    default void onGivenUp() {}

    /** Returns the worker's id for the observer; {@code null} if it is not known yet. */
    @Nullable
    String workerId();
}
