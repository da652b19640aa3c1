package io.lambdadispatcher.cache;

import io.lambdadispatcher.cache.CacheRules.Fit;
import io.lambdadispatcher.core.observe.FilterGauge;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.RequestContext;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * Answers requests with stored responses, and lets identical requests share one response. It is a
 * shared cache in the sense of RFC 9111. {@link CacheRules} decides, and this class acts. The store
 * belongs to all functions and event loops: a user expects one request to the function, not one for
 * each event loop. Requests that are answered with stored responses count neither in the limits of
 * their route nor for its breaker. Each dispatcher needs a cache of its own, because functions of
 * the same name would share their responses.
 *
 * <pre>{@code
 * HttpCache cache = new HttpCache(64 << 20);
 * TrafficPolicy stored = TrafficPolicy.builder()
 *         .extension(CachePolicy.class, CachePolicy.builder("shop").build())
 *         .build();
 * Dispatcher.builder()
 *         .function(FunctionOptions.builder("shop").traffic(stored).build())
 *         .filter(cache);
 * }</pre>
 */
public final class HttpCache implements Filter {
    /** RFC 9110 section 9.2.1. The others change what their target is. CONNECT has none. */
    private static final Set<String> NOT_UNSAFE = Set.of("GET", "HEAD", "OPTIONS", "TRACE", "CONNECT");

    /** RFC 9211. */
    private static final String CACHE_STATUS = "cache-status";

    private static final String OWN_NAME = "lambda-dispatcher";
    private static final String STORED = OWN_NAME + "; fwd=uri-miss; stored";
    private static final String NOT_STORED = OWN_NAME + "; fwd=uri-miss";
    private static final String RENEWED = OWN_NAME + "; fwd=stale; stored";
    private static final String NOT_RENEWED = OWN_NAME + "; fwd=stale";

    private static final int OK = 200;
    private static final int NOT_MODIFIED = 304;
    private static final byte[] NO_BYTES = {};

    /** RFC 9110 section 15.4.5. */
    private static final Set<String> NOT_MODIFIED_FIELDS = Set.of(
            "cache-control",
            "content-location",
            "date",
            "etag",
            "expires",
            "last-modified",
            "vary",
            "access-control-allow-origin",
            "access-control-allow-credentials",
            "access-control-expose-headers");

    private final long maxBytes;
    private volatile @Nullable ResponseStore store;

    /**
     * Creates an empty cache. It takes no memory until the first request with a {@link
     * CachePolicy}.
     *
     * @param maxBytes maximum memory of all stored responses, in bytes of the heap, 1 or more
     */
    public HttpCache(long maxBytes) {
        if (maxBytes < 1) {
            throw new IllegalArgumentException("maxBytes: " + maxBytes + ", expected 1 or more");
        }
        this.maxBytes = maxBytes;
    }

    /** Creates a cache whose store a test sees. */
    HttpCache(ResponseStore store) {
        this(store.maxBytes());
        this.store = store;
    }

    /** Returns the maximum memory of all stored responses in bytes. */
    public long maxBytes() {
        return maxBytes;
    }

    ResponseStore store() {
        ResponseStore known = store;
        return known == null ? create() : known;
    }

    private synchronized ResponseStore create() {
        ResponseStore known = store;
        if (known == null) {
            known = new ResponseStore(maxBytes, System::nanoTime, System::currentTimeMillis);
            store = known;
        }
        return known;
    }

    /** Forgets all stored responses, and does not store those on their way. Any thread. */
    public void clear() {
        ResponseStore known = store;
        if (known != null) {
            known.clear();
        }
    }

    /** Returns the use of memory; {@code null} = nothing was to be stored yet. Any thread. */
    public @Nullable CacheSnapshot snapshot() {
        ResponseStore known = store;
        return known == null ? null : new CacheSnapshot(known.bytes(), known.maxBytes(), known.evictions());
    }

    @Override
    public Phase phase() {
        return Phase.STORE;
    }

    @Override
    public Class<?> policyType() {
        return CachePolicy.class;
    }

    @Override
    public List<FilterGauge> gauges() {
        return List.of(
                gauge("cache.memory", "bytes", "Memory of stored responses", false, CacheSnapshot::bytes),
                gauge(
                        "cache.memory.limit",
                        "bytes",
                        "Maximum memory of stored responses",
                        false,
                        CacheSnapshot::maxBytes),
                gauge(
                        "cache.evictions",
                        null,
                        "Targets whose stored responses were removed for lack of memory or for their age",
                        true,
                        CacheSnapshot::evictions));
    }

    private FilterGauge gauge(
            String name, @Nullable String unit, String description, boolean rises, ToDoubleFunction<CacheSnapshot> of) {
        return new FilterGauge(name, unit, description, rises, () -> {
            CacheSnapshot now = snapshot();
            return now == null ? 0 : of.applyAsDouble(now);
        });
    }

    /** Returns whether a stale response replaces this status (RFC 5861 section 4). */
    static boolean isError(int status) {
        return status == 500 || status >= 502 && status <= 504;
    }

    @Override
    public Decision onRequest(RequestContext context) {
        CachePolicy policy = context.policy(CachePolicy.class);
        if (policy == null) {
            return Decision.pass();
        }
        if (!NOT_UNSAFE.contains(context.method())) {
            return Decision.pass(new Invalidation(store(), CacheRequest.key(context)));
        }
        CacheRequest request = CacheRequest.of(context, policy);
        return request == null ? Decision.pass() : decide(request, context);
    }

    private Decision decide(CacheRequest request, RequestContext context) {
        ResponseStore its = store();
        long now = its.nanoTime();
        StoredResponse stored = its.find(request, now);
        Fit fit = stored == null ? Fit.NONE : CacheRules.fit(stored.terms(), request, now);
        if (stored != null && fit == Fit.FRESH) {
            return answer(stored, now, request, Substitute.CACHE);
        }
        if (stored != null && fit == Fit.STALE) {
            renew(request, context);
            return answer(stored, now, request, Substitute.STALE);
        }
        if (request.control().onlyIfCached()) {
            // RFC 9111 section 5.2.1.7.
            return Decision.refuse("only_if_cached");
        }
        boolean stale = fit == Fit.ON_ERROR;
        if (request.isHeadRequest() || request.isConditional() || request.noCache()) {
            return fetch(request, stale, "");
        }
        String flightKey = its.flightKey(request);
        // The identical request in flight may hang, which has opened the breaker.
        return its.isUnshared(flightKey) || context.isBreakerOpen()
                ? fetch(request, stale, flightKey)
                : board(flightKey, request, stale);
    }

    private Decision board(String flightKey, CacheRequest request, boolean stale) {
        Flight own = new Flight(store().generation(request.key()));
        Flight flight = store().board(flightKey, own);
        if (flight == own) {
            return Decision.pass(new FetchedResponse(this, request.copy(), stale, flightKey, own));
        }
        WaitingRequest waiting = new WaitingRequest(this, request, flightKey);
        return flight.join(waiting) ? waiting.decision() : fetch(request, stale, flightKey);
    }

    /** @param flightKey empty = the response says nothing about whether others can have one */
    private Decision fetch(CacheRequest request, boolean stale, String flightKey) {
        return Decision.pass(new FetchedResponse(this, request.copy(), stale, flightKey, null));
    }

    /** Returns the decision about a request that has waited. */
    Decision sendAlone(CacheRequest request, String flightKey) {
        long now = store().nanoTime();
        StoredResponse stored = store().find(request, now);
        return stored != null && CacheRules.fit(stored.terms(), request, now) == Fit.FRESH
                ? answer(stored, now, request, Substitute.CACHE)
                : fetch(request, stored != null, flightKey);
    }

    /**
     * Returns what replaces an error (RFC 5861 section 4). What was stored when the request began
     * may have been removed, or be of no use any more, so the store is asked now.
     *
     * @return {@code null} = nothing does
     */
    Decision.@Nullable Answer insteadOfError(CacheRequest request) {
        long now = store().nanoTime();
        StoredResponse stored = store().find(request, now);
        if (stored == null) {
            return null;
        }
        boolean fresh = CacheRules.fit(stored.terms(), request, now) == Fit.FRESH;
        return answer(stored, now, request, fresh ? Substitute.CACHE : Substitute.STALE);
    }

    /** Renews a stale response, unless that has begun (RFC 5861 section 3). */
    private void renew(CacheRequest request, RequestContext context) {
        String flightKey = store().flightKey(request);
        Flight own = new Flight(store().generation(request.key()));
        if (!store().isUnshared(flightKey) && store().board(flightKey, own) == own) {
            try {
                context.fork("GET", copy -> {
                    CacheRequest.removeConditions(copy.headers());
                    FetchedResponse renewal = new FetchedResponse(
                            this, request.renewal(copy.headers().copy()), true, flightKey, own);
                    renewal.setRenewal();
                    return renewal;
                });
            } catch (RuntimeException e) {
                // The event loop ends. Requests that would wait for the renewal must not.
                store().leave(flightKey, own);
                own.land(null, false);
            }
        }
    }

    /** Answers a request that has waited, if the response is for it. */
    @Nullable
    Decision collapsed(StoredResponse response, CacheRequest request) {
        long now = store().nanoTime();
        Fit fit = CacheRules.fit(response.terms(), request, now);
        if (fit == Fit.NONE || fit == Fit.ON_ERROR) {
            return null;
        }
        return answer(response, now, request, fit == Fit.FRESH ? Substitute.COLLAPSED : Substitute.STALE);
    }

    /**
     * Answers with a stored response. The client gets copied headers, and reads the body in place.
     *
     * @param nowNanos the time by which it was chosen, so that no fresh response is called stale
     */
    static Decision.Answer answer(StoredResponse stored, long nowNanos, CacheRequest request, Substitute substitute) {
        long age = stored.ageNanos(nowNanos);
        boolean notModified = stored.status() == OK && EntityTags.isNotModified(request.headers(), stored.head());
        HeaderFields head = stored.head().copy();
        if (notModified) {
            keepOnly(NOT_MODIFIED_FIELDS, head);
        }
        head.set("age", Long.toString(TimeUnit.NANOSECONDS.toSeconds(age)));
        head.add(CACHE_STATUS, status(stored, age, substitute));
        return Decision.answer(
                notModified ? NOT_MODIFIED : stored.status(), head, notModified ? NO_BYTES : stored.body(), substitute);
    }

    private static void keepOnly(Set<String> kept, HeaderFields head) {
        List<String> dropped = new ArrayList<>();
        head.forEachName(name -> {
            if (!kept.contains(name)) {
                dropped.add(name);
            }
        });
        dropped.forEach(head::remove);
    }

    private static String status(StoredResponse stored, long age, Substitute substitute) {
        // Below zero from the first moment at which it is stale (RFC 9211 section 2.6).
        long ttl = Math.floorDiv(stored.terms().freshNanos() - age, TimeUnit.SECONDS.toNanos(1));
        String what = substitute == Substitute.COLLAPSED ? "; fwd=uri-miss; collapsed" : "; hit";
        return OWN_NAME + what + "; ttl=" + ttl;
    }

    /** Says what happened to a response of the function. */
    static void addForwarded(HeaderFields head, boolean wasStale, boolean stored) {
        head.add(CACHE_STATUS, wasStale ? stored ? RENEWED : NOT_RENEWED : stored ? STORED : NOT_STORED);
    }
}
