package io.lambdadispatcher.wire.http;

import org.jspecify.annotations.Nullable;

/** Status codes and their classes (RFC 9110 section 15). Any thread. */
public final class StatusCode {
    /** Result of {@link #parse} for anything that is not a status. It belongs to no class. */
    public static final int INVALID = -1;

    private static final int SWITCHING_PROTOCOLS = 101;
    private static final int NO_CONTENT = 204;
    private static final int RESET_CONTENT = 205;
    private static final int NOT_MODIFIED = 304;

    private StatusCode() {}

    /**
     * Reads exactly three ASCII digits, 100 to 999. Codes above 599 are outside of RFC 9110's
     * range, but applications use them, so they are passed on.
     *
     * @return {@link #INVALID} for anything else, including {@code null}
     */
    public static int parse(@Nullable CharSequence text) {
        if (text == null || text.length() != 3) {
            return INVALID;
        }
        int code = 0;
        for (int i = 0; i < 3; i++) {
            int digit = text.charAt(i) - '0';
            if (digit < 0 || digit > 9) {
                return INVALID;
            }
            code = code * 10 + digit;
        }
        return code >= 100 ? code : INVALID;
    }

    /**
     * Returns whether the code is 100 to 199, except 101. 101 opens another protocol, and the
     * dispatcher never passes it on as an interim response.
     */
    public static boolean isInterim(int code) {
        return code >= 100 && code < 200 && code != SWITCHING_PROTOCOLS;
    }

    /** Returns whether the code is 200 to 999. */
    public static boolean isFinal(int code) {
        return code >= 200;
    }

    public static boolean isSuccess(int code) {
        return code >= 200 && code < 300;
    }

    /** Such a response has no body, whatever its headers say: 1xx, 204, 205 and 304. */
    public static boolean isBodyless(int code) {
        return code < 200 || code == NO_CONTENT || code == RESET_CONTENT || code == NOT_MODIFIED;
    }

    /** A 1xx and a 204 have no {@code content-length} (RFC 9110 section 8.6). */
    static boolean mayHaveLength(int code) {
        return code >= 200 && code != NO_CONTENT;
    }

    /** A 304 has no body, but may say how long the body of a 200 would be. */
    public static boolean mayDescribeBody(int code) {
        return code == NOT_MODIFIED;
    }
}
