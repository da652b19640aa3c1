package io.lambdadispatcher.core.internal.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.ingress.edge.ClientMemory.Level;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests the memory limit of one event loop: 1,000,000 bytes. */
class ClientMemoryTest {
    private static final int LIMIT = 1_000_000;
    private static final int CONNECTION = 1000;

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final RecordingObserver observer = new RecordingObserver();
    private final List<Client> clients = new ArrayList<>();
    private final ClientMemory memory = new ClientMemory(loop.eventLoop(), LIMIT, observer);

    /** A connection that holds as many bytes as the test says. */
    private final class Client extends EmbeddedChannel implements ResponseSink, ClientAccount.Holder {
        private final ClientAccount account;
        private long held;
        private @Nullable Failure failure;
        private int opened;

        Client() {
            account = memory.open(this, this::opened, CONNECTION);
            account.heldBy(this);
            pipeline().addLast(account);
            clients.add(this);
        }

        /** Sends bytes, all of which are held. */
        Client send(int bytes) {
            held += bytes;
            writeOneInbound(Unpooled.wrappedBuffer(new byte[bytes]));
            releaseInbound();
            loop.runPendingTasks();
            return this;
        }

        @Override
        public long heldBytes() {
            return held;
        }

        @Override
        public void release() {
            held = 0;
        }

        boolean isServed() {
            failure = null;
            int before = opened;
            account.open(new DefaultHttp2Headers().method("GET").path("/"), true, this);
            assertThat(failure == null).isEqualTo(opened > before);
            return failure == null;
        }

        private RequestSink opened(Http2Headers head, boolean end, ResponseSink response) {
            opened++;
            return new DiscardingSink();
        }

        @Override
        protected void doWrite(ChannelOutboundBuffer queue) {}

        @Override
        public void onInterim(Http2Headers head) {}

        @Override
        public void onHead(Http2Headers head, boolean end) {}

        @Override
        public void onData(ByteBuf data, boolean end) {}

        @Override
        public void onTrailers(Http2Headers trailers) {}

        @Override
        public void onFailure(Failure value) {
            failure = value;
        }

        @Override
        public void onRequestTaken(int bytes) {}
    }

    @BeforeEach
    void freeze() {
        loop.freezeTime();
    }

    @AfterEach
    void close() {
        clients.forEach(EmbeddedChannel::finishAndReleaseAll);
        loop.finishAndReleaseAll();
    }

    private void pass(int millis) {
        loop.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        loop.runPendingTasks();
    }

    @Test
    void should_let_clients_do_what_they_like_while_memory_is_calm() {
        Client client = new Client().send(700_000);
        assertThat(memory.level()).isEqualTo(Level.CALM);
        assertThat(client.account.windowBytes(256 * 1024)).isEqualTo(256 * 1024);
        assertThat(client.isServed()).isTrue();
        assertThat(observer.protections).isEmpty();
    }

    @Test
    void should_buffer_less_of_bodies_when_memory_is_tight() {
        Client client = new Client().send(800_000);
        assertThat(memory.level()).isEqualTo(Level.TIGHT);
        assertThat(client.account.windowBytes(256 * 1024)).isEqualTo(ClientAccount.TIGHT_WINDOW_BYTES);
        assertThat(client.account.windowBytes(1000)).isEqualTo(1000);
        assertThat(client.isServed()).isTrue();
    }

    @Test
    void should_refuse_requests_of_those_who_hold_much() {
        Client small = new Client();
        Client large = new Client().send(880_000);
        assertThat(memory.level()).isEqualTo(Level.REFUSING);
        assertThat(large.isServed()).isFalse();
        assertThat(large.failure.kind()).isEqualTo(Failure.Kind.OVERLOADED);
        assertThat(observer.protections).containsExactly(Protection.MEMORY_REFUSED);
        assertThat(small.isServed()).isTrue();
        assertThat(new Client().isServed()).isTrue();
    }

    @Test
    void should_serve_a_new_client_where_the_average_is_small_because_most_are_idle() {
        for (int i = 0; i < 450; i++) {
            new Client();
        }
        new Client().send(430_000);
        assertThat(memory.level()).isEqualTo(Level.REFUSING);
        Client fresh = new Client();
        assertThat(fresh.account.heldBytes()).isGreaterThan(memory.heldBytes() / 452 / 2);
        assertThat(fresh.isServed()).isTrue();
        fresh.send(CONNECTION / 2 + 1);
        assertThat(fresh.isServed()).isFalse();
    }

    @Test
    void should_notice_that_a_connection_has_gone_when_nothing_arrives() {
        Client client = new Client().send(500_000);
        loop.advanceTimeBy(1, TimeUnit.SECONDS);
        loop.runScheduledPendingTasks();
        loop.advanceTimeBy(1, TimeUnit.SECONDS);
        loop.runScheduledPendingTasks();
        assertThat(memory.heldBytes()).isGreaterThan(500_000);
        client.close();
        loop.advanceTimeBy(1, TimeUnit.SECONDS);
        loop.runScheduledPendingTasks();
        assertThat(memory.heldBytes()).isZero();
    }

    @Test
    void should_refuse_the_only_client_when_memory_is_almost_used_up() {
        assertThat(new Client().send(880_000).isServed()).isFalse();
    }

    @Test
    void should_close_the_connections_that_hold_the_most() {
        Client small = new Client().send(100_000);
        Client largest = new Client().send(500_000);
        Client large = new Client().send(300_000);
        assertThat(largest.isOpen()).isTrue();
        small.send(70_000);
        assertThat(largest.isOpen()).isFalse();
        assertThat(large.isOpen()).isTrue();
        assertThat(small.isOpen()).isTrue();
        assertThat(observer.protections).containsExactly(Protection.MEMORY_CUT);
        assertThat(memory.level()).isEqualTo(Level.CALM);
        assertThat(memory.heldBytes()).isEqualTo(470_000 + 2 * CONNECTION);
    }

    @Test
    void should_close_no_more_than_relieves_memory() {
        for (int i = 0; i < 20; i++) {
            new Client().send(48_000);
        }
        assertThat(clients.stream().filter(client -> !client.isOpen())).hasSize(2);
        assertThat(memory.heldBytes()).isBetween(LIMIT / 100 * 85L, LIMIT / 100 * 90L);
    }

    @Test
    void should_count_a_response_that_its_client_does_not_take() {
        Client client = new Client();
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[960_000]));
        client.account.onHeld(960_000);
        loop.runPendingTasks();
        assertThat(client.isOpen()).isFalse();
    }

    @Test
    void should_not_mind_how_much_passes_if_little_is_held() {
        Client client = new Client();
        for (int i = 0; i < 100; i++) {
            client.send(LIMIT / 10);
            client.held = 0;
        }
        assertThat(memory.level()).isEqualTo(Level.CALM);
        assertThat(observer.protections).isEmpty();
    }

    @Test
    void should_notice_relief_when_nothing_arrives() {
        Client client = new Client().send(880_000);
        client.held = 0;
        assertThat(memory.level()).isEqualTo(Level.REFUSING);
        pass(1000);
        assertThat(memory.level()).isEqualTo(Level.CALM);
        assertThat(memory.heldBytes()).isEqualTo(CONNECTION);
        assertThat(client.isServed()).isTrue();
    }

    @Test
    void should_forget_a_connection_that_has_closed() {
        new Client().send(880_000).close();
        pass(1000);
        assertThat(memory.heldBytes()).isZero();
        assertThat(memory.level()).isEqualTo(Level.CALM);
    }

    /** Connections are closed immediately, because many sockets may be read in one turn. */
    @Test
    void should_close_connections_while_sockets_are_read() {
        Client other = new Client();
        Client large = new Client();
        large.held = 960_000;
        large.writeOneInbound(Unpooled.wrappedBuffer(new byte[960_000]));
        assertThat(large.isOpen()).isFalse();
        assertThat(large.held).isZero();
        assertThat(large.inboundMessages()).isEmpty();
        assertThat(other.isOpen()).isTrue();
        assertThat(memory.level()).isEqualTo(Level.CALM);
    }

    /** Not immediately, because the code of the connection to be closed may be on the stack. */
    @Test
    void should_close_connections_later_when_a_response_comes() {
        Client client = new Client();
        client.held = 960_000;
        client.account.onHeld(960_000);
        assertThat(memory.level()).isEqualTo(Level.FULL);
        assertThat(client.isOpen()).isTrue();
        loop.runPendingTasks();
        assertThat(client.isOpen()).isFalse();
        assertThat(memory.level()).isEqualTo(Level.CALM);
    }

    @Test
    void should_rather_close_the_largest_connection_than_refuse_a_new_one() {
        Client large = new Client();
        Client small = new Client();
        large.held = 960_000;
        large.account.onHeld(960_000);
        assertThat(memory.level()).isEqualTo(Level.FULL);
        assertThat(new Client().isOpen()).isTrue();
        assertThat(large.isOpen()).isFalse();
        assertThat(small.isOpen()).isTrue();
        assertThat(memory.level()).isEqualTo(Level.CALM);
    }

    @Test
    void should_keep_half_of_the_memory_from_idle_connections() {
        while (memory.open(loop, (head, end, response) -> new DiscardingSink(), LIMIT / 10) != null) {
            assertThat(memory.level()).isEqualTo(Level.CALM);
        }
        assertThat(memory.open(loop, (head, end, response) -> new DiscardingSink(), 1))
                .isNull();
        loop.runPendingTasks();
        assertThat(memory.level()).isEqualTo(Level.CALM);
    }
}
