package io.lambdadispatcher.wire.http;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;

/**
 * Compresses one body (RFC 9110 section 8.4). Confined to one thread. {@link #close} must be
 * called, because the memory of most encoders is not on the heap.
 */
public abstract class ContentEncoder implements AutoCloseable {
    /** Which part of the input must be in the output when {@link #encode} returns. */
    public enum Mode {
        /** Any part. The encoder keeps the rest, so that it can find more repetitions. */
        GATHER,
        /** All of it, so that the client can decode what the server has sent so far. */
        FLUSH,
        /** All of it, and the end of the body. No call follows except {@link #close}. */
        FINISH
    }

    /**
     * Encodes the next part of the body.
     *
     * @param data stays the caller's, and its indexes do not change
     * @param out a direct buffer of the caller, to which the encoded bytes are appended
     * @throws RuntimeException if the encoder fails. Only {@link #close} may be called then
     */
    public abstract void encode(ByteBuf data, Mode mode, ByteBuf out);

    /** Returns the memory that the encoder uses until {@link #close}, in bytes. An estimate. */
    public abstract int memoryBytes();

    /** Releases the memory. Further calls have no effect. */
    @Override
    public abstract void close();

    /** Returns the readable bytes, in one or more pieces. */
    protected static ByteBuffer[] pieces(ByteBuf data) {
        return data.nioBufferCount() == 1 ? new ByteBuffer[] {data.nioBuffer()} : data.nioBuffers();
    }

    /** Returns the part of {@code out} that can be written next, of at least this size. */
    protected static ByteBuffer room(ByteBuf out, int bytes) {
        out.ensureWritable(bytes);
        return out.internalNioBuffer(out.writerIndex(), out.writableBytes());
    }
}
