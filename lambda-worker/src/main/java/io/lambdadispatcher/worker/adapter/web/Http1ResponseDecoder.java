package io.lambdadispatcher.worker.adapter.web;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpResponseDecoder;

/**
 * Decodes the application's responses with Netty's decoder, which is told the kind of each request.
 * It also notes if the end of a response is in doubt. Confined to an event loop.
 */
final class Http1ResponseDecoder extends HttpResponseDecoder {
    private static final int MAX_STATUS_LINE_BYTES = 8 * 1024;
    private static final int MAX_HEAD_BYTES = 256 * 1024;
    private static final int MAX_CHUNK_BYTES = 256 * 1024;

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
        answersHead = toHead;
        bytesRead = false;
        ambiguous = false;
    }

    /** Returns whether at least one byte has arrived since {@link #expect}. */
    boolean hasReadBytes() {
        return bytesRead;
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
