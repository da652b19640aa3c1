package io.lambdadispatcher.wire.worker;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;

/**
 * HMAC-SHA-256 (RFC 2104), which takes any number of messages with one key. Not thread-safe.
 *
 * <p>{@code javax.crypto.Mac} returns the same. It also initialises most of the JDK's providers of
 * cryptography, which took a tenth of a worker's cold start.
 */
public final class Hmac {
    private static final int BLOCK_BYTES = 64;
    private static final byte INNER = 0x36;
    private static final byte OUTER = 0x5c;

    private final MessageDigest digest = sha256();
    private final byte[] innerPad = new byte[BLOCK_BYTES];
    private final byte[] outerPad = new byte[BLOCK_BYTES];

    /** @param key of any length; copied */
    public Hmac(byte[] key) {
        byte[] block = Arrays.copyOf(key.length > BLOCK_BYTES ? digest.digest(key) : key, BLOCK_BYTES);
        for (int i = 0; i < BLOCK_BYTES; i++) {
            innerPad[i] = (byte) (block[i] ^ INNER);
            outerPad[i] = (byte) (block[i] ^ OUTER);
        }
        digest.update(innerPad);
    }

    static byte[] sha256(String text) {
        return sha256(text.getBytes(StandardCharsets.UTF_8));
    }

    static byte[] sha256(byte[] bytes) {
        return sha256().digest(bytes);
    }

    /** Adds a part of the message. */
    public Hmac update(byte[] part) {
        digest.update(part);
        return this;
    }

    /** Returns the 32 bytes of the HMAC, and begins the next message. */
    public byte[] finish() {
        byte[] inner = digest.digest();
        digest.update(outerPad);
        byte[] whole = digest.digest(inner);
        digest.update(innerPad);
        return whole;
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("SHA-256, which every JDK has, is missing", e);
        }
    }
}
