package io.lambdadispatcher.wire.worker;

import static io.lambdadispatcher.wire.worker.FrameLayout.HEADER_BYTES;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * Appends frames to a buffer that the caller owns. Headers are encoded by the stream's {@link
 * HeadEncoder}. A DATA frame is its header here, and then the payload, which is passed to the
 * transport by reference.
 */
public final class FrameWriter {
    private static final long MAX_MICROS = 0xFFFF_FFFFL;

    private FrameWriter() {}

    /**
     * @param timeoutMillis time until the dispatcher stops waiting for the response; 0 means no
     *     limit
     */
    public static void writeRequestHead(
            ByteBuf out, HeadEncoder encoder, Http2Headers head, int timeoutMillis, boolean end) throws WireException {
        int start = out.writerIndex();
        out.writeInt(0).writeInt(timeoutMillis);
        writeBlock(out, start, FrameType.REQUEST_HEAD, encoder, head, end);
    }

    public static void writeResponseHead(ByteBuf out, HeadEncoder encoder, Http2Headers head, boolean end)
            throws WireException {
        writeBlock(out, start(out), FrameType.RESPONSE_HEAD, encoder, head, end);
    }

    public static void writeInterim(ByteBuf out, HeadEncoder encoder, Http2Headers head) throws WireException {
        writeBlock(out, start(out), FrameType.INTERIM, encoder, head, false);
    }

    public static void writeTrailers(ByteBuf out, HeadEncoder encoder, Http2Headers trailers) throws WireException {
        writeBlock(out, start(out), FrameType.TRAILERS, encoder, trailers, false);
    }

    /**
     * Writes the header of a DATA frame. The {@code payloadBytes} bytes of the payload must follow
     * on the stream.
     */
    public static void writeDataHeader(ByteBuf out, int payloadBytes, boolean end) {
        out.writeInt(FrameLayout.header(FrameType.DATA, end, payloadBytes));
    }

    /** @param text for people who read logs; cut to {@link WireLimits#MAX_RESET_TEXT_BYTES} */
    public static void writeReset(ByteBuf out, ErrorCode code, String text) {
        int start = start(out);
        out.writeInt(code.code());
        int max = WireLimits.MAX_RESET_TEXT_BYTES / ByteBufUtil.utf8MaxBytes(1);
        ByteBufUtil.writeUtf8(out, text.length() > max ? text.substring(0, max) : text);
        finish(out, start, FrameType.RESET, false);
    }

    public static void writeCancel(ByteBuf out, ErrorCode code) {
        out.writeInt(FrameLayout.header(FrameType.CANCEL, false, FrameLayout.ERROR_CODE_BYTES));
        out.writeInt(code.code());
    }

    /**
     * Writes the times of a handler.
     *
     * @param waitMicros microseconds from the request's arrival until the call of the handler; a
     *     value over 2^32 - 1 is written as that
     * @param handlerMicros microseconds from the call of the handler until now, with the same limit
     */
    public static void writeTiming(ByteBuf out, long waitMicros, long handlerMicros) {
        out.writeInt(FrameLayout.header(FrameType.TIMING, false, FrameLayout.TIMING_BYTES));
        out.writeInt((int) Math.min(waitMicros, MAX_MICROS));
        out.writeInt((int) Math.min(handlerMicros, MAX_MICROS));
    }

    private static void writeBlock(
            ByteBuf out, int start, FrameType type, HeadEncoder encoder, Http2Headers head, boolean end)
            throws WireException {
        int block = out.writerIndex();
        encoder.encode(head, out);
        int bytes = out.writerIndex() - block;
        if (bytes > WireLimits.MAX_HEAD_BLOCK_BYTES) {
            throw new WireException(
                    WireException.Reason.TOO_LARGE,
                    0,
                    type + " block of " + bytes + " bytes to send, limit " + WireLimits.MAX_HEAD_BLOCK_BYTES);
        }
        finish(out, start, type, end);
    }

    private static int start(ByteBuf out) {
        int start = out.writerIndex();
        out.writeInt(0);
        return start;
    }

    private static void finish(ByteBuf out, int start, FrameType type, boolean end) {
        out.setInt(start, FrameLayout.header(type, end, out.writerIndex() - start - HEADER_BYTES));
    }
}
