package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.Outcome;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;

/** A request that reaches no function. It ends immediately after it has started. */
public record RefusedExchange(@Nullable String function, Http2Headers headers, ResponseSink response)
        implements ExchangeStart {
    @Override
    public @Nullable SocketAddress remoteAddress() {
        return response.remoteAddress();
    }

    @Override
    public ClientProtocol protocol() {
        return response.protocol();
    }

    public void report(DispatcherObserver observer, Failure failure) {
        ExchangeListener listener = observer.onExchangeStart(this);
        if (listener != null) {
            Failure.Kind kind = failure.kind();
            new FinishedExchange(
                            function,
                            null,
                            headers,
                            response.remoteAddress(),
                            response.protocol(),
                            kind.status().code(),
                            Outcome.FAILED,
                            kind.token(),
                            null,
                            0,
                            0,
                            0,
                            -1,
                            0,
                            -1,
                            -1,
                            0,
                            0,
                            null,
                            false)
                    .reportTo(listener);
        }
    }
}
