package io.lambdadispatcher.worker.adapter.web;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMessage;
import io.netty.handler.codec.http.HttpResponseDecoder;

/**
 * Netty's decoder, told by us what each response answers; notices what leaves the end of a message
 * in doubt. Event loop only.
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

    /** A request has been sent. */
    void expect(boolean toHead) {
        answersHead = toHead;
        bytesRead = false;
        ambiguous = false;
    }

    /** At least one byte has come since {@link #expect}. */
    boolean hasReadBytes() {
        return bytesRead;
    }

    /**
     * Another reader of these bytes could see another end: the connection must not be used again
     * (RFC 9112 section 6.3).
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

    /** RFC 9112 section 6.3: the coding holds. */
    @Override
    protected void handleTransferEncodingChunkedWithContentLength(HttpMessage message) {
        ambiguous = true;
        message.headers().remove(HttpHeaderNames.CONTENT_LENGTH);
    }
}
