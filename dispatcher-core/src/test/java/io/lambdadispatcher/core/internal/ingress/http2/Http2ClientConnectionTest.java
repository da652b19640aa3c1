package io.lambdadispatcher.core.internal.ingress.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.ingress.edge.ClientGuard;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.HttpLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is stuck, by a clock that the test sets: the handler looks once every head time-out, and what it sees may have begun a moment before. */
class Http2ClientConnectionTest {
    private static final Duration LOOK = HttpLimits.defaults().headTimeout();
    private static final Duration WRITE_TIMEOUT = HttpLimits.defaults().writeTimeout();

    private static final String NO_WINDOW = "000006 04 00 00000000 0004 00000000";
    private static final String GET_BEGUN = "000006 01 05 00000001";
    private static final String GET_REST = "828684 010161";
    private static final String GET_LATER = "000006 01 05 00000003 828684 010161";
    private static final String GET_TOO_LATE = "000006 01 05 00000005 828684 010161";
    private static final String PING = "000008 06 00 00000000 0000000000000000";
    private static final String WINDOW = "000004 08 00 00000001 00000001";

    private final SlowSocket channel = new SlowSocket();
    private final List<ResponseSink> responses = new ArrayList<>();
    private final IngressDrain drain = new IngressDrain();
    private int takenBytes;

    /** Takes all it is given, or octet by octet. */
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

        void take(int octets) {
            room += octets;
            flush();
        }
    }

    /** When the process is an hour old: nothing may be taken to have stood still since the clock's zero. */
    @BeforeEach
    void connect() {
        channel.freezeTime();
        pass(Duration.ofHours(1));
        Http2ClientConnection.install(
                channel.pipeline(),
                new IngressContext(
                        HttpLimits.defaults(),
                        ForwardingPolicy.defaults(),
                        new ClientGuard(HttpLimits.defaults(), 1, List.of(channel.eventLoop()), DispatcherObserver.NONE)
                                .admit(channel, false, this::open),
                        drain,
                        "http",
                        DispatcherObserver.NONE));
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
        responses.add(response);
        return new DiscardingSink() {
            @Override
            public void responseTaken(int bytes) {
                takenBytes += bytes;
            }
        };
    }

    private void pass(Duration time) {
        channel.advanceTimeBy(time.toNanos(), TimeUnit.NANOSECONDS);
        channel.runPendingTasks();
    }

    private void read(String hex) {
        channel.writeInbound(Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(hex.replace(" ", ""))));
    }

    /** RFC 9113 section 8.1.1: a malformed request is an error of its stream, and its body may be on the way already. */
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

    /** @return of the one GOAWAY among the frames sent since the last call */
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

    /** @return the types of the frames of {@code stream} among those sent since the last call */
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

    private void respond() {
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), false);
        responses.get(0).onData(ByteBufUtil.writeAscii(channel.alloc(), "ab"), true);
        assertThat(sent(1)).containsExactly(Http2FrameTypes.HEADERS);
    }

    @Test
    void should_leave_a_response_the_write_timeout_from_the_first_look_at_it() {
        read(GET_BEGUN + GET_REST);
        respond();
        pass(LOOK);
        for (long looks = WRITE_TIMEOUT.dividedBy(LOOK); looks > 0; looks--) {
            assertThat(sent(1)).isEmpty();
            pass(LOOK);
        }
        assertThat(sent(1)).isEmpty();
        assertThat(takenBytes).isZero();

        pass(LOOK);
        assertThat(sent(1)).containsExactly(Http2FrameTypes.RST_STREAM);
        assertThat(takenBytes).as("dropped").isEqualTo(2);
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

    /** It would be kept as long as the connection; what is remembered shows by a text that changes behind its back. */
    @Test
    void should_remember_no_long_authority() {
        Http2ClientConnection handler = channel.pipeline().get(Http2ClientConnection.class);
        StringBuilder known = new StringBuilder("a");
        StringBuilder large = new StringBuilder("a".repeat(60_000));
        assertThat(handler.isAuthority(known)).isTrue();
        assertThat(handler.isAuthority(known.append(' '))).isTrue();
        assertThat(handler.isAuthority(large)).isTrue();
        assertThat(handler.isAuthority(large.append(' '))).isFalse();
    }

    /** RFC 9113 section 6.8: what is later than the last stream that is named was not processed, and may be sent again elsewhere. */
    @Test
    void should_name_the_last_stream_before_it_closes_for_a_drain() {
        read(GET_BEGUN + GET_REST);
        drain.begin();
        assertThat(lastStreamOfGoAway()).isEqualTo(Integer.MAX_VALUE);
        read(GET_LATER);
        assertThat(responses).hasSize(2);

        pass(Duration.ofSeconds(1));
        assertThat(lastStreamOfGoAway()).isEqualTo(3);
        read(GET_TOO_LATE);
        assertThat(responses).hasSize(2);
        assertThat(channel.isOpen()).isTrue();
        responses.forEach(response -> response.onHead(new DefaultHttp2Headers().status("200"), true));
        channel.runPendingTasks();
        assertThat(channel.isOpen()).isFalse();
    }

    /** To reset the stream alone would be of no use: the reset would wait as well, and the stream count as open until then. */
    @Test
    void should_cut_a_client_whose_socket_takes_nothing_for_the_write_timeout() {
        channel.fill();
        read(GET_BEGUN + GET_REST);
        responses.get(0).onHead(new DefaultHttp2Headers().status("200"), true);
        assertThat(timeToClose()).isBetween(WRITE_TIMEOUT, WRITE_TIMEOUT.plus(LOOK.multipliedBy(2)));
    }

    @Test
    void should_cut_a_client_that_takes_nothing_though_its_streams_have_ended() {
        channel.fill();
        read(PING);
        assertThat(timeToClose()).isBetween(WRITE_TIMEOUT, WRITE_TIMEOUT.plus(LOOK.multipliedBy(2)));
    }

    @Test
    void should_keep_a_client_whose_socket_takes_an_octet_now_and_then() {
        read(GET_BEGUN + GET_REST);
        channel.fill();
        responses.get(0).onHead(new DefaultHttp2Headers().status("200").set("a", "b".repeat(100)), true);
        channel.runPendingTasks();
        for (int octets = 0; octets < 5; octets++) {
            for (Duration time = LOOK; time.compareTo(WRITE_TIMEOUT) < 0; time = time.plus(LOOK)) {
                pass(LOOK);
            }
            channel.take(1);
        }
        assertThat(channel.isOpen()).isTrue();
    }

    @Test
    void should_begin_anew_with_each_octet_that_a_client_takes() {
        read(GET_BEGUN + GET_REST);
        respond();
        pass(WRITE_TIMEOUT);
        read(WINDOW);
        assertThat(sent(1)).containsExactly(Http2FrameTypes.DATA);
        pass(LOOK);
        pass(WRITE_TIMEOUT);
        assertThat(sent(1)).isEmpty();

        read(WINDOW);
        assertThat(sent(1)).containsExactly(Http2FrameTypes.DATA);
        assertThat(takenBytes).isEqualTo(2);
    }

    @Test
    void should_leave_a_head_its_time_when_it_begins_just_before_a_look() {
        pass(LOOK);
        pass(LOOK.minusMillis(1));
        read(GET_BEGUN);
        pass(Duration.ofMillis(1));
        assertThat(sent(0)).isEmpty();

        read(GET_REST);
        assertThat(responses).hasSize(1);
    }

    @Test
    void should_end_a_connection_whose_head_has_taken_longer_than_a_look() {
        pass(LOOK);
        read(GET_BEGUN);
        pass(LOOK);
        assertThat(sent(0)).isEmpty();
        pass(LOOK);
        assertThat(sent(0)).containsExactly(Http2FrameTypes.GO_AWAY);
    }
}
