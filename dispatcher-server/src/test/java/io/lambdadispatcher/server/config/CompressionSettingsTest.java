package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lambdadispatcher.compression.CompressionPolicy;
import io.lambdadispatcher.compression.ContentEncoding;
import io.lambdadispatcher.compression.MediaTypes;
import io.lambdadispatcher.core.options.TrafficPolicy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Settings of compression, of a function and of its routes. */
class CompressionSettingsTest {
    private static final Map<String, String> SECRET = Map.of("LAMBDA_DISPATCHER_WORKERS_SECRET", "0123456789abcdef");

    @TempDir
    Path directory;

    private FunctionConfiguration load(String... lines) throws Exception {
        return ConfigurationLoader.load(Map.of(), write(lines), SECRET, Map.of(), List.of())
                .functions()
                .get(0);
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
    void should_compress_nothing_by_default() throws Exception {
        assertThat(load("function.name: api").options().traffic().isFiltered()).isFalse();
        assertThat(load("function.compression: off").options().traffic().isFiltered())
                .isFalse();
    }

    /** Requests would pass through filters that do nothing. */
    @Test
    void should_not_filter_because_of_types_alone() throws Exception {
        assertThat(load("function.compression-types: text/*")
                        .options()
                        .traffic()
                        .isFiltered())
                .isFalse();
        FunctionConfiguration function = load(
                "functions:",
                "- {name: api, compression-types: text/*}",
                "routes:",
                "- {function: api, path: /pages, compression: gzip}");
        assertThat(function.options().traffic().isFiltered()).isFalse();
        TrafficPolicy ofRoute = function.routes().get(0).policy();
        assertThat(ofRoute.extension(CompressionPolicy.class)).isNotNull();
        assertThat(ofRoute.extension(MediaTypes.class).types()).containsExactly("text/*");
    }

    @Test
    void should_read_encodings_in_their_order_and_the_exception_of_a_route() throws Exception {
        FunctionConfiguration function = load(
                "functions:",
                "- {name: api, compression: 'br, gzip zstd min-size 100B', compression-types: [text/*, '*+json']}",
                "routes:",
                "- {function: api, path: /account, compression: off}");
        TrafficPolicy traffic = function.options().traffic();
        CompressionPolicy policy = traffic.extension(CompressionPolicy.class);
        assertThat(policy.encodings()).containsExactly(ContentEncoding.BR, ContentEncoding.GZIP, ContentEncoding.ZSTD);
        assertThat(policy.minBytes()).isEqualTo(100);
        assertThat(traffic.extension(MediaTypes.class).types()).containsExactly("text/*", "*+json");
        TrafficPolicy ofRoute = function.routes().get(0).policy();
        assertThat(ofRoute.extension(CompressionPolicy.class)).isNull();
    }

    @Test
    void should_read_lists_and_sizes() throws Exception {
        TrafficPolicy traffic =
                load("function.compression: [gzip, min-size, 1MiB]").options().traffic();
        CompressionPolicy policy = traffic.extension(CompressionPolicy.class);
        assertThat(policy.encodings()).containsExactly(ContentEncoding.GZIP);
        assertThat(policy.minBytes()).isEqualTo(1 << 20);
        assertThat(policy.types()).isEqualTo(CompressionPolicy.DEFAULT_TYPES);
        assertThat(traffic.extension(MediaTypes.class)).isNull();
        assertThat(problems("function.compression: gzip min-size 2MiB")).hasSize(1);
    }

    @Test
    void should_say_what_it_expects() throws Exception {
        assertThat(problems("function.compression: deflate"))
                .hasSize(1)
                .allMatch(
                        each -> each.startsWith(
                                "function.compression: expected off, or one or more of zstd, br, gzip,"
                                        + " each at most once, and optionally min-size and a size from 0B to 1MiB, got \"deflate\""));
        assertThat(problems("function.compression: gzip, gzip")).hasSize(1);
        assertThat(problems("function.compression: min-size 1KiB")).hasSize(1);
        assertThat(problems("function.compression: gzip min-size")).hasSize(1);
        assertThat(problems("function.compression-types: json"))
                .hasSize(1)
                .allMatch(each -> each.startsWith("function.compression-types: expected types such as"
                        + " application/json, text/* or *+json, got \"json\""));
        assertThat(problems("function.compression-types: '*'")).hasSize(1);
        assertThat(problems("function.compression-types: text*")).hasSize(1);
        assertThat(problems("function.compression-types: a/b/c")).hasSize(1);
    }
}
