package io.lambdadispatcher.core.internal.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.options.ForwardingPolicy.Headers;
import io.lambdadispatcher.core.options.ForwardingPolicy.Trust;
import io.lambdadispatcher.wire.http.HopByHop;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.ImmediateEventExecutor;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what applications and limits learn about the client of a request. */
class ForwardingHeadersTest {
    private static final String PROXY = "10.0.0.1";
    private static final String EVIL = "6.6.6.6";

    /** Names that applications take for what a proxy says, with the marks that CGI changes. */
    private static final List<String> NAMES = List.of(
            "forwarded",
            "x-forwarded-for",
            "x-forwarded-proto",
            "x-forwarded-host",
            "x-forwarded-port",
            "x-forwarded-prefix",
            "x-forwarded-server",
            "x-forwarded-ssl",
            "x-forwarded-path",
            "x-forwarded",
            "x_forwarded_for",
            "x.forwarded.for",
            "x-forwarded_proto",
            "x-original-url",
            "x-original-host",
            "x-rewrite-url",
            "x-real-ip",
            "x_real_ip",
            "true-client-ip",
            "client-ip",
            "cf-connecting-ip",
            "x-client-ip",
            "x-cluster-client-ip",
            "proxy",
            "cloudfront-viewer-address",
            "cloudfront-forwarded-proto",
            "x-envoy-external-address",
            "x-amzn-oidc-identity",
            "front-end-https",
            "x-scheme",
            "x-host",
            "lambda-dispatcher-client");

    /** Names that clients may send, and that mean something to the dispatcher or to all. */
    private static final List<String> CHECKED = List.of(
            "accept-encoding",
            "cache-control",
            "content-encoding",
            "content-length",
            "content-range",
            "content-type",
            "early-data",
            "idempotency-key",
            "if-match",
            "if-modified-since",
            "if-none-match",
            "if-range",
            "if-unmodified-since",
            "max-forwards",
            "sec-websocket-key",
            "sec-websocket-protocol",
            "x-amz-cf-id",
            "x-amzn-tls-version",
            "x-amzn-trace-id",
            "x-http-method-override",
            "x-request-id");

    private static final List<String> DISGUISED = Stream.of(
                    NAMES, CHECKED, List.of("keep-alive", "proxy-authorization", "transfer-encoding"))
            .flatMap(List::stream)
            .filter(name -> name.indexOf('-') >= 0)
            .toList();

    /** All marks that RFC 9110 section 5.6.2 permits in a name. */
    private static final String MARKS = "!#$%&'*+-.^_`|~";

    /** Returns a name from which CGI makes the same variable as from one of the list. */
    private static String disguised(Random random) {
        String name = DISGUISED.get(random.nextInt(DISGUISED.size()));
        char[] chars = name.toCharArray();
        for (int i = 0; i < chars.length; i++) {
            chars[i] = chars[i] == '-' ? MARKS.charAt(random.nextInt(MARKS.length())) : chars[i];
        }
        String changed = new String(chars);
        return changed.equals(name) ? name.replace('-', '_') : changed;
    }

    /** The client of one request, and its headers after the rules. */
    private record Seen(@Nullable SocketAddress address, Object key, Http2Headers head) {
        String host() {
            return ((InetSocketAddress) address).getAddress().getHostAddress();
        }

        List<String> all(String name) {
            return head.getAll(name).stream().map(CharSequence::toString).toList();
        }
    }

    private static Seen apply(TrustedHeaders trusted, String remote, String... headers) {
        return applyTo("shop.example", trusted, remote, headers);
    }

    private static Seen applyTo(String authority, TrustedHeaders trusted, String remote, String... headers) {
        HeadRules rules = new HeadRules(
                trusted,
                "http",
                new InetSocketAddress(remote, 4711),
                null,
                ResponseDate.of(ImmediateEventExecutor.INSTANCE));
        Http2Headers head = new DefaultHttp2Headers(false)
                .method("GET")
                .scheme("http")
                .authority(authority)
                .path("/");
        for (int i = 0; i < headers.length; i += 2) {
            head.add(headers[i], headers[i + 1]);
        }
        rules.request(head);
        return new Seen(rules.client(), rules.key(rules.client(), head), head);
    }

    private static Seen apply(ForwardingPolicy policy, String remote, String... headers) {
        return apply(new TrustedHeaders(policy, Set.of()), remote, headers);
    }

    private static ForwardingPolicy policy(Trust trust, Headers headers) {
        return ForwardingPolicy.builder().trust(trust).headers(headers).build();
    }

    private static ForwardingPolicy policy(Trust trust) {
        return policy(trust, Headers.BOTH);
    }

    /**
     * A client sends random headers to a proxy. The proxy overwrites what it writes, and appends to
     * x-forwarded-for. Nothing that the client has sent reaches the application, except before the
     * proxy's own element of x-forwarded-for.
     */
    @ParameterizedTest
    @EnumSource
    void should_pass_on_what_the_proxy_says_and_nothing_that_the_client_says(Trust trust) {
        for (int seed = 0; seed < 3_000; seed++) {
            Random random = new Random(seed);
            Headers added = Headers.values()[random.nextInt(Headers.values().length)];
            Map<String, List<String>> sent = new TreeMap<>();
            for (int i = random.nextInt(8); i > 0; i--) {
                String name = random.nextInt(3) == 0 ? disguised(random) : NAMES.get(random.nextInt(NAMES.size()));
                sent.computeIfAbsent(name, key -> new ArrayList<>()).add(EVIL);
            }
            String expected = "203.0.113." + (1 + random.nextInt(200));
            proxy(trust, sent, expected);
            if (random.nextInt(3) == 0) {
                sent.put("connection", List.of(String.join(", ", NAMES)));
            }
            String[] headers = sent.entrySet().stream()
                    .flatMap(field -> field.getValue().stream().flatMap(value -> Stream.of(field.getKey(), value)))
                    .toArray(String[]::new);
            Seen seen = apply(policy(trust, added), trust.isProxied() ? PROXY : expected, headers);

            String what = trust + " " + added + " " + sent + " -> " + seen.head;
            assertThat(seen.host()).as(what).isEqualTo(expected);
            assertThat(seen.key).as(what).isEqualTo(apply(ForwardingPolicy.defaults(), expected).key);
            assertModel(trust, added, seen, expected, what);
        }
    }

    /** Writes as the proxy does. */
    private static void proxy(Trust trust, Map<String, List<String>> sent, String client) {
        trust.headers().stream().filter(name -> !name.equals("x-forwarded-for")).forEach(name -> {
            switch (name) {
                case "x-forwarded-proto", "cloudfront-forwarded-proto" -> sent.put(name, List.of("https"));
                case "x-forwarded-host" -> sent.put(name, List.of("asked.example"));
                case "x-forwarded-port" -> sent.put(name, List.of("4430"));
                case "cloudfront-viewer-address" -> sent.put(name, List.of(client + ":46532"));
                default -> sent.put(name, List.of("of the proxy"));
            }
        });
        if (trust.isProxied()) {
            List<String> chain = new ArrayList<>(sent.getOrDefault("x-forwarded-for", List.of()));
            chain.add(client);
            sent.put("x-forwarded-for", List.of(String.join(", ", chain)));
        }
    }

    private static void assertModel(Trust trust, Headers added, Seen seen, String client, String what) {
        Set<String> mayHave = trust.headers().stream().collect(Collectors.toSet());
        boolean plain = added == Headers.X_FORWARDED || added == Headers.BOTH;
        for (Map.Entry<CharSequence, CharSequence> field : seen.head) {
            String name = field.getKey().toString();
            if (name.equals("x-forwarded-for")) {
                assertThat(field.getValue().toString().replaceAll("(" + EVIL + ", )+", ""))
                        .as(what)
                        .isEqualTo(!trust.isProxied() ? client : plain ? client + ", " + PROXY : client);
            } else {
                assertThat(field.getValue().toString()).as(what).doesNotContain(EVIL);
            }
        }
        seen.head.names().stream()
                .map(CharSequence::toString)
                .filter(NAMES::contains)
                .forEach(name -> assertThat(seen.all(name)).as(what).hasSize(1));
        boolean tls = trust.isProxied();
        assertThat(seen.all("x-forwarded-proto"))
                .as(what)
                .isEqualTo(plain ? List.of(tls ? "https" : "http") : List.of());
        String host = mayHave.contains("x-forwarded-host") ? "asked.example" : "shop.example";
        assertThat(seen.all("x-forwarded-host")).as(what).isEqualTo(plain ? List.of(host) : List.of());
        String port = mayHave.contains("x-forwarded-port") ? "4430" : tls ? "443" : "80";
        assertThat(seen.all("x-forwarded-port"))
                .as(what)
                .isEqualTo(plain || port.equals("4430") ? List.of(port) : List.of());
        boolean standard = added == Headers.FORWARDED || added == Headers.BOTH;
        String element = "for=" + client + ";proto=" + (tls ? "https" : "http") + ";host=\"" + host + "\"";
        assertThat(seen.all("forwarded")).as(what).isEqualTo(standard ? List.of(element) : List.of());
        assertThat(seen.all(HopByHop.CLIENT.toString())).as(what).isEqualTo(tls ? List.of(client) : List.of());
        for (String name : List.of("x-real-ip", "x-envoy-external-address", "x-scheme")) {
            assertThat(seen.all(name)).as(what).isEqualTo(mayHave.contains(name) ? List.of("of the proxy") : List.of());
        }
    }

    @Test
    void should_pass_on_what_clients_may_send() {
        List<String> names = Stream.concat(CHECKED.stream(), Stream.of("my_header", "x.y", "if_not", "content_typed"))
                .toList();
        Seen seen = apply(
                ForwardingPolicy.defaults(),
                PROXY,
                names.stream().flatMap(name -> Stream.of(name, "sent")).toArray(String[]::new));
        for (String name : names) {
            assertThat(seen.all(name)).as(name).containsExactly("sent");
        }
    }

    @Test
    void should_take_all_addresses_of_a_64_for_one_client() {
        ForwardingPolicy policy = ForwardingPolicy.defaults();
        Object client = apply(policy, "2001:db8:1:2::1").key;
        assertThat(apply(policy, "2001:db8:1:2:ffff::9").key).isEqualTo(client);
        assertThat(apply(policy, "2001:db8:1:3::1").key).isNotEqualTo(client);
    }

    @ParameterizedTest
    @CsvSource({
        "192.0.2.1:8080, 192.0.2.1",
        "[2001:db8::7]:443, 2001:db8::8",
        "[2001:db8::7], 2001:db8::8",
        "2001:db8::7, 2001:db8::8",
        "::ffff:192.0.2.1, 192.0.2.1",
        "[::ffff:c000:201]:443, 192.0.2.1"
    })
    void should_read_addresses_with_and_without_ports(String hop, String same) {
        assertThat(apply(policy(Trust.APPEND), PROXY, "x-forwarded-for", hop).key)
                .isEqualTo(apply(ForwardingPolicy.defaults(), same).key);
    }

    @Test
    void should_read_the_address_of_cloudfront_with_a_load_balancer_behind_it() {
        Seen seen = apply(
                policy(Trust.CLOUDFRONT),
                PROXY,
                "cloudfront-viewer-address",
                "2001:db8:0:0:0:0:0:7:46532",
                "x-forwarded-for",
                "2001:db8::7, 130.176.1.1");
        assertThat(seen.key).isEqualTo(apply(ForwardingPolicy.defaults(), "2001:db8::8").key);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "unknown", "_gazonk", "1.2.3", "1.2.3.4, ", "a:1"})
    void should_take_the_peer_if_the_proxy_names_no_address(String value) {
        Seen seen = apply(policy(Trust.APPEND), PROXY, "x-forwarded-for", value);
        assertThat(seen.host()).isEqualTo(PROXY);
        assertThat(seen.key).isEqualTo(apply(ForwardingPolicy.defaults(), PROXY).key);
    }

    @ParameterizedTest
    @CsvSource({"'https, http', http", "HTTPS, https", "ftp, http", "'', http", "http, http"})
    void should_tell_one_scheme(String received, String told) {
        Seen seen = apply(policy(Trust.APPEND), PROXY, "x-forwarded-proto", received);
        assertThat(seen.all("x-forwarded-proto")).containsExactly(told);
    }

    @ParameterizedTest
    @CsvSource({"443, 443", "'80, 443', 443", "0x1bb, 80", "999999, 80", "'', 80"})
    void should_tell_one_port(String received, String told) {
        Seen seen = apply(policy(Trust.APPEND), PROXY, "x-forwarded-port", received);
        assertThat(seen.all("x-forwarded-port")).containsExactly(told);
    }

    /** Tomcat, for example, takes the port of URLs from this header only. */
    @ParameterizedTest
    @CsvSource({"a:8080, http, 8080", "[::1]:81, https, 81", "[::1], https, 443", "a, http, 80", "a:70000, http,"})
    void should_tell_the_port_that_the_client_asked_for(String authority, String scheme, @Nullable String told) {
        Seen proxied = applyTo(
                authority, new TrustedHeaders(policy(Trust.APPEND), Set.of()), PROXY, "x-forwarded-proto", scheme);
        assertThat(proxied.all("x-forwarded-port")).isEqualTo(told == null ? List.of() : List.of(told));
        if (scheme.equals("http")) {
            Seen direct = applyTo(
                    authority, new TrustedHeaders(policy(Trust.REPLACE), Set.of()), PROXY, "x-forwarded-port", "99");
            assertThat(direct.all("x-forwarded-port")).isEqualTo(told == null ? List.of() : List.of(told));
        }
        for (Headers other : List.of(Headers.NONE, Headers.FORWARDED)) {
            assertThat(apply(policy(Trust.REPLACE, other), PROXY).all("x-forwarded-port"))
                    .isEmpty();
        }
    }

    @Test
    void should_keep_headers_that_the_operator_trusts() {
        ForwardingPolicy policy = ForwardingPolicy.builder()
                .trust(Trust.APPEND)
                .headers(Headers.BOTH)
                .trustedHeaders(List.of("x-forwarded-prefix", "forwarded"))
                .build();
        Seen seen = apply(
                policy,
                PROXY,
                "x-forwarded-prefix",
                "/shop",
                "forwarded",
                "for=192.0.2.1",
                "connection",
                "x-forwarded-prefix, forwarded");
        assertThat(seen.all("x-forwarded-prefix")).containsExactly("/shop");
        assertThat(seen.all("forwarded"))
                .containsExactly("for=192.0.2.1, for=10.0.0.1;proto=http;host=\"shop.example\"");
    }

    /** CVE-2024-45410 is of this kind. */
    @Test
    void should_keep_headers_that_decide_whatever_the_client_nominates() {
        TrustedHeaders trusted = new TrustedHeaders(
                ForwardingPolicy.builder()
                        .trust(Trust.APPEND)
                        .clientHeader("x-client-id")
                        .requestIdHeader("x-request-id")
                        .build(),
                Set.of("x-api-key", "x-tenant"));
        String[] names = {
            "x-client-id", "x-request-id", "x-api-key", "x-tenant", "authorization", "cookie", "via", "cache-control"
        };
        List<String> headers = new ArrayList<>();
        for (String name : names) {
            headers.addAll(List.of(name, "sent", "connection", name + ", x-gone"));
        }
        headers.addAll(List.of("x-gone", "1", "x_api_key", "other", "x.tenant", "other"));
        Seen seen = apply(trusted, PROXY, headers.toArray(String[]::new));
        for (String name : names) {
            assertThat(seen.all(name)).as(name).contains("sent");
        }
        assertThat(seen.key).isEqualTo("sent");
        assertThat(seen.head.names().stream().map(CharSequence::toString))
                .doesNotContain("x-gone", "x_api_key", "x.tenant", "connection");
    }

    @Test
    void should_not_let_clients_choose_their_name() {
        assertThatThrownBy(() ->
                        ForwardingPolicy.builder().clientHeader("x-client-id").build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("trust");
        assertThatThrownBy(() -> ForwardingPolicy.builder()
                        .trust(Trust.APPEND)
                        .clientHeader("X-Client")
                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("lower case");
        assertThatThrownBy(() -> ForwardingPolicy.builder()
                        .trustedHeaders(List.of("X-Forwarded-Prefix"))
                        .build())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("lower case");
    }
}
