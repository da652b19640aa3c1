package io.lambdadispatcher.server.transport;

import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.server.config.TransportKind;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.uring.IoUring;
import io.netty.channel.uring.IoUringIoHandler;
import io.netty.channel.uring.IoUringServerSocketChannel;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the Netty transport for the sockets of this machine.
 *
 * @param reason of the choice, for the log
 */
public record TransportChoice(Transport transport, String reason) {

    /**
     * Returns the transport for a setting. {@code auto} prefers epoll: containers often forbid
     * io_uring, and io_uring was no faster for a proxy when we compared bare servers.
     *
     * @throws IllegalArgumentException if a named transport does not load, with the cause in its
     *     message
     */
    public static TransportChoice of(TransportKind kind) {
        return switch (kind) {
            case AUTO -> auto();
            case EPOLL -> named(epoll(), Epoll.unavailabilityCause());
            case IO_URING -> named(ioUring(), IoUring.unavailabilityCause());
            case NIO -> new TransportChoice(Transport.nio(), "as set");
        };
    }

    private static TransportChoice auto() {
        Throwable cause = Epoll.unavailabilityCause();
        return cause == null
                ? new TransportChoice(epoll(), "auto: it loads")
                : new TransportChoice(Transport.nio(), "auto: epoll does not load: " + inOneLine(cause));
    }

    private static TransportChoice named(Transport transport, @Nullable Throwable unavailable) {
        if (unavailable != null) {
            throw new IllegalArgumentException("transport: expected auto, or a transport that loads, got \""
                    + transport.name() + "\": " + inOneLine(unavailable));
        }
        return new TransportChoice(transport, "as set");
    }

    /** Describes the innermost cause, which says what the system refused. */
    private static String inOneLine(Throwable problem) {
        Throwable cause = problem;
        while (cause.getCause() != null && cause.getCause() != cause) {
            cause = cause.getCause();
        }
        return String.valueOf(cause).lines().findFirst().orElse("");
    }

    private static Transport epoll() {
        return new Transport("epoll", EpollIoHandler.newFactory(), EpollServerSocketChannel.class);
    }

    private static Transport ioUring() {
        return new Transport("io_uring", IoUringIoHandler.newFactory(), IoUringServerSocketChannel.class);
    }
}
