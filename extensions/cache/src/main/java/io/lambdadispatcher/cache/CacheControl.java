package io.lambdadispatcher.cache;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import java.util.List;
import java.util.Locale;

/**
 * The directives of {@code cache-control} (RFC 9111 section 5.2) that matter to a shared cache.
 * Immutable. If a header is malformed, it is read as {@code no-store}. If a directive is repeated
 * or its number is malformed, the value that permits least applies (RFC 9111 section 4.2.1).
 */
final class CacheControl {
    /** A directive with a time is missing. */
    static final long NONE = -1;

    /** RFC 9111 section 1.2.2: larger numbers are read as this one. */
    static final long MAX_SECONDS = Integer.MAX_VALUE;

    private boolean noStore;
    private boolean noCache;
    private boolean isPrivate;
    private boolean isPublic;
    private boolean mustRevalidate;
    private boolean proxyRevalidate;
    private boolean onlyIfCached;
    private long maxAge = NONE;
    private long sharedMaxAge = NONE;
    private long minFresh = NONE;
    private long staleWhileRevalidate = NONE;
    private long staleIfError = NONE;

    private CacheControl() {}

    /** @param values all values of the header, in their order */
    static CacheControl parse(List<String> values) {
        CacheControl parsed = new CacheControl();
        for (String value : values) {
            parsed.read(value);
        }
        return parsed;
    }

    private void read(String text) {
        int start = 0;
        boolean quoted = false;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (quoted && c == '\\') {
                i++;
            } else if (c == '"') {
                quoted = !quoted;
            } else if (c == ',' && !quoted) {
                directive(text.substring(start, i));
                start = i + 1;
            }
        }
        noStore |= quoted;
        directive(text.substring(start));
    }

    private void directive(String text) {
        String directive = HeaderSyntax.withoutOuterBlanks(text);
        if (directive.isEmpty()) {
            return;
        }
        int equals = directive.indexOf('=');
        String name = equals < 0 ? directive : directive.substring(0, equals);
        String argument = equals < 0 ? "" : directive.substring(equals + 1);
        if (!HeaderSyntax.isToken(name)) {
            noStore = true;
            return;
        }
        switch (name.toLowerCase(Locale.ROOT)) {
            case "no-store" -> noStore = true;
            // With names of headers, too: RFC 9111 section 5.2.2.4 lets a cache ignore them.
            case "no-cache" -> noCache = true;
            case "private" -> isPrivate = true;
            case "public" -> isPublic = true;
            case "must-revalidate" -> mustRevalidate = true;
            case "proxy-revalidate" -> proxyRevalidate = true;
            case "only-if-cached" -> onlyIfCached = true;
            case "max-age" -> maxAge = smaller(maxAge, seconds(argument, 0));
            case "s-maxage" -> sharedMaxAge = smaller(sharedMaxAge, seconds(argument, 0));
            case "min-fresh" -> minFresh = Math.max(minFresh, seconds(argument, MAX_SECONDS));
            case "stale-while-revalidate" -> staleWhileRevalidate = smaller(staleWhileRevalidate, seconds(argument, 0));
            case "stale-if-error" -> staleIfError = smaller(staleIfError, seconds(argument, 0));
            default -> {}
        }
    }

    private static long smaller(long before, long value) {
        return before == NONE ? value : Math.min(before, value);
    }

    /** @param malformed what to return for anything except digits, which may be quoted */
    private static long seconds(String argument, long malformed) {
        boolean quoted = argument.length() > 2 && argument.startsWith("\"") && argument.endsWith("\"");
        String digits = quoted ? argument.substring(1, argument.length() - 1) : argument;
        return parseSeconds(digits, malformed);
    }

    static long parseSeconds(CharSequence digits, long malformed) {
        if (digits.isEmpty()) {
            return malformed;
        }
        long value = 0;
        for (int i = 0; i < digits.length(); i++) {
            int digit = digits.charAt(i) - '0';
            if (digit < 0 || digit > 9) {
                return malformed;
            }
            value = Math.min(MAX_SECONDS, 10 * value + digit);
        }
        return value;
    }

    boolean noStore() {
        return noStore;
    }

    boolean noCache() {
        return noCache;
    }

    boolean isPrivate() {
        return isPrivate;
    }

    boolean isPublic() {
        return isPublic;
    }

    boolean mustRevalidate() {
        return mustRevalidate;
    }

    boolean proxyRevalidate() {
        return proxyRevalidate;
    }

    boolean onlyIfCached() {
        return onlyIfCached;
    }

    /** Returns seconds, or {@link #NONE}. */
    long maxAge() {
        return maxAge;
    }

    /** Returns seconds, or {@link #NONE}. */
    long sharedMaxAge() {
        return sharedMaxAge;
    }

    /** Returns seconds, or {@link #NONE}. */
    long minFresh() {
        return minFresh;
    }

    /** Returns seconds, or {@link #NONE}. */
    long staleWhileRevalidate() {
        return staleWhileRevalidate;
    }

    /** Returns seconds, or {@link #NONE}. */
    long staleIfError() {
        return staleIfError;
    }
}
