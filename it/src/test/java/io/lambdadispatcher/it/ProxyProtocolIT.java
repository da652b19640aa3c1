package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.core.testkit.RecordingObserver.Start;
import io.netty.buffer.ByteBufUtil;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Clients behind a network load balancer, with sockets and TLS. There is no worker, so each request
 * gets 503.
 */
class ProxyProtocolIT {
    private static final int PLAIN = 2;
    private static final int TLS = 3;

    /** 198.51.100.7, port 8000, in version 2. */
    private static final byte[] HEADER =
            ByteBufUtil.decodeHexDump("0d0a0d0a000d0a515549540a" + "2111000c" + "c6336407" + "0a010101" + "1f4001bb");

    private static final byte[] REQUEST =
            "GET /ping HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

    /** The preface, SETTINGS, and the headers of a GET (RFC 7541 appendix C.3.1). */
    private static final byte[] HTTP2_REQUEST =
            ByteBufUtil.decodeHexDump("505249202a20485454502f322e300d0a0d0a534d0d0a0d0a" + "000000040000000000"
                    + "000014010500000001" + "828684410f7777772e6578616d706c652e636f6d");

    private static final RecordingObserver observer = new RecordingObserver();
    private static Rig rig;
    private static SSLContext trust;

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        X509Bundle certificate = new CertificateBuilder()
                .subject("CN=localhost")
                .ecp256()
                .setIsCertificateAuthority(true)
                .addSanDnsName("localhost")
                .buildSelfSigned();
        Path chain = Files.writeString(directory.resolve("cert.pem"), certificate.getCertificatePathPEM());
        Path key = Files.writeString(directory.resolve("key.pem"), certificate.getPrivateKeyPEM());
        trust = trust(certificate);
        rig = Rig.start(
                Rig.function().queue(0, Duration.ZERO).build(),
                observer,
                builder -> builder.publicListener(
                                ListenerOptions.plain("127.0.0.1", 0).withProxyProtocol())
                        .publicListener(ListenerOptions.tls("127.0.0.1", 0, TlsOptions.of(chain, key))
                                .withProxyProtocol()));
    }

    @AfterAll
    static void stop() throws Exception {
        rig.close();
    }

    private static SSLContext trust(X509Bundle certificate) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        store.setCertificateEntry("dispatcher", certificate.getCertificate());
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, factory.getTrustManagers(), null);
        return context;
    }

    private static Socket connect(int listener) throws IOException {
        Socket socket = new Socket(
                "127.0.0.1", rig.dispatcher.publicAddresses().get(listener).getPort());
        socket.setSoTimeout(60_000);
        return socket;
    }

    private static SSLSocket secured(Socket socket, String protocol) throws IOException {
        SSLSocket secured =
                (SSLSocket) trust.getSocketFactory().createSocket(socket, "localhost", socket.getPort(), true);
        SSLParameters parameters = secured.getSSLParameters();
        parameters.setApplicationProtocols(new String[] {protocol});
        secured.setSSLParameters(parameters);
        secured.startHandshake();
        return secured;
    }

    private static String http1(Socket socket) throws IOException {
        socket.getOutputStream().write(REQUEST);
        return new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
    }

    /** Returns the type of the first frame on stream 1. */
    private static int http2(Socket socket) throws IOException {
        socket.getOutputStream().write(HTTP2_REQUEST);
        DataInputStream in = new DataInputStream(socket.getInputStream());
        while (true) {
            int bytesAndType = in.readInt();
            in.readByte();
            int stream = in.readInt();
            in.readFully(new byte[bytesAndType >>> 8]);
            if (stream == 1) {
                return bytesAndType & 0xff;
            }
        }
    }

    private static void expectClient() throws InterruptedException {
        Start start = observer.starts.poll(60, TimeUnit.SECONDS);
        assertThat(start.remoteAddress()).hasToString("/198.51.100.7:8000");
        assertThat(start.headers().get("x-forwarded-for")).hasToString("198.51.100.7");
    }

    @Test
    void should_know_the_client_without_tls() throws Exception {
        try (Socket socket = connect(PLAIN)) {
            socket.getOutputStream().write(HEADER);
            assertThat(http1(socket)).startsWith("HTTP/1.1 503 ");
            expectClient();
        }
        try (Socket socket = connect(PLAIN)) {
            socket.getOutputStream().write(HEADER);
            assertThat(http2(socket)).as("HEADERS").isEqualTo(1);
            expectClient();
        }
    }

    @Test
    void should_know_the_client_with_tls() throws Exception {
        try (Socket socket = connect(TLS)) {
            socket.getOutputStream().write(HEADER);
            assertThat(http1(secured(socket, "http/1.1"))).startsWith("HTTP/1.1 503 ");
            expectClient();
        }
        try (Socket socket = connect(TLS)) {
            socket.getOutputStream().write(HEADER);
            assertThat(http2(secured(socket, "h2"))).as("HEADERS").isEqualTo(1);
            expectClient();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {PLAIN, TLS})
    void should_close_a_connection_without_a_header(int listener) throws Exception {
        try (Socket socket = connect(listener)) {
            socket.getOutputStream().write(REQUEST);
            assertThat(readToEnd(socket)).isZero();
            assertThat(observer.protections.poll(60, TimeUnit.SECONDS)).isEqualTo(Protection.PROXY_HEADER);
            assertThat(observer.starts).isEmpty();
        }
    }

    /** Returns the number of bytes. The end may be a reset, because not all bytes were read. */
    private static int readToEnd(Socket socket) {
        try {
            return socket.getInputStream().readAllBytes().length;
        } catch (IOException e) {
            return 0;
        }
    }
}
