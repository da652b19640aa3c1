package io.lambdadispatcher.wire.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Splits;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Good streams, damaged at random: a reader may refuse them in one way only, and keeps account of
 * every byte.
 */
class MutationTest {
    private static final int STREAMS = 20_000;
    private static final long SEED = 20_261_121;

    @Test
    void should_refuse_damaged_streams_with_a_wire_exception_only() throws Exception {
        List<Vector> vectors = Stream.of(
                        "exchange-frames.txt",
                        "control-messages.txt",
                        "malformed-frames.txt",
                        "malformed-control-messages.txt")
                .flatMap(Vector::of)
                .toList();
        int refused = 0;
        for (int i = 0; i < STREAMS; i++) {
            refused += feed(vectors.get(i % vectors.size()), SEED + i) ? 1 : 0;
        }
        assertThat(refused).isBetween(STREAMS / 10, STREAMS * 99 / 100);
    }

    /** @return whether it was refused */
    private static boolean feed(Vector vector, long seed) throws Exception {
        Random random = new Random(seed);
        byte[] bytes = damaged(vector.bytes(), random);
        long[] counted = new long[1];
        try (EventLog log = new EventLog(vector.one("on"))) {
            try {
                Splits.random(seed, 1 + random.nextInt(32)).feed(bytes, piece -> {
                    counted[0] += log.reader().read(piece);
                    assertThat(piece.isReadable()).isFalse();
                });
            } catch (WireException e) {
                assertThat(e.offset()).isBetween(0L, (long) bytes.length);
                return true;
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError(vector + " damaged with seed " + seed, e);
            }
            assertThat(counted[0] + log.dataBytes())
                    .as("%s, seed %d", vector, seed)
                    .isEqualTo(bytes.length);
            return false;
        }
    }

    private static byte[] damaged(byte[] good, Random random) {
        byte[] bytes = good.clone();
        for (int i = random.nextInt(4); i > 0 && bytes.length > 0; i--) {
            int at = random.nextInt(bytes.length);
            switch (random.nextInt(4)) {
                case 0 -> bytes[at] ^= (byte) (1 << random.nextInt(Byte.SIZE));
                case 1 -> bytes[at] = (byte) random.nextInt();
                case 2 -> bytes = Arrays.copyOf(bytes, at + 1);
                default -> bytes = doubled(bytes, at);
            }
        }
        return bytes;
    }

    /** What follows {@code at} comes twice. */
    private static byte[] doubled(byte[] bytes, int at) {
        byte[] longer = Arrays.copyOf(bytes, bytes.length + bytes.length - at);
        System.arraycopy(bytes, at, longer, bytes.length, bytes.length - at);
        return longer;
    }
}
