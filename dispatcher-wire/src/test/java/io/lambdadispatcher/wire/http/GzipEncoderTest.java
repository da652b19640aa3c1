package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;

class GzipEncoderTest {
    private final GzipEncoder encoder = new GzipEncoder(4);
    private final ByteBuf out = Unpooled.directBuffer(16);

    private void encode(byte[] data, ContentEncoder.Mode mode) {
        encoder.encode(Unpooled.wrappedBuffer(data), mode, out);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void should_write_nothing_before_there_is_something_to_decode() {
        encode(bytes("a short text"), ContentEncoder.Mode.GATHER);
        assertThat(out.readableBytes()).isZero();
        encoder.close();
        out.release();
    }

    /** What is flushed can be read without the end of the body. */
    @Test
    void should_write_everything_at_a_flush() throws Exception {
        encode(bytes("data: 1\n\n"), ContentEncoder.Mode.FLUSH);
        byte[] flushed = ByteBufUtil.getBytes(out);
        try (InputStream in = new GZIPInputStream(new ByteArrayInputStream(flushed))) {
            assertThat(in.readNBytes(9)).isEqualTo(bytes("data: 1\n\n"));
        }
        encoder.close();
        out.release();
    }

    @Test
    void should_end_an_empty_body() throws Exception {
        encode(new byte[0], ContentEncoder.Mode.FINISH);
        byte[] all = ByteBufUtil.getBytes(out);
        assertThat(new GZIPInputStream(new ByteArrayInputStream(all)).readAllBytes())
                .isEmpty();
        assertThat(all).hasSize(20);
        encoder.close();
        out.release();
    }
}
