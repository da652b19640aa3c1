package io.lambdadispatcher.worker.adapter.web;

import java.util.BitSet;

/** A set of status codes, written as {@code 200,301-399}. Immutable. */
final class StatusCodes {
    static final StatusCodes NONE = new StatusCodes(new BitSet(), "");

    /**
     * All statuses except those of server errors: an application that responds with one of them
     * works.
     */
    static final StatusCodes ALL_BUT_SERVER_ERRORS = parse("100-499");

    private static final int LEAST = 100;
    private static final int MOST = 999;

    private final BitSet codes;
    private final String text;

    private StatusCodes(BitSet codes, String text) {
        this.codes = codes;
        this.text = text;
    }

    /**
     * @throws IllegalArgumentException if a part is neither a code nor a range of codes. The
     *     message names it
     */
    static StatusCodes parse(String text) {
        BitSet codes = new BitSet();
        for (String part : text.split(",", -1)) {
            String range = part.trim();
            int dash = range.indexOf('-');
            int first = code(dash < 0 ? range : range.substring(0, dash), part);
            int last = dash < 0 ? first : code(range.substring(dash + 1), part);
            if (last < first) {
                throw bad(part);
            }
            codes.set(first, last + 1);
        }
        return new StatusCodes(codes, text);
    }

    private static int code(String text, String part) {
        try {
            int code = Integer.parseInt(text.trim());
            if (code >= LEAST && code <= MOST) {
                return code;
            }
        } catch (NumberFormatException e) {
            // Reported in the same way as a code that is out of range.
        }
        throw bad(part);
    }

    private static IllegalArgumentException bad(String part) {
        return new IllegalArgumentException(
                "status codes hold '" + part.trim() + "', expected codes and ranges such as 200,301-399");
    }

    boolean contains(int code) {
        return codes.get(code);
    }

    @Override
    public String toString() {
        return text;
    }
}
