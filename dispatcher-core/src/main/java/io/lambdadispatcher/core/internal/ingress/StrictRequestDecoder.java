package io.lambdadispatcher.core.internal.ingress;

import io.lambdadispatcher.core.HttpLimits;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpRequestDecoder;
import io.netty.handler.codec.http.LastHttpContent;
import java.util.List;

/**
 * Netty's HTTP/1.1 decoder, which also refuses what it would repair: a head with both content-length and transfer-encoding, and folded
 * lines (RFC 9112 sections 6.3 and 5.2). Both are shapes on which two servers may disagree where a request ends. Event loop only.
 */
final class StrictRequestDecoder extends HttpRequestDecoder {
    private static final int MAX_CHUNK_BYTES = 64 * 1024;

    private boolean headOpen = true;
    private boolean lineEnded;

    StrictRequestDecoder(HttpLimits limits) {
        super(new HttpDecoderConfig()
                .setMaxInitialLineLength(limits.maxRequestLineBytes())
                .setMaxHeaderSize(limits.maxHeadBytes())
                .setMaxChunkSize(MAX_CHUNK_BYTES)
                .setAllowDuplicateContentLengths(false)
                .setStrictLineParsing(true)
                .setUseRfc9112TransferEncoding(true));
    }

    /** Octets of a head have come, the rest has not. */
    boolean isInsideHead() {
        return headOpen && (lineEnded || actualReadableBytes() > 0);
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) throws Exception {
        if (headOpen) {
            refuseFoldedLine(in);
        }
        int messages = out.size();
        int start = in.readerIndex();
        super.decode(ctx, in, out);
        if (in.readerIndex() > start) {
            lineEnded = headOpen && in.getByte(in.readerIndex() - 1) == '\n';
        }
        for (int i = messages; i < out.size(); i++) {
            Object message = out.get(i);
            if (message instanceof HttpRequest) {
                headOpen = false;
            }
            if (message instanceof LastHttpContent) {
                headOpen = true;
                lineEnded = false;
            }
        }
    }

    private void refuseFoldedLine(ByteBuf in) {
        boolean lineStart = lineEnded;
        boolean lineEmpty = true;
        for (int i = in.readerIndex(); i < in.writerIndex(); i++) {
            byte octet = in.getByte(i);
            if (lineStart && (octet == ' ' || octet == '\t')) {
                throw new IllegalArgumentException("folded header line");
            }
            lineStart = octet == '\n';
            if (lineStart && lineEmpty && i > in.readerIndex()) {
                return; // the empty line: what follows is not head
            }
            lineEmpty = lineStart || lineEmpty && octet == '\r';
        }
    }

    @Override
    protected void handleTransferEncodingChunkedWithContentLength(HttpMessage message) {
        throw new IllegalArgumentException("both content-length and transfer-encoding");
    }
}
