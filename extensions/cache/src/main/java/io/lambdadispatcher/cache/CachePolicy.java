package io.lambdadispatcher.cache;

import java.time.Duration;
import java.util.Objects;

/**
 * Which responses the dispatcher stores and gives to later requests, as a shared cache (RFC 9111).
 * {@link Builder} states the defaults. Immutable.
 *
 * <p>Responses choose this themselves: only those are stored whose {@code cache-control} or {@code
 * expires} says for how long they are fresh. Identical requests that arrive while such a response
 * is on its way wait for it, and share it.
 */
public final class CachePolicy {
    private static final Duration LONGEST_STALE = Duration.ofDays(365);
    private static final int MIB = 1024 * 1024;
    private static final int LARGEST_BODY = 64 * MIB;

    private final String name;
    private final Duration staleIfError;
    private final int maxBodyBytes;

    private CachePolicy(Builder from) {
        name = from.name;
        staleIfError = from.staleIfError;
        maxBodyBytes = from.maxBodyBytes;
        require(
                !staleIfError.isNegative() && staleIfError.compareTo(LONGEST_STALE) <= 0,
                "staleIfError: " + staleIfError + ", expected 0 to 365 days");
        require(
                maxBodyBytes >= 1 && maxBodyBytes <= LARGEST_BODY,
                "maxBodyBytes: " + maxBodyBytes + ", expected 1 to 67,108,864");
    }

    private static void require(boolean holds, String problem) {
        if (!holds) {
            throw new IllegalArgumentException(problem);
        }
    }

    /**
     * Starts a policy with the defaults, which stores what responses allow.
     *
     * @param name separates stored responses. Requests of one function whose policies have the same
     *     name share stored responses, also before and after a change
     */
    public static Builder builder(String name) {
        return new Builder(name);
    }

    /** Returns the same policy with another name. */
    CachePolicy named(String other) {
        return builder(other)
                .staleIfError(staleIfError)
                .maxBodyBytes(maxBodyBytes)
                .build();
    }

    /** Returns the name. See {@link CachePolicy#builder}. */
    public String name() {
        return name;
    }

    /** Returns for how long stale responses replace errors. See {@link Builder#staleIfError}. */
    public Duration staleIfError() {
        return staleIfError;
    }

    /** Returns the size of the largest stored body in bytes. See {@link Builder#maxBodyBytes}. */
    public int maxBodyBytes() {
        return maxBodyBytes;
    }

    /**
     * Builds {@link CachePolicy}. Setters accept any value, and {@link #build} validates it. Not
     * thread-safe.
     */
    public static final class Builder {
        private final String name;
        private Duration staleIfError = Duration.ZERO;
        private int maxBodyBytes = MIB;

        private Builder(String name) {
            this.name = Objects.requireNonNull(name, "name");
        }

        /**
         * Sets for how long after the end of its freshness a stored response replaces an error: no
         * response, or one with the status 500, 502, 503 or 504. It applies to responses without
         * {@code stale-if-error} (RFC 5861 section 4). It never applies to those with {@code
         * s-maxage}, {@code must-revalidate} or {@code proxy-revalidate}. Default: zero.
         *
         * @param time 0 or more, at most 365 days
         */
        public Builder staleIfError(Duration time) {
            staleIfError = time;
            return this;
        }

        /**
         * Sets the size of the largest body that is stored. Default: 1 MiB.
         *
         * @param bytes 1 to 64 MiB
         */
        public Builder maxBodyBytes(int bytes) {
            maxBodyBytes = bytes;
            return this;
        }

        /**
         * Returns the policy.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public CachePolicy build() {
            return new CachePolicy(this);
        }
    }
}
