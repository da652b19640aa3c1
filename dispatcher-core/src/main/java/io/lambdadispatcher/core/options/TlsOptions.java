package io.lambdadispatcher.core.options;

import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * TLS of a listener. OpenSSL serves it where netty-tcnative is on the class path, else the JDK.
 *
 * @param certificateChain PEM file, the listener's own certificate first
 * @param privateKey PEM file, PKCS #8, not encrypted
 * @param clientCertificates PEM file of the authorities whose client certificates are demanded (mTLS); {@code null} = none demanded
 */
public record TlsOptions(
        Path certificateChain, Path privateKey, @Nullable Path clientCertificates) {
    public TlsOptions {
        Objects.requireNonNull(certificateChain, "certificateChain");
        Objects.requireNonNull(privateKey, "privateKey");
    }
}
