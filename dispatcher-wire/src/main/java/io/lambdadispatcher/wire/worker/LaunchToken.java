package io.lambdadispatcher.wire.worker;

import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.worker.WireException.Reason;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;

/**
 * The permission for one worker to connect: {@code v1.<function>.<worker id>.<expiry>.<signature>}.
 * Names are in base64url, the expiry is in epoch seconds, and the signature is HMAC-SHA-256 in
 * base64url over everything before its dot. A launcher creates it for a worker. A self-launched
 * worker creates its own. Immutable. Any thread.
 *
 * <p>Each function has its own key, which is derived from a secret with {@link #key}. The key of
 * one function cannot sign tokens for another.
 *
 * @param function name of the worker's function
 * @param workerId unique among all workers, also former ones; a token is valid for one worker
 * @param expiry time by which the worker must have sent HELLO
 */
public record LaunchToken(String function, String workerId, Instant expiry) {
    /**
     * Minimum size of secrets and keys, which must not be guessable. HMAC-SHA-256 gains nothing
     * from more than 64 bytes.
     */
    public static final int MIN_SECRET_BYTES = 16;

    /**
     * Maximum time that an expiry may be ahead. It is more than workers take to connect, so that
     * clocks may differ. Ids of workers that have ended are known for as long.
     */
    public static final Duration MAX_LIFE = Duration.ofMinutes(15);

    /**
     * The ids of workers that a fleet of dispatchers has launched begin with this. Those of other
     * workers must not, because dispatchers ask the fleet about such ids.
     */
    public static final String FLEET_WORKER_ID_PREFIX = "fleet-";

    private static final String PREFIX = "v1";
    private static final Pattern DOT = Pattern.compile("\\.");

    public LaunchToken {
        verifyName("function", function);
        verifyName("worker id", workerId);
    }

    /**
     * Derives the key of a function: HMAC-SHA-256 of {@code function} followed by the function's
     * name in UTF-8, with the secret as the key.
     *
     * @throws IllegalArgumentException if the secret is shorter than {@link #MIN_SECRET_BYTES}
     */
    public static byte[] key(byte[] secret, String function) {
        return hmac(secret, "function" + function);
    }

    /**
     * @param key key of the function
     * @throws IllegalArgumentException if the key is shorter than {@link #MIN_SECRET_BYTES}
     */
    public String sign(byte[] key) {
        String signed = signed();
        return signed + "." + base64(hmac(key, signed));
    }

    private String signed() {
        return String.join(".", PREFIX, encode(function), encode(workerId), Long.toString(expiry.getEpochSecond()));
    }

    /**
     * Checks the signature in constant time, then the expiry.
     *
     * @param keysOf returns the keys of the function that the token names, one of which must have
     *     signed it, whether or not there is such a function
     * @throws WireException {@link Reason#BAD_TOKEN}; its message never contains the token
     */
    public static LaunchToken verify(String token, Function<String, List<byte[]>> keysOf, Instant now)
            throws WireException {
        if (token.length() > WireLimits.MAX_TOKEN_CHARS) {
            throw bad(0, "launch token of " + token.length() + " characters, limit " + WireLimits.MAX_TOKEN_CHARS);
        }
        String[] parts = DOT.split(token, -1);
        if (parts.length != 5 || !parts[0].equals(PREFIX)) {
            throw bad(0, "launch token of " + parts.length + " parts, expected v1 and 4 more");
        }
        int signatureAt = token.lastIndexOf('.') + 1;
        List<byte[]> keys = keysOf.apply(new String(decode(parts[1], 0), StandardCharsets.UTF_8));
        String signed = token.substring(0, signatureAt - 1);
        byte[] signature = decode(parts[4], signatureAt);
        if (keys.stream().noneMatch(key -> MessageDigest.isEqual(hmac(key, signed), signature))) {
            throw bad(signatureAt, "launch token with a wrong signature");
        }
        LaunchToken verified = verified(parts, now);
        // A token has one spelling, so that it can be compared as text.
        if (!verified.signed().equals(signed) || !base64(signature).equals(parts[4])) {
            throw bad(0, "launch token in another spelling than that of its signer");
        }
        return verified;
    }

    private static LaunchToken verified(String[] parts, Instant now) throws WireException {
        LaunchToken token;
        try {
            token = new LaunchToken(
                    new String(decode(parts[1], 0), StandardCharsets.UTF_8),
                    new String(decode(parts[2], 0), StandardCharsets.UTF_8),
                    Instant.ofEpochSecond(Long.parseLong(parts[3])));
        } catch (IllegalArgumentException | java.time.DateTimeException e) {
            throw new WireException(Reason.BAD_TOKEN, 0, "launch token with a malformed part: " + e.getMessage(), e);
        }
        if (!now.isBefore(token.expiry)) {
            throw bad(0, "launch token of worker " + token.workerId + " expired at " + token.expiry + ", now " + now);
        }
        return token;
    }

    private static void verifyName(String what, String name) {
        if (name.isEmpty() || name.length() > WireLimits.MAX_NAME_CHARS) {
            throw new IllegalArgumentException(
                    what + " of " + name.length() + " characters, expected 1 to " + WireLimits.MAX_NAME_CHARS);
        }
        // Two names must not become one, so they are not escaped.
        if (!PrintableText.of(name).equals(name)) {
            throw new IllegalArgumentException(what + " with control characters: " + PrintableText.of(name));
        }
    }

    private static byte[] hmac(byte[] secret, String text) {
        if (secret.length < MIN_SECRET_BYTES) {
            throw new IllegalArgumentException(
                    "secret of " + secret.length + " bytes, expected at least " + MIN_SECRET_BYTES);
        }
        return new Hmac(secret).update(text.getBytes(StandardCharsets.UTF_8)).finish();
    }

    private static WireException bad(long offset, String detail) {
        return new WireException(Reason.BAD_TOKEN, offset, detail);
    }

    private static String encode(String text) {
        return base64(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String base64(byte[] bytes) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
    }

    private static byte[] decode(String text, long offset) throws WireException {
        try {
            return Base64.getUrlDecoder().decode(text);
        } catch (IllegalArgumentException e) {
            throw new WireException(Reason.BAD_TOKEN, offset, "launch token with a part that is not base64url", e);
        }
    }
}
