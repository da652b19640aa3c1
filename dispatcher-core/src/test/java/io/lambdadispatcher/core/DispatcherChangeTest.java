package io.lambdadispatcher.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.FunctionInvoker;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Changes options of a running dispatcher, whose functions are invoked directly. */
class DispatcherChangeTest {
    private static final String HEAD_ENDS = "\r\n\r\n";

    @TempDir
    private Path directory;

    private final BlockingQueue<CompletableFuture<FunctionInvoker.InvokeResult>> slow = new LinkedBlockingQueue<>();
    private final RecordingLauncher launches = new RecordingLauncher();
    private X509Bundle first;
    private Dispatcher dispatcher;

    /** Answers with the name of the function, {@code slow} only when it is told to. */
    private CompletionStage<FunctionInvoker.InvokeResult> invoke(String function, byte[] event) {
        if (function.equals("slow")) {
            CompletableFuture<FunctionInvoker.InvokeResult> result = new CompletableFuture<>();
            slow.add(result);
            return result;
        }
        return CompletableFuture.completedFuture(answer(function));
    }

    private static FunctionInvoker.InvokeResult answer(String function) {
        String json = "{\"statusCode\":200,\"body\":\"" + function + "\"}";
        return new FunctionInvoker.InvokeResult(200, null, json.getBytes(StandardCharsets.UTF_8));
    }

    @BeforeEach
    void start() throws Exception {
        first = write("first");
        DirectOptions direct = DirectOptions.of(DirectEventFormat.HTTP_API_V2);
        dispatcher = Dispatcher.builder()
                .function(FunctionOptions.of("blue"))
                .function(FunctionOptions.of("slow"))
                .function(FunctionOptions.builder("launched")
                        .capacity(CapacityPolicy.fixed(1))
                        .build())
                .direct("blue", direct)
                .direct("slow", direct)
                .invoker(this::invoke)
                .launcher("launched", launches)
                .router(head -> RouteTarget.of("blue"))
                .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                .publicListener(ListenerOptions.tls("127.0.0.1", 0, tls("first")))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .eventLoops(2)
                .start();
    }

    @AfterEach
    void close() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    private X509Bundle write(String name) throws Exception {
        X509Bundle bundle = new CertificateBuilder()
                .subject("CN=localhost")
                .ecp256()
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        Files.writeString(directory.resolve(name + ".pem"), bundle.getCertificatePathPEM());
        Files.writeString(directory.resolve(name + ".key"), bundle.getPrivateKeyPEM());
        return bundle;
    }

    private TlsOptions tls(String name) {
        return TlsOptions.of(directory.resolve(name + ".pem"), directory.resolve(name + ".key"));
    }

    private Socket connect() throws IOException {
        Socket socket = new Socket(
                InetAddress.getLoopbackAddress(),
                dispatcher.publicAddresses().get(0).getPort());
        socket.setSoTimeout(10_000);
        return socket;
    }

    private SSLSocket handshake() throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
        SSLSocket socket = (SSLSocket) context.getSocketFactory()
                .createSocket(
                        InetAddress.getLoopbackAddress(),
                        dispatcher.publicAddresses().get(1).getPort());
        socket.setSoTimeout(10_000);
        socket.startHandshake();
        return socket;
    }

    private static Certificate certificate(SSLSocket socket) throws IOException {
        return socket.getSession().getPeerCertificates()[0];
    }

    private static void send(Socket socket, String more) throws IOException {
        socket.getOutputStream()
                .write(("GET / HTTP/1.1\r\nhost: localhost\r\n" + more + "\r\n").getBytes(StandardCharsets.US_ASCII));
    }

    /** Returns the status line and the body. */
    private static String receive(Socket socket) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf(HEAD_ENDS) < 0) {
            int read = socket.getInputStream().read();
            assertThat(read).as("the connection was closed after: %s", head).isNotNegative();
            head.append((char) read);
        }
        int length = Integer.parseInt(head.toString().replaceAll("(?is).*content-length: (\\d+).*", "$1"));
        byte[] body = socket.getInputStream().readNBytes(length);
        return head.substring(0, head.indexOf("\r\n")) + ": " + new String(body, StandardCharsets.UTF_8);
    }

    private static String exchange(Socket socket) throws IOException {
        send(socket, "");
        return receive(socket);
    }

    @Test
    void should_route_later_requests_and_leave_those_in_flight() throws Exception {
        dispatcher.change().router(head -> RouteTarget.of("slow")).apply();
        try (Socket before = connect();
                Socket after = connect()) {
            send(before, "");
            CompletableFuture<FunctionInvoker.InvokeResult> inFlight = slow.poll(10, TimeUnit.SECONDS);
            assertThat(inFlight).isNotNull();

            dispatcher.change().router(head -> RouteTarget.of("blue")).apply();

            assertThat(exchange(after)).isEqualTo("HTTP/1.1 200 OK: blue");
            inFlight.complete(answer("slow"));
            assertThat(receive(before)).isEqualTo("HTTP/1.1 200 OK: slow");
            assertThat(exchange(before)).isEqualTo("HTTP/1.1 200 OK: blue");
        }
    }

    /** Otherwise, clients could escape limits: those of a function, of a route, and of a router. */
    @Test
    void should_limit_by_a_header_that_the_client_nominates() throws Exception {
        TrafficPolicy limited = TrafficPolicy.builder()
                .admission(AdmissionPolicy.builder("test")
                        .rateLimit(RateLimit.of(1, Duration.ofHours(1)).perHeader("x-api-key"))
                        .build())
                .build();
        dispatcher
                .change()
                .function(FunctionOptions.builder("blue").traffic(limited).build())
                .router(new RequestRouter() {
                    @Override
                    public RouteTarget route(Http2Headers head) {
                        return head.contains("x-version") ? RouteTarget.of("blue") : null;
                    }

                    @Override
                    public Set<String> requestHeaders() {
                        return Set.of("x-version");
                    }
                })
                .apply();
        String statuses = "";
        for (String key : List.of("a", "a", "b", "b")) {
            try (Socket client = connect()) {
                send(client, "x-version: 1\r\nx-api-key: " + key + "\r\nconnection: x-api-key, x-version\r\n");
                statuses += receive(client).split(" ")[1] + " ";
            }
        }
        assertThat(statuses).isEqualTo("200 429 200 429 ");
    }

    @Test
    void should_show_new_connections_the_new_certificate_and_keep_the_old_ones() throws Exception {
        try (SSLSocket before = handshake()) {
            X509Bundle second = write("second");
            dispatcher.change().publicTls(1, tls("second")).apply();
            try (SSLSocket after = handshake()) {
                assertThat(certificate(before)).isEqualTo(first.getCertificate());
                assertThat(certificate(after)).isEqualTo(second.getCertificate());
                assertThat(exchange(before)).isEqualTo("HTTP/1.1 200 OK: blue");
                assertThat(exchange(after)).isEqualTo("HTTP/1.1 200 OK: blue");
            }
        }
    }

    @Test
    void should_change_nothing_if_one_thing_is_wrong() throws Exception {
        write("second");
        Files.copy(directory.resolve("first.key"), directory.resolve("mixed.key"));
        Files.copy(directory.resolve("second.pem"), directory.resolve("mixed.pem"));

        assertThatThrownBy(() -> dispatcher
                        .change()
                        .router(head -> RouteTarget.of("slow"))
                        .function(FunctionOptions.builder("launched")
                                .capacity(CapacityPolicy.fixed(5))
                                .build())
                        .publicTls(1, tls("mixed"))
                        .apply())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("got another key");

        try (Socket client = connect();
                SSLSocket secure = handshake()) {
            assertThat(exchange(client)).isEqualTo("HTTP/1.1 200 OK: blue");
            assertThat(certificate(secure)).isEqualTo(first.getCertificate());
        }
        launches.next();
        assertThat(launches.workers.poll(1500, TimeUnit.MILLISECONDS))
                .as("a second launch")
                .isNull();
    }

    @Test
    void should_change_nothing_if_the_new_router_fails() throws Exception {
        RequestRouter faulty = new RequestRouter() {
            @Override
            public RouteTarget route(Http2Headers head) {
                return RouteTarget.of("slow");
            }

            @Override
            public Set<String> requestHeaders() {
                throw new IllegalStateException("no headers");
            }
        };

        assertThatThrownBy(() -> dispatcher.change().router(faulty).apply()).hasMessage("no headers");

        try (Socket client = connect()) {
            assertThat(exchange(client)).isEqualTo("HTTP/1.1 200 OK: blue");
        }
    }

    @Test
    void should_launch_as_many_workers_as_the_new_policy_says() throws Exception {
        launches.next();

        dispatcher
                .change()
                .function(FunctionOptions.builder("launched")
                        .capacity(CapacityPolicy.fixed(3))
                        .build())
                .apply();

        launches.next();
        launches.next();
    }

    @Test
    void should_limit_new_connections_and_leave_open_ones() throws Exception {
        try (Socket before = connect()) {
            exchange(before);
            dispatcher
                    .change()
                    .limits(HttpLimits.builder()
                            .maxHeaders(8)
                            .maxConnectionsPerAddress(2)
                            .build())
                    .apply();
            try (Socket after = connect()) {
                assertThat(exchange(after)).startsWith("HTTP/1.1 200");
                try (Socket tooMany = connect()) {
                    assertThatThrownBy(() -> exchange(tooMany)).isInstanceOf(SocketException.class);
                }
                String headers = "a: 1\r\n".repeat(20);
                send(before, headers);
                assertThat(receive(before)).startsWith("HTTP/1.1 200");
                send(after, headers);
                assertThat(receive(after)).startsWith("HTTP/1.1 431");
            }
        }
    }

    @Test
    void should_refuse_what_a_running_dispatcher_cannot_do() {
        assertThatThrownBy(() ->
                        dispatcher.change().function(FunctionOptions.of("new")).apply())
                .hasMessage("function: 'new', expected the name of one of [blue, slow, launched]");
        assertThatThrownBy(() -> dispatcher
                        .change()
                        .function(FunctionOptions.builder("blue")
                                .streamsPerConnection(7)
                                .build())
                        .apply())
                .hasMessageContaining("expected the connections and streams of a worker not to change");
        assertThatThrownBy(() -> dispatcher
                        .change()
                        .function(FunctionOptions.builder("blue")
                                .capacity(CapacityPolicy.fixed(1))
                                .build())
                        .apply())
                .hasMessageContaining("does not launch its workers");
        assertThatThrownBy(() -> dispatcher.change().publicTls(0, tls("first")).apply())
                .hasMessage("publicTls: listener 0, expected the index of a public listener that has TLS");
        assertThatThrownBy(() -> dispatcher.change().workerTls(tls("first")).apply())
                .hasMessage("workerTls: expected a worker listener that has TLS already");
    }
}
