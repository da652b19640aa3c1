package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.ContentEncoding;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.Ticker;
import java.net.SocketAddress;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * What an observer learns about an exchange at its end, as an object that it can keep.
 *
 * @param failed why the exchange failed; {@code null} = it did not
 * @param extraCounts number of further attempts, in {@link #EXTRA_BITS} bits for each reason
 */
record FinishedExchange(
        @Nullable String function,
        @Nullable String workerId,
        Http2Headers headers,
        @Nullable SocketAddress remoteAddress,
        ClientProtocol protocol,
        int status,
        Outcome outcome,
        @Nullable Failure failed,
        @Nullable WaitReason waitReason,
        @Nullable SessionResult sessionResult,
        @Nullable Substitute substitute,
        @Nullable ContentEncoding contentEncoding,
        long requestBytes,
        long responseBytes,
        long queueNanos,
        long firstByteNanos,
        long totalNanos,
        long handlerWaitNanos,
        long handlerNanos,
        int attempts,
        int extraCounts,
        @Nullable RetryDenial retryDenial,
        boolean isTunnel)
        implements ExchangeEnd {

    static final int EXTRA_BITS = 4;

    static final SeldomLog failures = new SeldomLog(LoggerFactory.getLogger(ExchangeEnd.class), Ticker.systemTicker());

    @Override
    public @Nullable String failure() {
        return failed == null ? null : failed.kind().token();
    }

    @Override
    public @Nullable String failureDetail() {
        return failed == null ? null : failed.detail();
    }

    @Override
    public int extraAttempts(ExtraAttempt reason) {
        return extraAttempts(extraCounts, reason);
    }

    static int extraAttempts(int counts, ExtraAttempt reason) {
        return counts >>> EXTRA_BITS * reason.ordinal() & (1 << EXTRA_BITS) - 1;
    }

    /** Calls the listener. An exception is logged and does not affect the exchange. */
    static void report(ExchangeEnd end, ExchangeListener listener) {
        try {
            listener.onEnd(end);
        } catch (Throwable e) {
            failures.warn("the observer threw an exception at the end of {} {}", end.method(), end.path(), e);
        }
    }
}
