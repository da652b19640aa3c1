package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lambdadispatcher.cache.CachePolicy;
import io.lambdadispatcher.cache.HttpCache;
import io.lambdadispatcher.core.observe.FilterGauge;
import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.core.spi.FilterExtension;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Settings of stored responses, of a function, of its routes, and of the program. */
class CacheSettingsTest {
    private static final Map<String, String> SECRET = Map.of("LAMBDA_DISPATCHER_WORKERS_SECRET", "0123456789abcdef");

    @TempDir
    Path directory;

    private Configuration load(String... lines) throws Exception {
        Path file = Files.write(directory.resolve("dispatcher.yaml"), List.of(lines));
        return ConfigurationLoader.load(Map.of(), file, SECRET, Map.of(), List.of());
    }

    private static CachePolicy of(FunctionConfiguration function) {
        return function.options().traffic().extension(CachePolicy.class);
    }

    @Test
    void should_store_nothing_by_default() throws Exception {
        for (String off : List.of("function.name: api", "function.cache: off", "function.cache: 'false'")) {
            FunctionConfiguration function = load(off).functions().get(0);
            assertThat(function.options().traffic().isFiltered()).as(off).isFalse();
        }
    }

    /** A handler may see by which route a request came. A weight is no other route. */
    @Test
    void should_separate_what_routes_store() throws Exception {
        FunctionConfiguration function = load(
                        "functions:",
                        "- {name: api, weight: 3, cache: on stale-if-error 1h}",
                        "- {name: other, weight: 5}",
                        "routes:",
                        "- {function: api, path: /pages, cache: true}")
                .functions()
                .get(0);
        CachePolicy ofRoute = function.routes().get(0).policy().extension(CachePolicy.class);
        assertThat(of(function).staleIfError()).isEqualTo(Duration.ofHours(1));
        assertThat(of(function).name()).doesNotContain("3");
        assertThat(ofRoute.name()).contains("/pages").isNotEqualTo(of(function).name());
        assertThat(ofRoute.staleIfError()).isZero();
    }

    @Test
    void should_create_a_store_of_this_size() throws Exception {
        Configuration configuration = load("function.cache: on", "http.cache-memory: 5MiB");
        FilterExtensions filters = configuration.table().filters();
        FilterCommand clear = filters.commands().stream()
                .filter(each -> each.name().equals("cache clear"))
                .findAny()
                .orElseThrow();
        FilterExtension service = filters.serviceOf(clear);
        HttpCache cache = (HttpCache) filters.create(service, configuration);
        assertThat(cache.gauges()).extracting(FilterGauge::name).contains("cache.memory.limit");
        assertThat(cache.maxBytes()).isEqualTo(5 << 20);
        assertThat(catchThrowableOfType(ConfigurationException.class, () -> load("http.cache-memory: 1KiB"))
                        .problems())
                .singleElement()
                .asString()
                .contains("http.cache-memory", "a size from 1MiB to 1GiB");
    }
}
