package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.RetryDenial;
import org.jspecify.annotations.Nullable;

/**
 * Limits further attempts to a part of the requests, so that failing or slow workers do not get
 * more load than healthy ones. Each request adds its part to the balance, up to a maximum, and each
 * further attempt takes one, even if it finds no free stream on another event loop. Confined to one
 * event loop.
 */
public final class AttemptBudget {
    private static final double MAX_BALANCE = 100;

    /** So that the first requests after the start can be sent again. */
    private static final double FIRST_BALANCE = 10;

    private double perRequest;
    private double balance;

    /** @param perRequest further attempts for each request, on average, 0 to 1 */
    public AttemptBudget(double perRequest) {
        this.perRequest = perRequest;
        this.balance = perRequest == 0 ? 0 : FIRST_BALANCE;
    }

    /** Changes the part of later requests. */
    public void setPerRequest(double value) {
        perRequest = value;
        balance = value == 0 ? 0 : balance;
    }

    /** A request has arrived. */
    public void onRequest() {
        balance = Math.min(MAX_BALANCE, balance + perRequest);
    }

    /**
     * Returns why there must not be another attempt, or {@code null} if there may be one. Takes
     * nothing.
     *
     * <p>While requests are queued, workers have no time for more work than there is. A request
     * that was refused or whose worker was lost is no more work than it was.
     *
     * @param queued whether requests are queued, those that are set aside not counted
     */
    public @Nullable RetryDenial denial(ExtraAttempt reason, boolean queued) {
        boolean replaces = reason == ExtraAttempt.REFUSED || reason == ExtraAttempt.LOST;
        if (queued && !replaces) {
            return RetryDenial.QUEUED;
        }
        return balance < 1 ? RetryDenial.BUDGET : null;
    }

    /** Takes one attempt, after {@link #denial} has returned {@code null}. */
    public void take() {
        balance--;
    }
}
