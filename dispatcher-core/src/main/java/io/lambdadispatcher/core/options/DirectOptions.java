package io.lambdadispatcher.core.options;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How a function serves requests by direct invocations. Each of these <b>direct requests</b> is one
 * invocation of the function. {@link Builder} states units, defaults and ranges. Immutable.
 *
 * <pre>{@code
 * DirectOptions direct = DirectOptions.builder(DirectEventFormat.HTTP_API_V2)
 *         .maxConcurrentInvocations(200)
 *         .spilloverAfter(Duration.ofMillis(500))
 *         .build();
 * }</pre>
 *
 * <p>Pass the options to {@code DispatcherBuilder.direct}. {@code
 * docs/reference/direct-requests.md} describes direct requests.
 */
public final class DirectOptions {
    private static final int MIB = 1024 * 1024;

    /** Lambda's own limit on the request and on the response of a synchronous invocation. */
    private static final int LAMBDA_BYTES = 6 * MIB;

    /**
     * Shortest {@link Builder#spilloverAfter}. A queued request that cannot overflow yet tries
     * again after each such wait. With a shorter wait, it would try too often.
     */
    public static final Duration MIN_SPILLOVER_AFTER = Duration.ofMillis(10);

    private final DirectEventFormat format;
    private final int maxBodyBytes;
    private final int maxEventBytes;
    private final int maxResponseBytes;
    private final int maxConcurrentInvocations;
    private final @Nullable Duration spilloverAfter;

    private DirectOptions(Builder from) {
        format = from.format;
        maxBodyBytes = from.maxBodyBytes;
        maxEventBytes = from.maxEventBytes;
        maxResponseBytes = from.maxResponseBytes;
        maxConcurrentInvocations = from.maxConcurrentInvocations;
        spilloverAfter = from.spilloverAfter;
        Check.atLeast("maxBodyBytes", maxBodyBytes, 0);
        Check.atLeast("maxEventBytes", maxEventBytes, 1024);
        Check.atLeast("maxResponseBytes", maxResponseBytes, 1024);
        Check.atLeast("maxConcurrentInvocations", maxConcurrentInvocations, 1);
        Check.that(
                spilloverAfter == null
                        || spilloverAfter.compareTo(MIN_SPILLOVER_AFTER) >= 0
                                && spilloverAfter.compareTo(Check.LONGEST) <= 0,
                "spilloverAfter",
                String.valueOf(spilloverAfter),
                MIN_SPILLOVER_AFTER.toMillis() + " ms to 366 days");
    }

    /**
     * Starts options in which every request is direct.
     *
     * @param format the event that the function receives
     */
    public static Builder builder(DirectEventFormat format) {
        return new Builder(format);
    }

    /**
     * Returns the default options for this format. Every request is direct.
     *
     * @param format the event that the function receives
     */
    public static DirectOptions of(DirectEventFormat format) {
        return builder(format).build();
    }

    /** Returns the format of the event that the function receives. */
    public DirectEventFormat format() {
        return format;
    }

    /** Returns the maximum size of a request's body, in bytes. See {@link Builder#maxBodyBytes}. */
    public int maxBodyBytes() {
        return maxBodyBytes;
    }

    /** Returns the maximum size of the JSON event, in bytes. See {@link Builder#maxEventBytes}. */
    public int maxEventBytes() {
        return maxEventBytes;
    }

    /** Returns what {@link Builder#maxResponseBytes} sets, in bytes. */
    public int maxResponseBytes() {
        return maxResponseBytes;
    }

    /** Returns what {@link Builder#maxConcurrentInvocations} sets. */
    public int maxConcurrentInvocations() {
        return maxConcurrentInvocations;
    }

    /** Returns what {@link Builder#spilloverAfter} sets; {@code null} = all are direct. */
    public @Nullable Duration spilloverAfter() {
        return spilloverAfter;
    }

    /**
     * Builds {@link DirectOptions}. Setters accept any value, and {@link #build} validates them.
     * Not thread-safe.
     */
    public static final class Builder {
        private final DirectEventFormat format;
        private int maxBodyBytes;
        private int maxEventBytes = LAMBDA_BYTES;
        private int maxResponseBytes;
        private int maxConcurrentInvocations = 1000;
        private @Nullable Duration spilloverAfter;

        private Builder(DirectEventFormat format) {
            this.format = format;
            maxBodyBytes = switch (format) {
                case ALB, ALB_MULTI_VALUE -> MIB;
                case HTTP_API_V2, REST_API, FUNCTION_URL -> LAMBDA_BYTES;
            };
            maxResponseBytes = maxBodyBytes;
        }

        /**
         * Sets the maximum size of a request's body before it is encoded in base64. A request with
         * a larger body gets 413. Default: AWS's limit for the format, which is 1 MiB for a load
         * balancer and 6 MiB otherwise.
         *
         * @param bytes 0 or more
         */
        public Builder maxBodyBytes(int bytes) {
            maxBodyBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum size of the JSON event. A request with a larger event gets 413. Default:
         * 6 MiB.
         *
         * @param bytes 1,024 or more
         */
        public Builder maxEventBytes(int bytes) {
            maxEventBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum size of the JSON that the function returns. If it is larger, the client
         * gets 502. Default: AWS's limit for the format, which is 1 MiB for a load balancer and 6
         * MiB otherwise.
         *
         * @param bytes 1,024 or more
         */
        public Builder maxResponseBytes(int bytes) {
            maxResponseBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum number of direct requests in flight over all event loops. The same
         * number of requests can also be open whose bodies are still arriving. One client gets at
         * most half of the latter, or 8 if that is more. A request beyond a limit gets 503.
         * Default: 1,000.
         *
         * <p>Each request in flight can hold a body and its event, or a response, in memory.
         *
         * @param requests 1 or more
         */
        public Builder maxConcurrentInvocations(int requests) {
            maxConcurrentInvocations = requests;
            return this;
        }

        /**
         * Queues requests for a worker first, and makes a request direct if it has waited for this
         * time. Only idempotent requests become direct, and only if the complete body has arrived
         * and is at most 64 KiB. The other requests continue to wait. If the dispatcher launches
         * the function's workers, no request becomes direct while launching is switched off or
         * {@link LaunchLimits.Builder#gbSecondsPerHour} is reached. Default: every request is
         * direct, and workers are not used.
         *
         * @param wait 10 ms to 366 days
         */
        public Builder spilloverAfter(Duration wait) {
            spilloverAfter = wait;
            return this;
        }

        /**
         * Returns the options.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public DirectOptions build() {
            return new DirectOptions(this);
        }
    }
}
