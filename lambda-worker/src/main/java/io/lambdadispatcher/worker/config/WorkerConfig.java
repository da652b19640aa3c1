package io.lambdadispatcher.worker.config;

import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.wire.worker.WireLimits;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The configuration of a worker: the function that it serves, the dispatchers that it dials, and
 * how long it lives.
 *
 * <pre>{@code
 * WorkerConfig config = WorkerConfig.builder(
 *                 "images",
 *                 new Credential.Secret(System.getenv("DISPATCHER_SECRET")),
 *                 List.of(InetSocketAddress.createUnresolved("dispatcher.internal", 8443)))
 *         .connections(4)
 *         .tls(WorkerTls.system())
 *         .build();
 * }</pre>
 *
 * <p>Immutable; any thread.
 */
public final class WorkerConfig {
    /**
     * The prefix of the environment variables that configure a worker: {@code LAMBDA_DISPATCHER_}.
     * A worker also reads some variables of other products, for example {@code PORT} and {@code
     * AWS_LAMBDA_FUNCTION_NAME}.
     */
    public static final String VARIABLE_PREFIX = "LAMBDA_DISPATCHER_";

    /**
     * The environment variable with the worker's downstream share. An application that the worker
     * starts gets it, too.
     */
    public static final String DOWNSTREAM_SHARE_VARIABLE = VARIABLE_PREFIX + "DOWNSTREAM_SHARE";

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
     * Returns a configuration with a shared secret, and with the defaults that the methods of
     * {@link Builder} name.
     *
     * @param function the name of the function that the worker serves, 1 to 256 characters, not
     *     blank
     * @param secret the dispatcher's secret for that function, or its common secret, at least 16
     *     bytes in UTF-8
     * @param dispatchers the worker ports of one or more dispatchers, resolved or not
     * @throws IllegalArgumentException if a value is not allowed. The message says what was
     *     expected
     */
    public static WorkerConfig of(String function, String secret, InetSocketAddress... dispatchers) {
        return builder(function, new Credential.Secret(secret), List.of(dispatchers))
                .build();
    }

    /**
     * Returns a builder with the defaults that its methods name. {@link Builder#build} checks the
     * values.
     *
     * @param function the name of the function that the worker serves, 1 to 256 characters, not
     *     blank
     * @param credential authenticates the worker
     * @param addresses the worker ports of one or more dispatchers, resolved or not, at least one.
     *     The connections begin at successive addresses. After a failure, a connection tries the
     *     next address
     */
    public static Builder builder(String function, Credential credential, List<InetSocketAddress> addresses) {
        return new Builder(function, credential, addresses);
    }

    /**
     * Reads an invoke payload, which is the JSON object that a launched worker receives. {@code
     * docs/reference/protocol.md} describes its members. Unknown members are ignored, because a
     * newer dispatcher may send more.
     *
     * @throws IllegalArgumentException if it is not a JSON object, or a member is missing or not
     *     allowed. The message contains no token, key or secret
     */
    public static WorkerConfig ofPayload(String json) {
        return ConfigReader.ofPayload(json);
    }

    /**
     * Reads environment variables. If {@code LAMBDA_DISPATCHER_PAYLOAD} is set, it holds an invoke
     * payload, and no other variable counts. Otherwise, each setting has a variable. {@code
     * docs/reference/configuration.md} lists them.
     *
     * @param variables usually {@link System#getenv()}
     * @throws IllegalArgumentException if a variable is missing or not allowed. The message names
     *     it, its value and what was expected, except the values of secrets
     */
    public static WorkerConfig ofEnvironment(Map<String, String> variables) {
        return ConfigReader.ofEnvironment(variables);
    }

    /** Returns a new builder with the values of this configuration. */
    public Builder toBuilder() {
        return new Builder(values);
    }

    /** Returns the name of the function that the worker serves. */
    public String function() {
        return values.function;
    }

    /**
     * Returns the worker's id, or {@code null} if each worker gets an id of its own. See {@link
     * Builder#workerId}.
     */
    public @Nullable String workerId() {
        return values.workerId;
    }

    /** Returns what authenticates the worker. */
    public Credential credential() {
        return values.credential;
    }

    /** Returns the worker ports that the worker dials, at least one. Unmodifiable. */
    public List<InetSocketAddress> addresses() {
        return values.addresses;
    }

    /** Returns the number of connections. See {@link Builder#connections}. */
    public int connections() {
        return values.connections;
    }

    /** Returns the number of worker streams on each connection. See {@link Builder#streams}. */
    public int streams() {
        return values.streams;
    }

    /**
     * Returns how the worker port's certificate is verified, or {@code null} for HTTP/2 in clear
     * text.
     */
    public @Nullable WorkerTls tls() {
        return values.tls;
    }

    /**
     * Returns the time after which the worker is stopped from outside. Zero: never. See {@link
     * Builder#deadline}.
     */
    public Duration deadline() {
        return values.deadline;
    }

    /**
     * Returns the time from the creation of the worker until it drains because its deadline is
     * near: {@link Builder#deadline} minus {@link Builder#deadlineMargin}, or 9/10 of a deadline
     * that is shorter than ten margins. Zero if there is no deadline.
     */
    public Duration untilDrain() {
        Duration deadline = values.deadline;
        boolean isShort = deadline.compareTo(values.deadlineMargin.multipliedBy(10)) < 0;
        return deadline.minus(isShort ? deadline.dividedBy(10) : values.deadlineMargin);
    }

    /**
     * Returns the time without a request after which the worker drains. Zero: never. See {@link
     * Builder#idleTimeout}.
     */
    public Duration idleTimeout() {
        return values.idleTimeout;
    }

    /**
     * Returns how long requests in flight may continue while the worker drains. See {@link
     * Builder#drainGrace}.
     */
    public Duration drainGrace() {
        return values.drainGrace;
    }

    /**
     * Returns the time without a connection after which the worker ends. Zero: never. See {@link
     * Builder#loneTimeout}.
     */
    public Duration loneTimeout() {
        return values.loneTimeout;
    }

    /**
     * Returns the HTTP/2 window of each worker stream, in bytes. See {@link
     * Builder#streamWindowBytes}.
     */
    public int streamWindowBytes() {
        return values.streamWindowBytes;
    }

    /**
     * Returns how many downstream connections the worker may have when it starts. Zero: there is no
     * limit. See {@link Builder#downstreamShare}.
     */
    public int downstreamShare() {
        return values.downstreamShare;
    }

    /** Returns the worker's availability zone, or an empty text if it is not known. */
    public String zone() {
        return values.zone;
    }

    /**
     * Collects the values of a {@link WorkerConfig}. {@link #build} checks them, and a builder can
     * be used again afterwards. All durations are from zero to 366 days. Not thread-safe.
     */
    public static final class Builder {
        private final String function;
        private final Credential credential;
        private final List<InetSocketAddress> addresses;
        private @Nullable String workerId;

        private int connections = 1;
        private int streams = 100;
        private @Nullable WorkerTls tls;
        private boolean plain;
        private Duration deadline = Duration.ZERO;
        private Duration deadlineMargin = Duration.ofSeconds(10);
        private Duration idleTimeout = Duration.ZERO;
        private Duration drainGrace = Duration.ofSeconds(30);
        private Duration loneTimeout;
        private int streamWindowBytes = 512 * 1024;
        private String zone = "";
        private int downstreamShare;

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
            plain = other.plain;
            deadline = other.deadline;
            deadlineMargin = other.deadlineMargin;
            idleTimeout = other.idleTimeout;
            drainGrace = other.drainGrace;
            loneTimeout = other.loneTimeout;
            streamWindowBytes = other.streamWindowBytes;
            zone = other.zone;
            downstreamShare = other.downstreamShare;
        }

        /**
         * Sets the worker's id, 1 to 256 characters, not blank, which appears in logs. It must be
         * unique among the workers of all time, because a dispatcher rejects an id whose worker has
         * ended. So only one worker can have this configuration. It must not begin with {@code
         * fleet-}, unless a fleet of dispatchers has launched the worker. Default: each worker gets
         * {@code self-} and a random UUID.
         *
         * @throws IllegalArgumentException if it is not allowed
         */
        public Builder workerId(String id) {
            requireName("workerId", id);
            workerId = id;
            return this;
        }

        /**
         * Sets the availability zone in which the worker runs, for example {@code use1-az1}, for
         * operators. Default: an empty text, which means that it is not known. On Lambda, {@link
         * io.lambdadispatcher.worker.LambdaHandler} reads it from Lambda.
         */
        public Builder zone(String id) {
            zone = Objects.requireNonNull(id, "zone");
            return this;
        }

        /**
         * Sets the number of connections that the worker opens to all dispatchers together, 1 to
         * 64. If dispatchers form a fleet that shares its workers, it is the number of connections
         * to each of them. Default: 1. A dispatcher admits at most as many as its options for the
         * function allow.
         */
        public Builder connections(int count) {
            connections = count;
            return this;
        }

        /**
         * Sets the number of worker streams on each connection, 1 to 1000. Default: 100. The worker
         * serves at most {@code connections} × {@code streams} requests concurrently, of all
         * dispatchers together. The dispatcher accepts at most as many streams as its options for
         * the function allow.
         */
        public Builder streams(int count) {
            streams = count;
            return this;
        }

        /**
         * Sets how the worker port's certificate is verified. Default: with a {@link
         * Credential.Secret}, only the public key that follows from it is trusted, which a
         * dispatcher with this secret and without certificates of its own has. With the other
         * credentials, there is no default.
         */
        public Builder tls(WorkerTls value) {
            tls = Objects.requireNonNull(value, "tls");
            plain = false;
            return this;
        }

        /**
         * Dials in clear text: HTTP/2 with prior knowledge (RFC 9113 section 3.3). Anybody on the
         * path can read requests, and connect as this worker.
         */
        public Builder plain() {
            tls = null;
            plain = true;
            return this;
        }

        /**
         * Sets the time after which the worker is stopped from outside, for example by the timeout
         * of its Lambda function. It counts from the creation of the {@link
         * io.lambdadispatcher.worker.Worker}. The worker drains before. Default: zero, which means
         * that there is no deadline.
         */
        public Builder deadline(Duration value) {
            deadline = value;
            return this;
        }

        /**
         * Sets how long before its deadline the worker begins to drain. Default: 10 s. If the
         * deadline is shorter than ten margins, the worker drains after 9/10 of it.
         */
        public Builder deadlineMargin(Duration value) {
            deadlineMargin = value;
            return this;
        }

        /**
         * Sets the time without a request in flight after which the worker drains. The worker may
         * drain a little later, because it checks about eight times within this time. Default:
         * zero, which means never.
         */
        public Builder idleTimeout(Duration value) {
            idleTimeout = value;
            return this;
        }

        /**
         * Sets how long requests in flight may continue when the worker drains by itself. Before a
         * deadline, it is at most 3/4 of the time that is left. If a dispatcher drains the worker,
         * the dispatcher says how long. Default: 30 s.
         */
        public Builder drainGrace(Duration value) {
            drainGrace = value;
            return this;
        }

        /**
         * Sets the time without any connection after which the worker ends. The worker may end a
         * little later, because it checks about eight times within this time. Zero means that it
         * dials forever. Default: 30 s with a {@link Credential.Token}, zero with the other
         * credentials.
         */
        public Builder loneTimeout(Duration value) {
            loneTimeout = value;
            return this;
        }

        /**
         * Sets the HTTP/2 window of each worker stream (RFC 9113 section 5.2), 65,535 to
         * 1,073,741,823 bytes. It limits how many bytes of a request's body wait in memory for the
         * handler. Default: 512 KiB.
         */
        public Builder streamWindowBytes(int bytes) {
            streamWindowBytes = bytes;
            return this;
        }

        /**
         * Sets how many connections the worker may have to something that all workers of the
         * function share, for example to a database. The worker passes it to a handler that is a
         * {@link io.lambdadispatcher.worker.handler.DownstreamShareListener}. The dispatcher sets
         * it in the payload of a launch. Default: 0, which means that there is no limit.
         */
        public Builder downstreamShare(int connections) {
            downstreamShare = connections;
            return this;
        }

        /**
         * Returns the configuration.
         *
         * @throws IllegalArgumentException if a value is not allowed. The message names it, its
         *     value and what was expected
         */
        public WorkerConfig build() {
            requireName("function", function);
            String id = workerId;
            require(
                    id == null
                            || credential instanceof Credential.Token
                            || !id.startsWith(LaunchToken.FLEET_WORKER_ID_PREFIX),
                    "workerId",
                    "'" + id + "'",
                    "an id that does not begin with '" + LaunchToken.FLEET_WORKER_ID_PREFIX
                            + "', as those of workers do that a fleet launches");
            require(!addresses.isEmpty(), "addresses", addresses, "at least one host:port");
            requireWithin("connections", connections, 1, WireLimits.MAX_CONNECTIONS_PER_WORKER);
            requireWithin("streams", streams, 1, WireLimits.MAX_STREAMS_PER_CONNECTION);
            requireDuration("deadline", deadline);
            requireDuration("deadlineMargin", deadlineMargin);
            requireDuration("idleTimeout", idleTimeout);
            requireDuration("drainGrace", drainGrace);
            requireDuration("loneTimeout", loneTimeout);
            requireWithin("streamWindowBytes", streamWindowBytes, MIN_WINDOW_BYTES, Integer.MAX_VALUE / 2);
            requireWithin("downstreamShare", downstreamShare, 0, Integer.MAX_VALUE);
            require(
                    plain || tls != null || credential instanceof Credential.Secret,
                    "tls",
                    "not set",
                    "WorkerTls.fingerprint(...) of the worker port's public key, or plain() for a port without TLS");
            Builder values = new Builder(this);
            if (credential instanceof Credential.Secret secret && !plain && tls == null) {
                values.tls = WorkerTls.fingerprint(secret.portFingerprint());
            }
            return new WorkerConfig(values);
        }

        private static void requireName(String what, String name) {
            String printable = PrintableText.of(name);
            boolean fits = !name.isBlank() && name.length() <= WireLimits.MAX_NAME_CHARS && name.equals(printable);
            require(fits, what, "'" + printable + "'", "1 to " + WireLimits.MAX_NAME_CHARS + " printable characters");
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
