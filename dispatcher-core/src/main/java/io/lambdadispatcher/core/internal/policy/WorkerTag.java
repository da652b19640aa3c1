package io.lambdadispatcher.core.internal.policy;

/**
 * A number that stands for a worker in session ids and cookies: a hash of the worker's id. All
 * dispatchers of a fleet calculate the same tags. As text, it follows the application's own part:
 * {@code <own part>~w<13 characters>}, the number in base 36 with leading zeros.
 *
 * <p>Tags are not signed. A client that invents one reaches a worker that it could have been sent
 * to anyway, or none. Any thread.
 */
public final class WorkerTag {
    /** No worker. */
    static final long NONE = 0;

    private static final String MARK = "~w";
    private static final int RADIX = 36;
    private static final int DIGITS = 13;
    private static final int CHARS = MARK.length() + DIGITS;
    private static final String ZEROS = "0".repeat(DIGITS);

    private WorkerTag() {}

    /** Returns the tag of a worker, which is never 0. */
    public static long of(String workerId) {
        long hash = Rendezvous.hash(workerId);
        return hash == NONE ? 1 : hash;
    }

    /** Returns the own part followed by the tag. */
    static String append(CharSequence own, long tag) {
        String digits = Long.toUnsignedString(tag, RADIX);
        return own + MARK + ZEROS.substring(digits.length()) + digits;
    }

    /** Returns the tag at the end of a value; {@link #NONE} if there is none. */
    static long read(CharSequence value) {
        int start = ownLength(value);
        if (start == value.length()) {
            return NONE;
        }
        try {
            return Long.parseUnsignedLong(
                    value.subSequence(start + MARK.length(), value.length()).toString(), RADIX);
        } catch (NumberFormatException e) {
            return NONE;
        }
    }

    /** Returns the part before the tag, or the value if it has no tag. */
    static CharSequence withoutTag(CharSequence value) {
        return value.subSequence(0, ownLength(value));
    }

    /** A tag behind a blank is none, because the own part alone would be a malformed header. */
    private static int ownLength(CharSequence value) {
        int start = value.length() - CHARS;
        boolean tagged = start >= 0 && isTag(value, start) && !endsWithBlank(value, start);
        return tagged ? start : value.length();
    }

    private static boolean endsWithBlank(CharSequence value, int length) {
        return length > 0 && (value.charAt(length - 1) == ' ' || value.charAt(length - 1) == '\t');
    }

    private static boolean isTag(CharSequence value, int start) {
        for (int i = 0; i < CHARS; i++) {
            char c = value.charAt(start + i);
            if (i < MARK.length() ? c != MARK.charAt(i) : Character.digit(c, RADIX) < 0) {
                return false;
            }
        }
        return true;
    }
}
