package io.lambdadispatcher.wire.http;

import io.netty.handler.codec.http.HttpScheme;
import io.netty.util.AsciiString;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Reads and compares hosts with their ports, as {@link HeaderSyntax#isAuthority} accepts them. The
 * same host can be written in several ways: letter case, a dot at the end, an empty port and the
 * default port of the scheme make no difference (RFC 9113 section 8.3.1, RFC 3986 sections 3.2.2
 * and 6.2.3). Any thread.
 */
public final class Authority {
    private static final int MAX_PORT = 65_535;
    private static final int NO_PORT = -1;

    private Authority() {}

    /**
     * Returns the index of the port's colon, or of the dot that a host may end with.
     *
     * @return the length of {@code authority} if it has neither
     */
    public static int hostEnd(CharSequence authority) {
        int end = portColon(authority);
        return end > 0 && authority.charAt(end - 1) == '.' ? end - 1 : end;
    }

    /**
     * Returns whether two authorities name the same host and port.
     *
     * @param scheme {@code http} or {@code https}, which have default ports; {@code null} = unknown
     */
    public static boolean isSame(CharSequence one, CharSequence other, @Nullable CharSequence scheme) {
        if (AsciiString.contentEqualsIgnoreCase(one, other)) {
            return true;
        }
        int length = hostEnd(one);
        int port = port(one, scheme);
        return length == hostEnd(other)
                && AsciiString.regionMatches(one, true, 0, other, 0, length)
                && port != NO_PORT
                && port == port(other, scheme);
    }

    /**
     * Returns the text that all authorities of the same host and port have in common: lower case,
     * without a dot at the end and without a default port.
     *
     * @param scheme as in {@link #isSame}
     */
    public static String normalized(CharSequence authority, @Nullable CharSequence scheme) {
        String all = authority.toString().toLowerCase(Locale.ROOT);
        int port = port(all, scheme);
        if (port == NO_PORT) {
            return all;
        }
        String host = all.substring(0, hostEnd(all));
        return port == defaultPort(scheme) ? host : host + ':' + port;
    }

    /**
     * Returns the port, or the default port of the scheme.
     *
     * @param scheme as in {@link #isSame}
     * @return negative if the number is too large; 0 without a port and a scheme
     */
    public static int port(CharSequence authority, @Nullable CharSequence scheme) {
        int port = 0;
        int start = portColon(authority) + 1;
        if (start >= authority.length()) {
            return defaultPort(scheme);
        }
        for (int i = start; i < authority.length() && port <= MAX_PORT; i++) {
            port = 10 * port + authority.charAt(i) - '0';
        }
        return port <= MAX_PORT ? port : NO_PORT;
    }

    private static int defaultPort(@Nullable CharSequence scheme) {
        if (scheme == null) {
            return 0; // Two authorities without a port are the same.
        }
        return HttpScheme.HTTPS.name().contentEqualsIgnoreCase(scheme)
                ? HttpScheme.HTTPS.port()
                : HttpScheme.HTTP.port();
    }

    private static int portColon(CharSequence authority) {
        int digits = authority.length();
        while (digits > 0 && isDigit(authority.charAt(digits - 1))) {
            digits--;
        }
        return digits > 0 && authority.charAt(digits - 1) == ':' ? digits - 1 : authority.length();
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }
}
