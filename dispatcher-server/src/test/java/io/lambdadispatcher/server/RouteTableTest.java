package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.AmbiguousPathException;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import io.lambdadispatcher.server.config.FunctionConfiguration.RoutePolicy;
import io.lambdadispatcher.server.config.PathRule;
import io.lambdadispatcher.server.config.Route;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RouteTableTest {
    private static FunctionConfiguration function(String name, Route route) {
        return new FunctionConfiguration(
                FunctionOptions.of(name), route, List.of(), null, Launcher.EXTERNAL, name, name, null, null);
    }

    private static FunctionConfiguration function(String name, @Nullable String host, String path) {
        return function(name, new Route(host, null, path, Route.DEFAULT_WEIGHT));
    }

    private static FunctionConfiguration function(String name, Route.Header header, String path) {
        return function(name, new Route(null, header, path, Route.DEFAULT_WEIGHT));
    }

    private static Http2Headers get(@Nullable String authority, String path) {
        Http2Headers head = new DefaultHttp2Headers().method("GET").path(AsciiString.of(path));
        return authority == null ? head : head.authority(authority);
    }

    private static @Nullable String chosen(RouteTable table, Http2Headers head) {
        RouteTarget target = table.route(head);
        return target == null ? null : target.function();
    }

    @ParameterizedTest
    @CsvSource({
        "/, root",
        "/x, root",
        "/images, images",
        "/images/, images",
        "/images/7, images",
        "/images?x, images",
        "/imagesque, root",
        "/IMAGES, root",
        "/images/raw/7, raw",
        "*, root"
    })
    void should_take_the_longest_path_in_whole_segments(String path, String expected) {
        RouteTable table = new RouteTable(List.of(
                function("root", (String) null, ""),
                function("images", (String) null, "/images"),
                function("raw", (String) null, "/images/raw")));

        assertThat(chosen(table, get(null, path))).isEqualTo(expected);
    }

    @Test
    void should_find_no_function_where_no_path_fits() {
        RouteTable table = new RouteTable(List.of(function("images", (String) null, "/images")));

        assertThat(chosen(table, get(null, "/"))).isNull();
        assertThat(chosen(table, new DefaultHttp2Headers().method("CONNECT"))).isNull();
    }

    @ParameterizedTest
    @CsvSource({
        "www.example.org, exact",
        "WWW.Example.ORG:8443, exact",
        "www.example.org., exact",
        "www.example.org.:80, exact",
        "a.example.org, star",
        "a.b.example.org:1, star",
        "x.api.example.org, longer",
        "api.example.org, star",
        "example.org, any",
        "badexample.org, any",
        ".example.org, any",
        "www.example.org.evil, any",
        "www.example.org:80:80, any",
        "[::1]:80, any"
    })
    void should_prefer_a_host_to_a_host_with_a_star_to_none(String authority, String expected) {
        RouteTable table = new RouteTable(List.of(
                function("any", (String) null, "/very/long"),
                function("any-short", (String) null, ""),
                function("star", "*.example.org", ""),
                function("longer", "*.api.example.org", ""),
                function("exact", "www.example.org", "")));

        assertThat(chosen(table, get(authority, "/very/long"))).isEqualTo(expected);
    }

    @Test
    void should_not_take_a_request_without_an_authority_for_one_of_a_host() {
        RouteTable table = new RouteTable(List.of(function("exact", "www.example.org", "")));

        assertThat(chosen(table, get(null, "/"))).isNull();
    }

    @Test
    void should_prefer_a_header_with_a_value_to_one_without_to_a_long_path() {
        RouteTable table = new RouteTable(List.of(
                function("path", (String) null, "/a/b"),
                function("present", new Route.Header("x-beta", null), ""),
                function("value", new Route.Header("x-beta", "yes please"), "")));

        assertThat(chosen(table, get(null, "/a/b"))).isEqualTo("path");
        assertThat(chosen(table, get(null, "/a/b").add("x-beta", "no"))).isEqualTo("present");
        assertThat(chosen(table, get(null, "/a/b").add("x-beta", "yes please"))).isEqualTo("value");
        assertThat(chosen(table, get(null, "/a/b").add("x-beta", "no").add("x-beta", "yes please")))
                .isEqualTo("value");
        assertThat(chosen(table, get(null, "/a/b").add("x-beta", "Yes please"))).isEqualTo("present");
        assertThat(chosen(table, get(null, "/z"))).isNull();
    }

    @Test
    void should_give_the_policy_of_the_most_specific_route() {
        TrafficPolicy policy = TrafficPolicy.builder().build();
        FunctionConfiguration api = new FunctionConfiguration(
                FunctionOptions.of("api"),
                new Route(null, null, "", Route.DEFAULT_WEIGHT),
                List.of(new RoutePolicy(new Route(null, null, "/search", Route.DEFAULT_WEIGHT), policy)),
                null,
                Launcher.EXTERNAL,
                "api",
                "api",
                null,
                null);
        RouteTable table = new RouteTable(List.of(api, function("images", (String) null, "/images")));

        assertThat(table.route(get(null, "/search/7"))).isEqualTo(new RouteTarget("api", policy));
        assertThat(table.route(get(null, "/search/7"))).isSameAs(table.route(get(null, "/search")));
        assertThat(table.route(get(null, "/other"))).isEqualTo(RouteTarget.of("api"));
    }

    @Test
    void should_share_requests_by_weight() {
        RouteTable table = new RouteTable(List.of(
                function("stable", new Route(null, null, "", 900)),
                function("next", new Route(null, null, "", 100)),
                function("other", (String) null, "/other")));
        int others = 0;
        for (int i = 0; i < 20_000; i++) {
            String chosen = chosen(table, get(null, "/"));
            assertThat(chosen).isIn("stable", "next");
            others += "next".equals(chosen) ? 1 : 0;
        }

        // 2000 expected, with a standard deviation of 42.
        assertThat(others).isBetween(1700, 2300);
    }

    @Test
    void should_send_nothing_to_a_function_without_weight() {
        RouteTable table = new RouteTable(List.of(
                function("first", new Route(null, null, "", 0)),
                function("second", new Route(null, null, "", 1)),
                function("third", new Route(null, null, "", 0))));
        for (int i = 0; i < 1000; i++) {
            assertThat(chosen(table, get(null, "/"))).isEqualTo("second");
        }
    }

    /**
     * The client's side of "only what is configured is invoked": whatever it sends, the answer is
     * null or one of these.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "/admin/../secret",
                "/%61dmin",
                "//admin",
                "/admin%2f..",
                "/public\\admin",
                "/public;/admin",
                "/arn:aws:lambda:eu-central-1:123456789012:function:other",
                "/x?function=other",
                "/public#/admin"
            })
    void should_never_answer_with_something_that_is_not_configured(String path) {
        RouteTable table = new RouteTable(
                List.of(function("public", (String) null, "/public"), function("admin", "admin.example.org", "/admin")),
                PathRule.AS_IS);
        Stream.of("example.org", "admin.example.org", "other", "admin.example.org@evil", "*.example.org")
                .forEach(authority -> {
                    Http2Headers head = get(authority, path)
                            .add("x-function", "other")
                            .add("x-amz-function-name", "other")
                            .add("lambda-dispatcher-function", "other")
                            .add("host", "admin.example.org")
                            .add("x-forwarded-host", "admin.example.org");
                    String chosen = chosen(table, head);
                    if (path.startsWith("/admin/") && authority.equals("admin.example.org")) {
                        assertThat(chosen).isEqualTo("admin");
                    } else if (path.startsWith("/public/")) {
                        assertThat(chosen).isEqualTo("public");
                    } else {
                        assertThat(chosen).isNull();
                    }
                });
    }

    @Test
    void should_answer_with_a_configured_name_whatever_the_bytes() {
        PathRule[] rules = PathRule.values();
        RouteTable[] tables = new RouteTable[rules.length];
        for (PathRule rule : rules) {
            tables[rule.ordinal()] = new RouteTable(
                    List.of(
                            function("public", "*.example.org", "/public"),
                            function("admin", new Route.Header("x-admin", "1"), "/admin")),
                    rule);
        }
        Random random = new Random(7);
        String letters = "/publicadmin.example.org:*%?#\\1 ";
        for (int i = 0; i < 20_000; i++) {
            Http2Headers head = new DefaultHttp2Headers(false)
                    .path(text(random, letters))
                    .authority(text(random, letters))
                    .add("x-admin", text(random, "1 2"));
            try {
                String chosen = chosen(tables[i % tables.length], head);
                if (chosen != null) {
                    assertThat(Set.of("public", "admin")).contains(chosen);
                }
            } catch (AmbiguousPathException e) {
                assertThat(rules[i % rules.length]).isNotEqualTo(PathRule.AS_IS);
            }
        }
    }

    private static String text(Random random, String letters) {
        StringBuilder text = new StringBuilder(random.nextBoolean() ? "/public" : "");
        for (int i = random.nextInt(12); i > 0; i--) {
            text.append(letters.charAt(random.nextInt(letters.length())));
        }
        return text.append(random.nextBoolean() ? ".example.org" : "").toString();
    }
}
