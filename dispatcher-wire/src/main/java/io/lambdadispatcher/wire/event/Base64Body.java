package io.lambdadispatcher.wire.event;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;

/** The base64 of a body in an event or a response. Any thread. */
public final class Base64Body {
    private Base64Body() {}

    /**
     * Decodes the alphabet of RFC 4648 section 4, with or without padding, and with white space
     * anywhere: encoders for MIME put a line end behind each 76 characters (RFC 2045 section 6.8).
     * Their decoders skip all other characters, too, which would silently change a body that was
     * encoded with another alphabet.
     *
     * @throws IllegalArgumentException if the text is not base64
     */
    public static byte[] decode(String text) {
        byte[] ascii = text.getBytes(StandardCharsets.ISO_8859_1);
        try {
            return Base64.getDecoder().decode(ascii);
        } catch (IllegalArgumentException e) {
            int length = 0;
            for (byte c : ascii) {
                if (c != '\r' && c != '\n' && c != ' ' && c != '\t') {
                    ascii[length++] = c;
                }
            }
            return Base64.getDecoder().decode(Arrays.copyOf(ascii, length));
        }
    }
}
