package io.lambdadispatcher.server.transport;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.wire.worker.PortKey;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
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
import java.security.PublicKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;

/** Clients with the JDK's TLS and with OpenSSL see the key that follows from the secret. */
class WorkerPortKeyTest {
    private static final EventLoopGroup LOOP = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());

    @AfterAll
    static void stop() {
        LOOP.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    private static SslContext client(SslProvider provider, String version) throws Exception {
        return SslContextBuilder.forClient()
                .sslProvider(provider)
                .protocols(version)
                .trustManager(InsecureTrustManagerFactory.INSTANCE)
                .applicationProtocolConfig(new ApplicationProtocolConfig(
                        ApplicationProtocolConfig.Protocol.ALPN,
                        ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
                        ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
                        "h2"))
                .build();
    }

    private static List<SslContext> clients() throws Exception {
        List<SslContext> all = new ArrayList<>();
        for (SslProvider provider : List.of(SslProvider.JDK, SslProvider.OPENSSL)) {
            for (String version : List.of("TLSv1.3", "TLSv1.2")) {
                all.add(client(provider, version));
            }
        }
        return all;
    }

    private static Dispatcher dispatcher(byte[] secret, byte[]... others) {
        return Dispatcher.builder()
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
                for (SslContext client : clients()) {
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
            for (SslContext client : clients()) {
                assertThat(fingerprint(dispatcher, client, PortKey.serverName(ofOld)))
                        .isEqualTo(ofOld);
                assertThat(fingerprint(dispatcher, client, PortKey.serverName(ofNew)))
                        .isEqualTo(ofNew);
                assertThat(fingerprint(dispatcher, client, "dispatcher.internal"))
                        .isEqualTo(ofNew);
            }
            dispatcher.change().secret(next).apply();
            assertThat(dispatcher.workerFingerprints()).containsExactly(ofNew);
            for (SslContext client : clients()) {
                assertThat(fingerprint(dispatcher, client, PortKey.serverName(ofOld)))
                        .isEqualTo(ofNew);
            }
        }
    }

    private static String fingerprint(Dispatcher dispatcher, SslContext client, String name) throws Exception {
        return PortKey.fingerprint(seen(dispatcher, client, name));
    }
}
