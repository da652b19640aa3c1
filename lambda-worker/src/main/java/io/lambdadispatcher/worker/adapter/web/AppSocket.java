package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.internal.transport.ClientTransport;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.epoll.EpollTcpInfo;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * A socket that can tell whether its peer has closed it, before the event loop is notified. The
 * close may arrive at the moment when the next request is sent. Confined to an event loop.
 */
interface AppSocket {
    Channel channel();

    /**
     * Returns whether an idle connection has received neither bytes nor a close. Call it only if
     * the connection is idle.
     */
    boolean isQuiet();

    /** @param loop the event loop that gets the socket; a program's own can be for NIO */
    static AppSocket create(EventLoop loop) {
        return ClientTransport.isNio(loop) || !Choice.EPOLL ? Nio.create() : Epoll.create();
    }

    /** Looked up once, because an exception is thrown and caught if there is no epoll. */
    final class Choice {
        static final boolean EPOLL = ClientTransport.best().name().equals("epoll");

        private Choice() {}
    }

    /** Asks Linux for the TCP state of the socket. */
    record Epoll(EpollSocketChannel channel, EpollTcpInfo info) implements AppSocket {
        /** TCP_ESTABLISHED of the kernel's tcp_states.h: neither side has closed the connection. */
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

    /**
     * Reads from the socket. On an idle connection, any result except "no bytes yet" means that it
     * must not be used.
     */
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
