package io.lambdadispatcher.core.internal.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.options.TlsProfile;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.math.BigInteger;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.cert.Certificate;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManagerFactory;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.CRLReason;
import org.bouncycastle.cert.X509v2CRLBuilder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateHolder;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Clients with certificates, over HTTP/1.1 and HTTP/2. The function answers with the header. */
@EachRelease
class ClientCertificateTest {
    private static final String HEADER = "x-forwarded-client-cert";

    @TempDir
    private Path directory;

    private final RecordingObserver observer = new RecordingObserver();
    private X509Bundle server;
    private X509Bundle authority;
    private X509Bundle known;
    private X509Bundle other;
    private Dispatcher dispatcher;

    @BeforeEach
    void certify() throws Exception {
        server = new CertificateBuilder()
                .subject("CN=localhost")
                .setIsCertificateAuthority(true)
                .addSanDnsName("localhost")
                .buildSelfSigned();
        Files.writeString(path("server.pem"), server.getCertificatePathPEM());
        Files.writeString(path("server.key"), server.getPrivateKeyPEM());
        authority = new CertificateBuilder()
                .subject("CN=Clients' authority")
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        known = new CertificateBuilder()
                .subject("CN=Jürgen \\\"J\\\" \\;URI\\=x,O=Shop")
                .serial(BigInteger.TEN)
                .addSanUriName("spiffe://shop/orders;DNS=x")
                .addSanDnsName("orders.example")
                .buildIssuedBy(authority);
        other = new CertificateBuilder()
                .subject("CN=other")
                .serial(BigInteger.TWO)
                .buildIssuedBy(authority);
        Files.writeString(path("clients.pem"), authority.getCertificatePEM());
    }

    @AfterEach
    void close() throws Exception {
        if (dispatcher != null) {
            dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        }
    }

    private Path path(String name) {
        return directory.resolve(name);
    }

    private URI start(ForwardingPolicy forwarding, TlsProfile profile) {
        TlsOptions tls = TlsOptions.of(path("server.pem"), path("server.key"))
                .withClientCertificates(path("clients.pem"))
                .withProfile(profile);
        dispatcher = Dispatcher.builder()
                .function(FunctionOptions.builder("f").build())
                .direct("f", DirectOptions.of(DirectEventFormat.REST_API))
                .invoker(new FakeFunction(event -> FakeFunction.JSON
                        .createObjectNode()
                        .put("statusCode", 200)
                        .put(
                                "body",
                                event.path("multiValueHeaders").path(HEADER).toString())
                        .toString()))
                .forwarding(forwarding)
                .observer(observer)
                .publicListener(ListenerOptions.tls("127.0.0.1", 0, tls))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .start();
        return URI.create(
                "https://localhost:" + dispatcher.publicAddresses().get(0).getPort());
    }

    private HttpClient client(Version version, X509Bundle own, String... protocols) throws Exception {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null, null);
        trusted.setCertificateEntry("server", server.getCertificate());
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        KeyStore keys = KeyStore.getInstance(KeyStore.getDefaultType());
        keys.load(null, null);
        keys.setKeyEntry("own", own.getKeyPair().getPrivate(), new char[0], new Certificate[] {
            own.getCertificate(), authority.getCertificate()
        });
        KeyManagerFactory key = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        key.init(keys, new char[0]);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(key.getKeyManagers(), trust.getTrustManagers(), null);
        HttpClient.Builder builder = HttpClient.newBuilder().version(version).sslContext(context);
        if (protocols.length > 0) {
            builder.sslParameters(new SSLParameters(null, protocols));
        }
        return builder.build();
    }

    private static String get(HttpClient client, URI uri) throws Exception {
        return client.send(
                        HttpRequest.newBuilder(uri)
                                .timeout(Duration.ofSeconds(20))
                                .header(HEADER, "Subject=\"CN=root\"")
                                .header("X-Forwarded-Client-Cert", "Subject=\"CN=root\"")
                                .build(),
                        BodyHandlers.ofString())
                .body();
    }

    /** Nothing that a client sends itself is passed on, whatever the policy trusts. */
    @ParameterizedTest
    @EnumSource(Version.class)
    void should_tell_the_application_and_observers_who_has_connected(Version version) throws Exception {
        ForwardingPolicy trusting = ForwardingPolicy.builder()
                .trust(ForwardingPolicy.Trust.APPEND)
                .trustedHeaders(List.of(HEADER))
                .build();
        URI uri = start(trusting, TlsProfile.INTERMEDIATE);
        HttpClient client = client(version, known);
        byte[] digest = MessageDigest.getInstance("SHA-256")
                .digest(known.getCertificate().getEncoded());

        String told = get(client, uri);
        get(client, uri);

        List<String> values = new ArrayList<>();
        FakeFunction.JSON.readTree(told).forEach(value -> values.add(value.asString()));
        assertThat(values).hasSize(1);
        String value = values.get(0);
        assertThat(value)
                .startsWith("Hash=" + HexFormat.of().formatHex(digest) + ";Subject=\"")
                .doesNotContain("root")
                .contains(
                        "CN=J\\c3\\bcrgen \\22J\\22", ";URI=\"spiffe://shop/orders;DNS=x\"", ";DNS=\"orders.example\"");
        assertThat(value.replaceAll("\"[^\"]*\"", "").split(";"))
                .as("no name can look like another element")
                .hasSize(4);
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        assertThat(observer.ends)
                .hasSize(2)
                .allSatisfy(end -> assertThat(end.headers().get(HEADER)).hasToString(value));
    }

    private static String pem(String label, byte[] bytes) {
        return "-----BEGIN " + label + "-----\n" + Base64.getMimeEncoder().encodeToString(bytes) + "\n-----END " + label
                + "-----\n";
    }

    private String revocationList(Instant expiry, X509Bundle... revoked) throws Exception {
        X500Name issuer = new JcaX509CertificateHolder(authority.getCertificate()).getSubject();
        X509v2CRLBuilder list =
                new X509v2CRLBuilder(issuer, Date.from(Instant.now().minusSeconds(7200)));
        list.setNextUpdate(Date.from(expiry));
        for (X509Bundle each : revoked) {
            list.addCRLEntry(each.getCertificate().getSerialNumber(), new Date(), CRLReason.keyCompromise);
        }
        return pem(
                "X509 CRL",
                list.build(new JcaContentSignerBuilder("SHA256withECDSA")
                                .build(authority.getKeyPair().getPrivate()))
                        .getEncoded());
    }

    @Test
    void should_refuse_a_certificate_that_its_authority_has_revoked() throws Exception {
        Instant later = Instant.now().plusSeconds(3600);
        Files.writeString(path("clients.pem"), authority.getCertificatePEM() + revocationList(later, known));
        URI uri = start(ForwardingPolicy.defaults(), TlsProfile.INTERMEDIATE);

        assertThat(get(client(Version.HTTP_2, other), uri)).contains("CN=other");
        HttpClient revoked = client(Version.HTTP_2, known);
        assertThatThrownBy(() -> get(revoked, uri)).isInstanceOf(IOException.class);

        // A reload puts a newer list in force.
        Files.writeString(path("clients.pem"), authority.getCertificatePEM() + revocationList(later, known, other));
        TlsOptions tls =
                TlsOptions.of(path("server.pem"), path("server.key")).withClientCertificates(path("clients.pem"));
        dispatcher.change().publicTls(0, tls).apply();
        assertThatThrownBy(() -> get(client(Version.HTTP_1_1, other), uri)).isInstanceOf(IOException.class);
    }

    @Test
    void should_refuse_everybody_if_the_revocation_list_has_expired() throws Exception {
        Files.writeString(
                path("clients.pem"),
                authority.getCertificatePEM() + revocationList(Instant.now().minusSeconds(3600), known));
        URI uri = start(ForwardingPolicy.defaults(), TlsProfile.INTERMEDIATE);

        assertThatThrownBy(() -> get(client(Version.HTTP_2, other), uri)).isInstanceOf(IOException.class);
    }

    @ParameterizedTest
    @EnumSource(TlsProfile.class)
    void should_offer_the_versions_of_its_profile(TlsProfile profile) throws Exception {
        URI uri = start(ForwardingPolicy.defaults(), profile);

        assertThat(get(client(Version.HTTP_2, other, "TLSv1.3"), uri)).contains("CN=other");
        HttpClient older = client(Version.HTTP_2, other, "TLSv1.2");
        if (profile == TlsProfile.MODERN) {
            assertThatThrownBy(() -> get(older, uri)).isInstanceOf(IOException.class);
        } else {
            assertThat(get(older, uri)).contains("CN=other");
        }
    }
}
