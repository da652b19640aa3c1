package io.lambdadispatcher.core.options;

import io.lambdadispatcher.wire.tls.PemFile;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.security.cert.X509CRL;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Certificates, key and profile of a port with TLS. Immutable.
 *
 * <pre>{@code
 * TlsOptions tls = TlsOptions.of(Path.of("chain.pem"), Path.of("key.pem"))
 *         .withClientCertificates(Path.of("client-ca.pem"));
 * }</pre>
 *
 * <p>The dispatcher uses OpenSSL if netty-tcnative is on the class path, and the JDK's TLS
 * otherwise.
 *
 * <p><b>Errors.</b> The files are read when the dispatcher starts, and again by {@code
 * Dispatcher.change}. Both throw the exceptions of {@link #load}.
 */
public final class TlsOptions {
    private final Path certificateChain;
    private final Path privateKey;
    private final @Nullable Path clientCertificates;
    private final TlsProfile profile;

    private TlsOptions(Path certificateChain, Path privateKey, @Nullable Path clientCertificates, TlsProfile profile) {
        this.certificateChain = Objects.requireNonNull(certificateChain, "certificateChain");
        this.privateKey = Objects.requireNonNull(privateKey, "privateKey");
        this.clientCertificates = clientCertificates;
        this.profile = Objects.requireNonNull(profile, "profile");
    }

    /**
     * Returns options that do not require client certificates.
     *
     * @param certificateChain PEM file that starts with the listener's own certificate
     * @param privateKey PEM file with the key in PKCS #8, PKCS #1 or SEC 1, not encrypted
     */
    public static TlsOptions of(Path certificateChain, Path privateKey) {
        return new TlsOptions(certificateChain, privateKey, null, TlsProfile.INTERMEDIATE);
    }

    /**
     * Returns these options with required client certificates (mTLS). A client without a valid one
     * is rejected.
     *
     * <p>The application gets the client's certificate in {@code x-forwarded-client-cert}. Revoked
     * certificates are rejected if the file has certificate revocation lists (CRLs), too. Then it
     * must have one of each authority in a client's chain, and none that has expired.
     *
     * @param authorities PEM file of the authorities whose certificates are accepted, and of CRLs
     */
    public TlsOptions withClientCertificates(Path authorities) {
        return new TlsOptions(
                certificateChain, privateKey, Objects.requireNonNull(authorities, "authorities"), profile);
    }

    /** Returns these options with a profile. Default: {@link TlsProfile#INTERMEDIATE}. */
    public TlsOptions withProfile(TlsProfile newProfile) {
        return new TlsOptions(certificateChain, privateKey, clientCertificates, newProfile);
    }

    /**
     * The contents of the files.
     *
     * @param chain the certificate chain, the port's own certificate first
     * @param privateKey the private key of the first certificate
     * @param authorities the authorities that issue client certificates; empty if client
     *     certificates are not required
     * @param revocations lists of the certificates that they have revoked; empty if revocation is
     *     not checked
     * @param profile which versions and cipher suites of TLS the port offers
     */
    public record Contents(
            List<X509Certificate> chain,
            PrivateKey privateKey,
            List<X509Certificate> authorities,
            List<X509CRL> revocations,
            TlsProfile profile) {

        /**
         * Creates the contents of a port with {@link TlsProfile#INTERMEDIATE} that ignores
         * revocation.
         */
        public Contents(List<X509Certificate> chain, PrivateKey privateKey, List<X509Certificate> authorities) {
            this(chain, privateKey, authorities, List.of(), TlsProfile.INTERMEDIATE);
        }
    }

    /**
     * Reads the files, and checks that the key belongs to the first certificate of the chain. An
     * expired certificate is no error.
     *
     * @throws java.io.UncheckedIOException if a file cannot be read
     * @throws IllegalArgumentException if the contents are not valid, or if the key belongs to
     *     another certificate
     */
    public Contents load() {
        PemFile chain = PemFile.read("certificate chain", certificateChain);
        PrivateKey key = PemFile.read("private key", privateKey).keyOf(chain);
        if (clientCertificates == null) {
            return new Contents(chain.chain(), key, List.of(), List.of(), profile);
        }
        PemFile authorities = PemFile.read("client certificate authorities", clientCertificates);
        return new Contents(chain.chain(), key, authorities.certificates(), authorities.revocations(), profile);
    }
}
