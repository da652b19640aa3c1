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
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HandshakeTurnsTest {
    private static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

    /** Has the event loop and its clock. */
    private final EmbeddedChannel home = new EmbeddedChannel();

    private int delays;
    private int turn;
    private final HandshakeTurns turns = new HandshakeTurns(home.eventLoop(), new DispatcherObserver() {
        @Override
        public void onProtection(Protection protection) {
            delays += protection == Protection.HANDSHAKE_DELAYED ? 1 : 0;
        }
    });
    private final List<Client> clients = new ArrayList<>();

    /** Bytes that were processed, in their order. */
    private final List<Processed> processed = new ArrayList<>();

    private record Processed(Client client, int turn, long nanos) {}

    /** A client whose bytes each take the same time. */
    private final class Client extends ChannelInboundHandlerAdapter {
        final String address;
        final Promise<Void> handshake = ImmediateEventExecutor.INSTANCE.newPromise();
        final EmbeddedChannel channel;
        long costNanos = MILLI / 4;
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
            while (bytes.isReadable()) {
                assertThat(bytes.readInt()).isEqualTo(received++);
            }
            bytes.release();
            home.advanceTimeBy(costNanos, TimeUnit.NANOSECONDS);
            processed.add(new Processed(this, turn, costNanos));
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

    /** Begins the next turn of the event loop. */
    private void turn() {
        turn++;
        home.runScheduledPendingTasks();
    }

    private void turnUntilNothingWaits() {
        for (int before = -1; before < processed.size(); ) {
            before = processed.size();
            turn();
        }
    }

    private Client[] clients(int number, String address) {
        return IntStream.range(0, number).mapToObj(i -> new Client(address)).toArray(Client[]::new);
    }

    @Test
    void should_delay_no_handshake_while_there_are_few() {
        for (int i = 0; i < 20; i++) {
            Client client = new Client("192.0.2.1");
            client.send();
            client.send();
            assertThat(client.received).isEqualTo(2);
            client.handshake.setSuccess(null);
            turn();
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
        for (int i = 0; i < 5; i++) {
            client.send();
        }
        assertThat(client.received).isEqualTo(4);
        assertThat(client.channel.config().isAutoRead()).isFalse();
        client.send();
        turn();
        assertThat(client.received).isEqualTo(client.sent);
        assertThat(client.channel.config().isAutoRead()).isTrue();
    }

    /** For example, the process was stopped during a handshake. */
    @Test
    void should_not_pause_after_a_handshake_that_took_long() {
        Client slow = new Client("192.0.2.1");
        slow.costNanos = TimeUnit.MINUTES.toNanos(1);
        slow.send();
        Client other = new Client("192.0.2.2");
        other.send();
        assertThat(other.received).isZero();
        turn();
        assertThat(other.received).isEqualTo(1);
    }

    /** Sockets that are ready come before what waits, so no turn may be idle or too long. */
    @Test
    void should_use_the_time_of_each_turn_while_handshakes_wait() {
        for (Client client : clients(101, "192.0.2.1")) {
            client.send();
        }
        for (int steps = 4; steps < 100; steps += 4) {
            assertThat(processed).hasSize(steps);
            turn();
        }
        turn();
        assertThat(processed).hasSize(101);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    void should_limit_the_time_and_lose_no_byte(long seed) {
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
                case 2 -> turn();
                default -> {
                    if (!clients.isEmpty()) {
                        clients.get(random.nextInt(clients.size())).send();
                    }
                }
            }
        }
        turnUntilNothingWaits();
        assertThat(clients).allMatch(client -> client.received == client.sent);
        assertThat(delays).isPositive();
        Map<Integer, List<Processed>> byTurn = processed.stream().collect(Collectors.groupingBy(Processed::turn));
        byTurn.values().forEach(steps -> {
            long before = steps.subList(0, steps.size() - 1).stream()
                    .mapToLong(Processed::nanos)
                    .sum();
            assertThat(before).isLessThan(HandshakeTurns.QUANTUM_NANOS);
        });
    }

    /** One address that always has handshakes does not delay that of another by more than one. */
    @Test
    void should_serve_each_address_in_turn() {
        for (Client client : clients(100, "192.0.2.1")) {
            client.send();
        }
        for (int i = 0; i < 3; i++) {
            new Client("192.0.2.2").send();
            new Client("192.0.2.3").send();
        }
        int before = processed.size();
        turnUntilNothingWaits();
        assertThat(processed.subList(before, before + 9))
                .extracting(one -> one.client.address)
                .containsExactly(
                        "192.0.2.1",
                        "192.0.2.2",
                        "192.0.2.3",
                        "192.0.2.1",
                        "192.0.2.2",
                        "192.0.2.3",
                        "192.0.2.1",
                        "192.0.2.2",
                        "192.0.2.3");
    }
}
