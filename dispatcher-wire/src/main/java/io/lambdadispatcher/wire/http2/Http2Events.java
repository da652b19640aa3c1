package io.lambdadispatcher.wire.http2;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;

/** Netty's events of a connection. All heads come by the shorter method, for priorities mean nothing any more (RFC 9113 section 5.3.2). Event loop only. */
public abstract class Http2Events extends Http2EventAdapter {
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
}
