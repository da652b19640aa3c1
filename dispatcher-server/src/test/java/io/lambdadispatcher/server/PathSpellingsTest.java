package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.spi.AmbiguousPathException;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import io.lambdadispatcher.server.config.PathRule;
import io.lambdadispatcher.server.config.Route;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Routes paths in random spellings. The model is what common servers make of them, written in
 * another way than the code: on bytes, and by lists of segments.
 */
class PathSpellingsTest {
    private static final List<String> ROUTES = List.of("", "/login", "/a", "/a/b", "/static");

    private static FunctionConfiguration function(String path) {
        String name = path.isEmpty() ? "root" : path.replace('/', '-').substring(1);
        return new FunctionConfiguration(
                FunctionOptions.of(name),
                new Route(null, null, path, Route.DEFAULT_WEIGHT),
                List.of(),
                null,
                Launcher.EXTERNAL,
                name,
                name,
                null,
                null);
    }

    private static RouteTable table(@Nullable PathRule rule) {
        return new RouteTable(ROUTES.stream().map(PathSpellingsTest::function).toList(), rule);
    }

    private static Http2Headers get(String path) {
        return new DefaultHttp2Headers().method("GET").path(path);
    }

    /** @return the function; "400" for an ambiguous path */
    private static String routed(RouteTable table, Http2Headers head) {
        try {
            RouteTarget target = table.route(head);
            return target == null ? "404" : target.function();
        } catch (AmbiguousPathException e) {
            return "400";
        }
    }

    /** What an application server makes of a path before it looks for its handler. */
    enum Server {
        NGINX("dms"),
        TOMCAT("pdms"),
        TOMCAT_BACKSLASH("pdBms"),
        JETTY("sdp"),
        UNDERTOW("dpsm"),
        PYTHON("dpms"),
        NODE("s"),
        EXPRESS_DECODED("sd"),
        IIS("ddBms"),
        PHP("dcBms"),
        JAVA_OLD("doms"),
        ENVOY_THEN_TOMCAT("usmpdms"),
        CGI("dcms"),
        DOUBLE("dmsdms"),
        SPRING("pdmsp"),
        PROXY_TO_PROXY("usdmsBpdo");

        private final String steps;

        Server(String steps) {
            this.steps = steps;
        }

        String read(String path) {
            String read = path;
            for (char step : steps.toCharArray()) {
                read = switch (step) {
                    case 'd' -> decoded(read, "");
                    case 'u' -> decoded(read, "[A-Za-z0-9._~-]");
                    case 'B' -> read.replace("\\", "/");
                    case 'm' -> read.replaceAll("/+", "/");
                    case 's' -> resolved(read);
                    case 'p' -> read.replaceAll(";[^/]*", "");
                    case 'c' -> read.split("[\0?#]", 2)[0];
                    case 'o' ->
                        read.replaceAll("\u00c0\u00af|\u00e0\u0080\u00af|\u00f0\u0080\u0080\u00af", "/")
                                .replaceAll("\u00c0\u00ae|\u00e0\u0080\u00ae", ".");
                    default -> throw new AssertionError(step);
                };
            }
            return read;
        }

        private static String decoded(String path, String only) {
            StringBuilder out = new StringBuilder();
            for (int i = 0; i < path.length(); i++) {
                String rest = path.substring(i, Math.min(path.length(), i + 3));
                if (rest.matches("%[0-9a-fA-F]{2}")) {
                    String c = String.valueOf((char) Integer.parseInt(rest.substring(1), 16));
                    boolean take = only.isEmpty() || c.matches(only);
                    out.append(take ? c : rest);
                    i += 2;
                } else {
                    out.append(path.charAt(i));
                }
            }
            return out.toString();
        }

        private static String resolved(String path) {
            List<String> kept = new ArrayList<>();
            String[] segments = path.substring(Math.min(1, path.length())).split("/", -1);
            for (int i = 0; i < segments.length; i++) {
                boolean last = i == segments.length - 1;
                if (segments[i].equals("..") && !kept.isEmpty()) {
                    kept.remove(kept.size() - 1);
                }
                if (!segments[i].equals(".") && !segments[i].equals("..")) {
                    kept.add(segments[i]);
                } else if (last) {
                    kept.add("");
                }
            }
            return "/" + String.join("/", kept);
        }
    }

    private static String expected(String path) {
        String best = "";
        for (String route : ROUTES) {
            if (path.equals(route) || path.startsWith(route + "/") || path.startsWith(route + "?")) {
                best = route.length() > best.length() ? route : best;
            }
        }
        return best.isEmpty() ? "root" : best.replace('/', '-').substring(1);
    }

    /** Makes a path of segments, or of one of the routes with some characters written otherwise. */
    private static String spell(Random random) {
        List<String> parts = List.of(
                "/",
                "//",
                "/.",
                "/./",
                "/..",
                "/../",
                "%2e",
                "%2E%2e",
                "%2f",
                "%5c",
                "\\",
                ";x",
                ";/",
                "%3b",
                "%00",
                "%23",
                "%3f",
                "%252e",
                "%25%36%63",
                "%c0%af",
                "%c0%ae",
                "%e0%80%af",
                "%",
                "%zz",
                "x",
                "login",
                "/login",
                "/a",
                "/b",
                "/static",
                "%20",
                "%C3%BC",
                ".",
                "..;");
        StringBuilder path = new StringBuilder("/");
        for (int i = random.nextInt(6); i >= 0; i--) {
            String part = parts.get(random.nextInt(parts.size()));
            for (char c : part.toCharArray()) {
                if (random.nextInt(6) == 0) {
                    String encoded = String.format(random.nextBoolean() ? "%%%02x" : "%%%02X", (int) c);
                    path.append(random.nextInt(4) == 0 ? encoded.replace("%", "%25") : encoded);
                } else {
                    path.append(c);
                }
            }
        }
        return path.toString();
    }

    /** The server takes the path for one of the dispatcher's route, or the client gets 400. */
    @ParameterizedTest
    @EnumSource
    void should_agree_with_a_server_about_the_route(Server server) {
        RouteTable rejecting = table(null);
        RouteTable normalizing = table(PathRule.NORMALIZE);
        int passed = 0;
        for (int seed = 0; seed < 20_000; seed++) {
            String path = spell(new Random(seed));
            String query = seed % 3 == 0 ? "?q=//../%2e" : "";
            Http2Headers head = get(path + query);
            String route = routed(rejecting, head);
            if (!route.equals("400")) {
                passed++;
                assertThat(head.path()).hasToString(path + query);
                assertThat(route).as("seed %d: %s", seed, path).isEqualTo(expected(server.read(path)));
            }
            route = routed(normalizing, head);
            if (!route.equals("400")) {
                String received = head.path().toString();
                assertThat(received).endsWith(query);
                String without = received.substring(0, received.length() - query.length());
                assertThat(route).as("seed %d: %s, %s", seed, path, without).isEqualTo(expected(server.read(without)));
            }
        }
        assertThat(passed).isGreaterThan(4_000);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/%6cogin",
                "/%6Cogin",
                "//login",
                "/./login",
                "/x/../login",
                "/login;a=b",
                "/%2e/login",
                "/login%3Ba",
                "/;x/login",
                "/login%2f",
                "/login%2fx",
                "/login%00",
                "/x/..%5clogin",
                "/x/..;/login",
                "/%256cogin",
                "/%25%36cogin",
                "/x%c0%af../login",
                "/login/..",
                "/login/%2e%2e/x",
                "/login%3fx",
                "/login%23",
                "/x\\..\\login"
            })
    void should_reject_what_may_be_another_route(String path) {
        assertThat(routed(table(null), get(path))).isEqualTo("400");
        assertThat(routed(table(PathRule.REJECT_AMBIGUOUS), get(path + "?a=b"))).isEqualTo("400");
        assertThat(routed(table(PathRule.AS_IS), get(path))).isIn("root", "login");
        RouteTable byHost = new RouteTable(List.of(function("")), PathRule.REJECT_AMBIGUOUS);
        assertThat(routed(byHost, get(path))).as("no other route").isEqualTo("root");
    }

    /** Common paths with escapes, parameters and empty segments are not ambiguous. */
    @ParameterizedTest
    @CsvSource({
        "/x%2Fy, root",
        "/files/caf%C3%A9%20100%25.txt, root",
        "/shop;jsessionid=1/x, root",
        "/a/x;v=1, a",
        "/a/b/group%2Fname, a-b",
        "/static//x.js, static",
        "/static/./x.js, static",
        "/static/../static/x, static",
        "/.well-known/acme, root",
        "/login/, login",
        "/login?next=//evil/..%2f, login",
        "/*, root"
    })
    void should_serve_other_paths_as_they_are(String path, String function) {
        Http2Headers head = get(path);
        assertThat(routed(table(null), head)).isEqualTo(function);
        assertThat(head.path()).hasToString(path);
    }

    @ParameterizedTest
    @CsvSource({
        "/%6cogin?x=%6c, login, /login?x=%6c",
        "//login, login, /login",
        "/x/./../login, login, /login",
        "/%7Ejo/%2e%2E/b, root, /b",
        "/a//b, a-b, /a/b",
        "/x%2fy, root, /x%2fy",
        "/x/%C3%BC, root, /x/%C3%BC",
        "/../.., root, /",
        "/login%2f, 400, /login%2f",
        "/login;a, 400, /login;a",
        "/%256cogin, 400, /%256cogin"
    })
    void should_normalize_and_reject_what_remains_ambiguous(String path, String function, String received) {
        Http2Headers head = get(path);
        assertThat(routed(table(PathRule.NORMALIZE), head)).isEqualTo(function);
        assertThat(head.path()).hasToString(received);
    }

    /** Servlet containers take {@code /a;x} for the route, and nginx for a path without one. */
    @ParameterizedTest
    @CsvSource({"/a, a", "/a;x, 400", "/a;jsessionid=1?q, 400", "/a;/x, 400", "/a/;x, a", "/a/x;v=1, a", "/b;x, 404"})
    void should_reject_parameters_of_the_only_routes_own_segment(String path, String seen) {
        assertThat(routed(new RouteTable(List.of(function("/a")), null), get(path)))
                .isEqualTo(seen);
    }

    /** A path that is not of ASCII can be written only in this way. */
    @Test
    void should_serve_a_route_whose_own_path_has_escapes() {
        RouteTable table = new RouteTable(List.of(function(""), function("/caf%C3%A9"), function("/a%20b")), null);
        assertThat(routed(table, get("/caf%C3%A9"))).isEqualTo("caf%C3%A9");
        assertThat(routed(table, get("/caf%C3%A9/x%2Fy"))).isEqualTo("caf%C3%A9");
        assertThat(routed(table, get("/a%20b?c"))).isEqualTo("a%20b");
        assertThat(routed(table, get("/a%20bc"))).isEqualTo("root");
        assertThat(routed(table, get("/%61%20b"))).isEqualTo("400");
        assertThat(routed(table, get("//a%20b"))).isEqualTo("400");
    }

    /** An attacker chooses the path. */
    @Test
    void should_take_bounded_time_for_any_path() {
        String nested = "/" + "%25".repeat(5_000) + "2e/..;//".repeat(200);
        long start = System.nanoTime();
        for (int i = 0; i < 20; i++) {
            assertThat(routed(table(null), get(nested))).isEqualTo("400");
        }
        assertThat(System.nanoTime() - start).isLessThan(20 * 500_000_000L);
        assertThat(nested.getBytes(StandardCharsets.US_ASCII)).hasSizeGreaterThan(16_000);
    }
}
