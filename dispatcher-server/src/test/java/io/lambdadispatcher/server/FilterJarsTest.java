package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.FilterExtension;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.config.Settings;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.buffer.ByteBuf;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

@EachRelease
class FilterJarsTest {
    private static final String SECRET = "0123456789abcdef";

    /** The filter of the test says here that it was closed. */
    private static final String CLOSED = "lambda-dispatcher.test.closed";

    private static final String TEAPOT = """
            public final class Teapot implements io.lambdadispatcher.core.spi.Filter {
                public io.lambdadispatcher.core.spi.Decision onRequest(io.lambdadispatcher.core.spi.RequestContext request) {
                    return io.lambdadispatcher.core.spi.Decision.answer(418, Text.TEXT);
                }
            }
            """;

    /** Answers with the status that its setting names. */
    private static final String STATUS = """
            import io.lambdadispatcher.core.spi.*;
            import java.util.List;

            public final class Status implements FilterExtension {
                public List<FilterSetting<?>> settings() {
                    return List.of(new FilterSetting<>("Statuses", "status", Integer.class, "STATUS", "a status of 200 or more",
                            text -> { if (text.equals("0")) throw new IllegalStateException(); return Integer.valueOf(text); },
                            (status, function, functions) -> status < 300 || functions.size() > 1 ? null : "less than 300",
                            "Answers all requests with this status."));
                }

                public Filter create() {
                    return new Filter() {
                        public Decision onRequest(RequestContext request) {
                            return Decision.answer(request.policy(Integer.class), "");
                        }

                        public Class<?> policyType() {
                            return Integer.class;
                        }

                        public void close() {
                            System.setProperty("lambda-dispatcher.test.closed", "yes");
                        }
                    };
                }
            }
            """;

    @TempDir
    private Path work;

    private Path jars;
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @BeforeEach
    void create() throws Exception {
        jars = Files.createDirectory(work.resolve("jars"));
    }

    @AfterEach
    void clear() {
        System.clearProperty(CLOSED);
    }

    private static String classPath() {
        return Stream.of(Filter.class, ByteBuf.class, Nullable.class)
                .map(each -> Path.of(each.getProtectionDomain()
                                .getCodeSource()
                                .getLocation()
                                .getPath())
                        .toString())
                .collect(Collectors.joining(System.getProperty("path.separator")));
    }

    private void compile(String name, String source) throws Exception {
        Path file = Files.writeString(work.resolve(name + ".java"), source);
        int failed = ToolProvider.getSystemJavaCompiler()
                .run(null, null, null, "-d", work.toString(), "-cp", classPath() + ":" + work, file.toString());
        assertThat(failed).isZero();
    }

    /** @param services names of filters, {@code null} = the jar has no such file */
    private void jar(String name, @Nullable String services, String... classes) throws Exception {
        serviceJar(name, Filter.class, services, classes);
    }

    private void serviceJar(String name, Class<?> service, @Nullable String services, String... classes)
            throws Exception {
        try (OutputStream out = Files.newOutputStream(jars.resolve(name));
                JarOutputStream jar = new JarOutputStream(out)) {
            for (String each : classes) {
                jar.putNextEntry(new JarEntry(each + ".class"));
                Files.copy(work.resolve(each + ".class"), jar);
            }
            if (services != null) {
                jar.putNextEntry(new JarEntry("META-INF/services/" + service.getName()));
                jar.write(services.getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    private void statusJar() throws Exception {
        compile("Status", STATUS);
        serviceJar("status.jar", FilterExtension.class, "Status", "Status", "Status$1");
    }

    private Configuration load() throws ConfigurationException {
        return load(Map.of(), Map.of("--filters-path", jars.toString()));
    }

    private static Configuration load(Map<String, String> environment, Map<String, String> flags)
            throws ConfigurationException {
        return ConfigurationLoader.load(Map.of(Settings.WORKERS_SECRET, SECRET), null, environment, flags, List.of());
    }

    /** Compiles the filter with a setting, changed, as the only one. */
    private void statusJar(String original, String changed) throws Exception {
        assertThat(STATUS).contains(original);
        compile("Status", STATUS.replace(original, changed));
        serviceJar("status.jar", FilterExtension.class, "Status", "Status", "Status$1");
    }

    /** A variable of a template that is not set must not leave out the check of requests. */
    @Test
    void should_not_start_without_the_filters_of_an_empty_path() {
        assertThatThrownBy(() -> load(Map.of("LAMBDA_DISPATCHER_FILTERS_PATH", ""), Map.of()))
                .isInstanceOf(ConfigurationException.class)
                .hasMessage("filters.path: expected a directory, got \"\""
                        + " (environment variable LAMBDA_DISPATCHER_FILTERS_PATH)");
        assertThatThrownBy(() -> load(Map.of(), Map.of("--filters-path", "")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("filters.path: expected a directory, got \"\"");
    }

    @Test
    void should_refuse_two_settings_of_one_type() throws Exception {
        statusJar();
        compile("Other", STATUS.replace("class Status", "class Other").replace("\"status\"", "\"other\""));
        serviceJar("other.jar", FilterExtension.class, "Other", "Other", "Other$1");
        assertRefused("status.jar: two settings with the type java.lang.Integer: function.other and function.status");
    }

    @Test
    void should_close_all_if_one_cannot_be_closed() throws Exception {
        compile(
                "Teapot",
                TEAPOT.replace("Text.TEXT", "\"\"")
                        .replace("{\n    public io", "{ public void close() { throw new Error(); }\n public io"));
        jar("a.jar", "Teapot", "Teapot");
        statusJar();
        DispatcherAssembly assembly = new DispatcherAssembly(load());
        assembly.builder(Transport.nio(), InheritedSockets.none());
        assembly.abandon();
        assertThat(System.getProperty(CLOSED)).isEqualTo("yes");
    }

    @Test
    void should_name_the_jar_of_a_filter_that_returns_nothing() throws Exception {
        brokenJar("null");
        assertRefused("broken.jar: Broken: java.lang.IllegalArgumentException: settings() returns null");
        brokenJar("java.util.Collections.singletonList(null)");
        assertRefused("broken.jar: Broken: java.lang.IllegalArgumentException: settings() returns [null]");
        brokenJar("List.of()");
        assertRefusedAtStart("broken.jar: Broken: java.lang.NullPointerException: create() returns null");
    }

    /** Otherwise, the start would end with a stack trace that says nothing of the jar. */
    @Test
    void should_name_the_jar_of_a_filter_that_cannot_say_when_it_runs() throws Exception {
        for (String method : List.of("Filter.Phase phase()", "Class<?> policyType()")) {
            compile(
                    "Status",
                    STATUS.replace(
                                    "public Class<?> policyType() {",
                                    "public " + method + " { if (true) throw new IllegalStateException(\"no\");")
                            .replace("return Integer.class;", "return null;"));
            serviceJar("status.jar", FilterExtension.class, "Status", "Status", "Status$1");
            assertRefusedAtStart("status.jar: Status: java.lang.IllegalStateException: no");
        }
        compile(
                "Status",
                STATUS.replace("Class<?> policyType() {", "Phase phase() {")
                        .replace("return Integer.class;", "return null;"));
        serviceJar("status.jar", FilterExtension.class, "Status", "Status", "Status$1");
        assertRefusedAtStart("status.jar: Status: java.lang.NullPointerException: phase() returns null");
    }

    private void assertRefusedAtStart(String message) throws Exception {
        DispatcherAssembly assembly = new DispatcherAssembly(load());
        assertThatThrownBy(() -> assembly.builder(Transport.nio(), InheritedSockets.none()))
                .isInstanceOf(StartException.class)
                .hasMessageContaining(message);
    }

    private void brokenJar(String settings) throws Exception {
        compile("Broken", """
                import io.lambdadispatcher.core.spi.*;
                import java.util.List;

                public final class Broken implements FilterExtension {
                    public List<FilterSetting<?>> settings() { return %s; }
                    public Filter create() { return null; }
                }
                """.formatted(settings));
        serviceJar("broken.jar", FilterExtension.class, "Broken", "Broken");
    }

    @Test
    void should_name_the_setting_whose_code_fails() throws Exception {
        statusJar(
                "status < 300 || functions.size() > 1 ? null : \"less than 300\"",
                "{ throw new NoClassDefFoundError(\"Gone\"); }");
        assertThat(check("--function-status=204")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString())
                .startsWith("function.status: expected a value that its filter can check (")
                .contains("Gone), got \"204\"");
        statusJar("new IllegalStateException()", "new NoClassDefFoundError(\"Gone\")");
        assertThat(check("--function-status=0")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("function.status: expected off, or a status of 200 or more, got \"0\"");
    }

    @Test
    void should_tell_the_names_of_settings_apart() throws Exception {
        statusJar("\"status\"", "\"function\"");
        assertRefused("status.jar: Status: java.lang.IllegalArgumentException: name \"function\", expected words");
        statusJar("\"status\"", "\"status-service-port\"");
        Map<String, String> environment = Map.of(
                "LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET, "LAMBDA_DISPATCHER_FUNCTION_STATUS_SERVICE_PORT", "205");
        assertThat(run(environment, "config", "check")).as(err::toString).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).containsPattern("function\\.status-service-port +205 +environment variable");
    }

    @Test
    void should_show_a_topic_as_it_is() throws Exception {
        statusJar("\"Statuses\"", "\"At most 100%, %d\"");
        assertThat(run(Map.of(), "serve", "--help-all")).as(err::toString).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).contains("\nAt most 100%, %d:\n");
    }

    /** Returns the filters of the jars, which come last. */
    private static List<FilterExtension> filtersOf(Configuration configuration) {
        return configuration.table().filters().services().stream()
                .skip(Settings.TABLE.filters().services().size())
                .toList();
    }

    @Test
    void should_find_a_filter_that_uses_another_jar() throws Exception {
        compile("Text", "public interface Text { String TEXT = Text.class.getSimpleName(); }");
        compile("Teapot", TEAPOT);
        jar("a.jar", "# of the test\nTeapot # short\n", "Teapot");
        jar("b.jar", null, "Text");
        assertThat(filtersOf(load())).singleElement().satisfies(extension -> {
            Filter filter = extension.create();
            assertThat(filter.getClass().getName()).isEqualTo("Teapot");
            Decision.Answer answer = (Decision.Answer) filter.onRequest(null);
            assertThat(answer.status()).isEqualTo(418);
            assertThat(answer.body()).asString().isEqualTo("Text");
        });
    }

    @Test
    void should_name_the_jar_of_an_error() throws Exception {
        compile("Broken", "public class Broken {}");
        jar("filters.jar", "Broken", "Broken");
        assertRefused("filters.jar: Broken: java.lang.ClassCastException");
        serviceJar("filters.jar", FilterExtension.class, "Broken", "Broken");
        assertRefused("filters.jar: Broken: java.lang.ClassCastException");
        jar("filters.jar", "Gone");
        assertRefused("filters.jar: Gone: java.lang.ClassNotFoundException");
        compile("Status", STATUS.replace("\"status\"", "\"The Status\""));
        serviceJar("filters.jar", FilterExtension.class, "Status", "Status", "Status$1");
        assertRefused("filters.jar: Status: java.lang.IllegalArgumentException: name \"The Status\", expected words");
        compile("Status", STATUS.replace("\"status\"", "\"max-workers\""));
        serviceJar("filters.jar", FilterExtension.class, "Status", "Status", "Status$1");
        assertRefused("filters.jar: two settings: function.max-workers");
        Files.writeString(jars.resolve("filters.jar"), "no jar");
        assertRefused("filters.jar: java.util.zip.ZipException");
        Files.delete(jars.resolve("filters.jar"));
        assertRefused("no jar of " + jars);
        Files.delete(jars);
        assertRefused("expected a directory");
    }

    private void assertRefused(String message) {
        assertThatThrownBy(this::load)
                .isInstanceOf(ConfigurationException.class)
                .hasMessageStartingWith("filters.path: ")
                .hasMessageContaining(message);
    }

    @Test
    void should_close_what_was_created_if_a_filter_cannot_be_created() throws Exception {
        statusJar();
        compile("Text", "public interface Text { String TEXT = \"\"; }");
        compile(
                "Teapot",
                TEAPOT.replace("{\n    public io", "{ public Teapot() { throw new Error(\"no key\"); }\n public io"));
        jar("teapot.jar", "Teapot", "Teapot");
        DispatcherAssembly assembly = new DispatcherAssembly(load());
        assertThatThrownBy(() -> assembly.builder(Transport.nio(), InheritedSockets.none()))
                .isInstanceOf(StartException.class)
                .hasMessageStartingWith("filters.path: ")
                .hasMessageContaining("teapot.jar: Teapot: java.lang.Error: no key");
        assertThat(System.getProperty(CLOSED)).isNull();
        assembly.abandon();
        assertThat(System.getProperty(CLOSED)).isEqualTo("yes");
    }

    private int run(Map<String, String> environment, String... arguments) {
        CommandLine line = Commands.commandLine(environment, Termination::new);
        line.setOut(new PrintWriter(out));
        line.setErr(new PrintWriter(err));
        return line.execute(Stream.concat(Stream.of(arguments), Stream.of("--filters-path", jars.toString()))
                .toArray(String[]::new));
    }

    private int check(String... arguments) {
        return run(
                Map.of("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET),
                Stream.concat(Stream.of("config", "check"), Stream.of(arguments))
                        .toArray(String[]::new));
    }

    @Test
    void should_check_the_settings_of_a_filter_like_all_others() throws Exception {
        statusJar();
        assertThat(check("--function-status=204")).as(err::toString).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).containsPattern("function\\.status +204 +flag --function-status");
        assertThat(run(
                        Map.of("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET, "LAMBDA_DISPATCHER_FUNCTION_STATUS", "205"),
                        "config",
                        "check"))
                .isEqualTo(ExitCode.OK);
        assertThat(out.toString()).containsPattern("function\\.status +205 +environment variable");
        assertThat(check()).isEqualTo(ExitCode.OK);
        assertThat(out.toString()).containsPattern("function\\.status +off +default");

        assertThat(check("--function-status=many")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString())
                .isEqualTo("function.status: expected off, or a status of 200 or more, got \"many\""
                        + " (flag --function-status)\n");
        assertThat(check("--function-status=0")).as("its parser fails").isEqualTo(ExitCode.USAGE);
        assertThat(check("--function-status=404")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("function.status: expected less than 300, got \"404\"");
        assertThat(check("--function-statos=404")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("unknown flag \"--function-statos\", did you mean \"--function-status\"?");
        assertThat(check("--function-status", "204")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("--function-status: expected --function-status=off|STATUS");
    }

    @Test
    void should_describe_the_settings_of_a_filter() throws Exception {
        statusJar();
        assertThat(run(Map.of(), "serve", "--help-all")).isEqualTo(ExitCode.OK);
        assertThat(out.toString())
                .containsSubsequence(
                        "\nPublic ports:\n",
                        "\nStatuses:\n",
                        "--function-status=off|STATUS",
                        "Answers all requests with this status.",
                        "(default: off)");
        Files.delete(jars.resolve("status.jar"));
        assertThat(run(Map.of(), "serve", "--help-all")).isEqualTo(ExitCode.USAGE);
        assertThat(err.toString()).contains("no jar of " + jars);
    }

    private static int status(Server server, String path) throws Exception {
        URI uri = URI.create(server.publicUrls().get(0) + path);
        return HttpClient.newHttpClient()
                .send(HttpRequest.newBuilder(uri).build(), BodyHandlers.discarding())
                .statusCode();
    }

    private Path settings(String ofShop, String ofRoute) throws Exception {
        return Files.writeString(work.resolve("dispatcher.yaml"), """
                public.plain.port: 127.0.0.1:0
                workers: {port: '127.0.0.1:0', secret: %s}
                admin.port: off
                shutdown.grace: 1s
                functions:
                - {name: shop, queue-timeout: 1ms%s}
                - {name: other, path: /other}
                routes:
                - {function: shop, path: /route%s}
                """.formatted(SECRET, ofShop, ofRoute));
    }

    /** A dispatcher that starts, reloads and ends. */
    private final class Life extends SettingsCommand {
        Life() {
            super("life", "For the test.", Set.of(), Map.of(), Map.of());
        }

        @Override
        int run(Configuration configuration, PrintWriter out, PrintWriter err)
                throws StartException, InterruptedException {
            Server server = Server.start(configuration, Map.of());
            try {
                reload(server);
            } catch (Exception e) {
                throw new AssertionError(e);
            } finally {
                server.stop(false);
            }
            return ExitCode.OK;
        }

        private void reload(Server server) throws Exception {
            assertThat(status(server, "/")).isEqualTo(203);
            assertThat(status(server, "/route")).isEqualTo(204);
            settings(", status: 404", "");
            assertThat(server.reload(load()).changes())
                    .containsExactly(
                            "function shop, status: 203 -> 404",
                            "routes[0]: function shop, path /route, status 204 -> function shop, path /route");
            assertThat(status(server, "/")).isEqualTo(404);
            assertThat(status(server, "/route")).isEqualTo(404);
            settings(", status: many", "");
            assertThatThrownBy(this::load).hasMessageContaining("function shop, status: expected off, or a status");
            settings("", "");
            server.reload(load());
            assertThat(status(server, "/")).as("without a worker").isEqualTo(503);
            assertThat(System.getProperty(CLOSED)).isNull();

            Files.writeString(jars.resolve("notes.txt"), "no filter");
            assertThat(server.reload(load()).restarts()).isEmpty();
            jar("further.jar", "Gone");
            assertThat(server.reload(load()).restarts())
                    .containsExactly("filters.path: " + jars + " with other contents");
            assertThat(status(server, "/")).isEqualTo(503);
        }
    }

    @Test
    void should_reload_the_settings_of_a_filter_and_close_it_at_the_end() throws Exception {
        statusJar();
        Path file = settings(", status: 203", ", status: 204");
        CommandLine line = new CommandLine(new Life().spec()).setErr(new PrintWriter(err));
        assertThat(line.execute("--config", file.toString(), "--filters-path", jars.toString()))
                .as(err::toString)
                .isEqualTo(ExitCode.OK);
        assertThat(System.getProperty(CLOSED)).isEqualTo("yes");
    }
}
