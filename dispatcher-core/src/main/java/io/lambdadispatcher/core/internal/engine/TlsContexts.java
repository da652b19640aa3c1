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
     * @throws java.io.UncheckedIOException if a file cannot be read
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
        TlsOptions.Contents contents = tls.load();
        SslContextBuilder builder = SslContextBuilder.forServer(contents.privateKey(), contents.chain())
                .sslProvider(OpenSsl.isAvailable() ? SslProvider.OPENSSL : SslProvider.JDK)
                .protocols("TLSv1.3", "TLSv1.2")
                .ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
                .applicationProtocolConfig(new ApplicationProtocolConfig(
                        Protocol.ALPN,
                        SelectorFailureBehavior.NO_ADVERTISE,
                        SelectedListenerFailureBehavior.ACCEPT,
                        protocols));
        if (!contents.authorities().isEmpty()) {
            builder.trustManager(contents.authorities()).clientAuth(ClientAuth.REQUIRE);
        }
        try {
            return builder.build();
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    "TLS with certificate chain " + tls.certificateChain() + " and private key " + tls.privateKey()
                            + ": " + e.getMessage(),
                    e);
        }
    }
}
