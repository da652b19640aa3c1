package io.lambdadispatcher.core.options;

import java.time.Duration;
import java.util.Objects;

/**
 * A function and how its workers serve requests. {@link Builder} states units, defaults and ranges.
 * Immutable.
 *
 * <pre>{@code
 * FunctionOptions orders = FunctionOptions.builder("orders")
 *         .capacity(CapacityPolicy.between(1, 20))
 *         .queue(1_000, Duration.ofSeconds(5))
 *         .workerTimeout(Duration.ofSeconds(50))
 *         .build();
 * }</pre>
 */
public final class FunctionOptions {
    /** Largest {@link Builder#connectionsPerWorker}. */
    public static final int MAX_CONNECTIONS_PER_WORKER = 64;

    /** Largest {@link Builder#streamsPerConnection}. */
    public static final int MAX_STREAMS_PER_CONNECTION = 1_000;

    private final String name;
    private final CapacityPolicy capacity;
    private final LaunchLimits launching;
    private final int connectionsPerWorker;
    private final int streamsPerConnection;
    private final int queueLimit;
    private final Duration queueTimeout;
    private final Duration workerTimeout;
    private final TrafficPolicy traffic;
    private final double retryBudget;
    private final Duration slowStart;

    private FunctionOptions(Builder from) {
        name = from.name;
        capacity = from.capacity;
        launching = from.launching;
        connectionsPerWorker = from.connectionsPerWorker;
        streamsPerConnection = from.streamsPerConnection;
        queueLimit = from.queueLimit;
        queueTimeout = from.queueTimeout;
        workerTimeout = from.workerTimeout;
        traffic = from.traffic;
        retryBudget = from.retryBudget;
        slowStart = from.slowStart;
        Check.that(
                !name.isEmpty() && name.length() <= 256, "name", name.length() + " characters", "1 to 256 characters");
        Check.range("connectionsPerWorker", connectionsPerWorker, 1, MAX_CONNECTIONS_PER_WORKER);
        Check.range("streamsPerConnection", streamsPerConnection, 1, MAX_STREAMS_PER_CONNECTION);
        Check.atLeast("queueLimit", queueLimit, 0);
        Check.notNegative("queueTimeout", queueTimeout);
        Check.notNegative("workerTimeout", workerTimeout);
        Check.notNegative("slowStart", slowStart);
        Check.that(retryBudget >= 0 && retryBudget <= 1, "retryBudget", Check.number(retryBudget), "0 to 1");
    }

    /**
     * Starts a function with the defaults.
     *
     * @param name the name that routers and launch tokens use, 1 to 256 characters
     */
    public static Builder builder(String name) {
        return new Builder(name);
    }

    /**
     * Returns a function with the defaults. The dispatcher launches no workers for it.
     *
     * @param name the name that routers and launch tokens use, 1 to 256 characters
     * @throws IllegalArgumentException if the name is empty or too long
     */
    public static FunctionOptions of(String name) {
        return builder(name).build();
    }

    /** Returns the name, 1 to 256 characters. */
    public String name() {
        return name;
    }

    /** Returns how many workers are launched. See {@link Builder#capacity}. */
    public CapacityPolicy capacity() {
        return capacity;
    }

    /** Returns the limits on launching workers. See {@link Builder#launching}. */
    public LaunchLimits launching() {
        return launching;
    }

    /** Returns the number of connections of a worker. See {@link Builder#connectionsPerWorker}. */
    public int connectionsPerWorker() {
        return connectionsPerWorker;
    }

    /** Returns what {@link Builder#streamsPerConnection} sets. */
    public int streamsPerConnection() {
        return streamsPerConnection;
    }

    /** Returns a worker's concurrency: its connections multiplied by the worker streams on each. */
    public int streamsPerWorker() {
        return connectionsPerWorker * streamsPerConnection;
    }

    /** Returns the maximum number of queued requests. See {@link Builder#queue}. */
    public int queueLimit() {
        return queueLimit;
    }

    /** Returns the maximum time that a request is queued. See {@link Builder#queue}. */
    public Duration queueTimeout() {
        return queueTimeout;
    }

    /** Returns what {@link Builder#workerTimeout} sets; zero = none. */
    public Duration workerTimeout() {
        return workerTimeout;
    }

    /** Returns the policy of requests whose route has none. See {@link Builder#traffic}. */
    public TrafficPolicy traffic() {
        return traffic;
    }

    /** Returns the budget of further attempts. See {@link Builder#retryBudget}. */
    public double retryBudget() {
        return retryBudget;
    }

    /** Returns how long a worker counts as fresh. See {@link Builder#slowStart}. */
    public Duration slowStart() {
        return slowStart;
    }

    /**
     * Builds {@link FunctionOptions}. Setters accept any value, and {@link #build} validates them.
     * Not thread-safe.
     */
    public static final class Builder {
        private final String name;
        private CapacityPolicy capacity = CapacityPolicy.NONE;
        private LaunchLimits launching = LaunchLimits.builder().build();
        private int connectionsPerWorker = 1;
        private int streamsPerConnection = 100;
        private int queueLimit = 10_000;
        private Duration queueTimeout = Duration.ofSeconds(10);
        private Duration workerTimeout = Duration.ofMinutes(15);
        private TrafficPolicy traffic = TrafficPolicy.NEUTRAL;
        private double retryBudget = 0.1;
        private Duration slowStart = Duration.ZERO;

        private Builder(String name) {
            this.name = name;
        }

        /** Sets how many workers the dispatcher launches. Default: {@link CapacityPolicy#NONE}. */
        public Builder capacity(CapacityPolicy policy) {
            capacity = policy;
            return this;
        }

        /** Sets the limits on launching workers. Default: those of {@link LaunchLimits#builder}. */
        public Builder launching(LaunchLimits limits) {
            launching = limits;
            return this;
        }

        /**
         * Sets the number of connections that each launched worker opens. A self-launched worker
         * can open fewer, but a connection beyond this number is refused. Default: 1, because each
         * additional connection costs system calls. Set more if there are fewer workers than event
         * loops.
         *
         * @param connections 1 to {@value FunctionOptions#MAX_CONNECTIONS_PER_WORKER}
         */
        public Builder connectionsPerWorker(int connections) {
            connectionsPerWorker = connections;
            return this;
        }

        /**
         * Sets the number of worker streams on each connection. Each serves one request at a time.
         * A self-launched worker can open fewer, but a stream beyond this number is refused.
         * Default: 100.
         *
         * @param streams 1 to {@value FunctionOptions#MAX_STREAMS_PER_CONNECTION}
         */
        public Builder streamsPerConnection(int streams) {
            streamsPerConnection = streams;
            return this;
        }

        /**
         * Sets the limits of the queue of requests that wait for a worker stream. A request beyond
         * the limit, or that is queued for longer than the timeout, gets 503. One client fills at
         * most half of the queue, or 16 places if that is more. Default: 10,000 requests and 10 s.
         *
         * @param limit maximum number of queued requests over all event loops, 0 or more
         * @param timeout maximum time that a request is queued, 0 to 366 days
         */
        public Builder queue(int limit, Duration timeout) {
            queueLimit = limit;
            queueTimeout = timeout;
            return this;
        }

        /**
         * Sets the maximum time from the moment at which a worker or a direct invocation takes the
         * request, to the end of the response. The time in the queue does not count, and a retry
         * does not start the time again. A request that takes longer gets 504, or an incomplete
         * response. An open tunnel has no limit. Default: 15 minutes.
         *
         * @param timeout 0 to 366 days; zero means no limit
         */
        public Builder workerTimeout(Duration timeout) {
            workerTimeout = timeout;
            return this;
        }

        /**
         * Sets the policy of requests whose route has none. Default: {@link TrafficPolicy#NEUTRAL}.
         */
        public Builder traffic(TrafficPolicy policy) {
            traffic = Objects.requireNonNull(policy, "traffic");
            return this;
        }

        /**
         * Sets how many further attempts there may be for each request, on average: retries and
         * hedges together. Each event loop counts on its own and saves at most 100. While requests
         * are queued, only requests that were refused or whose worker was lost are sent again.
         * Default: 0.1.
         *
         * @param perRequest 0 to 1
         */
        public Builder retryBudget(double perRequest) {
            retryBudget = perRequest;
            return this;
        }

        /**
         * Sets for how long a worker counts as fresh after it has connected. A fresh worker gets
         * fewer requests the more processor time it reports for each, compared with the workers
         * that are not fresh. Its share rises as its JVM warms up. Default: zero, which means that
         * no worker counts as fresh.
         *
         * @param time 0 to 366 days, for example 60 s
         */
        public Builder slowStart(Duration time) {
            slowStart = time;
            return this;
        }

        /**
         * Returns the function.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public FunctionOptions build() {
            return new FunctionOptions(this);
        }
    }
}
