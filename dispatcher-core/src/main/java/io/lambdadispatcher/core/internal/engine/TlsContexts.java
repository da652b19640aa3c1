package io.lambdadispatcher.core.internal.engine;

import io.lambdadispatcher.core.internal.worker.PortIdentities;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.options.TlsProfile;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.tls.PemFile;
import io.lambdadispatcher.wire.worker.CertificateWriter;
import io.lambdadispatcher.wire.worker.PortKey;
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
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.cert.CertPathBuilder;
import java.security.cert.CertStore;
import java.security.cert.CollectionCertStoreParameters;
import java.security.cert.PKIXBuilderParameters;
import java.security.cert.PKIXRevocationChecker;
import java.security.cert.TrustAnchor;
import java.security.cert.X509CRL;
import java.security.cert.X509CertSelector;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Date;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import javax.net.ssl.CertPathTrustManagerParameters;
import javax.net.ssl.TrustManagerFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * TLS of listeners, with OpenSSL if netty-tcnative is on the class path, otherwise with the JDK.
 * Any thread.
 */
public final class TlsContexts {
    private static final Logger log = LoggerFactory.getLogger(TlsContexts.class);

    /** Workers pin the key, so nothing depends on it. */
    private static final Duration VALIDITY = Duration.ofDays(3660);

    private TlsContexts() {}

    /**
     * Returns the context for clients: h2 or HTTP/1.1 by ALPN, and HTTP/1.1 for clients without
     * ALPN.
     *
     * @throws java.io.UncheckedIOException if a file cannot be read
     * @throws IllegalArgumentException if a file does not contain what is expected
     */
    public static SslContext forClients(TlsOptions tls) {
        return build(tls.load(), ApplicationProtocolNames.HTTP_2, ApplicationProtocolNames.HTTP_1_1);
    }

    /**
     * Returns the key of a worker port with files. Throws the same exceptions as {@link
     * #forClients}.
     */
    public static PortIdentities forWorkers(TlsOptions tls) {
        return identities(List.of(tls.load()));
    }

    /** Returns a key for each secret, from which it is derived, in the same order. */
    public static PortIdentities forWorkers(List<byte[]> secrets) {
        return identities(secrets.stream().map(TlsContexts::selfSigned).toList());
    }

    private static PortIdentities identities(List<TlsOptions.Contents> all) {
        return new PortIdentities(
                all.stream()
                        .map(contents -> build(contents, ApplicationProtocolNames.HTTP_2))
                        .toList(),
                all.stream()
                        .map(contents ->
                                PortKey.fingerprint(contents.chain().get(0).getPublicKey()))
                        .toList());
    }

    private static TlsOptions.Contents selfSigned(byte[] secret) {
        KeyPair keys = PortKey.of(secret);
        try {
            X509Certificate certificate =
                    CertificateWriter.selfSigned(keys, "lambda-dispatcher", VALIDITY, List.of(), List.of());
            return new TlsOptions.Contents(List.of(certificate), keys.getPrivate(), List.of());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("cannot certify the key of the worker port: " + e.getMessage(), e);
        }
    }

    private static SslContext build(TlsOptions.Contents contents, String... protocols) {
        SslContextBuilder builder = SslContextBuilder.forServer(contents.privateKey(), contents.chain())
                .keyStoreType(PemFile.keyStoreType())
                .sslProvider(OpenSsl.isAvailable() ? SslProvider.OPENSSL : SslProvider.JDK)
                .protocols(
                        contents.profile() == TlsProfile.MODERN
                                ? new String[] {"TLSv1.3"}
                                : new String[] {"TLSv1.3", "TLSv1.2"})
                .ciphers(Http2SecurityUtil.CIPHERS, SupportedCipherSuiteFilter.INSTANCE)
                .applicationProtocolConfig(new ApplicationProtocolConfig(
                        Protocol.ALPN,
                        SelectorFailureBehavior.NO_ADVERTISE,
                        SelectedListenerFailureBehavior.ACCEPT,
                        protocols));
        try {
            if (!contents.authorities().isEmpty()) {
                builder.clientAuth(ClientAuth.REQUIRE);
                if (contents.revocations().isEmpty()) {
                    builder.trustManager(contents.authorities());
                } else {
                    builder.trustManager(checkingRevocation(contents));
                }
            }
            return builder.build();
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalArgumentException(
                    "TLS with a certificate of " + contents.chain().get(0).getSubjectX500Principal() + ": "
                            + PrintableText.ofFailure(e),
                    e);
        }
    }

    /**
     * Only the lists in the file count: nothing is fetched while a client connects. A certificate
     * whose authority has no list, or only an expired one, is rejected.
     */
    private static TrustManagerFactory checkingRevocation(TlsOptions.Contents contents)
            throws GeneralSecurityException {
        for (X509CRL list : contents.revocations()) {
            Date next = list.getNextUpdate();
            if (next != null && next.before(new Date())) {
                log.error(
                        "The revocation list of {} expired at {}, so its clients are rejected. Replace the file.",
                        list.getIssuerX500Principal(),
                        next.toInstant());
            }
        }
        Set<TrustAnchor> anchors = contents.authorities().stream()
                .map(authority -> new TrustAnchor(authority, null))
                .collect(Collectors.toSet());
        PKIXBuilderParameters parameters = new PKIXBuilderParameters(anchors, new X509CertSelector());
        parameters.addCertStore(
                CertStore.getInstance("Collection", new CollectionCertStoreParameters(contents.revocations())));
        PKIXRevocationChecker checker =
                (PKIXRevocationChecker) CertPathBuilder.getInstance("PKIX").getRevocationChecker();
        checker.setOptions(
                EnumSet.of(PKIXRevocationChecker.Option.PREFER_CRLS, PKIXRevocationChecker.Option.NO_FALLBACK));
        parameters.addCertPathChecker(checker);
        TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
        factory.init(new CertPathTrustManagerParameters(parameters));
        return factory;
    }
}
