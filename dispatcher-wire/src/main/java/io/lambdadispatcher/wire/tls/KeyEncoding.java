package io.lambdadispatcher.wire.tls;

import java.io.ByteArrayOutputStream;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/**
 * Wraps private keys in older formats as PKCS #8 (RFC 5958), the only format that the JDK reads.
 * The key itself stays unchanged inside. Encodings are DER (X.690). Stateless.
 */
final class KeyEncoding {
    private static final int INTEGER = 0x02;
    private static final int OCTET_STRING = 0x04;
    private static final int SEQUENCE = 0x30;
    /** {@code [0] parameters} of an ECPrivateKey (RFC 5915, section 3). */
    private static final int CURVE = 0xA0;

    /** The object identifier rsaEncryption with its parameters, NULL (RFC 8017, appendix A.1). */
    private static final byte[] RSA = HexFormat.of().parseHex("06092a864886f70d0101010500");
    /** The object identifier id-ecPublicKey (RFC 5480, section 2.1.1). */
    private static final byte[] EC = HexFormat.of().parseHex("06072a8648ce3d0201");

    private static final byte[] VERSION = {0};

    private KeyEncoding() {}

    /** @param key an RSAPrivateKey (RFC 8017, appendix A.1.2) */
    static byte[] ofPkcs1(byte[] key) {
        return pkcs8(RSA, key);
    }

    /**
     * Wraps an ECPrivateKey (RFC 5915).
     *
     * @param curve the parameters of the curve if the key does not contain them; {@code null} = not
     *     known
     * @return {@code null} if the curve is not known, or if the key is not valid
     */
    static byte @Nullable [] ofSec1(byte[] key, byte @Nullable [] curve) {
        byte[] ofKey;
        try {
            ofKey = curve(ByteBuffer.wrap(key));
        } catch (BufferUnderflowException | IllegalArgumentException e) {
            return null;
        }
        byte[] parameters = ofKey == null ? curve : ofKey;
        return parameters == null ? null : pkcs8(join(EC, parameters), key);
    }

    /** Returns {@code null} if the key does not contain the parameters of its curve. */
    private static byte @Nullable [] curve(ByteBuffer key) {
        // The sequence, and its first two values, version and private key.
        expect(key, SEQUENCE);
        skip(key, expect(key, INTEGER));
        skip(key, expect(key, OCTET_STRING));
        if (!key.hasRemaining() || Byte.toUnsignedInt(key.get(key.position())) != CURVE) {
            return null;
        }
        byte[] parameters = new byte[expect(key, CURVE)];
        key.get(parameters);
        return parameters;
    }

    /** Reads a tag and a length, and returns the length. */
    private static int expect(ByteBuffer from, int tag) {
        if (Byte.toUnsignedInt(from.get()) != tag) {
            throw new IllegalArgumentException("another tag than " + tag);
        }
        int length = Byte.toUnsignedInt(from.get());
        if (length >= 0x80) {
            int bytes = length & 0x7F;
            length = 0;
            for (int i = 0; i < bytes; i++) {
                length = length << 8 | Byte.toUnsignedInt(from.get());
            }
        }
        if (length < 0 || length > from.remaining()) {
            throw new IllegalArgumentException("length " + length);
        }
        return length;
    }

    private static void skip(ByteBuffer from, int bytes) {
        from.position(from.position() + bytes);
    }

    private static byte[] pkcs8(byte[] algorithm, byte[] key) {
        return value(SEQUENCE, join(value(INTEGER, VERSION), value(SEQUENCE, algorithm), value(OCTET_STRING, key)));
    }

    private static byte[] value(int tag, byte[] content) {
        int length = content.length;
        ByteArrayOutputStream out = new ByteArrayOutputStream(length + 5);
        out.write(tag);
        if (length < 0x80) {
            out.write(length);
        } else {
            int bytes = (Integer.SIZE - Integer.numberOfLeadingZeros(length) + 7) / 8;
            out.write(0x80 | bytes);
            for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
                out.write(length >>> shift);
            }
        }
        out.writeBytes(content);
        return out.toByteArray();
    }

    private static byte[] join(byte[]... parts) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
        return out.toByteArray();
    }
}
