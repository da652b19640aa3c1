package io.lambdadispatcher.server.config;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HopByHop;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Matches the requests for a function. Immutable. Functions whose routes differ only in the weight
 * share the requests.
 *
 * @param host in lower case, without a port; {@code *.example.org} matches any subdomain of {@code
 *     example.org}; {@code null} = any host
 * @param header {@code null} = any
 * @param path matches complete segments; has no slash at its end, so {@code /} is empty
 * @param weight of this function among the functions that share the route
 */
public record Route(@Nullable String host, @Nullable Header header, String path, int weight) {

    public static final int DEFAULT_WEIGHT = 100;

    private static final Pattern HOST =
            Pattern.compile("(\\*\\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*");
    private static final Pattern VALUE = Pattern.compile("[!-~]([ -~]*[!-~])?");

    /**
     * A header that a request must have.
     *
     * @param name in lower case
     * @param value exact value of at least one such header; {@code null} = any value
     */
    public record Header(String name, @Nullable String value) {
        /**
         * Parses {@code name} or {@code name: value}.
         *
         * @throws IllegalArgumentException for any other text
         */
        static Header parse(String text) {
            int colon = text.indexOf(':');
            String name = (colon < 0 ? text : text.substring(0, colon)).toLowerCase(Locale.ROOT);
            String value = colon < 0 ? null : text.substring(colon + 1).trim();
            if (!HeaderSyntax.isToken(name)
                    || isNeverSeen(name)
                    || value != null && !VALUE.matcher(value).matches()) {
                throw new IllegalArgumentException(text);
            }
            return new Header(name, value);
        }

        /**
         * Returns whether ingress removes this header before a request is routed. {@link
         * Route#host} replaces {@code host}.
         */
        static boolean isNeverSeen(String name) {
            return HopByHop.contains(name)
                    || HttpHeaderNames.HOST.contentEquals(name)
                    || HttpHeaderNames.EXPECT.contentEquals(name);
        }
    }

    static Route of(@Nullable String host, @Nullable Header header, String path, int weight) {
        return new Route(host, header, path.endsWith("/") ? path.substring(0, path.length() - 1) : path, weight);
    }

    /** @throws IllegalArgumentException if the text is not a valid host of a route */
    static String parseHost(String text) {
        String host = text.toLowerCase(Locale.ROOT);
        if (host.length() > 253 || !HOST.matcher(host).matches()) {
            throw new IllegalArgumentException(text);
        }
        return host;
    }

    /** Returns whether every request matches. */
    public boolean servesAll() {
        return host == null && header == null && path.isEmpty();
    }

    /** Returns the route in words, for logs. */
    public String describe() {
        if (servesAll()) {
            return "all requests";
        }
        StringBuilder text = new StringBuilder("requests");
        if (host != null) {
            text.append(" to ").append(host);
        }
        if (header != null) {
            text.append(" with header ").append(header.name());
            if (header.value() != null) {
                text.append(": ").append(header.value());
            }
        }
        if (!path.isEmpty()) {
            text.append(" below ").append(path);
        }
        return weight == DEFAULT_WEIGHT ? text.toString() : text + " with weight " + weight;
    }

    /** Returns a key that is equal for all functions that share the route. */
    public Route withoutWeight() {
        return new Route(host, header, path, DEFAULT_WEIGHT);
    }
}
