package io.lambdadispatcher.core.internal.direct;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.HeaderBytes;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Tests direct requests with real HTTP/1.1 and HTTP/2 clients, a dispatcher, and a function in this
 * process instead of AWS.
 */
class DirectPathTest {
    private static final int MIB = 1024 * 1024;

    @TempDir
    private Path directory;

    private final FakeFunction function = new FakeFunction(FakeFunction::echo);
    private final List<Dispatcher> started = new ArrayList<>();
    private X509Bundle certificate;

    @BeforeEach
    void certify() throws Exception {
        certificate = new CertificateBuilder()
                .subject("CN=localhost")
                .ecp256()
                .setIsCertificateAuthority(true)
                .addSanDnsName("localhost")
                .buildSelfSigned();
        Files.writeString(directory.resolve("cert.pem"), certificate.getCertificatePathPEM());
        Files.writeString(directory.resolve("key.pem"), certificate.getPrivateKeyPEM());
    }

    @AfterEach
    void close() throws Exception {
        for (Dispatcher dispatcher : started) {
            dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        }
    }

    private URI start(DirectOptions options) {
        return start(options, 2);
    }

    private URI start(DirectOptions options, int eventLoops) {
        TlsOptions tls = TlsOptions.of(directory.resolve("cert.pem"), directory.resolve("key.pem"));
        Dispatcher dispatcher = Dispatcher.builder()
                .function(FunctionOptions.builder("f")
                        .workerTimeout(Duration.ofSeconds(20))
                        .build())
                .direct("f", options)
                .invoker(function)
                .publicListener(ListenerOptions.tls("127.0.0.1", 0, tls))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .eventLoops(eventLoops)
                .start();
        started.add(dispatcher);
        return URI.create(
                "https://localhost:" + dispatcher.publicAddresses().get(0).getPort());
    }

    private URI start(DirectEventFormat shape) {
        return start(DirectOptions.of(shape));
    }

    /** The function reads text, and the client gets the UTF-8 of the text that it returns. */
    @ParameterizedTest
    @EnumSource
    void should_carry_any_bytes_as_text(DirectEventFormat format) throws Exception {
        List<String> read = new CopyOnWriteArrayList<>();
        function.handler = event -> {
            String text = FakeFunction.first(event, "x-a");
            read.add(text + event.at("/path").asString(event.at("/rawPath").asString("")));
            ObjectNode response = FakeFunction.JSON.createObjectNode().put("statusCode", 200);
            response.putObject("headers").put("x-b", text);
            response.putObject("multiValueHeaders").putArray("x-b").add(text);
            return response.toString();
        };
        Dispatcher dispatcher = Dispatcher.builder()
                .function(FunctionOptions.of("f"))
                .direct("f", DirectOptions.of(format))
                .invoker(function)
                .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .eventLoops(1)
                .start();
        started.add(dispatcher);
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int i = 0; i < 50; i++) {
            byte[] bytes = HeaderBytes.random(random);
            String text = HeaderBytes.text(bytes);
            String latin1 = new String(bytes, StandardCharsets.ISO_8859_1);
            String round = format + ", round " + i + " of seed " + seed;
            try (Socket socket =
                    new Socket("127.0.0.1", dispatcher.publicAddresses().get(0).getPort())) {
                socket.setSoTimeout(60_000);
                String request =
                        "GET /" + latin1 + " HTTP/1.1\r\nHost: a\r\nX-A: " + latin1 + "\r\nConnection: close\r\n\r\n";
                socket.getOutputStream().write(request.getBytes(StandardCharsets.ISO_8859_1));
                assertThat(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
                        .as(round)
                        .startsWith("HTTP/1.1 200 ")
                        .contains("\r\nx-b: " + text + "\r\n");
            }
            assertThat(read.get(i)).as(round).isEqualTo(text + "/" + text);
        }
    }

    private HttpClient client(Version version) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        store.setCertificateEntry("dispatcher", certificate.getCertificate());
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return HttpClient.newBuilder().version(version).sslContext(context).build();
    }

    private static HttpRequest.Builder request(URI base, String path) {
        return HttpRequest.newBuilder(base.resolve(path)).timeout(Duration.ofSeconds(20));
    }

    private static byte[] random(int length) {
        byte[] bytes = new byte[length];
        new Random(length).nextBytes(bytes);
        return bytes;
    }

    static Stream<Arguments> shapesAndVersions() {
        return Stream.of(DirectEventFormat.values())
                .flatMap(shape -> Stream.of(Version.HTTP_1_1, Version.HTTP_2).map(v -> Arguments.of(shape, v)));
    }

    @ParameterizedTest
    @MethodSource("shapesAndVersions")
    void should_give_back_every_byte(DirectEventFormat shape, Version version) throws Exception {
        HttpClient client = client(version);
        URI base = start(shape);
        byte[] text = "grün \u2028 \"\\\n\0 😀".repeat(3000).getBytes(StandardCharsets.UTF_8);
        for (byte[] body : List.of(new byte[0], random(1), random(70_001), random(750_000), text)) {
            for (String type : List.of("application/octet-stream", "text/plain;charset=utf-8", "application/json")) {
                HttpResponse<byte[]> response = client.send(
                        request(base, "/echo")
                                .header("Content-Type", type)
                                .POST(BodyPublishers.ofByteArray(body))
                                .build(),
                        BodyHandlers.ofByteArray());

                assertThat(response.version()).isEqualTo(version);
                assertThat(response.statusCode()).isEqualTo(200);
                assertThat(response.headers().firstValue("content-type")).hasValue(type);
                assertThat(response.body()).isEqualTo(body);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"HTTP_1_1", "HTTP_2"})
    void should_refuse_at_the_limits_and_serve_the_next_request(Version version) throws Exception {
        HttpClient client = client(version);
        URI base = start(DirectEventFormat.HTTP_API_V2);
        int fits = (6 * MIB - 4096) / 4 * 3;

        assertThat(post(client, base, fits).body()).isEqualTo(random(fits));
        assertThat(post(client, base, 6 * MIB / 4 * 3).statusCode()).isEqualTo(413);
        assertThat(post(client, base, 10).body()).isEqualTo(random(10));
    }

    /**
     * The body is so small that the client has sent all of it before the dispatcher, which answers
     * after the headers, closes the connection. Java's HTTP/2 client is not tested: it hangs if a
     * response arrives before it has sent its body (RFC 9113 section 8.1).
     */
    @Test
    void should_refuse_a_body_that_is_announced_as_too_large() throws Exception {
        HttpClient client = client(Version.HTTP_1_1);
        URI base = start(DirectOptions.builder(DirectEventFormat.HTTP_API_V2)
                .maxBodyBytes(1000)
                .build());

        assertThat(post(client, base, 1001).statusCode()).isEqualTo(413);
        assertThat(function.invoked).isEmpty();
        assertThat(post(client, base, 1000).body()).isEqualTo(random(1000));
    }

    private static HttpResponse<byte[]> post(HttpClient client, URI base, int length) throws Exception {
        return client.send(
                request(base, "/")
                        .POST(BodyPublishers.ofByteArray(random(length)))
                        .build(),
                BodyHandlers.ofByteArray());
    }

    @ParameterizedTest
    @EnumSource(names = {"HTTP_1_1", "HTTP_2"})
    void should_refuse_a_response_that_is_too_large(Version version) throws Exception {
        HttpClient client = client(version);
        URI base = start(DirectEventFormat.HTTP_API_V2);
        String frame = "{\"statusCode\":200,\"body\":\"\"}";
        int fits = 6 * MIB - frame.length();
        function.handler = event -> {
            int length = Integer.parseInt(event.at("/rawQueryString").asString());
            return frame.replace("\"\"", "\"" + "x".repeat(length) + "\"");
        };

        assertThat(get(client, base, "/?" + fits).body()).hasSize(fits);
        assertThat(get(client, base, "/?" + (fits + 1)).statusCode()).isEqualTo(502);
    }

    private static HttpResponse<String> get(HttpClient client, URI base, String path) throws Exception {
        return client.send(request(base, path).build(), BodyHandlers.ofString());
    }

    @ParameterizedTest
    @EnumSource(names = {"HTTP_1_1", "HTTP_2"})
    void should_carry_cookies_and_headers_both_ways(Version version) throws Exception {
        List<JsonNode> events = new ArrayList<>();
        function.handler = event -> {
            events.add(event);
            return "{\"statusCode\":418,\"headers\":{\"X-A\":\"1, 2\",\"Connection\":\"close\"},"
                    + "\"cookies\":[\"a=1; Path=/\",\"b=2\"],\"body\":\"tea\"}";
        };
        URI base = start(DirectEventFormat.HTTP_API_V2);
        HttpResponse<String> response = client(version)
                .send(
                        request(base, "/p/a?x=1&x=2")
                                .header("Cookie", "s=1; t=2")
                                .header("X-Forwarded-For", "6.6.6.6")
                                .build(),
                        BodyHandlers.ofString());

        assertThat(response.statusCode()).isEqualTo(418);
        assertThat(response.body()).isEqualTo("tea");
        assertThat(response.headers().allValues("set-cookie")).containsExactly("a=1; Path=/", "b=2");
        assertThat(response.headers().firstValue("x-a")).hasValue("1, 2");
        assertThat(response.headers().firstValue("connection")).isEmpty();
        JsonNode event = events.get(0);
        assertThat(event.at("/cookies").toString()).isEqualTo("[\"s=1\",\"t=2\"]");
        assertThat(event.at("/requestContext/http/sourceIp").asString()).isEqualTo("127.0.0.1");
        assertThat(event.at("/headers/host").asString()).isEqualTo(base.getAuthority());
        assertThat(event.at("/headers/x-forwarded-proto").asString()).isEqualTo("https");
        assertThat(event.at("/rawQueryString").asString()).isEqualTo("x=1&x=2");
    }

    @ParameterizedTest
    @MethodSource("shapesAndVersions")
    void should_send_no_body_where_there_is_none(DirectEventFormat shape, Version version) throws Exception {
        function.handler = event -> "{\"statusCode\":" + path(event).substring(1) + ",\"body\":\"four\"}";
        HttpClient client = client(version);
        URI base = start(shape);

        HttpResponse<String> head = client.send(
                request(base, "/200").method("HEAD", BodyPublishers.noBody()).build(), BodyHandlers.ofString());

        assertThat(head.headers().firstValue("content-length")).hasValue("4");
        assertThat(head.body()).isEmpty();
        assertThat(get(client, base, "/204").body()).isEmpty();
        assertThat(get(client, base, "/304").body()).isEmpty();
        assertThat(get(client, base, "/200").body()).isEqualTo("four");
    }

    private static String path(JsonNode event) {
        return event.path("rawPath").asString(event.path("path").asString(""));
    }

    @ParameterizedTest
    @EnumSource(names = {"HTTP_1_1", "HTTP_2"})
    void should_answer_502_for_a_response_that_is_none(Version version) throws Exception {
        function.handler = event -> "{\"statusCode\":200,\"headers\":{\"a\":\"x\\r\\nset-cookie: evil=1\"}}";
        HttpResponse<String> response = get(client(version), start(DirectEventFormat.ALB), "/");

        assertThat(response.statusCode()).isEqualTo(502);
        assertThat(response.headers().firstValue("set-cookie")).isEmpty();
        assertThat(response.body()).isEqualTo("the handler's response is malformed\n");
    }

    /**
     * Uses one event loop. With two, a request could arrive before the previous response is known
     * to be read.
     */
    @ParameterizedTest
    @MethodSource("shapesAndVersions")
    void should_count_every_call_off_however_it_ends(DirectEventFormat shape, Version version) throws Exception {
        URI base =
                start(DirectOptions.builder(shape).maxConcurrentInvocations(1).build(), 1);
        HttpClient client = client(version);
        List<String> responses = List.of(
                "{\"statusCode\":200,\"body\":\"" + "x".repeat(700_000) + "\"}",
                "{\"statusCode\":204}",
                "{\"statusCode\":205,\"body\":\"x\"}",
                "{\"statusCode\":101,\"body\":\"x\"}",
                "{\"statusCode\":200,\"isBase64Encoded\":true,\"body\":\"*\"}",
                "{\"statusCode\":200,\"headers\":{\"content-length\":\"1\",\"Content-Length\":\"2\"},"
                        + "\"multiValueHeaders\":{\"content-length\":[\"1\",\"2\"]},\"body\":\"four\"}");
        for (int i = 0; i < 2; i++) {
            for (String json : responses) {
                function.handler = event -> json;
                for (String method : List.of("GET", "HEAD")) {
                    HttpResponse<String> response = client.send(
                            request(base, "/")
                                    .method(method, BodyPublishers.noBody())
                                    .build(),
                            BodyHandlers.ofString());
                    assertThat(response.statusCode()).as(json).isIn(200, 204, 205, 502);
                    assertThat(response.headers().allValues("content-length")).hasSizeLessThan(2);
                }
            }
            stopReading(client(version), base);
        }
    }

    /** Receives the headers of a response and disconnects without reading the rest. */
    private void stopReading(HttpClient client, URI base) throws Exception {
        function.handler = event -> "{\"statusCode\":200,\"body\":\"" + "x".repeat(1_000_000) + "\"}";
        HttpResponse<InputStream> response = client.send(request(base, "/").build(), BodyHandlers.ofInputStream());
        assertThat(response.statusCode()).isEqualTo(200);
        response.body().close();
        Await.until("a place is free", () -> {
            try {
                return get(client, base, "/").statusCode() == 200;
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    @Test
    void should_overflow_where_there_is_no_worker() throws Exception {
        URI base = start(DirectOptions.builder(DirectEventFormat.ALB)
                .spilloverAfter(Duration.ofMillis(20))
                .build());

        HttpResponse<String> response = get(client(Version.HTTP_2), base, "/");

        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(function.invoked).containsExactly("f");
    }

    @Test
    void should_not_overflow_while_launching_is_switched_off() throws Exception {
        Dispatcher dispatcher = Dispatcher.builder()
                .function(FunctionOptions.builder("f")
                        .capacity(CapacityPolicy.between(0, 1))
                        .queue(10, Duration.ofMillis(500))
                        .build())
                .launcher(new RecordingLauncher())
                .direct(
                        "f",
                        DirectOptions.builder(DirectEventFormat.ALB)
                                .spilloverAfter(Duration.ofMillis(20))
                                .build())
                .invoker(function)
                .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .start();
        started.add(dispatcher);
        URI base = URI.create(
                "http://127.0.0.1:" + dispatcher.publicAddresses().get(0).getPort());
        dispatcher.setLaunching("f", false);
        Await.until(
                "launching is paused",
                () -> "launching is paused by the kill switch"
                        .equals(dispatcher.capacity().get(0).blockedReason()));

        assertThat(get(client(Version.HTTP_1_1), base, "/").statusCode()).isEqualTo(503);
        assertThat(function.invoked).isEmpty();

        dispatcher.setLaunching("f", true);
        Await.until("launching is resumed", () -> dispatcher.capacity().get(0).blockedReason() == null);
        assertThat(get(client(Version.HTTP_1_1), base, "/").statusCode()).isEqualTo(200);
        assertThat(function.invoked).containsExactly("f");
    }

    @Test
    void should_say_what_is_missing() {
        Function<DispatcherBuilder, Dispatcher> start = builder -> builder.function(FunctionOptions.of("f"))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .start();
        DirectOptions options = DirectOptions.of(DirectEventFormat.ALB);

        assertThatThrownBy(() -> start.apply(Dispatcher.builder().direct("f", options)))
                .hasMessage("invoker: not set, expected an invoker for the direct function 'f'");
        assertThatThrownBy(
                        () -> start.apply(Dispatcher.builder().invoker(function).direct("g", options)))
                .hasMessage("direct: 'g', expected the name of one of the functions");
    }

    /**
     * An event cannot carry a tunnel. The client gets an error, and the function is not invoked.
     */
    @Test
    void should_answer_501_to_a_websocket() throws Exception {
        URI base = start(DirectEventFormat.ALB);
        CompletableFuture<WebSocket> socket = client(Version.HTTP_1_1)
                .newWebSocketBuilder()
                .buildAsync(URI.create(base.toString().replaceFirst("^https", "wss")), new WebSocket.Listener() {});
        assertThat(socket)
                .failsWithin(Duration.ofSeconds(20))
                .withThrowableThat()
                .havingCause()
                .isInstanceOfSatisfying(
                        WebSocketHandshakeException.class,
                        refusal ->
                                assertThat(refusal.getResponse().statusCode()).isEqualTo(501));
    }
}
