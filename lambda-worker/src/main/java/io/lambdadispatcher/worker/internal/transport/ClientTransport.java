package io.lambdadispatcher.worker.internal.transport;

import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;

/**
 * The transport: epoll if its classes are on the class path and its library loads, otherwise NIO.
 * Any thread.
 */
public record ClientTransport(
        String name,
        IoHandlerFactory ioHandlers,
        Class<? extends Channel> channelType,
        Class<? extends ServerChannel> serverType) {

    public static ClientTransport best() {
        try {
            return EpollOnly.isAvailable() ? EpollOnly.transport() : nio();
        } catch (LinkageError e) {
            // The classes are an optional dependency.
            return nio();
        }
    }

    /**
     * Returns the transport of these event loops.
     *
     * @throws IllegalArgumentException if they are not for epoll or NIO
     */
    public static ClientTransport of(IoEventLoopGroup loops) {
        if (loops.isIoType(NioIoHandler.class)) {
            return nio();
        }
        ClientTransport best = best();
        if (best.channelType() == NioSocketChannel.class || !EpollOnly.isFor(loops)) {
            throw new IllegalArgumentException("event loops " + loops + ", expected event loops for epoll or NIO");
        }
        return best;
    }

    /** Returns the transport of an event loop: NIO if it is for NIO, otherwise the best one. */
    public static ClientTransport of(EventLoop loop) {
        return isNio(loop) ? nio() : best();
    }

    public static boolean isNio(EventLoop loop) {
        return loop instanceof IoEventLoopGroup of && of.isIoType(NioIoHandler.class);
    }

    /** Returns event loops that the caller must shut down. */
    public EventLoopGroup newLoops(int threads, boolean daemon) {
        return new MultiThreadIoEventLoopGroup(threads, new DefaultThreadFactory("lambda-worker", daemon), ioHandlers);
    }

    private static ClientTransport nio() {
        return new ClientTransport(
                "nio", NioIoHandler.newFactory(), NioSocketChannel.class, NioServerSocketChannel.class);
    }

    /** In a separate class, so that this file loads without epoll's classes. */
    private static final class EpollOnly {
        static boolean isAvailable() {
            return Epoll.isAvailable();
        }

        static boolean isFor(IoEventLoopGroup loops) {
            return loops.isIoType(EpollIoHandler.class);
        }

        static ClientTransport transport() {
            return new ClientTransport(
                    "epoll", EpollIoHandler.newFactory(), EpollSocketChannel.class, EpollServerSocketChannel.class);
        }
    }
}
