package io.lambdadispatcher.core.internal.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests with real sockets what a client can read after the server has closed. */
@Timeout(60)
class LingeringCloseTest {
    private static final int BYTES = 100_000;

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile Channel accepted;

    /** Answers the first bytes of a client, and closes twice, as after two errors in one read. */
    private final class Server extends ChannelInboundHandlerAdapter {
        private boolean answered;

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ReferenceCountUtil.release(message);
            if (!answered) {
                answered = true;
                ctx.writeAndFlush(Unpooled.wrappedBuffer(new byte[BYTES])).addListener(sent -> {
                    ctx.channel().close();
                    ctx.channel().close();
                    closed.countDown();
                });
            }
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            ctx.close();
        }
    }

    private InetSocketAddress serve(@Nullable SslContext tls) throws Exception {
        return (InetSocketAddress) new ServerBootstrap()
                .group(loops)
                .channel(NioServerSocketChannel.class)
                .childOption(ChannelOption.SO_SNDBUF, 8 * BYTES)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        accepted = channel;
                        if (tls != null) {
                            channel.pipeline().addLast(tls.newHandler(channel.alloc()));
                        }
                        channel.pipeline().addLast(new LingeringClose(), new Server());
                    }
                })
                .bind("127.0.0.1", 0)
                .sync()
                .channel()
                .localAddress();
    }

    /** The kernel of the server keeps most of the response until the client reads it. */
    private static Socket connect(InetSocketAddress to) throws IOException {
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4096);
        socket.setTcpNoDelay(true);
        socket.connect(to);
        return socket;
    }

    @AfterEach
    void stop() throws Exception {
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    /** It sends as a client of HTTP/2 that opens windows, or whose next request is in transit. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_let_a_client_read_everything_that_still_sends(boolean tls) throws Exception {
        X509Bundle certificate = new CertificateBuilder()
                .subject("CN=localhost")
                .ecp256()
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        InetSocketAddress address = serve(
                tls
                        ? SslContextBuilder.forServer(certificate.toKeyManagerFactory())
                                .build()
                        : null);
        try (Socket plain = connect(address);
                Socket socket = tls ? tls(plain) : plain) {
            OutputStream out = socket.getOutputStream();
            out.write(1);
            assertThat(closed.await(30, TimeUnit.SECONDS)).isTrue();
            int read = 0;
            byte[] part = new byte[1000];
            for (int n = socket.getInputStream().read(part);
                    n >= 0;
                    n = socket.getInputStream().read(part)) {
                read += n;
                out.write(new byte[13]);
            }
            assertThat(read).isEqualTo(BYTES);
        }
        Await.until("the server has closed its socket", () -> !accepted.isOpen());
    }

    private static Socket tls(Socket plain) throws Exception {
        SSLContext trusting = SSLContext.getInstance("TLS");
        trusting.init(null, InsecureTrustManagerFactory.INSTANCE.getTrustManagers(), null);
        return trusting.getSocketFactory().createSocket(plain, "localhost", plain.getPort(), false);
    }

    @Test
    void should_not_wait_long_for_a_silent_client() throws Exception {
        try (Socket socket = connect(serve(null))) {
            socket.getOutputStream().write(1);
            assertThat(closed.await(30, TimeUnit.SECONDS)).isTrue();
            assertThat(accepted.isOpen()).as("it waits").isTrue();
            Await.until("it waits no longer", Duration.ofSeconds(20), () -> !accepted.isOpen());
        }
    }

    @Test
    void should_close_a_connection_that_lingers() throws Exception {
        try (Socket socket = connect(serve(null))) {
            socket.getOutputStream().write(1);
            assertThat(closed.await(30, TimeUnit.SECONDS)).isTrue();
            accepted.eventLoop().execute(() -> LingeringClose.end(accepted));
            assertThat(accepted.closeFuture().await(2, TimeUnit.SECONDS)).isTrue();
        }
    }
}
