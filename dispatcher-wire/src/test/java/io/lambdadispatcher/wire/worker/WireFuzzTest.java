package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.lambdadispatcher.wire.testkit.Splits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Reads its seed corpus in a build; with {@code JAZZER_FUZZ=1} it looks for more. */
class WireFuzzTest {

    /** The first byte says how the others are cut. However they are cut, a reader sees the same. */
    @FuzzTest(maxDuration = "20m")
    void should_survive_any_worker_stream(byte[] input) throws Exception {
        if (input.length == 0) {
            return;
        }
        byte[] bytes = Arrays.copyOfRange(input, 1, input.length);
        assertThat(seen(bytes, Splits.random(input[0], 1 + (input[0] & 0x3F)))).isEqualTo(seen(bytes, Splits.whole()));
    }

    private static List<String> seen(byte[] bytes, Splits.Split split) throws Exception {
        long[] returned = new long[1];
        try (EventLog log = new EventLog("worker-stream")) {
            List<String> seen = log.events();
            try {
                split.feed(bytes, piece -> returned[0] += log.reader().read(piece));
                assertThat(returned[0] + log.dataBytes()).isEqualTo(bytes.length);
            } catch (WireException e) {
                assertThat(e.offset()).isBetween(0L, (long) bytes.length);
                seen.add(e.reason() + " at " + e.offset());
            }
            return seen;
        }
    }

    /** What can be read can be written, and is the same when it is read again. */
    @FuzzTest(maxDuration = "20m")
    void should_survive_any_hpack_block(byte[] block) throws WireException {
        ByteBuf in = Unpooled.wrappedBuffer(block);
        try {
            Http2Headers head = new HeadDecoder().decode(in, 12);
            assertThat(in.isReadable()).isFalse();
            ByteBuf again = Unpooled.buffer();
            new HeadEncoder().encode(head, again);
            assertThat(lines(new HeadDecoder().decode(again, 0))).isEqualTo(lines(head));
        } catch (WireException e) {
            assertThat(e.offset()).isEqualTo(12);
        } finally {
            in.release();
        }
    }

    private static List<String> lines(Http2Headers head) {
        List<String> lines = new ArrayList<>();
        head.forEach(field -> lines.add(field.getKey() + ": " + field.getValue()));
        return lines;
    }

    /**
     * The first byte is the frame's type, and the others are its fields. MACs are left out: no
     * fuzzer finds one.
     */
    @FuzzTest(maxDuration = "20m")
    void should_survive_any_control_message(byte[] input) throws WireException {
        FrameType type = input.length == 0 ? null : FrameType.ofCode(input[0] & 0xFF);
        if (type == null) {
            return;
        }
        ControlMessage message;
        try {
            message = ControlMessage.read(type, Unpooled.wrappedBuffer(input, 1, input.length - 1), 12);
        } catch (WireException e) {
            assertThat(e.offset()).isEqualTo(12);
            return;
        }
        assertThat(message.type()).isEqualTo(type);
        ByteBuf again = Unpooled.buffer();
        message.writeFields(again);
        assertThat(ControlMessage.read(type, again, 0)).isEqualTo(message);
    }
}
