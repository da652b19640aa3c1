package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2RemoteFlowController.FlowControlled;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FairFlowControllerTest {
    private static final int WINDOW_BYTES = 65_535;

    private final DefaultHttp2Connection connection = new DefaultHttp2Connection(true);
    private final FairFlowController flow = new FairFlowController(connection);
    private final List<String> events = new ArrayList<>();
    private final EmbeddedChannel channel = new EmbeddedChannel(new ChannelInboundHandlerAdapter());
    private int nextStream = 1;

    @BeforeEach
    void start() {
        connection.remote().flowController(flow);
        channel.config().setWriteBufferWaterMark(new WriteBufferWaterMark(1 << 19, 1 << 20));
        flow.channelHandlerContext(channel.pipeline().firstContext());
    }

    @AfterEach
    void finish() {
        channel.finishAndReleaseAll();
    }

    private Http2Stream open() throws Http2Exception {
        Http2Stream stream = connection.remote().createStream(nextStream, false);
        nextStream += 2;
        return stream;
    }

    private Frame add(Http2Stream stream, int bytes) {
        Frame frame = new Frame(stream, bytes);
        flow.addFlowControlled(stream, frame);
        return frame;
    }

    private void give(Http2Stream stream, int bytes) throws Http2Exception {
        flow.incrementWindowSize(stream, bytes);
        flow.writePendingBytes();
    }

    /** Writes what it may, and tells. */
    private final class Frame implements FlowControlled {
        private final Http2Stream stream;
        private int left;
        private Runnable afterWrite = () -> {};
        private Throwable error;
        private boolean complete;

        Frame(Http2Stream stream, int bytes) {
            this.stream = stream;
            this.left = bytes;
        }

        @Override
        public int size() {
            return left;
        }

        @Override
        public void write(ChannelHandlerContext ctx, int allowedBytes) {
            int bytes = Math.min(left, allowedBytes);
            left -= bytes;
            events.add(stream.id() + ":" + bytes);
            afterWrite.run();
        }

        @Override
        public void writeComplete() {
            complete = true;
        }

        @Override
        public void error(ChannelHandlerContext ctx, Throwable cause) {
            error = cause;
        }

        @Override
        public boolean merge(ChannelHandlerContext ctx, FlowControlled next) {
            return false;
        }
    }

    @Test
    void should_write_what_windows_allow_and_go_on_when_they_grow() throws Exception {
        Http2Stream stream = open();
        Frame frame = add(stream, WINDOW_BYTES + 100);
        flow.writePendingBytes();
        assertThat(events).containsExactly("1:" + WINDOW_BYTES);
        assertThat(flow.windowSize(stream)).isZero();
        assertThat(flow.windowSize(connection.connectionStream())).isZero();
        give(stream, 60);
        assertThat(events).hasSize(1);
        give(connection.connectionStream(), 1000);
        give(stream, 60);
        assertThat(events).containsExactly("1:" + WINDOW_BYTES, "1:60", "1:40");
        assertThat(frame.complete).isTrue();
        assertThat(flow.hasFlowControlled(stream)).isFalse();
        assertThat(flow.windowSize(stream)).isEqualTo(20);
    }

    @Test
    void should_end_a_stream_while_another_waits_for_the_connections_window() throws Exception {
        Http2Stream blocked = open();
        Http2Stream ending = open();
        add(blocked, WINDOW_BYTES);
        flow.writePendingBytes();
        give(blocked, 100);
        add(blocked, 100);
        flow.writePendingBytes();
        events.clear();

        Frame end = add(ending, 0);
        flow.writePendingBytes();

        assertThat(end.complete).isTrue();
        assertThat(flow.hasFlowControlled(blocked)).isTrue();
        give(connection.connectionStream(), 100);
        assertThat(events).containsExactly("3:0", "1:100");
    }

    @Test
    void should_take_turns() throws Exception {
        give(connection.connectionStream(), 1 << 20);
        flow.initialWindowSize(1 << 20);
        List<Http2Stream> streams = List.of(open(), open(), open());
        streams.forEach(stream -> add(stream, 200_000));
        flow.writePendingBytes();
        assertThat(events.subList(0, 3)).extracting(e -> e.substring(0, 2)).containsExactly("1:", "3:", "5:");
        assertThat(events.size()).isGreaterThanOrEqualTo(3);
        assertThat(streams).noneMatch(flow::hasFlowControlled);
    }

    @Test
    void should_not_let_a_stream_without_window_hold_up_others() throws Exception {
        give(connection.connectionStream(), 1 << 20);
        Http2Stream slow = open();
        Http2Stream other = open();
        add(slow, WINDOW_BYTES + 1);
        flow.writePendingBytes();
        add(other, 10);
        flow.writePendingBytes();
        assertThat(events).containsExactly("1:" + WINDOW_BYTES, "3:10");
    }

    @Test
    void should_write_empty_frames_without_a_window() throws Exception {
        Http2Stream stream = open();
        add(stream, WINDOW_BYTES);
        flow.writePendingBytes();
        Frame end = add(stream, 0);
        flow.writePendingBytes();
        assertThat(events).containsExactly("1:" + WINDOW_BYTES, "1:0");
        assertThat(end.complete).isTrue();
    }

    @Test
    void should_keep_the_order_of_a_streams_frames() throws Exception {
        Http2Stream stream = open();
        Frame body = add(stream, WINDOW_BYTES + 5);
        Frame trailers = add(stream, 0);
        flow.writePendingBytes();
        assertThat(trailers.complete).isFalse();
        give(connection.connectionStream(), 100);
        give(stream, 100);
        assertThat(body.complete && trailers.complete).isTrue();
        assertThat(events).containsExactly("1:" + WINDOW_BYTES, "1:5", "1:0");
    }

    /** RFC 9113 section 6.9.2. */
    @Test
    void should_bear_a_window_that_settings_make_negative() throws Exception {
        give(connection.connectionStream(), 1 << 20);
        Http2Stream stream = open();
        add(stream, 70_000);
        flow.writePendingBytes();
        flow.initialWindowSize(WINDOW_BYTES - 1000);
        assertThat(flow.windowSize(stream)).isEqualTo(-1000);
        give(stream, 1000);
        assertThat(events).hasSize(1);
        give(stream, 1);
        assertThat(events).containsExactly("1:" + WINDOW_BYTES, "1:1");
        flow.initialWindowSize(1 << 20);
        assertThat(flow.hasFlowControlled(stream)).isFalse();
        assertThat(open()).satisfies(next -> assertThat(flow.windowSize(next)).isEqualTo(1 << 20));
    }

    @Test
    void should_refuse_windows_beyond_31_bits() throws Exception {
        Http2Stream stream = open();
        assertThatThrownBy(() -> flow.incrementWindowSize(stream, Integer.MAX_VALUE))
                .isInstanceOfSatisfying(Http2Exception.StreamException.class, e -> {
                    assertThat(e.streamId()).isEqualTo(stream.id());
                    assertThat(e.error()).isEqualTo(Http2Error.FLOW_CONTROL_ERROR);
                });
        assertThatThrownBy(() -> flow.incrementWindowSize(connection.connectionStream(), Integer.MAX_VALUE))
                .isInstanceOf(Http2Exception.class)
                .isNotInstanceOf(Http2Exception.StreamException.class);
    }

    /** RFC 9113 section 6.9.2. */
    @Test
    void should_refuse_settings_that_make_any_window_exceed_31_bits() throws Exception {
        Http2Stream stream = open();
        open();
        flow.incrementWindowSize(stream, 1);
        assertThatThrownBy(() -> flow.initialWindowSize(Integer.MAX_VALUE))
                .isInstanceOf(Http2Exception.class)
                .isNotInstanceOf(Http2Exception.StreamException.class)
                .extracting(e -> ((Http2Exception) e).error())
                .isEqualTo(Http2Error.FLOW_CONTROL_ERROR);
    }

    @Test
    void should_keep_no_streams_that_closed_while_they_waited_for_the_connections_window() throws Exception {
        Http2Stream blocking = open();
        add(blocking, WINDOW_BYTES + 1);
        flow.incrementWindowSize(blocking, 1);
        flow.writePendingBytes();
        for (int i = 0; i < 10; i++) {
            Http2Stream stream = open();
            add(stream, 1);
            flow.writePendingBytes();
            stream.close();
        }
        assertThat(flow.waiting()).isEqualTo(1);
        Http2Stream last = open();
        add(last, 1);
        give(connection.connectionStream(), 2);
        assertThat(events).containsExactly("1:" + WINDOW_BYTES, "1:1", last.id() + ":1");
    }

    @Test
    void should_bear_a_waiting_stream_that_closes_in_anothers_write() throws Exception {
        Http2Stream stream = open();
        Http2Stream other = open();
        add(stream, 1).afterWrite = other::close;
        Frame waiting = add(other, 1);
        flow.writePendingBytes();
        assertThat(events).containsExactly("1:1");
        assertThat(waiting.error).isNotNull();
    }

    @Test
    void should_tell_what_waits_that_its_stream_has_closed() throws Exception {
        Http2Stream stream = open();
        add(stream, WINDOW_BYTES);
        Frame waiting = add(stream, 10);
        Frame behind = add(stream, 0);
        flow.writePendingBytes();
        stream.close();
        assertThat(waiting.error).isInstanceOf(Http2Exception.class);
        assertThat(behind.error).isNotNull();
        assertThat(add(stream, 5).error).isNotNull();
        flow.writePendingBytes();
        assertThat(events).containsExactly("1:" + WINDOW_BYTES);
    }

    @Test
    void should_bear_a_stream_that_closes_in_its_own_write() throws Exception {
        Http2Stream stream = open();
        Frame frame = add(stream, 10);
        Frame behind = add(stream, 10);
        frame.afterWrite = stream::close;
        Http2Stream other = open();
        add(other, 1);
        flow.writePendingBytes();
        assertThat(events).containsExactly("1:10", "3:1");
        assertThat(frame.complete).isTrue();
        assertThat(frame.error).isNull();
        assertThat(behind.error).isNotNull();
    }

    @Test
    void should_cancel_a_stream_whose_write_fails_and_go_on_with_others() throws Exception {
        Http2Stream stream = open();
        Frame frame = add(stream, 10);
        frame.left = 20;
        frame.afterWrite = () -> {
            throw new IllegalStateException("no");
        };
        Frame behind = add(stream, 1);
        add(open(), 2);
        flow.writePendingBytes();
        assertThat(behind.error).hasMessageContaining("stream 1").hasRootCauseMessage("no");
        assertThat(events).containsExactly("1:20", "3:2");
        assertThat(flow.windowSize(connection.connectionStream())).isEqualTo(WINDOW_BYTES - 22);
    }

    @Test
    void should_write_what_is_added_while_it_writes() throws Exception {
        Http2Stream stream = open();
        Http2Stream other = open();
        add(stream, 10).afterWrite = () -> {
            add(other, 7);
            flow.writePendingBytes();
        };
        flow.writePendingBytes();
        assertThat(events).containsExactly("1:10", "3:7");
    }

    @Test
    void should_stop_at_a_full_channel_and_go_on_when_it_is_not() throws Exception {
        channel.config().setWriteBufferWaterMark(new WriteBufferWaterMark(10, 100));
        Http2Stream stream = open();
        channel.write(Unpooled.wrappedBuffer(new byte[200]));
        assertThat(channel.isWritable()).isFalse();
        add(stream, 50);
        flow.writePendingBytes();
        assertThat(events).isEmpty();
        channel.unsafe().outboundBuffer().addFlush();
        channel.unsafe().outboundBuffer().remove();
        assertThat(channel.isWritable()).isTrue();
        flow.writePendingBytes();
        assertThat(events).containsExactly("1:50");
    }

    /** A write that is in progress still uses the objects of its stream. */
    @Test
    void should_keep_closed_streams_apart_from_later_ones() throws Exception {
        Http2Stream first = open();
        Frame last = add(first, 10);
        List<Http2Stream> later = new ArrayList<>();
        last.afterWrite = () -> {
            first.close();
            try {
                later.add(open());
            } catch (Http2Exception e) {
                throw new IllegalStateException(e);
            }
            add(later.get(0), 20);
        };
        flow.writePendingBytes();
        assertThat(events).containsExactly("1:10", "3:20");
        assertThat(flow.windowSize(later.get(0))).isEqualTo(WINDOW_BYTES - 20);

        Http2Stream next = open();
        assertThat(flow.windowSize(next)).isEqualTo(WINDOW_BYTES);
        assertThat(flow.windowSize(first)).isZero();
        Frame late = add(first, 30);
        assertThat(late.error).isInstanceOf(Http2Exception.class);
        flow.writePendingBytes();
        assertThat(events).hasSize(2);
        assertThat(flow.hasFlowControlled(next)).isFalse();
    }

    /** Whatever happens, no window is overdrawn, and all that windows allow is written. */
    @Test
    void should_keep_its_books_in_any_order_of_events() throws Exception {
        Random random = new Random(7);
        List<Http2Stream> streams = new ArrayList<>();
        List<Frame> frames = new ArrayList<>();
        long offered = 0;
        long given = WINDOW_BYTES;
        for (int step = 0; step < 5000; step++) {
            if (streams.isEmpty() || random.nextInt(20) == 0) {
                streams.add(open());
            }
            Http2Stream stream = streams.get(random.nextInt(streams.size()));
            int bytes = random.nextInt(5000);
            switch (random.nextInt(4)) {
                case 0 -> {
                    frames.add(add(stream, bytes));
                    offered += bytes;
                }
                case 1 -> flow.incrementWindowSize(stream, bytes);
                case 2 -> {
                    flow.incrementWindowSize(connection.connectionStream(), bytes);
                    given += bytes;
                }
                default -> flow.writePendingBytes();
            }
            assertThat(flow.windowSize(connection.connectionStream())).isNotNegative();
        }
        for (Http2Stream stream : streams) {
            flow.incrementWindowSize(stream, 1 << 28);
        }
        flow.incrementWindowSize(connection.connectionStream(), 1 << 28);
        given += 1 << 28;
        flow.writePendingBytes();
        assertThat(frames).allMatch(frame -> frame.complete);
        assertThat((long) flow.windowSize(connection.connectionStream())).isEqualTo(given - offered);
    }
}
