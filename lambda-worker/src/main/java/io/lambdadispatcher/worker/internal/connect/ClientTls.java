package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.tls.PemFile;
import io.lambdadispatcher.wire.worker.PortKey;
import io.lambdadispatcher.worker.config.WorkerTls;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http2.Http2SecurityUtil;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SupportedCipherSuiteFilter;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/**
 * TLS for connections to the dispatcher, with ALPN for HTTP/2. Loaded only if TLS is used. Any
 * thread.
 */
public final class ClientTls {
    private final SslContext context;
    /** {@code null} = the name of the host that is dialled, which its certificate must have. */
    private final @Nullable String serverName;

    private ClientTls(SslContext context, @Nullable String serverName) {
        this.context = context;
        this.serverName = serverName;
    }

    /** @throws IllegalArgumentException if a file cannot be read, or has the wrong content */
    public static ClientTls of(WorkerTls tls) {
        try {
            SslContextBuilder builder = SslContextBuilder.forClient()
                    .keyStoreType(PemFile.keyStoreType())
                    .ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
                    .applicationProtocolConfig(new ApplicationProtocolConfig(
                            Protocol.ALPN,
                            SelectorFailureBehavior.NO_ADVERTISE,
                            SelectedListenerFailureBehavior.ACCEPT,
                            ApplicationProtocolNames.HTTP_2));
            trust(builder, tls);
            present(builder, tls);
            // A dispatcher that has several keys shows the one that is asked for.
            return new ClientTls(
                    builder.build(),
                    tls.trust() == WorkerTls.Trust.FINGERPRINT
                            ? PortKey.serverName(tls.fingerprints().get(0))
                            : null);
        } catch (SSLException | UncheckedIOException | IllegalArgumentException e) {
            throw new IllegalArgumentException("TLS cannot be set up: " + PrintableText.ofFailure(e), e);
        }
    }

    private static void trust(SslContextBuilder builder, WorkerTls tls) {
        switch (tls.trust()) {
            case PEM ->
                builder.trustManager(PemFile.read("certificate authorities", Path.of(tls.trustDetail()))
                        .certificates());
            case PEM_TEXT ->
                builder.trustManager(PemFile.ofText("certificate authorities", tls.trustDetail())
                        .certificates());
            case FINGERPRINT -> builder.trustManager(new PinnedTrustManager(tls.fingerprints()));
            case SYSTEM -> {}
        }
    }

    private static void present(SslContextBuilder builder, WorkerTls tls) {
        Path certificate = tls.certificate();
        Path key = tls.key();
        if (certificate != null && key != null) {
            PemFile chain = PemFile.read("client certificate", certificate);
            builder.keyManager(PemFile.read("private key", key).keyOf(chain), chain.chain());
        }
    }

    SslHandler newHandler(ByteBufAllocator allocator, InetSocketAddress peer) {
        // A certificate with the expected key is accepted whatever names it has.
        String algorithm = serverName == null ? "HTTPS" : "";
        SslHandler handler =
                context.newHandler(allocator, serverName == null ? peer.getHostString() : serverName, peer.getPort());
        SSLParameters parameters = handler.engine().getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm(algorithm);
        handler.engine().setSSLParameters(parameters);
        return handler;
    }
}
