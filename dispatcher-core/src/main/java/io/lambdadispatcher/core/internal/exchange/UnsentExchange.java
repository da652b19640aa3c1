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
 * A request that is sent to no function: it is refused, or answered without one. For the observer,
 * it ends immediately after it has started.
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

    /** Reports that the request is refused. */
    public void reportFailed(DispatcherObserver observer, Failure failure) {
        Failure.Kind kind = failure.kind();
        report(observer, kind.status().code(), Outcome.FAILED, kind.token(), response.substitute(0, failure), 0);
    }

    /**
     * Reports that the request is answered.
     *
     * @param bytes size of the response's body
     */
    public void reportAnswered(DispatcherObserver observer, int status, Substitute substitute, long bytes) {
        report(observer, status, Outcome.COMPLETED, null, substitute, bytes);
    }

    private void report(
            DispatcherObserver observer,
            int status,
            Outcome outcome,
            @Nullable String failure,
            @Nullable Substitute substitute,
            long bytes) {
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
                    0,
                    -1,
                    0,
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
