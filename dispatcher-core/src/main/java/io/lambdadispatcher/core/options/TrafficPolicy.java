package io.lambdadispatcher.core.options;

import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How requests are treated on their way to a worker. A function has one, and each route can have
 * its own, which then replaces the function's for the requests of this route. Immutable.
 *
 * <p>The defaults change nothing and cost nothing.
 *
 * <pre>{@code
 * TrafficPolicy ofSearch = TrafficPolicy.builder()
 *         .deadline(DeadlinePolicy.builder().limit(Duration.ofSeconds(2)).build())
 *         .attempts(AttemptPolicy.builder().hedgeAfterQuantile(0.95).build())
 *         .build();
 * }</pre>
 */
public final class TrafficPolicy {
    /** The policy with the defaults of {@link Builder}. */
    public static final TrafficPolicy NEUTRAL = builder().build();

    private final DeadlinePolicy deadline;
    private final AttemptPolicy attempts;
    private final Affinity affinity;
    private final AdmissionPolicy admission;
    private final BreakerPolicy breaker;
    private final Map<Class<?>, Object> extensions;
    private final boolean timed;
    private final boolean filtered;
    private final TrafficPolicy withoutFilters;

    private TrafficPolicy(Builder from) {
        deadline = from.deadline;
        attempts = from.attempts;
        affinity = from.affinity;
        admission = from.admission;
        extensions = Map.copyOf(from.extensions);
        breaker = from.breaker;
        timed = deadline.isTimed() || attempts.isTimed();
        filtered = !extensions.isEmpty() || !breaker.isOff();
        withoutFilters = filtered
                ? new Builder()
                        .deadline(deadline)
                        .attempts(attempts)
                        .affinity(affinity)
                        .admission(admission)
                        .build()
                : this;
    }

    /** Starts a policy with the defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /** Starts a policy with the values of this one. */
    public Builder toBuilder() {
        Builder builder = new Builder()
                .deadline(deadline)
                .attempts(attempts)
                .affinity(affinity)
                .admission(admission)
                .breaker(breaker);
        builder.extensions.putAll(extensions);
        return builder;
    }

    /** Returns how long a request may take. See {@link Builder#deadline}. */
    public DeadlinePolicy deadline() {
        return deadline;
    }

    /** Returns how often a request is sent, and when. See {@link Builder#attempts}. */
    public AttemptPolicy attempts() {
        return attempts;
    }

    /** Returns which requests should reach the same worker. See {@link Builder#affinity}. */
    public Affinity affinity() {
        return affinity;
    }

    /**
     * Returns whether a request may need a timer: for a deadline, an attempt timeout or a hedge. If
     * not, the policy costs nothing.
     */
    public boolean isTimed() {
        return timed;
    }

    /**
     * Returns whether requests pass through filters between their client and the function. If not,
     * the filters cost nothing.
     */
    public boolean isFiltered() {
        return filtered;
    }

    /** Returns this policy without filters, so that requests go straight to the function. */
    public TrafficPolicy withoutFilters() {
        return withoutFilters;
    }

    /** Returns when requests are kept away from the function. See {@link Builder#breaker}. */
    public BreakerPolicy breaker() {
        return breaker;
    }

    /** Returns which requests are refused. See {@link Builder#admission}. */
    public AdmissionPolicy admission() {
        return admission;
    }

    /**
     * Returns what a filter of the program reads; {@code null} = nothing. See {@link
     * Builder#extension}.
     */
    public <T> @Nullable T extension(Class<T> type) {
        return type.cast(extensions.get(type));
    }

    /** Returns the names, in lower case, of all request headers that this policy reads. */
    public Set<String> requestHeaders() {
        Set<String> names = new HashSet<>();
        deadline.headers().forEach(name -> names.add(name.toString()));
        RateLimit limit = admission.rateLimit();
        for (CharSequence name : Arrays.asList(
                admission.tenantHeader(), admission.priorityHeader(), limit == null ? null : limit.header())) {
            if (name != null) {
                names.add(name.toString());
            }
        }
        if (affinity.kind() == Affinity.Kind.HEADER || affinity.kind() == Affinity.Kind.SESSION_HEADER) {
            names.add(affinity.name());
        }
        return names;
    }

    /** Builds {@link TrafficPolicy}. Not thread-safe. */
    public static final class Builder {
        private DeadlinePolicy deadline = DeadlinePolicy.NONE;
        private AttemptPolicy attempts = AttemptPolicy.builder().build();
        private Affinity affinity = Affinity.NONE;
        private AdmissionPolicy admission = AdmissionPolicy.NONE;
        private BreakerPolicy breaker = BreakerPolicy.NONE;
        private final Map<Class<?>, Object> extensions = new HashMap<>();

        private Builder() {}

        /** Sets how long a request may take. Default: {@link DeadlinePolicy#NONE}. */
        public Builder deadline(DeadlinePolicy policy) {
            deadline = Objects.requireNonNull(policy, "deadline");
            return this;
        }

        /** Sets how often a request is sent to a worker, and when. Default: two times at most. */
        public Builder attempts(AttemptPolicy policy) {
            attempts = Objects.requireNonNull(policy, "attempts");
            return this;
        }

        /**
         * Sets which requests should reach the same worker. Default: {@link Affinity#NONE}. Direct
         * requests have no affinity.
         */
        public Builder affinity(Affinity value) {
            affinity = Objects.requireNonNull(value, "affinity");
            return this;
        }

        /**
         * Sets which requests are refused before they reach a worker. Default: {@link
         * AdmissionPolicy#NONE}.
         */
        public Builder admission(AdmissionPolicy policy) {
            admission = Objects.requireNonNull(policy, "admission");
            return this;
        }

        /**
         * Sets when requests are kept away from a function that fails or hangs. Default: {@link
         * BreakerPolicy#NONE}.
         */
        public Builder breaker(BreakerPolicy policy) {
            breaker = Objects.requireNonNull(policy, "breaker");
            return this;
        }

        /**
         * Sets what a filter of the program reads, see {@link
         * io.lambdadispatcher.core.spi.RequestContext#policy}. Each type has one value. Default:
         * none.
         */
        public <T> Builder extension(Class<T> type, T value) {
            extensions.put(type, Objects.requireNonNull(value, "extension"));
            return this;
        }

        /** Returns the policy. */
        public TrafficPolicy build() {
            return new TrafficPolicy(this);
        }
    }
}
