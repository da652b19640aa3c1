package io.lambdadispatcher.core.options;

import java.time.Duration;
import java.util.Objects;

/**
 * When a route's breaker opens because the function fails or hangs. While it is open, requests are
 * refused with 503 immediately. Then a rising share of the requests tries the function again.
 * {@link Builder} states units, defaults and ranges. Immutable.
 *
 * <p>These requests fail: those with a response of 5xx, those whose worker or handler fails, and
 * those that reach their timeout. Responses of 4xx, requests that the client cancels, and requests
 * that the dispatcher refuses do not count. What happens after the response headers does
 * not count, so streams and tunnels can take any time.
 *
 * <pre>{@code
 * BreakerPolicy ofSearch = BreakerPolicy.builder("search")
 *         .errors(0.5)
 *         .latency(Duration.ofMillis(500))
 *         .build();
 * }</pre>
 */
public final class BreakerPolicy {
    /** Shortest {@link Builder#open}. */
    public static final Duration MIN_OPEN = Duration.ofMillis(100);

    /** Longest {@link Builder#open}. */
    public static final Duration MAX_OPEN = Duration.ofHours(1);

    /** Never opens. */
    public static final BreakerPolicy NONE = new BreakerPolicy(new Builder("default"));

    private final String name;
    private final double errors;
    private final Duration latency;
    private final Duration open;

    private BreakerPolicy(Builder from) {
        name = from.name;
        errors = from.errors;
        latency = from.latency;
        open = from.open;
        Check.that(!name.isEmpty(), "name", "''", "1 or more characters");
        Check.that(errors >= 0 && errors <= 1, "errors", Double.toString(errors), "0 to 1");
        Check.notNegative("latency", latency);
        Check.that(
                open.compareTo(MIN_OPEN) >= 0 && open.compareTo(MAX_OPEN) <= 0,
                "open",
                open.toString(),
                "100 ms to 1 hour");
    }

    /**
     * Starts a policy that never opens.
     *
     * @param name names the breaker in logs and metrics. Policies of one function with the same
     *     name share a breaker, also before and after a change. Not empty
     */
    public static Builder builder(String name) {
        return new Builder(name);
    }

    /** Returns the name. See {@link BreakerPolicy#builder}. */
    public String name() {
        return name;
    }

    /** Returns the share of failed requests that opens the breaker. See {@link Builder#errors}. */
    public double errors() {
        return errors;
    }

    /** Returns the time after which a request has failed. See {@link Builder#latency}. */
    public Duration latency() {
        return latency;
    }

    /** Returns how long the breaker stays open at first. See {@link Builder#open}. */
    public Duration open() {
        return open;
    }

    /** Returns whether the breaker never opens, so that it costs nothing. */
    public boolean isOff() {
        return errors == 0;
    }

    /**
     * Builds {@link BreakerPolicy}. Setters accept any number and duration, and {@link #build}
     * validates them. Not thread-safe.
     */
    public static final class Builder {
        private final String name;
        private double errors;
        private Duration latency = Duration.ZERO;
        private Duration open = Duration.ofSeconds(5);

        private Builder(String name) {
            this.name = Objects.requireNonNull(name, "name");
        }

        /**
         * Sets the share of failed requests that opens the breaker. The last second counts if it
         * has 100 requests. Otherwise, a longer time does, up to 10 s, and at least 20 requests.
         * The breaker opens if the share is larger than chance explains, which is two standard
         * deviations. Default: 0.
         *
         * @param share 0 to 1; 0 = the breaker never opens
         */
        public Builder errors(double share) {
            errors = share;
            return this;
        }

        /**
         * Sets the time without response headers after which a request has failed. It begins when a
         * worker has been found and the client has sent the complete request. The request
         * continues. Without it, a handler that hangs is noticed when its requests reach their
         * timeouts. Default: 0.
         *
         * @param time 0 to 366 days; 0 means no limit
         */
        public Builder latency(Duration time) {
            latency = Objects.requireNonNull(time, "latency");
            return this;
        }

        /**
         * Sets how long the breaker stays open. Then 20 % of the requests pass for this time, then
         * 60 %, then all. If these fail, it opens again, each time for twice as long, up to four
         * times. Default: 5 s.
         *
         * @param time 100 ms to 1 hour
         */
        public Builder open(Duration time) {
            open = Objects.requireNonNull(time, "open");
            return this;
        }

        /**
         * Returns the policy.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public BreakerPolicy build() {
            return new BreakerPolicy(this);
        }
    }
}
