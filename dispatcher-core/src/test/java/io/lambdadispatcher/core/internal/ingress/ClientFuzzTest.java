package io.lambdadispatcher.core.internal.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.ingress.edge.ClientGuard;
import io.lambdadispatcher.core.internal.ingress.edge.CorsMemory;
import io.lambdadispatcher.core.internal.ingress.edge.ErrorAnswers;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.internal.ingress.edge.TrustedHeaders;
import io.lambdadispatcher.core.internal.ingress.http1.Http1ClientConnection;
import io.lambdadispatcher.core.internal.ingress.http2.Http2ClientConnection;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.testkit.Splits;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * Sends arbitrary bytes as a client. The first byte selects how the others are split into reads.
 * Every split must produce the same requests. Each request must be valid in HTTP/1.1, with the body
 * that its headers announce. No buffer may leak. With {@code JAZZER_FUZZ=1}, the test searches for
 * more input.
 */
class ClientFuzzTest {
    private static final byte[] EMPTY_SETTINGS = {0, 0, 0, 4, 0, 0, 0, 0, 0};

    /** Last element of the list of requests if the dispatcher has closed the connection. */
    private static final String CLOSED = "closed";

    /** Small limits, which the fuzzer can reach. */
    private static final HttpLimits LIMITS = HttpLimits.builder()
            .maxHeaderBytes(1024)
            .maxHeaders(16)
            .maxRequestLineBytes(256)
            .maxConcurrentStreams(4)
            .maxResetsPerWindow(8)
            .build();

    @FuzzTest(maxDuration = "20m")
    void should_survive_any_http1_connection(byte[] input) throws Exception {
        verify(input, false);
    }

    /** The input follows a valid preface. */
    @FuzzTest(maxDuration = "20m")
    void should_survive_any_http2_connection(byte[] input) throws Exception {
        verify(input, true);
    }

    private static void verify(byte[] input, boolean http2) throws Exception {
        if (input.length == 0) {
            return;
        }
        byte[] bytes = Arrays.copyOfRange(input, 1, input.length);
        List<String> whole = requests(bytes, Splits.whole(), http2);
        List<String> pieces = requests(bytes, Splits.random(input[0], 1 + (input[0] & 0x3F)), http2);
        if (!http2 || !whole.contains(CLOSED) && !pieces.contains(CLOSED)) {
            assertThat(pieces).isEqualTo(whole);
        } else {
            // A frame for an ended stream is an error of the connection. While the response is
            // still being sent, it is an error of the stream only.
            whole.remove(CLOSED);
            pieces.remove(CLOSED);
            int both = Math.min(whole.size(), pieces.size());
            assertThat(heads(pieces, both)).isEqualTo(heads(whole, both));
        }
    }

    private static List<String> heads(List<String> requests, int count) {
        return requests.subList(0, count).stream()
                .map(request -> request.substring(0, request.indexOf("] ")))
                .toList();
    }

    private static List<String> requests(byte[] bytes, Splits.Split split, boolean http2) throws Exception {
        UnpooledByteBufAllocator memory = new UnpooledByteBufAllocator(false);
        EmbeddedChannel channel = new EmbeddedChannel();
        channel.config().setAllocator(memory);
        channel.freezeTime();
        List<SeenRequest> requests = new ArrayList<>();
        ExchangeOpener opener = (head, end, response) -> {
            SeenRequest request = new SeenRequest(head, response);
            requests.add(request);
            if (end) {
                request.end();
            }
            return request;
        };
        ClientGuard guard = new ClientGuard(LIMITS, 1, List.of(channel.eventLoop()), DispatcherObserver.NONE);
        IngressContext context = new IngressContext(
                LIMITS,
                new TrustedHeaders(ForwardingPolicy.defaults(), Set.of()),
                guard.admit(channel, false, opener),
                new IngressDrain(),
                new ErrorAnswers(null, ForwardingPolicy.defaults(), null, new CorsMemory(), Incidents.unobserved()),
                "http",
                channel.remoteAddress(),
                DispatcherObserver.NONE,
                null);
        if (http2) {
            Http2ClientConnection.install(channel.pipeline(), context);
            channel.writeInbound(Http2CodecUtil.connectionPrefaceBuf(), Unpooled.wrappedBuffer(EMPTY_SETTINGS));
        } else {
            Http1ClientConnection.install(channel.pipeline(), context);
        }
        split.feed(bytes, piece -> {
            if (channel.isOpen()) {
                channel.writeInbound(memory.buffer(piece.readableBytes()).writeBytes(piece));
                channel.runPendingTasks();
            }
        });
        boolean closed = !channel.isOpen();
        // Like a disconnected client. close() would wait for open streams.
        channel.unsafe().close(channel.voidPromise());
        channel.finishAndReleaseAll();
        assertThat(memory.metric().usedHeapMemory() + memory.metric().usedDirectMemory())
                .as("bytes that nobody has released")
                .isZero();
        List<String> seen = new ArrayList<>();
        requests.forEach(request -> seen.add(request.verified()));
        if (closed) {
            seen.add(CLOSED);
        }
        return seen;
    }

    /** A request that a worker would receive. It is answered when it has ended. */
    private static final class SeenRequest implements RequestSink {
        private final Http2Headers head;
        private final ResponseSink response;
        private final StringBuilder body = new StringBuilder();
        private String outcome = "open";
        private int bodyBytes;

        SeenRequest(Http2Headers head, ResponseSink response) {
            this.head = head;
            this.response = response;
        }

        private void end() {
            outcome = "ended";
            switch (head.path() == null ? 0 : head.path().length() % 4) {
                case 0 -> response.onHead(new DefaultHttp2Headers().status("204"), true);
                case 1 -> {
                    response.onInterim(new DefaultHttp2Headers().status("103"));
                    response.onHead(new DefaultHttp2Headers().status("200"), false);
                    response.onData(Unpooled.copiedBuffer("body", StandardCharsets.US_ASCII), true);
                }
                case 2 -> {
                    response.onHead(new DefaultHttp2Headers().status("200"), false);
                    response.onTrailers(new DefaultHttp2Headers().add("x", "y"));
                }
                default -> response.onFailure(new Failure(Failure.Kind.WORKER_LOST, "fuzzed"));
            }
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            int bytes = data.readableBytes();
            body.append(ByteBufUtil.hexDump(data));
            data.release();
            bodyBytes += bytes;
            response.onRequestTaken(bytes);
            if (end) {
                end();
            }
        }

        @Override
        public void trailers(Http2Headers trailers) {
            verify(trailers, false);
            body.append(" trailers ").append(trailers.size());
            end();
        }

        @Override
        public void cancel(ErrorCode code) {
            outcome = "cancelled";
        }

        @Override
        public void responseTaken(int bytes) {}

        String verified() {
            verify(head, true);
            CharSequence length = head.get("content-length");
            assertThat(head.getAll("content-length").size()).isLessThanOrEqualTo(1);
            if (length != null && outcome.equals("ended")) {
                assertThat((long) bodyBytes).isEqualTo(Long.parseLong(length.toString()));
            }
            List<String> fields = new ArrayList<>();
            head.forEach(field -> fields.add(field.getKey() + ": " + field.getValue()));
            // The split decides how much of the body arrives before an error is found.
            return fields + " " + (outcome.equals("cancelled") ? "" : body) + " " + outcome;
        }

        private static void verify(Http2Headers fields, boolean isHead) {
            fields.forEach(field -> {
                String name = field.getKey().toString();
                assertThat(HeaderSyntax.isValue(field.getValue())).as(name).isTrue();
                if (isHead && name.startsWith(":")) {
                    return;
                }
                assertThat(HeaderSyntax.isToken(name)).as(name).isTrue();
                assertThat(name).isEqualTo(name.toLowerCase(Locale.ROOT));
                assertThat(HopByHop.contains(name) && !name.equals("te"))
                        .as(name)
                        .isFalse();
                assertThat(name).isNotEqualTo("host");
            });
            if (isHead) {
                assertThat(HeaderSyntax.isToken(fields.method())).isTrue();
                assertThat(fields.path() == null || HeaderSyntax.isPath(fields.path(), fields.method()))
                        .isTrue();
            }
        }
    }
}
