package io.lambdadispatcher.server;

import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The paths that an application can take one path for. Servers decode and clean paths in different
 * ways and orders, some more than once. Each of {@link #STEPS} is something that a common server
 * does, and all sequences of steps count. Paths have no query here. Any thread.
 */
final class PathSpellings {
    /** Maximum number of characters of all readings of one path. It limits the time. */
    private static final int MAX_CHARS = 64 * 1024;

    private static final int NOT_ASCII = 0x80;

    private static final List<UnaryOperator<String>> STEPS = List.of(
            path -> decode(path, false),
            path -> decode(path, true),
            PathSpellings::decodeOverlong,
            path -> path.replace('\\', '/'),
            PathSpellings::mergeSlashes,
            PathSpellings::removeDotSegments,
            PathSpellings::removeParameters,
            PathSpellings::cut);

    private PathSpellings() {}

    /** Returns whether all servers read the path in the same way. Takes no memory. */
    static boolean isPlain(CharSequence path) {
        char last = 0;
        for (int i = 0; i < path.length(); i++) {
            char c = path.charAt(i);
            if (c == '?') {
                return true;
            }
            if (c == '%' || c == '\\' || c == ';' || last == '/' && (c == '/' || c == '.')) {
                return false;
            }
            last = c;
        }
        return true;
    }

    /**
     * Returns all ways to read the path, beginning with the path itself.
     *
     * @return {@code null} if there are too many
     */
    static @Nullable Set<String> readings(String path) {
        Set<String> all = new LinkedHashSet<>();
        Queue<String> unread = new ArrayDeque<>();
        int chars = path.length();
        all.add(path);
        unread.add(path);
        for (String next = unread.poll(); next != null; next = unread.poll()) {
            for (UnaryOperator<String> step : STEPS) {
                String reading = step.apply(next);
                if (all.add(reading)) {
                    unread.add(reading);
                    chars += reading.length() + 1;
                }
            }
            if (chars > MAX_CHARS) {
                return null;
            }
        }
        return all;
    }

    /**
     * Returns the normal form of the path (RFC 3986 sections 6.2.2.2 and 6.2.2.3), with one slash
     * instead of several.
     */
    static String normalized(String path) {
        return removeDotSegments(mergeSlashes(decode(path, true)));
    }

    /**
     * Decodes percent signs once, to one character for each byte.
     *
     * @param unreserved only letters, digits and {@code -._~}, which mean the same if they are
     *     encoded (RFC 3986 section 2.3)
     */
    static String decode(String path, boolean unreserved) {
        int percent = path.indexOf('%');
        if (percent < 0) {
            return path;
        }
        StringBuilder decoded = new StringBuilder(path.length()).append(path, 0, percent);
        for (int i = percent; i < path.length(); i++) {
            int value = path.charAt(i) == '%' ? hex(path, i + 1) : -1;
            if (value < 0 || unreserved && !isUnreserved(value)) {
                decoded.append(path.charAt(i));
            } else {
                decoded.append((char) value);
                i += 2;
            }
        }
        return decoded.toString();
    }

    /** Returns the value of two hexadecimal digits, or -1 if there are none. */
    private static int hex(String path, int at) {
        if (at + 2 > path.length()) {
            return -1;
        }
        int high = Character.digit(path.charAt(at), 16);
        int low = Character.digit(path.charAt(at + 1), 16);
        return high < 0 || low < 0 ? -1 : high << 4 | low;
    }

    private static boolean isUnreserved(int c) {
        return c >= 'a' && c <= 'z'
                || c >= 'A' && c <= 'Z'
                || c >= '0' && c <= '9'
                || c == '-'
                || c == '.'
                || c == '_'
                || c == '~';
    }

    /**
     * Replaces sequences of UTF-8 that are longer than necessary for a character of ASCII (RFC 3629
     * section 10). Each character stands for a byte.
     */
    private static String decodeOverlong(String path) {
        StringBuilder decoded = new StringBuilder(path.length());
        for (int i = 0; i < path.length(); i++) {
            char first = path.charAt(i);
            int length = first >> 1 == 0x60 ? 2 : first == 0xe0 ? 3 : first == 0xf0 ? 4 : 1;
            int value = length == 2 ? first & 1 : 0;
            for (int k = i + 1; k < i + length; k++) {
                int next = k < path.length() ? path.charAt(k) : 0;
                value = next >> 6 == 2 && value < 2 ? value << 6 | next & 0x3f : NOT_ASCII;
            }
            if (length > 1 && value < NOT_ASCII) {
                decoded.append((char) value);
                i += length - 1;
            } else {
                decoded.append(first);
            }
        }
        return decoded.toString();
    }

    private static String mergeSlashes(String path) {
        if (!path.contains("//")) {
            return path;
        }
        StringBuilder merged = new StringBuilder(path.length());
        for (int i = 0; i < path.length(); i++) {
            if (path.charAt(i) != '/' || i == 0 || path.charAt(i - 1) != '/') {
                merged.append(path.charAt(i));
            }
        }
        return merged.toString();
    }

    /** RFC 3986 section 5.2.4. An empty segment is a segment. */
    private static String removeDotSegments(String path) {
        if (!path.contains("/.")) {
            return path;
        }
        StringBuilder kept = new StringBuilder(path.length());
        for (int start = 0; start < path.length(); ) {
            int slash = path.indexOf('/', start + 1);
            int end = slash < 0 ? path.length() : slash;
            String segment = path.substring(start, end);
            boolean up = segment.equals("/..");
            if (up) {
                kept.setLength(Math.max(0, kept.lastIndexOf("/")));
            }
            if (up || segment.equals("/.")) {
                kept.append(slash < 0 ? "/" : "");
            } else {
                kept.append(segment);
            }
            start = end;
        }
        return kept.toString();
    }

    /** Removes what follows a semicolon in each segment (RFC 3986 section 3.3). */
    private static String removeParameters(String path) {
        if (path.indexOf(';') < 0) {
            return path;
        }
        StringBuilder kept = new StringBuilder(path.length());
        boolean inside = false;
        for (int i = 0; i < path.length(); i++) {
            char c = path.charAt(i);
            inside = c == ';' || inside && c != '/';
            if (!inside) {
                kept.append(c);
            }
        }
        return kept.toString();
    }

    /** Cuts the path where a string of C or a URL ends. */
    private static String cut(String path) {
        for (int i = 0; i < path.length(); i++) {
            char c = path.charAt(i);
            if (c == 0 || c == '#' || c == '?') {
                return path.substring(0, i);
            }
        }
        return path;
    }
}
