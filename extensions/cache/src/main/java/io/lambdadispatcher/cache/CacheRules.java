package io.lambdadispatcher.cache;

import io.lambdadispatcher.cache.StoredResponse.Terms;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.handler.codec.DateFormatter;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The rules of a shared cache: RFC 9111, and RFC 5861 for stale responses. If a rule leaves a
 * choice, a response is rather not used. Each of these is stricter than the RFC:
 *
 * <ul>
 *   <li>Only explicit freshness counts.
 *   <li>A response with {@code set-cookie} is not stored.
 *   <li>A response to a request with a cookie is stored, and a request with a cookie gets a stored
 *       response, only with {@code public}, {@code s-maxage} or {@code vary: cookie}.
 *   <li>A request with {@code authorization} gets only a stored response that could have been
 *       stored for such a request (section 3.5).
 *   <li>A response with a {@code content-encoding} must name {@code accept-encoding} in {@code
 *       vary}, and one for some origins of scripts {@code origin}.
 *   <li>A response answers only requests with the same {@code origin}, unless it allows all
 *       origins. Many applications add the headers of CORS only to responses to such requests, and
 *       do not say so in {@code vary}.
 * </ul>
 *
 * It is less strict in one rule: {@code stale-while-revalidate} and {@code stale-if-error} count
 * beside {@code s-maxage}, because responses that have both mean it.
 */
final class CacheRules {
    private static final Set<Integer> STATUSES = Set.of(200, 203, 204, 300, 301, 308, 404, 410);
    private static final int MAX_VARY_NAMES = 16;
    private static final String ORIGIN = "origin";

    /** What a stored response can do for a request. */
    enum Fit {
        /** It answers the request. */
        FRESH,
        /** It answers the request, and is renewed (RFC 5861 section 3). */
        STALE,
        /** It answers the request if the function does not (RFC 5861 section 4). */
        ON_ERROR,
        NONE
    }

    private CacheRules() {}

    /** Decides what a stored response with the key of the request can do for it. */
    static Fit fit(Terms terms, CacheRequest request, long nowNanos) {
        if (!terms.isChosenBy(request)
                || request.noCache()
                || request.hasAuthorization() && !terms.toAuthorized()
                || request.hasCookie() && !terms.toCookies()) {
            return Fit.NONE;
        }
        long age = nowNanos - terms.bornNanos();
        CacheControl control = request.control();
        boolean limited = control.maxAge() != CacheControl.NONE || control.minFresh() != CacheControl.NONE;
        if (age < terms.freshNanos() && (!limited || isWithin(control, terms, age))) {
            return Fit.FRESH;
        }
        if (!limited && age < terms.revalidateNanos()) {
            return Fit.STALE;
        }
        return age < terms.errorNanos() ? Fit.ON_ERROR : Fit.NONE;
    }

    /** RFC 9111 sections 5.2.1.1 and 5.2.1.3. */
    private static boolean isWithin(CacheControl control, Terms terms, long age) {
        return (control.maxAge() == CacheControl.NONE || age <= nanos(control.maxAge()))
                && (control.minFresh() == CacheControl.NONE || terms.freshNanos() - age >= nanos(control.minFresh()));
    }

    /**
     * Decides whether a response may be stored (RFC 9111 section 3).
     *
     * @param sentNanos time at which the request was sent
     * @param nowNanos time at which the response's headers arrived
     * @param nowMillis the same time, since 1970
     * @return {@code null} if it must not
     */
    static @Nullable Terms terms(
            CacheRequest request, int status, HeaderFields head, long sentNanos, long nowNanos, long nowMillis) {
        CacheControl control = CacheControl.parse(head.getAll("cache-control"));
        if (request.isHeadRequest()
                || !STATUSES.contains(status)
                || control.noStore()
                || control.noCache()
                || control.isPrivate()
                || head.contains("set-cookie")
                || head.contains("content-range")
                || isOfSession(request, head)) {
            return null;
        }
        Set<String> vary = varyNames(head);
        if (vary == null || isBoundToUnnamed(head, vary)) {
            return null;
        }
        if (!isForAllOrigins(head)) {
            vary.add(ORIGIN);
        }
        boolean shared = control.isPublic() || control.sharedMaxAge() != CacheControl.NONE;
        boolean toAuthorized = shared || control.mustRevalidate();
        boolean toCookies = shared || vary.contains("cookie");
        if (request.hasAuthorization() && !toAuthorized || request.hasCookie() && !toCookies) {
            return null;
        }
        long date = date(head, "date", nowMillis);
        long lifetime = lifetime(control, head, date);
        long age = age(head);
        if (lifetime < 0 || age < 0 || date < 0) {
            return null;
        }
        long apparent = TimeUnit.MILLISECONDS.toNanos(Math.max(0, nowMillis - date));
        long initialAge = Math.max(apparent, nanos(age) + (nowNanos - sentNanos));
        boolean never = control.mustRevalidate() || control.proxyRevalidate();
        long fresh = nanos(lifetime);
        Terms terms = new Terms(
                request.partition(),
                List.copyOf(vary),
                values(request, vary),
                toAuthorized,
                toCookies,
                sentNanos,
                nowNanos - initialAge,
                fresh,
                never ? 0 : fresh + nanos(Math.max(0, control.staleWhileRevalidate())),
                never ? 0 : fresh + onError(control, request));
        return terms.usefulNanos() > initialAge ? terms : null;
    }

    private static long onError(CacheControl control, CacheRequest request) {
        if (control.staleIfError() != CacheControl.NONE) {
            return nanos(control.staleIfError());
        }
        // Section 5.2.2.10: s-maxage alone forbids stale responses.
        return control.sharedMaxAge() != CacheControl.NONE
                ? 0
                : request.policy().staleIfError().toNanos();
    }

    private static boolean isOfSession(CacheRequest request, HeaderFields head) {
        String name = request.sessionHeader();
        return name != null && head.contains(name);
    }

    private static List<@Nullable String> values(CacheRequest request, Set<String> vary) {
        List<@Nullable String> values = new ArrayList<>(vary.size());
        for (String name : vary) {
            values.add(request.value(name));
        }
        return values;
    }

    /**
     * Returns the names in {@code vary} as {@link CacheRequest#value} understands them: with {@code
     * -} for all marks, because an application that names {@code a_b} reads {@code a-b}, too.
     *
     * @return {@code null} if no other request may have the response, or if it is malformed
     */
    private static @Nullable Set<String> varyNames(HeaderFields head) {
        Set<String> names = new TreeSet<>();
        for (String value : head.getAll("vary")) {
            for (String part : value.split(",")) {
                String name = HeaderSyntax.withoutOuterBlanks(part);
                if (name.equals("*") || !name.isEmpty() && !HeaderSyntax.isToken(name)) {
                    return null;
                }
                if (!name.isEmpty()) {
                    names.add(name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]", "-"));
                }
            }
        }
        return names.size() > MAX_VARY_NAMES ? null : names;
    }

    /** Returns whether the response depends on a header that it should name, and does not. */
    private static boolean isBoundToUnnamed(HeaderFields head, Set<String> vary) {
        String origin = head.get("access-control-allow-origin");
        return head.contains("content-encoding") && !vary.contains("accept-encoding")
                || origin != null && !isForAllOrigins(head) && !vary.contains(ORIGIN);
    }

    private static boolean isForAllOrigins(HeaderFields head) {
        return "*".equals(head.get("access-control-allow-origin"));
    }

    /**
     * Returns the freshness lifetime in seconds (section 4.2.1); -1 = the response does not say it.
     */
    private static long lifetime(CacheControl control, HeaderFields head, long dateMillis) {
        if (control.sharedMaxAge() != CacheControl.NONE) {
            return control.sharedMaxAge();
        }
        if (control.maxAge() != CacheControl.NONE) {
            return control.maxAge();
        }
        List<String> expires = head.getAll("expires");
        if (expires.isEmpty()) {
            return -1;
        }
        // Section 5.3: a malformed date means that the response is stale.
        Date parsed = expires.size() > 1 ? null : DateFormatter.parseHttpDate(expires.get(0));
        long seconds = parsed == null ? 0 : TimeUnit.MILLISECONDS.toSeconds(parsed.getTime() - dateMillis);
        return Math.min(CacheControl.MAX_SECONDS, Math.max(0, seconds));
    }

    /** @return milliseconds since 1970; -1 = the header is malformed */
    private static long date(HeaderFields head, String name, long missing) {
        List<String> values = head.getAll(name);
        if (values.isEmpty()) {
            return missing;
        }
        Date parsed = values.size() > 1 ? null : DateFormatter.parseHttpDate(values.get(0));
        return parsed == null ? -1 : parsed.getTime();
    }

    /** @return seconds; -1 = the header is malformed */
    private static long age(HeaderFields head) {
        List<String> values = head.getAll("age");
        return values.isEmpty() ? 0 : values.size() > 1 ? -1 : CacheControl.parseSeconds(values.get(0), -1);
    }

    /**
     * Adding three of the longest times must not overflow, so {@code seconds} is at most {@link
     * CacheControl#MAX_SECONDS}.
     */
    private static long nanos(long seconds) {
        return TimeUnit.SECONDS.toNanos(seconds);
    }
}
