package io.lambdadispatcher.core.internal.exchange;

import io.lambdadispatcher.core.internal.policy.Bulkhead;
import io.lambdadispatcher.core.internal.policy.RateLimiter;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.Priority;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Iterator;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The counts of one function's admission policies, over all event loops. A request whose policy has
 * no limits costs nothing. Any thread.
 */
public final class RequestAdmission {
    private static final String ROUTE = "";

    /** Not the value of any header. */
    private static final String SEVERAL_VALUES = "\n";

    /** A client may send this many times as many preflight requests as others. */
    private static final int PREFLIGHTS = 10;

    private static final Priority[] PRIORITIES = Priority.values();

    private final String function;

    /** By the name of their policy, of which there are as many as the operator has named. */
    private final ConcurrentHashMap<String, Counts> counts = new ConcurrentHashMap<>();

    /** The counts of preflight requests, which must not use up what pages need afterwards. */
    private final ConcurrentHashMap<String, Counts> preflights = new ConcurrentHashMap<>();

    /** What outlives a change of a policy. */
    private static final class Counts {
        final Bulkhead bulkhead = new Bulkhead();
        final RateLimiter limiter = new RateLimiter();
    }

    /**
     * The place of a request in a bulkhead.
     *
     * @param inAll whether it counts among all
     * @param tenant {@code null} = it counts for no tenant
     */
    record Place(Bulkhead bulkhead, boolean inAll, @Nullable String tenant) {
        void leave() {
            if (inAll) {
                bulkhead.leave();
            }
            if (tenant != null) {
                bulkhead.leave(tenant);
            }
        }
    }

    /** @param function name of the function, for messages */
    public RequestAdmission(String function) {
        this.function = function;
    }

    /**
     * Admits a request, which then holds its place until it ends, or fails it.
     *
     * @return false if it has failed
     */
    public boolean admit(Exchange exchange) {
        AdmissionPolicy policy = exchange.policy().admission();
        if (!policy.hasLimits()) {
            return true;
        }
        boolean preflight = Methods.isPreflight(exchange.headers());
        Counts its = (preflight ? preflights : counts).computeIfAbsent(policy.name(), name -> new Counts());
        Failure refusal = enter(exchange, policy, its.bulkhead);
        RateLimit limit = policy.rateLimit();
        if (refusal == null && limit != null) {
            refusal = take(exchange, policy.name(), limit, its.limiter, preflight ? PREFLIGHTS : 1);
        }
        if (refusal != null) {
            exchange.fail(refusal);
        }
        return refusal == null;
    }

    private @Nullable Failure enter(Exchange exchange, AdmissionPolicy policy, Bulkhead bulkhead) {
        int max = policy.maxConcurrentRequests();
        if (max > 0 && !bulkhead.tryEnter(max)) {
            return new Failure(
                    Failure.Kind.BULKHEAD_FULL,
                    PrintableText.counted(max, "request is", "requests are") + " already in flight for "
                            + describe(policy));
        }
        CharSequence header = policy.tenantHeader();
        String tenant = header == null || policy.maxTenantRequests() == 0 ? null : value(exchange.headers(), header);
        boolean full = tenant != null && !bulkhead.tryEnter(tenant, policy.maxTenantRequests());
        if (max > 0 || tenant != null) {
            exchange.place().enter(new Place(bulkhead, max > 0, full ? null : tenant));
        }
        return full
                ? new Failure(
                        Failure.Kind.TENANT_LIMITED,
                        PrintableText.counted(policy.maxTenantRequests(), "request", "requests") + " with this "
                                + header
                                + (policy.maxTenantRequests() == 1 ? " is" : " are") + " already in flight for "
                                + describe(policy))
                : null;
    }

    private @Nullable Failure take(Exchange exchange, String name, RateLimit limit, RateLimiter limiter, int times) {
        CharSequence header = limit.header();
        Object key =
                header != null ? value(exchange.headers(), header) : limit.isPerRoute() ? ROUTE : exchange.client();
        // Rounded up: a key never gets more than the limit.
        long intervalNanos = (limit.window().toNanos() / times + limit.requests() - 1) / limit.requests();
        long waitNanos = limiter.tryTake(key, intervalNanos, limit.burst() * times, exchange.startNanos());
        if (waitNanos == 0) {
            return null;
        }
        int seconds = (int) TimeUnit.NANOSECONDS.toSeconds(waitNanos + TimeUnit.SECONDS.toNanos(1) - 1);
        return new Failure(
                Failure.Kind.RATE_LIMITED,
                "more than " + limit.requests() + " requests in "
                        + limit.window().toSeconds() + " s",
                seconds,
                new Failure.Quota(name, limit.requests(), limit.window().toSeconds()));
    }

    /** Returns the priority of a request if the policy has priorities. */
    static Priority priorityOf(Http2Headers head, AdmissionPolicy policy) {
        CharSequence header = policy.priorityHeader();
        CharSequence value = header == null ? null : head.get(header);
        if (value != null) {
            for (Priority priority : PRIORITIES) {
                if (AsciiString.contentEqualsIgnoreCase(priority.name(), value)) {
                    return priority;
                }
            }
        }
        return policy.priority();
    }

    /**
     * Requests without the header count together, and so do those with several values. Otherwise,
     * a client could evade a limit with one more value in each request.
     */
    private static String value(Http2Headers head, CharSequence header) {
        Iterator<CharSequence> values = head.valueIterator(header);
        String value = values.hasNext() ? values.next().toString() : "";
        return values.hasNext() ? SEVERAL_VALUES : value;
    }

    private String describe(AdmissionPolicy policy) {
        return "function " + function + " with policy " + policy.name();
    }
}
