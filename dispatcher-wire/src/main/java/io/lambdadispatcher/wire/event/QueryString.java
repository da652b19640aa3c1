package io.lambdadispatcher.wire.event;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;

/** Parses a query string, in which each character is one byte. */
final class QueryString {
    private QueryString() {}

    /**
     * Returns the parameters as the client has written them, because a load balancer does not
     * decode.
     */
    static Map<String, Values> raw(String query) {
        return parse(query, UnaryOperator.identity());
    }

    /** Returns the parameters with percent signs and plus signs decoded, like API Gateway. */
    static Map<String, Values> decoded(String query) {
        return parse(query, QueryString::decode);
    }

    private static Map<String, Values> parse(String query, UnaryOperator<String> decoding) {
        Map<String, Values> parameters = new LinkedHashMap<>();
        int start = 0;
        int equals = query.indexOf('=');
        while (start < query.length()) {
            int end = query.indexOf('&', start);
            end = end < 0 ? query.length() : end;
            if (end > start) {
                if (equals >= 0 && equals < start) {
                    equals = query.indexOf('=', start);
                }
                int nameEnd = equals < 0 || equals > end ? end : equals;
                String name = query.substring(start, nameEnd);
                String value = query.substring(Math.min(nameEnd + 1, end), end);
                Values.put(parameters, decoding.apply(name), decoding.apply(value));
            }
            start = end + 1;
        }
        return parameters;
    }

    /** Returns one character for each decoded byte, or a text with a malformed escape unchanged. */
    private static String decode(String text) {
        if (text.indexOf('%') < 0 && text.indexOf('+') < 0) {
            return text;
        }
        StringBuilder bytes = new StringBuilder(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '%') {
                if (i + 2 >= text.length() || !isHex(text.charAt(i + 1)) || !isHex(text.charAt(i + 2))) {
                    return text;
                }
                c = (char) Integer.parseInt(text, i + 1, i + 3, 16);
                i += 2;
            } else if (c == '+') {
                c = ' ';
            }
            bytes.append(c);
        }
        return bytes.toString();
    }

    private static boolean isHex(char c) {
        return c < 0x80 && Character.digit(c, 16) >= 0;
    }
}
