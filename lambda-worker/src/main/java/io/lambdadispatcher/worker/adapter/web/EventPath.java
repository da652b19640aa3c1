package io.lambdadispatcher.worker.adapter.web;

import java.nio.charset.StandardCharsets;
import java.util.BitSet;

/**
 * Escapes an event's path for a request line. API Gateway's HTTP APIs send the path decoded. REST
 * APIs, function URLs and load balancers send it as the client did. No event says which of the two
 * it is.
 *
 * <p>So bytes that a path may hold (RFC 3986 section 3.3: pchar and the slash) and escapes stay
 * unchanged. All other bytes are escaped, also those that would not end the path: some servers
 * reject {@code |} and {@code [}, and some take a backslash for a slash.
 */
final class EventPath {
    private static final BitSet ALLOWED = new BitSet(128);
    private static final char[] HEX = "0123456789ABCDEF".toCharArray();

    static {
        ALLOWED.set('0', '9' + 1);
        ALLOWED.set('a', 'z' + 1);
        ALLOWED.set('A', 'Z' + 1);
        "/-._~!$&'()*+,;=:@".chars().forEach(ALLOWED::set);
    }

    private EventPath() {}

    static String escaped(String path) {
        byte[] bytes = path.getBytes(StandardCharsets.UTF_8);
        StringBuilder text = new StringBuilder(bytes.length);
        for (int i = 0; i < bytes.length; i++) {
            int value = bytes[i] & 0xFF;
            if (ALLOWED.get(value) || value == '%' && isEscape(bytes, i)) {
                text.append((char) value);
            } else {
                text.append('%').append(HEX[value >> 4]).append(HEX[value & 0xF]);
            }
        }
        return text.toString();
    }

    private static boolean isEscape(byte[] bytes, int at) {
        return at + 2 < bytes.length && isHex(bytes[at + 1]) && isHex(bytes[at + 2]);
    }

    private static boolean isHex(byte value) {
        return value >= 0 && Character.digit(value, 16) >= 0;
    }
}
