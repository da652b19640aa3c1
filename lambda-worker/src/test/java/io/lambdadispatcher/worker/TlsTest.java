package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.lambdadispatcher.wire.worker.PortKey;
import io.lambdadispatcher.worker.config.Credential;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.config.WorkerTls;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.ApplicationProtocolConfig.Protocol;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectedListenerFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolConfig.SelectorFailureBehavior;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.bouncycastle.asn1.pkcs.PrivateKeyInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@EachRelease
@Timeout(180)
class TlsTest {
    private static final X509Bundle SELF_SIGNED = selfSigned("127.0.0.1");

    private static X509Bundle selfSigned(String name) {
        try {
            return new CertificateBuilder()
                    .subject("CN=" + name)
                    .setIsCertificateAuthority(true)
                    .addSanIpAddress("127.0.0.1")
                    .buildSelfSigned();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private static SslContext server(ClientAuth clientAuth, X509Bundle clients) throws Exception {
        return SslContextBuilder.forServer(SELF_SIGNED.getKeyPair().getPrivate(), SELF_SIGNED.getCertificatePath())
                .clientAuth(clientAuth)
                .trustManager(clients.getCertificate())
                .applicationProtocolConfig(new ApplicationProtocolConfig(
                        Protocol.ALPN,
                        SelectorFailureBehavior.NO_ADVERTISE,
                        SelectedListenerFailureBehavior.ACCEPT,
                        ApplicationProtocolNames.HTTP_2))
                .build();
    }

    private static String fingerprint(X509Bundle bundle) {
        return PortKey.fingerprint(bundle.getCertificate().getPublicKey());
    }

    private static void assertServes(SslContext server, WorkerTls tls) throws Exception {
        try (Harness harness =
                new Harness(new ScriptedDispatcher(server), new PongHandler(), config -> config.tls(tls))) {
            assertThat(harness.stream().exchange(get("/ping")).text()).isEqualTo("pong");
        }
    }

    @Test
    void should_trust_a_public_key_by_its_fingerprint() throws Exception {
        String own = fingerprint(SELF_SIGNED);
        assertServes(server(ClientAuth.NONE, SELF_SIGNED), WorkerTls.fingerprint(own));
        assertServes(
                server(ClientAuth.NONE, SELF_SIGNED), WorkerTls.fingerprint(fingerprint(selfSigned("b")) + "," + own));
    }

    @Test
    void should_trust_authorities_from_a_file_and_show_a_certificate(@TempDir Path files) throws Exception {
        X509Bundle client = selfSigned("worker");
        Path trust = Files.writeString(files.resolve("trust.pem"), SELF_SIGNED.getCertificatePEM());
        Path certificate = Files.writeString(files.resolve("client.pem"), client.getCertificatePEM());
        Path key = Files.writeString(files.resolve("client.key"), client.getPrivateKeyPEM());
        assertServes(server(ClientAuth.REQUIRE, client), WorkerTls.pem(trust).withClientCertificate(certificate, key));
    }

    /** In the older format of EC keys, as cert-manager writes it. */
    @Test
    void should_show_a_certificate_with_a_key_in_sec1(@TempDir Path files) throws Exception {
        X509Bundle client = selfSigned("worker");
        Path certificate = Files.writeString(files.resolve("client.pem"), client.getCertificatePEM());
        byte[] sec1 = PrivateKeyInfo.getInstance(
                        client.getKeyPair().getPrivate().getEncoded())
                .parsePrivateKey()
                .toASN1Primitive()
                .getEncoded();
        Path key = Files.writeString(
                files.resolve("client.key"),
                "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
                        + "-----BEGIN EC PRIVATE KEY-----\n"
                        + Base64.getEncoder().encodeToString(sec1) + "\n-----END EC PRIVATE KEY-----\n");
        assertServes(
                server(ClientAuth.REQUIRE, client),
                WorkerTls.fingerprint(fingerprint(SELF_SIGNED)).withClientCertificate(certificate, key));
    }

    @Test
    void should_name_the_file_that_it_cannot_use_and_nothing_else(@TempDir Path files) throws Exception {
        X509Bundle own = selfSigned("worker");
        Path certificate = Files.writeString(files.resolve("client.pem"), own.getCertificatePEM());
        Path key = Files.writeString(files.resolve("client.key"), own.getPrivateKeyPEM());
        Path other = Files.writeString(
                files.resolve("other.key"), selfSigned("other").getPrivateKeyPEM());
        Path missing = files.resolve("missing.pem");

        assertRefused(
                WorkerTls.system().withClientCertificate(certificate, other),
                "TLS cannot be set up: private key file " + other
                        + ": expected the key of the first certificate in client certificate file " + certificate
                        + ", got another key");
        assertRefused(
                WorkerTls.system().withClientCertificate(key, key),
                "TLS cannot be set up: client certificate file " + key
                        + ": expected certificates in PEM, got only PRIVATE KEY");
        assertRefused(
                WorkerTls.pem(missing),
                "TLS cannot be set up: certificate authorities file " + missing
                        + " cannot be read: java.nio.file.NoSuchFileException: " + missing);
        assertRefused(
                WorkerTls.pemText("-----BEGIN CERTIFICATE-----\nAAAA"),
                "TLS cannot be set up: certificate authorities: expected -----END CERTIFICATE----- after the block that"
                        + " begins in line 1, got none");
    }

    private static void assertRefused(WorkerTls tls, String message) {
        WorkerConfig config = WorkerConfig.builder(
                        "f",
                        new Credential.Secret("a-secret-for-tests-only"),
                        List.of(new InetSocketAddress("127.0.0.1", 1)))
                .tls(tls)
                .build();
        assertThatThrownBy(() -> new Worker(config, new PongHandler()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void should_trust_authorities_that_came_with_the_payload() throws Exception {
        assertServes(server(ClientAuth.NONE, SELF_SIGNED), WorkerTls.pemText(SELF_SIGNED.getCertificatePEM()));
    }

    @Test
    void should_not_talk_to_a_dispatcher_it_does_not_trust() throws Exception {
        ScriptedDispatcher dispatcher = new ScriptedDispatcher(server(ClientAuth.NONE, SELF_SIGNED));
        WorkerTls otherCertificate = WorkerTls.fingerprint(fingerprint(selfSigned("other")));
        try (Harness harness = new Harness(
                dispatcher,
                new PongHandler(),
                config -> config.tls(otherCertificate)
                        .idleTimeout(Duration.ZERO)
                        .drainGrace(Duration.ofSeconds(1))
                        .loneTimeout(Duration.ofMillis(500)))) {
            WorkerSummary summary =
                    harness.worker.done().toCompletableFuture().get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
            assertThat(summary.connections()).isZero();
        }
    }

    @Test
    void should_say_that_a_port_does_not_speak_tls() throws Exception {
        LoggedLines log = LoggedLines.of(Worker.class.getPackageName(), Level.WARN);
        try (log;
                Harness harness = new Harness(
                        new ScriptedDispatcher(),
                        new PongHandler(),
                        config -> config.tls(WorkerTls.fingerprint(fingerprint(SELF_SIGNED)))
                                .idleTimeout(Duration.ZERO)
                                .drainGrace(Duration.ofSeconds(1))
                                .loneTimeout(Duration.ofMillis(500)))) {
            harness.summary();
        }
        assertThat(log.messages()).anyMatch(line -> line.contains("not an SSL/TLS record"));
    }
}
