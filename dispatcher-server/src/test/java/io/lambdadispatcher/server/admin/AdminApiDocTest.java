package io.lambdadispatcher.server.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.server.config.Settings;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * docs/reference/admin-api.yaml has the paths that the admin port serves. {@code AdminApiIT}
 * compares its schemas with the answers.
 */
class AdminApiDocTest {
    private static final Path DOCS = Path.of("..", "docs", "reference");

    private static JsonNode description() {
        return new YAMLMapper().readTree(DOCS.resolve("admin-api.yaml"));
    }

    /** With what the filters on the class path can be told. */
    private static final class OfFilters implements LiveSettings {
        @Override
        public Map<String, Integer> setWeights(Map<String, String> weights) {
            return NONE.setWeights(weights);
        }

        @Override
        public List<FilterCommand> filterCommands() {
            return Settings.TABLE.filters().commands();
        }

        @Override
        public long tellFilter(FilterCommand command) {
            return NONE.tellFilter(command);
        }

        @Override
        public String setLogLevel(String level) {
            return NONE.setLogLevel(level);
        }
    }

    @Test
    void should_describe_each_path_and_method() {
        Map<String, String> described = new TreeMap<>();
        description().get("paths").properties().forEach(path -> {
            boolean get = path.getValue().has("get");
            boolean post = path.getValue().has("post");
            // HEAD is allowed where GET is, except for a response without an end.
            String methods =
                    path.getKey().equals("/events") ? "GET" : !get ? "POST" : post ? "GET, HEAD, POST" : "GET, HEAD";
            assertThat(get || post).as(path.getKey()).isTrue();
            described.put(path.getKey(), methods);
        });
        try (AdminPages pages = new AdminPages(
                new Readiness(),
                new Launching(),
                new WorkerControl(),
                new OfFilters(),
                () -> "",
                name -> new byte[0])) {
            assertThat(described).isEqualTo(pages.methods());
        }
    }
}
