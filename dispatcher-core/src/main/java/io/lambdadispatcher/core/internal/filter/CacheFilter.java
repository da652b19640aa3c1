package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.exchange.UnsentExchange;
import io.lambdadispatcher.core.internal.policy.CacheRequest;
import io.lambdadispatcher.core.internal.policy.CacheRules;
import io.lambdadispatcher.core.internal.policy.CacheRules.Fit;
import io.lambdadispatcher.core.internal.policy.EntityTags;
import io.lambdadispatcher.core.internal.policy.StoredResponse;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.StatusCode;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Answers requests with stored responses, and lets identical requests share one response. It is a
 * shared cache in the sense of RFC 9111. {@link CacheRules} decides, and this class acts. The store
 * belongs to all event loops: a user expects one request to the function, not one for each of them.
 * Confined to its event loop.
 */
final class CacheFilter implements FunctionOpener {
    private static final RequestSink NOWHERE = new DiscardingSink();
    private static final AsciiString GET = HttpMethod.GET.asciiName();

    /** RFC 9110 section 9.2.1. The others change what their target is. CONNECT has none. */
    private static final List<AsciiString> SAFE =
            List.of(HttpMethod.OPTIONS.asciiName(), HttpMethod.TRACE.asciiName(), HttpMethod.CONNECT.asciiName());

    /** RFC 9211. */
    private static final AsciiString CACHE_STATUS = AsciiString.cached("cache-status");

    private static final String OWN_NAME = "lambda-dispatcher";
    private static final AsciiString STORED = AsciiString.cached(OWN_NAME + "; fwd=uri-miss; stored");
    private static final AsciiString NOT_STORED = AsciiString.cached(OWN_NAME + "; fwd=uri-miss");
    private static final AsciiString RENEWED = AsciiString.cached(OWN_NAME + "; fwd=stale; stored");
    private static final AsciiString NOT_RENEWED = AsciiString.cached(OWN_NAME + "; fwd=stale");

    /** RFC 9110 section 15.4.5. */
    private static final List<AsciiString> NOT_MODIFIED_FIELDS = List.of(
            HttpHeaderNames.CACHE_CONTROL,
            HttpHeaderNames.CONTENT_LOCATION,
            HttpHeaderNames.DATE,
            HttpHeaderNames.ETAG,
            HttpHeaderNames.EXPIRES,
            HttpHeaderNames.LAST_MODIFIED,
            HttpHeaderNames.VARY,
            HttpHeaderNames.ACCESS_CONTROL_ALLOW_ORIGIN,
            HttpHeaderNames.ACCESS_CONTROL_ALLOW_CREDENTIALS,
            HttpHeaderNames.ACCESS_CONTROL_EXPOSE_HEADERS);

    private final FunctionOpener next;
    private final String function;
    private final EventLoop loop;
    private final Supplier<ResponseStore> stores;
    private final Predicate<BreakerPolicy> isOpen;
    private final DispatcherObserver observer;

    /**
     * @param stores returns the dispatcher's store. Called only if a policy stores responses
     * @param isOpen returns whether a breaker is open, so that a request fails immediately
     */
    CacheFilter(
            FunctionOpener next,
            String function,
            EventLoop loop,
            Supplier<ResponseStore> stores,
            Predicate<BreakerPolicy> isOpen,
            DispatcherObserver observer) {
        this.next = next;
        this.function = function;
        this.loop = loop;
        this.stores = stores;
        this.isOpen = isOpen;
        this.observer = observer;
    }

    @Override
    public TrafficPolicy policy() {
        return next.policy();
    }

    EventLoop loop() {
        return loop;
    }

    String function() {
        return function;
    }

    DispatcherObserver observer() {
        return observer;
    }

    ResponseStore store() {
        return stores.get();
    }

    /** Returns whether requests with this policy fail immediately. */
    boolean isOpen(TrafficPolicy policy) {
        return !policy.breaker().isOff() && isOpen.test(policy.breaker());
    }

    /** Returns whether a stale response replaces this status (RFC 5861 section 4). */
    static boolean isError(int status) {
        return status == 500 || status >= 502 && status <= 504;
    }

    @Override
    public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
        if (policy.cache().isOff()) {
            return next.open(head, end, response, policy);
        }
        if (isUnsafe(head.method())) {
            String key = CacheRequest.key(function, head);
            return next.open(head, end, new InvalidatingSink(response, () -> store().invalidate(key)), policy);
        }
        CacheRequest request = end ? CacheRequest.of(function, head, policy) : null;
        return request == null ? next.open(head, end, response, policy) : open(request, response, policy);
    }

    private static boolean isUnsafe(CharSequence method) {
        return !GET.contentEquals(method)
                && !HttpMethod.HEAD.asciiName().contentEquals(method)
                && SAFE.stream().noneMatch(safe -> safe.contentEquals(method));
    }

    private RequestSink open(CacheRequest request, ResponseSink client, TrafficPolicy policy) {
        ResponseStore store = store();
        long now = store.nanoTime();
        StoredResponse stored = store.find(request, now);
        Fit fit = stored == null ? Fit.NONE : CacheRules.fit(stored.terms(), request, now);
        if (stored != null && fit == Fit.FRESH) {
            return answer(stored, now, request, client, () -> false, Substitute.CACHE, 0);
        }
        if (stored != null && fit == Fit.STALE) {
            CacheRequest renewal = renewal(request);
            RequestSink sink = answer(stored, now, request, client, () -> false, Substitute.STALE, 0);
            renew(renewal, client, policy, stored);
            return sink;
        }
        if (request.control().onlyIfCached()) {
            return refuse(request, client);
        }
        StoredResponse stale = fit == Fit.ON_ERROR ? stored : null;
        if (request.isHeadRequest() || request.isConditional() || request.noCache()) {
            return fetch(request, client, stale, policy);
        }
        String flightKey = store.flightKey(request);
        // The identical request in flight may hang, which has opened the breaker.
        return store.isUnshared(flightKey) || isOpen(policy)
                ? fetch(request, client, stale, policy)
                : board(flightKey, request, client, stale, policy);
    }

    private RequestSink board(
            String flightKey,
            CacheRequest request,
            ResponseSink client,
            @Nullable StoredResponse stale,
            TrafficPolicy policy) {
        Flight own = new Flight();
        Flight flight = store().board(flightKey, own);
        if (flight == own) {
            FetchedResponse leader = new FetchedResponse(this, request.copy(), client, stale);
            leader.leads(own, flightKey);
            return leader.open(next, request.head(), policy);
        }
        WaitingRequest waiting = new WaitingRequest(this, request, client, policy);
        if (!flight.join(waiting)) {
            return fetch(request, client, stale, policy);
        }
        waiting.startTimer();
        return waiting;
    }

    private RequestSink fetch(
            CacheRequest request, ResponseSink client, @Nullable StoredResponse stale, TrafficPolicy policy) {
        return new FetchedResponse(this, request.copy(), client, stale).open(next, request.head(), policy);
    }

    /**
     * Sends a request that has waited.
     *
     * @param left says whether the client has cancelled the request
     */
    RequestSink sendAlone(
            CacheRequest request, ResponseSink client, BooleanSupplier left, TrafficPolicy policy, long waitedNanos) {
        long now = store().nanoTime();
        StoredResponse stored = store().find(request, now);
        return stored != null && CacheRules.fit(stored.terms(), request, now) == Fit.FRESH
                ? answer(stored, now, request, client, left, Substitute.CACHE, waitedNanos)
                : fetch(request, client, stored, policy);
    }

    /** Returns the request that renews a response: the client's, without its conditions. */
    private static CacheRequest renewal(CacheRequest request) {
        CacheRequest renewal = request.copy();
        Http2Headers head = renewal.head();
        head.method(GET);
        head.remove(HttpHeaderNames.IF_NONE_MATCH);
        head.remove(HttpHeaderNames.IF_MODIFIED_SINCE);
        head.remove(HttpHeaderNames.IF_MATCH);
        head.remove(HttpHeaderNames.IF_UNMODIFIED_SINCE);
        head.remove(HttpHeaderNames.IF_RANGE);
        return renewal;
    }

    /** Renews a stale response, unless that has begun (RFC 5861 section 3). */
    private void renew(CacheRequest renewal, ResponseSink client, TrafficPolicy policy, StoredResponse stale) {
        CacheRequest asked = CacheRequest.of(function, renewal.head(), policy);
        if (asked == null) {
            return;
        }
        String flightKey = store().flightKey(asked);
        Flight own = new Flight();
        if (!store().isUnshared(flightKey) && store().board(flightKey, own) == own) {
            Object clientKey = client.client(asked.head());
            FetchedResponse leader = FetchedResponse.renewal(this, asked.copy(), clientKey, stale);
            leader.leads(own, flightKey);
            leader.open(next, asked.head(), policy);
        }
    }

    /**
     * Answers a request that has waited, if the response is for it.
     *
     * @param error whether the response replaces an error
     * @param left says whether the client has cancelled the request
     */
    boolean answerCollapsed(
            StoredResponse response,
            boolean error,
            CacheRequest request,
            ResponseSink client,
            BooleanSupplier left,
            long waitedNanos) {
        long now = store().nanoTime();
        Fit fit = CacheRules.fit(response.terms(), request, now);
        if (fit == Fit.NONE || fit == Fit.ON_ERROR && !error) {
            return false;
        }
        Substitute substitute = fit == Fit.FRESH ? Substitute.COLLAPSED : Substitute.STALE;
        answer(response, now, request, client, left, substitute, waitedNanos);
        return true;
    }

    private RequestSink answer(
            StoredResponse stored,
            long nowNanos,
            CacheRequest request,
            ResponseSink client,
            BooleanSupplier left,
            Substitute substitute,
            long waitedNanos) {
        send(stored, nowNanos, request, client, left, substitute);
        if (observer != DispatcherObserver.NONE) {
            boolean whole = !request.isHeadRequest() && !EntityTags.isNotModified(request.head(), stored.head());
            int status = stored.status() == 200 && EntityTags.isNotModified(request.head(), stored.head())
                    ? HttpResponseStatus.NOT_MODIFIED.code()
                    : stored.status();
            new UnsentExchange(function, request.head(), client)
                    .reportAnswered(observer, status, substitute, whole ? stored.body().length : 0, waitedNanos);
        }
        return NOWHERE;
    }

    /**
     * Sends a stored response. The client gets copied headers, and reads the body in place.
     *
     * @param nowNanos the time by which it was chosen, so that no fresh response is called stale
     * @param left says whether the client has cancelled the request, which it can when it gets the
     *     headers
     */
    void send(
            StoredResponse stored,
            long nowNanos,
            CacheRequest request,
            ResponseSink client,
            BooleanSupplier left,
            Substitute substitute) {
        long age = stored.ageNanos(nowNanos);
        boolean notModified = stored.status() == 200 && EntityTags.isNotModified(request.head(), stored.head());
        Http2Headers head = notModified ? notModified(stored) : new FlatHeaders().add(stored.head());
        head.set(HttpHeaderNames.AGE, AsciiString.of(Long.toString(TimeUnit.NANOSECONDS.toSeconds(age))));
        head.add(CACHE_STATUS, status(stored, age, substitute));
        byte[] body = stored.body();
        boolean bodyless = notModified || StatusCode.isBodyless(stored.status());
        if (!bodyless && (body.length > 0 || !head.contains(HttpHeaderNames.CONTENT_LENGTH))) {
            head.set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(body.length)));
        }
        boolean end = bodyless || request.isHeadRequest() || body.length == 0;
        client.onHead(head, end);
        if (!end && !left.getAsBoolean()) {
            client.onData(Unpooled.wrappedBuffer(body), true);
        }
    }

    private static Http2Headers notModified(StoredResponse stored) {
        FlatHeaders head = new FlatHeaders();
        head.status(HttpResponseStatus.NOT_MODIFIED.codeAsText());
        for (AsciiString name : NOT_MODIFIED_FIELDS) {
            stored.head().getAll(name).forEach(value -> head.add(name, value));
        }
        return head;
    }

    private static AsciiString status(StoredResponse stored, long age, Substitute substitute) {
        // Below zero from the first moment at which it is stale (RFC 9211 section 2.6).
        long ttl = Math.floorDiv(stored.terms().freshNanos() - age, TimeUnit.SECONDS.toNanos(1));
        String what = substitute == Substitute.COLLAPSED ? "; fwd=uri-miss; collapsed" : "; hit";
        return AsciiString.of(OWN_NAME + what + "; ttl=" + ttl);
    }

    /** Says what happened to a response of the function. */
    static void addForwarded(Http2Headers head, boolean wasStale, boolean stored) {
        head.add(CACHE_STATUS, wasStale ? stored ? RENEWED : NOT_RENEWED : stored ? STORED : NOT_STORED);
    }

    /** RFC 9111 section 5.2.1.7. */
    private RequestSink refuse(CacheRequest request, ResponseSink client) {
        Failure failure =
                new Failure(Failure.Kind.ONLY_IF_CACHED, "no response is stored, and the request is only-if-cached");
        if (observer != DispatcherObserver.NONE) {
            new UnsentExchange(function, request.head(), client).reportFailed(observer, failure);
        }
        client.onFailure(failure);
        return NOWHERE;
    }
}
