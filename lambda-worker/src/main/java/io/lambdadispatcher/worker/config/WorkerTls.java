package io.lambdadispatcher.worker.config;

import java.nio.file.Path;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How the worker port's certificate is judged, and what is shown in return.
 *
 * @param trust SYSTEM, or what {@code trustDetail} names
 * @param trustDetail PEM file for PEM, certificates in PEM for PEM_TEXT, hexadecimal SHA-256 of the certificate for FINGERPRINT, empty for SYSTEM
 * @param certificate PEM chain of the client's certificate; {@code null} = none
 * @param key PEM of its private key (PKCS #8); {@code null} = none
 */
public record WorkerTls(
        Trust trust,
        String trustDetail,
        @Nullable Path certificate,
        @Nullable Path key) {
    private static final String PEM_BEGINS = "-----BEGIN CERTIFICATE-----";
    private static final Pattern SHA_256 = Pattern.compile("[0-9a-fA-F]{64}");

    /** What makes a certificate good. */
    public enum Trust {
        /** The JVM's certificate authorities, and the host's name. */
        SYSTEM,
        /** The authorities in a PEM file, and the host's name. */
        PEM,
        /** The authorities given in PEM, as an invoke payload has them, and the host's name. */
        PEM_TEXT,
        /** Exactly one certificate, whatever its names. */
        FINGERPRINT
    }

    public WorkerTls {
        if ((certificate == null) != (key == null)) {
            throw new IllegalArgumentException(
                    "client certificate " + certificate + " with key " + key + ", expected both or neither");
        }
        if (trust == Trust.PEM && trustDetail.isEmpty()) {
            throw new IllegalArgumentException("trust by PEM without a file, expected its path");
        }
        if (trust == Trust.PEM_TEXT && !trustDetail.contains(PEM_BEGINS)) {
            throw new IllegalArgumentException(
                    "trust by PEM of " + trustDetail.length() + " characters, expected '" + PEM_BEGINS + "' in it");
        }
        if (trust == Trust.FINGERPRINT && !SHA_256.matcher(trustDetail).matches()) {
            throw new IllegalArgumentException(
                    "certificate fingerprint '" + trustDetail + "', expected 64 hexadecimal digits of SHA-256");
        }
    }

    public static WorkerTls system() {
        return new WorkerTls(Trust.SYSTEM, "", null, null);
    }

    public static WorkerTls pem(Path authorities) {
        return new WorkerTls(Trust.PEM, authorities.toString(), null, null);
    }

    /** @param certificates in PEM, not a file of them */
    public static WorkerTls pemText(String certificates) {
        return new WorkerTls(Trust.PEM_TEXT, certificates, null, null);
    }

    /** @param sha256 of the DER certificate; colons between the octets are allowed */
    public static WorkerTls fingerprint(String sha256) {
        return new WorkerTls(Trust.FINGERPRINT, sha256.replace(":", ""), null, null);
    }

    public WorkerTls withClientCertificate(Path newCertificate, Path newKey) {
        return new WorkerTls(trust, trustDetail, newCertificate, newKey);
    }
}
