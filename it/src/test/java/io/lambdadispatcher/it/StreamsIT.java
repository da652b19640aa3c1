package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.it.Http2Connection.Stream;
import io.lambdadispatcher.wire.testkit.Await;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Tests what happens during a message: single events, 100 (Continue), trailers, and the drain of
 * the worker.
 */
@Timeout(240)
class StreamsIT {
    private static final Map<String, String> STREAMS =
            Map.of("LAMBDA_DISPATCHER_HANDLER", StreamsHandler.class.getName());

    private static Rig rig;

    @BeforeAll
    static void start() {
        rig = Rig.start();
        rig.worker(1, 20, STREAMS);
    }

    @AfterAll
    static void stop() throws Exception {
        rig.close();
    }

    @AfterEach
    void should_leave_nothing_behind() {
        rig.awaitAllFree();
    }

    private static URI uri(Rig of, HttpClient.Version version, String path) {
        return version == HttpClient.Version.HTTP_2 ? of.https(path) : of.http(path);
    }

    private static void tick() throws Exception {
        HttpRequest request = HttpRequest.newBuilder(rig.http("/tick")).build();
        assertThat(rig.client(HttpClient.Version.HTTP_1_1)
                        .send(request, BodyHandlers.discarding())
                        .statusCode())
                .isEqualTo(204);
    }

    /**
     * The handler creates an event only after the test has seen the previous one. If any part on
     * the way buffers an event, the test stops.
     */
    private static void seeEachEventBeforeTheNext(BufferedReader lines) throws Exception {
        for (int i = 0; i < 5; i++) {
            tick();
            String line = lines.readLine();
            while (!line.startsWith("data: event ")) {
                line = lines.readLine();
            }
        }
    }

    private static BufferedReader lines(InputStream in) {
        return new BufferedReader(new InputStreamReader(in, StandardCharsets.US_ASCII));
    }

    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void should_deliver_events_one_by_one(HttpClient.Version version) throws Exception {
        HttpResponse<InputStream> response = rig.client(version)
                .send(HttpRequest.newBuilder(uri(rig, version, "/events")).build(), BodyHandlers.ofInputStream());
        assertThat(response.headers().firstValue("content-type")).contains("text/event-stream");
        try (BufferedReader lines = lines(response.body())) {
            seeEachEventBeforeTheNext(lines);
        }
    }

    @Test
    void should_deliver_events_one_by_one_to_a_raw_socket() throws Exception {
        try (Socket socket = socket()) {
            socket.getOutputStream()
                    .write("GET /events HTTP/1.1\r\nHost: a\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            BufferedReader lines = lines(socket.getInputStream());
            while (!lines.readLine().isEmpty()) {}
            seeEachEventBeforeTheNext(lines);
        }
    }

    @Test
    void should_deliver_events_one_by_one_to_curl() throws Exception {
        Process curl;
        try {
            curl = new ProcessBuilder("curl", "-sN", rig.http("/events").toString()).start();
        } catch (IOException e) {
            assumeTrue(false, "curl is not here: " + e.getMessage());
            return;
        }
        // The handler must have the request, because an event before that would be lost.
        HttpClient client = rig.client(HttpClient.Version.HTTP_1_1);
        Await.until("curl listens", () -> listening(client).equals("1"));
        try (BufferedReader lines = lines(curl.getInputStream())) {
            seeEachEventBeforeTheNext(lines);
        } finally {
            curl.destroyForcibly().waitFor();
        }
    }

    private static String listening(HttpClient client) {
        try {
            HttpRequest request = HttpRequest.newBuilder(rig.http("/listening")).build();
            return client.send(request, BodyHandlers.ofString()).body();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Socket socket() throws IOException {
        Socket socket = new Socket("127.0.0.1", rig.plainPort());
        socket.setSoTimeout(60_000);
        return socket;
    }

    private static String until(InputStream in, String end) throws IOException {
        StringBuilder text = new StringBuilder();
        while (text.indexOf(end) < 0) {
            int value = in.read();
            assertThat(value).as("byte after '" + text + "'").isNotNegative();
            text.append((char) value);
        }
        return text.toString();
    }

    @Test
    void should_ask_for_the_body_over_http1() throws Exception {
        try (Socket socket = socket()) {
            socket.getOutputStream()
                    .write("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
                            .getBytes(StandardCharsets.US_ASCII));
            assertThat(until(socket.getInputStream(), "\r\n\r\n")).startsWith("HTTP/1.1 100 ");
            socket.getOutputStream().write("body".getBytes(StandardCharsets.US_ASCII));
            assertThat(until(socket.getInputStream(), "\r\n0\r\n"))
                    .startsWith("HTTP/1.1 200 ")
                    .contains("body");
        }
    }

    @Test
    void should_ask_for_the_body_over_http2() throws Exception {
        try (Http2Connection connection = Http2Connection.to(rig)) {
            Stream stream = connection.open(post().set("expect", "100-continue"), false);
            assertThat(stream.status()).isEqualTo("100");
            stream.send("body", true);
            assertThat(stream.status()).isEqualTo("200");
            assertThat(stream.text(4)).isEqualTo("body");
            stream.awaitEnd();
        }
    }

    private static Http2Headers post() {
        return new DefaultHttp2Headers(false)
                .method("POST")
                .scheme("http")
                .authority("a")
                .path("/echo");
    }

    @Test
    void should_pass_trailers_both_ways_over_http1() throws Exception {
        try (Socket socket = socket()) {
            socket.getOutputStream()
                    .write(
                            ("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\nTE: trailers\r\nConnection: TE\r\n\r\n"
                                            + "4\r\nbody\r\n0\r\nX-Sum: 42\r\nContent-Length: 7\r\n\r\n")
                                    .getBytes(StandardCharsets.US_ASCII));
            String head = until(socket.getInputStream(), "\r\n\r\n");
            assertThat(head).startsWith("HTTP/1.1 200 ").containsIgnoringCase("transfer-encoding: chunked");
            String rest = until(socket.getInputStream(), "\r\n\r\n");
            assertThat(rest)
                    .startsWith("4\r\nbody\r\n0\r\n")
                    .contains("x-sum: 42")
                    .doesNotContain("7");
        }
    }

    @Test
    void should_pass_trailers_both_ways_over_http2() throws Exception {
        try (Http2Connection connection = Http2Connection.to(rig)) {
            Stream stream = connection.open(post().set("te", "trailers"), false);
            stream.send("body");
            stream.sendTrailers(
                    new DefaultHttp2Headers(false).set("x-sum", "42").add("x-sum", "43"));
            assertThat(stream.status()).isEqualTo("200");
            assertThat(stream.text(4)).isEqualTo("body");
            Http2Headers trailers = stream.head();
            assertThat(trailers.getAll("x-sum")).hasToString("[42, 43]");
            assertThat(trailers).hasSize(2);
            stream.awaitEnd();
        }
    }

    /**
     * SIGTERM drains the worker. The stream sends a last event and ends, and then the worker ends.
     */
    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void should_tell_a_long_stream_that_the_worker_must_go(HttpClient.Version version) throws Exception {
        try (Rig other = Rig.start()) {
            Process worker = other.process(1, 4, STREAMS);
            HttpResponse<InputStream> events = other.client(version)
                    .send(HttpRequest.newBuilder(uri(other, version, "/events")).build(), BodyHandlers.ofInputStream());
            HttpResponse<InputStream> blocking = other.client(version)
                    .send(
                            HttpRequest.newBuilder(uri(other, version, "/blocking"))
                                    .build(),
                            BodyHandlers.ofInputStream());
            assertThat(blocking.body().read()).isEqualTo('m');
            CompletableFuture<byte[]> rest = CompletableFuture.supplyAsync(() -> {
                try {
                    return blocking.body().readAllBytes();
                } catch (IOException e) {
                    throw new java.io.UncheckedIOException(e);
                }
            });
            worker.destroy();
            assertThat(events.body().readAllBytes())
                    .asString(StandardCharsets.US_ASCII)
                    .isEqualTo("event: drain\ndata: some\n\n");
            assertThat(rest.get(60, TimeUnit.SECONDS))
                    .asString(StandardCharsets.US_ASCII)
                    .endsWith("told 2 times, some true");
            assertThat(worker.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(worker.exitValue()).isZero();
        }
    }

    /**
     * The streams end before the grace period is over, although the clients stay connected. (The
     * JDK's HTTP/2 client cancels all streams at the first GOAWAY.)
     */
    @Test
    void should_tell_long_streams_that_the_dispatcher_goes() throws Exception {
        String last = "event: drain\ndata: some\n\n";
        Rig other = Rig.start();
        other.worker(1, 4, STREAMS);
        try (Http2Connection connection = Http2Connection.to(other)) {
            Stream stream = connection.open(
                    new DefaultHttp2Headers(false)
                            .method("GET")
                            .scheme("http")
                            .authority("a")
                            .path("/events"),
                    true);
            assertThat(stream.status()).isEqualTo("200");
            HttpResponse<InputStream> events = other.client(HttpClient.Version.HTTP_1_1)
                    .send(HttpRequest.newBuilder(other.http("/events")).build(), BodyHandlers.ofInputStream());
            // In half of this grace period, clients may disconnect by themselves. In the rest, the
            // worker drains.
            other.dispatcher.close(Duration.ofSeconds(10)).toCompletableFuture().get(60, TimeUnit.SECONDS);
            assertThat(stream.text(last.length())).isEqualTo(last);
            stream.awaitEnd();
            assertThat(events.body().readAllBytes())
                    .asString(StandardCharsets.US_ASCII)
                    .isEqualTo(last);
        } finally {
            other.close();
        }
    }

    /**
     * The deadline is 15 s away. The drain begins earlier. The request waits for the worker,
     * because its time could be over before a client on a busy machine has connected.
     */
    @Test
    void should_tell_a_long_stream_that_the_deadline_is_near() throws Exception {
        FunctionOptions patient =
                Rig.function().queue(10, Duration.ofSeconds(60)).build();
        try (Rig other = Rig.start(patient, DispatcherObserver.NONE)) {
            CompletableFuture<HttpResponse<InputStream>> events = other.client(HttpClient.Version.HTTP_2)
                    .sendAsync(HttpRequest.newBuilder(other.https("/events")).build(), BodyHandlers.ofInputStream());
            Await.until("the request waits", () -> other.pool().queued() == 1);
            other.worker(
                    2,
                    4,
                    Map.of(
                            "LAMBDA_DISPATCHER_HANDLER",
                            StreamsHandler.class.getName(),
                            "LAMBDA_DISPATCHER_DEADLINE_MILLIS",
                            "15000"));
            assertThat(events.get(60, TimeUnit.SECONDS).body().readAllBytes())
                    .asString(StandardCharsets.US_ASCII)
                    .isEqualTo("event: drain\ndata: some\n\n");
        }
    }
}
