package io.lambdadispatcher.core.options;

import java.time.Duration;
import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;

/**
 * How often a request is sent to a worker, and when. The attempts follow each other, or overlap:
 * with {@link Builder#hedgeAfter} or {@link Builder#hedgeAfterQuantile}, a slow attempt continues
 * while the next one begins, and the first response is the client's, whatever its status. {@link
 * Builder} states units, defaults and ranges. Immutable.
 *
 * <p>Only requests that can be repeated are sent again: their method is idempotent (RFC 9110
 * section 9.2.2) or they have the header {@code idempotency-key}, the dispatcher holds their
 * complete body, and the client has nothing of the response. Each further attempt takes from the
 * budget of the function, {@link FunctionOptions.Builder#retryBudget}.
 */
public final class AttemptPolicy {
    /** Largest {@link Builder#maxAttempts}. */
    public static final int MAX_ATTEMPTS = 5;

    private final int maxAttempts;
    private final Duration perTryTimeout;
    private final Set<RetryCondition> retryOn;
    private final Duration hedgeAfter;
    private final double hedgeAfterQuantile;

    private AttemptPolicy(Builder from) {
        maxAttempts = from.maxAttempts;
        perTryTimeout = from.perTryTimeout;
        retryOn = Collections.unmodifiableSet(
                from.retryOn.isEmpty() ? EnumSet.noneOf(RetryCondition.class) : EnumSet.copyOf(from.retryOn));
        hedgeAfter = from.hedgeAfter;
        hedgeAfterQuantile = from.hedgeAfterQuantile;
        Check.range("maxAttempts", maxAttempts, 1, MAX_ATTEMPTS);
        Check.notNegative("perTryTimeout", perTryTimeout);
        Check.notNegative("hedgeAfter", hedgeAfter);
        Check.that(
                hedgeAfterQuantile == 0 || hedgeAfterQuantile >= 0.5 && hedgeAfterQuantile < 1,
                "hedgeAfterQuantile",
                Check.number(hedgeAfterQuantile),
                "0, or 0.5 to less than 1");
    }

    /** Starts a policy with the defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the maximum number of attempts. See {@link Builder#maxAttempts}. */
    public int maxAttempts() {
        return maxAttempts;
    }

    /** Returns what {@link Builder#perTryTimeout} sets; zero = none. */
    public Duration perTryTimeout() {
        return perTryTimeout;
    }

    /** Returns what lets a request be sent again. See {@link Builder#retryOn}. */
    public Set<RetryCondition> retryOn() {
        return retryOn;
    }

    /**
     * Returns the fixed delay of a hedge, or zero if there is none. See {@link Builder#hedgeAfter}.
     */
    public Duration hedgeAfter() {
        return hedgeAfter;
    }

    /** Returns what {@link Builder#hedgeAfterQuantile} sets; 0 = none. */
    public double hedgeAfterQuantile() {
        return hedgeAfterQuantile;
    }

    /** Returns whether a slow attempt continues while the next one begins. */
    public boolean overlaps() {
        return !hedgeAfter.isZero() || hedgeAfterQuantile > 0;
    }

    /** Returns whether another attempt follows a slow one, so that a request needs a timer. */
    public boolean isTimed() {
        return maxAttempts > 1 && (overlaps() || !perTryTimeout.isZero() && retryOn.contains(RetryCondition.TIMEOUT));
    }

    /**
     * Builds {@link AttemptPolicy}. Setters accept any value, and {@link #build} validates them.
     * Not thread-safe.
     */
    public static final class Builder {
        private int maxAttempts = 2;
        private Duration perTryTimeout = Duration.ZERO;
        private Set<RetryCondition> retryOn = EnumSet.of(RetryCondition.REFUSED, RetryCondition.LOST);
        private Duration hedgeAfter = Duration.ZERO;
        private double hedgeAfterQuantile;

        private Builder() {}

        /**
         * Sets how often a request is sent at most, including the first time and hedges. Default:
         * 2.
         *
         * @param attempts 1 to {@value AttemptPolicy#MAX_ATTEMPTS}; 1 = no request is sent again
         */
        public Builder maxAttempts(int attempts) {
            maxAttempts = attempts;
            return this;
        }

        /**
         * Sets the time from the start of an attempt, or from the end of the request if that is
         * later, to the headers of the response. After this time, the request is sent to another
         * worker and the handler is told that nobody waits. It needs
         * {@link RetryCondition#TIMEOUT}. A request that cannot be sent again continues to wait. It
         * has no effect if attempts overlap. Default: zero.
         *
         * @param time 0 to 366 days; zero means no limit
         */
        public Builder perTryTimeout(Duration time) {
            perTryTimeout = time;
            return this;
        }

        /**
         * Sets what lets a request be sent again. If attempts overlap, only {@link
         * RetryCondition#REFUSED} and {@link RetryCondition#LOST} have an effect, after the last
         * attempt in flight. Default: these two.
         */
        public Builder retryOn(Set<RetryCondition> conditions) {
            retryOn = conditions;
            return this;
        }

        /**
         * Sends a request to another worker, too, if there are no headers of a response this long
         * after the last attempt began, or after the request was complete. The first response wins,
         * and the other attempts are cancelled. Default: zero.
         *
         * @param delay 0 to 366 days; zero means no hedge
         */
        public Builder hedgeAfter(Duration delay) {
            hedgeAfter = delay;
            return this;
        }

        /**
         * Hedges as {@link #hedgeAfter}, after the time in which this part of the function's recent
         * responses began. Nothing is hedged until enough responses are known. Default: 0.
         *
         * @param quantile 0.5 to less than 1, for example 0.95; 0 means no hedge
         */
        public Builder hedgeAfterQuantile(double quantile) {
            hedgeAfterQuantile = quantile;
            return this;
        }

        /**
         * Returns the policy.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public AttemptPolicy build() {
            return new AttemptPolicy(this);
        }
    }
}
