package io.lambdadispatcher.core.internal.ingress.http1;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.ingress.edge.ClientGuard;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.HttpLimits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.CharsetUtil;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Slow heads, by a clock that the test sets: the handler looks once every head time-out, and what it sees may have begun a moment before. */
class Http1ClientConnectionTest {
    private static final Duration LOOK = HttpLimits.defaults().headTimeout();
    private static final Duration MOMENT = Duration.ofMillis(1);

    private static final String BEGUN = "GET / HTTP/1.1\r\nho";
    private static final String REST = "st: a\r\n\r\n";

    private static final Duration WRITE_TIMEOUT = HttpLimits.defaults().writeTimeout();
    private static final Duration LINGER = Duration.ofMillis(500);
    private static final String GET_BODY = "GET /body HTTP/1.1\r\nhost: a\r\nconnection: %s\r\n\r\n";
    private static final String REFUSED = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n";

    private EmbeddedChannel channel = channel();
    private boolean full;
    private int opened;
    private final IngressDrain drain = new IngressDrain();

    private void connectAnew() {
        close();
        channel = channel();
        connect();
    }

    /** Its socket can be full. */
    private EmbeddedChannel channel() {
        return new EmbeddedChannel() {
            @Override
            protected void doWrite(ChannelOutboundBuffer out) throws Exception {
                if (!full) {
                    super.doWrite(out);
                }
            }
        };
    }

    private void takeAll() {
        full = false;
        channel.flush();
        channel.runPendingTasks();
    }

    @BeforeEach
    void connect() {
        channel.freezeTime();
        Http1ClientConnection.install(
                channel.pipeline(),
                new IngressContext(
                        HttpLimits.defaults(),
                        ForwardingPolicy.defaults(),
                        new ClientGuard(HttpLimits.defaults(), 1, List.of(channel.eventLoop()), DispatcherObserver.NONE)
                                .admit(channel, false, this::open),
                        drain,
                        "http",
                        DispatcherObserver.NONE));
    }

    @AfterEach
    void close() {
        full = false;
        channel.finishAndReleaseAll();
    }

    private RequestSink open(Http2Headers head, boolean end, ResponseSink response) {
        opened++;
        if (AsciiString.contentEquals(head.path(), "/body")) {
            response.onHead(new DefaultHttp2Headers().status("200"), false);
            response.onData(Unpooled.copiedBuffer("body", CharsetUtil.US_ASCII), true);
        } else {
            response.onHead(new DefaultHttp2Headers().status("204"), true);
        }
        return new DiscardingSink();
    }

    private void pass(Duration time) {
        channel.advanceTimeBy(time.toNanos(), TimeUnit.NANOSECONDS);
        channel.runPendingTasks();
    }

    private Duration untilClosed() {
        Duration waited = Duration.ZERO;
        while (channel.isOpen() && waited.compareTo(WRITE_TIMEOUT.multipliedBy(3)) < 0) {
            pass(LOOK);
            waited = waited.plus(LOOK);
        }
        return waited;
    }

    private void read(String text) {
        channel.writeInbound(Unpooled.copiedBuffer(text, CharsetUtil.US_ASCII));
        channel.runPendingTasks();
    }

    private String sent() {
        StringBuilder all = new StringBuilder();
        for (ByteBuf some = channel.readOutbound(); some != null; some = channel.readOutbound()) {
            all.append(some.toString(CharsetUtil.US_ASCII));
            some.release();
        }
        return all.toString();
    }

    @Test
    void should_leave_each_head_its_time_when_it_begins_just_before_a_look() {
        pass(LOOK.minus(MOMENT));
        for (int i = 0; i < 3; i++) {
            read(BEGUN);
            pass(MOMENT);
            assertThat(sent()).isEmpty();
            read(REST);
            assertThat(sent()).startsWith("HTTP/1.1 204 ");
            pass(LOOK.minus(MOMENT));
        }
    }

    @Test
    void should_answer_408_to_a_head_that_has_taken_longer_than_a_look() {
        read(BEGUN);
        pass(LOOK);
        assertThat(sent()).isEmpty();
        pass(LOOK);
        assertThat(sent()).startsWith("HTTP/1.1 408 ");
    }

    @Test
    void should_not_take_a_connection_for_idle_while_a_response_waits() {
        full = true;
        read(GET_BODY.formatted("keep-alive"));
        drain.begin();
        for (int i = 0; i < 10; i++) {
            pass(LINGER);
        }
        assertThat(channel.isOpen()).isTrue();
        takeAll();
        assertThat(sent()).contains("body");
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_cut_a_client_that_does_not_take_the_last_response() {
        for (String connection : List.of("close", "keep-alive")) {
            full = true;
            read(GET_BODY.formatted(connection));
            assertThat(untilClosed()).isBetween(WRITE_TIMEOUT, WRITE_TIMEOUT.plus(LOOK.multipliedBy(2)));
            connectAnew();
        }
    }

    /** To close over octets that nobody reads resets the connection, and the client may lose what it has not read yet. */
    @Test
    void should_read_what_a_client_goes_on_to_send_after_the_last_response() {
        read(REFUSED);
        assertThat(sent()).startsWith("HTTP/1.1 204 ");
        for (int i = 0; i < 20; i++) {
            read("x");
            pass(LINGER);
            assertThat(channel.isOpen()).isTrue();
        }
        pass(LINGER);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_not_read_for_ever_after_the_last_response() {
        read(REFUSED);
        for (int i = 0; i < 60; i++) {
            assertThat(channel.isOpen()).isTrue();
            read("x");
            pass(LINGER);
        }
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void should_not_read_for_long_after_the_last_response_when_the_dispatcher_goes() {
        read(REFUSED);
        drain.begin();
        read("x");
        pass(LINGER);
        assertThat(channel.isOpen()).isFalse();
    }

    /** Answers without a body have no window that would hold them back. */
    @Test
    void should_serve_no_more_to_a_client_that_takes_no_answers() {
        full = true;
        String requests = "HEAD / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1_000);
        int rounds = 0;
        while (channel.config().isAutoRead() && rounds < 100) {
            read(requests);
            rounds++;
        }
        assertThat(rounds).isLessThan(50);
        int asked = opened;
        assertThat(asked).isLessThan(rounds * 1_000);
        pass(LOOK.multipliedBy(3));
        assertThat(opened).isEqualTo(asked);
        takeAll();
        assertThat(opened).isEqualTo(rounds * 1_000);
        assertThat(sent().split("HTTP/1.1 204 ", -1)).hasSize(rounds * 1_000 + 1);
        assertThat(channel.config().isAutoRead()).isTrue();
    }

    @Test
    void should_cut_a_client_that_asks_on_and_takes_no_answers() {
        full = true;
        while (channel.config().isAutoRead()) {
            read("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1_000));
        }
        assertThat(untilClosed()).isBetween(WRITE_TIMEOUT, WRITE_TIMEOUT.plus(LOOK.multipliedBy(2)));
    }

    @Test
    void should_linger_after_a_refused_head_though_the_request_before_was_whole() {
        read("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
        read("no request\r\n\r\n");
        assertThat(sent()).contains("HTTP/1.1 204 ", "HTTP/1.1 400 ");
        assertThat(channel.isOpen()).isTrue();
        pass(LINGER);
        pass(LINGER);
        assertThat(channel.isOpen()).isFalse();
    }

    /** The decoder gives it a body of 8 octets. */
    @Test
    void should_refuse_a_websocket_handshake_of_a_draft() {
        read("GET / HTTP/1.1\r\nhost: a\r\nsec-websocket-key1: 1\r\nsec-websocket-key2: 2\r\n\r\n");
        assertThat(sent()).contains("HTTP/1.1 400 ", "connection: close");
    }
}
