package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.observe.Outcome;
import org.jspecify.annotations.Nullable;

/**
 * The part of a pool that shares the exchange's event loop, and that the exchange tells how it
 * fares.
 */
public interface ExchangeOwner {
    /**
     * Takes an exchange that has failed on one worker to try another.
     *
     * @return false if the retry budget is used up
     */
    boolean retry(Exchange exchange);

    /**
     * Its client has sent the end of a request that did not end with its head. The exchange may
     * have ended before.
     */
    void onRequestEnded(Exchange exchange);

    /**
     * A part of the body has come while the exchange waits, and is held. The owner may fail the
     * exchange.
     */
    default void onHeld(Exchange exchange, int bytes) {}

    /**
     * Once: the response has been passed on whole, or nobody waits for it any more.
     *
     * @param failure null unless FAILED
     */
    void onEnded(Exchange exchange, Outcome outcome, @Nullable Failure failure);

    /**
     * It is a tunnel from now on, for as long as its ends like: the request's timeout has been
     * kept.
     */
    void onTunnelOpened(Exchange exchange);

    /** No exchange waits or is in flight, except for tunnels. Event loop only. */
    boolean isQuiet();

    /** Fails every exchange that has not ended. Event loop only. */
    void failAll(Failure failure);

    /** Returns the name of the function. */
    String function();

    /** The event loop's clock. */
    long nanoTime();

    /**
     * From the first attempt until the response's end, of a tunnel until its head; 0 = no limit.
     */
    long requestTimeoutNanos();
}
