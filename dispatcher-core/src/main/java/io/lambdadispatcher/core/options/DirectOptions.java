package io.lambdadispatcher.core.options;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How a function takes direct requests, each of which is one invocation. Immutable. {@link Builder} states units, defaults
 * and ranges.
 */
public final class DirectOptions {
    private static final int MIB = 1024 * 1024;

    /** Lambda's own limit on both payloads of a synchronous invocation. */
    private static final int LAMBDA_BYTES = 6 * MIB;

    /** A request that cannot overflow yet asks again after this time. */
    private static final Duration MIN_WAIT = Duration.ofMillis(10);

    private final EventShape shape;
    private final int maxBodyBytes;
    private final int maxEventBytes;
    private final int maxResponseBytes;
    private final int maxConcurrent;
    private final @Nullable Duration overflowAfter;

    private DirectOptions(Builder from) {
        shape = from.shape;
        maxBodyBytes = from.maxBodyBytes;
        maxEventBytes = from.maxEventBytes;
        maxResponseBytes = from.maxResponseBytes;
        maxConcurrent = from.maxConcurrent;
        overflowAfter = from.overflowAfter;
        Check.atLeast("maxBodyBytes", maxBodyBytes, 0);
        Check.atLeast("maxEventBytes", maxEventBytes, 1024);
        Check.atLeast("maxResponseBytes", maxResponseBytes, 1024);
        Check.atLeast("maxConcurrent", maxConcurrent, 1);
        Check.that(
                overflowAfter == null || overflowAfter.compareTo(MIN_WAIT) >= 0,
                "overflowAfter",
                String.valueOf(overflowAfter),
                MIN_WAIT.toMillis() + " ms or more");
    }

    /** @param shape the event that the function receives */
    public static Builder builder(EventShape shape) {
        return new Builder(shape);
    }

    /** Returns options with the defaults for this shape: every request is direct. */
    public static DirectOptions of(EventShape shape) {
        return builder(shape).build();
    }

    public EventShape shape() {
        return shape;
    }

    public int maxBodyBytes() {
        return maxBodyBytes;
    }

    public int maxEventBytes() {
        return maxEventBytes;
    }

    public int maxResponseBytes() {
        return maxResponseBytes;
    }

    public int maxConcurrent() {
        return maxConcurrent;
    }

    /** Returns {@code null} if every request is direct. */
    public @Nullable Duration overflowAfter() {
        return overflowAfter;
    }

    /** Not thread-safe. Setters accept any value; {@link #build} validates. */
    public static final class Builder {
        private final EventShape shape;
        private int maxBodyBytes;
        private int maxEventBytes = LAMBDA_BYTES;
        private int maxResponseBytes;
        private int maxConcurrent = 1000;
        private @Nullable Duration overflowAfter;

        private Builder(EventShape shape) {
            this.shape = shape;
            maxBodyBytes = switch (shape) {
                case ALB, ALB_MULTI_VALUE -> MIB;
                case HTTP_API_V2, REST_API, FUNCTION_URL -> LAMBDA_BYTES;
            };
            maxResponseBytes = maxBodyBytes;
        }

        /**
         * Sets the maximum size of a request's body before base64, in bytes. A request with a larger body gets 413.
         * Default: AWS's limit for the shape, which is 1 MiB for a load balancer and 6 MiB otherwise.
         */
        public Builder maxBodyBytes(int bytes) {
            maxBodyBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum size of the JSON event, in bytes. A request with a larger event gets 413. At least 1,024.
         * Default: 6 MiB.
         */
        public Builder maxEventBytes(int bytes) {
            maxEventBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum size of the JSON that the function returns, in bytes. A larger response becomes 502. At least
         * 1,024. Default: AWS's limit for the shape, which is 1 MiB for a load balancer and 6 MiB otherwise.
         */
        public Builder maxResponseBytes(int bytes) {
            maxResponseBytes = bytes;
            return this;
        }

        /**
         * Sets the maximum number of direct requests in flight over all event loops, and of further
         * ones whose body is still arriving. One client has at most half of the latter. A request
         * beyond the limit gets 503. Each request in flight can hold a body and its event, or a
         * response, in memory. At least 1. Default: 1,000.
         */
        public Builder maxConcurrent(int requests) {
            maxConcurrent = requests;
            return this;
        }

        /**
         * Lets requests wait for a worker first. An idempotent request that has waited for this time becomes direct. At
         * least 10 ms. Default: there are no workers, and every request is direct.
         */
        public Builder overflowAfter(Duration wait) {
            overflowAfter = wait;
            return this;
        }

        /** @throws IllegalArgumentException if a value is out of its range */
        public DirectOptions build() {
            return new DirectOptions(this);
        }
    }
}
