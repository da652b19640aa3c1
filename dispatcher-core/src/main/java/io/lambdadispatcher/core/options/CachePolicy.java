package io.lambdadispatcher.core.options;

import java.time.Duration;
import java.util.Objects;

/**
 * Which responses the dispatcher stores and gives to later requests, as a shared cache (RFC 9111).
 * {@link Builder} states the defaults. Immutable.
 *
 * <p>Responses choose this themselves: only those are stored whose {@code cache-control} or {@code
 * expires} says for how long they are fresh. Identical requests that arrive while such a response
 * is on its way wait for it, and share it. The policy needs the library Caffeine on the class
 * path.
 */
public final class CachePolicy {
    /** Stores nothing. */
    public static final CachePolicy OFF = new CachePolicy();

    private static final Duration LONGEST_STALE = Duration.ofDays(365);
    private static final int MIB = 1024 * 1024;

    private final String name;
    private final boolean off;
    private final Duration staleIfError;
    private final int maxBodyBytes;

    private CachePolicy() {
        name = "";
        off = true;
        staleIfError = Duration.ZERO;
        maxBodyBytes = 0;
    }

    private CachePolicy(Builder from) {
        name = from.name;
        off = false;
        staleIfError = from.staleIfError;
        maxBodyBytes = from.maxBodyBytes;
        Check.that(
                !staleIfError.isNegative() && staleIfError.compareTo(LONGEST_STALE) <= 0,
                "staleIfError",
                staleIfError.toString(),
                "0 to 365 days");
        Check.range("maxBodyBytes", maxBodyBytes, 1, 64 * MIB);
        Check.that(
                isAvailable(), "cache", "on", "com.github.ben-manes.caffeine:caffeine on the class path, which stores");
    }

    private static boolean isAvailable() {
        try {
            Class.forName("com.github.benmanes.caffeine.cache.Caffeine", false, CachePolicy.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
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

    /** Returns whether nothing is stored. */
    public boolean isOff() {
        return off;
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
         * @throws IllegalArgumentException if a value is out of its range, or if Caffeine is not on
         *     the class path
         */
        public CachePolicy build() {
            return new CachePolicy(this);
        }
    }
}
