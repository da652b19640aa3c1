package io.lambdadispatcher.core.options;

import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Which requests are refused before they reach a worker: limits of rate and concurrency, and
 * priorities for the time when there are too many requests. {@link Builder} states units, defaults
 * and ranges. Immutable.
 *
 * <pre>{@code
 * AdmissionPolicy ofSearch = AdmissionPolicy.builder("search")
 *         .rateLimit(RateLimit.of(600, Duration.ofMinutes(1)).perHeader("x-api-key"))
 *         .tenants("x-tenant", 20)
 *         .priority(Priority.SHEDDABLE)
 *         .build();
 * }</pre>
 */
public final class AdmissionPolicy {
    /** Longest {@link Builder#maxQueueDelay}. */
    public static final Duration MAX_QUEUE_DELAY = Duration.ofHours(1);

    /** Refuses nothing, and has no priorities. */
    public static final AdmissionPolicy NONE = new AdmissionPolicy(new Builder("default"));

    private final String name;
    private final @Nullable RateLimit rateLimit;
    private final int maxConcurrentRequests;
    private final @Nullable AsciiString tenantHeader;
    private final int maxTenantRequests;
    private final Priority priority;
    private final @Nullable AsciiString priorityHeader;
    private final Duration maxQueueDelay;

    // For each request.
    private final boolean limits;
    private final boolean priorities;

    private AdmissionPolicy(Builder from) {
        name = from.name;
        rateLimit = from.rateLimit;
        maxConcurrentRequests = from.maxConcurrentRequests;
        tenantHeader = from.tenantHeader;
        maxTenantRequests = from.maxTenantRequests;
        priority = from.priority;
        priorityHeader = from.priorityHeader;
        maxQueueDelay = from.maxQueueDelay;
        limits = rateLimit != null || maxConcurrentRequests > 0 || maxTenantRequests > 0;
        priorities = from.hasPriority || priorityHeader != null;
        Check.that(
                !name.isEmpty()
                        && name.length() <= 256
                        && name.chars().allMatch(c -> c >= ' ' && c <= '~' && c != '"' && c != '\\'),
                "name",
                "'" + name + "'",
                "1 to 256 characters of ASCII without quotation marks and backslashes");
        Check.atLeast("maxConcurrentRequests", maxConcurrentRequests, 0);
        Check.atLeast("maxTenantRequests", maxTenantRequests, 0);
        Check.that(
                maxQueueDelay.compareTo(Duration.ZERO) > 0 && maxQueueDelay.compareTo(MAX_QUEUE_DELAY) <= 0,
                "maxQueueDelay",
                maxQueueDelay.toString(),
                "more than 0, at most 1 hour");
    }

    /**
     * Starts a policy that refuses nothing.
     *
     * @param name names the policy in {@code ratelimit-policy}. Policies of one function with the
     *     same name count together, also before and after a change. 1 to 256 characters of ASCII
     *     without quotation marks and backslashes
     */
    public static Builder builder(String name) {
        return new Builder(name);
    }

    /** Returns the name. See {@link AdmissionPolicy#builder}. */
    public String name() {
        return name;
    }

    /** Returns the limit of the rate, or {@code null}. See {@link Builder#rateLimit}. */
    public @Nullable RateLimit rateLimit() {
        return rateLimit;
    }

    /** Returns what {@link Builder#maxConcurrentRequests} sets; 0 = no limit. */
    public int maxConcurrentRequests() {
        return maxConcurrentRequests;
    }

    /**
     * Returns the name, in lower case, of the header that names the tenant, or {@code null}. See
     * {@link Builder#tenants}.
     */
    public @Nullable CharSequence tenantHeader() {
        return tenantHeader;
    }

    /**
     * Returns the maximum number of a tenant's requests in flight; 0 = no limit. See {@link
     * Builder#tenants}.
     */
    public int maxTenantRequests() {
        return maxTenantRequests;
    }

    /** Returns the priority of requests whose headers say none. See {@link Builder#priority}. */
    public Priority priority() {
        return priority;
    }

    /** Returns what {@link Builder#priorityHeader} sets, in lower case; {@code null} = none. */
    public @Nullable CharSequence priorityHeader() {
        return priorityHeader;
    }

    /** Returns the limit of the time in the queue. See {@link Builder#maxQueueDelay}. */
    public Duration maxQueueDelay() {
        return maxQueueDelay;
    }

    /** Returns whether the rate or the number of requests has a limit. */
    public boolean hasLimits() {
        return limits;
    }

    /** Returns whether requests have priorities, and are refused because of them. */
    public boolean hasPriorities() {
        return priorities;
    }

    /**
     * Builds {@link AdmissionPolicy}. Setters accept any number and duration, and {@link #build}
     * validates them. Not thread-safe.
     */
    public static final class Builder {
        private final String name;
        private @Nullable RateLimit rateLimit;
        private int maxConcurrentRequests;
        private @Nullable AsciiString tenantHeader;
        private int maxTenantRequests;
        private Priority priority = Priority.NORMAL;
        private boolean hasPriority;
        private @Nullable AsciiString priorityHeader;
        private Duration maxQueueDelay = Duration.ofMillis(100);

        private Builder(String name) {
            this.name = Objects.requireNonNull(name, "name");
        }

        /**
         * Sets how many requests each client may send in a time. Others get 429. Default: no limit.
         */
        public Builder rateLimit(RateLimit limit) {
            rateLimit = Objects.requireNonNull(limit, "rateLimit");
            return this;
        }

        /**
         * Sets the maximum number of requests in flight. Queued requests and open tunnels count.
         * Others get 503. Default: no limit.
         *
         * @param requests 1 or more; 0 means no limit
         */
        public Builder maxConcurrentRequests(int requests) {
            maxConcurrentRequests = requests;
            return this;
        }

        /**
         * Sets the maximum number of requests in flight of each tenant, so that a tenant whose
         * requests take long leaves workers for the others. Queued requests and open tunnels count.
         * Others get 429. Requests without the header are one tenant together. Default: no limit.
         *
         * @param header name of the header that names the tenant, which clients must not be able to
         *     choose
         * @param requests 1 or more; 0 means no limit
         * @throws IllegalArgumentException if {@code header} cannot be the name of a header
         */
        public Builder tenants(String header, int requests) {
            tenantHeader = Check.headerName(header);
            maxTenantRequests = requests;
            return this;
        }

        /**
         * Sets the priority of requests whose headers say none. If one policy of a function has
         * priorities, all should have, because requests without one are not compared with others.
         * Default: no priorities.
         */
        public Builder priority(Priority value) {
            priority = Objects.requireNonNull(value, "priority");
            hasPriority = true;
            return this;
        }

        /**
         * Sets the name of the header that says the priority: {@code critical}, {@code normal} or
         * {@code sheddable}. Any other value is ignored. Default: no header.
         *
         * @param header name of the header, which clients must not be able to choose
         * @throws IllegalArgumentException if it cannot be the name of a header
         */
        public Builder priorityHeader(String header) {
            priorityHeader = Check.headerName(header);
            return this;
        }

        /**
         * Sets for how long a sheddable request may wait for a worker. One that would probably wait
         * longer is refused with 503 immediately. A normal request may wait for four times as long,
         * and a critical one for the queue timeout. Applies only if requests have priorities, and
         * workers are connected. Default: 100 ms.
         *
         * @param time more than 0, at most 1 hour
         */
        public Builder maxQueueDelay(Duration time) {
            maxQueueDelay = time;
            return this;
        }

        /**
         * Returns the policy.
         *
         * @throws IllegalArgumentException if a value is out of its range
         */
        public AdmissionPolicy build() {
            return new AdmissionPolicy(this);
        }
    }
}
