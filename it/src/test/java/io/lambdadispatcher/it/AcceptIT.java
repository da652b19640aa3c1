package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.server.config.TransportKind;
import io.lambdadispatcher.server.transport.TransportChoice;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Counts how many connections one turn of the event loop accepts. Netty's epoll accepts one. */
class AcceptIT {
    private static final int CLIENTS = 60;

    @ParameterizedTest
    @EnumSource(
            value = TransportKind.class,
            names = {"AUTO", "NIO"})
    void should_accept_all_that_wait_in_a_few_turns(TransportKind kind) throws Exception {
        Transport transport = TransportChoice.of(kind).transport();
        EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, transport.ioHandler());
        EventLoop loop = group.next();
        List<Integer> acceptedInTurn = new ArrayList<>();
        CountDownLatch all = new CountDownLatch(CLIENTS);
        DispatcherObserver observer = new DispatcherObserver() {
            private int inThisTurn;

            @Override
            public void onClientConnected() {
                if (inThisTurn++ == 0) {
                    loop.execute(() -> {
                        acceptedInTurn.add(inThisTurn);
                        inThisTurn = 0;
                    });
                }
                all.countDown();
            }
        };
        List<Socket> clients = new ArrayList<>();
        try (Rig rig = Rig.start(
                Rig.function().build(),
                observer,
                builder -> builder.transport(transport).eventLoopGroup(group))) {
            CountDownLatch connected = new CountDownLatch(1);
            loop.execute(() -> awaitQuietly(connected));
            for (int i = 0; i < CLIENTS; i++) {
                clients.add(new Socket("127.0.0.1", rig.plainPort()));
            }
            connected.countDown();
            assertThat(all.await(30, TimeUnit.SECONDS)).isTrue();
            loop.submit(() -> {}).get();
            assertThat(acceptedInTurn).hasSizeLessThan(CLIENTS / 4);
        } finally {
            for (Socket client : clients) {
                client.close();
            }
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await(30, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
