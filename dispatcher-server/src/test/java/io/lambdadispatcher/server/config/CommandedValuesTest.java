package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CommandedValuesTest {
    @TempDir
    Path directory;

    private Configuration shops(int shop, int next, String... more) throws Exception {
        Path file = directory.resolve("dispatcher.yaml");
        Files.writeString(
                file,
                String.join("\n", more) + "\nworkers.secret: 0123456789abcdef\nfunctions:\n"
                        + "- {name: shop, path: /shop, weight: " + shop + "}\n"
                        + "- {name: next, path: /shop, weight: " + next + "}\n");
        return ConfigurationLoader.load(Map.of(), file, Map.of(), Map.of(), List.of());
    }

    private static CommandedValues weight(String function, String weight) {
        return CommandedValues.NONE.with(function, FunctionSettings.FUNCTION_WEIGHT, weight);
    }

    private static List<Integer> weights(Configuration configuration) {
        return configuration.functions().stream()
                .map(function -> function.route().weight())
                .toList();
    }

    @Test
    void should_hold_instead_of_the_configuration() throws Exception {
        Configuration configured = shops(90, 10);
        CommandedValues commanded = weight("next", "50")
                .with("next", FunctionSettings.FUNCTION_WEIGHT, "0")
                .with(null, Settings.LOG_LEVEL, "debug");
        Configuration inForce = commanded.appliedTo(configured);

        assertThat(weights(inForce)).containsExactly(90, 0);
        assertThat(inForce.get(Settings.LOG_LEVEL)).hasToString("DEBUG");
        assertThat(inForce.rows())
                .contains(
                        new Configuration.Row("function next, weight", "0", "command"),
                        new Configuration.Row("log.level", "debug", "command"));
        assertThat(weights(configured)).containsExactly(90, 10);
        assertThat(CommandedValues.NONE.appliedTo(configured)).isSameAs(configured);
        assertThat(commanded.lines())
                .containsExactly("function next, weight: 0, set by a command", "log.level: debug, set by a command");
    }

    @Test
    void should_end_when_the_configuration_of_the_same_setting_changes() throws Exception {
        CommandedValues commanded = weight("next", "0").with("shop", FunctionSettings.FUNCTION_WEIGHT, "1");

        CommandedValues kept = commanded.keptBy(shops(90, 10), shops(90, 20, "log.level: debug"));

        assertThat(kept.lines()).containsExactly("function shop, weight: 1, set by a command");
    }

    /** Otherwise, this configuration and each later one would be refused. */
    @ParameterizedTest
    @CsvSource({"0, 100, 95, 0, false", "0, 0, 95, 5, false", "0, 100, 95, 5, true", "1, 0, 95, 0, true"})
    void should_end_if_the_weights_of_a_route_would_all_be_0(
            int commandedShop, int commandedNext, int shop, int next, boolean kept) throws Exception {
        Configuration before = shops(95, 5);
        CommandedValues commanded = weight("shop", String.valueOf(commandedShop))
                .with("next", FunctionSettings.FUNCTION_WEIGHT, String.valueOf(commandedNext));
        Configuration after = shops(shop, next);

        CommandedValues applicable = commanded.keptBy(before, after).applicableTo(after);

        Configuration inForce = applicable.appliedTo(after);
        assertThat(weights(inForce))
                .containsExactly(kept ? commandedShop : shop, kept && next == 5 ? commandedNext : next);
        assertThat(commanded.keptBy(before, after).endsIn(applicable)).hasSize(kept ? 0 : next == 5 ? 2 : 1);
    }

    @Test
    void should_be_checked_like_the_configuration() throws Exception {
        Configuration configured = shops(90, 10);

        assertThat(catchThrowableOfType(
                                ConfigurationException.class,
                                () -> weight("next", "-1").appliedTo(configured))
                        .problems())
                .containsExactly(
                        "function next, weight: expected a whole number from 0 to 10000, got \"-1\" (command)");
        assertThat(catchThrowableOfType(
                                ConfigurationException.class,
                                () -> weight("shop", "0")
                                        .with("next", FunctionSettings.FUNCTION_WEIGHT, "0")
                                        .appliedTo(configured))
                        .problems())
                .containsExactly(
                        "function next, weight: expected 1 or more for one of the functions with the same host,"
                                + " header and path, got \"0\" (command)");
    }

    @Test
    void should_refuse_a_file_in_which_no_function_of_a_route_has_a_weight() {
        assertThat(catchThrowableOfType(ConfigurationException.class, () -> shops(0, 0))
                        .problems())
                .containsExactly(
                        "function next, weight: expected 1 or more for one of the functions with the same host,"
                                + " header and path, got \"0\" (" + directory.resolve("dispatcher.yaml")
                                + " line 5, column 29)");
    }

    @Test
    void should_permit_no_weight_beside_an_entry_of_routes_with_one_function() throws Exception {
        String testers = "routes:\n- {function: next, path: /shop, header: x-beta}";

        assertThat(weights(weight("next", "0").appliedTo(shops(90, 10, testers))))
                .containsExactly(90, 0);
        assertThat(weights(shops(90, 0, testers))).containsExactly(90, 0);
    }
}
