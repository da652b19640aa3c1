package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.Authority;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.Grpc;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.Methods;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A GET or HEAD request that a stored response may answer, as {@link CacheRules} sees it.
 *
 * <p>The target of the request is its {@link #key}. What else chooses the response, beside the
 * headers in {@code vary}, is the {@link #partition}: the name of the policy, headers that name a
 * tenant or a session, and the headers with which a proxy says what the client has asked for. A
 * handler makes links of the latter, so a response for one value must not answer another.
 */
public final class CacheRequest {
    private static final AsciiString GET = HttpMethod.GET.asciiName();
    private static final AsciiString X_FORWARDED = AsciiString.cached("x-forwarded-");
    private static final AsciiString X_FORWARDED_FOR = AsciiString.cached("x-forwarded-for");
    private static final AsciiString FORWARDED = AsciiString.cached("forwarded");

    /** With these, clients replace the method or the target, as some frameworks see them. */
    private static final List<AsciiString> OVERRIDES = List.of(
            AsciiString.cached("x-http-method-override"),
            AsciiString.cached("x-http-method"),
            AsciiString.cached("x-method-override"),
            AsciiString.cached("x-original-url"),
            AsciiString.cached("x-rewrite-url"));

    private final Http2Headers head;
    private final TrafficPolicy policy;
    private final boolean headRequest;
    private final String key;
    private final String partition;
    private final CacheControl control;
    private final boolean noCache;

    private CacheRequest(Http2Headers head, TrafficPolicy policy, boolean headRequest, String key, String partition) {
        this.head = head;
        this.policy = policy;
        this.headRequest = headRequest;
        this.key = key;
        this.partition = partition;
        control = CacheControl.parse(head.getAll(HttpHeaderNames.CACHE_CONTROL));
        // RFC 9111 section 5.4.
        noCache = control.noCache()
                || !head.contains(HttpHeaderNames.CACHE_CONTROL)
                        && head.getAll(HttpHeaderNames.PRAGMA).stream()
                                .anyMatch(value -> AsciiString.containsIgnoreCase(value, "no-cache"));
    }

    private CacheRequest(CacheRequest from, Http2Headers head) {
        this.head = head;
        policy = from.policy;
        headRequest = from.headRequest;
        key = from.key;
        partition = from.partition;
        control = from.control;
        noCache = from.noCache;
    }

    /**
     * @param head headers of a request without a body
     * @return {@code null} if no stored response may answer the request, and its response must not
     *     be stored
     */
    public static @Nullable CacheRequest of(String function, Http2Headers head, TrafficPolicy policy) {
        boolean headRequest = Methods.isHead(head.method());
        if (!headRequest && !GET.contentEquals(head.method())) {
            return null;
        }
        Affinity affinity = policy.affinity();
        if (head.contains(HttpHeaderNames.RANGE)
                || Grpc.isCall(head)
                || affinity.kind() == Affinity.Kind.SESSION_HEADER && head.contains(affinity.name())
                || OVERRIDES.stream().anyMatch(head::contains)) {
            return null;
        }
        CacheRequest request =
                new CacheRequest(head, policy, headRequest, key(function, head), partition(head, policy));
        return request.control.noStore() ? null : request;
    }

    /**
     * Returns what names the target of a request: its function, scheme, authority, path and query.
     * None of them contains a space. All ways to write the same authority have the same key.
     */
    public static String key(String function, Http2Headers head) {
        CharSequence authority = head.authority();
        String host = authority == null ? null : Authority.normalized(authority, head.scheme());
        return function + ' ' + head.scheme() + ' ' + host + ' ' + head.path();
    }

    private static String partition(Http2Headers head, TrafficPolicy policy) {
        StringBuilder all = new StringBuilder(policy.cache().name());
        AsciiString tenant = policy.admission().tenantHeader();
        if (tenant != null) {
            append(all, tenant, values(head, tenant));
        }
        if (policy.affinity().kind() == Affinity.Kind.HEADER) {
            String name = policy.affinity().name();
            append(all, name, values(head, name));
        }
        for (Map.Entry<CharSequence, CharSequence> field : head) {
            CharSequence name = field.getKey();
            if (HeaderSyntax.beginsLike(name, X_FORWARDED) && !X_FORWARDED_FOR.contentEquals(name)) {
                append(all, name, field.getValue().toString());
            } else if (FORWARDED.contentEquals(name)) {
                append(all, name, withoutAddresses(field.getValue().toString()));
            }
        }
        return all.toString();
    }

    /** Writes lengths, so that no two lists look the same. */
    private static void append(StringBuilder to, CharSequence name, @Nullable String value) {
        to.append('\n').append(name);
        if (value != null) {
            to.append(' ').append(value.length()).append(' ').append(value);
        }
    }

    /**
     * Removes what says who has sent the request, and keeps what it has asked for. A quoted string
     * may be cut, but only what begins as an address is removed.
     */
    private static String withoutAddresses(String forwarded) {
        StringBuilder kept = new StringBuilder();
        for (String part : forwarded.split("[,;]")) {
            String pair = part.strip();
            if (!pair.regionMatches(true, 0, "for=", 0, 4) && !pair.regionMatches(true, 0, "by=", 0, 3)) {
                kept.append(pair).append(';');
            }
        }
        return kept.toString();
    }

    /**
     * Returns the values of a header, as they are compared (RFC 9111 section 4.1): joined, without
     * outer blanks. {@code null} = the request has none.
     */
    static @Nullable String values(Http2Headers head, CharSequence name) {
        List<CharSequence> all = head.getAll(name);
        if (all.isEmpty()) {
            return null;
        }
        List<String> values = new ArrayList<>(all.size());
        for (CharSequence value : all) {
            values.add(HeaderSyntax.withoutOuterBlanks(value.toString()));
        }
        String joined = String.join(", ", values);
        // The header that varies most. Its names have no case, and its blanks mean nothing.
        return HttpHeaderNames.ACCEPT_ENCODING.contentEquals(name)
                ? joined.toLowerCase(Locale.ROOT).replace(" ", "").replace("\t", "")
                : joined;
    }

    /** Returns the same request with a copy of its headers, because others may change them. */
    public CacheRequest copy() {
        return new CacheRequest(this, new FlatHeaders().add(head));
    }

    /** Returns the values of a header, as {@link #values} does. */
    public @Nullable String value(String name) {
        return values(head, name);
    }

    public Http2Headers head() {
        return head;
    }

    public TrafficPolicy policy() {
        return policy;
    }

    public boolean isHeadRequest() {
        return headRequest;
    }

    public String key() {
        return key;
    }

    public String partition() {
        return partition;
    }

    public CacheControl control() {
        return control;
    }

    /** Returns whether the client wants a response from the function (sections 5.2.1.4, 5.4). */
    public boolean noCache() {
        return noCache;
    }

    public boolean hasAuthorization() {
        return head.contains(HttpHeaderNames.AUTHORIZATION);
    }

    public boolean hasCookie() {
        return head.contains(HttpHeaderNames.COOKIE);
    }

    /** Returns whether the function may answer with 304 or 412 instead of the response. */
    public boolean isConditional() {
        return head.contains(HttpHeaderNames.IF_NONE_MATCH)
                || head.contains(HttpHeaderNames.IF_MODIFIED_SINCE)
                || head.contains(HttpHeaderNames.IF_MATCH)
                || head.contains(HttpHeaderNames.IF_UNMODIFIED_SINCE)
                || head.contains(HttpHeaderNames.IF_RANGE);
    }
}
