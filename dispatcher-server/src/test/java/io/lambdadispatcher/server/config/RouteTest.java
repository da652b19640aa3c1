package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lambdadispatcher.core.options.DirectEventFormat;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RouteTest {
    @TempDir
    Path directory;

    private Configuration load(String... lines) throws Exception {
        Path file = directory.resolve("dispatcher.yaml");
        Files.write(file, List.of(lines));
        return ConfigurationLoader.load(
                Map.of(), file, Map.of("LAMBDA_DISPATCHER_WORKERS_SECRET", "0123456789abcdef"), Map.of(), List.of());
    }

    private List<String> problems(String... lines) {
        return catchThrowableOfType(ConfigurationException.class, () -> load(lines)).problems().stream()
                .map(problem -> problem.replace(directory + "/", ""))
                .toList();
    }

    @Test
    void should_read_routes() throws Exception {
        Configuration configuration = load(
                "functions:",
                "- {name: a, host: WWW.Example.org, path: /api/, header: 'X-Beta: yes please'}",
                "- {name: b, host: '*.example.org', header: X-Beta, weight: 7}");

        assertThat(configuration.functions())
                .extracting(FunctionConfiguration::route)
                .containsExactly(
                        new Route("www.example.org", new Route.Header("x-beta", "yes please"), "/api", 100),
                        new Route("*.example.org", new Route.Header("x-beta", null), "", 7));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "*", "a.*", "*a.example", "a..b", "-a", "a:80", "a/b", "http://a", "a b", "ä.example"})
    void should_refuse_what_is_no_host(String host) {
        assertThatThrownBy(() -> Route.parseHost(host)).isInstanceOf(IllegalArgumentException.class);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ":authority", ": x", "a b", "a:", "a: ", "a: \u0001", "a: ü", "ä"})
    void should_refuse_what_is_no_header(String header) {
        assertThatThrownBy(() -> Route.Header.parse(header)).isInstanceOf(IllegalArgumentException.class);
    }

    /** A route that no request could ever fit. */
    @ParameterizedTest
    @ValueSource(strings = {"Host", "host: www.example.org", "Connection: upgrade", "expect"})
    void should_refuse_a_header_that_is_gone_before_requests_are_routed(String header) {
        assertThat(problems("function.header: '" + header + "'"))
                .containsExactly("function.header: expected a header such as x-beta or 'x-beta: yes', except host,"
                        + " expect and hop-by-hop headers, got \"" + header + "\" (dispatcher.yaml line 1, column 1)");
    }

    @Test
    void should_refuse_equal_routes_unless_all_have_a_weight() throws Exception {
        assertThat(problems("functions:", "- {name: a, path: /x}", "- {name: b, path: /x/}"))
                .containsExactly(
                        "function b, path: expected a path, host or header other than those of function a, or a"
                                + " weight for both, got \"/x/\" (dispatcher.yaml line 3, column 13)");
        assertThat(problems("functions:", "- {name: a, weight: 1}", "- {name: b}"))
                .hasSize(1);
        assertThat(load("functions:", "- {name: a, weight: 1}", "- {name: b, weight: 100}")
                        .functions())
                .hasSize(2);
        assertThat(load("functions:", "- {name: a}", "- {name: b, host: x}", "- {name: c, header: x}")
                        .functions())
                .hasSize(3);
    }

    @Test
    void should_read_how_requests_go_directly() throws Exception {
        Configuration configuration = load(
                "functions:",
                "- {name: a, path: /a, mode: direct, event-format: alb-multi-value, max-concurrent-invocations: 5, lambda: l}",
                "- {name: b, path: /b, spillover: 250ms to d}",
                "- {name: c, path: /c}");

        List<FunctionConfiguration> functions = configuration.functions();
        assertThat(functions.get(0).direct()).satisfies(direct -> {
            assertThat(direct.format()).isEqualTo(DirectEventFormat.ALB_MULTI_VALUE);
            assertThat(direct.maxConcurrentInvocations()).isEqualTo(5);
            assertThat(direct.spilloverAfter()).isNull();
        });
        assertThat(functions.get(1).direct()).satisfies(direct -> {
            assertThat(direct.format()).isEqualTo(DirectEventFormat.HTTP_API_V2);
            assertThat(direct.spilloverAfter()).isEqualTo(Duration.ofMillis(250));
        });
        assertThat(functions.get(2).direct()).isNull();
        assertThat(functions).extracting(FunctionConfiguration::directLambda).containsExactly("l", "d", "c");
    }

    @Test
    void should_refuse_settings_that_contradict_the_mode() {
        assertThat(problems("function.mode: direct", "function.max-workers: 3", "function.spillover: 1s"))
                .containsExactly(
                        "function.max-workers: expected 0, because a function in mode direct has no workers, got \"3\""
                                + " (dispatcher.yaml line 2, column 1)",
                        "function.spillover: expected off, because in mode direct all requests are direct, got"
                                + " \"1s\" (dispatcher.yaml line 3, column 1)");
        assertThat(problems("function.spillover: 10s"))
                .containsExactly("function.spillover: expected less than function.queue-timeout, got \"10s\""
                        + " (dispatcher.yaml line 1, column 1)");
    }

    @Test
    void should_refuse_what_lambda_cannot_call_directly() {
        String name = "function.name: expected a name that a Lambda function can have, or function.lambda to be set,"
                + " got \"my api\" (dispatcher.yaml line 1, column 12)";
        String lambda = ": expected the name or ARN of a Lambda function, with or without :alias or :version, got ";
        assertThat(problems("function: {name: my api, mode: direct}")).containsExactly(name);
        assertThat(problems("function: {name: my api, spillover: 1s}")).containsExactly(name);
        assertThat(problems("function: {mode: direct, lambda: 'arn:aws:s3:::x'}"))
                .containsExactly("function.lambda" + lambda + "\"arn:aws:s3:::x\" (dispatcher.yaml line 1, column 26)");
        assertThat(problems("function.spillover: 1s to a b"))
                .singleElement()
                .asString()
                .startsWith(
                        "function.spillover: expected off, or a duration of at least 10ms, and optionally the name");
        assertThat(problems("function.spillover: 9ms")).hasSize(1);
        assertThat(problems("function: {name: my api, launcher: lambda, max-workers: 1, spillover: 1s}"))
                .containsExactly(name);
    }

    @Test
    void should_refuse_a_launcher_of_a_function_without_workers() {
        assertThat(problems("function: {mode: direct, launcher: lambda}"))
                .containsExactly(
                        "function.launcher: expected external, because a function in mode direct has no workers, got"
                                + " \"lambda\" (dispatcher.yaml line 1, column 26)");
    }

    @Test
    void should_need_no_secret_where_no_worker_comes() throws Exception {
        Path file = directory.resolve("direct.yaml");
        Files.writeString(file, "function.mode: direct\n");

        assertThat(ConfigurationLoader.load(Map.of(), file, Map.of(), Map.of(), List.of())
                        .functions())
                .hasSize(1);
    }
}
