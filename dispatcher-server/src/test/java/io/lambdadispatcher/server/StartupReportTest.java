package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.FunctionConfiguration;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StartupReportTest {
    @TempDir
    private Path directory;

    private List<String> requests(String... functions) throws Exception {
        StringBuilder yaml = new StringBuilder("workers.secret: 0123456789abcdef\nfunctions:\n");
        for (String each : functions) {
            yaml.append("- {").append(each).append("}\n");
        }
        Path file = Files.writeString(directory.resolve("dispatcher.yaml"), yaml);
        List<FunctionConfiguration> all = ConfigurationLoader.load(Map.of(), file, Map.of(), Map.of(), List.of())
                .functions();
        return all.stream().map(each -> StartupReport.requests(each, all)).toList();
    }

    @Test
    void should_say_which_requests_a_function_serves() throws Exception {
        assertThat(requests("name: all")).containsExactly("all requests");
        assertThat(requests("name: all", "name: shop, path: /shop, host: a.example"))
                .containsExactly("all requests", "requests to a.example below /shop");
    }

    /** Each serves only a part of the requests. */
    @Test
    void should_say_how_functions_share_their_requests() throws Exception {
        assertThat(requests("name: old, weight: 90", "name: new, weight: 10", "name: shop, path: /shop"))
                .containsExactly("90 % of all requests", "10 % of all requests", "requests below /shop");
        assertThat(requests("name: one, weight: 1", "name: two, weight: 1", "name: three, weight: 1"))
                .containsExactly("33 % of all requests", "33 % of all requests", "33 % of all requests");
    }

    @Test
    void should_say_that_a_function_without_weight_serves_nothing() throws Exception {
        assertThat(requests("name: old, weight: 5", "name: new, weight: 0"))
                .containsExactly("all requests", "0 % of all requests");
    }

    /** The share says more than the weight. */
    @Test
    void should_not_tell_the_weight_of_a_share() throws Exception {
        assertThat(requests("name: old, path: /shop, weight: 30", "name: new, path: /shop, weight: 10"))
                .containsExactly("75 % of requests below /shop", "25 % of requests below /shop");
    }
}
