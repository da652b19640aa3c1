package io.lambdadispatcher.core.internal.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClientGuardTest {
    private final RecordingObserver observer = new RecordingObserver();

    private static final class Client extends EmbeddedChannel {
        private final SocketAddress address;

        Client(String address) throws UnknownHostException {
            this.address = new InetSocketAddress(
                    InetAddress.getByAddress(NetUtil.createByteArrayFromIpAddressString(address)), 1234);
        }

        @Override
        protected SocketAddress remoteAddress0() {
            // Null while the constructor of EmbeddedChannel runs.
            return address;
        }
    }

    private ClientGuard guard(HttpLimits.Builder limits, EmbeddedChannel... channels) {
        HttpLimits built = limits.build();
        List<EventLoop> loops =
                Stream.of(channels).map(EmbeddedChannel::eventLoop).toList();
        return new ClientGuard(built, built.maxConnections(), loops, observer);
    }

    private static boolean isAdmitted(ClientGuard guard, EmbeddedChannel channel) {
        boolean admitted = guard.admit(channel, false, (head, end, response) -> new DiscardingSink()) != null
                && guard.admitAddress(channel, channel.remoteAddress());
        channel.runPendingTasks();
        assertThat(channel.isOpen()).isEqualTo(admitted);
        return admitted;
    }

    @Test
    void should_close_connections_beyond_the_maximum() throws Exception {
        Client[] clients = {new Client("10.0.0.1"), new Client("10.0.0.2"), new Client("10.0.0.3"), new Client("::1")};
        ClientGuard guard = guard(HttpLimits.builder().maxConnections(2), clients);
        assertThat(isAdmitted(guard, clients[0])).isTrue();
        assertThat(isAdmitted(guard, clients[1])).isTrue();
        assertThat(isAdmitted(guard, clients[2])).isFalse();
        assertThat(observer.protections).containsExactly(Protection.CONNECTION_LIMIT);
        assertThat(guard.snapshot().connections()).isEqualTo(2);
        clients[0].close();
        assertThat(guard.snapshot().connections()).isEqualTo(1);
        assertThat(isAdmitted(guard, clients[3])).isTrue();
    }

    /** They take file descriptors, even if the event loop that would close them is late. */
    @Test
    void should_count_connections_that_no_event_loop_has_seen_yet() throws Exception {
        Client[] clients = {new Client("10.0.0.1"), new Client("10.0.0.2"), new Client("10.0.0.3"), new Client("::1")};
        ClientGuard guard = guard(HttpLimits.builder().maxConnections(2), clients);
        assertThat(guard.onAccepted(clients[0])).isTrue();
        assertThat(guard.onAccepted(clients[1])).isTrue();
        assertThat(guard.onAccepted(clients[2])).isFalse();
        assertThat(observer.protections).containsExactly(Protection.CONNECTION_LIMIT);
        clients[0].close();
        assertThat(guard.onAccepted(clients[3])).isTrue();
    }

    @Test
    void should_close_connections_beyond_the_maximum_of_their_address() throws Exception {
        Client[] clients = {
            new Client("10.0.0.1"), new Client("10.0.0.1"), new Client("10.0.0.2"), new Client("10.0.0.1")
        };
        ClientGuard guard = guard(HttpLimits.builder().maxConnectionsPerAddress(1), clients);
        assertThat(isAdmitted(guard, clients[0])).isTrue();
        assertThat(isAdmitted(guard, clients[1])).isFalse();
        assertThat(observer.protections).containsExactly(Protection.ADDRESS_LIMIT);
        assertThat(isAdmitted(guard, clients[2])).isTrue();
        clients[0].close();
        assertThat(isAdmitted(guard, clients[3])).isTrue();
    }

    /** Idle connections of 8 KiB may use half of 16 MiB, so 1024 are admitted. */
    @Test
    void should_close_connections_for_which_there_is_no_memory() throws Exception {
        Client client = new Client("10.0.0.1");
        ClientGuard guard = guard(HttpLimits.builder().clientMemoryBytes(16 << 20), client);
        for (int i = 0; i < 1024; i++) {
            assertThat(guard.admit(client, false, (head, end, response) -> new DiscardingSink()))
                    .isNotNull();
        }
        assertThat(isAdmitted(guard, client)).isFalse();
        assertThat(observer.protections).containsExactly(Protection.CONNECTION_LIMIT);
        assertThat(guard.snapshot().connections()).isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "10.0.0.1, 10.0.0.1, true",
        "10.0.0.1, 10.0.0.2, false",
        "2001:db8:0:1::1, 2001:db8:0:1:ffff::2, true",
        "2001:db8:0:1::1, 2001:db8:0:2::1, false",
        "255.255.255.255, ffff:ffff:ffff:ffff::1, false"
    })
    void should_know_the_addresses_of_one_client(String one, String other, boolean same) throws Exception {
        Long key = ClientGuard.addressKey(new Client(one).address);
        assertThat(key.equals(ClientGuard.addressKey(new Client(other).address)))
                .isEqualTo(same);
    }
}
