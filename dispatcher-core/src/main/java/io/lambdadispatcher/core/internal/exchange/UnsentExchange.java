package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.Substitute;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * A request that is sent to no function: it is refused, or answered without one. The observer is
 * told of its start and its end together, after any time for which it has waited.
 */
public record UnsentExchange(@Nullable String function, Http2Headers headers, ResponseSink response)
        implements ExchangeStart {
    @Override
    public @Nullable SocketAddress remoteAddress() {
        return response.remoteAddress();
    }

    @Override
    public ClientProtocol protocol() {
        return response.protocol();
    }

    /** Reports that the request is refused on arrival. */
    public void reportFailed(DispatcherObserver observer, Failure failure) {
        reportFailed(observer, failure, 0);
    }

    /**
     * Reports that the request is refused.
     *
     * @param waitedNanos time since the request arrived
     */
    public void reportFailed(DispatcherObserver observer, Failure failure, long waitedNanos) {
        Substitute substitute = response.substitute(0, failure);
        report(observer, failure.kind().status().code(), Outcome.FAILED, failure, substitute, 0, waitedNanos);
    }

    /**
     * Reports that the request is answered.
     *
     * @param bytes size of the response's body
     * @param waitedNanos time since the request arrived
     */
    public void reportAnswered(
            DispatcherObserver observer, int status, Substitute substitute, long bytes, long waitedNanos) {
        report(observer, status, Outcome.COMPLETED, null, substitute, bytes, waitedNanos);
    }

    /**
     * Reports that the client has gone.
     *
     * @param waitedNanos time since the request arrived
     */
    public void reportCancelled(DispatcherObserver observer, long waitedNanos) {
        report(observer, 0, Outcome.CANCELLED, null, null, 0, waitedNanos);
    }

    private void report(
            DispatcherObserver observer,
            int status,
            Outcome outcome,
            @Nullable Failure failure,
            @Nullable Substitute substitute,
            long bytes,
            long waitedNanos) {
        ExchangeListener listener = observer.onExchangeStart(this);
        if (listener != null) {
            FinishedExchange end = new FinishedExchange(
                    function,
                    null,
                    headers,
                    response.remoteAddress(),
                    response.protocol(),
                    status,
                    outcome,
                    failure,
                    null,
                    null,
                    substitute,
                    response.contentEncoding(),
                    0,
                    bytes,
                    waitedNanos,
                    -1,
                    waitedNanos,
                    -1,
                    -1,
                    0,
                    0,
                    null,
                    false);
            FinishedExchange.report(end, listener);
        }
    }
}
