package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.RolloutPolicy;
import io.lambdadispatcher.server.config.PolicyValueTypes.Concurrency;
import io.lambdadispatcher.server.config.PolicyValueTypes.ForwardingHeaders;
import io.lambdadispatcher.server.config.PolicyValueTypes.MaxConnections;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ValueTypeTest {
    private static <T> T parse(ValueType<T> type, String text) {
        return type.parse(RawValue.of(text, "test"));
    }

    static Stream<Arguments> durations() {
        return Stream.of(
                Arguments.of("0", Duration.ZERO),
                Arguments.of("0s", Duration.ZERO),
                Arguments.of("500ms", Duration.ofMillis(500)),
                Arguments.of("10s", Duration.ofSeconds(10)),
                Arguments.of("15m", Duration.ofMinutes(15)),
                Arguments.of("1h", Duration.ofHours(1)),
                Arguments.of("366d", Duration.ofDays(366)));
    }

    @ParameterizedTest
    @MethodSource("durations")
    void should_read_a_duration(String text, Duration expected) {
        assertThat(parse(ValueType.duration(), text)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "1", "10 s", "-1s", "1.5s", "1w", "367d", "999999999999999d", "99999999999999999999s"})
    void should_refuse_what_is_no_duration(String text) {
        assertThatThrownBy(() -> parse(ValueType.duration(), text)).isInstanceOf(RuntimeException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "0s", "0d"})
    void should_refuse_zero_where_nothing_would_ever_be_in_time(String text) {
        assertThatThrownBy(() -> parse(ValueType.positiveDuration(), text))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(parse(ValueType.positiveDuration(), "1ms")).isEqualTo(Duration.ofMillis(1));
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "512B, 512", "64KiB, 65536", "3MiB, 3145728", "1GiB, 1073741824"})
    void should_read_a_size(String text, int expected) {
        assertThat(parse(ValueType.size(0, Integer.MAX_VALUE), text)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "KiB", "1KB", "1 KiB", "-1", "2GiB", "999999999999999GiB"})
    void should_refuse_what_is_no_size(String text) {
        assertThatThrownBy(() -> parse(ValueType.size(0, Integer.MAX_VALUE), text))
                .isInstanceOfAny(IllegalArgumentException.class, ArithmeticException.class);
    }

    /** All clients would otherwise count together, because no request has such a header here. */
    @ParameterizedTest
    @ValueSource(strings = {"host", "Host", "connection", "keep-alive", "expect"})
    void should_refuse_headers_that_no_policy_sees(String name) {
        assertRefused(PolicyValueTypes.rateLimit(), "5/s by " + name);
        assertRefused(HttpValueTypes.requestHeaderName(), name);
        assertRefused(HttpValueTypes.headerNames(), name);
        assertRefused(HttpValueTypes.affinity(), "header " + name);
    }

    @Test
    void should_read_names_of_request_headers() {
        assertThat(parse(HttpValueTypes.requestHeaderName(), "X-Tenant")).isEqualTo("x-tenant");
        assertThat(parse(HttpValueTypes.headerNames(), "X-A, te")).containsExactly("x-a", "te");
        assertRefused(HttpValueTypes.requestHeaderName(), "a b");
    }

    private static void assertRefused(ValueType<?> type, String text) {
        assertThatThrownBy(() -> parse(type, text)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void should_read_affinity() {
        assertThat(parse(HttpValueTypes.affinity(), "off")).isSameAs(Affinity.NONE);
        assertThat(parse(HttpValueTypes.affinity(), "header X-Tenant")).isEqualTo(Affinity.header("x-tenant"));
        assertThat(parse(HttpValueTypes.affinity(), "cookie  User")).isEqualTo(Affinity.cookie("User"));
        assertThat(parse(HttpValueTypes.affinity(), "own-cookie lb")).isEqualTo(Affinity.ownCookie("lb"));
        assertThat(parse(HttpValueTypes.affinity(), "session-header mcp-session-id"))
                .isEqualTo(Affinity.sessionHeader("Mcp-Session-Id"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "none",
                "off x",
                "header",
                "header a b",
                "header a:b",
                "cookie a=b",
                "mcp-session-id",
                "HEADER a"
            })
    void should_refuse_what_is_no_affinity(String text) {
        assertThatThrownBy(() -> parse(HttpValueTypes.affinity(), text)).isInstanceOf(IllegalArgumentException.class);
    }

    static Stream<Arguments> rollouts() {
        return Stream.of(
                Arguments.of("fast", RolloutPolicy.FAST),
                Arguments.of("10% for 2m", RolloutPolicy.FAST),
                Arguments.of("careful", RolloutPolicy.CAREFUL),
                Arguments.of("10%  50% for  300s", RolloutPolicy.CAREFUL),
                Arguments.of("off", RolloutPolicy.OFF),
                Arguments.of("false", RolloutPolicy.OFF),
                Arguments.of("1% 100% for 1ms", new RolloutPolicy(List.of(1, 100), Duration.ofMillis(1))));
    }

    @ParameterizedTest
    @MethodSource("rollouts")
    void should_read_a_rollout(String text, RolloutPolicy expected) {
        assertThat(parse(PolicyValueTypes.rollout(), text).policy()).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "slow",
                "true",
                "10%",
                "10",
                "10 for 2m",
                "for 2m",
                "10% for",
                "10% for 0",
                "10% for 2",
                "0% for 2m",
                "101% for 2m",
                "50% 10% for 2m",
                "10% 10% for 2m",
                "10%50% for 2m",
                "10%, 50% for 2m",
                "1.5% for 2m",
                "-1% for 2m",
                "10% for 367d",
                "10% for 2m 50% for 5m",
                "fast poll",
                "fast poll 0s",
                "off poll 1s",
                "FAST"
            })
    void should_refuse_what_is_no_rollout(String text) {
        assertThatThrownBy(() -> parse(PolicyValueTypes.rollout(), text)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void should_read_how_often_an_alias_is_looked_at() {
        assertThat(parse(PolicyValueTypes.rollout(), "fast").poll()).isEqualTo(Duration.ofSeconds(30));
        assertThat(parse(PolicyValueTypes.rollout(), "fast  poll 1s").poll()).isEqualTo(Duration.ofSeconds(1));
        assertThat(parse(PolicyValueTypes.rollout(), "10% 50% for 5m poll 2s").poll())
                .isEqualTo(Duration.ofSeconds(2));
    }

    @Test
    void should_read_the_concurrency_of_a_worker() {
        assertThat(parse(PolicyValueTypes.concurrency(), "100")).contains(new Concurrency(1, 100));
        assertThat(parse(PolicyValueTypes.concurrency(), "200 connections 4")).contains(new Concurrency(4, 50));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "1001", "10 connections 3", "65 connections 65", "5 connections 0", "10 in 2"})
    void should_refuse_what_is_no_concurrency(String text) {
        assertRefused(PolicyValueTypes.concurrency(), text);
    }

    @Test
    void should_read_limits_of_connections() {
        assertThat(parse(PolicyValueTypes.maxConnections(), "1")).isEqualTo(new MaxConnections(1, 1));
        assertThat(parse(PolicyValueTypes.maxConnections(), "10000")).isEqualTo(new MaxConnections(10_000, 5_000));
        assertThat(parse(PolicyValueTypes.maxConnections(), "10 per-address 10"))
                .isEqualTo(new MaxConnections(10, 10));
        assertRefused(PolicyValueTypes.maxConnections(), "10 per-address 11");
        assertRefused(PolicyValueTypes.maxConnections(), "10 per-client 1");
    }

    @Test
    void should_read_forwarding_headers() {
        assertThat(parse(PolicyValueTypes.forwardingHeaders(), "off"))
                .isEqualTo(new ForwardingHeaders(ForwardingPolicy.Headers.NONE, false));
        assertThat(parse(PolicyValueTypes.forwardingHeaders(), "via"))
                .isEqualTo(new ForwardingHeaders(ForwardingPolicy.Headers.NONE, true));
        assertThat(parse(PolicyValueTypes.forwardingHeaders(), "forwarded"))
                .isEqualTo(new ForwardingHeaders(ForwardingPolicy.Headers.FORWARDED, false));
        assertThat(parse(PolicyValueTypes.forwardingHeaders(), "via, forwarded, x-forwarded"))
                .isEqualTo(new ForwardingHeaders(ForwardingPolicy.Headers.BOTH, true));
        assertRefused(PolicyValueTypes.forwardingHeaders(), "both");
        assertRefused(PolicyValueTypes.forwardingHeaders(), "via via");
    }

    @Test
    void should_read_a_size_or_auto() {
        assertThat(parse(ValueType.sizeOrAuto(1024, 4096), "auto")).isZero();
        assertThat(parse(ValueType.sizeOrAuto(1024, 4096), "2KiB")).isEqualTo(2048);
        assertThatThrownBy(() -> parse(ValueType.sizeOrAuto(1024, 4096), "0"))
                .isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void should_read_variables() {
        assertThat(parse(ValueType.variables(), "A=1 B_2=x=y  C="))
                .containsExactlyInAnyOrderEntriesOf(Map.of("A", "1", "B_2", "x=y", "C", ""));
        assertThat(parse(ValueType.variables(), "")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"A", "=1", "2A=1", "A-B=1", "A=1 B"})
    void should_refuse_what_is_no_variable(String text) {
        assertThatThrownBy(() -> parse(ValueType.variables(), text)).isInstanceOf(IllegalArgumentException.class);
    }

    /** It stands for the worker port. */
    @Test
    void should_take_port_zero_of_an_address() {
        assertThat(parse(ValueType.addresses(), "host:0"))
                .containsExactly(InetSocketAddress.createUnresolved("host", 0));
    }

    @ParameterizedTest
    @ValueSource(strings = {"host", ":1", "host:", "host:-1", "host:65536", "host:x", "::1:1", "a:1,b"})
    void should_refuse_what_is_no_address(String text) {
        assertThatThrownBy(() -> parse(ValueType.addresses(), text)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void should_read_where_a_port_listens() {
        assertThat(parse(ValueType.listen(null), "8080")).isEqualTo(new ListenAddress(null, 8080, false));
        assertThat(parse(ValueType.listen("127.0.0.1"), "0")).isEqualTo(new ListenAddress("127.0.0.1", 0, false));
        assertThat(parse(ValueType.listen("127.0.0.1"), "[::]:1")).isEqualTo(new ListenAddress("::", 1, false));
        assertThat(parse(ValueType.listenProxied(), "localhost:1  proxy-protocol"))
                .isEqualTo(new ListenAddress("localhost", 1, true));
        assertThat(parse(ValueType.listen(null).orOff(ListenAddress.OFF), "off").isOff())
                .isTrue();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "host", "65536", "-1", ":1", "::1:1", "1 proxy", "1 proxy-protocol x", "proxy-protocol"})
    void should_refuse_where_no_port_listens(String text) {
        assertRefused(ValueType.listenProxied(), text);
    }

    @Test
    void should_read_host_names() {
        assertThat(parse(HttpValueTypes.hostNames(), "Admin.example.org, b"))
                .containsExactlyInAnyOrder("admin.example.org", "b");
        assertThat(parse(HttpValueTypes.hostNames(), "")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"*.example.org", "a:80", "http://a", "-"})
    void should_refuse_what_is_no_host_name(String text) {
        assertThatThrownBy(() -> parse(HttpValueTypes.hostNames(), text)).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @CsvSource({"auto, AUTO", "io_uring, IO_URING", "epoll, EPOLL", "nio, NIO"})
    void should_read_a_transport(String text, TransportKind expected) {
        assertThat(parse(ValueType.choice(TransportKind.class, "_"), text)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a b", "", ".A", "a..B", "1A", "a.B."})
    void should_refuse_what_is_no_class_name(String text) {
        assertThatThrownBy(() -> parse(ValueType.className(), text)).isInstanceOf(IllegalArgumentException.class);
    }
}
