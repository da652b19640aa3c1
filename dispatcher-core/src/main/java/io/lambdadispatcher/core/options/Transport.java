package io.lambdadispatcher.core.options;

import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;

/**
 * Netty's implementation of sockets and event loops. The dispatcher itself depends on NIO only. For
 * epoll or io_uring, add Netty's library and pass its classes.
 *
 * <pre>{@code
 * Transport epoll =
 *         new Transport("epoll", EpollIoHandler.newFactory(), EpollServerSocketChannel.class);
 * }</pre>
 *
 * @param name for logs
 * @param ioHandler creates the I/O of each event loop
 * @param serverChannel the class of listening sockets, which must suit {@code ioHandler}
 */
public record Transport(String name, IoHandlerFactory ioHandler, Class<? extends ServerChannel> serverChannel) {
    /** Returns Java's NIO, which runs on every platform. This is the default. */
    public static Transport nio() {
        return new Transport("nio", NioIoHandler.newFactory(), NioServerSocketChannel.class);
    }
}
