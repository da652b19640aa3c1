package io.lambdadispatcher.server.transport;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.worker.PortKey;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslHandler;
import io.netty.handler.ssl.SslProvider;
import io.netty.handler.ssl.util.InsecureTrustManagerFactory;
import java.net.SocketAddress;
import java.security.PublicKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients with the JDK's TLS and with OpenSSL see the key that follows from the secret. */
@EachRelease
class WorkerPortKeyTest {
    private static final EventLoopGroup LOOP = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());

    @AfterAll
    static void stop() {
        LOOP.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    private static SslContext client(SslProvider provider, String version, boolean trusts) throws Exception {
        return SslContextBuilder.forClient()
                .sslProvider(provider)
                .protocols(version)
                .trustManager(trusts ? InsecureTrustManagerFactory.INSTANCE : null)
                .applicationProtocolConfig(new ApplicationProtocolConfig(
                        ApplicationProtocolConfig.Protocol.ALPN,
                        ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
                        ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
                        "h2"))
                .build();
    }

    /** @param trust whether they accept any key, or none */
    private static List<SslContext> clients(boolean trust) throws Exception {
        List<SslContext> all = new ArrayList<>();
        for (SslProvider provider : List.of(SslProvider.JDK, SslProvider.OPENSSL)) {
            for (String version : List.of("TLSv1.3", "TLSv1.2")) {
                all.add(client(provider, version, trust));
            }
        }
        return all;
    }

    /** Why the worker port has rejected peers. */
    private final Queue<String> rejections = new ConcurrentLinkedQueue<>();

    private Dispatcher dispatcher(byte[] secret, byte[]... others) {
        return Dispatcher.builder()
                .observer(new DispatcherObserver() {
                    @Override
                    public void onWorkerRejected(SocketAddress remote, String reason) {
                        rejections.add(reason);
                    }
                })
                .function(FunctionOptions.of("f"))
                .workerListener(ListenerOptions.workers("127.0.0.1", 0))
                .secret(secret, others)
                .eventLoops(1)
                .start();
    }

    private static PublicKey seen(Dispatcher dispatcher, SslContext client, String name) throws Exception {
        Channel channel = new Bootstrap()
                .group(LOOP)
                .channel(NioSocketChannel.class)
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(client.newHandler(channel.alloc(), name, 1));
                    }
                })
                .connect(dispatcher.workerAddress())
                .sync()
                .channel();
        SslHandler tls = channel.pipeline().get(SslHandler.class);
        tls.handshakeFuture().sync();
        assertThat(tls.applicationProtocol()).isEqualTo("h2");
        PublicKey key = tls.engine().getSession().getPeerCertificates()[0].getPublicKey();
        channel.close().sync();
        return key;
    }

    @Test
    void should_show_the_key_that_follows_from_a_secret() throws Exception {
        Random random = new Random(1);
        for (int i = 0; i < 10; i++) {
            byte[] secret = new byte[16 + random.nextInt(50)];
            random.nextBytes(secret);
            PublicKey expected = PortKey.of(secret).getPublic();
            try (Dispatcher dispatcher = dispatcher(secret)) {
                assertThat(dispatcher.workerFingerprints()).containsExactly(PortKey.fingerprint(expected));
                for (SslContext client : clients(true)) {
                    assertThat(seen(dispatcher, client, "any.name")).isEqualTo(expected);
                }
            }
        }
    }

    @Test
    void should_show_the_key_that_a_worker_asks_for_while_the_secret_is_replaced() throws Exception {
        byte[] old = "the old secret".repeat(2).getBytes();
        byte[] next = "the new secret".repeat(2).getBytes();
        String ofOld = PortKey.fingerprint(PortKey.of(old).getPublic());
        String ofNew = PortKey.fingerprint(PortKey.of(next).getPublic());
        try (Dispatcher dispatcher = dispatcher(next, old)) {
            assertThat(dispatcher.workerFingerprints()).containsExactly(ofNew, ofOld);
            for (SslContext client : clients(true)) {
                assertThat(fingerprint(dispatcher, client, PortKey.serverName(ofOld)))
                        .isEqualTo(ofOld);
                assertThat(fingerprint(dispatcher, client, PortKey.serverName(ofNew)))
                        .isEqualTo(ofNew);
                assertThat(fingerprint(dispatcher, client, "dispatcher.internal"))
                        .isEqualTo(ofNew);
            }
            dispatcher.change().secret(next).apply();
            assertThat(dispatcher.workerFingerprints()).containsExactly(ofNew);
            for (SslContext client : clients(true)) {
                assertThat(fingerprint(dispatcher, client, PortKey.serverName(ofOld)))
                        .isEqualTo(ofNew);
            }
        }
    }

    private static String fingerprint(Dispatcher dispatcher, SslContext client, String name) throws Exception {
        return PortKey.fingerprint(seen(dispatcher, client, name));
    }

    /**
     * Clients that reject the key, say something else, or leave at any point of the handshake.
     * {@code LeakCheck} fails the class if the settings that wait for the end of the handshake are
     * lost.
     */
    @ParameterizedTest
    @ValueSource(ints = {1, 2})
    void should_survive_connections_that_end_before_the_handshake_does(int secrets) throws Exception {
        Random random = new Random(secrets);
        byte[] secret = "the secret".repeat(2).getBytes();
        byte[][] others = secrets == 1
                ? new byte[0][]
                : new byte[][] {"the other secret".repeat(2).getBytes()};
        try (Dispatcher dispatcher = dispatcher(secret, others)) {
            List<SslContext> clients = clients(true);
            List<SslContext> rejecting = clients(false);
            for (int i = 0; i < 300; i++) {
                boolean rejects = random.nextInt(3) == 0;
                int most = random.nextInt(700);
                byte[] noise = new byte[random.nextInt(4) == 0 ? 200 : 0];
                random.nextBytes(noise);
                SslHandler tls = (rejects ? rejecting : clients)
                        .get(random.nextInt(clients.size()))
                        .newHandler(ByteBufAllocator.DEFAULT, "any.name", 1);
                Channel channel = new Bootstrap()
                        .group(LOOP)
                        .channel(NioSocketChannel.class)
                        .handler(new ChannelInitializer<Channel>() {
                            @Override
                            protected void initChannel(Channel channel) {
                                channel.pipeline().addLast(new Cut(rejects ? Integer.MAX_VALUE : most, noise), tls);
                            }
                        })
                        .connect(dispatcher.workerAddress())
                        .sync()
                        .channel();
                tls.handshakeFuture().addListener(done -> channel.close());
                assertThat(channel.closeFuture().await(20, TimeUnit.SECONDS)).isTrue();
            }
            assertThat(seen(dispatcher, clients.get(0), "any.name"))
                    .isEqualTo(PortKey.of(secret).getPublic());
            // An operator sees why no worker connects.
            assertThat(rejections)
                    .anyMatch(reason -> reason.startsWith("it does not use TLS, but this port does"))
                    .anyMatch(reason -> reason.matches("TLS has failed: .*(?i:certificate_unknown).*"));
        }
    }

    /**
     * Closes the connection when this number of bytes was sent. If there is noise, it is sent
     * instead of everything.
     */
    private static final class Cut extends ChannelOutboundHandlerAdapter {
        private final byte[] noise;
        private int left;

        Cut(int most, byte[] noise) {
            this.noise = noise;
            left = most;
        }

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            ByteBuf bytes = (ByteBuf) message;
            if (noise.length > 0) {
                bytes.release();
                bytes = Unpooled.copiedBuffer(noise);
            }
            if (bytes.readableBytes() < left) {
                left -= bytes.readableBytes();
                ctx.write(bytes, promise);
            } else {
                ctx.writeAndFlush(bytes.readRetainedSlice(left), promise).addListener(ChannelFutureListener.CLOSE);
                bytes.release();
                left = 0;
            }
        }
    }
}
