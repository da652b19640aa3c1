package io.lambdadispatcher.wire.http;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/** Encodes as {@code gzip} (RFC 1952) with the JDK's zlib. */
public final class GzipEncoder extends ContentEncoder {
    /** Deflate, no flags, no time, unknown system (RFC 1952 section 2.3). */
    private static final byte[] HEADER = {0x1f, (byte) 0x8b, 8, 0, 0, 0, 0, 0, 0, (byte) 0xff};

    private static final byte[] NOTHING = {};
    private static final int ROOM_BYTES = 1024;

    /** What zlib allocates with its usual window of 32 KiB. */
    public static final int MEMORY_BYTES = 264 * 1024;

    private final Deflater deflater;
    private final CRC32 checksum = new CRC32();
    private long bytes;
    private boolean begun;

    /** @param level 1 (fastest) to 9 (smallest) */
    public GzipEncoder(int level) {
        deflater = new Deflater(level, true);
    }

    @Override
    public void encode(ByteBuf data, Mode mode, ByteBuf out) {
        int start = out.writerIndex();
        if (!begun) {
            out.writeBytes(HEADER);
        }
        for (ByteBuffer piece : pieces(data)) {
            add(piece, out);
        }
        switch (mode) {
            case GATHER -> {}
            case FLUSH -> flush(out);
            case FINISH -> finish(out);
        }
        if (!begun && mode == Mode.GATHER && out.writerIndex() == start + HEADER.length) {
            out.writerIndex(start); // The header goes with the first bytes.
        } else {
            begun = true;
        }
    }

    private void add(ByteBuffer piece, ByteBuf out) {
        bytes += piece.remaining();
        checksum.update(piece.duplicate());
        deflater.setInput(piece);
        while (!deflater.needsInput()) {
            deflate(Deflater.NO_FLUSH, out);
        }
        // The buffer may be released now.
        deflater.setInput(NOTHING);
    }

    private void flush(ByteBuf out) {
        do {
            deflate(Deflater.SYNC_FLUSH, out);
        } while (!out.isWritable());
    }

    private void finish(ByteBuf out) {
        deflater.finish();
        while (!deflater.finished()) {
            deflate(Deflater.NO_FLUSH, out);
        }
        out.writeIntLE((int) checksum.getValue());
        out.writeIntLE((int) bytes);
    }

    private void deflate(int flush, ByteBuf out) {
        int written = deflater.deflate(room(out, ROOM_BYTES), flush);
        out.writerIndex(out.writerIndex() + written);
    }

    @Override
    public int memoryBytes() {
        return MEMORY_BYTES;
    }

    @Override
    public void close() {
        deflater.end();
    }
}
