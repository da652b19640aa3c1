package io.lambdadispatcher.server.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.spi.FilterCommand;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.wire.testkit.AnyRelease;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * docs/reference/admin-api.yaml has the paths that the admin port serves, and admin-api.md has the
 * members of the former's schemas. {@code AdminApiIT} compares it with the answers.
 */
@AnyRelease
class AdminApiDocTest {
    private static final Path DOCS = Path.of("..", "docs", "reference");
    private static final Pattern ROW = Pattern.compile("(?m)^\\| (`.*?) \\|");
    private static final Pattern CODE = Pattern.compile("`([^`]+)`");

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

    @ParameterizedTest
    @CsvSource({
        "A function, Function",
        "The fleet, Fleet",
        "A dispatcher of the fleet, FleetMember",
        "A function of the fleet, FleetFunction",
        "A worker, Worker",
        "A request, Request",
        "A failure, Failure",
        "A launch, Launch",
        "A change, Change",
        "A worker that was told to leave, CommandedWorker",
        "The configuration, Configuration",
        "The version, Version"
    })
    void should_list_the_same_members_on_the_page(String title, String schema) throws IOException {
        String page = Files.readString(DOCS.resolve("admin-api.md"));
        int begin = page.indexOf("\n## " + title + "\n");
        assertThat(begin).as(title).isPositive();
        int end = page.indexOf("\n## ", begin + 1);
        Matcher rows = ROW.matcher(page.substring(begin, end < 0 ? page.length() : end));
        Set<String> members = new TreeSet<>();
        while (rows.find()) {
            CODE.matcher(rows.group(1)).results().forEach(code -> members.add(code.group(1)));
        }

        JsonNode properties = description().at("/components/schemas/" + schema).get("properties");
        assertThat(members).isNotEmpty().isEqualTo(new TreeSet<>(properties.propertyNames()));
    }
}
