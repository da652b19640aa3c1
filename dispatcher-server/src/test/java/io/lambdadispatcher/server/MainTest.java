package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.FreePort;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.wire.worker.PortKey;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;
import software.amazon.awssdk.regions.providers.AwsRegionProviderChain;

@EachRelease
class MainTest {
    private static final List<String> EXAMPLES = examples();
    private static final String SECRET = "0123456789abcdef";

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private static List<String> examples() {
        try (Stream<Path> examples = Files.list(Path.of("..", "examples"))) {
            return examples.filter(each -> Files.exists(each.resolve("dispatcher.yaml")))
                    .map(each -> each.getFileName().toString())
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private int run(String... arguments) {
        return run(MainTest::alreadyRequested, arguments);
    }

    private int run(Supplier<Termination> termination, String... arguments) {
        return Main.run(Map.of(), termination, new PrintWriter(out), new PrintWriter(err), arguments);
    }

    private static Termination alreadyRequested() {
        Termination termination = new Termination();
        termination.request();
        return termination;
    }

    @Test
    void should_refuse_settings_that_need_an_aws_region_if_none_is_known() {
        ConfigCheckCommand command =
                new ConfigCheckCommand(Map.of(), () -> new AwsRegionProviderChain(() -> null).getRegion());
        CommandLine line = new CommandLine(command.spec());
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(err));
        String[] settings = {
            "--workers-secret=" + SECRET,
            "--function-launcher=lambda",
            "--function-lambda=api",
            "--function-max-workers=1",
            "--admin-port=off",
        };

        assertThat(line.execute(settings)).isEqualTo(ExitCode.FAILED);
        assertThat(out.toString()).isEmpty();
        assertThat(err.toString().lines())
                .containsExactly(
                        "cannot start: launcher lambda: no AWS region is known. Set aws.region, or AWS_REGION");

        settings[4] = "--aws-region=eu-west-1";
        assertThat(line.execute(settings)).isEqualTo(ExitCode.OK);
    }

    @Test
    void should_check_settings() {
        assertThat(run("config", "check", "--workers-secret", SECRET, "--admin-port", "off"))
                .isEqualTo(ExitCode.OK);

        assertThat(out.toString()).containsPattern("admin\\.port +off +flag --admin-port");
        assertThat(err.toString()).isEmpty();
    }

    /** What only a start would find, a pipeline that runs config check would deploy. */
    @ParameterizedTest
    @CsvSource({"config check", "serve"})
    void should_refuse_files_that_a_dispatcher_cannot_use(String command, @TempDir Path directory) throws Exception {
        String missing = directory.resolve("missing/file").toString();
        String damaged = Files.writeString(directory.resolve("state"), "{}").toString();
        Path log = directory.resolve("access.log");

        assertThat(runWith(command, "--state-file=" + missing, "--access-log-file=" + missing))
                .isEqualTo(ExitCode.USAGE);
        assertThat(runWith(command, "--state-file=" + damaged, "--access-log-file=" + directory))
                .isEqualTo(ExitCode.USAGE);
        assertThat(runWith(command, "--fleet-table=" + missing)).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString().lines().map(line -> line.replaceAll(": Missing.*?(\\. Delete)", "$1")))
                .containsExactly(
                        "state.file: expected a file in a directory that can be written, got \"" + missing + '"',
                        "access-log.file: expected a file that can be written, or a new one in a directory that can be"
                                + " written, got \"" + missing + '"',
                        "state.file: \"" + damaged + "\" is damaged. Delete it to start with no launches, no spending,"
                                + " and launching switched on",
                        "access-log.file: expected a file that can be written, or a new one in a directory that can be"
                                + " written, got \"" + directory + '"',
                        "fleet.table: expected a file in a directory that can be written, got \"" + missing + '"');

        assertThat(runWith(command, "--state-file=" + directory.resolve("next"), "--access-log-file=" + log))
                .as(() -> err.toString())
                .isEqualTo(ExitCode.OK);
        assertThat(Files.exists(log)).isEqualTo(command.equals("serve"));
    }

    private int runWith(String command, String... files) {
        List<String> arguments = new ArrayList<>(List.of(command.split(" ")));
        arguments.addAll(List.of(
                "--workers-secret=" + SECRET,
                "--admin-port=off",
                "--shutdown-delay=0",
                "--public-plain-port=127.0.0.1:0",
                "--workers-port=127.0.0.1:0"));
        arguments.addAll(List.of(files));
        return run(arguments.toArray(String[]::new));
    }

    @Test
    void should_say_what_a_limit_of_downstream_connections_means() {
        assertThat(run(downstream("200"))).as(() -> err.toString()).isEqualTo(ExitCode.OK);

        assertThat(out.toString())
                .contains("200 downstream connections, 10 for each of at most 16 workers, which is fewer than"
                        + " function.max-workers, and 20 while workers are replaced");
    }

    @Test
    void should_refuse_fewer_downstream_connections_than_the_workers_need() {
        assertThat(run(downstream("49"))).isEqualTo(ExitCode.USAGE);

        assertThat(err.toString())
                .contains("function.downstream-connections: expected at least 50: 10 (per-worker) for each of 4 workers"
                        + " (function.min-workers) and of 1 that replace others, got \"49 per-worker 10\"");
    }

    private static String[] downstream(String connections) {
        return new String[] {
            "config",
            "check",
            "--function-name=shop",
            "--function-launcher=local",
            "--function-handler=io.lambdadispatcher.server.demo.DemoHandler",
            "--function-min-workers=4",
            "--function-max-workers=50",
            "--function-downstream-connections=" + connections + " per-worker 10"
        };
    }

    @Test
    void should_print_the_keys_of_workers() {
        assertThat(run("worker", "keys", "--workers-secret", SECRET, "--function-name", "images"))
                .isEqualTo(ExitCode.OK);
        String ofAll = out.toString();
        String port = "LAMBDA_DISPATCHER_TLS_FINGERPRINT="
                + PortKey.fingerprint(
                        PortKey.of(SECRET.getBytes(StandardCharsets.UTF_8)).getPublic())
                + System.lineSeparator();
        assertThat(ofAll)
                .isEqualTo("images "
                        + HexFormat.of().formatHex(LaunchToken.key(SECRET.getBytes(StandardCharsets.UTF_8), "images"))
                        + System.lineSeparator()
                        + port);

        run(
                "worker",
                "keys",
                "--workers-secret",
                SECRET,
                "--function-name",
                "images",
                "--function-secret",
                SECRET + "x");
        assertThat(out.toString().substring(ofAll.length()))
                .isEqualTo("images "
                        + HexFormat.of()
                                .formatHex(LaunchToken.key((SECRET + "x").getBytes(StandardCharsets.UTF_8), "images"))
                        + System.lineSeparator()
                        + port);
    }

    @ParameterizedTest
    @ValueSource(strings = {"serve", "demo", "config check", "worker keys", "fleet init"})
    void should_refuse_wrong_settings_with_2_and_all_problems(String command) {
        assertThat(run((command + " --publik-plain-port 80 --workers-port=x stray").split(" ")))
                .isEqualTo(ExitCode.USAGE);

        assertThat(err.toString())
                .contains("unknown flag \"--publik-plain-port\", did you mean \"--public-plain-port\"?\n")
                .contains("unexpected argument \"stray\"\n")
                .contains("workers.port: expected a port from 1 to 65535, or 0 for any free port, optionally after an"
                        + " address, such as 8080 or 127.0.0.1:8080, got \"x\""
                        + " (flag --workers-port)\n")
                .doesNotContain("\"80\"");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "127.0.0.1:9901",
                "ftp://127.0.0.1",
                "http://",
                "http://127.0.0.1:x",
                "http://127.0.0.1:65536",
                "http://user@127.0.0.1",
                "http://127.0.0.1/?a=b",
                "http://a b",
                ""
            })
    void should_refuse_a_wrong_admin_url_with_2(String url) {
        assertThat(run("status", "--admin-url", url)).isEqualTo(ExitCode.USAGE);

        assertThat(err.toString())
                .isEqualToIgnoringNewLines(
                        "--admin-url: expected a URL such as http://127.0.0.1:9901, got \"" + url + "\"\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"--watch=1 2", "--admin-token=x", "stray"})
    void should_refuse_other_flags_of_status_with_2(String flag) {
        assertThat(run("status", flag)).isEqualTo(ExitCode.USAGE);

        assertThat(err.toString()).contains("dispatcher status --help lists all flags.");
    }

    @ParameterizedTest
    @ValueSource(strings = {"status", "status --watch"})
    void should_say_in_one_line_with_1_that_there_is_no_dispatcher(String command) {
        int port = FreePort.next();

        assertThat(run((command + " --admin-url http://127.0.0.1:" + port).split(" ")))
                .isEqualTo(ExitCode.FAILED);

        assertThat(out.toString()).isEmpty();
        assertThat(err.toString().lines())
                .containsExactly("http://127.0.0.1:" + port + "/api/functions: cannot connect (connection refused)."
                        + " Set --admin-url to the admin port of a running dispatcher.");
    }

    /** Loads the program again, and finds no picocli. */
    private static final class WithoutPicocli extends URLClassLoader {
        WithoutPicocli() {
            super(new URL[] {Main.class.getProtectionDomain().getCodeSource().getLocation()}, null);
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (name.startsWith("picocli.")) {
                throw new ClassNotFoundException(name);
            }
            return name.startsWith("io.lambdadispatcher.server.")
                    ? super.findClass(name)
                    : MainTest.class.getClassLoader().loadClass(name);
        }
    }

    /** No cache of loaded classes holds picocli, so each start would have to load it again. */
    @Test
    void should_read_the_flags_of_serve_without_picocli() throws Exception {
        try (URLClassLoader loader = new WithoutPicocli()) {
            Method run = loader.loadClass(Main.class.getName())
                    .getDeclaredMethod(
                            "run", Map.class, Supplier.class, PrintWriter.class, PrintWriter.class, String[].class);
            run.setAccessible(true);
            String[] arguments = {"serve", "--workers-port", "x"};
            Supplier<Termination> never = () -> {
                throw new AssertionError("it starts");
            };
            assertThat(run.invoke(null, Map.of(), never, new PrintWriter(out), new PrintWriter(err), arguments))
                    .isEqualTo(ExitCode.USAGE);
        }
        assertThat(err.toString()).contains("got \"x\" (flag --workers-port)");
    }

    @Test
    void should_find_the_admin_port_in_the_environment() {
        Map<String, String> environment = Map.of("LAMBDA_DISPATCHER_ADMIN_PORT", "19901");

        assertThat(Main.run(
                        environment,
                        MainTest::alreadyRequested,
                        new PrintWriter(out),
                        new PrintWriter(err),
                        "status",
                        "--help"))
                .isEqualTo(ExitCode.OK);

        assertThat(out.toString()).contains("(default: http://127.0.0.1:19901)");
    }

    private String[] serveOnFreePorts(String... more) {
        List<String> arguments = new ArrayList<>(List.of("serve", "--workers-secret", SECRET));
        arguments.addAll(List.of("--workers-port", "127.0.0.1:0", "--shutdown-delay", "0", "--shutdown-grace", "1s"));
        arguments.addAll(List.of(more));
        return arguments.toArray(String[]::new);
    }

    @Test
    void should_end_with_0_when_it_is_told_to() {
        assertThat(run(serveOnFreePorts("--public-plain-port", "127.0.0.1:0", "--admin-port", "off")))
                .isEqualTo(ExitCode.OK);
        assertThat(err.toString()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"public.plain", "public.tls", "workers", "admin"})
    void should_say_in_one_line_with_1_that_a_port_is_taken(String settings) throws Exception {
        try (DemoCertificate certificate = DemoCertificate.create();
                ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            int port = taken.getLocalPort();
            List<String> arguments = new ArrayList<>(List.of("serve", "--workers-secret", SECRET));
            arguments.addAll(List.of(
                    "--public-tls-certificate", certificate.certificate().toString()));
            arguments.addAll(List.of("--public-tls-key", certificate.key().toString()));
            for (String each : List.of("public.plain", "public.tls", "workers", "admin")) {
                String flag = "--" + each.replace('.', '-');
                arguments.add(flag + "-port");
                arguments.add("127.0.0.1:" + (each.equals(settings) ? port : 0));
            }

            assertThat(run(arguments.toArray(String[]::new))).isEqualTo(ExitCode.FAILED);

            assertThat(err.toString().lines())
                    .singleElement()
                    .asString()
                    .startsWith("cannot start: cannot listen on 127.0.0.1:" + port + " (" + settings + ".port): ")
                    .endsWith("Address already in use. Change " + settings
                            + ".port, or stop the program that uses this port.");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"public.plain", "workers", "admin"})
    void should_say_in_one_line_with_1_that_a_host_is_unknown(String settings) {
        List<String> arguments = new ArrayList<>(List.of("serve", "--workers-secret", SECRET));
        for (String each : List.of("public.plain", "workers", "admin")) {
            String flag = "--" + each.replace('.', '-');
            String host = each.equals(settings) ? "no-such-host.invalid" : "127.0.0.1";
            arguments.addAll(List.of(flag + "-port", host + ":0"));
        }

        assertThat(run(arguments.toArray(String[]::new))).isEqualTo(ExitCode.FAILED);

        assertThat(err.toString().lines())
                .singleElement()
                .asString()
                .startsWith("cannot start: cannot listen on no-such-host.invalid:0 (" + settings
                        + ".port): unknown host. ");
    }

    /**
     * Nobody ends it: it gives up by itself, long before a worker that does not come would be given
     * up.
     */
    @Test
    @Timeout(120)
    void should_end_a_demo_with_the_words_of_a_worker_that_cannot_start() {
        assertThat(run(
                        Termination::new,
                        "demo",
                        "--function-name=parcels",
                        "--function-handler=java.util.Map$Entry::find",
                        "--function-launch-timeout=10m",
                        "--public-plain-port=0",
                        "--public-tls-port=0",
                        "--workers-port=0",
                        "--admin-port=off"))
                .isEqualTo(ExitCode.FAILED);

        assertThat(out.toString()).doesNotContain("The demo is ready");
        assertThat(err.toString())
                .startsWith("cannot start: a worker of function parcels failed: LAMBDA_DISPATCHER_HANDLER="
                        + "java.util.Map$Entry::find: ")
                .endsWith(" (exit code 2)\n");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "--help-all", "--workers-secret=x", "--config"})
    void should_refuse_a_flag_without_a_value(String next) {
        String[] arguments = ("config check --workers-port " + next).strip().split(" ");
        assertThat(run(arguments)).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString().lines())
                .containsExactly(
                        "--workers-port: expected [HOST:]PORT, got nothing",
                        "dispatcher config check --help-all lists all flags.");
    }

    @Test
    void should_refuse_a_flag_that_is_given_twice() {
        assertThat(run("config", "check", "--workers-port=1", "--workers-port=2"))
                .isEqualTo(ExitCode.USAGE);
        assertThat(err.toString().lines())
                .hasSize(2)
                .first()
                .asString()
                .isEqualTo("--workers-port ([HOST:]PORT): expected once, got twice");
    }

    @Test
    void should_show_its_commands_when_none_is_given() {
        assertThat(run()).isEqualTo(ExitCode.USAGE);

        assertThat(err.toString()).contains("serve").contains("demo").contains("config");
    }

    @Test
    void should_have_verbs_below_each_noun_and_three_verbs_of_the_whole_program() {
        List<String> commands = new ArrayList<>();
        Commands.commandLine(Map.of(), Termination::new).getSubcommands().forEach((noun, command) -> {
            if (command.getSubcommands().isEmpty()) {
                commands.add(noun);
            }
            command.getSubcommands().forEach((verb, below) -> {
                assertThat(below.getSubcommands()).isEmpty();
                commands.add(noun + " " + verb);
            });
        });

        assertThat(commands)
                .containsExactlyInAnyOrder(
                        "serve",
                        "demo",
                        "status",
                        "config check",
                        "fleet init",
                        "worker drain",
                        "worker recycle",
                        "worker keys",
                        "launch pause",
                        "launch resume",
                        "rollout stop",
                        "rollout resume",
                        "weights set",
                        "log-level set",
                        "cache clear");
    }

    @ParameterizedTest
    @CsvSource({
        "config, check",
        "fleet, init",
        "worker, drain recycle keys",
        "launch, pause resume",
        "rollout, stop resume",
        "weights, set",
        "log-level, set",
        "cache, clear"
    })
    void should_show_the_verbs_of_a_noun_that_stands_alone(String noun, String verbs) {
        assertThat(run(noun)).isEqualTo(ExitCode.USAGE);

        assertThat(err.toString()).startsWith("Usage: dispatcher " + noun + " ");
        assertThat(err.toString().lines().map(line -> line.strip().split(" ")[0]))
                .containsSubsequence(verbs.split(" "));
        assertThat(err.toString()).contains("dispatcher " + noun + " COMMAND --help explains a command.");
    }

    @ParameterizedTest
    @CsvSource({"rollout, resme, resume", "worker, recycl, recycle", "config, chek, check"})
    void should_suggest_a_verb(String noun, String verb, String nearest) {
        assertThat(run(noun, verb)).isEqualTo(ExitCode.USAGE);

        assertThat(err.toString())
                .contains("'" + verb + "'")
                .contains("Did you mean: " + noun + " " + nearest)
                .endsWith("dispatcher " + noun + " --help lists all commands." + System.lineSeparator());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"check", "worker-keys", "workers drain w1", "launch off", "weights shop=1", "log-level info"})
    void should_refuse_what_is_no_noun_with_its_verb(String command) {
        assertThat(run(command.split(" "))).isEqualTo(ExitCode.USAGE);

        assertThat(out.toString()).isEmpty();
        assertThat(err.toString()).contains("--help lists all commands.");
    }

    @Test
    void should_refuse_an_unknown_command() {
        assertThat(run("server")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("server");
    }

    @Test
    void should_show_its_version() {
        assertThat(run("--version")).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).startsWith("Lambda Dispatcher ").contains(" on Java " + Runtime.version());
    }

    @Test
    void should_refuse_an_unknown_command_even_with_help() {
        assertThat(run("servee", "--help")).isEqualTo(ExitCode.USAGE);
        assertThat(out.toString()).isEmpty();
        assertThat(err.toString())
                .contains("'servee'")
                .contains("Did you mean: dispatcher serve")
                .endsWith("dispatcher --help lists all commands." + System.lineSeparator());
    }

    @ParameterizedTest
    @CsvSource({"--helpp, --help", "--confg, --config"})
    void should_suggest_flags_that_are_no_settings(String flag, String nearest) {
        assertThat(run("demo", flag)).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString().lines())
                .containsExactly("unknown flag \"" + flag + "\", did you mean \"" + nearest + "\"?");
    }

    /** A terminal has 80 columns and 24 lines. The launch script names the examples of a demo. */
    @Test
    void should_show_the_help_of_each_command_on_one_screen() {
        Map<String, String> environment =
                Map.of(ConfigurationLoader.DEMO_EXAMPLES_VARIABLE, String.join(", ", EXAMPLES));
        List<CommandLine> commands = new ArrayList<>(List.of(Commands.commandLine(environment, Termination::new)));
        for (int i = 0; i < commands.size(); i++) {
            commands.addAll(commands.get(i).getSubcommands().values());
        }

        assertThat(commands).hasSize(24).allSatisfy(command -> {
            String name = command.getCommandSpec().qualifiedName();
            StringWriter help = new StringWriter();
            CommandLine program =
                    Commands.commandLine(environment, Termination::new).setOut(new PrintWriter(help));
            assertThat(program.execute((name + " --help").split(" ", 2)[1].split(" ")))
                    .isEqualTo(ExitCode.OK);
            assertThat(help.toString()).startsWith("Usage: " + name + " ");
            assertThat(help.toString().lines())
                    .as("%s", help)
                    .hasSizeBetween(4, 24)
                    .allSatisfy(line -> assertThat(line).matches("[ -~]{0,80}"));
        });
    }

    @Test
    void should_show_twenty_settings_in_help_and_where_the_others_are() {
        assertThat(run("serve", "--help")).isEqualTo(ExitCode.OK);

        long all = Settings.TABLE.topics().stream()
                .mapToLong(topic -> topic.settings().size())
                .sum();
        assertThat(out.toString().lines())
                .as("no phrase is too long for its line")
                .hasSize(23);
        assertThat(out.toString().lines().filter(line -> line.startsWith("  --")))
                .hasSize(20)
                .anyMatch(line ->
                        line.matches("  --public-plain-port=PORT +Port for clients without TLS \\(default: 8080\\)"));
        assertThat(out.toString())
                .contains("\ndispatcher serve --help-all lists all " + all + " settings, and how to set them.\n");
    }

    @Test
    void should_show_every_setting_as_a_flag_in_the_whole_help() {
        assertThat(run("serve", "--help-all")).isEqualTo(ExitCode.OK);

        assertThat(out.toString())
                .contains("--public-plain-port=off|[HOST:]PORT [proxy-protocol]")
                .contains("Port for clients without TLS: HTTP/1.1 and h2c. ")
                .contains("may reach the port. (default: 8080)");
        Settings.TABLE
                .topics()
                .forEach(topic -> topic.settings()
                        .forEach(setting -> assertThat(out.toString()).contains(" " + setting.flag() + "=")));
    }

    @Test
    void should_group_settings_by_topic_in_help_with_the_defaults_of_the_command() {
        assertThat(run("demo", "--help-all")).isEqualTo(ExitCode.OK);

        assertThat(out.toString())
                .containsSubsequence(
                        "--config=FILE",
                        "\nPublic ports:\n",
                        "--public-plain-port=off|[HOST:]PORT",
                        "(default: 8080)",
                        "\nWorker port:\n",
                        "--workers-port=[HOST:]PORT",
                        "\nSockets, threads and shutdown:\n",
                        "--shutdown-grace=DURATION");
    }

    /**
     * Topics are for readers: flags of one do not depend on each other, and those of several go
     * together.
     */
    @Test
    void should_take_flags_of_all_topics_in_any_order() {
        assertThat(run(
                        "config",
                        "check",
                        "--log-level=warn",
                        "--workers-secret=" + SECRET,
                        "--admin-port=off",
                        "--public-plain-port=81",
                        "--workers-port=82"))
                .isEqualTo(ExitCode.OK);

        assertThat(out.toString())
                .containsPattern("log\\.level +warn +flag --log-level")
                .containsPattern("admin\\.port +off +flag --admin-port")
                .containsPattern("public\\.plain\\.port +81 +flag --public-plain-port")
                .containsPattern("workers\\.port +82 +flag --workers-port");
    }
}
