package io.lambdadispatcher.bench.endtoend;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Answers HTTP/2 requests as soon as their head is there; request bodies are dropped. On the connection's event loop. */
final class Http2Backend extends Http2FrameAdapter {
    private @Nullable Http2ConnectionEncoder encoder;

    private Http2Backend() {}

    static Http2ConnectionHandler newHandler() {
        Http2Backend backend = new Http2Backend();
        Http2ConnectionHandler handler = new Http2ConnectionHandlerBuilder()
                .server(true)
                .frameListener(backend)
                .initialSettings(Http2Settings.defaultSettings().maxConcurrentStreams(1000))
                // Proxies that give streams up are not what this backend defends against.
                .decoderEnforceMaxRstFramesPerWindow(0, 0)
                .build();
        backend.encoder = handler.encoder();
        return handler;
    }

    @Override
    public void onHeadersRead(
            ChannelHandlerContext ctx,
            int streamId,
            Http2Headers headers,
            int streamDependency,
            short weight,
            boolean exclusive,
            int padding,
            boolean endOfStream) {
        onHeadersRead(ctx, streamId, headers, padding, endOfStream);
    }

    @Override
    public void onHeadersRead(
            ChannelHandlerContext ctx, int streamId, Http2Headers headers, int padding, boolean endOfStream) {
        CharSequence path = headers.path();
        if (path == null) {
            return; // Trailers.
        }
        Http2ConnectionEncoder out = Objects.requireNonNull(encoder);
        Resource resource = Resource.at(path);
        boolean empty = resource.size() == 0;
        out.writeHeaders(ctx, streamId, resource.head, 0, empty, ctx.newPromise());
        if (!empty) {
            out.writeData(ctx, streamId, resource.body(), 0, true, ctx.newPromise());
        }
    }

    @Override
    public int onDataRead(ChannelHandlerContext ctx, int streamId, ByteBuf data, int padding, boolean endOfStream) {
        return data.readableBytes() + padding;
    }
}
