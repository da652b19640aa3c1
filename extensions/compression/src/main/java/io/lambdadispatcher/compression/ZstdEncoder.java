package io.lambdadispatcher.compression;

import com.github.luben.zstd.EndDirective;
import com.github.luben.zstd.ZstdCompressCtx;
import io.lambdadispatcher.wire.http.ContentEncoder;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;

/**
 * Encodes as {@code zstd} (RFC 8878). Netty's own encoder is a channel handler that encodes blocks
 * one by one, so this one uses the library that it uses.
 */
final class ZstdEncoder extends ContentEncoder {
    static final int LEVEL = 3;

    /** Windows of 256 KiB, far below the 8 MiB that clients must accept (RFC 9659). */
    static final int WINDOW_BITS = 18;

    /** The window, the tables of this level, and the input and output of a block of 128 KiB. */
    static final int MEMORY_BYTES = 1280 * 1024;

    private static final int ROOM_BYTES = 4096;
    private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0);

    private final ZstdCompressCtx context = new ZstdCompressCtx();

    ZstdEncoder() {
        this(LEVEL, WINDOW_BITS);
    }

    ZstdEncoder(int level, int windowBits) {
        context.setLevel(level).setWindowLog(windowBits).setContentSize(false);
    }

    @Override
    public void encode(ByteBuf data, Mode mode, ByteBuf out) {
        if (data.isDirect()) {
            encodeDirect(data, out);
        } else {
            ByteBuf copy = out.alloc().directBuffer(data.readableBytes());
            try {
                encodeDirect(copy.writeBytes(data, data.readerIndex(), data.readableBytes()), out);
            } finally {
                copy.release();
            }
        }
        switch (mode) {
            case GATHER -> {}
            case FLUSH -> complete(EndDirective.FLUSH, out);
            case FINISH -> complete(EndDirective.END, out);
        }
    }

    private void encodeDirect(ByteBuf data, ByteBuf out) {
        for (ByteBuffer piece : pieces(data)) {
            while (piece.hasRemaining()) {
                encode(piece, EndDirective.CONTINUE, out);
            }
        }
    }

    private void complete(EndDirective end, ByteBuf out) {
        boolean complete;
        do {
            complete = encode(NOTHING, end, out);
        } while (!complete);
    }

    private boolean encode(ByteBuffer piece, EndDirective end, ByteBuf out) {
        ByteBuffer room = room(out, ROOM_BYTES);
        int start = room.position();
        boolean complete = context.compressDirectByteBufferStream(room, piece, end);
        out.writerIndex(out.writerIndex() + room.position() - start);
        return complete;
    }

    @Override
    public int memoryBytes() {
        return MEMORY_BYTES;
    }

    @Override
    public void close() {
        context.close();
    }
}
