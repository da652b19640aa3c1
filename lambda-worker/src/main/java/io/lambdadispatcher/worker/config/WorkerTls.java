package io.lambdadispatcher.worker.config;

import java.nio.file.Path;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How a worker verifies the certificate of the worker port, and which certificate it presents
 * itself. Immutable.
 */
public final class WorkerTls {
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

    private final Trust trust;
    private final String trustDetail;
    private final @Nullable Path certificate;
    private final @Nullable Path key;

    private WorkerTls(Trust trust, String trustDetail, @Nullable Path certificate, @Nullable Path key) {
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
        this.trust = trust;
        this.trustDetail = trustDetail;
        this.certificate = certificate;
        this.key = key;
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

    public Trust trust() {
        return trust;
    }

    /**
     * Returns the PEM file for PEM, the certificates for PEM_TEXT, the SHA-256 in hexadecimal for
     * FINGERPRINT, an empty string for SYSTEM.
     */
    public String trustDetail() {
        return trustDetail;
    }

    /** Returns the PEM chain of the worker's certificate, or {@code null} if it presents none. */
    public @Nullable Path certificate() {
        return certificate;
    }

    /**
     * Returns the PEM file of the private key (PKCS #8), or {@code null} if there is no
     * certificate.
     */
    public @Nullable Path key() {
        return key;
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof WorkerTls that
                && trust == that.trust
                && trustDetail.equals(that.trustDetail)
                && Objects.equals(certificate, that.certificate)
                && Objects.equals(key, that.key);
    }

    @Override
    public int hashCode() {
        return Objects.hash(trust, trustDetail, certificate, key);
    }
}
