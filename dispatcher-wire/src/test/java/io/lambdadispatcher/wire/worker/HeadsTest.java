package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.worker.WireException.Reason;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** FrameWriter, HeadEncoder and HeadDecoder together. */
class HeadsTest {
    private final HeadEncoder encoder = new HeadEncoder();
    private final HeadDecoder decoder = new HeadDecoder();
    private final ByteBuf out = ByteBufAllocator.DEFAULT.buffer();

    @AfterEach
    void release() {
        out.release();
    }

    private static Http2Headers request() {
        return new DefaultHttp2Headers()
                .method("POST")
                .scheme("http")
                .authority("example.org")
                .path("/a?b=c")
                .add("x-one", "1")
                .add("x-one", "2")
                .add("cookie", "a=b");
    }

    private int header() {
        return out.readInt();
    }

    @Test
    void should_write_a_request_head_that_reads_the_same() throws Exception {
        FrameWriter.writeRequestHead(out, encoder, request(), 1234, true);
        int header = header();
        assertThat(FrameLayout.typeCode(header)).isEqualTo(FrameType.REQUEST_HEAD.code());
        assertThat(FrameLayout.isEnd(header)).isTrue();
        assertThat(FrameLayout.payloadBytes(header)).isEqualTo(out.readableBytes());
        assertThat(out.readInt()).isEqualTo(1234);
        assertThat(decoder.decode(out, 0)).isEqualTo(request());
    }

    @Test
    void should_write_the_other_heads_after_what_the_buffer_holds() throws Exception {
        out.writeByte('x');
        Http2Headers head = new DefaultHttp2Headers().status("200").add("server", "x");
        FrameWriter.writeInterim(out, encoder, new DefaultHttp2Headers().status("103"));
        FrameWriter.writeResponseHead(out, encoder, head, false);
        FrameWriter.writeTrailers(out, encoder, new DefaultHttp2Headers().add("a", "b"));
        out.readByte();
        assertThat(next(FrameType.INTERIM).status()).hasToString("103");
        assertThat(next(FrameType.RESPONSE_HEAD)).isEqualTo(head);
        assertThat(next(FrameType.TRAILERS).get("a")).hasToString("b");
        assertThat(out.isReadable()).isFalse();
    }

    private Http2Headers next(FrameType type) throws WireException {
        int header = header();
        assertThat(FrameType.ofCode(FrameLayout.typeCode(header))).isEqualTo(type);
        return decoder.decode(out.readSlice(FrameLayout.payloadBytes(header)), 0);
    }

    @Test
    void should_spend_little_on_a_head_like_the_one_before() throws Exception {
        FrameWriter.writeRequestHead(out, encoder, request(), 0, true);
        int first = out.readableBytes();
        FrameWriter.writeRequestHead(out, encoder, request(), 0, true);
        int second = out.readableBytes() - first;
        assertThat(second).isLessThan(8 + 10).isLessThan(first / 3);
        for (int i = 0; i < 2; i++) {
            int bytes = FrameLayout.payloadBytes(header());
            assertThat(decoder.decode(out.readSlice(bytes).skipBytes(4), 0)).isEqualTo(request());
        }
    }

    @Test
    void should_refuse_to_send_a_block_over_the_limit() {
        Http2Headers large = request().add("x-large", "v".repeat(WireLimits.MAX_HEAD_BLOCK_BYTES));
        assertThatThrownBy(() -> FrameWriter.writeResponseHead(out, encoder, large, false))
                .isInstanceOfSatisfying(
                        WireException.class, e -> assertThat(e.reason()).isEqualTo(Reason.TOO_LARGE))
                .hasMessageContaining("RESPONSE_HEAD block of 262")
                .hasMessageContaining("limit 262144");
    }

    @Test
    void should_refuse_a_block_that_is_small_but_decodes_to_much() throws Exception {
        // One field of 4,000 bytes in the table, named again and again.
        Http2Headers once = new DefaultHttp2Headers().add("x-bomb", "v".repeat(4000));
        FrameWriter.writeTrailers(out, encoder, once);
        decoder.decode(out.skipBytes(4), 0);
        ByteBuf bomb = ByteBufAllocator.DEFAULT.buffer();
        for (int i = 0; i < 100; i++) {
            bomb.writeByte(0x80 | 62);
        }
        try {
            assertThatThrownBy(() -> decoder.decode(bomb, 77))
                    .isInstanceOfSatisfying(
                            WireException.class, e -> assertThat(e.reason()).isEqualTo(Reason.BAD_HEAD))
                    .hasMessageContaining("BAD_HEAD at offset 77: ")
                    .hasMessageContaining("262144");
        } finally {
            bomb.release();
        }
    }

    @Test
    void should_leave_the_block_to_the_caller() throws Exception {
        FrameWriter.writeTrailers(out, encoder, new DefaultHttp2Headers().add("x-a", "value"));
        Http2Headers decoded = decoder.decode(out.skipBytes(4), 0);
        out.setZero(0, out.writerIndex());
        assertThat(decoded.get("x-a")).hasToString("value");
        assertThat(out.refCnt()).isOne();
    }

    @Test
    void should_cut_a_reset_text_that_is_too_long() {
        FrameWriter.writeReset(out, ErrorCode.HANDLER_FAILED, "\u20ac".repeat(5000));
        int header = header();
        assertThat(FrameLayout.payloadBytes(header))
                .isEqualTo(out.readableBytes())
                .isLessThanOrEqualTo(1028);
        assertThat(out.readInt()).isEqualTo(5);
        assertThat(out.toString(StandardCharsets.UTF_8)).matches("\u20ac{300,}");
    }

    @Test
    void should_write_a_data_header_of_the_largest_payload_and_no_larger() {
        FrameWriter.writeDataHeader(out, FrameLayout.MAX_PAYLOAD_BYTES, true);
        assertThat(header()).isEqualTo(0x41FF_FFFF);
        assertThatThrownBy(() -> FrameWriter.writeDataHeader(out, FrameLayout.MAX_PAYLOAD_BYTES + 1, false))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("frame payload of 16777216 bytes, expected 0 to 16777215");
        assertThatThrownBy(() -> FrameWriter.writeDataHeader(out, -1, false))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
