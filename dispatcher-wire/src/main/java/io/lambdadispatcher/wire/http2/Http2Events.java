package io.lambdadispatcher.wire.http2;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;

/**
 * Netty's events of one connection. All headers arrive through the shorter method, because
 * priorities are deprecated (RFC 9113 section 5.3.2). The connection is closed if the peer causes
 * answers and does not read them. Event loop only.
 */
public abstract class Http2Events extends Http2EventAdapter {
    /**
     * Maximum number of PING and SETTINGS frames from a peer that does not read our answers
     * (CVE-2019-9512, CVE-2019-9515).
     */
    static final int MAX_UNREAD_ANSWERS = 1000;

    private int unreadAnswers;

    @Override
    public final void onHeadersRead(
            ChannelHandlerContext ctx,
            int streamId,
            Http2Headers headers,
            int streamDependency,
            short weight,
            boolean exclusive,
            int padding,
            boolean endOfStream)
            throws Http2Exception {
        onHeadersRead(ctx, streamId, headers, padding, endOfStream);
    }

    @Override
    public final void onPingRead(ChannelHandlerContext ctx, long data) throws Http2Exception {
        onAnswerOwed(ctx);
    }

    /** Overriding methods must call this one. */
    @Override
    public void onSettingsRead(ChannelHandlerContext ctx, Http2Settings settings) throws Http2Exception {
        onAnswerOwed(ctx);
    }

    private void onAnswerOwed(ChannelHandlerContext ctx) throws Http2Exception {
        if (ctx.channel().isWritable()) {
            unreadAnswers = 0;
        } else if (++unreadAnswers > MAX_UNREAD_ANSWERS) {
            throw Http2Exception.connectionError(
                    Http2Error.ENHANCE_YOUR_CALM, "%d PING or SETTINGS frames without reading", unreadAnswers);
        }
    }
}
