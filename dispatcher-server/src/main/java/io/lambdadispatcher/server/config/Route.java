package io.lambdadispatcher.server.config;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HopByHop;
import io.netty.handler.codec.http.HttpHeaderNames;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Which requests are for a function. Immutable. Functions whose routes are equal except for the
 * weight share the requests.
 *
 * @param host lower case, without a port; {@code *.example.org} = any name below {@code
 *     example.org}; {@code null} = any
 * @param header {@code null} = any
 * @param path whole segments; without a slash at its end, so that {@code /} is empty
 * @param weight of this function among those that share the route
 */
public record Route(@Nullable String host, @Nullable Header header, String path, int weight) {

    public static final int DEFAULT_WEIGHT = 100;

    private static final Pattern HOST =
            Pattern.compile("(\\*\\.)?[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*");
    private static final Pattern VALUE = Pattern.compile("[!-~]([ -~]*[!-~])?");

    /**
     * A field that a request must have.
     *
     * @param name lower case
     * @param value of the field, exactly, or of one of several; {@code null} = whatever
     */
    public record Header(String name, @Nullable String value) {
        /**
         * {@code name} or {@code name: value}.
         *
         * @throws IllegalArgumentException for anything else
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
         * Ingress removes these headers from every request before it is routed. For {@code host}
         * there is {@link Route#host}.
         */
        private static boolean isNeverSeen(String name) {
            return HopByHop.contains(name)
                    || HttpHeaderNames.HOST.contentEquals(name)
                    || HttpHeaderNames.EXPECT.contentEquals(name);
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
