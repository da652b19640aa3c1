package io.lambdadispatcher.wire.http;

import io.netty.util.AsciiString;

/**
 * Which characters the parts of headers can have, whoever checked them before (RFC 9110 sections
 * 5.6.2 and 5.5, RFC 9112 section 3.2, RFC 9113 sections 8.2.1 and 8.3.1). Any thread.
 */
public final class HeaderSyntax {
    /** Maximum length of a host with its port, in characters. */
    public static final int MOST_AUTHORITY_CHARS = 300;

    private static final int MAX_PRINTED_CHARS = 40;
    private static final String AUTHORITY_MARKS = "-._~%!$&'()*+,;=:[]";
    private static final boolean[] TOKEN = new boolean[128];
    private static final boolean[] AUTHORITY = new boolean[128];

    static {
        allow(TOKEN, "!#$%&'*+-.^_`|~");
        allow(AUTHORITY, AUTHORITY_MARKS);
    }

    private HeaderSyntax() {}

    private static void allow(boolean[] chars, String marks) {
        for (char c = '0'; c <= 'z'; c++) {
            chars[c] = Character.isLetterOrDigit(c);
        }
        for (int i = 0; i < marks.length(); i++) {
            chars[marks.charAt(i)] = true;
        }
    }

    private static boolean consistsOf(boolean[] chars, CharSequence text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c >= chars.length || !chars[c]) {
                return false;
            }
        }
        return text.length() > 0;
    }

    /** Returns whether the text is a valid header name of any case, or a method. */
    public static boolean isToken(CharSequence text) {
        return consistsOf(TOKEN, text);
    }

    /**
     * Returns whether the bytes, one for each character, are a valid header value: no control
     * characters except the tab, nothing above one byte, no leading or trailing blank. It can be
     * empty. Text is checked after {@link HeaderText} has encoded it.
     */
    public static boolean isValue(CharSequence text) {
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c < ' ' && c != '\t' || c == 0x7F || c > 0xFF) {
                return false;
            }
        }
        int length = text.length();
        return length == 0 || !isBlank(text.charAt(0)) && !isBlank(text.charAt(length - 1));
    }

    /**
     * Returns whether the bytes, one for each character, are an origin-form without a fragment, or
     * the asterisk-form of OPTIONS (RFC 9112 section 3.2.4). Bytes above ASCII are allowed,
     * although clients should escape them (RFC 3986 section 2.1): browsers and servers pass them on
     * in queries.
     */
    public static boolean isPath(CharSequence path, CharSequence method) {
        int length = path.length();
        if (length == 0 || path.charAt(0) != '/') {
            return AsciiString.contentEquals("*", path) && AsciiString.contentEquals("OPTIONS", method);
        }
        for (int i = 0; i < length; i++) {
            char c = path.charAt(i);
            if (c <= ' ' || c == 0x7F || c == '#' || c > 0xFF) {
                return false;
            }
        }
        return true;
    }

    /**
     * Returns whether the text has the characters of a host and port (RFC 3986 section 3.2) without
     * user information, and is no longer than {@link #MOST_AUTHORITY_CHARS}. A name in DNS is
     * shorter (RFC 1035 section 2.3.4). Connections keep it in memory, and headers that are added
     * to a request repeat it.
     */
    public static boolean isAuthority(CharSequence authority) {
        return authority.length() <= MOST_AUTHORITY_CHARS && consistsOf(AUTHORITY, authority);
    }

    /**
     * Returns the value without spaces and tabs at both ends, which are not part of it (RFC 9110
     * section 5.5).
     */
    public static String withoutOuterBlanks(String value) {
        int start = 0;
        int end = value.length();
        while (start < end && isBlank(value.charAt(start))) {
            start++;
        }
        while (end > start && isBlank(value.charAt(end - 1))) {
            end--;
        }
        return value.substring(start, end);
    }

    static boolean isBlank(char c) {
        return c == ' ' || c == '\t';
    }

    /**
     * Returns whether an application can take {@code name} for {@code known}: the names are equal
     * except for case and for other marks instead of {@code -}. CGI makes {@code _} of every
     * {@code -} (RFC 3875 section 4.1.18), and some languages make it of every other mark, too.
     *
     * @param known in lower case
     */
    public static boolean passesFor(CharSequence name, AsciiString known) {
        return name.length() == known.length() && beginsLike(name, known);
    }

    /**
     * Returns whether an application can take the start of {@code name} for {@code prefix}, see
     * {@link #passesFor}.
     *
     * @param prefix in lower case
     */
    public static boolean beginsLike(CharSequence name, AsciiString prefix) {
        if (name.length() < prefix.length()) {
            return false;
        }
        for (int i = 0; i < prefix.length(); i++) {
            char c = AsciiString.toLowerCase(name.charAt(i));
            if (c != prefix.charAt(i) && (prefix.charAt(i) != '-' || isLetterOrDigit(c))) {
                return false;
            }
        }
        return true;
    }

    /** Returns whether the name has another mark than {@code -}, so it may pass for another. */
    public static boolean hasUnusualMark(CharSequence name) {
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            if (c != '-' && !isLetterOrDigit(AsciiString.toLowerCase(c))) {
                return true;
            }
        }
        return false;
    }

    private static boolean isLetterOrDigit(char c) {
        return c >= 'a' && c <= 'z' || c >= '0' && c <= '9';
    }

    /**
     * Returns the start of a text from outside in quotes, without characters that affect a terminal
     * or a log.
     */
    public static String printable(CharSequence text) {
        return "'" + PrintableText.of(text, MAX_PRINTED_CHARS) + "'";
    }
}
