package io.lambdadispatcher.bench.endtoend;

import io.lambdadispatcher.wire.http2.Http2Events;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Answers HTTP/2 requests as soon as their headers arrive. {@code /echo} sends request bodies back;
 * other paths drop them. Confined to the connection's event loop.
 */
final class Http2Backend extends Http2Events {
    private @Nullable Http2ConnectionHandler http2;
    private Http2Connection.@Nullable PropertyKey echo;

    private Http2Backend() {}

    static Http2ConnectionHandler newHandler() {
        Http2Backend backend = new Http2Backend();
        Http2ConnectionHandler handler = new Http2ConnectionHandlerBuilder()
                .server(true)
                .frameListener(backend)
                .initialSettings(Http2Settings.defaultSettings().maxConcurrentStreams(1000))
                // Proxies may reset any number of streams, because this backend needs no
                // protection.
                .decoderEnforceMaxRstFramesPerWindow(0, 0)
                .build();
        backend.http2 = handler;
        backend.echo = handler.connection().newKey();
        return handler;
    }

    @Override
    public void onHeadersRead(
            ChannelHandlerContext ctx, int streamId, Http2Headers headers, int padding, boolean endOfStream) {
        CharSequence path = headers.path();
        if (path == null) {
            return; // Trailers.
        }
        Http2ConnectionEncoder out = http2().encoder();
        if (Resource.isEcho(path)) {
            startEcho(ctx, streamId, headers, endOfStream);
            return;
        }
        Resource resource = Resource.at(path);
        boolean empty = resource.size() == 0;
        out.writeHeaders(ctx, streamId, resource.head, 0, empty, ctx.newPromise());
        if (!empty) {
            out.writeData(ctx, streamId, resource.body(), 0, true, ctx.newPromise());
        }
    }

    private void startEcho(ChannelHandlerContext ctx, int streamId, Http2Headers request, boolean endOfStream) {
        Http2Headers head = new DefaultHttp2Headers(false).status(HttpResponseStatus.OK.codeAsText());
        CharSequence length = request.get(HttpHeaderNames.CONTENT_LENGTH);
        if (length != null) {
            head.set(HttpHeaderNames.CONTENT_LENGTH, length);
        }
        http2().connection().stream(streamId).setProperty(echo, true);
        http2().encoder().writeHeaders(ctx, streamId, head, 0, endOfStream, ctx.newPromise());
    }

    @Override
    public int onDataRead(ChannelHandlerContext ctx, int streamId, ByteBuf data, int padding, boolean endOfStream) {
        int bytes = data.readableBytes() + padding;
        Http2Stream stream = http2().connection().stream(streamId);
        if (stream == null || stream.getProperty(echo) == null) {
            return bytes;
        }
        // The window opens only as the client reads the echoed bytes.
        http2().encoder()
                .writeData(ctx, streamId, data.retain(), 0, endOfStream, ctx.newPromise())
                .addListener(written -> giveBack(ctx, stream, bytes));
        return 0;
    }

    private void giveBack(ChannelHandlerContext ctx, Http2Stream stream, int bytes) throws Http2Exception {
        if (http2().connection().local().flowController().consumeBytes(stream, bytes)) {
            ctx.flush();
        }
    }

    private Http2ConnectionHandler http2() {
        return Objects.requireNonNull(http2);
    }
}
