package io.lambdadispatcher.wire.worker;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.HexFormat;
import java.util.List;

/**
 * Writes self-signed certificates in the DER of X.509 version 3 (RFC 5280 section 4.1, ITU-T
 * X.690). Only for keys on elliptic curves. Any thread.
 */
public final class CertificateWriter {
    private static final int BOOLEAN = 0x01;
    private static final int INTEGER = 0x02;
    private static final int BIT_STRING = 0x03;
    private static final int OCTET_STRING = 0x04;
    private static final int OBJECT_ID = 0x06;
    private static final int UTF8_STRING = 0x0c;
    private static final int GENERALIZED_TIME = 0x18;
    private static final int UTC_TIME = 0x17;
    private static final int SEQUENCE = 0x30;
    private static final int SET = 0x31;
    private static final int VERSION = 0xa0;
    private static final int EXTENSIONS = 0xa3;
    private static final int DNS_NAME = 0x82;
    private static final int IP_ADDRESS = 0x87;

    private static final byte[] ECDSA_WITH_SHA256 = id("2a8648ce3d040302");
    private static final byte[] COMMON_NAME = id("550403");
    private static final byte[] SUBJECT_ALT_NAME = id("551d11");
    private static final byte[] BASIC_CONSTRAINTS = id("551d13");

    /** Dates from this one on have another type than earlier ones (RFC 5280 section 4.1.2.5). */
    private static final Instant FOUR_DIGIT_YEARS = Instant.parse("2050-01-01T00:00:00Z");

    private CertificateWriter() {}

    /**
     * Returns a certificate that the key signs for itself, with a random serial number.
     *
     * @param commonName the only part of its subject
     * @param dnsNames host names for which it is valid; may be empty
     * @param addresses IP addresses of 4 or 16 bytes for which it is valid; may be empty
     * @throws GeneralSecurityException if the private key cannot sign with ECDSA
     */
    public static X509Certificate selfSigned(
            KeyPair keys, String commonName, Duration validity, List<String> dnsNames, List<byte[]> addresses)
            throws GeneralSecurityException {
        // Clocks of peers may be late.
        Instant from = Instant.now().minus(Duration.ofDays(1));
        byte[] algorithm = der(SEQUENCE, ECDSA_WITH_SHA256);
        byte[] name = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, text(UTF8_STRING, commonName))));
        byte[] signed = der(
                SEQUENCE,
                der(VERSION, integer(BigInteger.TWO)),
                integer(new BigInteger(127, new SecureRandom()).setBit(126)),
                algorithm,
                name,
                der(SEQUENCE, time(from), time(Instant.now().plus(validity))),
                name,
                keys.getPublic().getEncoded(),
                der(EXTENSIONS, der(SEQUENCE, authority(), names(dnsNames, addresses))));
        Signature signature = Signature.getInstance("SHA256withECDSA");
        signature.initSign(keys.getPrivate());
        signature.update(signed);
        byte[] whole = der(SEQUENCE, signed, algorithm, der(BIT_STRING, new byte[1], signature.sign()));
        return (X509Certificate)
                CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(whole));
    }

    /** Browsers and curl trust the certificate as its own authority. */
    private static byte[] authority() {
        byte[] yes = der(BOOLEAN, new byte[] {-1});
        return der(SEQUENCE, BASIC_CONSTRAINTS, yes, der(OCTET_STRING, der(SEQUENCE, yes)));
    }

    private static byte[] names(List<String> dnsNames, List<byte[]> addresses) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        dnsNames.forEach(name -> all.writeBytes(text(DNS_NAME, name)));
        addresses.forEach(address -> all.writeBytes(der(IP_ADDRESS, address)));
        return all.size() == 0
                ? new byte[0]
                : der(SEQUENCE, SUBJECT_ALT_NAME, der(OCTET_STRING, der(SEQUENCE, all.toByteArray())));
    }

    private static byte[] id(String hex) {
        return der(OBJECT_ID, HexFormat.of().parseHex(hex));
    }

    private static byte[] integer(BigInteger value) {
        return der(INTEGER, value.toByteArray());
    }

    private static byte[] text(int type, String text) {
        return der(type, text.getBytes(StandardCharsets.UTF_8));
    }

    private static byte[] time(Instant time) {
        boolean late = !time.isBefore(FOUR_DIGIT_YEARS);
        return text(
                late ? GENERALIZED_TIME : UTC_TIME,
                DateTimeFormatter.ofPattern(late ? "yyyyMMddHHmmss'Z'" : "yyMMddHHmmss'Z'")
                        .format(time.atOffset(ZoneOffset.UTC)));
    }

    /** Returns a value: its type, the length of its contents, and its contents. */
    private static byte[] der(int type, byte[]... contents) {
        ByteArrayOutputStream value = new ByteArrayOutputStream();
        for (byte[] part : contents) {
            value.writeBytes(part);
        }
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.write(type);
        int length = value.size();
        if (length < 0x80) {
            all.write(length);
        } else if (length < 0x100) {
            all.write(0x81);
            all.write(length);
        } else {
            all.write(0x82);
            all.write(length >> 8);
            all.write(length);
        }
        all.writeBytes(value.toByteArray());
        return all.toByteArray();
    }
}
