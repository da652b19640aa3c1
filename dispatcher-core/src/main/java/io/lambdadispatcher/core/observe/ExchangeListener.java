package io.lambdadispatcher.core.observe;

import io.netty.handler.codec.http2.Http2Headers;
import org.jspecify.annotations.Nullable;

/**
 * Follows one exchange, or all of them if it keeps no state.
 *
 * <p><b>Threading.</b> Called on the event loop of {@link DispatcherObserver#onExchangeStart}. It
 * must return quickly and must not block.
 */
@FunctionalInterface
public interface ExchangeListener {
    /**
     * Called before the request is sent to a worker or as a direct invocation. If the worker stream
     * was taken by another request meanwhile, the same attempt is reported again.
     *
     * @param number 1 for the first attempt, 2 for the first retry or hedge, and so on
     * @param headers the request's headers and pseudo-headers as the handler will receive them. The
     *     listener may set headers of its own, such as {@code traceparent}
     */
    default void onAttempt(int number, Http2Headers headers) {}

    /**
     * Called if an attempt has ended and another one follows or continues.
     *
     * @param number the number of the attempt, as in {@link #onAttempt}
     * @param workerId the id of the worker, or {@code null} if it is not known
     * @param failure the token of the failure, for example {@code worker_lost}; or a status such as
     *     {@code 503}, {@code attempt_timeout}, or {@code slower} if another attempt answered first
     */
    default void onAttemptFailed(int number, @Nullable String workerId, String failure) {}

    /**
     * Called once when the exchange has ended.
     *
     * @param end valid only during this call; keep a {@link ExchangeEnd#copy} if you need it later
     */
    void onEnd(ExchangeEnd end);
}
