package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.lambdadispatcher.wire.testkit.Splits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;

/** Reads its seed corpus in a build; with {@code JAZZER_FUZZ=1} it looks for more. */
class WireFuzzTest {

    /** The first octet says how the others are cut. */
    @FuzzTest(maxDuration = "5m")
    void should_survive_any_worker_stream(byte[] input) throws Exception {
        if (input.length == 0) {
            return;
        }
        byte[] octets = Arrays.copyOfRange(input, 1, input.length);
        long[] returned = new long[1];
        try (EventLog log = new EventLog("worker-stream")) {
            Splits.random(input[0], 1 + (input[0] & 0x3F))
                    .feed(octets, piece -> returned[0] += log.reader().read(piece));
            assertThat(returned[0] + log.dataBytes()).isEqualTo(octets.length);
        } catch (WireException e) {
            assertThat(e.offset()).isBetween(0L, (long) octets.length);
        }
    }

    @FuzzTest(maxDuration = "5m")
    void should_survive_any_hpack_block(byte[] block) {
        ByteBuf in = Unpooled.wrappedBuffer(block);
        try {
            new HeadDecoder().decode(in, 12);
            assertThat(in.isReadable()).isFalse();
        } catch (WireException e) {
            assertThat(e.offset()).isEqualTo(12);
        } finally {
            in.release();
        }
    }
}
