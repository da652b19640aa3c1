package io.lambdadispatcher.core.options;

import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;

/**
 * How sockets are served. The core itself knows NIO only; an embedder passes Netty's epoll or io_uring.
 *
 * @param name for logs
 */
public record Transport(String name, IoHandlerFactory ioHandler, Class<? extends ServerChannel> serverChannel) {
    public static Transport nio() {
        return new Transport("nio", NioIoHandler.newFactory(), NioServerSocketChannel.class);
    }
}
