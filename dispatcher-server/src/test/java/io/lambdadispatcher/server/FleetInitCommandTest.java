package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.aws.DynamoDbLedger;
import io.lambdadispatcher.aws.LocalDynamoDb;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.core.spi.Ledger.Entry;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.Setting;
import io.lambdadispatcher.server.config.Settings;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import picocli.CommandLine;

/** Runs against DynamoDB Local. */
@EnabledOnOs(value = OS.LINUX, architectures = "amd64", disabledReason = "DynamoDB Local's native library is for amd64")
class FleetInitCommandTest {
    private static final String REGION = "eu-central-1";

    private static LocalDynamoDb dynamoDb;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @BeforeAll
    static void start() throws Exception {
        System.setProperty("aws.accessKeyId", "test");
        System.setProperty("aws.secretAccessKey", "test");
        dynamoDb = LocalDynamoDb.start();
    }

    @AfterAll
    static void stop() throws Exception {
        dynamoDb.close();
        System.clearProperty("aws.accessKeyId");
        System.clearProperty("aws.secretAccessKey");
    }

    private int run(String... arguments) {
        CommandLine line = Commands.commandLine(Map.of(), Termination::new);
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(err));
        return line.execute(arguments);
    }

    private int init(String table) {
        return run(
                "fleet",
                "init",
                "--fleet-table",
                table,
                "--aws-region=" + REGION,
                "--fleet-endpoint=" + dynamoDb.endpoint());
    }

    @Test
    void should_create_a_table_that_the_ledger_of_a_dispatcher_can_use() throws Exception {
        assertThat(init("made")).as(err.toString()).isEqualTo(ExitCode.OK);

        assertThat(out.toString().lines())
                .hasSize(3)
                .satisfiesExactly(
                        line -> assertThat(line)
                                .matches("Created the table arn:aws:dynamodb:.+:table/made with on-demand billing\\."),
                        line -> assertThat(line).startsWith("Set fleet.table to made for each dispatcher"),
                        line -> assertThat(line)
                                .matches(
                                        "\\{\"Effect\": \"Allow\", \"Action\": \\[\"dynamodb:Query\", \"dynamodb:PutItem\","
                                                + " \"dynamodb:DeleteItem\"], \"Resource\": \"arn:aws:dynamodb:.+:table/made\","
                                                + " \"Condition\": \\{\"ForAllValues:StringEquals\": \\{"
                                                + "\"dynamodb:LeadingKeys\": \\[\"default\"]}}}"));
        try (Ledger ledger = ledger(Map.of(
                Settings.WORKERS_SECRET, "0123456789abcdef",
                Settings.FLEET_TABLE, "made",
                Settings.FLEET_NAME, "production",
                Settings.FLEET_ENDPOINT, dynamoDb.endpoint().toString(),
                Settings.AWS_REGION, REGION))) {
            assertThat(ledger).isInstanceOf(DynamoDbLedger.class);
            assertThat(ledger.write("a", 0, "1").toCompletableFuture().get(20, TimeUnit.SECONDS))
                    .isTrue();
            assertThat(ledger.read().toCompletableFuture().get(20, TimeUnit.SECONDS))
                    .containsExactly(new Entry("a", 1, "1"));
        }
    }

    private static Ledger ledger(Map<Setting<?>, String> settings) throws Exception {
        return new DispatcherAssembly(ConfigurationLoader.load(settings, null, Map.of(), Map.of(), List.of())).ledger();
    }

    @Test
    void should_keep_the_ledger_in_memory_without_a_table() throws Exception {
        try (Ledger ledger = ledger(Map.of(Settings.WORKERS_SECRET, "0123456789abcdef"))) {
            assertThat(ledger).isNotInstanceOf(DynamoDbLedger.class);
            assertThat(ledger.read().toCompletableFuture()).isCompletedWithValue(List.of());
        }
    }

    @Test
    void should_leave_a_table_unchanged_that_exists() {
        assertThat(init("twice")).isEqualTo(ExitCode.OK);
        assertThat(init("twice")).isEqualTo(ExitCode.OK);

        assertThat(out.toString())
                .containsPattern(
                        "The table arn:.+:table/twice exists and has the right keys\\. Nothing was changed\\.\n");
        assertThat(err.toString()).isEmpty();
    }

    @Test
    void should_fail_with_1_and_one_line() {
        assertThat(init("no such name")).isEqualTo(ExitCode.FAILED);

        assertThat(out.toString()).isEmpty();
        assertThat(err.toString().lines())
                .singleElement()
                .asString()
                .startsWith("fleet.table: DynamoDB table no such name in eu-central-1: ");
    }

    @Test
    void should_refuse_to_guess_a_table_with_2() {
        assertThat(run("fleet", "init")).isEqualTo(ExitCode.USAGE);

        assertThat(err.toString().lines())
                .containsExactly(
                        "fleet.table: expected the name or ARN of a DynamoDB table, or the absolute path of a file, but it"
                                + " is not set");
    }

    @Test
    void should_show_its_only_command_when_none_is_given() {
        assertThat(run("fleet")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("init").contains("dispatcher fleet COMMAND --help");

        assertThat(run("fleet", "--help")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("init");
    }

    @Test
    void should_refuse_an_unknown_command_even_with_help() {
        assertThat(run("fleet", "inti", "--help")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString())
                .contains("'inti'")
                .contains("Did you mean: fleet init")
                .endsWith("dispatcher fleet --help lists all commands." + System.lineSeparator());
    }

    @Test
    void should_show_the_settings_in_help() {
        assertThat(run("fleet", "init", "--help")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("--fleet-table=TABLE").contains("dynamodb:CreateTable");
    }

    @Test
    void should_refuse_to_create_a_table_in_a_file() {
        assertThat(run("fleet", "init", "--fleet-table=/var/lib/ledger")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString().strip())
                .isEqualTo("fleet.table: expected a DynamoDB table, got the file \"/var/lib/ledger\", which the first"
                        + " dispatcher creates");
    }
}
