package io.lambdadispatcher.core.internal.ingress.http1;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.ingress.edge.ClientGuard;
import io.lambdadispatcher.core.internal.ingress.edge.CorsMemory;
import io.lambdadispatcher.core.internal.ingress.edge.ErrorAnswers;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.internal.ingress.edge.TrustedHeaders;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.CharsetUtil;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the limits and timeouts of a connection. The test sets the clock of the event loop. */
class Http1ClientConnectionTest {
    private static final Duration LOOK = Duration.ofSeconds(1);
    private static final Duration HEADER_TIMEOUT = HttpLimits.defaults().headerTimeout();
    private static final Duration BODY_TIMEOUT = HttpLimits.defaults().bodyTimeout();
    private static final Duration MAX_AGE = Duration.ofMinutes(30);
    private static final Duration IDLE_TIMEOUT = HttpLimits.defaults().idleTimeout();
    private static final int MIN_RATE = HttpLimits.defaults().minDataRate();

    private static final String BEGUN = "GET / HTTP/1.1\r\nho";
    private static final String REST = "st: a\r\n\r\n";

    private static final Duration WRITE_TIMEOUT = HttpLimits.defaults().writeTimeout();

    private static final Duration LINGER = Duration.ofSeconds(5);
    private static final String GET_BODY = "GET /body HTTP/1.1\r\nhost: a\r\nconnection: %s\r\n\r\n";
    private static final String REFUSED = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n";

    private EmbeddedChannel channel = new Connection();
    private boolean full;
    private boolean outputEnded;
    private boolean taking = true;
    private int opened;
    private boolean cancelled;
    private ResponseSink waiting;
    private final RecordingObserver observer = new RecordingObserver();
    private final IngressDrain drain = new IngressDrain();

    private void connectAnew() {
        close();
        channel = new Connection();
        outputEnded = false;
        connect();
    }

    /** A channel whose socket can be full, and can be closed in one direction. */
    private final class Connection extends EmbeddedChannel implements DuplexChannel {
        @Override
        protected void doWrite(ChannelOutboundBuffer out) throws Exception {
            if (!full) {
                super.doWrite(out);
            }
        }

        @Override
        public boolean isOutputShutdown() {
            return outputEnded;
        }

        @Override
        public ChannelFuture shutdownOutput() {
            outputEnded = true;
            return newSucceededFuture();
        }

        @Override
        public ChannelFuture shutdownOutput(ChannelPromise promise) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isInputShutdown() {
            return false;
        }

        @Override
        public ChannelFuture shutdownInput() {
            throw new UnsupportedOperationException();
        }

        @Override
        public ChannelFuture shutdownInput(ChannelPromise promise) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean isShutdown() {
            return false;
        }

        @Override
        public ChannelFuture shutdown() {
            throw new UnsupportedOperationException();
        }

        @Override
        public ChannelFuture shutdown(ChannelPromise promise) {
            throw new UnsupportedOperationException();
        }
    }

    private void takeAll() {
        full = false;
        channel.flush();
        channel.runPendingTasks();
    }

    @BeforeEach
    void connect() {
        channel.freezeTime();
        Http1ClientConnection.install(
                channel.pipeline(),
                new IngressContext(
                        HttpLimits.builder().maxConnectionAge(MAX_AGE).build(),
                        new TrustedHeaders(ForwardingPolicy.defaults(), Set.of()),
                        new ClientGuard(HttpLimits.defaults(), 1, List.of(channel.eventLoop()), DispatcherObserver.NONE)
                                .admit(channel, false, this::open),
                        drain,
                        new ErrorAnswers(
                                null, ForwardingPolicy.defaults(), null, new CorsMemory(), Incidents.unobserved()),
                        "http",
                        channel.remoteAddress(),
                        observer,
                        null));
    }

    @AfterEach
    void close() {
        full = false;
        channel.finishAndReleaseAll();
    }

    private RequestSink open(Http2Headers head, boolean end, ResponseSink response) {
        opened++;
        if (AsciiString.contentEquals(head.path(), "/body")) {
            response.onHead(new DefaultHttp2Headers().status("200"), false);
            response.onData(Unpooled.copiedBuffer("body", CharsetUtil.US_ASCII), true);
        } else if (AsciiString.contentEquals(head.path(), "/wait")) {
            waiting = response;
        } else if (AsciiString.contentEquals(head.path(), "/tunnel")) {
            response.onHead(new DefaultHttp2Headers().status("200"), false);
        } else {
            response.onHead(new DefaultHttp2Headers().status("204"), true);
        }
        return new DiscardingSink() {
            @Override
            public void data(ByteBuf data, boolean last) {
                int bytes = data.readableBytes();
                data.release();
                if (taking) {
                    response.onRequestTaken(bytes);
                }
            }

            @Override
            public void cancel(ErrorCode code) {
                cancelled = true;
            }
        };
    }

    private void pass(Duration time) {
        for (long left = time.toNanos(); left > 0; left -= LOOK.toNanos()) {
            channel.advanceTimeBy(Math.min(left, LOOK.toNanos()), TimeUnit.NANOSECONDS);
            channel.runPendingTasks();
        }
    }

    /** It would be silent forever, because nothing takes what the client sends. */
    @Test
    void should_close_a_connection_whose_tunnel_is_opened_too_early() {
        channel.writeInbound(Unpooled.copiedBuffer(
                "GET /tunnel HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: Upgrade\r\n"
                        + "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n\r\n",
                CharsetUtil.US_ASCII));
        assertThat(opened).isEqualTo(1);
        assertThat(channel.isOpen()).isFalse();
    }

    private Duration untilClosed() {
        Duration waited = Duration.ZERO;
        while (channel.isOpen() && waited.compareTo(WRITE_TIMEOUT.multipliedBy(3)) < 0) {
            pass(LOOK);
            waited = waited.plus(LOOK);
        }
        return waited;
    }

    private void read(String text) {
        channel.writeInbound(Unpooled.copiedBuffer(text, CharsetUtil.US_ASCII));
        channel.runPendingTasks();
    }

    private String sent() {
        StringBuilder all = new StringBuilder();
        for (ByteBuf some = channel.readOutbound(); some != null; some = channel.readOutbound()) {
            all.append(some.toString(CharsetUtil.US_ASCII));
            some.release();
        }
        return all.toString();
    }

    @Test
    void should_leave_each_head_its_time() {
        for (int i = 0; i < 3; i++) {
            read(BEGUN);
            pass(HEADER_TIMEOUT);
            assertThat(sent()).isEmpty();
            read(REST);
            assertThat(sent()).startsWith("HTTP/1.1 204 ");
        }
    }

    @Test
    void should_answer_408_to_a_head_that_takes_longer_than_its_timeout() {
        read(BEGUN);
        pass(HEADER_TIMEOUT);
        assertThat(sent()).isEmpty();
        pass(LOOK.multipliedBy(2));
        assertThat(sent()).startsWith("HTTP/1.1 408 ");
    }

    /**
     * The limit of bytes is not enough: as objects, tiny headers take ten times the memory of their
     * bytes.
     */
    @Test
    void should_answer_431_to_a_head_of_too_many_lines_before_it_ends() {
        int fields = 2 * HttpLimits.defaults().maxHeaders();
        read("GET / HTTP/1.1\r\n" + "a:b\r\n".repeat(fields - 1));
        read("a:");
        assertThat(sent()).isEmpty();
        read("b\r\n");
        assertThat(sent()).startsWith("HTTP/1.1 431 ");
    }

    private static final String UPLOAD = "POST /wait HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n";

    @Test
    void should_answer_408_to_a_request_without_a_byte_of_its_body_for_the_body_timeout() {
        read(UPLOAD + "x".repeat(MIN_RATE * 20));
        pass(BODY_TIMEOUT);
        assertThat(sent()).isEmpty();
        pass(LOOK.multipliedBy(2));
        assertThat(sent()).startsWith("HTTP/1.1 408 ").contains("connection: close");
        assertThat(cancelled).isTrue();
        assertThat(observer.protections).containsExactly(Protection.BODY_TOO_SLOW);
    }

    @Test
    void should_answer_408_to_a_body_that_comes_byte_by_byte() {
        read(UPLOAD);
        String answer = "";
        int seconds = 0;
        for (; seconds < 100 && answer.isEmpty(); seconds++) {
            read("x");
            pass(LOOK);
            answer = sent();
        }
        assertThat(seconds).isBetween(20, 23);
        assertThat(answer).startsWith("HTTP/1.1 408 ");
        assertThat(cancelled).isTrue();
    }

    @Test
    void should_answer_408_to_a_chunked_body_that_does_not_end() {
        read("POST /wait HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n");
        for (int seconds = 0; seconds < 22; seconds++) {
            read("a: b\r\n");
            pass(LOOK);
        }
        assertThat(sent()).startsWith("HTTP/1.1 408 ");
    }

    /** The decoder drops them (RFC 9112 section 2.2). */
    @Test
    void should_not_take_empty_lines_before_a_request_for_memory() {
        for (int i = 0; i < 256; i++) {
            read("\r\n".repeat(2048));
        }
        Http1ClientConnection connection = channel.pipeline().get(Http1ClientConnection.class);
        assertThat(connection.heldBytes()).isLessThan(64 * 1024);
        read(BEGUN);
        assertThat(connection.heldBytes()).isGreaterThanOrEqualTo(BEGUN.length());
        read(REST);
        assertThat(sent()).startsWith("HTTP/1.1 204 ");
    }

    private static final String TRAILERS =
            "POST /wait HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n";

    /** Netty makes objects of each line when it arrives, and limits only the bytes. */
    @Test
    void should_answer_431_to_too_many_trailer_lines_before_they_end() {
        read(TRAILERS);
        // The header of the last chunk counts, too.
        read("a:\r\n".repeat(2 * HttpLimits.defaults().maxHeaders() - 2));
        assertThat(sent()).isEmpty();
        assertThat(channel.pipeline().get(Http1ClientConnection.class).heldBytes())
                .isGreaterThan(HttpLimits.defaults().maxHeaders() * 4L * 2);
        read("a:\r\n".repeat(3));
        assertThat(sent()).startsWith("HTTP/1.1 431 ");
        assertThat(cancelled).isTrue();
    }

    @Test
    void should_answer_431_to_too_many_trailers() {
        read(TRAILERS + "a:\r\n".repeat(HttpLimits.defaults().maxHeaders() + 1) + "\r\n");
        assertThat(sent()).startsWith("HTTP/1.1 431 ");
    }

    @Test
    void should_take_as_many_trailers_as_headers() {
        read(TRAILERS + "a:\r\n".repeat(HttpLimits.defaults().maxHeaders()) + "\r\n");
        assertThat(sent()).isEmpty();
        assertThat(cancelled).isFalse();
    }

    @Test
    void should_leave_a_body_alone_that_comes_at_the_minimum_rate() {
        read(UPLOAD);
        for (int seconds = 0; seconds < 100; seconds++) {
            read("x".repeat(MIN_RATE));
            pass(LOOK);
        }
        assertThat(sent()).isEmpty();
        assertThat(observer.protections).isEmpty();
    }

    @Test
    void should_wait_for_a_worker_that_does_not_take_the_body() {
        taking = false;
        read(UPLOAD);
        int bytes = HttpLimits.defaults().streamWindowBytes() + 1;
        read("x".repeat(bytes));
        assertThat(channel.config().isAutoRead()).isFalse();
        pass(BODY_TIMEOUT.multipliedBy(3));
        assertThat(sent()).isEmpty();
        waiting.onRequestTaken(bytes);
        pass(BODY_TIMEOUT.plus(LOOK.multipliedBy(2)));
        assertThat(sent()).startsWith("HTTP/1.1 408 ");
    }

    @Test
    void should_give_both_directions_the_idle_timeout_once_the_response_has_begun() {
        read(UPLOAD);
        waiting.onHead(new DefaultHttp2Headers().status("200"), false);
        pass(IDLE_TIMEOUT);
        read("x");
        pass(IDLE_TIMEOUT);
        waiting.onData(Unpooled.copiedBuffer("body", CharsetUtil.US_ASCII), false);
        pass(IDLE_TIMEOUT);
        assertThat(channel.isOpen()).isTrue();
        pass(LOOK.multipliedBy(2));
        assertThat(channel.isOpen()).isFalse();
        assertThat(cancelled).isTrue();
    }

    @Test
    void should_wait_for_a_handler_that_takes_its_time() {
        read("POST /wait HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nbody");
        pass(IDLE_TIMEOUT.multipliedBy(2));
        assertThat(channel.isOpen()).isTrue();
        assertThat(sent()).isEmpty();
    }

    @Test
    void should_not_take_a_connection_for_idle_while_a_response_waits() {
        full = true;
        read(GET_BODY.formatted("keep-alive"));
        drain.begin();
        pass(LINGER);
        assertThat(channel.isOpen()).isTrue();
        takeAll();
        assertThat(sent()).contains("body");
        pass(LOOK);
        assertThat(channel.isOpen()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_serve_a_request_in_transit_to_a_connection_that_drains(boolean sent) {
        pass(LOOK);
        drain.begin();
        channel.runPendingTasks();
        pass(Duration.ofMillis(IngressDrain.TRANSIT_MILLIS - 1));
        assertThat(channel.isOpen()).isTrue();
        if (sent) {
            read("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
            assertThat(sent()).startsWith("HTTP/1.1 204 ").contains("connection: close");
        }
        pass(Duration.ofMillis(1));
        assertThat(channel.isOpen()).isFalse();
    }

    /** The first is rejected by the decoder, the second by the exchange. */
    @ParameterizedTest
    @ValueSource(strings = {"GET / HTTP/1.1\r\nhost : a\r\n\r\n", "CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n"})
    void should_date_an_error_response(String request) {
        read(request);
        assertThat(sent()).containsPattern("^HTTP/1.1 [45]\\d\\d [^\\r]*\r\n(.*\r\n)*date: .* GMT\r\n");
    }

    /** An old connection that is idle stays open, because a request may be in transit. */
    @Test
    void should_end_an_old_connection_with_a_response_that_says_so() {
        Duration age = Duration.ZERO;
        String response = "";
        while (!response.contains("connection: close") && age.compareTo(MAX_AGE.multipliedBy(2)) < 0) {
            pass(Duration.ofMinutes(1));
            age = age.plusMinutes(1);
            assertThat(channel.isOpen()).isTrue();
            read("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
            response = sent();
            assertThat(response).startsWith("HTTP/1.1 204 ");
        }
        assertThat(age).isBetween(MAX_AGE, MAX_AGE.plusMinutes(4));
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_serve_a_request_that_makes_a_connection_old() {
        read("GET /wait HTTP/1.1\r\nhost: a\r\n\r\n");
        waiting.onHead(new DefaultHttp2Headers().status("200"), false);
        pass(MAX_AGE.multipliedBy(2));
        waiting.onData(Unpooled.copiedBuffer("body", CharsetUtil.US_ASCII), true);
        channel.runPendingTasks();
        assertThat(sent()).contains("body").doesNotContain("connection: close");
        assertThat(channel.isOpen()).isTrue();
        read("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
        assertThat(sent()).startsWith("HTTP/1.1 204 ").contains("connection: close");
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_cut_a_client_that_does_not_take_the_last_response() {
        for (String connection : List.of("close", "keep-alive")) {
            full = true;
            read(GET_BODY.formatted(connection));
            assertThat(untilClosed()).isBetween(Duration.ofSeconds(10), Duration.ofSeconds(12));
            connectAnew();
        }
    }

    @Test
    void should_drop_the_rest_of_a_body_after_the_response_and_serve_the_next_request() {
        read("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n");
        assertThat(sent()).startsWith("HTTP/1.1 204 ").doesNotContain("connection: close");
        read("x".repeat(999));
        pass(LOOK.multipliedBy(2));
        read("xGET / HTTP/1.1\r\nhost: a\r\n\r\n");
        assertThat(sent()).startsWith("HTTP/1.1 204 ").doesNotContain("connection: close");
        assertThat(opened).isEqualTo(2);
    }

    @Test
    void should_drop_the_rest_of_a_body_though_the_worker_had_not_taken_what_came_before() {
        taking = false;
        int before = HttpLimits.defaults().streamWindowBytes() + 1;
        read("POST /wait HTTP/1.1\r\nhost: a\r\ncontent-length: " + (before + 10) + "\r\n\r\n" + "x".repeat(before));
        assertThat(channel.config().isAutoRead()).isFalse();
        answerWaiting();
        assertThat(channel.config().isAutoRead()).isTrue();
        read("x".repeat(10) + "GET / HTTP/1.1\r\nhost: a\r\n\r\n");
        assertThat(sent()).contains("HTTP/1.1 200 ", "HTTP/1.1 204 ").doesNotContain("connection: close");
    }

    @Test
    void should_drop_the_rest_of_a_chunked_body_up_to_a_limit() {
        String upload = "POST /wait HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
        String chunk = "1000\r\n" + "x".repeat(0x1000) + "\r\n";
        int limit = Http1ClientExchange.MAX_DROPPED_BYTES / 0x1000;
        read(upload);
        answerWaiting();
        read(chunk.repeat(limit) + "0\r\n\r\nGET / HTTP/1.1\r\nhost: a\r\n\r\n");
        assertThat(sent()).contains("HTTP/1.1 200 ", "HTTP/1.1 204 ").doesNotContain("connection: close");
        read(upload);
        answerWaiting();
        read(chunk.repeat(limit + 1));
        pass(LINGER);
        pass(LINGER);
        assertThat(channel.isOpen()).isFalse();
        assertThat(opened).isEqualTo(3);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "content-length: 300000",
                "transfer-encoding: chunked",
                "content-length: 9\r\nexpect: 100-continue"
            })
    void should_announce_the_close_if_the_rest_is_not_dropped(String body) {
        read("POST / HTTP/1.1\r\nhost: a\r\n" + body + "\r\n\r\n");
        assertThat(sent()).startsWith("HTTP/1.1 204 ").contains("connection: close");
        pass(LINGER);
        pass(LINGER);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_not_wait_for_ever_for_the_rest_of_a_body() {
        read("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n");
        pass(BODY_TIMEOUT);
        assertThat(channel.isOpen()).isTrue();
        pass(LOOK.multipliedBy(2));
        pass(LINGER);
        pass(LINGER);
        assertThat(channel.isOpen()).isFalse();
        connectAnew();
        read("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n");
        drain.begin();
        pass(LINGER);
        pass(LINGER);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_not_reset_a_connection_whose_response_is_complete_for_a_malformed_rest() {
        read("POST /wait HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n");
        answerWaiting();
        read("no size\r\n");
        assertThat(sent()).startsWith("HTTP/1.1 200 ").doesNotContain("HTTP/1.1 400");
        assertThat(channel.isOpen()).isTrue();
        pass(LINGER);
        pass(LINGER);
        assertThat(channel.isOpen()).isFalse();
        assertThat(opened).isEqualTo(1);
    }

    private void answerWaiting() {
        waiting.onHead(new DefaultHttp2Headers().status("200"), false);
        waiting.onData(Unpooled.copiedBuffer("body", CharsetUtil.US_ASCII), true);
    }

    /**
     * Closing a socket with unread bytes resets the connection, and the client may lose the part of
     * the response that it has not read.
     */
    @Test
    void should_read_what_a_client_goes_on_to_send_after_the_last_response() {
        read(REFUSED);
        assertThat(sent()).startsWith("HTTP/1.1 204 ");
        assertThat(outputEnded)
                .as("the client sees at once that nothing follows")
                .isTrue();
        for (int i = 0; i < 5; i++) {
            read("x");
            pass(LINGER);
            assertThat(channel.isOpen()).isTrue();
        }
        pass(LINGER);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_not_read_for_ever_after_the_last_response() {
        read(REFUSED);
        for (int i = 0; i < 6; i++) {
            assertThat(channel.isOpen()).isTrue();
            read("x");
            pass(LINGER);
        }
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_not_read_for_long_after_the_last_response_when_the_dispatcher_goes() {
        read(REFUSED);
        drain.begin();
        for (int millis = 0; millis < IngressDrain.TRANSIT_MILLIS; millis += 500) {
            assertThat(channel.isOpen()).isTrue();
            read("x");
            pass(Duration.ofMillis(500));
        }
        assertThat(channel.isOpen()).isFalse();
    }

    /** No flow-control window limits responses without a body. */
    @Test
    void should_serve_no_more_to_a_client_that_takes_no_answers() {
        full = true;
        String requests = "HEAD / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1_000);
        int rounds = 0;
        while (channel.config().isAutoRead() && rounds < 100) {
            read(requests);
            rounds++;
        }
        assertThat(rounds).isLessThan(50);
        int asked = opened;
        assertThat(asked).isLessThan(rounds * 1_000);
        pass(LOOK.multipliedBy(3));
        assertThat(opened).isEqualTo(asked);
        takeAll();
        assertThat(opened).isEqualTo(rounds * 1_000);
        assertThat(sent().split("HTTP/1.1 204 ", -1)).hasSize(rounds * 1_000 + 1);
        assertThat(channel.config().isAutoRead()).isTrue();
    }

    @Test
    void should_cut_a_client_that_asks_on_and_takes_no_answers() {
        full = true;
        while (channel.config().isAutoRead()) {
            read("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1_000));
        }
        assertThat(untilClosed()).isBetween(Duration.ofSeconds(10), Duration.ofSeconds(12));
    }

    @Test
    void should_linger_after_a_refused_head_though_the_request_before_was_whole() {
        read("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
        read("no request\r\n\r\n");
        assertThat(sent()).contains("HTTP/1.1 204 ", "HTTP/1.1 400 ");
        assertThat(channel.isOpen()).isTrue();
        pass(LINGER);
        pass(LINGER);
        assertThat(channel.isOpen()).isFalse();
    }

    /** Netty's decoder expects a body of 8 bytes behind such a handshake. */
    @Test
    void should_refuse_a_websocket_handshake_of_a_draft() {
        read("GET / HTTP/1.1\r\nhost: a\r\nsec-websocket-key1: 1\r\nsec-websocket-key2: 2\r\n\r\n");
        assertThat(sent()).contains("HTTP/1.1 400 ", "connection: close");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "POST / HTTP/1.0\r\ncontent-length: 4\r\nContent-Length: 5\r\n\r\nabcde",
                "POST / HTTP/1.0\r\ncontent-length: 4\r\ncontent-length: 4\r\n\r\nabcd",
                " GET / HTTP/1.1\r\nhost: a\r\n\r\n",
                "\r\n GET / HTTP/1.1\r\nhost: a\r\n\r\n",
                "\tGET / HTTP/1.1\r\nhost: a\r\n\r\n",
                "GET\t/ HTTP/1.1\r\nhost: a\r\n\r\n",
                "GET /\tHTTP/1.1\r\nhost: a\r\n\r\n",
                "GET /\rHTTP/1.1\r\nhost: a\r\n\r\n",
                "GET\r/ HTTP/1.1\r\nhost: a\r\n\r\n",
                "GET / HTTP/1.1\r\r\nhost: a\r\n\r\n",
                "GET / HTTP/1.1\t\r\nhost: a\r\n\r\n",
                "GET /\u000b HTTP/1.1\r\nhost: a\r\n\r\n",
                "\u0000GET / HTTP/1.1\r\nhost: a\r\n\r\n",
                "GET / http/1.1\r\nhost: a\r\n\r\n",
                "GET / HTTPS/1.1\r\nhost: a\r\n\r\n"
            })
    void should_refuse_what_two_servers_may_read_differently(String request) {
        read(request);
        assertThat(sent()).startsWith("HTTP/1.1 400 ");

        connectAnew();
        for (int i = 0; i < request.length() && channel.isOpen(); i++) {
            read(request.substring(i, i + 1));
        }
        assertThat(sent()).as("byte by byte").startsWith("HTTP/1.1 400 ");
        assertThat(opened).isZero();
    }

    /** Responses are sent in the order of the requests (RFC 9112 section 9.3.2). */
    @ParameterizedTest
    @ValueSource(strings = {"abc", "5,5", "99999999999999999999", "-1", ""})
    void should_answer_the_request_before_a_malformed_handshake_first(String length) {
        read("GET /wait HTTP/1.1\r\nhost: a\r\n\r\n"
                + "GET /b HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\ncontent-length: "
                + length + "\r\n\r\n");
        assertThat(sent()).isEmpty();
        assertThat(cancelled).isFalse();
        answerWaiting();
        channel.runPendingTasks();
        assertThat(sent()).containsSubsequence("HTTP/1.1 200 ", "HTTP/1.1 400 ");
    }

    /** RFC 9110 section 9.3.2. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "transfer-encoding: chunked\r\n\r\nno size\r\n",
                "transfer-encoding: chunked\r\n\r\n0\r\nno trailer\r\n\r\n",
                "content-length: 4\r\n\r\n",
                "content-length: abc\r\n\r\n",
                "no header\r\n\r\n"
            })
    void should_send_no_body_to_a_refused_head_request(String rest) {
        read("HEAD /wait HTTP/1.1\r\nhost: a\r\n" + rest);
        pass(BODY_TIMEOUT.plus(LOOK.multipliedBy(2)));
        String answer = sent();
        assertThat(answer)
                .startsWith("HTTP/1.1 40")
                .contains("connection: close")
                .endsWith("\r\n\r\n");
        assertThat(answer.indexOf("\r\n\r\n")).isEqualTo(answer.length() - 4);
    }

    @Test
    void should_send_no_body_to_a_head_request_with_too_many_trailers() {
        read(TRAILERS.replace("POST", "HEAD")
                + "a:\r\n".repeat(2 * HttpLimits.defaults().maxHeaders()));
        assertThat(sent()).startsWith("HTTP/1.1 431 ").endsWith("connection: close\r\n\r\n");
    }

    @Test
    void should_send_a_body_to_a_refused_request_behind_a_head_request() {
        read("HEAD / HTTP/1.1\r\nhost: a\r\n\r\nno request\r\n\r\n");
        assertThat(sent()).containsSubsequence("HTTP/1.1 204 ", "HTTP/1.1 400 ", "malformed request");
    }

    @Test
    void should_take_tabs_in_header_values() {
        read("\r\nGET / HTTP/1.1\r\nhost:\ta\t\r\nx: a\tb\r\n\r\n");
        assertThat(sent()).startsWith("HTTP/1.1 204 ");
    }

    @Test
    void should_drop_interim_responses_while_the_client_takes_nothing() {
        full = true;
        read("GET /wait HTTP/1.1\r\nhost: a\r\n\r\n");
        for (int i = 0; i < 10_000; i++) {
            waiting.onInterim(new DefaultHttp2Headers().status("103").add("link", "x".repeat(100)));
            channel.runPendingTasks();
        }
        assertThat(observer.protections).contains(Protection.INTERIM_DROPPED);
        waiting.onHead(new DefaultHttp2Headers().status("204"), true);
        takeAll();
        String all = sent();
        assertThat(all.length()).isLessThan(100_000);
        assertThat(all).startsWith("HTTP/1.1 103 ").contains("HTTP/1.1 204 ");
    }

    @Test
    void should_pass_on_many_interim_responses_while_the_client_takes_them() {
        read("GET /wait HTTP/1.1\r\nhost: a\r\n\r\n");
        for (int i = 0; i < 10; i++) {
            waiting.onInterim(new DefaultHttp2Headers().status("103"));
        }
        channel.runPendingTasks();
        assertThat(sent().split("HTTP/1.1 103 ", -1)).hasSize(11);
        assertThat(observer.protections).isEmpty();
    }

    @Test
    void should_leave_a_head_its_time_while_it_is_not_read() {
        read(BEGUN);
        channel.config().setAutoRead(false);
        pass(HEADER_TIMEOUT.multipliedBy(2));
        channel.config().setAutoRead(true);
        pass(HEADER_TIMEOUT);
        assertThat(sent()).isEmpty();
        read(REST);
        assertThat(sent()).startsWith("HTTP/1.1 204 ");
    }
}
