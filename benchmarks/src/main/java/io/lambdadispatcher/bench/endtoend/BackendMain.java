package io.lambdadispatcher.bench.endtoend;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.net.InetSocketAddress;

/**
 * The backend of a macro run. It answers {@code /ping} with four bytes, {@code
 * /public/silly-test-image.jpg} with 168,161 bytes, and {@code /echo} with the request's body while
 * it arrives. It serves HTTP/2 (by prior knowledge) and HTTP/1.1 on the same port of 127.0.0.1.
 *
 * <p>The only argument is the port. Runs until it is killed. Exit code 2 means a wrong argument.
 */
public final class BackendMain {
    private BackendMain() {}

    public static void main(String[] args) throws InterruptedException {
        if (args.length != 1 || !args[0].matches("\\d{1,5}") || Integer.parseInt(args[0]) > 65535) {
            System.err.println("expected one argument, a port from 0 to 65535, got: " + String.join(" ", args));
            System.exit(2);
        }
        Channel listener = start(Integer.parseInt(args[0]));
        System.out.println("listening on " + listener.localAddress());
        listener.closeFuture().sync();
    }

    /** @return the bound listener; closing it also ends its event loop */
    public static Channel start(int port) throws InterruptedException {
        boolean epoll = Epoll.isAvailable();
        IoHandlerFactory io = epoll ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
        Class<? extends ServerChannel> type = epoll ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
        EventLoopGroup loop = new MultiThreadIoEventLoopGroup(1, io);
        Channel listener = new ServerBootstrap()
                .group(loop)
                .channel(type)
                .option(ChannelOption.SO_BACKLOG, 1024)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new ProtocolByPreface());
                    }
                })
                .bind(new InetSocketAddress("127.0.0.1", port))
                .sync()
                .channel();
        listener.closeFuture().addListener(closed -> loop.shutdownGracefully());
        return listener;
    }
}
