package io.lambdadispatcher.core.internal.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.ingress.edge.ClientGuard;
import io.lambdadispatcher.core.internal.ingress.edge.CorsMemory;
import io.lambdadispatcher.core.internal.ingress.edge.ErrorAnswers;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.internal.ingress.edge.TrustedHeaders;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Splits;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Clients behind a load balancer that sends a PROXY header. */
class ProxyHeaderTest {
    private static final InetSocketAddress BALANCER = new InetSocketAddress("10.1.1.1", 40_000);
    private static final String SIGNATURE = "0d0a0d0a000d0a515549540a";
    private static final byte[] IPV4 = hex(SIGNATURE + "2111000c" + "c6336407" + "0a010101" + "1f40" + "01bb");
    private static final byte[] IPV6 = hex(SIGNATURE + "21210024" + "20010db8000000000000000000000007"
            + "20010db8000000000000000000000001" + "1f40" + "01bb");

    /** With the id of a VPC endpoint, as AWS sends it (type 0xea), and a checksum (type 0x03). */
    private static final byte[] IPV4_WITH_ADDITIONS =
            hex(SIGNATURE + "21110019" + "c6336407" + "0a010101" + "1f40" + "01bb" + "ea0003017670" + "03000401020304");

    private static final byte[] LOCAL = hex(SIGNATURE + "20000000");
    private static final byte[] UNSPECIFIED = hex(SIGNATURE + "21000000");
    private static final byte[] VERSION_1 = ascii("PROXY TCP4 198.51.100.7 10.1.1.1 8000 443\r\n");
    private static final byte[] VERSION_1_UNKNOWN = ascii("PROXY UNKNOWN\r\n");
    private static final byte[] REQUEST = ascii("GET / HTTP/1.1\r\nhost: a\r\n\r\n");

    private final RecordingObserver observer = new RecordingObserver();
    private final List<SocketAddress> clients = new ArrayList<>();
    private final List<Http2Headers> heads = new ArrayList<>();
    private final List<Connection> connections = new ArrayList<>();

    private static final class Connection extends EmbeddedChannel {
        @Override
        protected SocketAddress remoteAddress0() {
            return BALANCER;
        }

        void receive(byte[]... parts) {
            for (byte[] part : parts) {
                if (isOpen()) {
                    writeInbound(Unpooled.copiedBuffer(part));
                }
            }
            runPendingTasks();
        }

        void pass(Duration time) {
            advanceTimeBy(time.toNanos(), TimeUnit.NANOSECONDS);
            runPendingTasks();
        }

        String sent() {
            StringBuilder text = new StringBuilder();
            for (ByteBuf some = readOutbound(); some != null; some = readOutbound()) {
                text.append(some.toString(StandardCharsets.ISO_8859_1));
                some.release();
            }
            return text.toString();
        }
    }

    private static byte[] hex(String digits) {
        return ByteBufUtil.decodeHexDump(digits);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private Connection connect() {
        return connect(HttpLimits.builder().build(), 1).get(0);
    }

    /** Connects clients behind the same load balancer. */
    private List<Connection> connect(HttpLimits limits, int count) {
        List<Connection> made = Stream.generate(Connection::new).limit(count).toList();
        List<EventLoop> loops = made.stream().map(EmbeddedChannel::eventLoop).toList();
        PublicChannelInitializer initializer = new PublicChannelInitializer(
                () -> new PublicChannelInitializer.Rules(
                        limits,
                        new TrustedHeaders(ForwardingPolicy.defaults(), Set.of()),
                        new ErrorAnswers(
                                null, ForwardingPolicy.defaults(), null, new CorsMemory(), Incidents.unobserved())),
                null,
                "http",
                true,
                loop -> (head, end, response) -> {
                    heads.add(head);
                    clients.add(response.requester().remoteAddress());
                    response.onHead(new DefaultHttp2Headers().status("204"), true);
                    return new DiscardingSink();
                },
                observer,
                new IngressDrain(),
                new ClientGuard(limits, limits.maxConnections(), loops, observer));
        for (Connection each : made) {
            each.freezeTime();
            each.pipeline().addLast(initializer);
        }
        connections.addAll(made);
        return made;
    }

    @AfterEach
    void close() {
        connections.forEach(EmbeddedChannel::finishAndReleaseAll);
    }

    static List<Splits.Split> splits() {
        return Splits.all();
    }

    @ParameterizedTest
    @MethodSource("splits")
    void should_take_the_client_from_the_header(Splits.Split split) throws Exception {
        for (byte[] header : List.of(IPV4, IPV4_WITH_ADDITIONS, VERSION_1)) {
            Connection connection = connect();
            split.feed(concatenated(header, REQUEST), piece -> connection.writeInbound(piece.retain()));
            connection.runPendingTasks();
            assertThat(connection.sent()).startsWith("HTTP/1.1 204 ");
        }
        assertThat(clients).hasSize(3).containsOnly(new InetSocketAddress("198.51.100.7", 8000));
        assertThat(heads)
                .allSatisfy(head -> assertThat(head.get("x-forwarded-for")).hasToString("198.51.100.7"));
        assertThat(observer.protections).isEmpty();
    }

    private static byte[] concatenated(byte[] first, byte[] second) {
        return ByteBufUtil.getBytes(Unpooled.wrappedBuffer(first, second));
    }

    @Test
    void should_take_an_ipv6_address() {
        connect().receive(IPV6, REQUEST);
        assertThat(clients).containsExactly(new InetSocketAddress("2001:db8::7", 8000));
        assertThat(heads.get(0).get("x-forwarded-for")).hasToString("2001:db8::7");
    }

    static Stream<Arguments> withoutClient() {
        return Stream.of(
                Arguments.of("LOCAL", LOCAL),
                Arguments.of("UNSPEC", UNSPECIFIED),
                Arguments.of("version 1, UNKNOWN", VERSION_1_UNKNOWN));
    }

    /** A load balancer sends LOCAL with its health checks. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("withoutClient")
    void should_take_the_peer_if_the_header_names_no_client(String name, byte[] header) {
        Connection connection = connect();
        connection.receive(header, REQUEST);
        assertThat(connection.sent()).as(name).startsWith("HTTP/1.1 204 ");
        assertThat(clients).containsExactly(BALANCER);
    }

    @Test
    void should_serve_http2_behind_the_header() throws Exception {
        ByteBuf bytes = Unpooled.buffer().writeBytes(IPV4).writeBytes(Http2CodecUtil.connectionPrefaceBuf());
        bytes.writeBytes(hex("000000" + "04" + "00" + "00000000"));
        ByteBuf block = Unpooled.buffer();
        new DefaultHttp2HeadersEncoder()
                .encodeHeaders(
                        1,
                        new DefaultHttp2Headers()
                                .method("GET")
                                .scheme("http")
                                .authority("a")
                                .path("/"),
                        block);
        bytes.writeMedium(block.readableBytes())
                .writeBytes(hex("0105" + "00000001"))
                .writeBytes(block);
        connect().receive(ByteBufUtil.getBytes(bytes));
        assertThat(clients).containsExactly(new InetSocketAddress("198.51.100.7", 8000));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET / HTTP/1.1\r\nhost: a\r\n\r\n",
                "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                "PROXY TCP4 client 10.1.1.1 8000 443\r\n",
                "PROXY TCP4 198.51.100.7 10.1.1.1 8000 443 and more than the 107 bytes that a header of version 1 can have",
            })
    void should_close_a_connection_without_a_valid_header(String first) {
        Connection connection = connect();
        connection.receive(ascii(first), REQUEST, REQUEST);
        assertThat(connection.isOpen()).isFalse();
        assertThat(clients).isEmpty();
        assertThat(observer.protections).containsExactly(Protection.PROXY_HEADER);
        assertThat(observer.clientsConnected).hasValue(0);
    }

    /** A header may claim 65,535 bytes. */
    @Test
    void should_close_a_connection_with_a_large_header() {
        Connection connection = connect();
        connection.receive(hex(SIGNATURE + "2111ffff"));
        int parts = 0;
        while (connection.isOpen() && parts < 64) {
            connection.receive(new byte[1024]);
            parts++;
        }
        assertThat(connection.isOpen()).isFalse();
        assertThat(parts).isLessThan(6);
        assertThat(observer.protections).containsExactly(Protection.PROXY_HEADER);
    }

    @Test
    void should_close_a_connection_whose_header_does_not_arrive() {
        Connection connection = connect();
        connection.receive(hex(SIGNATURE));
        connection.pass(Duration.ofMillis(9_900));
        assertThat(connection.isOpen()).isTrue();
        connection.pass(Duration.ofMillis(200));
        assertThat(connection.isOpen()).isFalse();
        assertThat(observer.protections).containsExactly(Protection.PROXY_HEADER);
    }

    /** The time for the header is part of the time for the connection's start. */
    @Test
    void should_give_the_client_what_is_left_of_the_time() {
        Connection connection = connect();
        connection.pass(Duration.ofSeconds(6));
        connection.receive(IPV4);
        connection.pass(Duration.ofMillis(3_900));
        assertThat(connection.isOpen()).isTrue();
        connection.pass(Duration.ofMillis(200));
        assertThat(connection.isOpen()).isFalse();
    }

    @Test
    void should_not_count_a_health_check_that_only_connects() {
        Connection connection = connect();
        connection.close();
        connection.pass(Duration.ofSeconds(11));
        assertThat(observer.protections).isEmpty();
    }

    @Test
    void should_limit_the_connections_of_a_client_and_not_of_the_load_balancer() {
        List<Connection> both =
                connect(HttpLimits.builder().maxConnectionsPerAddress(1).build(), 3);
        both.get(0).receive(IPV4, REQUEST);
        both.get(1).receive(IPV6, REQUEST);
        assertThat(both.get(0).isOpen()).isTrue();
        assertThat(both.get(1).isOpen()).isTrue();
        both.get(2).receive(IPV4, REQUEST);
        assertThat(both.get(2).isOpen()).isFalse();
        assertThat(observer.protections).containsExactly(Protection.ADDRESS_LIMIT);
        assertThat(clients).hasSize(2);
    }
}
