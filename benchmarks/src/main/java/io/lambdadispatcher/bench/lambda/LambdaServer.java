package io.lambdadispatcher.bench.lambda;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpServerKeepAliveHandler;
import java.net.InetSocketAddress;
import java.util.Collection;
import java.util.function.Function;
import java.util.stream.Collectors;

/** Serves the Invoke API on a port of 127.0.0.1. Closing the listener ends its event loop. */
final class LambdaServer {
    /**
     * Larger than any valid payload, so that a payload above Lambda's limit gets Lambda's answer.
     */
    private static final int LARGEST_REQUEST_BYTES = 2 * InvokeResult.LARGEST_PAYLOAD_BYTES;

    private LambdaServer() {}

    static Channel start(int port, Collection<LambdaFunction> functions) throws InterruptedException {
        InvokeApi api =
                new InvokeApi(functions.stream().collect(Collectors.toMap(LambdaFunction::name, Function.identity())));
        boolean epoll = Epoll.isAvailable();
        EventLoopGroup loop =
                new MultiThreadIoEventLoopGroup(1, epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory());
        Channel listener = new ServerBootstrap()
                .group(loop)
                .channel(epoll ? EpollServerSocketChannel.class : NioServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, 1024)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline()
                                .addLast(new HttpServerCodec(), new HttpServerKeepAliveHandler())
                                .addLast(new HttpObjectAggregator(LARGEST_REQUEST_BYTES), api);
                    }
                })
                .bind(new InetSocketAddress("127.0.0.1", port))
                .sync()
                .channel();
        listener.closeFuture().addListener(closed -> loop.shutdownGracefully());
        return listener;
    }
}
