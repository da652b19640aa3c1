package io.lambdadispatcher.worker.websocket;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.lambdadispatcher.wire.testkit.Splits;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http.websocketx.WebSocketCloseStatus;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Sends any bytes as a WebSocket client, in any pieces. {@code JAZZER_FUZZ=1} looks for more input.
 */
class FrameFuzzTest {
    private static final int MAX_MESSAGE_BYTES = 256;

    /** The first byte says how the others are split. */
    @FuzzTest(maxDuration = "20m")
    void should_survive_any_frames(byte[] input) throws Exception {
        if (input.length == 0) {
            return;
        }
        byte[] bytes = Arrays.copyOfRange(input, 1, input.length);
        assertThat(seen(bytes, Splits.random(input[0], 1 + (input[0] & 0x3F)))).isEqualTo(seen(bytes, Splits.whole()));
    }

    private static List<String> seen(byte[] bytes, Splits.Split split) throws Exception {
        UnpooledByteBufAllocator memory = new UnpooledByteBufAllocator(false);
        FrameCodec codec = new FrameCodec(MAX_MESSAGE_BYTES);
        List<String> seen = new ArrayList<>();
        split.feed(bytes, piece -> {
            WebSocketCloseStatus violation =
                    codec.decode(memory.buffer(piece.readableBytes()).writeBytes(piece), frame -> {
                        assertThat(frame.isFinalFragment()).isTrue();
                        assertThat(frame.content().readableBytes()).isLessThanOrEqualTo(MAX_MESSAGE_BYTES);
                        seen.add(frame.getClass().getSimpleName() + " " + ByteBufUtil.hexDump(frame.content()));
                        frame.release();
                    });
            if (violation != null) {
                seen.add("closed with " + violation.code());
            }
        });
        codec.close();
        assertThat(memory.metric().usedHeapMemory())
                .as("bytes that nobody has released")
                .isZero();
        assertThat(codec.decode(Unpooled.EMPTY_BUFFER, frame -> seen.add("after its end")))
                .isNull();
        return seen;
    }
}
