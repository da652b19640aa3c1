package io.lambdadispatcher.core.internal.engine;

import io.lambdadispatcher.core.options.TlsOptions;
import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.OpenSsl;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * TLS of listeners, with OpenSSL if netty-tcnative is on the class path, otherwise with the JDK.
 * TLS 1.3 and 1.2. Any thread.
 */
public final class TlsContexts {
    private TlsContexts() {}

    /**
     * Returns the context for clients: h2 or HTTP/1.1 by ALPN, and HTTP/1.1 for clients without
     * ALPN.
     *
     * @throws UncheckedIOException if a file cannot be read
     * @throws IllegalArgumentException if a file does not contain what is expected
     */
    public static SslContext forClients(TlsOptions tls) {
        return build(tls, ApplicationProtocolNames.HTTP_2, ApplicationProtocolNames.HTTP_1_1);
    }

    /**
     * Returns the context for workers: h2 only. Throws the same exceptions as {@link #forClients}.
     */
    public static SslContext forWorkers(TlsOptions tls) {
        return build(tls, ApplicationProtocolNames.HTTP_2);
    }

    private static SslContext build(TlsOptions tls, String... protocols) {
        verifyReadable("certificate chain", tls.certificateChain());
        verifyReadable("private key", tls.privateKey());
        try {
            SslContextBuilder builder = SslContextBuilder.forServer(
                            tls.certificateChain().toFile(), tls.privateKey().toFile())
                    .sslProvider(OpenSsl.isAvailable() ? SslProvider.OPENSSL : SslProvider.JDK)
                    .protocols("TLSv1.3", "TLSv1.2")
                    .ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
                    .applicationProtocolConfig(new ApplicationProtocolConfig(
                            Protocol.ALPN,
                            SelectorFailureBehavior.NO_ADVERTISE,
                            SelectedListenerFailureBehavior.ACCEPT,
                            protocols));
            Path authorities = tls.clientCertificates();
            if (authorities != null) {
                verifyReadable("client certificate authorities", authorities);
                builder.trustManager(authorities.toFile()).clientAuth(ClientAuth.REQUIRE);
            }
            return builder.build();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException(
                    "TLS with certificate chain " + tls.certificateChain() + " and private key " + tls.privateKey()
                            + " (PEM, PKCS #8, not encrypted): " + e.getMessage(),
                    e);
        }
    }

    private static void verifyReadable(String what, Path file) {
        if (!Files.isReadable(file)) {
            throw new UncheckedIOException(new IOException(what + " file " + file + " cannot be read"));
        }
    }
}
