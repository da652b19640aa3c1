package io.lambdadispatcher.wire.worker;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.AlgorithmParameters;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyPair;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.ECFieldFp;
import java.security.spec.ECGenParameterSpec;
import java.security.spec.ECParameterSpec;
import java.security.spec.ECPoint;
import java.security.spec.ECPrivateKeySpec;
import java.security.spec.ECPublicKeySpec;
import java.util.Arrays;
import java.util.HexFormat;
import javax.crypto.KeyAgreement;

/**
 * The key pair of a worker port, which follows from the secret. So all dispatchers with the same
 * secret have the same key, also after a restart, and a worker with the secret knows the key of the
 * port that it dials. Any thread.
 *
 * <p>The private key is on the curve P-256. HKDF-SHA-256 (RFC 5869) makes 40 bytes from the secret,
 * and FIPS 186-5 appendix A.2.1 makes the key from these.
 *
 * <p>Whoever reaches the port sees the public key, and can test guesses of the secret against it.
 * The secret must be random.
 */
public final class PortKey {
    private static final byte[] LABEL = "lambda-dispatcher worker port".getBytes(StandardCharsets.US_ASCII);
    /** 64 bits more than the order of the curve has, so that the remainder is hardly biased. */
    private static final int SEED_BYTES = 40;

    private static final int NAME_CHARS = 32;

    private PortKey() {}

    /**
     * Derives the key pair. That takes about 2 ms of processor time, but 40 to 90 ms at the first
     * call in a JVM, which loads the JDK's classes for elliptic curves. So do not call it on an
     * event loop.
     *
     * @throws IllegalArgumentException if the secret is shorter than {@link
     *     LaunchToken#MIN_SECRET_BYTES}
     */
    public static KeyPair of(byte[] secret) {
        if (secret.length < LaunchToken.MIN_SECRET_BYTES) {
            throw new IllegalArgumentException(
                    "secret of " + secret.length + " bytes, expected at least " + LaunchToken.MIN_SECRET_BYTES);
        }
        try {
            AlgorithmParameters parameters = AlgorithmParameters.getInstance("EC");
            parameters.init(new ECGenParameterSpec("secp256r1"));
            ECParameterSpec p256 = parameters.getParameterSpec(ECParameterSpec.class);
            BigInteger most = p256.getOrder().subtract(BigInteger.ONE);
            BigInteger scalar = new BigInteger(1, seed(secret)).mod(most).add(BigInteger.ONE);
            KeyFactory keys = KeyFactory.getInstance("EC");
            PrivateKey key = keys.generatePrivate(new ECPrivateKeySpec(scalar, p256));
            return new KeyPair(publicKey(key, p256, keys), key);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("cannot derive a key on P-256 from the secret: " + e.getMessage(), e);
        }
    }

    /** HKDF with the secret as input, no salt, and {@link #LABEL}. */
    private static byte[] seed(byte[] secret) {
        Hmac expand = new Hmac(new Hmac(new byte[32]).update(secret).finish());
        byte[] first = expand.update(LABEL).update(new byte[] {1}).finish();
        byte[] second =
                expand.update(first).update(LABEL).update(new byte[] {2}).finish();
        byte[] seed = Arrays.copyOf(first, SEED_BYTES);
        System.arraycopy(second, 0, seed, first.length, SEED_BYTES - first.length);
        return seed;
    }

    /**
     * The JDK has no call that multiplies a point. The agreement of the key with the generator is
     * the x of its public key. The equation of the curve gives y, except its sign.
     */
    private static PublicKey publicKey(PrivateKey key, ECParameterSpec curve, KeyFactory keys)
            throws GeneralSecurityException {
        KeyAgreement agreement = KeyAgreement.getInstance("ECDH");
        agreement.init(key);
        agreement.doPhase(keys.generatePublic(new ECPublicKeySpec(curve.getGenerator(), curve)), true);
        BigInteger x = new BigInteger(1, agreement.generateSecret());
        BigInteger p = ((ECFieldFp) curve.getCurve().getField()).getP();
        BigInteger square = x.pow(3)
                .add(x.multiply(curve.getCurve().getA()))
                .add(curve.getCurve().getB());
        // A square root, because p = 3 modulo 4.
        BigInteger y = square.modPow(p.add(BigInteger.ONE).shiftRight(2), p);
        PublicKey candidate = keys.generatePublic(new ECPublicKeySpec(new ECPoint(x, y), curve));
        return belong(candidate, key)
                ? candidate
                : keys.generatePublic(new ECPublicKeySpec(new ECPoint(x, p.subtract(y)), curve));
    }

    private static boolean belong(PublicKey publicKey, PrivateKey key) throws GeneralSecurityException {
        Signature signature = Signature.getInstance("SHA256withECDSA");
        signature.initSign(key);
        signature.update(LABEL);
        byte[] signed = signature.sign();
        signature.initVerify(publicKey);
        signature.update(LABEL);
        return signature.verify(signed);
    }

    /**
     * Returns the fingerprint that workers expect: SHA-256 of the key's SubjectPublicKeyInfo in DER
     * (RFC 7469 section 2.4), in 64 lower-case hexadecimal digits.
     */
    public static String fingerprint(PublicKey key) {
        return HexFormat.of().formatHex(Hmac.sha256(key.getEncoded()));
    }

    /**
     * Returns the name by which a worker asks for the key that it expects, in the server name
     * indication of TLS (RFC 6066 section 3). A dispatcher with several secrets has several keys.
     */
    public static String serverName(String fingerprint) {
        return fingerprint.substring(0, NAME_CHARS) + ".lambda-dispatcher.invalid";
    }
}
