package io.lambdadispatcher.worker.adapter.web;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.util.ReferenceCountUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * An HTTP/2 application in clear text. A script receives the frames of all streams, on the event
 * loop.
 */
final class H2cApp implements AutoCloseable {
    /** Serves the frames of all streams. */
    interface Script {
        /** @param frame released by the caller */
        void onFrame(ChannelHandlerContext stream, Object frame) throws Exception;
    }

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Channel server;
    final List<Channel> connections = new CopyOnWriteArrayList<>();
    final List<Channel> streams = new CopyOnWriteArrayList<>();
    final BlockingQueue<Object> heard = new LinkedBlockingQueue<>();

    H2cApp(Http2Settings settings, Script script) {
        server = new ServerBootstrap()
                .group(loops)
                .channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        connections.add(channel);
                        channel.pipeline()
                                .addLast(Http2FrameCodecBuilder.forServer()
                                        .initialSettings(settings)
                                        .build())
                                .addLast(new Http2MultiplexHandler(new ChannelInitializer<Channel>() {
                                    @Override
                                    protected void initChannel(Channel stream) {
                                        streams.add(stream);
                                        stream.pipeline().addLast(new Stream(script));
                                    }
                                }));
                    }
                })
                .bind(InetAddress.getLoopbackAddress(), 0)
                .syncUninterruptibly()
                .channel();
    }

    WebConfig config() {
        return builder().build();
    }

    WebConfig.Builder builder() {
        return WebConfig.builder(((InetSocketAddress) server.localAddress()).getPort())
                .protocol(WebConfig.AppProtocol.H2C);
    }

    Object takeHeard() throws InterruptedException {
        return heard.poll(20, TimeUnit.SECONDS);
    }

    /** Tells the test about resets and ends. */
    private final class Stream extends ChannelInboundHandlerAdapter {
        private final Script script;

        Stream(Script script) {
            this.script = script;
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object frame) throws Exception {
            try {
                script.onFrame(ctx, frame);
            } finally {
                ReferenceCountUtil.release(frame);
            }
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event instanceof Http2ResetFrame reset) {
                heard.add("reset " + reset.errorCode());
            }
        }
    }

    @Override
    public void close() {
        server.close().syncUninterruptibly();
        connections.forEach(connection -> connection.close().syncUninterruptibly());
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }
}
