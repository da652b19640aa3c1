package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.http.FlatHeadersDecoder;
import io.lambdadispatcher.wire.testkit.Splits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class EagerFrameReaderTest {
    private static final String PING = "000008 06 00 00000000 0102030405060708";

    private final Recorder seen = new Recorder();
    private final EagerFrameReader reader = new EagerFrameReader(new FlatHeadersDecoder(8192, 2));
    private final EmbeddedChannel channel = new EmbeddedChannel(new ChannelInboundHandlerAdapter());
    private final ByteBuf cumulation = Unpooled.buffer();

    @AfterEach
    void release() {
        reader.close();
        cumulation.release();
        channel.finishAndReleaseAll();
    }

    private static byte[] hex(String... frames) {
        return ByteBufUtil.decodeHexDump(String.join("", frames).replace(" ", ""));
    }

    private void read(byte[] bytes) throws Http2Exception {
        read(Unpooled.wrappedBuffer(bytes));
    }

    /**
     * As ByteToMessageDecoder does it: what was not read is there the next time, before what has
     * come.
     */
    private void read(ByteBuf bytes) throws Http2Exception {
        cumulation.writeBytes(bytes);
        reader.readFrame(channel.pipeline().firstContext(), cumulation, seen);
        cumulation.discardReadBytes();
    }

    @Test
    void should_pass_on_parts_of_a_data_frame_and_its_end_with_the_last() throws Exception {
        read(hex("000005 00 01 00000003", "6865"));
        assertThat(seen.events).containsExactly("data 3 he");
        assertThat(cumulation.isReadable()).isFalse();
        read(hex("6c"));
        read(hex("6c6f", PING));
        assertThat(seen.events).containsExactly("data 3 he", "data 3 l", "data 3 lo end", "ping");
        assertThat(reader.isUnfinished()).isFalse();
    }

    static List<Splits.Split> splits() {
        return Splits.all();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("splits")
    void should_see_the_same_however_bytes_are_cut(Splits.Split split) throws Exception {
        byte[] bytes = hex(
                "000000 04 00 00000000",
                "000001 01 00 00000003 88", // HEADERS, to be continued
                "000004 09 04 00000003 00016100",
                "000003 00 00 00000003 616263",
                "000000 00 00 00000003",
                "000006 00 08 00000003 02 646566 0000", // padded
                PING,
                "000002 00 01 00000003 6768");
        split.feed(bytes, this::read);
        assertThat(seen.joined()).containsExactly("settings", "headers 3", "data 3 abcdef", "ping", "data 3 gh end");
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("splits")
    void should_read_heads_in_one_frame_however_bytes_are_cut(Splits.Split split) throws Exception {
        byte[] bytes = hex(
                "000001 01 04 00000003 88",
                PING,
                "000001 01 05 00000005 88",
                "000006 01 24 00000007 00000003 10 88", // with priority
                "000004 01 0c 00000009 02 88 0000", // padded
                "000004 01 04 0000000b 00016100");
        split.feed(bytes, this::read);
        assertThat(seen.events)
                .containsExactly("headers 3", "ping", "headers 5 end", "headers 7", "headers 9", "headers 11");
        assertThat(reader.isUnfinished()).isFalse();
    }

    @Test
    void should_go_on_behind_a_head_with_a_bad_field() throws Exception {
        // A literal field without indexing, named "A".
        assertThatThrownBy(() -> read(hex("000005 01 04 00000003 88 00014100", PING)))
                .isInstanceOf(Http2Exception.StreamException.class);
        read(hex("000001 01 05 00000005 88"));
        assertThat(seen.events).containsExactly("ping", "headers 5 end");
    }

    @Test
    void should_read_nothing_after_a_head_that_is_not_hpack() throws Exception {
        assertThatThrownBy(() -> read(hex("000001 01 04 00000003 ff")))
                .isInstanceOfSatisfying(
                        Http2Exception.class, e -> assertThat(e.error()).isEqualTo(Http2Error.COMPRESSION_ERROR));
        read(hex(PING));
        assertThat(seen.events).isEmpty();
    }

    @Test
    void should_read_nothing_after_a_head_at_which_the_listener_broke() throws Exception {
        seen.broken = true;
        assertThatThrownBy(() -> read(hex("000001 01 05 00000003 88", "000001 01 05 00000005 88")))
                .hasMessage("broken");
        seen.broken = false;
        read(hex("000001 01 05 00000007 88", PING));
        assertThat(seen.events).isEmpty();
    }

    @Test
    void should_leave_padded_data_to_the_delegate_whole() throws Exception {
        byte[] padded = hex("000006 00 09 00000003 02 646566 0000");
        read(Arrays.copyOf(padded, padded.length - 1));
        assertThat(seen.events).isEmpty();
        assertThat(reader.isUnfinished()).isTrue();
        read(hex("00"));
        assertThat(seen.events).containsExactly("data 3 def padding 3 end");
    }

    @Test
    void should_refuse_data_within_a_header_block() throws Exception {
        read(hex("000001 01 00 00000003 88"));
        assertThat(reader.isUnfinished()).isTrue();
        assertThatThrownBy(() -> read(hex("000001 00 00 00000003 61")))
                .isInstanceOfSatisfying(
                        Http2Exception.class, e -> assertThat(e.error()).isEqualTo(Http2Error.PROTOCOL_ERROR));
        assertThat(seen.events).isEmpty();
    }

    @Test
    void should_refuse_data_on_stream_zero() {
        assertThatThrownBy(() -> read(hex("000001 00 00 00000000 61")))
                .isInstanceOfSatisfying(
                        Http2Exception.class, e -> assertThat(e.error()).isEqualTo(Http2Error.PROTOCOL_ERROR));
    }

    @Test
    void should_refuse_a_frame_that_is_too_large_by_its_header_alone() {
        assertThatThrownBy(() -> read(hex("004001 00 00 00000003")))
                .isInstanceOfSatisfying(
                        Http2Exception.class, e -> assertThat(e.error()).isEqualTo(Http2Error.FRAME_SIZE_ERROR))
                .hasMessageContaining("16385");
    }

    /** It would be gathered, of peers that have not said who they are, too. */
    @ParameterizedTest
    @ValueSource(strings = {"004001 01 04 00000003", "004001 00 08 00000003", "004001 20 00 00000000"})
    void should_take_no_large_frame_but_plain_data(String header) throws Exception {
        reader.configuration().frameSizePolicy().maxFrameSize(0x40000);
        read(hex("004001 00 00 00000003", "61".repeat(0x4001)));
        assertThatThrownBy(() -> read(hex(header)))
                .isInstanceOfSatisfying(
                        Http2Exception.class, e -> assertThat(e.error()).isEqualTo(Http2Error.FRAME_SIZE_ERROR))
                .hasMessageContaining("16385");
    }

    @Test
    void should_read_nothing_after_a_connection_error() throws Exception {
        assertThatThrownBy(() -> read(hex("000001 00 00 00000000 61"))).isInstanceOf(Http2Exception.class);
        read(hex(PING));
        assertThat(seen.events).isEmpty();
        assertThat(cumulation.isReadable()).isFalse();
    }

    @Test
    void should_go_on_behind_a_part_that_met_a_stream_error() throws Exception {
        seen.failAtData = 1;
        assertThatThrownBy(() -> read(hex("000005 00 01 00000003", "6865")))
                .isInstanceOf(Http2Exception.StreamException.class);
        read(hex("6c6c6f", PING));
        assertThat(seen.events).containsExactly("data 3 he", "data 3 llo end", "ping");
    }

    @Test
    void should_count_what_is_finished() throws Exception {
        read(hex("000001 01 00 00000003 88"));
        long before = reader.finished();
        read(hex("000002 09 00 00000003 0001"));
        assertThat(reader.finished()).isEqualTo(before);
        assertThat(reader.isUnfinished()).isTrue();
        read(hex("000002 09 04 00000003 6100"));
        assertThat(reader.finished()).isEqualTo(before + 1);
        assertThat(reader.isUnfinished()).isFalse();
        assertThat(seen.events).containsExactly("headers 3");
    }

    private static final class Recorder extends Http2FrameAdapter {
        final List<String> events = new ArrayList<>();
        int failAtData;
        boolean broken;
        private int parts;

        @Override
        public int onDataRead(ChannelHandlerContext ctx, int streamId, ByteBuf data, int padding, boolean endOfStream)
                throws Http2Exception {
            events.add("data " + streamId + " " + data.toString(StandardCharsets.US_ASCII)
                    + (padding > 0 ? " padding " + padding : "") + (endOfStream ? " end" : ""));
            if (++parts == failAtData) {
                throw Http2Exception.streamError(streamId, Http2Error.STREAM_CLOSED, "refused by the test");
            }
            return data.readableBytes() + padding;
        }

        /** Parts of DATA that follow one another are one. */
        List<String> joined() {
            List<String> joined = new ArrayList<>();
            for (String event : events) {
                String plain = event.replaceAll(" padding \\d+", "");
                int last = joined.size() - 1;
                if (last >= 0 && plain.startsWith("data 3 ") && joined.get(last).startsWith("data 3 ")) {
                    joined.add(joined.remove(last) + plain.substring("data 3 ".length()));
                } else {
                    joined.add(plain);
                }
            }
            return joined;
        }

        @Override
        public void onHeadersRead(
                ChannelHandlerContext ctx, int streamId, Http2Headers headers, int padding, boolean endStream) {
            if (broken) {
                throw new IllegalStateException("broken");
            }
            events.add("headers " + streamId + (endStream ? " end" : ""));
        }

        @Override
        public void onHeadersRead(
                ChannelHandlerContext ctx,
                int streamId,
                Http2Headers headers,
                int dependency,
                short weight,
                boolean exclusive,
                int padding,
                boolean endStream) {
            onHeadersRead(ctx, streamId, headers, padding, endStream);
        }

        @Override
        public void onSettingsRead(ChannelHandlerContext ctx, Http2Settings settings) {
            events.add("settings");
        }

        @Override
        public void onPingRead(ChannelHandlerContext ctx, long data) {
            events.add("ping");
        }
    }
}
