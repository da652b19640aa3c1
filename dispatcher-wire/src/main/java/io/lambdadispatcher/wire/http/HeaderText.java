package io.lambdadispatcher.wire.http;

import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Converts between the bytes that HTTP has in a header's value, a path or a query, and text. HTTP
 * gives these bytes no encoding (RFC 9110 section 5.5). They are UTF-8 if they are valid UTF-8, and
 * ISO 8859-1 otherwise. Text becomes UTF-8.
 *
 * <p>In Netty's types, and everywhere between a client and an application, each character is one
 * byte. Text exists only where a program or a JSON event needs it. Any thread.
 */
public final class HeaderText {
    private static final char MAX_BYTE = 0xFF;

    private HeaderText() {}

    /**
     * Returns the text that the bytes stand for.
     *
     * @param bytes one character for each byte. Text with characters above one byte is returned
     *     unchanged
     */
    public static String decode(CharSequence bytes) {
        char highest = highest(bytes);
        if (highest < 0x80 || highest > MAX_BYTE) {
            return bytes.toString();
        }
        byte[] raw = raw(bytes);
        String text = new String(raw, StandardCharsets.UTF_8);
        return isEncoded(text, raw) ? text : new String(raw, StandardCharsets.ISO_8859_1);
    }

    /**
     * Returns the text's bytes in UTF-8. No byte of them is a control character except those of the
     * text. A surrogate without its other half becomes a question mark.
     */
    public static AsciiString encode(String text) {
        return new AsciiString(text.getBytes(StandardCharsets.UTF_8), false);
    }

    /**
     * Returns a value whose characters are its bytes, for example after a change of what {@code
     * toString()} of a received value returns. Unlike {@link #bytesOf}, it never takes them for
     * text.
     *
     * @throws IllegalArgumentException if a character is above one byte
     */
    public static AsciiString ofBytes(String bytes) {
        if (highest(bytes) > MAX_BYTE) {
            throw new IllegalArgumentException(
                    "value " + HeaderSyntax.printable(bytes) + ", expected no character above one byte");
        }
        return new AsciiString(bytes);
    }

    /**
     * Returns the bytes of a value that a program has set. An {@link AsciiString} has them already,
     * and so has a string whose characters are the bytes of UTF-8: what {@code toString()} of a
     * received value, or a server that decodes ISO 8859-1, returns. Any other text becomes UTF-8.
     */
    public static CharSequence bytesOf(CharSequence value) {
        if (value instanceof AsciiString) {
            return value;
        }
        char highest = highest(value);
        if (highest < 0x80) {
            return value;
        }
        if (highest <= MAX_BYTE) {
            byte[] raw = raw(value);
            if (isEncoded(new String(raw, StandardCharsets.UTF_8), raw)) {
                return new AsciiString(raw, false);
            }
        }
        return encode(value.toString());
    }

    private static char highest(CharSequence text) {
        char highest = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            highest = c > highest ? c : highest;
        }
        return highest;
    }

    private static byte[] raw(CharSequence bytes) {
        return bytes instanceof AsciiString ascii
                ? ascii.toByteArray()
                : bytes.toString().getBytes(StandardCharsets.ISO_8859_1);
    }

    /** Returns whether the text was decoded without replacing a byte. */
    private static boolean isEncoded(String text, byte[] raw) {
        return Arrays.equals(text.getBytes(StandardCharsets.UTF_8), raw);
    }
}
