package io.lambdadispatcher.worker.adapter.web;

import java.nio.charset.StandardCharsets;
import java.util.BitSet;

/**
 * An event's path as it can stand in a request. API Gateway's HTTP APIs give it decoded, REST APIs, function URLs and load balancers as the client has sent it, and no
 * event says which it is. So octets that a path may hold (RFC 3986 section 3.3: pchar and the slash) stay as they are, escapes among them, and all others are escaped, not
 * only those that would end the path: of the rest, such as {@code |}, {@code [} and {@code \\}, some servers refuse what others take, and a backslash may pass for a slash.
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
        byte[] octets = path.getBytes(StandardCharsets.UTF_8);
        StringBuilder text = new StringBuilder(octets.length);
        for (int i = 0; i < octets.length; i++) {
            int octet = octets[i] & 0xFF;
            if (ALLOWED.get(octet) || octet == '%' && isEscape(octets, i)) {
                text.append((char) octet);
            } else {
                text.append('%').append(HEX[octet >> 4]).append(HEX[octet & 0xF]);
            }
        }
        return text.toString();
    }

    private static boolean isEscape(byte[] octets, int at) {
        return at + 2 < octets.length && isHex(octets[at + 1]) && isHex(octets[at + 2]);
    }

    private static boolean isHex(byte octet) {
        return octet >= 0 && Character.digit(octet, 16) >= 0;
    }
}
