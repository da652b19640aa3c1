package io.lambdadispatcher.bench.loopback;

import io.lambdadispatcher.core.options.Transport;
import io.netty.channel.Channel;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.channel.uring.IoUringServerSocketChannel;
import io.netty.channel.uring.IoUringSocketChannel;
import java.util.Arrays;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Netty's transports that can be measured. */
public enum Sockets {
    EPOLL(Epoll.unavailabilityCause(), EpollServerSocketChannel.class, EpollSocketChannel.class) {
        @Override
        IoHandlerFactory ioHandlers() {
            return EpollIoHandler.newFactory();
        }
    },

    IO_URING(IoUring.unavailabilityCause(), IoUringServerSocketChannel.class, IoUringSocketChannel.class) {
        @Override
        IoHandlerFactory ioHandlers() {
            return IoUringIoHandler.newFactory();
        }
    },

    NIO(null, NioServerSocketChannel.class, NioSocketChannel.class) {
        @Override
        IoHandlerFactory ioHandlers() {
            return NioIoHandler.newFactory();
        }
    };

    /** The name of the benchmark parameters that have this type. */
    public static final String PARAMETER = "sockets";

    private final @Nullable Throwable unavailable;
    private final Class<? extends ServerChannel> serverChannel;
    final Class<? extends Channel> channel;

    Sockets(
            @Nullable Throwable unavailable,
            Class<? extends ServerChannel> serverChannel,
            Class<? extends Channel> channel) {
        this.unavailable = unavailable;
        this.serverChannel = serverChannel;
        this.channel = channel;
    }

    abstract IoHandlerFactory ioHandlers();

    Transport transport() {
        return new Transport(name(), ioHandlers(), serverChannel);
    }

    /**
     * Returns the transports that load here. @param skipped receives each other one and the reason
     */
    public static String[] usable(Consumer<String> skipped) {
        return Arrays.stream(values())
                .filter(sockets -> sockets.isUsable(skipped))
                .map(Sockets::name)
                .toArray(String[]::new);
    }

    private boolean isUsable(Consumer<String> skipped) {
        if (unavailable != null) {
            skipped.accept("skipped, for it does not load here: " + this + ": " + innermost(unavailable));
        }
        return unavailable == null;
    }

    private static Throwable innermost(Throwable problem) {
        return problem.getCause() == null || problem.getCause() == problem ? problem : innermost(problem.getCause());
    }
}
