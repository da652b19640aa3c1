package io.lambdadispatcher.core.internal.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.wire.testkit.HeaderBytes;
import io.lambdadispatcher.wire.testkit.HttpRules;
import io.lambdadispatcher.wire.testkit.HttpRules.Header;
import io.lambdadispatcher.wire.testkit.HttpRules.Length;
import io.lambdadispatcher.wire.testkit.HttpRules.Trailer;
import io.lambdadispatcher.wire.testkit.HttpRules.Verdict;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Checks that the rules of HTTP give the same verdicts for HTTP/1.1 clients, HTTP/2 clients, and
 * the embedding program.
 */
class ClientHttpRulesTest {

    private static <T> Stream<Arguments> onEachPath(List<T> rules) {
        return Stream.of(ClientPath.Kind.values())
                .flatMap(kind -> rules.stream().map(rule -> Arguments.of(kind, rule)));
    }

    static Stream<Arguments> headers() {
        return onEachPath(HttpRules.headers());
    }

    static Stream<Arguments> trailers() {
        return onEachPath(HttpRules.trailers());
    }

    static Stream<Arguments> lengths() {
        return onEachPath(HttpRules.lengths());
    }

    private static Http2Headers fields(Header rule) {
        Http2Headers fields = new DefaultHttp2Headers(false);
        if (rule.nominated()) {
            fields.add("connection", "x-other, " + rule.name());
        }
        return fields.add(rule.name(), rule.value());
    }

    private static Verdict verdict(Http2Headers passedOn, String name) {
        return passedOn == null ? Verdict.REFUSED : passedOn.contains(name) ? Verdict.PASSED : Verdict.DROPPED;
    }

    @ParameterizedTest
    @MethodSource("headers")
    void should_pass_drop_or_refuse_headers_of_a_request(ClientPath.Kind kind, Header rule) {
        try (ClientPath path = ClientPath.of(kind)) {
            path.request(fields(rule), "", null);
            Verdict expected = kind == ClientPath.Kind.HTTP2 ? rule.inHttp2(rule.inRequest()) : rule.inRequest();
            assertThat(verdict(path.head, rule.name())).isEqualTo(expected);
            assertThat(path.isRefused()).isEqualTo(expected == Verdict.REFUSED);
        }
    }

    /** {@code WorkerHttpRulesTest} tests the headers that a worker may not send. */
    @ParameterizedTest
    @MethodSource("headers")
    void should_pass_or_drop_headers_of_a_response(ClientPath.Kind kind, Header rule) {
        if (rule.inResponse() == Verdict.REFUSED) {
            return;
        }
        try (ClientPath path = ClientPath.of(kind)) {
            path.request(new DefaultHttp2Headers(false), "", null);
            Http2Headers seen = path.respond(fields(rule).status("200"), null);
            assertThat(seen.contains(rule.name())).isEqualTo(rule.inResponse() == Verdict.PASSED);
        }
    }

    /** Between a client and a worker, no byte changes. Only an embedder's strings must be UTF-8. */
    @ParameterizedTest
    @EnumSource
    void should_pass_on_any_bytes_above_ascii_unchanged(ClientPath.Kind kind) {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int i = 0; i < 200; i++) {
            byte[] bytes = HeaderBytes.random(random);
            AsciiString target = HeaderBytes.value("/a?b=", bytes);
            boolean encoded = Arrays.equals(HeaderBytes.text(bytes).getBytes(StandardCharsets.UTF_8), bytes);
            if (kind == ClientPath.Kind.EMBEDDED && !encoded) {
                continue;
            }
            try (ClientPath path = ClientPath.of(kind)) {
                path.target = target;
                path.request(new DefaultHttp2Headers(false).add("x-a", HeaderBytes.value("", bytes)), "", null);
                String round = kind + ", round " + i + " of seed " + seed;
                assertThat(path.isRefused()).as(round).isFalse();
                assertThat(path.head.path()).as(round).hasToString(target.toString());
                assertThat(AsciiString.of(path.head.get("x-a")).toByteArray())
                        .as(round)
                        .isEqualTo(bytes);

                Http2Headers response = new DefaultHttp2Headers(false).status("200");
                Http2Headers seen = path.respond(response.add("x-b", HeaderBytes.value("", bytes)), null);
                assertThat(AsciiString.of(seen.get("x-b")).toByteArray())
                        .as(round)
                        .isEqualTo(bytes);
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void should_refuse_malformed_targets(ClientPath.Kind kind) {
        for (String target : List.of("/a\u007f", "/a#b", "a", "/a\u0001", "/a\tb", "*", "*?a")) {
            try (ClientPath path = ClientPath.of(kind)) {
                path.target = target;
                path.request(new DefaultHttp2Headers(false), "", null);
                assertThat(path.head).as(target).isNull();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("trailers")
    void should_pass_drop_or_refuse_trailers_of_a_request(ClientPath.Kind kind, Trailer rule) {
        try (ClientPath path = ClientPath.of(kind)) {
            path.request(
                    new DefaultHttp2Headers(false),
                    HttpRules.BODY,
                    new DefaultHttp2Headers(false).add(rule.name(), "1").add("x-first", "1"));
            assertThat(verdict(path.trailers, rule.name())).isEqualTo(rule.inRequest());
            assertThat(path.isRefused()).isEqualTo(rule.inRequest() == Verdict.REFUSED);
        }
    }

    /** An application may merge trailers into the headers (RFC 9110 section 6.5.1). */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "x-real-ip",
                "x_real_ip",
                "true-client-ip",
                "proxy",
                "x-original-url",
                "x-amzn-oidc-data",
                "x-envoy-external-address",
                "cloudfront-viewer-address",
                "cdn-loop",
                "x-tenant",
                "x.tenant",
                "x-trace"
            })
    void should_drop_trailers_of_a_request_that_a_client_may_not_set_as_headers(String name) {
        ForwardingPolicy policy = ForwardingPolicy.builder()
                .trust(ForwardingPolicy.Trust.INGRESS_NGINX)
                .trustedHeaders(Set.of("x-tenant"))
                .requestIdHeader("x-trace")
                .build();
        for (ClientPath.Kind kind : List.of(ClientPath.Kind.HTTP1, ClientPath.Kind.HTTP2)) {
            try (ClientPath path = ClientPath.of(kind, policy)) {
                path.request(
                        new DefaultHttp2Headers(false),
                        HttpRules.BODY,
                        new DefaultHttp2Headers(false).add(name, "1").add("x-first", "1"));
                assertThat(path.trailers)
                        .as(kind.name())
                        .singleElement()
                        .asString()
                        .startsWith("x-first");

                Http2Headers seen = path.respond(
                        new DefaultHttp2Headers(false).status("200"), new DefaultHttp2Headers(false).add(name, "1"));
                assertThat(seen.contains(name)).as("in a response").isTrue();
            }
        }
    }

    @ParameterizedTest
    @MethodSource("trailers")
    void should_pass_or_drop_trailers_of_a_response(ClientPath.Kind kind, Trailer rule) {
        if (rule.inResponse() == Verdict.REFUSED) {
            return;
        }
        try (ClientPath path = ClientPath.of(kind)) {
            path.request(new DefaultHttp2Headers(false), "", null);
            Http2Headers seen = path.respond(
                    new DefaultHttp2Headers(false).status("200"),
                    new DefaultHttp2Headers(false).add(rule.name(), "1").add("x-first", "1"));
            assertThat(verdict(seen, rule.name())).isEqualTo(rule.inResponse());
        }
    }

    @ParameterizedTest
    @MethodSource("lengths")
    void should_hold_a_request_to_its_content_length(ClientPath.Kind kind, Length rule) {
        if (kind == ClientPath.Kind.HTTP1 && rule.isMismatch()) {
            return;
        }
        try (ClientPath path = ClientPath.of(kind)) {
            Http2Headers fields = new DefaultHttp2Headers(false);
            rule.values().forEach(value -> fields.add("content-length", value));
            path.request(fields, HttpRules.BODY, null);
            assertThat(path.isComplete()).isEqualTo(rule.verdict() == Verdict.PASSED);
            assertThat(path.isRefused()).isEqualTo(rule.verdict() == Verdict.REFUSED);
        }
    }

    /** RFC 9110 section 8.6 forbids content-length in responses without content. */
    @ParameterizedTest
    @EnumSource
    void should_send_no_content_length_where_there_is_none(ClientPath.Kind kind) {
        for (String status : List.of("103", "204")) {
            try (ClientPath path = ClientPath.of(kind)) {
                path.request(new DefaultHttp2Headers(false), "", null);
                Http2Headers seen = path.respond(
                        new DefaultHttp2Headers(false).status(status).add("content-length", "4"), null);
                assertThat(seen == null || !seen.contains("content-length")).isTrue();
            }
        }
    }

    /** RFC 9110 section 6.6.1. An embedding program sets the date of its own responses. */
    @ParameterizedTest
    @CsvSource({"HTTP1, 200", "HTTP1, 404", "HTTP1, 503", "HTTP2, 200", "HTTP2, 404", "HTTP2, 503"})
    void should_date_a_response_that_has_no_date(ClientPath.Kind kind, String status) {
        try (ClientPath path = ClientPath.of(kind)) {
            path.request(new DefaultHttp2Headers(false), "", null);
            Http2Headers seen = path.respond(new DefaultHttp2Headers(false).status(status), null);
            Instant date = Instant.from(
                    DateTimeFormatter.RFC_1123_DATE_TIME.parse(seen.get("date").toString()));
            assertThat(Duration.between(date, Instant.now())).isBetween(Duration.ZERO, Duration.ofSeconds(30));
        }
    }

    @ParameterizedTest
    @EnumSource
    void should_keep_the_date_of_a_handler(ClientPath.Kind kind) {
        String date = "Sun, 06 Nov 1994 08:49:37 GMT";
        try (ClientPath path = ClientPath.of(kind)) {
            path.request(new DefaultHttp2Headers(false), "", null);
            Http2Headers seen =
                    path.respond(new DefaultHttp2Headers(false).status("200").add("date", date), null);
            assertThat(seen.getAll("date"))
                    .hasSize(1)
                    .allSatisfy(each -> assertThat(each).hasToString(date));
        }
    }

    @ParameterizedTest
    @CsvSource({"HTTP1", "HTTP2"})
    void should_not_date_an_interim_response(ClientPath.Kind kind) {
        try (ClientPath path = ClientPath.of(kind)) {
            path.request(new DefaultHttp2Headers(false), "", null);
            Http2Headers seen =
                    path.respond(new DefaultHttp2Headers(false).status("103").add("link", "</a>"), null);
            assertThat(seen.contains("link")).isTrue();
            assertThat(seen.contains("date")).isFalse();
        }
    }

    /** CGI, and interfaces like it, do not distinguish {@code _} from {@code -}. */
    @ParameterizedTest
    @CsvSource({
        "HTTP1, x_forwarded_for",
        "HTTP1, x-forwarded_proto",
        "HTTP1, lambda_dispatcher_request-id",
        "HTTP2, x_forwarded_for",
        "HTTP2, x-forwarded_proto",
        "HTTP2, lambda_dispatcher_request-id"
    })
    void should_drop_what_may_be_taken_for_a_header_of_the_dispatcher(ClientPath.Kind kind, String name) {
        for (ForwardingPolicy.Trust trust : ForwardingPolicy.Trust.values()) {
            ForwardingPolicy policy = ForwardingPolicy.builder()
                    .trust(trust)
                    .headers(ForwardingPolicy.Headers.X_FORWARDED)
                    .via(false)
                    .clientHeader("")
                    .build();
            try (ClientPath path = ClientPath.of(kind, policy)) {
                path.request(new DefaultHttp2Headers(false).add(name, "1"), "", null);
                assertThat(verdict(path.head, name)).isEqualTo(Verdict.DROPPED);
            }
        }
    }

    /** The client's list is kept, in one line or several, and has the dispatcher at its end. */
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            quoteCharacter = '"',
            value = {
                "0; none",
                "0; other, not-lambda-dispatcher",
                "1; lambda-dispatcher",
                "7; Lambda-Dispatcher \t",
                "7; \"lambda-dispatcher;x=1, a\"",
                "8; lambda-dispatcher",
                "9; \"a, lambda-dispatcher;x=1\""
            })
    void should_refuse_a_request_that_runs_in_a_loop(int times, String element) {
        for (ClientPath.Kind kind : List.of(ClientPath.Kind.HTTP1, ClientPath.Kind.HTTP2)) {
            for (boolean joined : List.of(true, false)) {
                Http2Headers sent = new DefaultHttp2Headers(false).add("cdn-loop", "first");
                List<String> elements = Collections.nCopies(Math.max(1, times), element.strip());
                (joined ? List.of(String.join(",", elements)) : elements).forEach(each -> sent.add("cdn-loop", each));
                try (ClientPath path = ClientPath.of(kind)) {
                    path.request(sent, "", null);
                    assertThat(path.head == null).as("%s %s", kind, sent).isEqualTo(times >= 8);
                    if (path.head != null) {
                        assertThat(path.head.getAll("cdn-loop"))
                                .singleElement()
                                .asString()
                                .startsWith("first,")
                                .endsWith(element.strip() + ", lambda-dispatcher");
                    }
                }
            }
        }
    }

    /** nginx does not compress for a request with it. */
    @ParameterizedTest
    @CsvSource({"HTTP1, false", "HTTP1, true", "HTTP2, false", "HTTP2, true"})
    void should_add_via_only_if_asked(ClientPath.Kind kind, boolean via) {
        ForwardingPolicy policy = via ? ForwardingPolicy.builder().via(true).build() : ForwardingPolicy.defaults();
        try (ClientPath path = ClientPath.of(kind, policy)) {
            path.request(new DefaultHttp2Headers(false), "", null);
            assertThat(path.head.contains("via")).isEqualTo(via);
            assertThat(path.head.getAll("cdn-loop")).singleElement().hasToString("lambda-dispatcher");
            Http2Headers seen = path.respond(new DefaultHttp2Headers(false).status("200"), null);
            assertThat(seen.contains("via")).isEqualTo(via);
        }
    }

    /** A worker rejects a value that ends with a blank, and the request with it. */
    @ParameterizedTest
    @CsvSource({
        "HTTP1, a=1|b=2, a=1; b=2",
        "HTTP1, a=1|, a=1",
        "HTTP1, |a=1, a=1",
        "HTTP1, a=1||b=2, a=1; b=2",
        "HTTP1, |,",
        "HTTP2, a=1|b=2, a=1; b=2",
        "HTTP2, a=1|, a=1",
        "HTTP2, |a=1, a=1",
        "HTTP2, a=1||b=2, a=1; b=2",
        "HTTP2, |,"
    })
    void should_join_cookies_and_drop_empty_ones(ClientPath.Kind kind, String cookies, String joined) {
        try (ClientPath path = ClientPath.of(kind)) {
            path.request(new DefaultHttp2Headers(false).add("cookie", cookies.split("\\|", -1)), "", null);
            List<CharSequence> passedOn = path.head.getAll("cookie");
            assertThat(passedOn).map(CharSequence::toString).isEqualTo(joined == null ? List.of() : List.of(joined));
        }
    }
}
