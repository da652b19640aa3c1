package io.lambdadispatcher.wire.testkit;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.IntUnaryOperator;

/**
 * The ways bytes may arrive: whole, one by one, and cut at random. A decoder must not care. What
 * fails says how the bytes were cut, with the seed. Any thread.
 */
public final class Splits {

    /** Something that takes bytes as they arrive. */
    public interface Receiver {
        /** @param piece the caller keeps it and releases it after the call */
        void receive(ByteBuf piece) throws Exception;
    }

    /** One way to cut. */
    public static final class Split {
        private final String name;
        private final IntUnaryOperator nextPieceBytes;

        private Split(String name, IntUnaryOperator nextPieceBytes) {
            this.name = name;
            this.nextPieceBytes = nextPieceBytes;
        }

        /** Gives the pieces to {@code receiver} until it throws. */
        public void feed(byte[] data, Receiver receiver) throws Exception {
            for (int at = 0; at < data.length; ) {
                int bytes = Math.min(nextPieceBytes.applyAsInt(data.length), data.length - at);
                ByteBuf piece = Unpooled.directBuffer(bytes).writeBytes(data, at, bytes);
                try {
                    receiver.receive(piece);
                } finally {
                    piece.release();
                }
                at += bytes;
            }
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private Splits() {}

    public static Split whole() {
        return new Split("whole", all -> all);
    }

    public static Split oneByOne() {
        return new Split("byte by byte", all -> 1);
    }

    /** Pieces of 1 to {@code maxPieceBytes} bytes. */
    public static Split random(long seed, int maxPieceBytes) {
        Random random = new Random(seed);
        return new Split(
                "cut at random, seed " + seed + ", pieces up to " + maxPieceBytes,
                all -> 1 + random.nextInt(maxPieceBytes));
    }

    /** Whole, byte by byte, and a few times at random: the same ones every time. */
    public static List<Split> all() {
        List<Split> splits = new ArrayList<>(List.of(whole(), oneByOne()));
        for (int seed = 1; seed <= 4; seed++) {
            splits.add(random(seed, 3 * seed * seed));
        }
        return splits;
    }
}
