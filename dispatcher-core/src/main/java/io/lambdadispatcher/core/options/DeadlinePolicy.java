package io.lambdadispatcher.core.options;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * How long a request may take from its arrival to the end of its response. The time in the queue
 * and all attempts count. After it, the client gets 504. {@link Builder} states units, defaults and
 * ranges. Immutable.
 */
public final class DeadlinePolicy {
    /** Requests have no deadline, and headers of the client set none. */
    public static final DeadlinePolicy NONE = builder().build();

    private final Duration limit;
    private final List<CharSequence> headers;

    private DeadlinePolicy(Builder from) {
        limit = from.limit;
        headers = List.copyOf(from.headers);
        Check.notNegative("limit", limit);
    }

    /** Starts a policy without a deadline. */
    public static Builder builder() {
        return new Builder();
    }

    /** Returns the maximum time, or zero if there is no limit. See {@link Builder#limit}. */
    public Duration limit() {
        return limit;
    }

    /**
     * Returns the names, in lower case, of the headers with which clients set a shorter time. See
     * {@link Builder#header}.
     */
    public List<CharSequence> headers() {
        return headers;
    }

    boolean isTimed() {
        return !limit.isZero() || !headers.isEmpty();
    }

    /**
     * Builds {@link DeadlinePolicy}. Setters accept any duration, and {@link #build} validates it.
     * Not thread-safe.
     */
    public static final class Builder {
        private final List<CharSequence> headers = new ArrayList<>();
        private Duration limit = Duration.ZERO;

        private Builder() {}

        /**
         * Sets the maximum time from the arrival of a request to the end of its response. An open
         * tunnel has no limit. Default: zero.
         *
         * @param time 0 to 366 days; zero means no limit
         */
        public Builder limit(Duration time) {
            limit = time;
            return this;
        }

        /**
         * Adds a header with which clients say how long they wait. The shortest time counts. The
         * header reaches the handler with the time that is left. A value that is not valid is
         * ignored. Default: no header.
         *
         * <p>{@code grpc-timeout} has gRPC's syntax, such as {@code 250m}. Any other header has a
         * whole number of milliseconds, such as {@code 250}, or a number with the unit {@code ms}
         * or {@code s}.
         *
         * @param name name of the header
         * @throws IllegalArgumentException if it cannot be the name of a header
         */
        public Builder header(String name) {
            headers.add(Check.headerName(name));
            return this;
        }

        /**
         * Returns the policy.
         *
         * @throws IllegalArgumentException if the time is negative
         */
        public DeadlinePolicy build() {
            return new DeadlinePolicy(this);
        }
    }
}
