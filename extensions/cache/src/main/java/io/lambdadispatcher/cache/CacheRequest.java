package io.lambdadispatcher.cache;

import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.wire.http.Authority;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.ProxyHeaders;
import io.netty.util.AsciiString;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A GET or HEAD request that a stored response may answer, as {@link CacheRules} sees it.
 *
 * <p>The target of the request is its {@link #key}. What else chooses the response, beside the
 * headers in {@code vary}, is the {@link #partition}: the function, the name of the policy, headers
 * that name a tenant or a session, and the headers with which a proxy says what the client has
 * asked for. A handler makes links of the latter, so a response for one value must not answer
 * another.
 */
final class CacheRequest {
    private static final String GRPC = "application/grpc";

    /** With these, clients replace the method or the target, as some frameworks see them. */
    private static final List<String> OVERRIDES =
            List.of("x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url");

    private static final List<String> CONDITIONS =
            List.of("if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range");

    private final HeaderFields headers;
    private final CachePolicy policy;
    private final @Nullable String sessionHeader;
    private final boolean headRequest;
    private final String key;
    private final String partition;
    private final CacheControl control;
    private final boolean noCache;

    /** Names with which a header may pass for another one. */
    private final Set<String> disguised;

    private CacheRequest(RequestContext request, HeaderFields headers, CachePolicy policy, boolean headRequest) {
        this.headers = headers;
        this.policy = policy;
        this.headRequest = headRequest;
        sessionHeader = request.sessionHeader();
        key = key(request);
        disguised = names(headers, HeaderSyntax::hasUnusualMark);
        partition = partition(request, headers, policy);
        control = CacheControl.parse(headers.getAll("cache-control"));
        // RFC 9111 section 5.4.
        noCache = control.noCache()
                || !headers.contains("cache-control")
                        && headers.getAll("pragma").stream()
                                .anyMatch(
                                        value -> value.toLowerCase(Locale.ROOT).contains("no-cache"));
    }

    private CacheRequest(CacheRequest from, HeaderFields headers, boolean headRequest) {
        this.headers = headers;
        this.headRequest = headRequest;
        policy = from.policy;
        sessionHeader = from.sessionHeader;
        key = from.key;
        partition = from.partition;
        control = from.control;
        noCache = from.noCache;
        disguised = from.disguised;
    }

    /**
     * @return {@code null} if no stored response may answer the request, and its response must not
     *     be stored
     */
    static @Nullable CacheRequest of(RequestContext request, CachePolicy policy) {
        boolean headRequest = request.method().equals("HEAD");
        if (request.hasBody() || !headRequest && !request.method().equals("GET")) {
            return null;
        }
        HeaderFields headers = request.headers();
        String session = request.sessionHeader();
        if (!isAscii(request.path())
                || headers.contains("range")
                || isGrpc(headers.get("content-type"))
                || session != null && headers.contains(session)
                || OVERRIDES.stream().anyMatch(headers::contains)) {
            return null;
        }
        CacheRequest its = new CacheRequest(request, headers, policy, headRequest);
        return its.control.noStore() ? null : its;
    }

    /**
     * The text of a path does not show which bytes it is made of: two encodings of a letter look
     * the same, and are two targets.
     */
    private static boolean isAscii(String path) {
        return path.chars().allMatch(each -> each < 0x80);
    }

    private static boolean isGrpc(@Nullable String type) {
        return type != null && type.regionMatches(true, 0, GRPC, 0, GRPC.length());
    }

    /**
     * Returns what names the target of a request: its scheme, authority, path and query. None of
     * them contains a space. All ways to write the same authority have the same key. So have all
     * functions that answer for the target, because a request to one of them can change what the
     * others have answered.
     */
    static String key(RequestContext request) {
        String host = Authority.normalized(request.authority(), request.scheme());
        return request.scheme() + ' ' + host + ' ' + request.path();
    }

    private static String partition(RequestContext request, HeaderFields headers, CachePolicy policy) {
        StringBuilder all = new StringBuilder();
        append(all, policy.name(), request.function());
        for (String name : request.distinguishingHeaders()) {
            append(all, name, value(headers, name));
        }
        for (String name : names(headers, CacheRequest::isForwarding)) {
            for (String value : headers.bytes().getAll(name)) {
                append(all, name, name.equals("forwarded") ? withoutAddresses(value) : value);
            }
        }
        return all.toString();
    }

    /** Returns each of these names once, in the order of the request. */
    private static Set<String> names(HeaderFields headers, Predicate<String> which) {
        Set<String> names = new LinkedHashSet<>(2);
        headers.forEachName(name -> {
            if (which.test(name)) {
                names.add(name);
            }
        });
        return names;
    }

    /** Those of a proxy in front: the dispatcher has dropped the others. */
    private static boolean isForwarding(String name) {
        return ProxyHeaders.contains(name) && !ProxyHeaders.isOfDelivery(name);
    }

    /** Writes lengths, so that no two lists look the same. */
    private static void append(StringBuilder to, String name, @Nullable String value) {
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
     * outer blanks. {@code null} = the request has none. Headers that an application can take for
     * this one make it another value. Otherwise, a client could disguise the header, and all others
     * would get what the application has answered to it.
     */
    @Nullable
    String value(String name) {
        String own = value(headers, name);
        if (disguised.isEmpty()) {
            return own;
        }
        AsciiString known = AsciiString.of(name);
        StringBuilder all = new StringBuilder();
        append(all, name, own);
        int alone = all.length();
        for (String other : disguised) {
            if (HeaderSyntax.passesFor(other, known)) {
                append(all, other, value(headers, other));
            }
        }
        return all.length() == alone ? own : all.toString();
    }

    private static @Nullable String value(HeaderFields headers, String name) {
        // Bytes, because two encodings of a letter are two values.
        List<String> all = headers.bytes().getAll(name);
        if (all.isEmpty()) {
            return null;
        }
        List<String> values = new ArrayList<>(all.size());
        for (String value : all) {
            values.add(HeaderSyntax.withoutOuterBlanks(value));
        }
        String joined = String.join(", ", values);
        // The header that varies most. Its names have no case, and its blanks mean nothing.
        return name.equals("accept-encoding")
                ? AsciiString.of(joined)
                        .toLowerCase()
                        .toString()
                        .replace(" ", "")
                        .replace("\t", "")
                : joined;
    }

    /** Removes what makes a request conditional. */
    static void removeConditions(HeaderFields headers) {
        CONDITIONS.forEach(headers::remove);
    }

    /** Returns the same request with a copy of its headers, because others may change them. */
    CacheRequest copy() {
        return new CacheRequest(this, headers.copy(), headRequest);
    }

    /** Returns the GET request without conditions whose response replaces a stale one. */
    CacheRequest renewal(HeaderFields unconditional) {
        return new CacheRequest(this, unconditional, false);
    }

    HeaderFields headers() {
        return headers;
    }

    CachePolicy policy() {
        return policy;
    }

    /** Returns the header that names sessions; {@code null} = there are none. */
    @Nullable
    String sessionHeader() {
        return sessionHeader;
    }

    boolean isHeadRequest() {
        return headRequest;
    }

    String key() {
        return key;
    }

    String partition() {
        return partition;
    }

    CacheControl control() {
        return control;
    }

    /** Returns whether the client wants a response from the function (sections 5.2.1.4, 5.4). */
    boolean noCache() {
        return noCache;
    }

    boolean hasAuthorization() {
        return headers.contains("authorization");
    }

    boolean hasCookie() {
        return headers.contains("cookie");
    }

    /** Returns whether the function may answer with 304 or 412 instead of the response. */
    boolean isConditional() {
        return CONDITIONS.stream().anyMatch(headers::contains);
    }
}
