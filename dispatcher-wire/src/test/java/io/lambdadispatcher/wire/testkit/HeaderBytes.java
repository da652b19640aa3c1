package io.lambdadispatcher.wire.testkit;

import io.netty.util.AsciiString;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Random;

/** Bytes of header values, paths and queries, and the text that they must be. */
public final class HeaderBytes {
    private HeaderBytes() {}

    /**
     * Returns bytes above ASCII between {@code x} and {@code y}: text in UTF-8, many of its
     * characters such that ISO 8859-1 has them, too, or bytes that are rarely UTF-8.
     */
    public static byte[] random(Random random) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.write('x');
        int parts = random.nextInt(6);
        boolean text = random.nextInt(3) > 0;
        for (int i = 0; i < parts; i++) {
            int point = 0x80 + random.nextInt(random.nextInt(4) == 0 ? 0x80 : 0x11000);
            if (!text) {
                bytes.write(0x80 + random.nextInt(0x80));
            } else if (point < Character.MIN_SURROGATE || point > Character.MAX_SURROGATE) {
                bytes.writeBytes(Character.toString(point).getBytes(StandardCharsets.UTF_8));
            }
        }
        bytes.write('y');
        return bytes.toByteArray();
    }

    /** Returns the text: UTF-8 if the bytes are valid UTF-8, and ISO 8859-1 otherwise. */
    public static String text(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes))
                    .toString();
        } catch (CharacterCodingException e) {
            return new String(bytes, StandardCharsets.ISO_8859_1);
        }
    }

    /** Returns the ASCII text and the bytes behind it, as one value on the wire. */
    public static AsciiString value(String before, byte[] bytes) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.writeBytes(before.getBytes(StandardCharsets.US_ASCII));
        all.writeBytes(bytes);
        return new AsciiString(all.toByteArray(), false);
    }
}
