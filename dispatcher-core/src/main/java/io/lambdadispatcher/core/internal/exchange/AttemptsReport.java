package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.Ticker;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * What an observer is told of the attempts of one request, while they run and at the end. Its
 * exceptions are logged and do not affect the exchange.
 */
abstract class AttemptsReport implements ExchangeEnd {

    /** Bits that count the further attempts for one reason. */
    private static final int EXTRA_BITS = 4;

    static final SeldomLog failures = new SeldomLog(LoggerFactory.getLogger(ExchangeEnd.class), Ticker.systemTicker());

    /** {@code null} if the observer does not follow the request, and in a copy. */
    @Nullable
    ExchangeListener listener;

    private int attempts;
    private @Nullable String workerId;
    private boolean ofBase;

    /** The number of further attempts, in {@link #EXTRA_BITS} bits for each reason. */
    private int extraAttempts;

    private @Nullable RetryDenial denial;
    private long handlerWaitMicros = -1;
    private long handlerMicros = -1;

    void reset() {
        listener = null;
        extraAttempts = 0;
        denial = null;
        onTiming(-1, -1);
    }

    /** The headers of an attempt are about to be sent. */
    final void onAttempt(int number, Http2Headers headers) {
        try {
            if (listener != null) {
                listener.onAttempt(number, headers);
            }
        } catch (Throwable e) {
            failures.warn("the observer threw an exception in onAttempt()", e);
        }
    }

    /** The headers of an attempt that begins beside others are about to be sent. */
    final void onHedge(int number, Http2Headers headers) {
        count(ExtraAttempt.HEDGE);
        onAttempt(number, headers);
    }

    /** An attempt has failed, and another one follows for this reason. */
    final void onRepeated(int number, @Nullable String failedWorkerId, String token, ExtraAttempt reason) {
        onAttemptFailed(number, failedWorkerId, token);
        count(reason);
    }

    /** An attempt has failed, and another one follows or continues. */
    final void onAttemptFailed(int number, @Nullable String failedWorkerId, String token) {
        try {
            if (listener != null) {
                listener.onAttemptFailed(number, failedWorkerId, token);
            }
        } catch (Throwable e) {
            failures.warn("the observer threw an exception in onAttemptFailed()", e);
        }
    }

    private void count(ExtraAttempt reason) {
        extraAttempts += 1 << EXTRA_BITS * reason.ordinal();
    }

    /** No further attempt follows, or none now. */
    final void onDenied(RetryDenial reason) {
        denial = reason;
    }

    /** Takes the handler's times of the last attempt; -1 = not known. */
    final void onTiming(long waitMicros, long micros) {
        handlerWaitMicros = waitMicros;
        handlerMicros = micros;
    }

    /** All attempts have ended. */
    final void onLastAttempt(int count, @Nullable String lastWorkerId, boolean byBase) {
        attempts = count;
        workerId = lastWorkerId;
        ofBase = byBase;
    }

    @Override
    public final @Nullable String workerId() {
        return workerId;
    }

    @Override
    public final @Nullable WorkerKind workerKind() {
        return workerId == null ? null : ofBase ? WorkerKind.BASE : WorkerKind.LAUNCHED;
    }

    @Override
    public final int attempts() {
        return attempts;
    }

    @Override
    public final int extraAttempts(ExtraAttempt reason) {
        return extraAttempts >>> EXTRA_BITS * reason.ordinal() & (1 << EXTRA_BITS) - 1;
    }

    @Override
    public final @Nullable RetryDenial retryDenial() {
        return denial;
    }

    @Override
    public final long handlerWaitNanos() {
        return handlerWaitMicros < 0 ? -1 : handlerWaitMicros * 1000;
    }

    @Override
    public final long handlerNanos() {
        return handlerMicros < 0 ? -1 : handlerMicros * 1000;
    }
}
