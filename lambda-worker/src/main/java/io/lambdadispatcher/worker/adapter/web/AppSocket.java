package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.internal.transport.ClientTransport;
import io.netty.channel.Channel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.epoll.EpollTcpInfo;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * A socket that can be asked whether its peer has closed it, without waiting for the event loop to
 * hear of it: the close may have come in the same moment as the request that is to go out. Event
 * loop only.
 */
interface AppSocket {
    Channel channel();

    /** Nothing has come, no end and no bytes. Only for one that is idle. */
    boolean isQuiet();

    static AppSocket create() {
        return Choice.EPOLL ? Epoll.create() : Nio.create();
    }

    /** Made once: it takes an exception to find out that there is no epoll. */
    final class Choice {
        static final boolean EPOLL = ClientTransport.best().name().equals("epoll");

        private Choice() {}
    }

    /** Linux says in which state of TCP a socket is. */
    record Epoll(EpollSocketChannel channel, EpollTcpInfo info) implements AppSocket {
        /** TCP_ESTABLISHED of the kernel's tcp_states.h: neither side has ended it. */
        private static final int ESTABLISHED = 1;

        static Epoll create() {
            return new Epoll(new EpollSocketChannel(), new EpollTcpInfo());
        }

        @Override
        public boolean isQuiet() {
            try {
                channel.tcpInfo(info);
                return info.state() == ESTABLISHED;
            } catch (RuntimeException e) {
                return false;
            }
        }
    }

    /** Whatever could be read there would be the end, or out of place. */
    record Nio(NioSocketChannel channel, SocketChannel socket, ByteBuffer value) implements AppSocket {
        static Nio create() {
            try {
                SocketChannel socket = SocketChannel.open();
                return new Nio(new NioSocketChannel(socket), socket, ByteBuffer.allocate(1));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public boolean isQuiet() {
            try {
                return socket.read(value.clear()) == 0;
            } catch (IOException e) {
                return false;
            }
        }
    }
}
