package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.Outcome;
import io.netty.util.concurrent.Ticker;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/** What an observer learns about an exchange at its end. */
record FinishedExchange(
        @Nullable String function,
        @Nullable String workerId,
        CharSequence method,
        CharSequence path,
        int status,
        Outcome outcome,
        @Nullable String failure,
        long requestBytes,
        long responseBytes,
        long queueNanos,
        long totalNanos,
        int attempts)
        implements ExchangeEnd {

    private static final SeldomLog failures =
            new SeldomLog(LoggerFactory.getLogger(ExchangeEnd.class), Ticker.systemTicker());

    /** Calls the listener. An exception is logged and does not affect the exchange. */
    void reportTo(Consumer<ExchangeEnd> listener) {
        try {
            listener.accept(this);
        } catch (Throwable e) {
            failures.warn("the observer threw an exception at the end of {} {}", method, path, e);
        }
    }
}
