package io.lambdadispatcher.worker.config;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * How a worker verifies the certificate of the worker port, and which client certificate it
 * presents.
 *
 * <pre>{@code
 * WorkerTls tls = WorkerTls.pem(Path.of("ca.pem"))
 *         .withClientCertificate(Path.of("worker.pem"), Path.of("worker-key.pem"));
 * }</pre>
 *
 * <p>Files are read when a {@link io.lambdadispatcher.worker.Worker} is created, which fails with
 * {@link IllegalArgumentException} if one cannot be used. Immutable; any thread.
 */
public final class WorkerTls {
    private static final String PEM_BEGINS = "-----BEGIN CERTIFICATE-----";
    private static final Pattern SHA_256 = Pattern.compile("[0-9a-f]{64}");

    /** How the worker verifies the certificate of the worker port. */
    public enum Trust {
        /** Trusts the JVM's certificate authorities, and verifies the host name. */
        SYSTEM,
        /** Trusts the certificate authorities in a PEM file, and verifies the host name. */
        PEM,
        /**
         * Trusts the certificate authorities in a PEM text, which an invoke payload can contain,
         * and verifies the host name.
         */
        PEM_TEXT,
        /**
         * Trusts only the public keys with these SHA-256 fingerprints. Nothing else of the
         * certificate is verified.
         */
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
        if (trust == Trust.FINGERPRINT) {
            for (String each : trustDetail.split(",", -1)) {
                if (!SHA_256.matcher(each).matches()) {
                    throw new IllegalArgumentException(
                            "public key fingerprint '" + each + "', expected 64 hexadecimal digits of SHA-256");
                }
            }
        }
        this.trust = trust;
        this.trustDetail = trustDetail;
        this.certificate = certificate;
        this.key = key;
    }

    /** Returns settings that trust the JVM's certificate authorities. See {@link Trust#SYSTEM}. */
    public static WorkerTls system() {
        return new WorkerTls(Trust.SYSTEM, "", null, null);
    }

    /**
     * Returns settings that trust the certificate authorities in a file. See {@link Trust#PEM}.
     *
     * @param authorities a PEM file of X.509 certificates
     * @throws IllegalArgumentException if the path is empty
     */
    public static WorkerTls pem(Path authorities) {
        return new WorkerTls(Trust.PEM, authorities.toString(), null, null);
    }

    /**
     * Returns settings that trust the given certificate authorities. See {@link Trust#PEM_TEXT}.
     *
     * @param certificates the text of one or more certificates in PEM, not the name of a file
     * @throws IllegalArgumentException if the text has no {@code -----BEGIN CERTIFICATE-----}
     */
    public static WorkerTls pemText(String certificates) {
        return new WorkerTls(Trust.PEM_TEXT, certificates, null, null);
    }

    /**
     * Returns settings that trust one public key, or several while it is being replaced. See {@link
     * Trust#FINGERPRINT}.
     *
     * @param sha256 SHA-256 of the key's SubjectPublicKeyInfo in DER (RFC 7469 section 2.4): 64
     *     hexadecimal digits in either case, with or without colons. Several are separated by
     *     commas
     * @throws IllegalArgumentException if it is something else
     */
    public static WorkerTls fingerprint(String sha256) {
        String detail = sha256.replaceAll("[:\\s]", "").toLowerCase(Locale.ROOT);
        return new WorkerTls(Trust.FINGERPRINT, detail, null, null);
    }

    /**
     * Returns a copy that presents a client certificate, as mutual TLS requires.
     *
     * @param newCertificate a PEM file with the certificate chain, the worker's own certificate
     *     first
     * @param newKey a PEM file with the private key (PKCS #8, PKCS #1 or SEC 1), not encrypted
     */
    public WorkerTls withClientCertificate(Path newCertificate, Path newKey) {
        return new WorkerTls(trust, trustDetail, newCertificate, newKey);
    }

    /** Returns how the certificate of the worker port is verified. */
    public Trust trust() {
        return trust;
    }

    /**
     * Returns what {@link #trust} needs:
     * <ul>
     *   <li>{@code PEM}: the path of the file,
     *   <li>{@code PEM_TEXT}: the certificates,
     *   <li>{@code FINGERPRINT}: 64 lower-case hexadecimal digits, several separated by commas,
     *   <li>{@code SYSTEM}: an empty string.
     * </ul>
     */
    public String trustDetail() {
        return trustDetail;
    }

    /**
     * Returns the fingerprints of the public keys that are trusted, at least one.
     *
     * @throws IllegalStateException if the trust is another than {@link Trust#FINGERPRINT}
     */
    public List<String> fingerprints() {
        if (trust != Trust.FINGERPRINT) {
            throw new IllegalStateException("trust by " + trust + ", expected FINGERPRINT");
        }
        return List.of(trustDetail.split(","));
    }

    /**
     * Returns the PEM file with the worker's certificate chain, or {@code null} if it presents
     * none.
     */
    public @Nullable Path certificate() {
        return certificate;
    }

    /**
     * Returns the PEM file with the private key, or {@code null} if there is no certificate.
     */
    public @Nullable Path key() {
        return key;
    }

    @Override
    public String toString() {
        return "WorkerTls[trust=" + trust + ", certificate=" + certificate + ", key=" + key + "]";
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
