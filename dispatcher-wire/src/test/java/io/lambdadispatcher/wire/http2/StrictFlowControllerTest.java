package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2FrameWriter;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class StrictFlowControllerTest {
    private static final int WINDOW_BYTES = 65_535;

    private final ReusingHttp2Connection connection =
            new ReusingHttp2Connection(new EagerFrameReader(new DefaultHttp2HeadersDecoder()), 10);
    private final StrictFlowController flow = new StrictFlowController(connection);
    private final EmbeddedChannel channel = new EmbeddedChannel(new ChannelInboundHandlerAdapter());
    private final List<String> updates = new ArrayList<>();

    @BeforeEach
    void start() {
        connection.local().flowController(flow);
        flow.channelHandlerContext(channel.pipeline().firstContext());
        flow.frameWriter(new DefaultHttp2FrameWriter() {
            @Override
            public ChannelFuture writeWindowUpdate(
                    ChannelHandlerContext ctx, int streamId, int increment, ChannelPromise promise) {
                updates.add(streamId + ":" + increment);
                return promise.setSuccess();
            }
        });
    }

    @AfterEach
    void finish() {
        channel.finishAndReleaseAll();
    }

    private void receive(Http2Stream stream, int bytes, boolean end) throws Http2Exception {
        flow.receiveFlowControlledFrame(stream, Unpooled.wrappedBuffer(new byte[bytes]), 0, end);
    }

    @Test
    void should_open_windows_again_when_half_of_them_is_returned() throws Exception {
        flow.incrementWindowSize(connection.connectionStream(), WINDOW_BYTES);
        assertThat(updates).containsExactly("0:" + WINDOW_BYTES);
        Http2Stream stream = connection.remote().createStream(1, false);
        receive(stream, 40_000, false);
        assertThat(flow.windowSize(stream)).isEqualTo(WINDOW_BYTES - 40_000);
        assertThat(flow.unconsumedBytes(stream)).isEqualTo(40_000);
        assertThat(flow.consumeBytes(stream, 32_767)).isFalse();
        assertThat(flow.consumeBytes(stream, 1)).isTrue();
        assertThat(updates).endsWith("1:32768");
        assertThat(flow.windowSize(stream)).isEqualTo(WINDOW_BYTES - 40_000 + 32_768);

        receive(stream, 40_000, true);
        assertThat(flow.consumeBytes(stream, 40_000)).isTrue();
        assertThat(updates).endsWith("1:32768", "0:72768");
        assertThatThrownBy(() -> flow.consumeBytes(stream, 7233)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void should_return_the_bytes_of_a_closed_stream_to_the_connection() throws Exception {
        Http2Stream stream = connection.remote().createStream(1, false);
        receive(stream, 60_000, false);
        stream.close();
        assertThat(updates).containsExactly("0:60000");
        assertThat(flow.windowSize(connection.connectionStream())).isEqualTo(WINDOW_BYTES);
        assertThat(flow.consumeBytes(stream, 60_000)).isFalse();

        receive(stream, 40_000, false);
        receive(null, 10_000, false);
        assertThat(updates).containsExactly("0:60000", "0:40000");
    }

    @Test
    void should_count_what_comes_after_the_end_of_a_request_for_the_connection_only() throws Exception {
        Http2Stream stream = connection.remote().createStream(1, true);
        assertThat(flow.windowSize(stream)).isZero();
        receive(stream, 40_000, false);
        assertThat(flow.unconsumedBytes(stream)).isZero();
        assertThat(flow.consumeBytes(stream, 40_000)).isFalse();
        assertThat(updates).containsExactly("0:40000");
    }

    @Test
    void should_change_the_windows_of_open_streams_with_the_settings() throws Exception {
        Http2Stream before = connection.remote().createStream(1, false);
        flow.initialWindowSize(100_000);
        Http2Stream after = connection.remote().createStream(3, false);
        assertThat(flow.windowSize(before)).isEqualTo(100_000);
        assertThat(flow.initialWindowSize(before)).isEqualTo(100_000);
        assertThat(flow.windowSize(after)).isEqualTo(100_000);
        assertThat(flow.windowSize(connection.connectionStream())).isEqualTo(WINDOW_BYTES);
    }

    @Test
    void should_count_nothing_from_a_violation_on() throws Exception {
        Http2Stream stream = connection.remote().createStream(1, false);
        flow.incrementWindowSize(connection.connectionStream(), 10 * WINDOW_BYTES);
        receive(stream, WINDOW_BYTES, false);
        Http2Exception violation = catchThrowableOfType(Http2Exception.class, () -> receive(stream, 1, false));
        assertThat(violation.error()).isEqualTo(Http2Error.FLOW_CONTROL_ERROR);
        assertThat(Http2Exception.isStreamError(violation)).isFalse();
        assertThat(flow.consumeBytes(stream, 1)).isFalse();
        assertThat(flow.unconsumedBytes(stream)).isEqualTo(WINDOW_BYTES);
    }
}
