package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.worker.internal.transport.ClientTransport;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslHandshakeCompletionEvent;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Opens channels for worker connections. Any thread. */
public final class Dialler {
    private static final int CONNECT_TIMEOUT_MILLIS = 5_000;

    /** Limits what the HTTP/2 layer may queue for the socket. */
    private static final WriteBufferWaterMark WATER_MARK = new WriteBufferWaterMark(256 * 1024, 512 * 1024);

    private final ClientTransport transport;
    private final @Nullable ClientTls tls;

    /** @param tls {@code null} for plain text */
    public Dialler(ClientTransport transport, @Nullable ClientTls tls) {
        this.transport = transport;
        this.tls = tls;
    }

    /** Returns event loops whose threads keep the JVM alive. The caller must shut them down. */
    public EventLoopGroup newLoops(int threads) {
        return transport.newLoops(threads, false);
    }

    /** Returns the name of the transport for logs. */
    public String transportName() {
        return transport.name();
    }

    /**
     * @param onFailed called on the event loop; not called after the channel is active, because
     *     then the connection reports its end
     */
    void dial(
            EventLoop loop, InetSocketAddress address, DispatcherConnection connection, Consumer<Throwable> onFailed) {
        resolve(address)
                .whenCompleteAsync(
                        (resolved, failure) -> {
                            if (resolved == null) {
                                onFailed.accept(Objects.requireNonNullElse(failure.getCause(), failure));
                            } else {
                                connect(loop, resolved, connection, onFailed);
                            }
                        },
                        loop);
    }

    /**
     * Resolves on another thread, because the JDK's resolver blocks, and this event loop serves
     * other connections.
     */
    private static CompletableFuture<InetSocketAddress> resolve(InetSocketAddress address) {
        if (!address.isUnresolved()) {
            return CompletableFuture.completedFuture(address);
        }
        String host = address.getHostString();
        byte @Nullable [] literal = NetUtil.createByteArrayFromIpAddressString(host);
        if (literal != null) {
            return CompletableFuture.completedFuture(new InetSocketAddress(of(host, literal), address.getPort()));
        }
        return CompletableFuture.supplyAsync(() -> {
            InetSocketAddress resolved = new InetSocketAddress(host, address.getPort());
            if (resolved.isUnresolved()) {
                throw new IllegalStateException("unknown host " + host);
            }
            return resolved;
        });
    }

    private static InetAddress of(String host, byte[] literal) {
        try {
            return InetAddress.getByAddress(host, literal);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address of " + literal.length + " bytes, expected 4 or 16", e);
        }
    }

    private void connect(
            EventLoop loop, InetSocketAddress address, DispatcherConnection connection, Consumer<Throwable> onFailed) {
        Bootstrap bootstrap = new Bootstrap()
                .group(loop)
                .channel(transport.channelType())
                .option(ChannelOption.TCP_NODELAY, true)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, CONNECT_TIMEOUT_MILLIS)
                .option(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK)
                .handler(new Initializer(address, connection, onFailed));
        bootstrap.connect(address).addListener(connected -> {
            if (!connected.isSuccess()) {
                onLoop(loop, () -> onFailed.accept(connected.cause()));
            }
        });
    }

    /** Without descriptors there is no channel, and its listeners run on a thread of Netty. */
    private static void onLoop(EventLoop loop, Runnable task) {
        if (loop.inEventLoop()) {
            task.run();
        } else {
            loop.execute(task);
        }
    }

    private final class Initializer extends ChannelInitializer<Channel> {
        private final InetSocketAddress address;
        private final DispatcherConnection connection;
        private final Consumer<Throwable> onFailed;

        Initializer(InetSocketAddress address, DispatcherConnection connection, Consumer<Throwable> onFailed) {
            this.address = address;
            this.connection = connection;
            this.onFailed = onFailed;
        }

        @Override
        protected void initChannel(Channel channel) {
            ClientTls clientTls = tls;
            if (clientTls == null) {
                addHttp2(channel.pipeline(), connection);
                return;
            }
            channel.pipeline()
                    .addLast(clientTls.newHandler(channel.alloc(), address))
                    .addLast(new HandshakeWatch(connection, onFailed));
        }
    }

    private static void addHttp2(ChannelPipeline pipeline, DispatcherConnection connection) {
        pipeline.addLast(connection.http2());
    }

    /**
     * Passes the channel to HTTP/2 when TLS has negotiated it. A failure before that is a failed
     * attempt.
     */
    private static final class HandshakeWatch extends ChannelInboundHandlerAdapter {
        private final DispatcherConnection connection;
        private final Consumer<Throwable> onFailed;
        private boolean active;
        private @Nullable Throwable cause;

        HandshakeWatch(DispatcherConnection connection, Consumer<Throwable> onFailed) {
            this.connection = connection;
            this.onFailed = onFailed;
        }

        @Override
        public void channelActive(ChannelHandlerContext ctx) {
            active = true;
            ctx.fireChannelActive();
        }

        @Override
        public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
            if (event instanceof SslHandshakeCompletionEvent handshake) {
                onHandshake(ctx, handshake);
            }
            ctx.fireUserEventTriggered(event);
        }

        private void onHandshake(ChannelHandlerContext ctx, SslHandshakeCompletionEvent handshake) {
            String protocol = ctx.pipeline().get(SslHandler.class).applicationProtocol();
            if (!handshake.isSuccess()) {
                cause = root(handshake.cause());
                ctx.close();
            } else if (!ApplicationProtocolNames.HTTP_2.equals(protocol)) {
                cause = new IllegalStateException("TLS agreed on protocol " + protocol + ", expected h2");
                ctx.close();
            } else {
                addHttp2(ctx.pipeline(), connection);
                ctx.pipeline().remove(this);
            }
        }

        /** OpenSSL wraps the reason why a certificate is rejected in a text that says nothing. */
        private static Throwable root(Throwable thrown) {
            Throwable root = thrown;
            while (root.getCause() != null) {
                root = root.getCause();
            }
            return root;
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable thrown) {
            if (cause == null) {
                cause = root(thrown);
            }
            ctx.close();
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) {
            if (active) {
                onFailed.accept(cause == null ? new IllegalStateException("closed during the TLS handshake") : cause);
            }
        }
    }
}
