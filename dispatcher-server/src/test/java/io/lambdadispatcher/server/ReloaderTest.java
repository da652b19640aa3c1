package io.lambdadispatcher.server;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.server.config.Configuration;
import io.lambdadispatcher.server.config.ConfigurationException;
import io.lambdadispatcher.server.config.ConfigurationLoader;
import io.lambdadispatcher.server.log.Logging;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/** A server without workers, which reloads its settings file. */
class ReloaderTest {
    private static final Logger LOGGER = (Logger) LoggerFactory.getLogger(Reloader.class);

    @TempDir
    Path directory;

    private final BlockingQueue<String> log = new LinkedBlockingQueue<>();
    private final AppenderBase<ILoggingEvent> appender = new AppenderBase<>() {
        @Override
        protected void append(ILoggingEvent event) {
            log.add(event.getFormattedMessage());
            if (failsToLog) {
                failsToLog = false;
                throw new AssertionError("no memory for a line of the log");
            }
        }
    };
    private volatile boolean failsToLog;
    private final HttpClient client = HttpClient.newHttpClient();
    private Server server;
    private Reloader reloader;

    @BeforeEach
    void start() throws Exception {
        appender.start();
        LOGGER.addAppender(appender);
        Files.writeString(directory.resolve("secret"), "the-first-secret-of-workers");
        write("1ms", "the-first-admin-token");
        Configuration configuration = load();
        server = Server.start(configuration, Map.of());
        reloader = new Reloader(this::load, server, configuration);
    }

    @AfterEach
    void stop() throws InterruptedException {
        reloader.close();
        server.stop(false);
        LOGGER.detachAppender(appender);
        LOGGER.setLevel(null);
        Logging.setLevel(org.slf4j.event.Level.INFO);
    }

    private Path file() {
        return directory.resolve("dispatcher.yaml");
    }

    private void write(String queueTimeout, String token, String... more) throws IOException {
        writeFile(token, "function.queue-timeout: " + queueTimeout, String.join("\n", more));
    }

    private void writeFile(String token, String... functions) throws IOException {
        Files.writeString(
                file(),
                String.join(
                        "\n",
                        "public.plain.port: 127.0.0.1:0",
                        "workers: {port: '127.0.0.1:0', secret: 'file:" + directory.resolve("secret") + "'}",
                        "admin: {port: 0, token: " + token + "}",
                        "shutdown.grace: 1s",
                        String.join("\n", functions)));
    }

    private Configuration load() throws ConfigurationException {
        return ConfigurationLoader.load(Map.of(), file(), Map.of(), Map.of(), List.of());
    }

    private String nextLine() throws InterruptedException {
        String line = log.poll(20, TimeUnit.SECONDS);
        assertThat(line).as("a line of the log").isNotNull();
        return line;
    }

    private String config() throws Exception {
        return client.send(
                        HttpRequest.newBuilder(URI.create(server.adminUrl() + "/api/config"))
                                .build(),
                        BodyHandlers.ofString())
                .body();
    }

    private int pause(String token) throws Exception {
        return client.send(
                        HttpRequest.newBuilder(URI.create(server.adminUrl() + "/launching?to=on"))
                                .header("authorization", "Bearer " + token)
                                .POST(BodyPublishers.noBody())
                                .build(),
                        BodyHandlers.discarding())
                .statusCode();
    }

    @Test
    void should_put_new_settings_in_force_and_log_the_difference() throws Exception {
        write("7ms", "the-second-admin-token", "event-loops: 3");

        reloader.request("SIGHUP");

        assertThat(nextLine()).isEqualTo("SIGHUP: reloaded. In force now:");
        assertThat(nextLine()).isEqualTo("  admin.token: (secret) with other contents");
        assertThat(nextLine()).isEqualTo("  function.queue-timeout: 1ms -> 7ms");
        assertThat(nextLine()).isEqualTo("  needs a restart: event-loops: auto -> 3");
        assertThat(config())
                .contains("{\"name\":\"function.queue-timeout\",\"value\":\"7ms\"")
                .contains("{\"name\":\"event-loops\",\"value\":\"auto\"");
        assertThat(pause("the-second-admin-token")).isNotEqualTo(401);
        assertThat(pause("the-first-admin-token")).isEqualTo(401);
    }

    /** The request is refused, because there is no function for it. Its trace says so. */
    @Test
    void should_change_which_requests_are_traced() throws Exception {
        BlockingQueue<Integer> exports = new LinkedBlockingQueue<>();
        HttpServer collector = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        collector.createContext("/", exchange -> {
            exports.add(exchange.getRequestBody().readAllBytes().length);
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        collector.start();
        String endpoint = "http://127.0.0.1:" + collector.getAddress().getPort() + "/v1/traces";
        System.setProperty("otel.bsp.schedule.delay", "20");
        reloader.close();
        server.stop(false);
        write("1ms", "the-first-admin-token", "tracing: {endpoint: '" + endpoint + "', ratio: 0}");
        Configuration configuration = load();
        server = Server.start(configuration, Map.of());
        reloader = new Reloader(this::load, server, configuration);
        try {
            write("1ms", "the-first-admin-token", "tracing: {endpoint: '" + endpoint + "', ratio: 1}");
            reloader.request("SIGHUP");
            assertThat(nextLine()).isEqualTo("SIGHUP: reloaded. In force now:");
            assertThat(nextLine()).isEqualTo("  tracing.ratio: 0 -> 1");
            client.send(
                    HttpRequest.newBuilder(URI.create(server.publicUrls().get(0) + "/none"))
                            .build(),
                    BodyHandlers.discarding());

            assertThat(exports.poll(20, TimeUnit.SECONDS)).isGreaterThan(100);
        } finally {
            System.clearProperty("otel.bsp.schedule.delay");
            collector.stop(0);
        }
    }

    @Test
    void should_change_nothing_if_one_setting_is_wrong() throws Exception {
        write("7ms", "short");

        reloader.request("SIGHUP");

        assertThat(nextLine()).isEqualTo("SIGHUP: the reload was refused, and nothing has changed:");
        assertThat(nextLine()).startsWith("  admin.token: expected at least 16 random bytes");
        assertThat(config()).contains("{\"name\":\"function.queue-timeout\",\"value\":\"1ms\"");
        assertThat(pause("the-first-admin-token")).isNotEqualTo(401);
    }

    @Test
    void should_reload_once_after_a_file_has_changed() throws Exception {
        reloader.watch(20);

        Files.writeString(directory.resolve("secret"), "the-second-secret-of-workers");

        assertThat(nextLine()).isEqualTo(directory.resolve("secret") + " changed: reloaded. In force now:");
        assertThat(nextLine())
                .isEqualTo("  workers.secret: file:" + directory.resolve("secret") + " with other contents");
        assertThat(log.poll(200, TimeUnit.MILLISECONDS)).as("a second reload").isNull();
    }

    /** It would watch no file any more, and the next certificate would not be loaded. */
    @Test
    void should_watch_on_after_an_error() throws Exception {
        failsToLog = true;
        reloader.watch(20);
        Files.writeString(directory.resolve("secret"), "short");
        assertThat(nextLine()).endsWith("changed: the reload was refused, and nothing has changed:");

        Files.writeString(directory.resolve("secret"), "the-second-secret-of-workers");
        String line = nextLine();
        while (line.contains("refused") || line.startsWith("  ")) {
            line = nextLine();
        }

        assertThat(line).isEqualTo(directory.resolve("secret") + " changed: reloaded. In force now:");
    }

    @Test
    void should_try_once_and_wait_for_the_next_change_if_a_file_is_wrong() throws Exception {
        reloader.watch(20);

        Files.writeString(directory.resolve("secret"), "short");
        assertThat(nextLine())
                .isEqualTo(directory.resolve("secret") + " changed: the reload was refused, and nothing has changed:");
        assertThat(nextLine()).startsWith("  workers.secret: expected at least 16 random bytes, or file: and");
        assertThat(log.poll(200, TimeUnit.MILLISECONDS)).as("a second try").isNull();

        Files.writeString(directory.resolve("secret"), "the-second-secret-of-workers");
        assertThat(nextLine()).endsWith("changed: reloaded. In force now:");
    }

    @Test
    void should_load_refused_settings_again_when_a_file_is_mended_that_only_they_name() throws Exception {
        reloader.watch(20);
        Path next = directory.resolve("next");

        String settings = Files.readString(file());
        Files.writeString(file(), settings.replace(directory.resolve("secret").toString(), next.toString()));
        assertThat(nextLine()).isEqualTo(file() + " changed: the reload was refused, and nothing has changed:");
        assertThat(nextLine()).startsWith("  workers.secret: expected at least 16 random bytes, or file: and");
        assertThat(log.poll(200, TimeUnit.MILLISECONDS)).as("a second try").isNull();

        Files.writeString(next, "the-second-secret-of-workers");
        assertThat(nextLine()).isEqualTo(next + " changed: reloaded. In force now:");
        assertThat(nextLine()).isEqualTo("  workers.secret: file:" + directory.resolve("secret") + " -> file:" + next);
        assertThat(log.poll(200, TimeUnit.MILLISECONDS)).as("a second reload").isNull();
    }

    /** The certificate may expire before the restart. */
    @Test
    void should_renew_a_certificate_that_is_kept_until_a_restart() throws Exception {
        reloader.close();
        server.stop(false);
        Path certificate = directory.resolve("server.pem");
        Path key = directory.resolve("server.key");
        try (DemoCertificate first = DemoCertificate.create();
                DemoCertificate second = DemoCertificate.create()) {
            Files.copy(first.certificate(), certificate);
            Files.copy(first.key(), key);
            write(
                    "1ms",
                    "the-first-admin-token",
                    "public.tls: {port: '127.0.0.1:0', certificate: " + certificate + ", key: " + key + "}");
            Configuration configuration = load();
            server = Server.start(configuration, Map.of());
            reloader = new Reloader(this::load, server, configuration);
            write("1ms", "the-first-admin-token", "public.tls.port: 127.0.0.1:0");
            reloader.request("SIGHUP");
            assertThat(nextLine()).isEqualTo("SIGHUP: reloaded, and no setting has changed.");
            assertThat(nextLine()).startsWith("  needs a restart: public.tls.certificate: ");
            assertThat(nextLine()).startsWith("  needs a restart: public.tls.key: ");

            Files.copy(second.certificate(), certificate, StandardCopyOption.REPLACE_EXISTING);
            Files.copy(second.key(), key, StandardCopyOption.REPLACE_EXISTING);
            reloader.watch(20);
            assertThat(nextLine())
                    .isEqualTo(key + ", " + certificate + " changed: reloaded, and no setting has changed.");
        }
    }

    @Test
    void should_say_that_nothing_has_changed() throws Exception {
        reloader.request("SIGHUP");

        assertThat(nextLine()).isEqualTo("SIGHUP: reloaded, and no setting has changed.");
    }

    private String command(String target) throws Exception {
        return client.send(
                        HttpRequest.newBuilder(URI.create(server.adminUrl() + target))
                                .header("authorization", "Bearer the-first-admin-token")
                                .POST(BodyPublishers.noBody())
                                .build(),
                        BodyHandlers.ofString())
                .body();
    }

    @Test
    void should_keep_what_a_command_has_set_until_the_file_changes_it() throws Exception {
        assertThat(command("/api/log-level?to=warn")).isEqualTo("{\"level\":\"warn\"}");
        String warn = "{\"name\":\"log.level\",\"value\":\"warn\",\"source\":\"command\"}";
        assertThat(config()).contains(warn);
        LOGGER.setLevel(Level.INFO);

        write("7ms", "the-first-admin-token");
        reloader.request("SIGHUP");
        assertThat(nextLine()).isEqualTo("SIGHUP: reloaded. In force now:");
        assertThat(nextLine()).isEqualTo("  function.queue-timeout: 1ms -> 7ms");
        assertThat(nextLine()).isEqualTo("  log.level: warn, set by a command");
        assertThat(config()).contains(warn);

        write("7ms", "the-first-admin-token", "log.level: debug");
        reloader.request("SIGHUP");
        assertThat(nextLine()).isEqualTo("SIGHUP: reloaded. In force now:");
        assertThat(nextLine()).isEqualTo("  log.level: info -> debug");
        assertThat(config())
                .contains("{\"name\":\"log.level\",\"value\":\"debug\"")
                .doesNotContain("\"command\"");
    }

    @Test
    void should_refuse_a_command_as_it_refuses_a_setting() throws Exception {
        assertThat(command("/api/log-level?to=loud"))
                .isEqualTo("log.level: expected one of error, warn, info, debug, trace, got \"loud\" (command)\n");
        assertThat(command("/api/weights?default=1"))
                .isEqualTo("function: 'default', expected one that shares its route with another: []\n");
        assertThat(config()).doesNotContain("\"command\"");
    }

    private void writeShops(String pathOfNext) throws IOException {
        writeFile(
                "the-first-admin-token",
                "functions:",
                "- {name: shop, path: /shop, weight: 90}",
                "- {name: next, path: " + pathOfNext + ", weight: 10}");
    }

    /** Its weight of 0 would refuse this reload and each later one. */
    @Test
    void should_drop_the_weight_of_a_function_that_no_longer_shares_its_route() throws Exception {
        reloader.close();
        server.stop(false);
        writeShops("/shop");
        Configuration configuration = load();
        server = Server.start(configuration, Map.of());
        reloader = new Reloader(this::load, server, configuration);
        assertThat(command("/api/weights?shop=0")).isEqualTo("{\"weights\":{\"shop\":0,\"next\":10}}");

        writeShops("/next");
        reloader.request("SIGHUP");

        assertThat(nextLine()).isEqualTo("SIGHUP: reloaded. In force now:");
        assertThat(nextLine()).isEqualTo("  function next, path: /shop -> /next");
        assertThat(nextLine())
                .isEqualTo("  function shop, weight: not set by a command any more, because the weights of its route"
                        + " would all be 0, or no other function has this route");
        assertThat(config()).doesNotContain("\"command\"");
    }
}
