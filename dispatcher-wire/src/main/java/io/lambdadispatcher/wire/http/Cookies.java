package io.lambdadispatcher.wire.http;

import org.jspecify.annotations.Nullable;

/** Finds a cookie in the header {@code cookie} (RFC 6265 section 4.2.1). Any thread. */
public final class Cookies {
    private Cookies() {}

    /**
     * Returns the value of the first cookie with this name, or {@code null} if there is none.
     *
     * @param header {@code name=value} pairs, separated by semicolons and blanks
     */
    public static @Nullable CharSequence find(CharSequence header, CharSequence name) {
        int length = header.length();
        for (int start = 0; start < length; ) {
            while (start < length && (header.charAt(start) == ' ' || header.charAt(start) == '\t')) {
                start++;
            }
            int end = start;
            while (end < length && header.charAt(end) != ';') {
                end++;
            }
            if (isNamed(header, start, end, name)) {
                return header.subSequence(start + name.length() + 1, trimmed(header, start, end));
            }
            start = end + 1;
        }
        return null;
    }

    private static boolean isNamed(CharSequence header, int start, int end, CharSequence name) {
        int equals = start + name.length();
        if (equals >= end || header.charAt(equals) != '=') {
            return false;
        }
        for (int i = 0; i < name.length(); i++) {
            if (header.charAt(start + i) != name.charAt(i)) {
                return false;
            }
        }
        return true;
    }

    private static int trimmed(CharSequence header, int start, int end) {
        int last = end;
        while (last > start && (header.charAt(last - 1) == ' ' || header.charAt(last - 1) == '\t')) {
            last--;
        }
        return last;
    }
}
