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
 * Netty's HTTP/1.1 decoder, which also refuses what it would repair: a head with both
 * content-length and transfer-encoding, folded lines (RFC 9112 sections 6.3 and 5.2), and request
 * lines with a blank before them, with control characters, or with another protocol's name. These
 * are shapes on which two servers may disagree where a request ends, or whether there is one. Event
 * loop only.
 */
final class StrictRequestDecoder extends HttpRequestDecoder {
    private static final int MAX_CHUNK_BYTES = 64 * 1024;

    private boolean headOpen = true;

    /** Of the open head: more than the empty lines that may come before it. */
    private boolean lineSeen;

    /** Of the open head: what has been consumed. */
    private int headBytes;

    /**
     * Of the open head: lines so far, each of which becomes objects of ten times its size if it is
     * short.
     */
    private int headLines;

    private final int maxHeadLines;

    /** Of the open head: what has been consumed ends with a whole line. */
    private boolean lineEnded;

    private boolean broken;

    /**
     * Nothing is decoded behind a WebSocket handshake: it is the tunnel's, or nobody's, for a
     * connection ends with a refusal.
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
        // Twice: the exact limit is for the one who knows a whole head, and can say by how much it
        // is exceeded.
        maxHeadLines = 2 * limits.maxHeaders();
    }

    /** Bytes of a head have come, the rest has not. */
    boolean isInsideHead() {
        return headOpen && !broken && (lineSeen || actualReadableBytes() > 0);
    }

    /** Returns how many bytes of an incomplete head have come. */
    int headBytes() {
        return headOpen && !broken ? headBytes + actualReadableBytes() : 0;
    }

    /** Bytes have come behind a WebSocket handshake. */
    boolean isHolding() {
        return held && actualReadableBytes() > 0;
    }

    /** Nothing of what follows matters. */
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
        }
        for (int i = messages; i < out.size(); i++) {
            noteMessage(out.get(i));
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
        headBytes += end - start;
        for (int i = start; i < end && !lineSeen; i++) {
            lineSeen = in.getByte(i) > ' ';
        }
        if (end > start) {
            lineEnded = lineSeen && in.getByte(end - 1) == '\n';
        }
    }

    private void noteMessage(Object message) {
        if (message instanceof HttpRequest request) {
            headOpen = false;
            held = WebSocketHandshake.isAsked(request) && !WebSocketHandshake.hasBody(request);
        }
        if (message instanceof LastHttpContent) {
            headOpen = true;
            headBytes = 0;
            headLines = 0;
            lineSeen = false;
            lineEnded = false;
        }
    }

    /**
     * Returns whether a line of the head begins with a blank, or its first line has a control
     * character, which Netty would take for a blank. Looks no further than the head's end.
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
     * Netty takes the first of several content-lengths if a request is older than HTTP/1.1. Others
     * take the last.
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
