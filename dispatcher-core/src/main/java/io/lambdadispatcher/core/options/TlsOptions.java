package io.lambdadispatcher.core.options;

import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * TLS of a listener. OpenSSL serves it if netty-tcnative is on the class path, otherwise the JDK
 * does. Immutable.
 */
public final class TlsOptions {
    private final Path certificateChain;
    private final Path privateKey;
    private final @Nullable Path clientCertificates;

    private TlsOptions(Path certificateChain, Path privateKey, @Nullable Path clientCertificates) {
        this.certificateChain = Objects.requireNonNull(certificateChain, "certificateChain");
        this.privateKey = Objects.requireNonNull(privateKey, "privateKey");
        this.clientCertificates = clientCertificates;
    }

    /**
     * Returns options that require no client certificates.
     *
     * @param certificateChain PEM file that begins with the listener's own certificate
     * @param privateKey PEM file, PKCS #8, not encrypted
     */
    public static TlsOptions of(Path certificateChain, Path privateKey) {
        return new TlsOptions(certificateChain, privateKey, null);
    }

    /**
     * Requires a client certificate (mTLS).
     *
     * @param authorities PEM file of the authorities that may have issued it
     */
    public TlsOptions withClientCertificates(Path authorities) {
        return new TlsOptions(certificateChain, privateKey, Objects.requireNonNull(authorities, "authorities"));
    }

    public Path certificateChain() {
        return certificateChain;
    }

    public Path privateKey() {
        return privateKey;
    }

    /**
     * Returns the PEM file of the authorities, or {@code null} if no client certificates are
     * required.
     */
    public @Nullable Path clientCertificates() {
        return clientCertificates;
    }
}
