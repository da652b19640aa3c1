package io.lambdadispatcher.core.internal.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.ForwardingPolicy.Headers;
import io.lambdadispatcher.core.options.ForwardingPolicy.Trust;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.ImmediateEventExecutor;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests which requests count as requests of the same client. */
class ClientKeysTest {
    private static final String PROXY = "10.0.0.1";

    private static Object client(ForwardingPolicy policy, String remote, String... headers) {
        HeadRules rules = new HeadRules(
                policy, "http", new InetSocketAddress(remote, 4711), ResponseDate.of(ImmediateEventExecutor.INSTANCE));
        Http2Headers head = new DefaultHttp2Headers()
                .method("GET")
                .scheme("http")
                .authority("a,b")
                .path("/");
        for (int i = 0; i < headers.length; i += 2) {
            head.add(headers[i], headers[i + 1]);
        }
        rules.request(head);
        return rules.client(head);
    }

    private static ForwardingPolicy policy(Trust trust, Headers headers) {
        return ForwardingPolicy.builder()
                .trust(trust)
                .headers(headers)
                .via(true)
                .clientHeader("")
                .build();
    }

    @Test
    void should_take_the_connections_address_and_not_what_the_client_says() {
        ForwardingPolicy policy = ForwardingPolicy.defaults();
        Object client = client(policy, "192.0.2.1");
        assertThat(client(policy, "192.0.2.1", "x-forwarded-for", "1.1.1.1", "forwarded", "for=1.1.1.1"))
                .isEqualTo(client);
        assertThat(client(policy, "192.0.2.2")).isNotEqualTo(client);
    }

    @Test
    void should_take_all_addresses_of_a_64_for_one_client() {
        ForwardingPolicy policy = ForwardingPolicy.defaults();
        Object client = client(policy, "2001:db8:1:2::1");
        assertThat(client(policy, "2001:db8:1:2:ffff::9")).isEqualTo(client);
        assertThat(client(policy, "2001:db8:1:3::1")).isNotEqualTo(client);
    }

    @ParameterizedTest
    @EnumSource(Headers.class)
    void should_believe_the_last_address_that_a_trusted_proxy_has_added(Headers headers) {
        ForwardingPolicy policy = policy(Trust.APPEND, headers);
        Object client = client(ForwardingPolicy.defaults(), "192.0.2.1");
        assertThat(client(policy, PROXY, "x-forwarded-for", "6.6.6.6, 192.0.2.1"))
                .isEqualTo(client);
        assertThat(client(policy, PROXY, "x-forwarded-for", "6.6.6.6", "x-forwarded-for", "192.0.2.1"))
                .isEqualTo(client);
        assertThat(client(policy, PROXY, "forwarded", "for=6.6.6.6, proto=http;For=\"192.0.2.1:80\""))
                .isEqualTo(client);
        assertThat(client(policy, "192.0.2.1")).isEqualTo(client);
        assertThat(client(policy, "192.0.2.1", "forwarded", "proto=http")).isEqualTo(client);
    }

    @ParameterizedTest
    @CsvSource({
        "192.0.2.1:8080, 192.0.2.1",
        "[2001:db8::7]:443, 2001:db8::8",
        "[2001:db8::7], 2001:db8::8",
        "2001:db8::7, 2001:db8::8"
    })
    void should_read_addresses_with_and_without_ports(String hop, String same) {
        assertThat(client(policy(Trust.APPEND, Headers.BOTH), PROXY, "x-forwarded-for", hop))
                .isEqualTo(client(ForwardingPolicy.defaults(), same));
    }

    @ParameterizedTest
    @CsvSource({
        "x-forwarded-for, ::ffff:192.0.2.1, ::ffff:192.0.2.2",
        "x-forwarded-for, [::ffff:c000:201]:443, [::ffff:c000:202]:443",
        "forwarded, 'for=\"[::ffff:192.0.2.1]\"', 'for=\"[::ffff:192.0.2.2]\"'"
    })
    void should_take_a_mapped_address_for_its_ipv4_address(String header, String hop, String other) {
        ForwardingPolicy policy = policy(Trust.APPEND, Headers.BOTH);
        assertThat(client(policy, PROXY, header, hop)).isEqualTo(client(ForwardingPolicy.defaults(), "192.0.2.1"));
        assertThat(client(policy, PROXY, header, other)).isEqualTo(client(ForwardingPolicy.defaults(), "192.0.2.2"));
    }

    @Test
    void should_take_other_names_as_they_are() {
        ForwardingPolicy policy = policy(Trust.APPEND, Headers.X_FORWARDED);
        assertThat(client(policy, PROXY, "x-forwarded-for", "_gazonk")).isEqualTo("_gazonk");
    }

    @Test
    void should_prefer_the_header_that_the_operator_names() {
        ForwardingPolicy policy = ForwardingPolicy.builder()
                .trust(Trust.APPEND)
                .headers(Headers.X_FORWARDED)
                .via(true)
                .clientHeader("x-client-id")
                .build();
        assertThat(client(policy, PROXY, "x-client-id", "alice", "x-forwarded-for", "192.0.2.1"))
                .isEqualTo("alice");
        assertThat(client(policy, PROXY, "x-forwarded-for", "192.0.2.1"))
                .isEqualTo(client(ForwardingPolicy.defaults(), "192.0.2.1"));
    }

    @Test
    void should_not_let_clients_choose_their_name() {
        assertThatThrownBy(() -> ForwardingPolicy.builder()
                        .trust(Trust.REPLACE)
                        .headers(Headers.BOTH)
                        .via(true)
                        .clientHeader("x-client-id")
                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("trust");
        assertThatThrownBy(() -> ForwardingPolicy.builder()
                        .trust(Trust.APPEND)
                        .headers(Headers.BOTH)
                        .via(true)
                        .clientHeader("X-Client")
                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("lower case");
    }
}
