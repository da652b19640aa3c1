package io.lambdadispatcher.wire.worker;

import static io.lambdadispatcher.wire.worker.FrameLayout.HEADER_BYTES;

import io.lambdadispatcher.wire.worker.WireException.Reason;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;

/**
 * Splits the bytes of one worker stream or control stream into frames. Confined to the stream's
 * event loop.
 *
 * <p>DATA is never gathered: each part of a payload is passed on immediately as a retained slice of
 * the input. All other payloads are passed on when they are complete. They are gathered (copied)
 * only if they arrive in parts. An error is final: the reader accepts nothing after it.
 */
public final class FrameReader {

    /** Receives frames in order, on the caller's thread, from within {@link FrameReader#read}. */
    public interface Listener {
        /**
         * A part of a DATA frame.
         *
         * @param part owned by the listener, which releases it; empty only if the frame is
         * @param end true with the last part of the last frame of the message
         */
        void onData(ByteBuf part, boolean end) throws WireException;

        /**
         * Any other complete frame.
         *
         * @param payload its readable bytes are those of the frame; valid only during the call, and
         *     must not be released
         * @param end the frame's {@link FrameLayout#FLAG_END}
         * @param offset bytes of the stream before this frame, for error messages
         */
        void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException;
    }

    private enum State {
        HEADER,
        DATA,
        PAYLOAD,
        FAILED
    }

    private final boolean control;
    private final ByteBufAllocator allocator;
    private final Listener listener;

    private State state = State.HEADER;
    private int header;
    private int headerBytes;
    private FrameType type = FrameType.DATA;
    private int payloadLeft;
    private long offset;
    private long frameOffset;
    private ByteBuf gathered = Unpooled.EMPTY_BUFFER;

    private FrameReader(boolean control, ByteBufAllocator allocator, Listener listener) {
        this.control = control;
        this.allocator = allocator;
        this.listener = listener;
    }

    /** Returns a reader for the frames of exchanges, which rejects control messages. */
    public static FrameReader ofWorkerStream(ByteBufAllocator allocator, Listener listener) {
        return new FrameReader(false, allocator, listener);
    }

    /** Returns a reader for control messages. It never calls {@link Listener#onData}. */
    public static FrameReader ofControlStream(ByteBufAllocator allocator, Listener listener) {
        return new FrameReader(true, allocator, listener);
    }

    /**
     * Reads all of {@code in}, which remains the caller's.
     *
     * @return number of bytes that were not passed to {@link Listener#onData}; the receiver's
     *     flow-control window gets them back now. The listener returns the others when they have
     *     been passed on
     * @throws WireException once, then {@link IllegalStateException} for each further call
     */
    public int read(ByteBuf in) throws WireException {
        if (state == State.FAILED) {
            throw new IllegalStateException("frame reader already failed at offset " + frameOffset);
        }
        int before = in.readableBytes();
        int dataBytes = 0;
        try {
            while (in.isReadable() || state == State.DATA && payloadLeft == 0) {
                if (state == State.FAILED) {
                    // The listener has closed this reader during a call.
                    in.skipBytes(in.readableBytes());
                } else if (state == State.HEADER) {
                    readHeader(in);
                } else if (state == State.DATA) {
                    dataBytes += readData(in);
                } else {
                    readPayload(in);
                }
            }
        } catch (WireException e) {
            state = State.FAILED;
            release();
            throw e;
        }
        return before - dataBytes;
    }

    /** Returns whether a frame is incomplete. A stream that ends now was cut off. */
    public boolean isInsideFrame() {
        return state != State.HEADER || headerBytes > 0;
    }

    /**
     * Releases what was gathered of an incomplete frame. Can be called at any time, repeatedly, and
     * by the listener, which then receives nothing more. Nothing can be read afterwards.
     */
    public void close() {
        state = State.FAILED;
        release();
    }

    private void readHeader(ByteBuf in) throws WireException {
        if (headerBytes == 0) {
            frameOffset = offset;
            if (in.readableBytes() >= HEADER_BYTES) {
                header = in.readInt();
                offset += HEADER_BYTES;
                onHeader(in);
                return;
            }
        }
        header = header << Byte.SIZE | in.readUnsignedByte();
        offset++;
        if (++headerBytes == HEADER_BYTES) {
            headerBytes = 0;
            onHeader(in);
        }
    }

    private void onHeader(ByteBuf in) throws WireException {
        type = verifyType(FrameLayout.typeCode(header));
        payloadLeft = FrameLayout.payloadBytes(header);
        verifyFlags(FrameLayout.flags(header));
        if (type == FrameType.DATA) {
            state = State.DATA;
            return;
        }
        verifyLength(payloadLeft);
        state = State.PAYLOAD;
        if (payloadLeft == 0) {
            onPayload(in.slice(in.readerIndex(), 0));
        }
    }

    private FrameType verifyType(int code) throws WireException {
        FrameType known = FrameType.ofCode(code);
        if (known == null) {
            throw error(Reason.UNKNOWN_FRAME, "frame type " + code + ", expected 1 to 15");
        }
        if (known.isControl() != control) {
            throw error(
                    Reason.FRAME_NOT_ALLOWED_HERE,
                    known + " frame on a " + (control ? "control" : "worker") + " stream");
        }
        return known;
    }

    private void verifyFlags(int flags) throws WireException {
        int allowed = switch (type) {
            case REQUEST_HEAD, RESPONSE_HEAD, DATA -> FrameLayout.FLAG_END;
            default -> 0;
        };
        if ((flags & ~allowed) != 0) {
            throw error(Reason.UNKNOWN_FLAG, "flags " + flags + " on " + type + ", expected at most " + allowed);
        }
    }

    private void verifyLength(int length) throws WireException {
        int max = switch (type) {
            case REQUEST_HEAD -> WireLimits.MAX_HEAD_BLOCK_BYTES + FrameLayout.TIMEOUT_BYTES;
            case RESPONSE_HEAD, INTERIM, TRAILERS -> WireLimits.MAX_HEAD_BLOCK_BYTES;
            case RESET -> FrameLayout.ERROR_CODE_BYTES + WireLimits.MAX_RESET_TEXT_BYTES;
            case CANCEL -> FrameLayout.ERROR_CODE_BYTES;
            case TIMING -> FrameLayout.TIMING_BYTES;
            case DATA -> FrameLayout.MAX_PAYLOAD_BYTES;
            default -> WireLimits.MAX_CONTROL_BYTES;
        };
        int min = switch (type) {
            case REQUEST_HEAD -> FrameLayout.TIMEOUT_BYTES + 1;
            case RESPONSE_HEAD, INTERIM -> 1;
            case RESET, CANCEL -> FrameLayout.ERROR_CODE_BYTES;
            case TIMING -> FrameLayout.TIMING_BYTES;
            case DATA, TRAILERS -> 0;
            default -> WireLimits.MAC_BYTES;
        };
        if (length > max) {
            throw error(Reason.TOO_LARGE, type + " payload of " + length + " bytes, limit " + max);
        }
        if (length < min) {
            throw error(Reason.TOO_SHORT, type + " payload of " + length + " bytes, expected at least " + min);
        }
    }

    private int readData(ByteBuf in) throws WireException {
        int bytes = Math.min(payloadLeft, in.readableBytes());
        payloadLeft -= bytes;
        offset += bytes;
        boolean last = payloadLeft == 0;
        if (last) {
            state = State.HEADER;
        }
        listener.onData(in.readRetainedSlice(bytes), last && FrameLayout.isEnd(header));
        return bytes;
    }

    private void readPayload(ByteBuf in) throws WireException {
        int bytes = Math.min(payloadLeft, in.readableBytes());
        if (bytes == payloadLeft && !gathered.isReadable()) {
            offset += bytes;
            readWholePayload(in, bytes);
            return;
        }
        if (!gathered.isReadable()) {
            // Grows with the bytes that arrive, not to the announced length, because announcing
            // costs the sender nothing.
            gathered = allocator.buffer(Math.min(payloadLeft, Math.max(bytes, 256)), payloadLeft);
        }
        gathered.writeBytes(in, bytes);
        offset += bytes;
        payloadLeft -= bytes;
        if (payloadLeft == 0) {
            ByteBuf whole = gathered;
            gathered = Unpooled.EMPTY_BUFFER;
            try {
                onPayload(whole);
            } finally {
                whole.release();
            }
        }
    }

    /** A slice would work, but costs an object. */
    private void readWholePayload(ByteBuf in, int bytes) throws WireException {
        int end = in.readerIndex() + bytes;
        int inputEnd = in.writerIndex();
        try {
            onPayload(in.writerIndex(end));
        } finally {
            in.setIndex(end, inputEnd);
        }
    }

    private void onPayload(ByteBuf payload) throws WireException {
        state = State.HEADER;
        listener.onFrame(type, payload, FrameLayout.isEnd(header), frameOffset);
    }

    private WireException error(Reason reason, String detail) {
        return new WireException(reason, frameOffset, detail);
    }

    private void release() {
        gathered.release();
        gathered = Unpooled.EMPTY_BUFFER;
    }
}
