package io.lambdadispatcher.core.internal.ingress.edge;

/** Which request targets and authorities are well-formed, by the letters they may hold. */
public final class Targets {
    private static final String AUTHORITY_MARKS = "-._~%!$&'()*+,;=:[]";

    private Targets() {}

    /** Origin-form or asterisk-form (RFC 9112 section 3.2, RFC 9113 section 8.3.1): visible ASCII, no fragment. */
    public static boolean isPath(CharSequence path) {
        int length = path.length();
        if (length == 0 || path.charAt(0) != '/' && !(length == 1 && path.charAt(0) == '*')) {
            return false;
        }
        for (int i = 0; i < length; i++) {
            char c = path.charAt(i);
            if (c <= ' ' || c >= 0x7F || c == '#') {
                return false;
            }
        }
        return true;
    }

    /** Host and port (RFC 3986 section 3.2), without user information; only the letters are checked. */
    public static boolean isAuthority(CharSequence authority) {
        for (int i = 0; i < authority.length(); i++) {
            char c = authority.charAt(i);
            boolean letterOrDigit = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9';
            if (!letterOrDigit && AUTHORITY_MARKS.indexOf(c) < 0) {
                return false;
            }
        }
        return authority.length() > 0;
    }
}
