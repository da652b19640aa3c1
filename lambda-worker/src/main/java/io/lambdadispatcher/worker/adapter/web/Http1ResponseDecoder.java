package io.lambdadispatcher.worker.adapter.web;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseDecoder;
import io.netty.handler.codec.http.HttpStatusClass;
import io.netty.handler.codec.http.LastHttpContent;
import java.util.List;

/**
 * Decodes one response for each request with Netty's decoder, which is told the kind of the
 * request. Bytes that belong to no request are never decoded: a response that they form could reach
 * the next client (RFC 9112 section 6.3). It also notes if the end of a response is in doubt.
 * Confined to an event loop.
 */
final class Http1ResponseDecoder extends HttpResponseDecoder {
    private static final int MAX_STATUS_LINE_BYTES = 8 * 1024;
    private static final int MAX_HEAD_BYTES = 256 * 1024;
    private static final int MAX_CHUNK_BYTES = 256 * 1024;

    /** Whether a response is due. Bytes that arrive at any other time are surplus. */
    private boolean expecting;

    /** Whether the last headers were those of an interim response, which another follows. */
    private boolean interim;

    private boolean surplus;
    private boolean answersHead;
    private boolean bytesRead;
    private boolean ambiguous;

    Http1ResponseDecoder() {
        super(new HttpDecoderConfig()
                .setMaxInitialLineLength(MAX_STATUS_LINE_BYTES)
                .setMaxHeaderSize(MAX_HEAD_BYTES)
                .setMaxChunkSize(MAX_CHUNK_BYTES)
                .setAllowDuplicateContentLengths(false));
    }

    /** Prepares for the response to a request that has been sent. */
    void expect(boolean toHead) {
        expecting = true;
        answersHead = toHead;
        bytesRead = false;
        ambiguous = false;
    }

    /** Returns whether at least one byte has arrived since {@link #expect}. */
    boolean hasReadBytes() {
        return bytesRead;
    }

    /** Returns whether a byte has arrived before the request, or after its response. */
    boolean hasSurplus() {
        return surplus;
    }

    /**
     * Returns whether another reader of the response could see another end. The connection must
     * then not be used again (RFC 9112 section 6.3).
     */
    boolean isAmbiguous() {
        return ambiguous;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) throws Exception {
        bytesRead = true;
        super.channelRead(ctx, message);
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf bytes, List<Object> out) throws Exception {
        if (!expecting) {
            surplus |= bytes.isReadable();
            bytes.skipBytes(bytes.readableBytes());
            return;
        }
        super.decode(ctx, bytes, out);
        for (int i = 0; i < out.size(); i++) {
            Object part = out.get(i);
            if (part instanceof HttpResponse head) {
                interim = head.status().codeClass() == HttpStatusClass.INFORMATIONAL;
            }
            if (part instanceof LastHttpContent && !interim) {
                expecting = false;
            }
        }
    }

    @Override
    protected boolean isContentAlwaysEmpty(HttpMessage message) {
        return super.isContentAlwaysEmpty(message) || answersHead;
    }

    /** RFC 9112 section 6.3: the transfer coding overrides the content-length. */
    @Override
    protected void handleTransferEncodingChunkedWithContentLength(HttpMessage message) {
        ambiguous = true;
        message.headers().remove(HttpHeaderNames.CONTENT_LENGTH);
    }
}
