package io.lambdadispatcher.compression;

import com.aayushatharva.brotli4j.Brotli4jLoader;
import com.aayushatharva.brotli4j.encoder.BrotliEncoderChannel;
import com.aayushatharva.brotli4j.encoder.Encoder;
import io.lambdadispatcher.wire.http.ContentEncoder;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import org.jspecify.annotations.Nullable;

/**
 * Encodes as {@code br} (RFC 7932). Netty's own encoder is a channel handler that flushes after
 * each write, so this one uses the library that it uses.
 */
final class BrotliEncoder extends ContentEncoder {
    static final int LEVEL = 2;

    /** Windows of 256 KiB. Larger ones cost more memory than they save bytes. */
    static final int WINDOW_BITS = 18;

    /** The window, the hash table of this level, and the input and output of a block. */
    static final int MEMORY_BYTES = 768 * 1024;

    private static final int INPUT_BYTES = 16 * 1024;

    static {
        Brotli4jLoader.ensureAvailability();
    }

    private final BrotliEncoderChannel encoder;
    private @Nullable ByteBuf target;

    BrotliEncoder() {
        this(LEVEL, WINDOW_BITS);
    }

    BrotliEncoder(int level, int windowBits) {
        try {
            encoder = new BrotliEncoderChannel(
                    new Output(), Encoder.Parameters.create(level, windowBits, Encoder.Mode.GENERIC), INPUT_BYTES);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void encode(ByteBuf data, Mode mode, ByteBuf out) {
        target = out;
        try {
            for (ByteBuffer piece : pieces(data)) {
                encoder.write(piece);
            }
            switch (mode) {
                case GATHER -> {}
                case FLUSH -> encoder.flush();
                case FINISH -> encoder.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            target = null;
        }
    }

    @Override
    public int memoryBytes() {
        return MEMORY_BYTES;
    }

    /** Ends the body, which nobody wants any more, because that is how the library frees memory. */
    @Override
    public void close() {
        try {
            encoder.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private final class Output implements WritableByteChannel {
        @Override
        public int write(ByteBuffer bytes) {
            int written = bytes.remaining();
            if (target == null) {
                bytes.position(bytes.limit());
            } else {
                target.writeBytes(bytes);
            }
            return written;
        }

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public void close() {}
    }
}
