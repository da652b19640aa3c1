package io.lambdadispatcher.core.internal.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Protection;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.ImmediateEventExecutor;
import io.netty.util.concurrent.Promise;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HandshakeTurnsTest {
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);
    private static final long BURST_NANOS = HandshakeTurns.TOLERANCE_NANOS / HandshakeTurns.PARTS;

    /** Has the event loop and its clock. */
    private final EmbeddedChannel home = new EmbeddedChannel();

    private int delays;
    private final HandshakeTurns turns = new HandshakeTurns(home.eventLoop(), new DispatcherObserver() {
        @Override
        public void onProtection(Protection protection) {
            delays += protection == Protection.HANDSHAKE_DELAYED ? 1 : 0;
        }
    });
    private final List<Client> clients = new ArrayList<>();

    /** Bytes that were processed, in their order. */
    private final List<Processed> processed = new ArrayList<>();

    private record Processed(Client client, long beginNanos, long endNanos) {}

    /** A client whose bytes each take the same time. */
    private final class Client extends ChannelInboundHandlerAdapter {
        final String address;
        final Promise<Void> handshake = ImmediateEventExecutor.INSTANCE.newPromise();
        final EmbeddedChannel channel;
        long costNanos = MILLI;
        int sent;
        int received;

        Client(String address) {
            this.address = address;
            channel = new EmbeddedChannel(turns.gate(handshake, new InetSocketAddress(address, 1)), this);
            clients.add(this);
        }

        void send() {
            channel.writeInbound(Unpooled.copyInt(sent++));
        }

        @Override
        public void channelRead(ChannelHandlerContext ctx, Object message) {
            ByteBuf bytes = (ByteBuf) message;
            long begin = now();
            while (bytes.isReadable()) {
                assertThat(bytes.readInt()).isEqualTo(received++);
            }
            bytes.release();
            home.advanceTimeBy(costNanos, TimeUnit.NANOSECONDS);
            processed.add(new Processed(this, begin, now()));
        }
    }

    @BeforeEach
    void stopTheClock() {
        home.freezeTime();
    }

    @AfterEach
    void close() {
        clients.forEach(client -> client.channel.finishAndReleaseAll());
        home.finishAndReleaseAll();
    }

    private long now() {
        return home.eventLoop().ticker().nanoTime();
    }

    private void run() {
        home.runPendingTasks();
        home.runScheduledPendingTasks();
    }

    private void pass(long nanos) {
        for (long end = now() + nanos; now() < end; ) {
            home.advanceTimeBy(MILLI / 10, TimeUnit.NANOSECONDS);
            run();
        }
    }

    @Test
    void should_delay_no_handshake_while_there_are_few() {
        for (int i = 0; i < 20; i++) {
            Client client = new Client("192.0.2.1");
            client.send();
            client.send();
            assertThat(client.received).isEqualTo(2);
            client.handshake.setSuccess(null);
            pass(8 * MILLI);
        }
        assertThat(delays).isZero();
    }

    @Test
    void should_not_touch_what_follows_a_handshake() {
        Client attacker = new Client("192.0.2.1");
        Client client = new Client("192.0.2.2");
        client.handshake.setSuccess(null);
        for (int i = 0; i < 20; i++) {
            attacker.send();
        }
        assertThat(attacker.received).isLessThan(20);
        client.send();
        assertThat(client.received).isEqualTo(1);
    }

    @Test
    void should_read_no_more_while_bytes_wait() {
        Client client = new Client("192.0.2.1");
        while (client.received == client.sent) {
            client.send();
        }
        assertThat(client.channel.config().isAutoRead()).isFalse();
        client.send();
        pass(10 * MILLI);
        assertThat(client.received).isEqualTo(client.sent);
        assertThat(client.channel.config().isAutoRead()).isTrue();
    }

    /** For example, the process was stopped during a handshake. */
    @Test
    void should_not_pause_for_long_after_a_handshake_that_took_long() {
        Client slow = new Client("192.0.2.1");
        slow.costNanos = TimeUnit.MINUTES.toNanos(1);
        slow.send();
        Client other = new Client("192.0.2.2");
        other.send();
        assertThat(other.received).isZero();
        pass(HandshakeTurns.MAX_PAUSE_NANOS);
        assertThat(other.received).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void should_limit_the_time_and_let_addresses_take_turns(long seed) {
        Random random = new Random(seed);
        int addresses = 1 + random.nextInt(5);
        long dearest = MILLI * (1 + random.nextInt(3));
        for (int step = 0; step < 2000; step++) {
            switch (random.nextInt(8)) {
                case 0 -> {
                    if (clients.size() < 200) {
                        Client client = new Client("192.0.2." + (1 + random.nextInt(addresses)));
                        client.costNanos = 1 + random.nextLong(dearest);
                    }
                }
                case 1 -> {
                    if (!clients.isEmpty()) {
                        Client ended = clients.remove(random.nextInt(clients.size()));
                        if (random.nextBoolean()) {
                            ended.handshake.setFailure(new IllegalStateException("too late"));
                        }
                        ended.channel.finishAndReleaseAll();
                    }
                }
                case 2 -> pass(random.nextLong(2 * MILLI));
                default -> {
                    if (!clients.isEmpty()) {
                        clients.get(random.nextInt(clients.size())).send();
                    }
                }
            }
            run();
        }
        pass(TimeUnit.SECONDS.toNanos(3));
        assertThat(clients).allMatch(client -> client.received == client.sent);
        assertThat(delays).isPositive();
        for (int from = 0; from < processed.size(); from++) {
            long taken = 0;
            for (int to = from; to < processed.size(); to++) {
                Processed last = processed.get(to);
                taken += last.endNanos - last.beginNanos;
                long elapsed = last.endNanos - processed.get(from).beginNanos;
                assertThat(taken).isLessThanOrEqualTo(elapsed / HandshakeTurns.PARTS + BURST_NANOS + dearest);
            }
        }
    }

    /** One address that always has handshakes does not delay that of another by more than one. */
    @Test
    void should_serve_each_address_in_turn() {
        Map<String, Integer> served = new HashMap<>();
        for (int i = 0; i < 100; i++) {
            new Client("192.0.2.1").send();
        }
        for (int i = 0; i < 3; i++) {
            new Client("192.0.2.2").send();
            new Client("192.0.2.3").send();
        }
        int before = processed.size();
        pass(27 * MILLI);
        processed.subList(before, before + 9).forEach(one -> served.merge(one.client.address, 1, Integer::sum));
        assertThat(served).isEqualTo(Map.of("192.0.2.1", 3, "192.0.2.2", 3, "192.0.2.3", 3));
    }
}
