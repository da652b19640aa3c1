package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lambdadispatcher.core.options.TrafficPolicy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings of breakers, of a function and of its routes. */
class BreakerSettingsTest {
    private static final Map<String, String> SECRET = Map.of("LAMBDA_DISPATCHER_WORKERS_SECRET", "0123456789abcdef");

    @TempDir
    Path directory;

    private List<FunctionConfiguration> load(String... lines) throws Exception {
        return ConfigurationLoader.load(Map.of(), write(lines), SECRET, Map.of(), List.of())
                .functions();
    }

    private List<String> problems(String... lines) throws Exception {
        Path file = write(lines);
        return catchThrowableOfType(
                        ConfigurationException.class,
                        () -> ConfigurationLoader.load(Map.of(), file, SECRET, Map.of(), List.of()))
                .problems();
    }

    private Path write(String... lines) throws Exception {
        return Files.write(directory.resolve("dispatcher.yaml"), List.of(lines));
    }

    @Test
    void should_have_none_by_default() throws Exception {
        assertThat(load("function.name: api").get(0).options().traffic().isFiltered())
                .isFalse();
    }

    @Test
    void should_give_each_route_a_breaker_of_its_own() throws Exception {
        FunctionConfiguration shop = load(
                        "functions:",
                        "  - {name: shop, circuit-breaker: 50% slow 500ms}",
                        "  - {name: static, path: /static}",
                        "routes:",
                        "  - {function: shop, path: /search, circuit-breaker: 20% open 2s}")
                .get(0);
        TrafficPolicy own = shop.options().traffic();
        assertThat(own.breaker().name()).isEqualTo("default");
        assertThat(own.breaker().errors()).isEqualTo(0.5);
        assertThat(own.breaker().latency()).isEqualTo(Duration.ofMillis(500));
        assertThat(own.breaker().open()).isEqualTo(Duration.ofSeconds(5));

        TrafficPolicy search = shop.routes().get(0).policy();
        assertThat(search.breaker().name()).isEqualTo("/search");
        assertThat(search.breaker().errors()).isEqualTo(0.2);
        assertThat(search.breaker().latency()).isZero();
        assertThat(search.breaker().open()).isEqualTo(Duration.ofSeconds(2));
    }

    @ParameterizedTest
    @ValueSource(strings = {"slow 1s", "50", "0%", "101%", "50% open 10ms", "50% open 2h", "50% slow 0s", "50% slow"})
    void should_refuse_values_that_make_no_sense(String breaker) throws Exception {
        assertThat(problems("function.circuit-breaker: " + breaker))
                .singleElement()
                .asString()
                .startsWith("function.circuit-breaker: expected off, or 1% to 100% of the requests, and optionally");
    }
}
