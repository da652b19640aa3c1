package io.lambdadispatcher.core.internal.ingress.http1;

import io.lambdadispatcher.core.options.HttpLimits;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.http.DefaultHttpHeaders;
import io.netty.handler.codec.http.DefaultHttpRequest;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import java.util.List;

/**
 * Netty's HTTP/1.1 decoder, which also rejects what Netty would repair:
 * <ul>
 *   <li>headers with both content-length and transfer-encoding, and folded lines (RFC 9112 sections
 *       6.3 and 5.2)
 *   <li>request lines with leading whitespace, with control characters, or with the name of another
 *       protocol
 * </ul>
 *
 * <p>With such requests, two servers can disagree about where a request ends, or whether there is
 * one. The <b>head</b> of a request is its request line and its headers. Event loop only.
 */
final class StrictRequestDecoder extends HttpRequestDecoder {
    private static final int MAX_CHUNK_BYTES = 64 * 1024;

    private boolean headOpen = true;

    /** Whether a line of the current head was read that is not empty. */
    private boolean lineSeen;

    /** Number of consumed bytes of the current head, without empty lines before it. */
    private int headBytes;

    /** Number of lines of the current head. A short line becomes objects of ten times its size. */
    private int headLines;

    private final int maxHeaders;
    private final int maxHeadLines;

    /**
     * Number of bytes and lines behind the head that were consumed since the last part of the body:
     * trailers, or the header of a chunk.
     */
    private int trailerBytes;

    private int trailerLines;

    /** Whether the consumed part of the current head ends with a complete line. */
    private boolean lineEnded;

    private boolean broken;

    /**
     * Whether the current request is a WebSocket handshake. Bytes behind it are not decoded: they
     * belong to the tunnel, or are dropped, because a refusal closes the connection.
     */
    private boolean held;

    StrictRequestDecoder(HttpLimits limits) {
        super(new HttpDecoderConfig()
                .setMaxInitialLineLength(limits.maxRequestLineBytes())
                .setMaxHeaderSize(limits.maxHeaderBytes())
                .setMaxChunkSize(MAX_CHUNK_BYTES)
                .setAllowDuplicateContentLengths(false)
                .setStrictLineParsing(true)
                .setUseRfc9112TransferEncoding(true));
        // Twice the limit, because the exact limit is checked when all headers have arrived. Then
        // the error message can contain their number.
        maxHeaders = limits.maxHeaders();
        maxHeadLines = 2 * maxHeaders;
    }

    /** Returns whether only a part of a request head has arrived. */
    boolean isInsideHead() {
        return headOpen && !broken && (lineSeen || actualReadableBytes() > 0);
    }

    /**
     * Returns the number of bytes that have arrived of an incomplete request head, or of incomplete
     * trailers.
     */
    int headBytes() {
        if (broken) {
            return 0;
        }
        return headOpen ? headBytes + actualReadableBytes() : trailerBytes;
    }

    /** Returns whether bytes have arrived behind a WebSocket handshake. */
    boolean isHolding() {
        return held && actualReadableBytes() > 0;
    }

    /** Drops all further bytes. */
    void drop() {
        broken = true;
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) throws Exception {
        if (broken) {
            in.skipBytes(in.readableBytes());
            return;
        }
        if (held && headOpen) {
            ctx.channel().config().setAutoRead(false);
            return;
        }
        if (headOpen && hasMisplacedBlank(in)) {
            refuse(in, new IllegalArgumentException("misplaced blank"), out);
            return;
        }
        if (headLines > maxHeadLines) {
            refuse(in, new TooLongHttpHeaderException("too many header lines"), out);
            return;
        }
        int messages = out.size();
        int start = in.readerIndex();
        super.decode(ctx, in, out);
        if (headOpen) {
            noteConsumed(in, start);
        } else if (out.size() == messages) {
            noteTrailers(in, start);
        }
        for (int i = messages; i < out.size(); i++) {
            noteMessage(out.get(i));
        }
        if (trailerLines > maxHeadLines) {
            refuse(in, new TooLongHttpHeaderException("too many trailer lines"), out);
        }
    }

    /** Netty limits only their bytes, and makes objects of each line when it arrives. */
    private void noteTrailers(ByteBuf in, int start) {
        int end = in.readerIndex();
        trailerBytes += end - start;
        for (int i = start; i < end; i++) {
            trailerLines += in.getByte(i) == '\n' ? 1 : 0;
        }
    }

    private void refuse(ByteBuf in, Exception cause, List<Object> out) {
        broken = true;
        HttpMessage refused = createInvalidMessage();
        refused.setDecoderResult(DecoderResult.failure(cause));
        out.add(refused);
        in.skipBytes(in.readableBytes());
    }

    private void noteConsumed(ByteBuf in, int start) {
        int end = in.readerIndex();
        for (int i = start; i < end && !lineSeen; i++) {
            lineSeen = in.getByte(i) > ' ';
        }
        // Empty lines before a request are dropped, so they take no memory.
        headBytes += lineSeen ? end - start : 0;
        if (end > start) {
            lineEnded = lineSeen && in.getByte(end - 1) == '\n';
        }
    }

    private void noteMessage(Object message) {
        trailerBytes = 0;
        trailerLines = 0;
        if (message instanceof HttpRequest request) {
            headOpen = false;
            held = WebSocketHandshake.isAsked(request) && !WebSocketHandshake.hasBody(request);
        }
        if (message instanceof LastHttpContent last) {
            if (last.trailingHeaders().size() > maxHeaders) {
                broken = true;
                last.setDecoderResult(DecoderResult.failure(new TooLongHttpHeaderException("too many trailers")));
            }
            headOpen = true;
            headBytes = 0;
            headLines = 0;
            lineSeen = false;
            lineEnded = false;
        }
    }

    /**
     * Returns whether a line of the head begins with whitespace, or its first line has a control
     * character, which Netty would take for whitespace. That includes a CR without LF. Checks only
     * up to the end of the head.
     */
    private boolean hasMisplacedBlank(ByteBuf in) {
        boolean seen = lineSeen;
        boolean lineStart = lineEnded;
        boolean firstLine = !lineSeen;
        boolean lineEmpty = true;
        for (int i = in.readerIndex(); i < in.writerIndex(); i++) {
            byte next = in.getByte(i);
            if (next == ' ' && (lineStart || !seen) || next == '\t' && lineStart || firstLine && isControl(next)) {
                return true;
            }
            if (next == '\r' && firstLine && seen && i + 1 < in.writerIndex() && in.getByte(i + 1) != '\n') {
                return true;
            }
            if (next == '\n' && lineEmpty && seen) {
                return false;
            }
            seen |= next > ' ';
            lineStart = next == '\n' && seen;
            if (lineStart) {
                firstLine = false;
                headLines++;
            }
            lineEmpty = next == '\n' || lineEmpty && next == '\r';
        }
        return false;
    }

    private static boolean isControl(byte next) {
        return next >= 0 && next < ' ' && next != '\r' && next != '\n';
    }

    @Override
    protected HttpMessage createMessage(String[] initialLine) throws Exception {
        if (!initialLine[2].startsWith("HTTP/")) {
            throw new IllegalArgumentException("not HTTP");
        }
        HttpMessage message = super.createMessage(initialLine);
        return message instanceof HttpRequest old && !old.protocolVersion().isKeepAliveDefault()
                ? new DefaultHttpRequest(old.protocolVersion(), old.method(), old.uri(), new OneLength())
                : message;
    }

    /**
     * Rejects several content-lengths. For requests older than HTTP/1.1, Netty takes the first one,
     * and other servers take the last.
     */
    private static final class OneLength extends DefaultHttpHeaders {
        @Override
        public HttpHeaders add(CharSequence name, Object value) {
            if (HttpHeaderNames.CONTENT_LENGTH.contentEqualsIgnoreCase(name)
                    && contains(HttpHeaderNames.CONTENT_LENGTH)) {
                throw new IllegalArgumentException("more than one content-length");
            }
            return super.add(name, value);
        }
    }

    @Override
    protected void handleTransferEncodingChunkedWithContentLength(HttpMessage message) {
        throw new IllegalArgumentException("both content-length and transfer-encoding");
    }
}
