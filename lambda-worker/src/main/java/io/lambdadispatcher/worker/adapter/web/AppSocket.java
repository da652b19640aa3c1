package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.worker.internal.transport.ClientTransport;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.channel.unix.Socket;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/**
 * A socket that can tell whether its peer has closed it or sent bytes, before the event loop is
 * notified. Both may arrive at the moment when the next request is sent. Confined to an event loop.
 */
interface AppSocket {
    Channel channel();

    /**
     * Returns whether an idle connection has received neither bytes nor a close. It takes a byte if
     * there is one, so the connection must not be used if this is false.
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

    /** Reads from the socket, which the event loop only does when it is notified. */
    record Epoll(EpollSocketChannel channel, ByteBuffer value) implements AppSocket {
        static Epoll create() {
            return new Epoll(new EpollSocketChannel(), ByteBuffer.allocateDirect(1));
        }

        @Override
        public boolean isQuiet() {
            try {
                return channel.fd() instanceof Socket socket && socket.recv(value, 0, 1) == 0;
            } catch (IOException e) {
                return false;
            }
        }
    }

    /** Reads from the socket, as {@link Epoll} does. */
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
