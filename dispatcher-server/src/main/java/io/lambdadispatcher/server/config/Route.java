package io.lambdadispatcher.server.config;

import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which requests are for a function. Immutable. Functions whose routes are equal but for the weight share the requests.
 *
 * @param host lower case, without a port; {@code *.example.org} = any name below {@code example.org}; {@code null} = any
 * @param header {@code null} = any
 * @param path whole segments; without a slash at its end, so that {@code /} is empty
 * @param weight of this function among those that share the route
 */
public record Route(@Nullable String host, @Nullable Header header, String path, int weight) {

    public static final int DEFAULT_WEIGHT = 100;

    private static final Pattern HOST =
            Pattern.compile("(\\*\\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*");
    private static final Pattern NAME = Pattern.compile("[a-z0-9!#$%&'*+.^_`|~-]+");
    private static final Pattern VALUE = Pattern.compile("[!-~]([ -~]*[!-~])?");

    /** Ingress takes them out of every request before it is routed; for the first there is {@link #host}. */
    private static final Set<String> NEVER_SEEN = Set.of(
            "host",
            "expect",
            "connection",
            "keep-alive",
            "proxy-connection",
            "proxy-authenticate",
            "proxy-authorization",
            "transfer-encoding",
            "upgrade",
            "http2-settings");

    /**
     * A field that a request must have.
     *
     * @param name lower case
     * @param value of the field, exactly, or of one of several; {@code null} = whatever
     */
    public record Header(String name, @Nullable String value) {
        /** {@code name} or {@code name: value}. @throws IllegalArgumentException for anything else */
        static Header parse(String text) {
            int colon = text.indexOf(':');
            String name = (colon < 0 ? text : text.substring(0, colon)).toLowerCase(Locale.ROOT);
            String value = colon < 0 ? null : text.substring(colon + 1).trim();
            if (!NAME.matcher(name).matches()
                    || NEVER_SEEN.contains(name)
                    || value != null && !VALUE.matcher(value).matches()) {
                throw new IllegalArgumentException(text);
            }
            return new Header(name, value);
        }
    }

    static Route of(@Nullable String host, @Nullable Header header, String path, int weight) {
        return new Route(host, header, path.endsWith("/") ? path.substring(0, path.length() - 1) : path, weight);
    }

    /** @throws IllegalArgumentException if it is no host of a route */
    static String parseHost(String text) {
        String host = text.toLowerCase(Locale.ROOT);
        if (host.length() > 253 || !HOST.matcher(host).matches()) {
            throw new IllegalArgumentException(text);
        }
        return host;
    }

    /** Every request is for the function. */
    public boolean servesAll() {
        return host == null && header == null && path.isEmpty();
    }

    /** The same for all functions that share it. */
    public Route withoutWeight() {
        return new Route(host, header, path, DEFAULT_WEIGHT);
    }
}
