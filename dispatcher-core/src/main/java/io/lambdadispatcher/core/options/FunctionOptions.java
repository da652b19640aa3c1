package io.lambdadispatcher.core.options;

import java.time.Duration;

/** A function and its pool of workers. Immutable. {@link Builder} states units, defaults and ranges. */
public final class FunctionOptions {
    private final String name;
    private final CapacityPolicy capacity;
    private final LaunchLimits launching;
    private final int connectionsPerWorker;
    private final int streamsPerConnection;
    private final int pendingLimit;
    private final Duration pendingTimeout;
    private final Duration requestTimeout;

    private FunctionOptions(Builder from) {
        name = from.name;
        capacity = from.capacity;
        launching = from.launching;
        connectionsPerWorker = from.connectionsPerWorker;
        streamsPerConnection = from.streamsPerConnection;
        pendingLimit = from.pendingLimit;
        pendingTimeout = from.pendingTimeout;
        requestTimeout = from.requestTimeout;
        Check.that(
                !name.isEmpty() && name.length() <= 256, "name", name.length() + " characters", "1 to 256 characters");
        Check.range("connectionsPerWorker", connectionsPerWorker, 1, 64);
        Check.range("streamsPerConnection", streamsPerConnection, 1, 1000);
        Check.atLeast("pendingLimit", pendingLimit, 0);
        Check.notNegative("pendingTimeout", pendingTimeout);
        Check.notNegative("requestTimeout", requestTimeout);
    }

    /** @param name the name that routers and launch tokens use, 1 to 256 characters */
    public static Builder builder(String name) {
        return new Builder(name);
    }

    /** Returns a function with the defaults: it has only workers that launch themselves. */
    public static FunctionOptions of(String name) {
        return builder(name).build();
    }

    public String name() {
        return name;
    }

    public CapacityPolicy capacity() {
        return capacity;
    }

    public LaunchLimits launching() {
        return launching;
    }

    public int connectionsPerWorker() {
        return connectionsPerWorker;
    }

    public int streamsPerConnection() {
        return streamsPerConnection;
    }

    /** Returns a worker's concurrency. */
    public int streamsPerWorker() {
        return connectionsPerWorker * streamsPerConnection;
    }

    public int pendingLimit() {
        return pendingLimit;
    }

    public Duration pendingTimeout() {
        return pendingTimeout;
    }

    public Duration requestTimeout() {
        return requestTimeout;
    }

    /** Not thread-safe. Setters accept any value; {@link #build} validates. */
    public static final class Builder {
        private final String name;
        private CapacityPolicy capacity = CapacityPolicy.NONE;
        private LaunchLimits launching = LaunchLimits.defaults();
        private int connectionsPerWorker = 1;
        private int streamsPerConnection = 100;
        private int pendingLimit = 10_000;
        private Duration pendingTimeout = Duration.ofSeconds(10);
        private Duration requestTimeout = Duration.ofMinutes(15);

        private Builder(String name) {
            this.name = name;
        }

        /** Sets how many workers the dispatcher launches. Default: {@link CapacityPolicy#NONE}. */
        public Builder capacity(CapacityPolicy policy) {
            capacity = policy;
            return this;
        }

        /** Sets the limits on launching workers. Default: {@link LaunchLimits#defaults}. */
        public Builder launching(LaunchLimits limits) {
            launching = limits;
            return this;
        }

        /**
         * Sets the number of connections that each launched worker opens, 1 to 64. It is the maximum for a worker that
         * launches itself: a further connection is refused. Default: 1, because each further connection costs system calls.
         * Set more if there are fewer workers than event loops.
         */
        public Builder connectionsPerWorker(int connections) {
            connectionsPerWorker = connections;
            return this;
        }

        /**
         * Sets the number of worker streams on each connection, 1 to 1,000. Multiplied by the connections, it is a
         * launched worker's concurrency. It is the maximum for a worker that launches itself: a further stream is refused.
         * Default: 100.
         */
        public Builder streamsPerConnection(int streams) {
            streamsPerConnection = streams;
            return this;
        }

        /**
         * Sets the limits of the queue of requests that wait for a worker stream. One client fills
         * at most half of the queue. Default: 10,000 requests and 10 s.
         *
         * @param limit maximum number of queued requests over all event loops, 0 or more
         * @param timeout maximum time that a request is queued, 0 or more
         */
        public Builder pending(int limit, Duration timeout) {
            pendingLimit = limit;
            pendingTimeout = timeout;
            return this;
        }

        /**
         * Sets the maximum time from dispatch to the end of the response. Zero means no limit. Default: 15 minutes.
         */
        public Builder requestTimeout(Duration timeout) {
            requestTimeout = timeout;
            return this;
        }

        /** @throws IllegalArgumentException if a value is out of its range */
        public FunctionOptions build() {
            return new FunctionOptions(this);
        }
    }
}
