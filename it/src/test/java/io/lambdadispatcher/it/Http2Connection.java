package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2GoAwayFrame;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2SettingsFrame;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.handler.codec.http2.Http2StreamChannelBootstrap;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A plain HTTP/2 client connection with prior knowledge. Unlike other clients, it shows settings,
 * interim responses, trailers and reset codes.
 */
final class Http2Connection implements AutoCloseable {
    private static final MultiThreadIoEventLoopGroup loops =
            new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());

    final CompletableFuture<Http2Settings> settings = new CompletableFuture<>();
    private final Channel channel;
    private volatile boolean goingAway;

    private Http2Connection(int port) throws InterruptedException {
        channel = new Bootstrap()
                .group(loops)
                .channel(NioSocketChannel.class)
                .handler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel made) {
                        made.pipeline()
                                .addLast(
                                        Http2FrameCodecBuilder.forClient().build(),
                                        new SettingsWatch(),
                                        new Http2MultiplexHandler(new ChannelInboundHandlerAdapter()));
                    }
                })
                .connect("127.0.0.1", port)
                .sync()
                .channel();
    }

    static Http2Connection to(Rig rig) throws InterruptedException {
        return to(rig.plainPort());
    }

    static Http2Connection to(int port) throws InterruptedException {
        return new Http2Connection(port);
    }

    private final class SettingsWatch extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            if (message instanceof Http2SettingsFrame frame) {
                settings.complete(frame.settings());
            } else if (message instanceof Http2GoAwayFrame) {
                goingAway = true;
            }
            ctx.fireChannelRead(message);
        }
    }

    /** Returns whether the dispatcher has asked for a new connection. */
    boolean isGoingAway() {
        return goingAway;
    }

    Stream open(Http2Headers head, boolean end) throws Exception {
        Stream stream = new Stream();
        stream.channel = new Http2StreamChannelBootstrap(channel)
                .handler(stream)
                .open()
                .sync()
                .getNow();
        stream.channel.writeAndFlush(new DefaultHttp2HeadersFrame(head, end)).sync();
        return stream;
    }

    @Override
    public void close() throws InterruptedException {
        channel.close().sync();
    }

    /** One stream and everything that was received on it. */
    static final class Stream extends SimpleChannelInboundHandler<Object> {
        /**
         * Maximum of body parts that are kept. No test reads more, and a flood must not fill the
         * heap.
         */
        private static final int MOST_KEPT = 500;

        final BlockingQueue<Http2Headers> heads = new LinkedBlockingQueue<>();
        final BlockingQueue<ByteBuf> data = new LinkedBlockingQueue<>();
        final CompletableFuture<Long> reset = new CompletableFuture<>();
        final CompletableFuture<Void> ended = new CompletableFuture<>();
        Http2StreamChannel channel;

        @Override
        protected void channelRead0(ChannelHandlerContext ctx, Object message) {
            if (message instanceof Http2HeadersFrame frame) {
                heads.add(frame.headers());
                endIf(frame.isEndStream());
            } else if (message instanceof Http2DataFrame frame) {
                if (frame.content().isReadable() && data.size() < MOST_KEPT) {
                    data.add(Unpooled.copiedBuffer(frame.content()));
                }
                endIf(frame.isEndStream());
            }
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event instanceof Http2ResetFrame frame) {
                reset.complete(frame.errorCode());
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            ended.completeExceptionally(new IOException("the stream has closed before its end"));
        }

        private void endIf(boolean end) {
            if (end) {
                ended.complete(null);
            }
        }

        /** Returns the next headers: of an interim or final response, or trailers. */
        Http2Headers head() throws Exception {
            Http2Headers next = heads.poll(60, TimeUnit.SECONDS);
            assertThat((Object) next).as("head").isNotNull();
            return next;
        }

        String status() throws Exception {
            return head().status().toString();
        }

        void send(ByteBuf bytes, boolean end) {
            channel.writeAndFlush(new DefaultHttp2DataFrame(bytes, end));
        }

        void send(String text, boolean end) {
            send(ByteBufUtil.writeAscii(UnpooledByteBufAllocator.DEFAULT, text), end);
        }

        void send(String text) {
            send(text, false);
        }

        void sendTrailers(Http2Headers trailers) {
            channel.writeAndFlush(new DefaultHttp2HeadersFrame(trailers, true));
        }

        void end() {
            send(Unpooled.EMPTY_BUFFER, true);
        }

        void awaitEnd() throws Exception {
            ended.get(60, TimeUnit.SECONDS);
        }

        String text(int length) throws Exception {
            StringBuilder all = new StringBuilder();
            while (all.length() < length) {
                ByteBuf next = data.poll(60, TimeUnit.SECONDS);
                assertThat(next).as("bytes after '" + all + "'").isNotNull();
                all.append(next.toString(StandardCharsets.US_ASCII));
            }
            return all.toString();
        }
    }
}
