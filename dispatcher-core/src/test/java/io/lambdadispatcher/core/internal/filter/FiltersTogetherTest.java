package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.CachePolicy;
import io.lambdadispatcher.core.options.CompressionPolicy;
import io.lambdadispatcher.core.options.ContentEncoding;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What several filters do to one request. */
class FiltersTogetherTest {
    /** Only deadlines can open it in time. */
    private static final BreakerPolicy BREAKER = BreakerPolicy.builder("test")
            .errors(0.5)
            .latency(Duration.ofMinutes(10))
            .build();

    private static final CompressionPolicy GZIP =
            CompressionPolicy.builder().encodings(List.of(ContentEncoding.GZIP)).build();
    private static final CachePolicy CACHE = CachePolicy.builder("route").build();
    private static final DeadlinePolicy DEADLINE = DeadlinePolicy.builder()
            .limit(Duration.ofSeconds(30))
            .header("x-timeout")
            .build();

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final ScriptedFunction function = new ScriptedFunction();
    private final RecordingObserver observer = new RecordingObserver();
    private final StoredResponses stored = new StoredResponses(1 << 24);
    private final FunctionFilters filters = new FunctionFilters("f", observer, stored);
    private final FunctionOpener opener = filters.around(function, channel.eventLoop());

    @BeforeEach
    void freeze() {
        channel.freezeTime();
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private static final class Client extends SilentClient {
        private final StringBuilder log = new StringBuilder();
        private int bytes;
        private int takenBytes;

        @Override
        public void onRequestTaken(int taken) {
            takenBytes += taken;
        }

        @Override
        public void onHead(Http2Headers head, boolean end) {
            log.append(head.status());
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            bytes += data.readableBytes();
            data.release();
        }

        @Override
        public void onFailure(Failure failure) {
            log.append(failure.kind());
        }
    }

    private static Http2Headers head(String... fields) {
        return with(
                new DefaultHttp2Headers()
                        .method("GET")
                        .scheme("http")
                        .authority("a")
                        .path("/"),
                fields);
    }

    private static Http2Headers ok(String... fields) {
        return with(new DefaultHttp2Headers().status("200"), fields);
    }

    private static Http2Headers with(Http2Headers head, String... fields) {
        for (int i = 0; i < fields.length; i += 2) {
            head.add(fields[i], fields[i + 1]);
        }
        return head;
    }

    private RequestSink open(Client client, TrafficPolicy policy, String... fields) {
        return opener.open(head(fields), true, client, policy);
    }

    private void pass(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
    }

    private long returnedAfterCancel(TrafficPolicy policy) {
        Client client = new Client();
        RequestSink request = open(client, policy, "accept-encoding", "gzip");
        ScriptedFunction.Call call = function.only();
        byte[] body = new byte[200_000];
        new Random(1).nextBytes(body);
        call.response.onHead(ok("content-type", "text/plain", "content-length", "200000"), false);
        call.response.onData(Unpooled.wrappedBuffer(body), true);
        int untaken = client.bytes;
        request.cancel(ErrorCode.CANCELLED);
        request.responseTaken(untaken);
        long sum = 0;
        String[] words = call.log.toString().split(" ");
        for (int i = 0; i < words.length; i++) {
            sum += words[i].equals("taken") ? Long.parseLong(words[i + 1]) : 0;
        }
        return sum;
    }

    /** A direct call is free only when all bytes of its response have been taken. */
    @Test
    void should_return_all_bytes_of_a_compressed_response_after_a_cancellation() {
        assertThat(returnedAfterCancel(
                        TrafficPolicy.builder().compression(GZIP).cache(CACHE).build()))
                .isEqualTo(200_000);
    }

    @Test
    void should_open_no_breaker_because_of_clients_that_waited_for_another_response() {
        TrafficPolicy policy = TrafficPolicy.builder()
                .breaker(BREAKER)
                .deadline(DEADLINE)
                .cache(CACHE)
                .build();
        open(new Client(), policy);
        for (int i = 0; i < 25; i++) {
            open(new Client(), policy, "x-timeout", "1000");
        }
        function.only().response.onHead(ok("cache-control", "no-store"), true);
        channel.runPendingTasks();
        assertThat(function.calls).hasSize(26);
        failLate(function.calls.subList(1, 26));
        assertThat(observer.breakerChanges).isEmpty();
    }

    private void failLate(List<ScriptedFunction.Call> calls) {
        calls.forEach(call -> call.response.onSent());
        pass(1000);
        calls.forEach(call -> call.response.onFailure(new Failure(Failure.Kind.DEADLINE_EXCEEDED, "for the test")));
    }

    /** RFC 9111 section 5.2.1.7. */
    @Test
    void should_send_a_request_for_a_stored_response_to_no_function() {
        Client client = new Client();
        TrafficPolicy policy = TrafficPolicy.builder().cache(CACHE).build();
        open(client, policy, "cache-control", "only-if-cached");
        assertThat(client.log).hasToString("ONLY_IF_CACHED");
        assertThat(function.calls).isEmpty();
    }

    @Test
    void should_report_how_a_stored_response_was_compressed() {
        TrafficPolicy policy =
                TrafficPolicy.builder().compression(GZIP).cache(CACHE).build();
        open(new Client(), policy);
        ScriptedFunction.Call call = function.only();
        call.response.onHead(
                ok("content-type", "text/plain", "content-length", "20000", "cache-control", "max-age=60"), false);
        call.response.onData(Unpooled.wrappedBuffer(new byte[20_000]), true);
        Client client = new Client();
        open(client, policy, "accept-encoding", "gzip");
        assertThat(client.bytes).isBetween(1, 1000);
        assertThat(observer.ends)
                .extracting(end -> end.status() + " " + end.substitute() + " " + end.contentEncoding())
                .last()
                .isEqualTo("200 CACHE GZIP");
    }
}
