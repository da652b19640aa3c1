package io.lambdadispatcher.worker.config;

import io.lambdadispatcher.wire.worker.WireLimits;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What a worker is to do: whose requests it serves, which dispatchers it connects to, and how long
 * it lives.
 *
 * <pre>{@code
 * WorkerConfig.builder("images", new Credential.Secret(secret), addresses).connections(4).build();
 * }</pre>
 *
 * Immutable; any thread.
 */
public final class WorkerConfig {
    /** Begins the names of all environment variables that a worker reads. */
    public static final String VARIABLE_PREFIX = "LAMBDA_DISPATCHER_";

    /**
     * The longest of all durations, as of the dispatcher's: nanoseconds of it can be added to each
     * other.
     */
    static final Duration LONGEST = Duration.ofDays(366);

    private static final int MIN_WINDOW_BYTES = 65_535;

    /** Never changed any more. */
    private final Builder values;

    private WorkerConfig(Builder values) {
        this.values = values;
    }

    /**
     * Returns a configuration with the defaults that the methods of {@link Builder} name.
     *
     * @param function function whose requests the worker serves, 1 to 256 characters
     * @param secret the dispatcher's secret for that function, or its common secret; at least 16
     *     bytes in UTF-8
     * @param dispatchers worker ports of one or more dispatchers, resolved or not
     * @throws IllegalArgumentException names the value and what was expected
     */
    public static WorkerConfig of(String function, String secret, InetSocketAddress... dispatchers) {
        return builder(function, new Credential.Secret(secret), List.of(dispatchers))
                .build();
    }

    /**
     * Returns a builder with the defaults that its methods name.
     *
     * @param function function whose requests the worker serves, 1 to 256 characters
     * @param addresses worker ports of one or more dispatchers, resolved or not; connections are
     *     spread evenly over them
     */
    public static Builder builder(String function, Credential credential, List<InetSocketAddress> addresses) {
        return new Builder(function, credential, addresses);
    }

    /**
     * Reads the JSON object that a worker is launched with. {@code docs/reference/protocol.md} says what each
     * member means. Members that are not known are skipped, because a newer dispatcher may send
     * more.
     *
     * @throws IllegalArgumentException names the member, its value and what was expected
     */
    public static WorkerConfig ofPayload(String json) {
        return ConfigReader.ofPayload(json, null);
    }

    /**
     * Reads {@code LAMBDA_DISPATCHER_PAYLOAD}, which holds an invoke payload, or else one variable
     * for each setting. {@code docs/reference/configuration.md} lists them.
     *
     * @throws IllegalArgumentException names the variable, its value and what was expected
     */
    public static WorkerConfig ofEnvironment(Map<String, String> variables) {
        return ConfigReader.ofEnvironment(variables);
    }

    /** Returns a builder with the values of this configuration. */
    public Builder toBuilder() {
        return new Builder(values);
    }

    public String function() {
        return values.function;
    }

    public String workerId() {
        return values.workerId;
    }

    public Credential credential() {
        return values.credential;
    }

    public List<InetSocketAddress> addresses() {
        return values.addresses;
    }

    public int connections() {
        return values.connections;
    }

    public int streams() {
        return values.streams;
    }

    /**
     * Returns how the worker port's certificate is judged; {@code null} if the connection is plain
     * HTTP/2.
     */
    public @Nullable WorkerTls tls() {
        return values.tls;
    }

    public Duration deadline() {
        return values.deadline;
    }

    /**
     * Returns the time from the start until the worker drains for its deadline; zero if it has
     * none.
     */
    public Duration untilDrain() {
        Duration deadline = values.deadline;
        boolean isShort = deadline.compareTo(values.deadlineMargin.multipliedBy(10)) < 0;
        return deadline.minus(isShort ? deadline.dividedBy(10) : values.deadlineMargin);
    }

    public Duration idleTimeout() {
        return values.idleTimeout;
    }

    public Duration drainGrace() {
        return values.drainGrace;
    }

    public Duration loneTimeout() {
        return values.loneTimeout;
    }

    public int streamWindowBytes() {
        return values.streamWindowBytes;
    }

    /** Durations are at most 366 days. Not thread-safe. */
    public static final class Builder {
        private final String function;
        private final Credential credential;
        private final List<InetSocketAddress> addresses;
        private String workerId = "self-" + UUID.randomUUID();
        private int connections = 1;
        private int streams = 100;
        private @Nullable WorkerTls tls;
        private Duration deadline = Duration.ZERO;
        private Duration deadlineMargin = Duration.ofSeconds(10);
        private Duration idleTimeout = Duration.ZERO;
        private Duration drainGrace = Duration.ofSeconds(30);
        private Duration loneTimeout;
        private int streamWindowBytes = 512 * 1024;

        private Builder(String function, Credential credential, List<InetSocketAddress> addresses) {
            this.function = function;
            this.credential = credential;
            this.addresses = List.copyOf(addresses);
            this.loneTimeout = credential.outlivesDispatcher() ? Duration.ZERO : Duration.ofSeconds(30);
        }

        private Builder(Builder other) {
            this(other.function, other.credential, other.addresses);
            workerId = other.workerId;
            connections = other.connections;
            streams = other.streams;
            tls = other.tls;
            deadline = other.deadline;
            deadlineMargin = other.deadlineMargin;
            idleTimeout = other.idleTimeout;
            drainGrace = other.drainGrace;
            loneTimeout = other.loneTimeout;
            streamWindowBytes = other.streamWindowBytes;
        }

        /**
         * Sets the worker's id, 1 to 256 characters, which appears in logs. No other worker may ever have
         * had the same id: a dispatcher rejects an id whose worker has ended. Default: {@code self-}
         * and a random UUID.
         */
        public Builder workerId(String id) {
            workerId = id;
            return this;
        }

        /**
         * Sets how many connections the worker opens in all, 1 to 64. Default: 1. A dispatcher lets in
         * as many as its options for the function say.
         */
        public Builder connections(int count) {
            connections = count;
            return this;
        }

        /**
         * Sets the worker streams of each connection, 1 to 1000. Default: 100. Connections × streams
         * is the worker's concurrency. The dispatcher accepts as many as its options for the function
         * say.
         */
        public Builder streams(int count) {
            streams = count;
            return this;
        }

        /**
         * Sets how to judge the worker port's certificate; {@code null} means plain HTTP/2, the
         * default.
         */
        public Builder tls(@Nullable WorkerTls value) {
            tls = value;
            return this;
        }

        /**
         * Sets the time from the start after which the worker is stopped from outside. Default:
         * zero, never.
         */
        public Builder deadline(Duration value) {
            deadline = value;
            return this;
        }

        /**
         * Sets how long before its deadline the worker begins to drain. Default: 10 s. Before a
         * deadline shorter than ten margins it is a tenth of the deadline.
         */
        public Builder deadlineMargin(Duration value) {
            deadlineMargin = value;
            return this;
        }

        /** Drains the worker after this time without a request. Default: zero, never. */
        public Builder idleTimeout(Duration value) {
            idleTimeout = value;
            return this;
        }

        /**
         * Sets how long requests in flight may take when the worker drains, the deadline
         * permitting. Default: 30 s.
         */
        public Builder drainGrace(Duration value) {
            drainGrace = value;
            return this;
        }

        /**
         * Ends the worker after this time without any connection; zero means that it tries forever.
         * Default: 30 s for a launched worker, zero for one with the secret.
         */
        public Builder loneTimeout(Duration value) {
            loneTimeout = value;
            return this;
        }

        /**
         * Sets the HTTP/2 window of each worker stream, which is how much of a request's body may
         * wait in memory. Default: 512 KiB.
         */
        public Builder streamWindowBytes(int bytes) {
            streamWindowBytes = bytes;
            return this;
        }

        /** @throws IllegalArgumentException names the value and what was expected */
        public WorkerConfig build() {
            requireName("function", function);
            requireName("workerId", workerId);
            require(!addresses.isEmpty(), "addresses", addresses, "at least one host:port");
            requireWithin("connections", connections, 1, WireLimits.MAX_CONNECTIONS_PER_WORKER);
            requireWithin("streams", streams, 1, WireLimits.MAX_STREAMS_PER_CONNECTION);
            requireDuration("deadline", deadline);
            requireDuration("deadlineMargin", deadlineMargin);
            requireDuration("idleTimeout", idleTimeout);
            requireDuration("drainGrace", drainGrace);
            requireDuration("loneTimeout", loneTimeout);
            requireWithin("streamWindowBytes", streamWindowBytes, MIN_WINDOW_BYTES, Integer.MAX_VALUE / 2);
            return new WorkerConfig(new Builder(this));
        }

        private static void requireName(String what, String name) {
            boolean fits = !name.isBlank() && name.length() <= WireLimits.MAX_NAME_CHARS;
            require(fits, what, "'" + name + "'", "1 to " + WireLimits.MAX_NAME_CHARS + " characters");
        }

        private static void requireWithin(String what, int value, int least, int most) {
            require(value >= least && value <= most, what, value, least + " to " + most);
        }

        private static void requireDuration(String what, Duration value) {
            boolean fits = !value.isNegative() && value.compareTo(LONGEST) <= 0;
            require(fits, what, value, "zero to " + LONGEST.toDays() + " days");
        }

        private static void require(boolean holds, String what, Object value, String expected) {
            if (!holds) {
                throw new IllegalArgumentException(what + " is " + value + ", expected " + expected);
            }
        }
    }
}
