package io.lambdadispatcher.core.internal.ingress.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
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
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the limits and timeouts of a connection. The test sets the clock of the event loop. */
class Http2ClientConnectionTest {
    private static final Duration LOOK = Duration.ofSeconds(1);
    private static final Duration HEADER_TIMEOUT = HttpLimits.defaults().headerTimeout();
    private static final Duration BODY_TIMEOUT = HttpLimits.defaults().bodyTimeout();
    private static final Duration IDLE_TIMEOUT = HttpLimits.defaults().idleTimeout();
    private static final int MAX_RESETS = 40;
    private static final int MIN_RATE = HttpLimits.defaults().minDataRate();
    private static final Duration WRITE_TIMEOUT = HttpLimits.defaults().writeTimeout();

    private static final String NO_WINDOW = "000006 04 00 00000000 0004 00000000";
    private static final String GET_BEGUN = "000006 01 05 00000001";
    private static final String GET_REST = "828684 010161";
    private static final String GET_LATER = "000006 01 05 00000003 828684 010161";
    private static final String GET_TOO_LATE = "000006 01 05 00000005 828684 010161";
    private static final String PING = "000008 06 00 00000000 0000000000000000";
    /** Answers the PING that follows the first GOAWAY. */
    private static final String DRAIN_PING_ACK = "000008 06 01 00000000 000000647261696e";

    private static final Duration TRANSIT = Duration.ofMillis(IngressDrain.TRANSIT_MILLIS);
    private static final String SOME_WINDOW = "000006 04 00 00000000 0004 00001000";
    private static final String SETTINGS_ACK = "000000 04 01 00000000";
    private static final Duration MAX_AGE = Duration.ofMinutes(30);
    private static final String POST = "000006 01 04 00000001 838684 010161";
    private static final String GRPC_CALL = "00002b 01 04 00000001 838684 010161"
            + "00 0c 636f6e74656e742d74797065"
            + "16 6170706c69636174696f6e2f677270632b70726f746f";
    private static final String WINDOW = "000004 08 00 00000001 00000001";

    private final SlowSocket channel = new SlowSocket();
    private final List<Http2Headers> heads = new ArrayList<>();
    private final List<ResponseSink> responses = new ArrayList<>();
    private final IngressDrain drain = new IngressDrain();
    private final RecordingObserver observer = new RecordingObserver();
    private final DefaultHttp2HeadersEncoder hpack = new DefaultHttp2HeadersEncoder();
    private int takenBytes;
    private int cancelled;
    private boolean taking = true;

    /** A socket that accepts all bytes, or only as many as the test says. */
    private static final class SlowSocket extends EmbeddedChannel {
        private boolean slow;
        private int room;

        @Override
        protected void doWrite(ChannelOutboundBuffer queue) throws Exception {
            if (!slow) {
                super.doWrite(queue);
                return;
            }
            for (int left = room; left > 0 && queue.current() instanceof ByteBuf some; room = left) {
                int taken = Math.min(left, some.readableBytes());
                queue.removeBytes(taken);
                left -= taken;
            }
        }

        void fill() {
            slow = true;
        }

        void empty() {
            slow = false;
            flush();
        }

        void take(int count) {
            room += count;
            flush();
        }
    }

    /**
     * Connects an hour after the clock's zero, so that a test fails if a time that was never set
     * counts as zero.
     */
    @BeforeEach
    void connect() {
        channel.freezeTime();
        pass(Duration.ofHours(1));
        Http2ClientConnection.install(
                channel.pipeline(),
                new IngressContext(
                        HttpLimits.builder()
                                .maxResetsPerWindow(MAX_RESETS)
                                .maxConnectionAge(MAX_AGE)
                                .build(),
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
        channel.writeInbound(Http2CodecUtil.connectionPrefaceBuf());
        read(NO_WINDOW);
        sent(0);
    }

    @AfterEach
    void close() {
        channel.empty();
        channel.finishAndReleaseAll();
    }

    private RequestSink open(Http2Headers head, boolean end, ResponseSink response) {
        heads.add(head);
        responses.add(response);
        if (AsciiString.contentEquals(head.path(), "/fault")) {
            throw new IllegalStateException("thrown by the test");
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
            public void responseTaken(int bytes) {
                takenBytes += bytes;
            }

            @Override
            public void cancel(ErrorCode code) {
                cancelled++;
            }
        };
    }

    private void pass(Duration time) {
        for (long left = time.toNanos(); left > 0; left -= LOOK.toNanos()) {
            channel.advanceTimeBy(Math.min(left, LOOK.toNanos()), TimeUnit.NANOSECONDS);
            channel.runPendingTasks();
        }
    }

    private void read(String hex) {
        channel.writeInbound(Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(hex.replace(" ", ""))));
    }

    /**
     * A malformed request is an error of its stream (RFC 9113 section 8.1.1). Its body may already
     * be in transit.
     */
    @Test
    void should_reset_only_the_stream_with_two_content_lengths() {
        read("000006 01 04 00000001 838486 010161");
        read("00000e 01 04 00000003 838486 010161 0f0d0134 0f0d0134");
        read("000004 00 01 00000003 61626364");
        assertThat(sent(3)).isNotEmpty().containsOnly(Http2FrameTypes.RST_STREAM);
        assertThat(channel.isOpen()).isTrue();
        assertThat(responses).hasSize(1);
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), true);
        assertThat(sent(1)).contains(Http2FrameTypes.HEADERS);
    }

    /** @return the last stream in the only GOAWAY that was sent since the previous call */
    private int lastStreamOfGoAway() {
        channel.runPendingTasks();
        int last = -1;
        for (ByteBuf frame = channel.readOutbound(); frame != null; frame = channel.readOutbound()) {
            if (frame.readableBytes() > 9 && frame.getByte(3) == Http2FrameTypes.GO_AWAY) {
                assertThat(last).isEqualTo(-1);
                last = frame.getInt(9);
            }
            frame.release();
        }
        return last;
    }

    /** @return the types of the frames of {@code stream} that were sent since the previous call */
    private List<Byte> sent(int stream) {
        channel.runPendingTasks();
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf some = channel.readOutbound(); some != null; some = channel.readOutbound()) {
            all.writeBytes(some);
            some.release();
        }
        List<Byte> types = new ArrayList<>();
        while (all.isReadable()) {
            int bytes = all.readMedium();
            byte type = all.readByte();
            if (all.skipBytes(1).readInt() == stream) {
                types.add(type);
            }
            all.skipBytes(bytes);
        }
        return types;
    }

    /** A HEAD without {@code :authority} and host. */
    @Test
    void should_date_an_error_response() throws Exception {
        read("000008 01 05 00000001 02 04 48454144 86 84");
        Http2Headers head = sentHead();
        assertThat(head.status()).hasToString("400");
        assertThat(head.get("date")).asString().endsWith(" GMT");
    }

    /** It is not like other errors: the status is 200. */
    @Test
    void should_date_the_response_to_a_late_call_of_grpc() throws Exception {
        read(GRPC_CALL);
        responses.get(0).onFailure(new Failure(Failure.Kind.DEADLINE_EXCEEDED, "late"));
        Http2Headers head = sentHead();
        assertThat(head.status()).hasToString("200");
        assertThat(head.get("grpc-status")).hasToString("4");
        assertThat(head.get("date")).asString().endsWith(" GMT");
    }

    /** Returns the headers of the frame that was sent first. */
    private Http2Headers sentHead() throws Http2Exception {
        channel.runPendingTasks();
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf some = channel.readOutbound(); some != null; some = channel.readOutbound()) {
            all.writeBytes(some);
            some.release();
        }
        int bytes = all.readMedium();
        assertThat(all.readByte()).isEqualTo(Http2FrameTypes.HEADERS);
        return new DefaultHttp2HeadersDecoder()
                .decodeHeaders(1, all.skipBytes(5).readSlice(bytes));
    }

    private void respond() {
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), false);
        responses.get(0).onData(ByteBufUtil.writeAscii(channel.alloc(), "ab"), true);
        assertThat(sent(1)).containsExactly(Http2FrameTypes.HEADERS);
    }

    @Test
    void should_reuse_what_a_stream_had_for_the_next_one_until_a_second_has_passed() {
        read("000006 01 05 00000001 828684 010161");
        ResponseSink first = responses.get(0);
        first.onHead(new DefaultHttp2Headers().status("200"), false);
        first.onTrailers(new DefaultHttp2Headers().set("checksum", "1"));
        assertThat(sent(1)).containsExactly(Http2FrameTypes.HEADERS, Http2FrameTypes.HEADERS);

        read(GET_LATER);
        assertThat(responses).hasSize(2).last().isSameAs(first);
        first.onHead(new DefaultHttp2Headers().status("200"), true);
        assertThat(sent(3)).containsExactly(Http2FrameTypes.HEADERS);
        assertThat(cancelled).isZero();

        pass(LOOK);
        read(GET_TOO_LATE);
        assertThat(responses).hasSize(3).last().isNotSameAs(first);
    }

    @Test
    void should_reset_a_stream_that_takes_nothing_of_its_response() {
        read(GET_BEGUN + GET_REST);
        respond();
        pass(Duration.ofSeconds(10));
        assertThat(sent(1)).isEmpty();
        assertThat(takenBytes).isZero();

        pass(LOOK.multipliedBy(2));
        assertThat(sent(1)).containsExactly(Http2FrameTypes.RST_STREAM);
        assertThat(takenBytes).as("dropped").isEqualTo(2);
        assertThat(observer.protections).containsExactly(Protection.RESPONSE_TOO_SLOW);
    }

    private Duration timeToClose() {
        channel.runPendingTasks();
        Duration waited = Duration.ZERO;
        while (channel.isOpen() && waited.compareTo(WRITE_TIMEOUT.multipliedBy(3)) < 0) {
            pass(LOOK);
            waited = waited.plus(LOOK);
        }
        return waited;
    }

    /**
     * A remembered authority stays in memory as long as the connection. The test changes the text
     * after the first call: a remembered text is not checked again.
     */
    @Test
    void should_accept_and_remember_no_long_authority() {
        Http2ClientConnection handler = channel.pipeline().get(Http2ClientConnection.class);
        StringBuilder known = new StringBuilder("a".repeat(300));
        assertThat(handler.isAuthority(known)).isTrue();
        assertThat(handler.isAuthority(known.append(' '))).isTrue();
        assertThat(handler.isAuthority("a".repeat(301))).isFalse();
    }

    /**
     * Requests after the last stream of GOAWAY were not processed, so clients may repeat them
     * elsewhere (RFC 9113 section 6.8).
     */
    @Test
    void should_name_the_last_stream_before_it_closes_for_a_drain() {
        read(GET_BEGUN + GET_REST);
        drain.begin();
        assertThat(lastStreamOfGoAway()).isEqualTo(Integer.MAX_VALUE);
        expectServedToTheEnd();
    }

    /**
     * The client sends a request just before it learns of the end, and then answers the PING. The
     * connection may have been idle for any time.
     */
    @ParameterizedTest
    @CsvSource({"0, true", "1, false", "100, false", "250, true", "300, true", "600, false", "950, true", "1990, true"})
    void should_serve_what_was_in_transit_at_the_end_of_a_far_client(long roundTripMillis, boolean idle) {
        read(GET_BEGUN + GET_REST);
        if (idle) {
            responses.get(0).onHead(new DefaultHttp2Headers().status("204"), true);
            pass(Duration.ofSeconds(30));
        }
        drain.begin();
        assertThat(lastStreamOfGoAway()).isEqualTo(Integer.MAX_VALUE);
        pass(Duration.ofMillis(roundTripMillis));
        read(GET_LATER + DRAIN_PING_ACK + DRAIN_PING_ACK);
        assertThat(responses).hasSize(2);

        long millis = roundTripMillis;
        int last = lastStreamOfGoAway();
        assertThat(last).isEqualTo(-1);
        while (last < 0) {
            channel.advanceTimeBy(1, TimeUnit.MILLISECONDS);
            millis++;
            last = lastStreamOfGoAway();
        }
        assertThat(last).isEqualTo(3);
        assertThat(millis).isEqualTo(Math.min(IngressDrain.TRANSIT_MILLIS, Math.max(250, 2 * roundTripMillis)));
        responses.get(1).onHead(new DefaultHttp2Headers().status("204"), true);
        assertThat(sent(3)).contains(Http2FrameTypes.HEADERS);
        pass(IDLE_TIMEOUT);
        assertThat(lastStreamOfGoAway()).isEqualTo(-1);
    }

    /** Workers end tunnels when they are told to drain, which is after the drain of clients. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_let_a_drain_wait_for_requests_and_not_for_tunnels(boolean tunnelOpensLast) {
        read(head(1, false, request("CONNECT").add(":protocol", "websocket")));
        read(head(3, true, request("GET")));
        List<ResponseSink> order = tunnelOpensLast ? List.of(responses.get(1), responses.get(0)) : responses;
        CompletableFuture<Void> drained = drain.begin().toCompletableFuture();
        channel.runPendingTasks();
        order.get(0).onHead(new DefaultHttp2Headers().status("200"), tunnelOpensLast);
        pass(TRANSIT);
        assertThat(drained).isNotDone();

        order.get(1).onHead(new DefaultHttp2Headers().status("200"), !tunnelOpensLast);
        channel.runPendingTasks();
        assertThat(drained).isCompleted();
        assertThat(channel.isOpen()).isTrue();
    }

    @Test
    void should_let_a_drain_wait_no_longer_than_for_the_last_goaway_if_there_are_only_tunnels() {
        read(head(1, false, request("CONNECT").add(":protocol", "websocket")));
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), false);
        CompletableFuture<Void> drained = drain.begin().toCompletableFuture();
        channel.runPendingTasks();
        assertThat(drained).isNotDone();
        pass(TRANSIT);
        assertThat(drained).isCompleted();
        assertThat(channel.isOpen()).isTrue();
        CompletableFuture<Void> closed = drain.closed().toCompletableFuture();
        assertThat(closed).isNotDone();
        channel.close();
        channel.runPendingTasks();
        read("000004030000000001" + "00000008");
        assertThat(channel.isOpen()).isFalse();
        assertThat(closed).isCompleted();
    }

    @Test
    void should_serve_an_old_connection_to_its_end() {
        read(GET_BEGUN + GET_REST);
        pass(MAX_AGE.minusSeconds(1));
        assertThat(lastStreamOfGoAway()).isEqualTo(-1);
        Duration more = Duration.ZERO;
        int last = -1;
        while (last < 0 && more.compareTo(MAX_AGE) < 0) {
            pass(LOOK);
            more = more.plus(LOOK);
            last = lastStreamOfGoAway();
        }
        assertThat(more).isLessThan(Duration.ofMinutes(4));
        assertThat(last).isEqualTo(Integer.MAX_VALUE);
        expectServedToTheEnd();
    }

    /** A request may be in transit to a connection that was idle for long. */
    @Test
    void should_announce_the_end_of_an_old_connection_that_is_idle() {
        int id = -1;
        int last = -1;
        for (int second = 0; last < 0 && second < 2 * MAX_AGE.toSeconds(); second++) {
            if (second % 60 == 0) {
                id += 2;
                read("000006 01 05 %08x 828684 010161".formatted(id));
                responses.get(responses.size() - 1).onHead(new DefaultHttp2Headers().status("200"), true);
            }
            pass(LOOK);
            last = lastStreamOfGoAway();
        }
        assertThat(last).isEqualTo(Integer.MAX_VALUE);
        assertThat(channel.isOpen()).isTrue();
        pass(TRANSIT);
        assertThat(lastStreamOfGoAway()).isEqualTo(id);
        assertThat(channel.isOpen()).isFalse();
    }

    /** One request is in flight, and one comes later. */
    private void expectServedToTheEnd() {
        read(GET_LATER);
        assertThat(responses).hasSize(2);

        pass(TRANSIT);
        assertThat(lastStreamOfGoAway()).isEqualTo(3);
        read(GET_TOO_LATE);
        assertThat(responses).hasSize(2);
        assertThat(channel.isOpen()).isTrue();
        responses.forEach(response -> response.onHead(new DefaultHttp2Headers().status("200"), true));
        channel.runPendingTasks();
        assertThat(channel.isOpen()).isFalse();
    }

    /**
     * Resetting only the stream would not help. RST_STREAM would wait, too, and the stream would
     * count as open until it is sent.
     */
    @Test
    void should_cut_a_client_whose_socket_takes_nothing_for_the_write_timeout() {
        channel.fill();
        read(GET_BEGUN + GET_REST);
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), true);
        assertThat(timeToClose()).isBetween(Duration.ofSeconds(10), Duration.ofSeconds(12));
    }

    @Test
    void should_cut_a_client_that_takes_nothing_though_its_streams_have_ended() {
        channel.fill();
        read(PING);
        assertThat(timeToClose()).isBetween(Duration.ofSeconds(10), Duration.ofSeconds(12));
    }

    @Test
    void should_cut_a_client_whose_socket_takes_a_byte_now_and_then() {
        read(GET_BEGUN + GET_REST);
        channel.fill();
        responses.get(0).onHead(new DefaultHttp2Headers().status("200").set("a", "b".repeat(100)), true);
        channel.runPendingTasks();
        for (int seconds = 0; seconds < 12; seconds++) {
            assertThat(channel.isOpen()).isTrue();
            pass(LOOK);
            channel.take(1);
        }
        assertThat(channel.isOpen()).isFalse();
        assertThat(observer.protections).containsExactly(Protection.RESPONSE_TOO_SLOW);
    }

    /** Opens the window of stream 1, or of the connection, by one byte. */
    private void openWindow(int stream) {
        read("000004 08 00 0000000" + stream + " 00000001");
    }

    @Test
    void should_reset_a_stream_whose_window_opens_by_a_byte_a_second() {
        read(GET_BEGUN + GET_REST);
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), false);
        responses.get(0).onData(Unpooled.buffer().writeZero(100_000), false);
        int seconds = 0;
        for (; seconds < 100 && !sent(1).contains(Http2FrameTypes.RST_STREAM); seconds++) {
            openWindow(1);
            pass(LOOK);
        }
        assertThat(seconds).isBetween(10, 13);
        assertThat(cancelled).isEqualTo(1);
        assertThat(observer.protections).containsExactly(Protection.RESPONSE_TOO_SLOW);
        assertThat(channel.isOpen()).isTrue();
    }

    @Test
    void should_leave_a_stream_alone_whose_window_opens_at_the_minimum_rate() {
        read(GET_BEGUN + GET_REST);
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), false);
        responses.get(0).onData(Unpooled.buffer().writeZero(100_000), false);
        for (int seconds = 0; seconds < 100; seconds++) {
            read("000004 08 00 00000001 0000" + "%04x".formatted(MIN_RATE));
            pass(LOOK);
            assertThat(sent(1)).doesNotContain(Http2FrameTypes.RST_STREAM);
        }
    }

    /** Streams share this window, so one stream may wait for long without the client's fault. */
    @Test
    void should_count_the_rate_of_all_streams_when_the_window_of_the_connection_is_closed() {
        read("000006 04 00 00000000 0004 00100000");
        read(GET_BEGUN + GET_REST);
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), false);
        responses.get(0).onData(Unpooled.buffer().writeZero(500_000), false);
        pass(LOOK);
        for (int seconds = 0; seconds < 40; seconds++) {
            read("000004 08 00 00000000 0000" + "%04x".formatted(MIN_RATE));
            pass(LOOK);
        }
        assertThat(sent(1)).doesNotContain(Http2FrameTypes.RST_STREAM);
        assertThat(channel.isOpen()).isTrue();
        for (int seconds = 0; channel.isOpen() && seconds < 40; seconds++) {
            openWindow(0);
            pass(LOOK);
        }
        assertThat(channel.isOpen()).isFalse();
        assertThat(observer.protections).containsExactly(Protection.RESPONSE_TOO_SLOW);
    }

    private void post(String bytes) {
        read("00" + "%04x".formatted(bytes.length() / 2) + " 00 00 00000001" + bytes);
    }

    @Test
    void should_answer_408_to_a_request_without_a_byte_of_its_body_for_the_body_timeout() {
        read(SOME_WINDOW);
        read(POST);
        post("00".repeat(MIN_RATE * 20));
        pass(BODY_TIMEOUT);
        assertThat(sent(1)).isEmpty();
        pass(LOOK.multipliedBy(4));
        assertThat(sent(1)).containsExactly(Http2FrameTypes.HEADERS, Http2FrameTypes.DATA, Http2FrameTypes.RST_STREAM);
        assertThat(cancelled).isEqualTo(1);
        assertThat(observer.protections).containsExactly(Protection.BODY_TOO_SLOW);
    }

    /**
     * The response is complete, so the dispatcher does not need the rest of the request (RFC 9113
     * section 8.1).
     */
    @Test
    void should_answer_408_and_reset_a_stream_whose_body_comes_byte_by_byte() {
        read(SOME_WINDOW);
        read(POST);
        int seconds = 0;
        List<Byte> answer = List.of();
        for (; seconds < 100 && answer.isEmpty(); seconds++) {
            post("00");
            pass(LOOK);
            answer = sent(1);
        }
        assertThat(seconds).isBetween(20, 23);
        assertThat(answer).containsExactly(Http2FrameTypes.HEADERS, Http2FrameTypes.DATA);
        pass(LOOK);
        assertThat(sent(1)).containsExactly(Http2FrameTypes.RST_STREAM);
        assertThat(channel.isOpen()).isTrue();
    }

    /**
     * The client has sent one message, and waits for a response that starts with the first event.
     */
    @Test
    void should_leave_a_call_of_grpc_the_idle_timeout() {
        read(SOME_WINDOW);
        read(GRPC_CALL);
        post("00");
        pass(IDLE_TIMEOUT);
        assertThat(sent(1)).isEmpty();
        pass(LOOK.multipliedBy(2));
        assertThat(sent(1)).containsExactly(Http2FrameTypes.RST_STREAM);
        assertThat(cancelled).isEqualTo(1);
    }

    @Test
    void should_leave_a_body_alone_that_comes_at_the_minimum_rate() {
        read(POST);
        for (int seconds = 0; seconds < 100; seconds++) {
            post("00".repeat(MIN_RATE));
            pass(LOOK);
        }
        assertThat(sent(1)).doesNotContain(Http2FrameTypes.HEADERS);
        assertThat(responses).hasSize(1);
    }

    @Test
    void should_wait_for_a_worker_that_does_not_take_the_body() {
        taking = false;
        read(SOME_WINDOW);
        read(SETTINGS_ACK);
        read(POST);
        int window = HttpLimits.defaults().streamWindowBytes();
        for (int left = window; left > 0; left -= 0x4000) {
            post("00".repeat(0x4000));
        }
        pass(BODY_TIMEOUT.multipliedBy(3));
        assertThat(sent(1)).isEmpty();
        responses.get(0).onRequestTaken(window);
        assertThat(sent(1)).containsExactly(Http2FrameTypes.WINDOW_UPDATE);
        pass(BODY_TIMEOUT.plus(LOOK.multipliedBy(2)));
        assertThat(sent(1)).contains(Http2FrameTypes.HEADERS);
    }

    /** Each side of a gRPC stream sends messages whenever it has some. */
    @Test
    void should_give_both_directions_the_idle_timeout_once_the_response_has_begun() {
        read(POST);
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), false);
        pass(IDLE_TIMEOUT);
        post("00");
        pass(IDLE_TIMEOUT);
        read(WINDOW);
        responses.get(0).onData(ByteBufUtil.writeAscii(channel.alloc(), "a"), false);
        pass(IDLE_TIMEOUT);
        assertThat(sent(1)).doesNotContain(Http2FrameTypes.RST_STREAM);
        pass(LOOK.multipliedBy(2));
        assertThat(sent(1)).contains(Http2FrameTypes.RST_STREAM);
        assertThat(cancelled).isEqualTo(1);
    }

    @Test
    void should_begin_anew_with_each_byte_that_a_client_takes() {
        read(GET_BEGUN + GET_REST);
        respond();
        pass(WRITE_TIMEOUT.dividedBy(4));
        read(WINDOW);
        assertThat(sent(1)).containsExactly(Http2FrameTypes.DATA);
        assertThat(takenBytes).isEqualTo(1);
        read(WINDOW);
        assertThat(sent(1)).containsExactly(Http2FrameTypes.DATA);
        assertThat(takenBytes).isEqualTo(2);
    }

    @Test
    void should_leave_a_head_its_time() {
        read(GET_BEGUN);
        pass(HEADER_TIMEOUT);
        assertThat(sent(0)).isEmpty();
        read(GET_REST);
        assertThat(responses).hasSize(1);
        read(GET_LATER.substring(0, GET_LATER.length() - 6));
        pass(HEADER_TIMEOUT);
        assertThat(sent(0)).isEmpty();
    }

    @Test
    void should_end_a_connection_whose_head_takes_longer_than_its_timeout() {
        read(GET_BEGUN);
        pass(HEADER_TIMEOUT.plus(LOOK.multipliedBy(2)));
        assertThat(sent(0)).containsExactly(Http2FrameTypes.GO_AWAY);
    }

    private static String frame(int bytes, String typeAndFlags, int stream, String payload) {
        return "%06x%s%08x%s".formatted(bytes, typeAndFlags, stream, payload);
    }

    private String head(int stream, boolean end, Http2Headers head) {
        ByteBuf block = Unpooled.buffer();
        try {
            hpack.encodeHeaders(stream, head, block);
        } catch (Http2Exception e) {
            throw new AssertionError(e);
        }
        return frame(block.readableBytes(), end ? "0105" : "0104", stream, ByteBufUtil.hexDump(block));
    }

    private static Http2Headers request(String method) {
        return new DefaultHttp2Headers().method(method).scheme("http").path("/").authority("a");
    }

    /** What a client can do so that either side resets a stream. */
    enum Fault {
        RESET,
        WINDOW_OVERFLOW,
        NO_INCREMENT,
        DATA_AFTER_END,
        WRONG_LENGTH,
        DEPENDENCY_ON_ITSELF,
        TRAILERS_OF_A_TUNNEL,
        TWO_LENGTHS
    }

    private void commit(Fault fault, int stream) {
        Http2Headers post = request("POST");
        switch (fault) {
            case RESET -> read(head(stream, false, post) + frame(4, "0300", stream, "00000008"));
            case WINDOW_OVERFLOW ->
                read(head(stream, false, post)
                        + frame(4, "0800", stream, "7fffffff")
                        + frame(4, "0800", stream, "7fffffff"));
            case NO_INCREMENT -> read(head(stream, false, post) + frame(4, "0800", stream, "00000000"));
            case DATA_AFTER_END -> read(head(stream, true, post) + frame(1, "0000", stream, "00"));
            case WRONG_LENGTH ->
                read(head(stream, false, post.add("content-length", "1")) + frame(2, "0000", stream, "0000"));
            case DEPENDENCY_ON_ITSELF ->
                read(head(stream, false, post) + frame(5, "0200", stream, "%08x".formatted(stream) + "00"));
            case TRAILERS_OF_A_TUNNEL ->
                read(head(stream, false, request("CONNECT").add(":protocol", "websocket"))
                        + head(stream, true, new DefaultHttp2Headers().add("a", "b")));
            case TWO_LENGTHS ->
                read(head(stream, false, post.add("content-length", "1").add("content-length", "2")));
        }
    }

    private int faultsUntilTheEnd(IntFunction<Fault> faults, int pauses) {
        for (int fault = 1; fault <= MAX_RESETS * 2; fault++) {
            commit(faults.apply(fault), fault * 2 - 1);
            if (sent(0).contains(Http2FrameTypes.GO_AWAY)) {
                return fault;
            }
            if (pauses > 0 && fault % pauses == 0) {
                pass(LOOK);
            }
        }
        return 0;
    }

    @ParameterizedTest
    @EnumSource
    void should_end_a_connection_that_has_too_many_streams_reset(Fault fault) {
        assertThat(faultsUntilTheEnd(number -> fault, 0)).isEqualTo(MAX_RESETS + 1);
        assertThat(observer.protections).containsExactly(Protection.TOO_MANY_RESETS);
        assertThat(cancelled).isGreaterThanOrEqualTo(fault == Fault.TWO_LENGTHS ? 0 : MAX_RESETS);
        pass(Duration.ofSeconds(2));
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_count_all_resets_of_30_seconds_together() {
        Fault[] all = Fault.values();
        assertThat(faultsUntilTheEnd(number -> all[number % all.length], 2)).isEqualTo(MAX_RESETS + 1);
    }

    @Test
    void should_leave_a_connection_alone_with_few_resets_a_second() {
        assertThat(faultsUntilTheEnd(number -> Fault.RESET, 1)).isZero();
        assertThat(observer.protections).isEmpty();
    }

    /** The frames were in transit when the stream was reset (RFC 9113 section 5.1). */
    @Test
    void should_ignore_what_comes_for_a_stream_that_was_reset_here() {
        commit(Fault.WRONG_LENGTH, 1);
        sent(1);
        read(frame(1, "0000", 1, "00").repeat(1_000));
        read(head(1, true, new DefaultHttp2Headers().add("a", "b")));
        assertThat(sent(1)).isEmpty();
        assertThat(channel.isOpen()).isTrue();
        assertThat(observer.protections).isEmpty();
    }

    @Test
    void should_end_a_connection_that_sends_without_end_for_a_stream_that_was_reset_here() {
        commit(Fault.WRONG_LENGTH, 1);
        read(frame(1, "0000", 1, "00").repeat(10_010));
        assertThat(sent(0)).contains(Http2FrameTypes.GO_AWAY);
    }

    /** curl 7.88 loses a response that it reads together with the reset. */
    @Test
    void should_leave_a_client_time_to_read_an_early_response_before_it_resets_the_upload() {
        read(SETTINGS_ACK);
        read(head(1, false, request("POST")));
        responses.get(0).onHead(new DefaultHttp2Headers().status("413"), true);
        assertThat(sent(1)).containsExactly(Http2FrameTypes.HEADERS);
        dataOf(1, HttpLimits.defaults().streamWindowBytes() - 1);
        pass(Duration.ofMillis(199));
        assertThat(sent(1)).as("neither a reset nor a larger window").isEmpty();
        pass(Duration.ofMillis(1));
        channel.runPendingTasks();
        ByteBuf reset = channel.readOutbound();
        assertThat(ByteBufUtil.hexDump(reset)).startsWith(frame(4, "0300", 1, "00000000"));
        reset.release();
        dataOf(1, 1000);
        assertThat(channel.isOpen()).isTrue();
    }

    /** The stream's objects serve the next stream when the timer of the first fires. */
    @Test
    void should_not_reset_an_upload_that_ends_soon_after_its_early_response() {
        read(head(1, false, request("POST")));
        responses.get(0).onHead(new DefaultHttp2Headers().status("413"), true);
        sent(1);
        read(frame(4, "0001", 1, "00000000"));
        read(head(3, false, request("POST")));
        pass(Duration.ofMillis(100));
        responses.get(1).onHead(new DefaultHttp2Headers().status("413"), true);
        pass(Duration.ofMillis(100));
        assertThat(sent(3)).containsExactly(Http2FrameTypes.HEADERS);
        pass(Duration.ofMillis(100));
        assertThat(sent(3)).containsExactly(Http2FrameTypes.RST_STREAM);
    }

    /** Nothing is cancelled. Clients of gRPC do so when a call ends early. */
    @Test
    void should_not_count_resets_of_requests_that_were_answered() {
        for (int stream = 1; stream < 6 * MAX_RESETS; stream += 2) {
            read(head(stream, false, request("POST")));
            responses.get(stream / 2).onHead(new DefaultHttp2Headers().status("413"), true);
            channel.runPendingTasks();
            read(frame(4, "0300", stream, "00000000"));
        }
        assertThat(sent(0)).doesNotContain(Http2FrameTypes.GO_AWAY);
        assertThat(observer.protections).isEmpty();
        assertThat(cancelled).isZero();
    }

    /** The network decides how many parts a frame arrives in. */
    @Test
    void should_count_a_late_frame_once_however_many_parts_it_arrives_in() {
        commit(Fault.WRONG_LENGTH, 1);
        String late = frame(11_000, "0000", 1, "00".repeat(11_000));
        for (int i = 0; i < late.length(); i += 2) {
            read(late.substring(i, i + 2));
        }
        assertThat(channel.isOpen()).isTrue();
        assertThat(sent(0)).doesNotContain(Http2FrameTypes.GO_AWAY);
    }

    /**
     * Go's client sends all its requests before it knows the limit, and each body directly after
     * its headers.
     */
    @Test
    void should_refuse_streams_beyond_the_limit_without_harm_to_those_before() {
        int limit = HttpLimits.defaults().maxConcurrentStreams();
        int last = (limit + 3 * MAX_RESETS) * 2 - 1;
        String all = "";
        for (int stream = 1; stream <= last; stream += 2) {
            all += head(stream, false, request("POST"));
        }
        read(all);
        assertThat(responses).hasSize(limit);
        read(frame(2, "0000", last - 2, "0000")
                + frame(2, "0001", last, "0000")
                + frame(4, "0300", last - 4, "00000008")
                + head(last - 6, true, new DefaultHttp2Headers().add("a", "b")));
        assertThat(sent(last)).containsExactly(Http2FrameTypes.RST_STREAM);
        read(frame(1, "0000", limit * 2 + 1, "00").repeat(2 * MAX_RESETS));
        assertThat(sent(limit * 2 + 1)).isEmpty();
        assertThat(observer.protections).isEmpty();
        read(frame(2, "0001", 1, "0000"));
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), true);
        assertThat(sent(1)).contains(Http2FrameTypes.HEADERS);
        read(head(last + 2, true, request("GET")));
        assertThat(responses).hasSize(limit + 1);
    }

    @Test
    void should_take_no_malformed_head_in_two_parts_for_one_that_never_ends() {
        read("00000a 01 05 00000001 838684");
        read("010161 00 01 41 00");
        assertThat(sent(1)).containsExactly(Http2FrameTypes.RST_STREAM);
        pass(HEADER_TIMEOUT.plus(LOOK).plus(LOOK));
        assertThat(sent(0)).doesNotContain(Http2FrameTypes.GO_AWAY);
        assertThat(channel.isOpen()).isTrue();
    }

    @Test
    void should_end_a_connection_that_opens_streams_beyond_the_limit_without_end() {
        for (int stream = 1; stream <= 22_000 && channel.isOpen(); stream += 2) {
            read(head(stream, false, request("POST")));
        }
        pass(Duration.ofSeconds(2));
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_ignore_the_body_of_a_request_with_a_malformed_head() {
        read(head(1, false, request("POST")));
        read("00000a 01 04 00000003 838684 010161 00 01 41 00");
        read(frame(2, "0001", 3, "0000"));
        assertThat(sent(3)).containsExactly(Http2FrameTypes.RST_STREAM);
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), true);
        assertThat(sent(1)).contains(Http2FrameTypes.HEADERS);
    }

    /** DATA on an idle stream is a connection error (RFC 9113 section 5.1). */
    @Test
    void should_close_a_connection_with_data_for_a_stream_that_has_no_head() {
        read(head(1, false, request("POST")) + frame(2, "0001", 3, "0000"));
        assertThat(sent(0)).contains(Http2FrameTypes.GO_AWAY);
    }

    /** Netty takes the errors of these for errors of a stream. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "000004 08 00 7fffffff 00000000",
                "000004 08 00 00000063 00000000",
                "000004 08 00 00000002 00000000",
                "000001 02 00 00000063 00"
            })
    void should_close_a_connection_with_a_malformed_frame_for_an_idle_stream(String malformed) {
        read(head(1, false, request("POST")) + malformed);
        assertThat(goAwayError()).isEqualTo((int) Http2Error.PROTOCOL_ERROR.code());
    }

    private void dataOf(int stream, int bytes) {
        for (int left = bytes; left > 0; left -= 16_384) {
            int part = Math.min(left, 16_384);
            read("%06x 00 00 %08x".formatted(part, stream) + "00".repeat(part));
        }
    }

    /**
     * Netty alone would reset the stream, return the bytes to the window twice, and keep the
     * connection open.
     */
    @Test
    void should_close_a_connection_that_exceeds_the_window_of_a_stream() {
        taking = false;
        int window = HttpLimits.defaults().streamWindowBytes();
        read(SETTINGS_ACK);
        read(POST);
        dataOf(1, window);
        assertThat(sent(0)).doesNotContain(Http2FrameTypes.GO_AWAY);
        dataOf(1, 1);
        assertThat(goAwayError()).isEqualTo((int) Http2Error.FLOW_CONTROL_ERROR.code());
    }

    private int goAwayError() {
        channel.runPendingTasks();
        int error = -1;
        for (ByteBuf some = channel.readOutbound(); some != null; some = channel.readOutbound()) {
            if (some.readableBytes() > 16 && some.getByte(3) == Http2FrameTypes.GO_AWAY) {
                error = some.getInt(13);
            }
            some.release();
        }
        return error;
    }

    @Test
    void should_take_a_head_for_a_stream_that_has_ended_for_an_error_of_the_connection() {
        read(head(1, true, request("GET")));
        responses.get(0).onHead(new DefaultHttp2Headers().status("204"), true);
        sent(1);
        read(head(1, true, request("GET")));
        assertThat(goAwayError()).isEqualTo((int) Http2Error.STREAM_CLOSED.code());
    }

    @Test
    void should_take_a_head_for_a_stream_that_was_skipped_for_an_error_of_the_connection() {
        read(head(5, true, request("GET")));
        sent(5);
        read(head(3, true, request("GET")));
        assertThat(goAwayError()).isEqualTo((int) Http2Error.PROTOCOL_ERROR.code());
    }

    @Test
    void should_reset_a_stream_that_gets_a_head_after_its_end() {
        read(head(1, true, request("GET")));
        sent(1);
        read(head(1, true, request("GET")));
        channel.runPendingTasks();
        ByteBuf reset = channel.readOutbound();
        assertThat(ByteBufUtil.hexDump(reset)).isEqualTo(frame(4, "0300", 1, "00000005"));
        reset.release();
    }

    @ParameterizedTest
    @CsvSource({
        ":method, G(T, 400",
        ":method, 'G T', 400",
        ":scheme, ftp, 400",
        ":scheme, http:, 400",
        ":scheme, https, 200"
    })
    void should_refuse_a_method_or_scheme_that_is_none(String name, String value, String status) throws Exception {
        read(SOME_WINDOW);
        sent(0);
        read(head(1, true, request("GET").set(name, value)));
        responses.forEach(response -> response.onHead(new DefaultHttp2Headers().status("200"), true));
        assertThat(firstHead(1).status()).hasToString(status);
    }

    @ParameterizedTest
    @CsvSource({"a, , 200", "b, , 400", "a, a, 400", "a, b, 400", "A:80, , 200", "a:, , 200", "a:443, , 400"})
    void should_refuse_hosts_that_readers_may_understand_differently(String host, String second, String status)
            throws Exception {
        read(SOME_WINDOW);
        sent(0);
        Http2Headers head = request("GET").add("host", host);
        read(head(1, true, second == null ? head : head.add("host", second)));
        responses.forEach(response -> response.onHead(new DefaultHttp2Headers().status("200"), true));
        assertThat(firstHead(1).status()).hasToString(status);
    }

    @ParameterizedTest
    @CsvSource({"GET, *, 400", "OPTIONS, *, 200", "OPTIONS, *a, 400"})
    void should_take_an_asterisk_for_a_path_only_with_options(String method, String path, String status)
            throws Exception {
        read(SOME_WINDOW);
        sent(0);
        read(head(1, true, request(method).path(path)));
        responses.forEach(response -> response.onHead(new DefaultHttp2Headers().status("200"), true));
        assertThat(firstHead(1).status()).hasToString(status);
    }

    @ParameterizedTest
    @CsvSource({"100-continue, , 100", "100-Continue, 100-continue, 417", "100-continue, a, 417", "a, , 417"})
    void should_accept_one_expectation_of_100_continue(String first, String second, String status) throws Exception {
        read(SOME_WINDOW);
        sent(0);
        Http2Headers head = request("POST").add("expect", first);
        read(head(1, false, second == null ? head : head.add("expect", second)));
        assertThat(firstHead(1).status()).hasToString(status);
    }

    /** RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5. */
    @ParameterizedTest
    @ValueSource(strings = {"204", "205", "304"})
    void should_send_no_trailers_after_a_status_that_allows_none(String status) {
        read(head(1, true, request("GET")));
        sent(0);
        responses.get(0).onHead(new DefaultHttp2Headers().status(status), false);
        responses.get(0).onTrailers(new DefaultHttp2Headers().add("x-a", "1"));
        assertThat(sent(1)).containsExactly(Http2FrameTypes.HEADERS, Http2FrameTypes.DATA);
    }

    /** A joined value that ends with a blank would be an error of the connection. */
    @Test
    void should_serve_a_request_with_an_empty_cookie_without_harm_to_others() {
        read(head(1, false, request("POST")));
        read(head(3, true, request("GET").add("cookie", "a=1").add("cookie", "")));
        assertThat(sent(0)).doesNotContain(Http2FrameTypes.GO_AWAY);
        assertThat(heads).hasSize(2);
        assertThat(heads.get(1).getAll("cookie")).singleElement().hasToString("a=1");

        read(frame(1, "0001", 1, "00"));
        responses.forEach(response -> response.onHead(new DefaultHttp2Headers().status("200"), true));
        assertThat(sent(1)).containsExactly(Http2FrameTypes.HEADERS);
    }

    @Test
    void should_reset_only_the_stream_whose_request_fails_unexpectedly() {
        read(head(1, true, request("GET")));
        read(head(3, true, request("GET").path("/fault")) + head(5, true, request("GET")));
        assertThat(sent(3)).containsExactly(Http2FrameTypes.RST_STREAM);
        assertThat(responses).hasSize(3);

        // It must not reach another request.
        responses.get(1).onHead(new DefaultHttp2Headers().status("200"), true);
        channel.runPendingTasks();
        assertThat(channel.<Object>readOutbound()).isNull();
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), true);
        assertThat(sent(1)).containsExactly(Http2FrameTypes.HEADERS);
        responses.get(2).onHead(new DefaultHttp2Headers().status("200"), true);
        assertThat(sent(5)).containsExactly(Http2FrameTypes.HEADERS);
    }

    private Http2Headers firstHead(int stream) throws Http2Exception {
        channel.runPendingTasks();
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf some = channel.readOutbound(); some != null; some = channel.readOutbound()) {
            all.writeBytes(some);
            some.release();
        }
        int bytes = all.readMedium();
        assertThat(all.readByte()).isEqualTo(Http2FrameTypes.HEADERS);
        return new DefaultHttp2HeadersDecoder()
                .decodeHeaders(stream, all.skipBytes(5).readSlice(bytes));
    }

    @Test
    void should_drop_interim_responses_while_the_client_takes_nothing() {
        read(head(1, true, request("GET")));
        channel.fill();
        for (int i = 0; i < 10_000; i++) {
            responses.get(0).onInterim(new DefaultHttp2Headers().status("103").add("link", "x" + i));
            channel.runPendingTasks();
        }
        assertThat(channel.unsafe().outboundBuffer().totalPendingWriteBytes()).isLessThan(100_000);
        assertThat(observer.protections).contains(Protection.INTERIM_DROPPED);
        responses.get(0).onHead(new DefaultHttp2Headers().status("204"), true);
        channel.empty();
        assertThat(sent(1)).hasSizeGreaterThan(100).containsOnly(Http2FrameTypes.HEADERS);
    }

    /**
     * If the memory for clients is used up, neither the bodies of a client nor its window updates
     * arrive.
     */
    @Test
    void should_blame_no_client_that_is_not_read() {
        read(head(1, false, request("POST")));
        read(head(3, true, request("GET")));
        responses.get(1).onHead(new DefaultHttp2Headers().status("200"), false);
        responses.get(1).onData(ByteBufUtil.writeAscii(channel.alloc(), "ab"), true);
        sent(0);
        channel.config().setAutoRead(false);
        pass(BODY_TIMEOUT.multipliedBy(2));
        assertThat(sent(0)).isEmpty();
        assertThat(observer.protections).isEmpty();

        channel.config().setAutoRead(true);
        pass(BODY_TIMEOUT.multipliedBy(2));
        assertThat(observer.protections).contains(Protection.BODY_TOO_SLOW, Protection.RESPONSE_TOO_SLOW);
    }

    @Test
    void should_leave_a_head_its_time_while_it_is_not_read() {
        read(GET_BEGUN);
        channel.config().setAutoRead(false);
        pass(HEADER_TIMEOUT.multipliedBy(2));
        channel.config().setAutoRead(true);
        pass(HEADER_TIMEOUT);
        assertThat(sent(0)).isEmpty();
        read(GET_REST);
        assertThat(responses).hasSize(1);
    }
}
