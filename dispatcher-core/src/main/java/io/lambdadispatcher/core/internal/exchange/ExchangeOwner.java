package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.DispatcherObserver.Outcome;
import org.jspecify.annotations.Nullable;

/** The part of a pool that shares the exchange's event loop, and that the exchange tells how it fares. */
public interface ExchangeOwner {
    /** Takes an exchange that has failed on one worker to try another. @return false if the retry budget is used up */
    boolean retry(Exchange exchange);

    /** Once: the response has been passed on whole, or nobody waits for it any more. @param failure null unless FAILED */
    void onEnded(Exchange exchange, Outcome outcome, @Nullable Failure failure);

    /** The event loop's clock. */
    long nanoTime();

    /** From the first attempt until the response's end; 0 = no limit. */
    long requestTimeoutNanos();
}
