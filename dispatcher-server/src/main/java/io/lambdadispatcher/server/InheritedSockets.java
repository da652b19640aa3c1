package io.lambdadispatcher.server;

import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.server.transport.TransportChoice;
import io.netty.channel.ChannelException;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.ServerSocketChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listening sockets that systemd has opened and passes on ({@code sd_listen_fds(3)}). They outlive
 * the process: while it restarts, clients wait in their queue, and none is refused. A socket serves
 * the public port or the worker port with the same number. Main thread only.
 */
final class InheritedSockets {
    private static final Logger log = LoggerFactory.getLogger(InheritedSockets.class);

    /** The first file descriptor that systemd passes on. */
    private static final int FIRST = 3;

    /** O_NONBLOCK on Linux, in octal digits as in /proc. */
    private static final int NON_BLOCKING = 04000;

    /** By port; without those that a listener has. */
    private final Map<Integer, ServerSocketChannel> free = new TreeMap<>();

    private InheritedSockets() {}

    static InheritedSockets none() {
        return new InheritedSockets();
    }

    /**
     * Returns the sockets of the environment variables {@code LISTEN_FDS} and {@code LISTEN_PID}.
     * Those of another process are ignored.
     *
     * @throws StartException if the dispatcher cannot use one of them
     */
    static InheritedSockets of(Map<String, String> environment, TransportChoice transport) throws StartException {
        InheritedSockets sockets = new InheritedSockets();
        String count = environment.get("LISTEN_FDS");
        String pid = Long.toString(ProcessHandle.current().pid());
        if (count == null || !pid.equals(environment.get("LISTEN_PID"))) {
            return sockets;
        }
        if (!count.matches("\\d{1,3}")) {
            throw new StartException("LISTEN_FDS: expected a number of sockets, got \"" + count + '"');
        }
        String name = transport.transport().name();
        if (!Epoll.isAvailable() || !name.equals("epoll")) {
            throw new StartException("LISTEN_FDS: sockets of systemd need the transport epoll, got \"" + name + "\" ("
                    + transport.reason() + "). Set transport to epoll, or stop the .socket unit.");
        }
        for (int descriptor = FIRST; descriptor < FIRST + Integer.parseInt(count); descriptor++) {
            sockets.add(descriptor);
        }
        return sockets;
    }

    private void add(int descriptor) throws StartException {
        ServerSocketChannel socket = channel(descriptor);
        InetSocketAddress address = socket.localAddress();
        if (!isNonBlocking(descriptor)) {
            throw new StartException("LISTEN_FDS: the socket on port " + address.getPort()
                    + " blocks, expected NonBlocking=yes in the .service unit.");
        }
        if (free.putIfAbsent(address.getPort(), socket) != null) {
            throw new StartException("LISTEN_FDS: expected one socket for each port, got two for port "
                    + address.getPort() + ". Write the port without an address in ListenStream.");
        }
    }

    private static ServerSocketChannel channel(int descriptor) throws StartException {
        Exception cause = null;
        try {
            EpollServerSocketChannel socket = new EpollServerSocketChannel(descriptor);
            if (socket.localAddress() != null) {
                return socket;
            }
        } catch (ChannelException e) {
            cause = e;
        }
        throw new StartException(
                "LISTEN_FDS: expected TCP sockets, but descriptor " + descriptor
                        + " is none. Correct ListenStream in the .socket unit.",
                cause);
    }

    /** Netty does not change a socket that it did not open, and a blocking one stops its thread. */
    private static boolean isNonBlocking(int descriptor) throws StartException {
        try {
            for (String line : Files.readAllLines(Path.of("/proc/self/fdinfo/" + descriptor))) {
                if (line.startsWith("flags:")) {
                    return (Integer.parseInt(line.substring("flags:".length()).strip(), 8) & NON_BLOCKING) != 0;
                }
            }
        } catch (IOException e) {
            throw new StartException("LISTEN_FDS: descriptor " + descriptor + ": " + e.getMessage(), e);
        }
        return false;
    }

    /** Returns these options with the socket that listens on their port, if there is one. */
    ListenerOptions attach(ListenerOptions options) {
        ServerSocketChannel socket = free.remove(options.address().getPort());
        if (socket == null) {
            return options;
        }
        log.info("Using the socket of systemd on {}", socket.localAddress());
        return options.withSocket(socket);
    }

    /** @throws StartException if there is a socket that no listener has */
    void requireAllUsed() throws StartException {
        if (!free.isEmpty()) {
            throw new StartException("LISTEN_FDS: a socket of systemd listens on port "
                    + free.keySet().iterator().next()
                    + ", expected the port of public.plain.port, public.tls.port or workers.port. Change ListenStream in"
                    + " the .socket unit, or the setting.");
        }
    }
}
