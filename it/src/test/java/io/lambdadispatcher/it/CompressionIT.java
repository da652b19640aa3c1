package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.compression.CompressionPolicy;
import io.lambdadispatcher.compression.ContentEncoding;
import io.lambdadispatcher.compression.ResponseCompression;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.micrometer.DispatcherMetrics;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.compression.BrotliDecoder;
import io.netty.handler.codec.compression.JdkZlibDecoder;
import io.netty.handler.codec.compression.ZlibWrapper;
import io.netty.handler.codec.compression.ZstdDecoder;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Compressed responses over HTTP/1.1 and HTTP/2, with a worker and real clients. */
@Timeout(240)
class CompressionIT {
    private static final byte[] JSON =
            "{\"customer\": \"street\", \"price\": 12.50},\n".repeat(200).getBytes(StandardCharsets.US_ASCII);
    private static final int LARGE_PARTS = 512;
    private static final int EVENTS = 20;

    private final RecordingObserver observer = new RecordingObserver();

    private Rig rig() {
        CompressionPolicy policy = CompressionPolicy.builder()
                .encodings(List.of(ContentEncoding.ZSTD, ContentEncoding.BR, ContentEncoding.GZIP))
                .build();
        return Rig.start(
                FunctionOptions.builder("demo")
                        .streamsPerConnection(16)
                        .traffic(TrafficPolicy.builder()
                                .extension(CompressionPolicy.class, policy)
                                .build())
                        .build(),
                observer,
                builder -> builder.filter(new ResponseCompression()));
    }

    /** Returns how much the filter has counted. */
    private List<Long> counts(String event, String encoding) {
        return observer.filterEvents.stream()
                .filter(each -> each.name().equals(event)
                        && encoding.equals(each.labels().get("encoding")))
                .map(FilterEvent::count)
                .toList();
    }

    private static Worker worker(Rig rig) {
        WorkerConfig config = WorkerConfig.of("demo", Rig.SECRET, rig.dispatcher.workerAddress()).toBuilder()
                .plain()
                .streams(16)
                .build();
        Worker worker = new Worker(config, CompressionIT::serve).start();
        Await.until("streams are free", () -> rig.pool().free() == 16);
        return worker;
    }

    private static void serve(Request request, Response response) {
        switch (request.path()) {
            case "/json" -> response.json(200, JSON);
            case "/events" -> {
                response.head(type("text/event-stream"));
                event(request, response, 0);
            }
            case "/large" -> {
                response.head(type("application/json"));
                large(request, response, 0);
            }
            default -> {
                response.head(type("text/plain"));
                response.write(Unpooled.copiedBuffer("broken", StandardCharsets.US_ASCII));
                request.eventLoop()
                        .schedule(
                                () -> response.fail(FailureReason.HANDLER_FAILED, "broken"), 50, TimeUnit.MILLISECONDS);
            }
        }
    }

    private static FlatHeaders type(String type) {
        FlatHeaders head = new FlatHeaders();
        head.status("200");
        head.add("content-type", type);
        return head;
    }

    /** The time in each event tells the client how long it took. */
    private static void event(Request request, Response response, int number) {
        if (number == EVENTS) {
            response.end();
            return;
        }
        response.write(Unpooled.copiedBuffer("data: " + System.nanoTime() + "\n\n", StandardCharsets.US_ASCII));
        request.eventLoop().schedule(() -> event(request, response, number + 1), 20, TimeUnit.MILLISECONDS);
    }

    /** 32 MiB, in parts of 64 KiB, as fast as the client reads. */
    private static void large(Request request, Response response, int from) {
        int part = from;
        boolean writable = true;
        while (part < LARGE_PARTS && writable) {
            writable = response.write(Unpooled.wrappedBuffer(largePart(part)));
            part++;
        }
        if (part == LARGE_PARTS) {
            response.end();
        } else {
            int next = part;
            response.onWritable(() -> {
                response.onWritable(() -> {});
                large(request, response, next);
            });
        }
    }

    private static byte[] largePart(int part) {
        byte[] bytes = new byte[64 * 1024];
        if (part % 4 == 0) {
            new Random(part).nextBytes(bytes);
        } else {
            Arrays.fill(bytes, (byte) part);
        }
        return bytes;
    }

    private static HttpRequest get(HttpClient client, Rig rig, String path, String accepted) {
        return HttpRequest.newBuilder(client.version() == Version.HTTP_2 ? rig.https(path) : rig.http(path))
                .header("accept-encoding", accepted)
                .build();
    }

    private static byte[] decode(String encoding, byte[] bytes) {
        ChannelHandler decoder = switch (encoding) {
            case "gzip" -> new JdkZlibDecoder(ZlibWrapper.GZIP, 0);
            case "br" -> new BrotliDecoder();
            default -> new ZstdDecoder();
        };
        EmbeddedChannel channel = new EmbeddedChannel(decoder);
        channel.writeInbound(Unpooled.wrappedBuffer(bytes));
        channel.finish();
        ByteArrayOutputStream decoded = new ByteArrayOutputStream();
        for (ByteBuf part = channel.readInbound(); part != null; part = channel.readInbound()) {
            byte[] copy = new byte[part.readableBytes()];
            part.readBytes(copy);
            decoded.writeBytes(copy);
            part.release();
        }
        return decoded.toByteArray();
    }

    static Stream<Arguments> clientsAndEncodings() {
        return Stream.of(Version.values())
                .flatMap(version -> Stream.of("gzip", "br", "zstd").map(token -> Arguments.of(version, token)));
    }

    @ParameterizedTest
    @MethodSource("clientsAndEncodings")
    void should_compress_for_each_client(Version version, String encoding) throws Exception {
        try (Rig rig = rig();
                Worker worker = worker(rig)) {
            HttpClient client = rig.client(version);
            for (int i = 0; i < 20; i++) {
                HttpResponse<byte[]> answer =
                        client.send(get(client, rig, "/json", encoding), BodyHandlers.ofByteArray());
                assertThat(answer.version()).isEqualTo(version);
                assertThat(answer.headers().firstValue("content-encoding")).contains(encoding);
                assertThat(answer.headers().firstValue("vary")).contains("accept-encoding");
                assertThat(answer.headers().firstValue("content-length")).isEmpty();
                assertThat(answer.body().length).isLessThan(JSON.length / 10);
                assertThat(decode(encoding, answer.body())).isEqualTo(JSON);
            }
            HttpResponse<byte[]> plain = client.send(get(client, rig, "/json", "identity"), BodyHandlers.ofByteArray());
            assertThat(plain.headers().firstValue("content-encoding")).isEmpty();
            assertThat(plain.headers().firstValue("vary")).contains("accept-encoding");
            assertThat(plain.body()).isEqualTo(JSON);
            assertThat(observer.ends)
                    .extracting(end -> end.contentEncoding() + " " + end.responseBytes())
                    .hasSize(21)
                    .containsOnly(encoding + " " + JSON.length, "null " + JSON.length);
            assertThat(counts("compressed.responses", encoding)).hasSize(20).containsOnly(1L);
            assertThat(counts("compressed.original.body.bytes", encoding)).containsOnly((long) JSON.length);
            assertThat(counts("compressed.body.bytes", encoding)).allMatch(each -> each < JSON.length / 4);
            assertMeters(encoding);
            assertThat(worker.done().toCompletableFuture()).isNotDone();
        }
    }

    /** Dashboards and alerts know these names. */
    private void assertMeters(String encoding) {
        PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
        DispatcherMetrics metrics = new DispatcherMetrics(registry);
        observer.filterEvents.forEach(each -> metrics.onFilterEvent("demo", each));
        String labels = "{encoding=\"" + encoding + "\",function=\"demo\"} ";
        assertThat(registry.scrape())
                .contains("lambda_dispatcher_compressed_responses_total" + labels + "20.0\n")
                .contains("lambda_dispatcher_compressed_original_body_bytes_total" + labels + 20.0 * JSON.length + "\n")
                .contains("lambda_dispatcher_compressed_body_bytes_total" + labels);
    }

    @ParameterizedTest
    @MethodSource("clientsAndEncodings")
    void should_stream_a_large_body_to_a_slow_client(Version version, String encoding) throws Exception {
        try (Rig rig = rig();
                Worker worker = worker(rig)) {
            HttpClient client = rig.client(version);
            HttpResponse<InputStream> answer =
                    client.send(get(client, rig, "/large", encoding), BodyHandlers.ofInputStream());
            ByteArrayOutputStream read = new ByteArrayOutputStream();
            try (InputStream in = answer.body()) {
                byte[] part = new byte[100_000];
                for (int bytes = in.read(part); bytes >= 0; bytes = in.read(part)) {
                    read.write(part, 0, bytes);
                    if (read.size() % 64 == 0) {
                        Await.nanoTime(System.nanoTime() + 2_000_000); // A slow client.
                    }
                }
            }
            byte[] decoded = decode(encoding, read.toByteArray());
            assertThat(decoded).hasSize(LARGE_PARTS * 64 * 1024);
            for (int part = 0; part < LARGE_PARTS; part++) {
                assertThat(Arrays.equals(decoded, part * 65536, (part + 1) * 65536, largePart(part), 0, 65536))
                        .as("part " + part)
                        .isTrue();
            }
            Await.until("streams are free", () -> rig.pool().free() == 16);
            assertThat(worker.done().toCompletableFuture()).isNotDone();
        }
    }

    /** A reader of the JDK would wait for more than one line. */
    private static String line(InputStream in) throws IOException {
        StringBuilder line = new StringBuilder();
        for (int c = in.read(); c != '\n'; c = in.read()) {
            assertThat(c).isNotNegative();
            line.append((char) c);
        }
        return line.toString();
    }

    /** Without a flush for each event, the client would get them all at the end. */
    @ParameterizedTest
    @EnumSource(Version.class)
    void should_pass_on_each_event_within_milliseconds(Version version) throws Exception {
        try (Rig rig = rig();
                Worker worker = worker(rig)) {
            HttpClient client = rig.client(version);
            HttpResponse<InputStream> answer =
                    client.send(get(client, rig, "/events", "gzip"), BodyHandlers.ofInputStream());
            assertThat(answer.headers().firstValue("content-encoding")).contains("gzip");
            long[] nanos = new long[EVENTS];
            try (InputStream in = new GZIPInputStream(answer.body(), 64)) {
                for (int i = 0; i < EVENTS; i++) {
                    nanos[i] = -Long.parseLong(line(in).substring("data: ".length()));
                    nanos[i] += System.nanoTime();
                    assertThat(line(in)).isEmpty();
                }
            }
            Arrays.sort(nanos);
            long median = TimeUnit.NANOSECONDS.toMicros(nanos[EVENTS / 2]);
            System.out.println("events over " + version + ": median " + median + " us");
            assertThat(median).isLessThan(20_000);
            assertThat(worker.done().toCompletableFuture()).isNotDone();
        }
    }

    @ParameterizedTest
    @EnumSource(Version.class)
    void should_not_end_a_broken_response_well(Version version) throws Exception {
        try (Rig rig = rig();
                Worker worker = worker(rig)) {
            HttpClient client = rig.client(version);
            HttpResponse<InputStream> answer =
                    client.send(get(client, rig, "/broken", "gzip"), BodyHandlers.ofInputStream());
            assertThatThrownBy(() -> answer.body().readAllBytes()).isInstanceOf(IOException.class);
            assertThat(worker.done().toCompletableFuture()).isNotDone();
        }
    }
}
