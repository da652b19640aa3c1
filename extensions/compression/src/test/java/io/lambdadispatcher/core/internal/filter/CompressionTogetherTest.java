package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.cache.CachePolicy;
import io.lambdadispatcher.cache.HttpCache;
import io.lambdadispatcher.compression.CompressionPolicy;
import io.lambdadispatcher.compression.CompressionRig;
import io.lambdadispatcher.compression.ContentEncoding;
import io.lambdadispatcher.compression.ResponseCompression;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.Requester.Known;
import io.lambdadispatcher.core.internal.filter.StageContractTest.Feature;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What compression and the dispatcher's own filters do to one request. */
class CompressionTogetherTest {
    private static final CachePolicy CACHE = CachePolicy.builder("test")
            .staleIfError(Duration.ofMinutes(1))
            .maxBodyBytes(1 << 16)
            .build();

    private final ScriptedFunction function = new ScriptedFunction();
    private final RecordingObserver observer = new RecordingObserver();

    private static class Client extends SilentClient {
        private @Nullable Http2Headers head;
        private int bytes;

        @Override
        public void onHead(Http2Headers fields, boolean end) {
            head = fields;
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            bytes += data.readableBytes();
            data.release();
        }
    }

    private static TrafficPolicy.Builder gzip(int minBytes) {
        return TrafficPolicy.builder()
                .extension(
                        CompressionPolicy.class,
                        CompressionPolicy.builder()
                                .encodings(List.of(ContentEncoding.GZIP))
                                .minBytes(minBytes)
                                .build());
    }

    /** Returns the function behind all filters, as the dispatcher puts them. */
    private static FunctionOpener chain(FunctionOpener target, RecordingObserver observer, EmbeddedChannel channel) {
        FunctionFilters own = new FunctionFilters("f", observer);
        return CompressionRig.behind(
                List.of(new HttpCache(1 << 24), new ResponseCompression()),
                own.around(target, channel.eventLoop()),
                channel.eventLoop(),
                observer);
    }

    private static RequestSink open(FunctionOpener opener, Client client, TrafficPolicy policy, String... fields) {
        return opener.open(ScriptedFunction.request("GET", fields), true, client, policy);
    }

    /** A direct call is free only when all bytes of its response have been taken. */
    @Test
    void should_return_all_bytes_of_a_compressed_response_after_a_cancellation() {
        EmbeddedChannel channel = new EmbeddedChannel();
        FunctionOpener opener = chain(function, observer, channel);
        Client client = new Client();
        RequestSink request =
                open(opener, client, gzip(0).extension(CachePolicy.class, CACHE).build(), "accept-encoding", "gzip");
        ScriptedFunction.Call call = function.only();
        byte[] body = new byte[200_000];
        new Random(1).nextBytes(body);
        call.response.onHead(ScriptedFunction.ok("content-type", "text/plain", "content-length", "200000"), false);
        call.response.onData(Unpooled.wrappedBuffer(body), true);
        int untaken = client.bytes;
        request.cancel(ErrorCode.CANCELLED);
        request.responseTaken(untaken);
        long sum = 0;
        String[] words = call.log.toString().split(" ");
        for (int i = 0; i < words.length; i++) {
            sum += words[i].equals("taken") ? Long.parseLong(words[i + 1]) : 0;
        }
        assertThat(sum).isEqualTo(200_000);
        channel.finishAndReleaseAll();
    }

    /** It is stored as the function has sent it, and each client gets what it accepts. */
    @Test
    void should_compress_a_stored_response_for_each_client() {
        EmbeddedChannel channel = new EmbeddedChannel();
        FunctionOpener opener = chain(function, observer, channel);
        TrafficPolicy policy = gzip(1024).extension(CachePolicy.class, CACHE).build();
        open(opener, new Client(), policy);
        ScriptedFunction.Call call = function.only();
        call.response.onHead(
                ScriptedFunction.ok(
                        "content-type", "text/plain", "content-length", "20000", "cache-control", "max-age=60"),
                false);
        call.response.onData(Unpooled.wrappedBuffer(new byte[20_000]), true);
        Client compressed = new Client();
        open(opener, compressed, policy, "accept-encoding", "gzip");
        assertThat(compressed.bytes).isBetween(1, 1000);
        Client plain = new Client();
        open(opener, plain, policy, "accept-encoding", "br");
        assertThat(plain.bytes).isEqualTo(20_000);
        assertThat(plain.head).isNotNull();
        assertThat(plain.head.get("vary")).hasToString("accept-encoding");
        assertThat(function.calls).hasSize(1);
        assertThat(observer.ends)
                .extracting(end -> end.status() + " " + end.substitute() + " " + end.contentEncoding())
                .endsWith("200 CACHE gzip", "200 CACHE null");
        channel.finishAndReleaseAll();
    }

    /** A client that reads nothing must cost neither the time nor the memory of the whole body. */
    @Test
    void should_compress_a_stored_response_only_as_fast_as_the_client_reads() {
        EmbeddedChannel channel = new EmbeddedChannel();
        FunctionOpener opener = chain(function, observer, channel);
        CachePolicy cache = CachePolicy.builder("test").maxBodyBytes(1 << 22).build();
        TrafficPolicy policy = gzip(0).extension(CachePolicy.class, cache).build();
        open(opener, new Client(), policy);
        byte[] body = new byte[1 << 21];
        new Random(1).nextBytes(body);
        ScriptedFunction.Call call = function.only();
        call.response.onHead(ScriptedFunction.ok("content-type", "text/plain", "cache-control", "max-age=60"), false);
        call.response.onData(Unpooled.wrappedBuffer(body), true);
        Client embedded = new Client();
        open(opener, embedded, policy, "accept-encoding", "gzip");
        channel.runPendingTasks();
        assertThat(embedded.bytes).as("a program may wait forever").isGreaterThan(body.length);
        Client slow = new Client() {
            @Override
            public Requester requester() {
                return new Known("client", null, ClientProtocol.HTTP_2);
            }
        };
        RequestSink request = open(opener, slow, policy, "accept-encoding", "gzip");
        channel.runPendingTasks();
        assertThat(slow.bytes).isBetween(256 << 10, 512 << 10);
        assertThat(request.heldBytes()).isGreaterThan(1 << 20);
        int taken = 0;
        while (taken < slow.bytes) {
            request.responseTaken(slow.bytes - taken);
            taken = slow.bytes;
            channel.runPendingTasks();
            assertThat(slow.bytes - taken).isLessThan(512 << 10);
        }
        assertThat(taken).isGreaterThan(body.length);
        Client gone = new Client();
        open(opener, gone, policy, "accept-encoding", "gzip").cancel(ErrorCode.CANCELLED);
        channel.finishAndReleaseAll();
    }

    static Stream<Consumer<TrafficPolicy.Builder>> others() {
        Consumer<TrafficPolicy.Builder> cache = policy -> policy.extension(CachePolicy.class, CACHE);
        return Stream.of(
                policy -> {},
                cache,
                Feature.BREAKER,
                Feature.DEADLINE,
                cache.andThen(Feature.BREAKER),
                cache.andThen(Feature.DEADLINE),
                Feature.BREAKER.andThen(Feature.DEADLINE),
                cache.andThen(Feature.BREAKER).andThen(Feature.DEADLINE));
    }

    @ParameterizedTest
    @MethodSource("others")
    void should_keep_the_contract(Consumer<TrafficPolicy.Builder> other) {
        TrafficPolicy.Builder policy = gzip(0);
        other.accept(policy);
        StageContractTest.check(policy.build(), CompressionTogetherTest::chain);
    }
}
