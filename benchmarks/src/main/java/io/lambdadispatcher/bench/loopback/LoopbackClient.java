package io.lambdadispatcher.bench.loopback;

import io.lambdadispatcher.wire.http2.Http2Events;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.ssl.SslContext;
import io.netty.util.AsciiString;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An HTTP/2 connection that repeats one request. Call {@link #run} from any thread except the event
 * loop; everything else is confined to the event loop.
 */
final class LoopbackClient extends Http2Events implements AutoCloseable {
    private static final AsciiString OK = AsciiString.cached("200");
    private static final int MOST_SECONDS = 60;

    private final EventLoopGroup group;
    private final Http2ConnectionHandler http2;
    private final Http2Headers head;
    private final Channel channel;

    private CompletableFuture<Void> ended = new CompletableFuture<>();
    private int unsent;
    private int underWay;

    /** @param tls {@code null} = plain */
    LoopbackClient(Sockets sockets, InetSocketAddress address, @Nullable SslContext tls) {
        group = new MultiThreadIoEventLoopGroup(1, sockets.ioHandlers());
        http2 = new Http2ConnectionHandlerBuilder()
                .server(false)
                .frameListener(this)
                .build();
        head = new DefaultHttp2Headers()
                .method(AsciiString.cached("GET"))
                .scheme(AsciiString.cached(tls == null ? "http" : "https"))
                .authority(AsciiString.cached("localhost"))
                .path(AsciiString.cached("/ping"));
        channel = new Bootstrap()
                .group(group)
                .channel(sockets.channel)
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel connection) {
                        if (tls != null) {
                            connection
                                    .pipeline()
                                    .addLast(tls.newHandler(
                                            connection.alloc(), address.getHostString(), address.getPort()));
                        }
                        connection.pipeline().addLast(http2);
                    }
                })
                .connect(address)
                .syncUninterruptibly()
                .channel();
        channel.closeFuture().addListener(closed -> fail("connection closed"));
    }

    /**
     * Sends {@code requests} requests, {@code inFlight} of them concurrently. Returns when all have
     * been answered with 200.
     */
    void run(int requests, int inFlight) throws Exception {
        CompletableFuture<Void> done = new CompletableFuture<>();
        channel.eventLoop().execute(() -> begin(requests, inFlight, done));
        done.get(MOST_SECONDS, TimeUnit.SECONDS);
    }

    private void begin(int requests, int inFlight, CompletableFuture<Void> done) {
        ended = done;
        if (!channel.isActive()) {
            fail("connection closed");
            return;
        }
        unsent = requests;
        ChannelHandlerContext ctx = channel.pipeline().context(http2);
        while (underWay < inFlight && unsent > 0) {
            send(ctx);
        }
        ctx.flush();
    }

    private void send(ChannelHandlerContext ctx) {
        unsent--;
        underWay++;
        int id = http2.connection().local().incrementAndGetNextStreamId();
        http2.encoder().writeHeaders(ctx, id, head, 0, true, ctx.newPromise());
    }

    // The codec flushes what the methods below send, when it has read all available bytes.

    @Override
    public void onHeadersRead(
            ChannelHandlerContext ctx, int streamId, Http2Headers headers, int padding, boolean endOfStream) {
        if (!OK.contentEquals(headers.status())) {
            fail("status " + headers.status());
        }
        endIf(endOfStream, ctx);
    }

    @Override
    public int onDataRead(ChannelHandlerContext ctx, int streamId, ByteBuf data, int padding, boolean endOfStream) {
        int bytes = data.readableBytes() + padding;
        endIf(endOfStream, ctx);
        return bytes;
    }

    @Override
    public void onRstStreamRead(ChannelHandlerContext ctx, int streamId, long errorCode) {
        fail("stream reset with " + errorCode);
    }

    private void fail(String what) {
        ended.completeExceptionally(new IllegalStateException(what + ", expected responses with 200"));
    }

    private void endIf(boolean end, ChannelHandlerContext ctx) {
        if (!end) {
            return;
        }
        underWay--;
        if (unsent > 0) {
            send(ctx);
        } else if (underWay == 0) {
            ended.complete(null);
        }
    }

    @Override
    public void close() {
        channel.close().syncUninterruptibly();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).syncUninterruptibly();
    }
}
