package io.lambdadispatcher.server.admin;

import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.tls.PemFile;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * The admin port. It serves HTTP/1.1 on a separate event loop, so that it answers even if all other
 * event loops are stuck.
 *
 * <p>Work that may block, or takes longer than a millisecond, runs on threads of {@link
 * AdminPages}.
 */
public final class AdminServer implements AutoCloseable {
    private static final int CLOSE_SECONDS = 5;

    private final EventLoopGroup loop =
            new MultiThreadIoEventLoopGroup(1, new DefaultThreadFactory("admin", true), NioIoHandler.newFactory());
    private final AdminPages pages;
    private final AdminConnections connections;
    private final Channel port;

    /**
     * Opens the port.
     *
     * @param pages closed with this server, also if the port cannot be bound
     * @param tls certificate and key of the port; {@code null} = it has no TLS
     * @param protections counts refused requests and closed connections; called on this server's
     *     event loop
     * @throws IOException if the port cannot be bound
     */
    public AdminServer(
            InetSocketAddress address,
            AdminPages pages,
            AdminAccess access,
            TlsOptions.@Nullable Contents tls,
            Consumer<Protection> protections)
            throws IOException {
        this.pages = pages;
        this.connections = new AdminConnections(pages, access, context(tls), protections);
        ChannelFuture bound = new ServerBootstrap()
                .group(loop)
                .channel(NioServerSocketChannel.class)
                .childHandler(connections)
                .bind(address)
                .awaitUninterruptibly();
        port = bound.channel();
        if (!bound.isSuccess()) {
            close();
            throw new IOException(
                    address.isUnresolved() ? "unknown host" : bound.cause().getMessage(), bound.cause());
        }
    }

    /** @param changes is told of each command that is accepted, and who has sent it; any thread */
    public void observeChanges(Consumer<String> changes) {
        connections.setChanges(changes);
    }

    /** Replaces what decides which requests are accepted. */
    public void setAccess(AdminAccess access) {
        connections.setAccess(access);
    }

    /** Replaces the certificate and its key; {@code null} = no TLS. See {@link #context}. */
    public void setTls(@Nullable SslContext tls) {
        connections.setTls(tls);
    }

    /**
     * Returns what TLS needs of a certificate and its key; {@code null} = no TLS.
     *
     * @throws IllegalArgumentException if TLS cannot use them
     */
    public static @Nullable SslContext context(TlsOptions.@Nullable Contents tls) {
        if (tls == null) {
            return null;
        }
        try {
            return SslContextBuilder.forServer(tls.privateKey(), tls.chain())
                    .keyStoreType(PemFile.keyStoreType())
                    .protocols("TLSv1.3", "TLSv1.2")
                    .build();
        } catch (SSLException e) {
            throw new IllegalArgumentException("admin.tls.certificate: " + PrintableText.ofFailure(e), e);
        }
    }

    public InetSocketAddress address() {
        return (InetSocketAddress) port.localAddress();
    }

    @Override
    public void close() {
        if (loop.isShuttingDown()) {
            return;
        }
        port.close().awaitUninterruptibly();
        // Before the event loop ends. Otherwise, requests that wait there would never be released.
        loop.submit(connections::closeAll).awaitUninterruptibly();
        pages.close();
        // The JDK keeps the port open until this is done, because its socket is registered with the
        // event loop's selector.
        loop.shutdownGracefully(0, 0, TimeUnit.SECONDS).awaitUninterruptibly(CLOSE_SECONDS, TimeUnit.SECONDS);
    }
}
