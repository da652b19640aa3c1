package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.lambdadispatcher.core.options.RetryCondition;
import io.lambdadispatcher.server.config.FunctionConfiguration.Launcher;
import io.lambdadispatcher.shadow.ShadowPolicy;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ConfigurationLoaderTest {
    private static final String SECRET = "0123456789abcdef";

    @TempDir
    Path directory;

    private final Map<String, String> environment = new HashMap<>();
    private final Map<String, String> flags = new HashMap<>();
    private @Nullable Path file;

    private void write(String... lines) throws IOException {
        file = directory.resolve("dispatcher.yaml");
        Files.write(file, List.of(lines));
    }

    private Configuration load() throws ConfigurationException {
        return ConfigurationLoader.load(Map.of(), file, environment, flags, List.of());
    }

    private Configuration loadWithSecret() throws ConfigurationException {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        return load();
    }

    private List<String> problems(String... misplaced) {
        return catchThrowableOfType(
                        ConfigurationException.class,
                        () -> ConfigurationLoader.load(Map.of(), file, environment, flags, List.of(misplaced)))
                .problems();
    }

    @Test
    void should_use_defaults_where_nothing_is_set() throws Exception {
        Configuration configuration = loadWithSecret();

        assertThat(configuration.get(Settings.PUBLIC_PLAIN_PORT).port()).isEqualTo(8080);
        assertThat(configuration.get(Settings.PUBLIC_TLS_PORT).port()).isEqualTo(8443);
        assertThat(configuration.get(Settings.WORKERS_PORT).port()).isEqualTo(8444);
        assertThat(configuration.get(Settings.ADMIN_PORT).port()).isEqualTo(9901);
        assertThat(configuration.get(Settings.ADMIN_PORT).host()).isEqualTo("127.0.0.1");
        assertThat(configuration.find(Settings.PUBLIC_TLS_KEY)).isNull();
        assertThat(configuration.isDefault(Settings.WORKERS_PORT)).isTrue();
        assertThat(configuration.functions()).hasSize(1);
    }

    @Test
    void should_read_nested_and_dotted_names_from_the_file() throws Exception {
        write("public:", "  plain:", "    port: 81", "  tls.port: 82", "shutdown.grace: 5s", "event-loops: 3");

        Configuration configuration = loadWithSecret();

        assertThat(configuration.get(Settings.PUBLIC_PLAIN_PORT).port()).isEqualTo(81);
        assertThat(configuration.get(Settings.PUBLIC_TLS_PORT).port()).isEqualTo(82);
        assertThat(configuration.get(Settings.SHUTDOWN_GRACE)).isEqualTo(Duration.ofSeconds(5));
        assertThat(configuration.get(Settings.EVENT_LOOPS)).isEqualTo(3);
    }

    @Test
    void should_prefer_flag_to_environment_to_file_to_default() throws Exception {
        write("public.plain.port: 1", "public.tls.port: 1", "workers.port: 1");
        environment.put("LAMBDA_DISPATCHER_PUBLIC_PLAIN_PORT", "2");
        environment.put("LAMBDA_DISPATCHER_PUBLIC_TLS_PORT", "2");
        flags.put("--public-plain-port", "3");

        Configuration configuration = loadWithSecret();

        assertThat(configuration.get(Settings.PUBLIC_PLAIN_PORT).port()).isEqualTo(3);
        assertThat(configuration.get(Settings.PUBLIC_TLS_PORT).port()).isEqualTo(2);
        assertThat(configuration.get(Settings.WORKERS_PORT).port()).isEqualTo(1);
        assertThat(configuration.report())
                .containsPattern("public\\.plain\\.port +3 +flag --public-plain-port\n")
                .containsPattern("public\\.tls\\.port +2 +environment variable LAMBDA_DISPATCHER_PUBLIC_TLS_PORT\n")
                .containsPattern("workers\\.port +1 +.*dispatcher\\.yaml line 3, column 1\n")
                .containsPattern("admin\\.port +9901 +default\n");
    }

    @Test
    void should_read_the_file_that_the_environment_names() throws Exception {
        write("workers.port: 5");
        environment.put("LAMBDA_DISPATCHER_CONFIG", String.valueOf(file));
        file = null;

        assertThat(loadWithSecret().get(Settings.WORKERS_PORT).port()).isEqualTo(5);
    }

    @Test
    void should_take_other_defaults_for_defaults() throws Exception {
        Configuration configuration = ConfigurationLoader.load(
                Map.of(Settings.WORKERS_PORT, "7", Settings.WORKERS_SECRET, SECRET),
                null,
                Map.of(),
                Map.of(),
                List.of());

        assertThat(configuration.get(Settings.WORKERS_PORT).port()).isEqualTo(7);
        assertThat(configuration.isDefault(Settings.WORKERS_PORT)).isTrue();
    }

    @Test
    void should_refuse_unknown_names_with_the_nearest_known_one() throws Exception {
        write("pubic.port: 1", "pubic:", "  plain:", "    port: 2", "admin: 3", "zzz: 4");
        environment.put("LAMBDA_DISPATCHER_WORKER_PORT", "4");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems("--wrokers-port=4", "stray"))
                .containsExactly(
                        "unknown setting \"pubic.port\" (" + file
                                + " line 1, column 1), did you mean \"public.plain.port\"?",
                        "unknown setting \"pubic.plain.port\" (" + file
                                + " line 4, column 5), did you mean \"public.plain.port\"?",
                        "unknown setting \"admin\" (" + file
                                + " line 5, column 1), it is a group of settings such as \"admin.port\"",
                        "unknown setting \"zzz\" (" + file + " line 6, column 1)",
                        "unknown environment variable \"LAMBDA_DISPATCHER_WORKER_PORT\","
                                + " did you mean \"LAMBDA_DISPATCHER_WORKERS_PORT\"?",
                        "unknown flag \"--wrokers-port\", did you mean \"--workers-port\"?",
                        "unexpected argument \"stray\"");
    }

    @Test
    void should_leave_variables_that_are_for_others_alone() throws Exception {
        environment.put("LAMBDA_DISPATCHER_ADVERTISED_HOST", "10.0.0.7");
        environment.put("LAMBDA_DISPATCHER_PAYLOAD", "{}");
        environment.put("LAMBDA_DISPATCHER_HANDLER", "com.example.Orders");
        environment.put("LAMBDA_DISPATCHER_EXIT_WITH_PARENT", "true");
        environment.put("LAMBDA_DISPATCHER_DOWNSTREAM_SHARE", "20");
        environment.put("LAMBDA_DISPATCHER_JAVA_OPTS", "-Xmx1g");

        assertThat(loadWithSecret().get(Settings.WORKERS_PORT).port()).isEqualTo(8444);
    }

    /** As in a pod beside the Services lambda-dispatcher and lambda-dispatcher-workers. */
    @Test
    void should_ignore_the_service_links_of_kubernetes() throws Exception {
        for (String service : List.of("LAMBDA_DISPATCHER", "LAMBDA_DISPATCHER_WORKERS")) {
            environment.put(service + "_SERVICE_HOST", "10.0.0.7");
            environment.put(service + "_SERVICE_PORT", "80");
            environment.put(service + "_SERVICE_PORT_HTTP", "80");
            environment.put(service + "_PORT", "tcp://10.0.0.7:80");
            environment.put(service + "_PORT_80_TCP", "tcp://10.0.0.7:80");
            environment.put(service + "_PORT_80_TCP_PROTO", "tcp");
            environment.put(service + "_PORT_80_TCP_PORT", "80");
            environment.put(service + "_PORT_80_TCP_ADDR", "10.0.0.7");
        }
        assertThat(loadWithSecret().get(Settings.WORKERS_PORT).port()).isEqualTo(8444);

        environment.put("LAMBDA_DISPATCHER_PORT", "80");
        assertThat(problems())
                .singleElement()
                .asString()
                .startsWith("unknown environment variable \"LAMBDA_DISPATCHER_PORT\"");
    }

    @Test
    void should_report_every_wrong_value_with_its_source_and_what_was_expected() throws Exception {
        write("log.level: loud", "http:", "  max-header-size: 1KB");
        environment.put("LAMBDA_DISPATCHER_SHUTDOWN_GRACE", "10");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        flags.put("--public-plain-port", "65536");

        assertThat(problems())
                .containsExactlyInAnyOrder(
                        "log.level: expected one of error, warn, info, debug, trace, got \"loud\" (" + file
                                + " line 1, column 1)",
                        "http.max-header-size: expected a size from 1KiB to 128KiB, got \"1KB\" (" + file
                                + " line 3, column 3)",
                        "shutdown.grace: expected 0, or a duration such as 500ms, 10s, 15m or 1h, got \"10\""
                                + " (environment variable LAMBDA_DISPATCHER_SHUTDOWN_GRACE)",
                        "public.plain.port: expected off, or a port from 1 to 65535, or 0 for any free port, optionally"
                                + " after an address, such as 8080 or 127.0.0.1:8080, and optionally proxy-protocol, got"
                                + " \"65536\""
                                + " (flag --public-plain-port)");
    }

    @Test
    void should_take_a_clients_name_only_from_a_trusted_proxy() throws Exception {
        flags.put("--workers-secret", SECRET);
        flags.put("--forwarding-client-header", "X-Client-Id");
        assertThat(problems())
                .containsExactly(
                        "forwarding.client-header: expected forwarding.trust to name a proxy, such as append, or"
                                + " this not to be set, got \"X-Client-Id\" (flag --forwarding-client-header)");

        flags.put("--forwarding-trust", "append");
        assertThat(load().find(Settings.FORWARDING_CLIENT_HEADER)).isEqualTo("x-client-id");
    }

    @Test
    void should_never_show_a_secret() throws Exception {
        flags.put("--workers-secret", "tooshort");
        assertThat(problems())
                .containsExactly(
                        "workers.secret: expected at least 16 random bytes, or file: and the path of a readable"
                                + " file that holds as many, in each line if it is text, got 8 bytes (flag --workers-secret)");

        // Without file:, the path would be the secret.
        Path secret = Files.writeString(directory.resolve("secret"), SECRET);
        flags.put("--workers-secret", secret.toString());
        assertThat(problems()).singleElement().asString().startsWith("workers.secret: expected at least 16 random");

        flags.put("--workers-secret", SECRET);
        assertThat(load().report()).contains("(secret)").doesNotContain(SECRET);
    }

    @Test
    void should_show_only_the_names_of_environment_variables() throws Exception {
        write("local.environment: [PORT=8080, 'DB_PASSWORD=hush hush']");
        assertThat(loadWithSecret().report())
                .containsPattern("local\\.environment +DB_PASSWORD=\\(secret\\) PORT=\\(secret\\) +")
                .doesNotContain("hush");

        flags.put("--local-environment", "DB_PASSWORD=hush hush");
        assertThat(problems())
                .containsExactly("local.environment: expected NAME=VALUE, separated by spaces, or a list if a value"
                        + " contains spaces, got 21 bytes (flag --local-environment)");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"https://user:hush@host", "https://hush@host:4318", "https://ho st:hush@x", "https://x?key=hush"
            })
    void should_refuse_a_url_with_a_password_without_showing_it(String url) {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        flags.put("--aws-endpoint", url);

        assertThat(problems())
                .containsExactly(
                        "aws.endpoint: expected a URL such as http://host:4566, without user, password and query, got "
                                + url.length() + " bytes (flag --aws-endpoint)");
    }

    @Test
    void should_refuse_a_secret_file_that_holds_too_little() throws Exception {
        Path secret = Files.writeString(directory.resolve("secret"), "tooshort\n");
        flags.put("--workers-secret", "file:" + secret);
        assertThat(problems())
                .containsExactly(
                        "workers.secret: expected at least 16 random bytes, or file: and the path of a readable file"
                                + " that holds as many, in each line if it is text, got \"file:" + secret
                                + "\" (flag --workers-secret)");

        Files.writeString(secret, SECRET + "\r\n");
        assertThat(load().find(Settings.WORKERS_SECRET)).containsExactly(SECRET.getBytes(StandardCharsets.US_ASCII));
    }

    @Test
    void should_read_the_secrets_in_further_lines() throws Exception {
        Path secrets = Files.writeString(directory.resolve("secrets"), SECRET + "\r\n\nthe previous secret\n");
        flags.put("--workers-secret", "file:" + secrets);
        assertThat(load().find(Settings.WORKERS_SECRET))
                .containsExactly(
                        SECRET.getBytes(StandardCharsets.US_ASCII),
                        "the previous secret".getBytes(StandardCharsets.US_ASCII));

        Files.writeString(secrets, SECRET + "\ntooshort\n");
        assertThat(problems()).first().asString().startsWith("workers.secret: expected ");
    }

    @Test
    void should_read_a_secret_file_that_is_not_text() throws Exception {
        byte[] secret = {-1, 0, '\n', -2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        Path file = Files.write(directory.resolve("secret"), secret);
        flags.put("--workers-secret", "file:" + file);

        assertThat(load().find(Settings.WORKERS_SECRET)).containsExactly(secret);
        assertThat(load().report()).containsPattern("workers\\.secret +file:" + file + " +flag");
    }

    @Test
    void should_say_where_a_file_is_not_yaml() throws Exception {
        write("public:", "  plain: [1, 2");

        assertThat(problems()).singleElement().asString().startsWith(file + " line 2, column 15: expected YAML: ");
    }

    @Test
    void should_refuse_a_second_document() throws Exception {
        write("---", "workers.port: 1", "---", "admin.port: 2");
        assertThat(problems())
                .containsExactly(file + " line 4, column 1: expected one YAML document, got another one after ---");

        write("---", "workers.port: 1", "...");
        assertThat(loadWithSecret().get(Settings.WORKERS_PORT).port()).isEqualTo(1);
    }

    @Test
    void should_ask_for_the_indentation_if_blocks_do_not_fit() throws Exception {
        write("function:", "  name: shop", "   path: /a");

        assertThat(problems()).singleElement().asString().contains("mapping values are not allowed here");
        write("function:", "  name: shop", " path: /a");
        assertThat(problems())
                .singleElement()
                .asString()
                .contains("expected <block end>, but found", "is the indentation right?");
    }

    @Test
    void should_say_that_a_file_is_missing_and_not_what_it_would_contain() {
        file = directory.resolve("missing.yaml");

        assertThat(problems()).containsExactly("settings file " + file + ": expected an existing file");
    }

    @Test
    void should_not_ask_for_a_setting_whose_name_is_misspelt() throws Exception {
        write("workers:", "  secrets: " + SECRET);

        assertThat(problems()).singleElement().asString().contains("did you mean \"workers.secret\"?");
    }

    @Test
    void should_refuse_a_name_that_is_given_twice_and_one_without_a_value() throws Exception {
        write("workers.port: 1", "workers:", "  port: 2", "  secret:");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems())
                .containsExactly(
                        "workers.port: expected one value, got two (" + file + " line 1, column 1, " + file
                                + " line 3, column 3)",
                        "workers.secret: expected a value, got nothing (" + file + " line 4, column 10)");
    }

    @Test
    void should_read_lists_from_the_file_and_from_text() throws Exception {
        write(
                "local.jvm-flags:",
                "  - -Xmx64m",
                "  - -Dname=with space",
                "workers.advertised-addresses: [a:1, '[::1]:2']");
        flags.put("--local-command", "node  worker.js");

        Configuration configuration = loadWithSecret();

        assertThat(configuration.get(Settings.LOCAL_JVM_FLAGS)).containsExactly("-Xmx64m", "-Dname=with space");
        assertThat(configuration.get(Settings.LOCAL_COMMAND)).containsExactly("node", "worker.js");
        assertThat(configuration.get(Settings.WORKERS_ADVERTISED_ADDRESSES))
                .containsExactly(
                        InetSocketAddress.createUnresolved("a", 1), InetSocketAddress.createUnresolved("::1", 2));
    }

    @Test
    void should_refuse_an_alias_for_a_value_and_in_a_list() throws Exception {
        write(
                "log.level: &level info",
                "local.command: &flag -Xmx64m",
                "workers.secret: *level",
                "local.jvm-flags:",
                "  - *flag");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems())
                .containsExactly(
                        "workers.secret: expected a value, got an alias (" + file + " line 3, column 17)",
                        "local.jvm-flags: expected a value, got an alias (" + file + " line 5, column 5)");
    }

    @Test
    void should_refuse_a_list_where_one_value_is_meant() throws Exception {
        write("workers.port: [1, 2]");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems())
                .containsExactly(
                        "workers.port: expected a port from 1 to 65535, or 0 for any free port, optionally after an"
                                + " address, such as 8080 or 127.0.0.1:8080, got \"[1, 2]\" (" + file
                                + " line 1, column 1)");
    }

    @Test
    void should_read_a_list_of_functions() throws Exception {
        write(
                "local.command: run-worker",
                "functions:",
                "  - name: api",
                "    launcher: local",
                "    min-workers: 3",
                "    max-workers: 3",
                "    worker-concurrency: 20 connections 4",
                "    max-queued-requests: 6",
                "    queue-timeout: 7s",
                "    worker-timeout: off",
                "  - name: images",
                "    path: /images");

        List<FunctionConfiguration> functions = loadWithSecret().functions();

        assertThat(functions).extracting(f -> f.options().name()).containsExactly("api", "images");
        assertThat(functions).extracting(function -> function.route().path()).containsExactly("", "/images");
        assertThat(functions)
                .extracting(FunctionConfiguration::launcher)
                .containsExactly(Launcher.LOCAL, Launcher.EXTERNAL);
        assertThat(functions.get(0).options().capacity().minWorkers()).isEqualTo(3);
        assertThat(functions.get(0).options().connectionsPerWorker()).isEqualTo(4);
        assertThat(functions.get(0).options().streamsPerConnection()).isEqualTo(5);
        assertThat(functions.get(0).options().queueLimit()).isEqualTo(6);
        assertThat(functions.get(0).options().queueTimeout()).isEqualTo(Duration.ofSeconds(7));
        assertThat(functions.get(0).options().workerTimeout()).isZero();
    }

    @Test
    void should_fit_the_concurrency_of_a_worker_to_its_memory() throws Exception {
        write(
                "functions:",
                "  - {name: a, path: /a, launcher: lambda, max-workers: 1}",
                "  - {name: b, path: /b, launcher: lambda, max-workers: 1, worker-memory: 1769}",
                "  - {name: c, path: /c, launcher: lambda, max-workers: 1, worker-memory: 32}",
                "  - {name: d, path: /d, launcher: lambda, max-workers: 1, worker-concurrency: 30}",
                "  - {name: e, path: /e}");

        assertThat(loadWithSecret().functions())
                .extracting(function -> function.options().streamsPerWorker())
                .containsExactly(8, 27, 1, 30, 100);
    }

    @Test
    void should_keep_room_for_rising_traffic() throws Exception {
        write("functions:", "  - {name: a, path: /a}", "  - {name: b, path: /b, target-utilization: 50%}");

        assertThat(loadWithSecret().functions())
                .extracting(function -> function.options().capacity().targetUtilization())
                .containsExactly(0.8, 0.5);
    }

    @Test
    void should_give_a_route_the_settings_of_its_function_except_its_own() throws Exception {
        write(
                "functions:",
                "  - {name: api, request-timeout: 10s, max-attempts: 3, hedge-after: p99}",
                "  - {name: images, path: /images}",
                "routes:",
                "  - {function: api, path: /search, request-timeout: 1s, hedge-after: 50ms}",
                "  - {function: images, header: x-slow, path: /images/slow, retry-on: [lost, timeout, 503]}");

        List<FunctionConfiguration> functions = loadWithSecret().functions();

        FunctionConfiguration.RoutePolicy search = functions.get(0).routes().get(0);
        assertThat(search.route()).isEqualTo(new Route(null, null, "/search", Route.DEFAULT_WEIGHT));
        assertThat(search.policy().deadline().limit()).isEqualTo(Duration.ofSeconds(1));
        assertThat(search.policy().attempts().maxAttempts()).isEqualTo(3);
        assertThat(search.policy().attempts().hedgeAfter()).isEqualTo(Duration.ofMillis(50));
        assertThat(search.policy().attempts().hedgeAfterQuantile()).isZero();
        assertThat(functions.get(0).options().traffic().deadline().limit()).isEqualTo(Duration.ofSeconds(10));
        assertThat(functions.get(0).options().traffic().attempts().hedgeAfterQuantile())
                .isEqualTo(0.99);
        FunctionConfiguration.RoutePolicy slow = functions.get(1).routes().get(0);
        assertThat(slow.route())
                .isEqualTo(new Route(null, new Route.Header("x-slow", null), "/images/slow", Route.DEFAULT_WEIGHT));
        assertThat(slow.policy().attempts().retryOn())
                .containsExactly(RetryCondition.LOST, RetryCondition.TIMEOUT, RetryCondition.STATUS_503);
        assertThat(loadWithSecret().report()).contains("routes[0].function").contains("routes[1].retry-on");
    }

    @Test
    void should_refuse_wrong_routes() throws Exception {
        write(
                "functions:",
                "  - {name: api}",
                "  - {name: images, path: /images}",
                "routes:",
                "  - {path: /search}",
                "  - {function: apu, path: /search}",
                "  - {function: api, path: /images}",
                "  - {function: api, request-timeout: 1s}",
                "  - {function: api, path: /a, request-timeot: 1s}",
                "  - {function: api, path: /b, max-queued-requests: 1}",
                "  - {function: api, path: /c, per-try-timeout: 1s}",
                "  - {function: api, path: /d, hedge-after: p101}");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems())
                .containsExactlyInAnyOrder(
                        "routes[0].function: expected the name of one of the functions [api, images], but it is not set ("
                                + file + " line 5, column 5)",
                        "routes[1].function: expected the name of one of the functions [api, images], got \"apu\" ("
                                + file + " line 6, column 6)",
                        "routes[2].path: expected a path, host or header other than those of function images, or a weight"
                                + " for both, got \"/images\" (" + file + " line 7, column 21)",
                        "routes[3].path: expected a path, host or header other than those of function api, got \"/\""
                                + " (default)",
                        "routes[4]: unknown setting \"request-timeot\" (" + file + " line 9, column 31), did you mean"
                                + " \"request-timeout\"?",
                        "routes[5]: expected a setting that a route can have, got \"max-queued-requests\" (" + file
                                + " line 10, column 31)",
                        "routes[6].per-try-timeout: expected off, or function.retry-on to contain timeout, got \"1s\" ("
                                + file + " line 11, column 31)",
                        "routes[7].hedge-after: expected off, or p50 to p99, or a positive duration such as 50ms, got"
                                + " \"p101\" (" + file + " line 12, column 31)");
    }

    @Test
    void should_load_shadows() throws Exception {
        write(
                "functions:",
                "  - {name: shop, weight: 100, shadow: 25% to next}",
                "  - {name: next, weight: 0}",
                "routes:",
                "  - {function: shop, path: /pay, shadow: 100% of all to next}");

        FunctionConfiguration shop = loadWithSecret().functions().get(0);

        ShadowPolicy shadow = shop.options().traffic().extension(ShadowPolicy.class);
        assertThat(shadow.function()).isEqualTo("next");
        assertThat(shadow.share()).isEqualTo(0.25);
        assertThat(shadow.allMethods()).isFalse();
        ShadowPolicy ofPay = shop.routes().get(0).policy().extension(ShadowPolicy.class);
        assertThat(ofPay.share()).isEqualTo(1);
        assertThat(ofPay.allMethods()).isTrue();
    }

    @Test
    void should_refuse_shadows_that_cannot_be() throws Exception {
        write(
                "functions:",
                "  - {name: a, path: /a, shadow: 10% to x}",
                "  - {name: b, path: /b, shadow: 10% to b}",
                "  - {name: c, path: /c, shadow: 0% to a}",
                "routes:",
                "  - {function: a, path: /r, shadow: 10% to y}",
                "  - {function: a, path: /s, shadow: 10% to a}");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems())
                .extracting(problem -> problem.substring(0, problem.indexOf(" (")))
                .containsExactlyInAnyOrder(
                        "function a, shadow: expected the name of another function after to, got \"10% to x\"",
                        "function b, shadow: expected the name of another function after to, got \"10% to b\"",
                        "function c, shadow: expected off, or 1% to 100% of the requests and the name of another"
                                + " function, such as 10% to shop-next, or 10% of all to shop-next, got \"0% to a\"",
                        "routes[0].shadow: expected the name of another function after to, got \"10% to y\"",
                        "routes[1].shadow: expected the name of another function after to, got \"10% to a\"");
    }

    @Test
    void should_say_how_a_version_can_be_rolled_out() throws Exception {
        write("function.rollout: 50% 10% for 5m");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems())
                .containsExactly("function.rollout: expected off, or fast, careful, or rising shares of the workers"
                        + " from 1% to 100% and the time of each, such as 10% 50% for 5m, and optionally how often the alias"
                        + " is looked at, such as fast poll 30s, got \"50% 10% for 5m\" ("
                        + file
                        + " line 1, column 1)");
    }

    @Test
    void should_not_need_the_name_of_the_only_function_for_a_route() throws Exception {
        write("function.request-timeout: 5s", "routes:", "  - {path: /search, request-timeout: 1s}");

        FunctionConfiguration function = loadWithSecret().functions().get(0);

        assertThat(function.routes()).hasSize(1);
    }

    @Test
    void should_take_flags_for_the_only_function() throws Exception {
        flags.put("--function-name", "api");
        flags.put("--function-worker-concurrency", "10");

        FunctionConfiguration function = loadWithSecret().functions().get(0);

        assertThat(function.options().name()).isEqualTo("api");
        assertThat(function.options().streamsPerConnection()).isEqualTo(10);
    }

    @Test
    void should_refuse_flags_for_the_function_beside_a_list() throws Exception {
        write("functions:", "  - name: api");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        flags.put("--function-worker-concurrency", "10");

        assertThat(problems())
                .containsExactly(
                        "function.worker-concurrency: expected no value, because the settings file has a list of functions,"
                                + " got \"10\" (flag --function-worker-concurrency)");
    }

    @Test
    void should_name_the_entry_in_problems_of_functions() throws Exception {
        write(
                "functions:",
                "  - nmae: api",
                "  - name: x",
                "    path: images",
                "  - name: x",
                "  - 7",
                "  - path: /y",
                "    max-queued-requests: many",
                "    pith: /z");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems())
                .containsExactly(
                        "functions: expected entries such as \"- name: api\" (" + file + " line 6, column 5)",
                        "functions[0]: unknown setting \"nmae\" (" + file
                                + " line 2, column 5), did you mean \"name\"?",
                        "function x, path: expected a path that starts with / and has no query, got \"images\" (" + file
                                + " line 4, column 5)",
                        "functions[3].max-queued-requests: expected a whole number from 0 to 10000000, got \"many\" ("
                                + file + " line 8, column 5)",
                        "functions[3]: unknown setting \"pith\" (" + file
                                + " line 9, column 5), did you mean \"path\"?",
                        "function x, name: expected a name other than that in " + file
                                + " line 3, column 5, got \"x\" (" + file + " line 5, column 5)");
    }

    @Test
    void should_say_where_an_entry_without_a_name_is() throws Exception {
        write("functions:", "  - name: x", "  - path: /y", "  - path: /z");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems())
                .containsExactly(
                        "functions[1].name: expected 1 to 256 characters, but it is not set (" + file
                                + " line 3, column 5)",
                        "functions[2].name: expected 1 to 256 characters, but it is not set (" + file
                                + " line 4, column 5)");
    }

    /** Each of these mistakes would break other rules, too. */
    @ParameterizedTest
    @CsvSource({
        "'function: {launcher: locl, max-workers: 3, handler: java.lang.String}', function.launcher",
        "'function: {mode: dirct, max-workers: 3, launcher: local, handler: java.lang.String}', function.mode",
        "'function: {launcher: lambda, max-workers: three}', function.max-workers",
        "'function: {laucher: local, max-workers: 3, handler: java.lang.String}', unknown setting",
        "'function: {launcher: local, max-wokers: 3, handler: java.lang.String}', unknown setting",
        "'function: {launcher: local, max-workers: 3, handlr: java.lang.String}', unknown setting",
        "'function: {launcher: local, max-workers: 3, handler: a-b}', function.handler",
        "'function: {launcher: lambda, max-workers: 3, name: \"\"}', function.name",
        "'function: {spillover: 20s, queue-timeout: 3 s}', function.queue-timeout",
        "'functions: [{name: a, path: x}, {name: b}]', 'function a, path'",
        "'functions: [{name: a, path: /x}, {name: b, pth: /}, {name: c}]', 'function b: unknown setting'",
        "'functions: [{name: a}, {name: a}]', 'function a, name'",
        "'workers.port: 8080x', workers.port",
        "'public.tls.port: 8080x', public.tls.port",
        "'tracing: {endpoint: \"http://c:4318/v1\", ratio: 1}', tracing.endpoint",
        "'functions: [{name: a}, {name: b', dispatcher.yaml line 1",
        "'functions: [{name: a, weight: 0}, {name: b', dispatcher.yaml line 1",
        "'public.tls: {port: 443 proxy-protocol, certficate: a.pem}', unknown setting"
    })
    void should_report_one_mistake_once(String line, String start) throws Exception {
        write(line);
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems())
                .singleElement()
                .asString()
                .satisfies(problem ->
                        assertThat(problem.replace(directory + "/", "")).startsWith(start));
    }

    @ParameterizedTest
    @CsvSource({"certificate, kye", "key, certficate", "client-certificates, certficate"})
    void should_not_miss_a_file_of_tls_whose_setting_is_misspelt(String setting, String misspelt) throws Exception {
        Path pem = Files.writeString(directory.resolve("a.pem"), "");
        write("public.tls:", "  " + setting + ": " + pem, "  " + misspelt + ": " + pem);
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems()).singleElement().asString().startsWith("unknown setting \"public.tls." + misspelt + "\"");
    }

    @Test
    void should_refuse_a_variable_in_the_file_and_name_the_one_that_can_be_set() throws Exception {
        write(
                "workers:",
                "  port: ${PORT}",
                "  secret: ${SECRET}",
                "function.path: /${STAGE}/x",
                "local.jvm-flags: ['-Dx=${HOME}']",
                "local.command: [sh, -c, 'exec ${WORKER}']",
                "local.environment: ['PATTERN=${name}']");

        String expected = ": expected a value without ${...}, because the file is not a template. Remove the line and"
                + " set the environment variable LAMBDA_DISPATCHER_";
        assertThat(problems())
                .containsExactly(
                        "workers.port" + expected + "WORKERS_PORT (" + file + " line 2, column 3)",
                        "workers.secret" + expected + "WORKERS_SECRET (" + file + " line 3, column 3)",
                        "function.path" + expected + "FUNCTION_PATH (" + file + " line 4, column 1)");
    }

    @Test
    void should_refuse_a_variable_in_a_list_of_functions() throws Exception {
        write("functions:", "  - name: ${NAME}", "  - {name: b, path: '/${STAGE}'}");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        String expected = ": expected a value without ${...}, because the file is not a template. Write the value, or"
                + " create the file from a template (" + file;
        assertThat(problems())
                .containsExactly(
                        "functions[0].name" + expected + " line 2, column 5)",
                        "function b, path" + expected + " line 3, column 15)");
    }

    @Test
    void should_take_a_variable_from_elsewhere_literally() throws Exception {
        environment.put("LAMBDA_DISPATCHER_FUNCTION_PATH", "/${x}");

        assertThat(loadWithSecret().functions().get(0).route().path()).isEqualTo("/${x}");
    }

    @Test
    void should_refuse_a_handler_that_local_workers_would_not_find() throws Exception {
        write(
                "local.class-path: " + Files.createDirectory(directory.resolve("classes")),
                "functions:",
                "  - {name: a, launcher: local, max-workers: 1, handler: com.example.Gone::find}",
                "  - {name: b, launcher: local, max-workers: 1, handler: 'java.util.Map$Entry::getKey', path: /b}");
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems())
                .containsExactly(
                        "function a, handler: expected a class that is in local.class-path or in the class path of"
                                + " the dispatcher, with $ before a nested class, got \"com.example.Gone::find\" ("
                                + file
                                + " line 3, column 48)");

        Path example = Files.createDirectories(directory.resolve("classes/com/example"));
        Files.createFile(example.resolve("Gone.class"));
        assertThat(load().functions()).hasSize(2);
    }

    @Test
    void should_find_a_handler_in_a_jar_of_a_directory() throws Exception {
        Path jars = Files.createDirectory(directory.resolve("lib"));
        try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(jars.resolve("app.jar")))) {
            jar.putNextEntry(new JarEntry("com/example/Found.class"));
        }
        flags.put("--function-launcher", "local");
        flags.put("--function-max-workers", "1");
        flags.put("--local-class-path", jars + "/*");
        flags.put("--function-handler", "com.example.Found");

        assertThat(load().functions()).hasSize(1);
        flags.put("--function-handler", "com.example.Gone");
        assertThat(problems()).singleElement().asString().startsWith("function.handler: expected a class that is in");
    }

    /** The jar may be built later, and a command may have another class path. */
    @Test
    void should_accept_a_handler_if_the_class_path_is_not_known() throws Exception {
        flags.put("--function-launcher", "local");
        flags.put("--function-max-workers", "1");
        flags.put("--function-handler", "com.example.Gone");
        flags.put("--local-class-path", directory.resolve("later.jar").toString());
        assertThat(load().functions()).hasSize(1);

        flags.remove("--local-class-path");
        flags.put("--local-command", "run-worker");
        assertThat(load().functions()).hasSize(1);
    }

    /** The message names the file. What is missing is which settings name it, and where. */
    @Test
    void should_say_which_settings_name_certificates_that_do_not_fit() throws Exception {
        Path certificate = Files.writeString(directory.resolve("cert.pem"), "no certificate");
        Path key = Files.writeString(directory.resolve("key.pem"), "no key");
        write("public.tls:", "  certificate: " + certificate, "  key: " + key);
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);

        assertThat(problems())
                .containsExactly("public.tls.certificate, public.tls.key: certificate chain file " + certificate
                        + ": expected certificates in PEM, got none (" + file + " line 2, column 3; " + file
                        + " line 3, column 3)");
    }

    @Test
    void should_demand_a_secret_for_workers_that_come_by_themselves() {
        assertThat(problems())
                .containsExactly("function.launcher: expected function.secret or workers.secret to be set, because"
                        + " external workers sign their tokens with it, got \"external\" (default)");
    }

    /** They must know the key of the worker port, which is random without a common secret. */
    @Test
    void should_demand_a_common_secret_for_workers_that_have_only_their_functions() throws Exception {
        flags.put("--function-secret", SECRET);
        assertThat(problems())
                .containsExactly("function.launcher: expected workers.secret to be set beside"
                        + " function.secret, because the key of the worker port follows from it, and external"
                        + " workers must know that key, got \"external\" (default)");

        flags.put("--workers-tls-certificate", "off");
        assertThat(load().hasPlainWorkers()).isTrue();
        flags.remove("--workers-tls-certificate");
        flags.put("--workers-secret", SECRET + "x");
        assertThat(load().hasPlainWorkers()).isFalse();
    }

    @Test
    void should_refuse_a_key_for_a_worker_port_without_tls() throws Exception {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        flags.put("--workers-tls-certificate", "off");
        Path key = Files.writeString(directory.resolve("key.pem"), "any");
        flags.put("--workers-tls-key", key.toString());
        assertThat(problems())
                .containsExactly("workers.tls.key: expected workers.tls.certificate to be set to a file as well, got \""
                        + key + "\" (flag --workers-tls-key)");
    }

    @Test
    void should_demand_workers_and_a_handler_for_the_local_launcher() {
        flags.put("--function-launcher", "local");

        assertThat(problems())
                .containsExactly(
                        "function.max-workers: expected 1 or more with launcher local, got \"0\" (default)",
                        "function.handler: expected a handler class, local.command, or a local.environment that selects"
                                + " an adapter, with launcher local, but it is not set");
    }

    @Test
    void should_demand_workers_and_a_function_for_the_lambda_launcher() {
        flags.put("--function-launcher", "lambda");
        flags.put("--function-lambda", "arn:aws:s3:::bucket");

        assertThat(problems())
                .containsExactly(
                        "function.max-workers: expected 1 or more with launcher lambda, got \"0\" (default)",
                        "function.lambda: expected the name or ARN of a Lambda function, with or without :alias or"
                                + " :version, got \"arn:aws:s3:::bucket\" (flag --function-lambda)");
    }

    @Test
    void should_demand_a_name_that_lambda_takes_when_the_function_names_no_other() throws Exception {
        flags.put("--function-launcher", "lambda");
        flags.put("--function-max-workers", "1");
        flags.put("--function-name", "my function");

        assertThat(problems())
                .containsExactly(
                        "function.name: expected a name that a Lambda function can have, or function.lambda to be"
                                + " set, got \"my function\" (flag --function-name)");

        flags.put("--function-lambda", "hello:live");
        assertThat(loadWithSecret().functions().get(0).lambda()).isEqualTo("hello:live");
    }

    @Test
    void should_take_the_name_of_the_function_for_lambda_unless_told_otherwise() throws Exception {
        write(
                "functions:",
                "  - name: api",
                "    launcher: lambda",
                "    max-workers: 3",
                "  - name: images",
                "    path: /images",
                "    launcher: lambda",
                "    lambda: 123456789012:function:resize:live",
                "    max-workers: 3");

        assertThat(loadWithSecret().functions())
                .extracting(FunctionConfiguration::lambda)
                .containsExactly("api", "123456789012:function:resize:live");
    }

    @Test
    void should_demand_key_and_certificate_together_and_files_that_are_there() {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        flags.put("--public-tls-certificate", directory.resolve("none.pem").toString());

        assertThat(problems())
                .containsExactly(
                        "public.tls.certificate: expected a readable file, got \"" + directory.resolve("none.pem")
                                + "\" (flag --public-tls-certificate)",
                        "public.tls.certificate: expected public.tls.key to be set as well, got \""
                                + directory.resolve("none.pem") + "\" (flag --public-tls-certificate)");
    }

    /** Otherwise the dispatcher would be alone, and nobody would notice. */
    @Test
    void should_demand_a_table_for_a_fleet() throws Exception {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        flags.put("--fleet-name", "production");
        flags.put("--fleet-endpoint", "http://127.0.0.1:8000");

        assertThat(problems())
                .containsExactly(
                        "fleet.name: expected fleet.table to be set as well, got \"production\" (flag --fleet-name)",
                        "fleet.endpoint: expected fleet.table to be set as well, got \"http://127.0.0.1:8000\""
                                + " (flag --fleet-endpoint)");

        flags.put("--fleet-table", "dispatchers");
        assertThat(load().get(Settings.FLEET_NAME)).isEqualTo("production");

        flags.put("--workers-tls-certificate", "off");
        assertThat(problems())
                .containsExactly(
                        "workers.tls.certificate: expected not off in a fleet (fleet.table), because workers send"
                                + " their tokens to all of its dispatchers, or workers.port to be one of a loopback address, such as"
                                + " 127.0.0.1:8444, got \"off\""
                                + " (flag --workers-tls-certificate)");
        flags.put("--workers-port", "127.0.0.1:8444");
        assertThat(load().hasPlainWorkers()).isTrue();
    }

    @Test
    void should_take_a_path_for_the_file_of_a_fleet() throws Exception {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        flags.put("--fleet-table", "dispatchers");
        assertThat(load().fleetFile()).isNull();

        flags.put("--fleet-table", "/var/lib/ledger");
        assertThat(load().fleetFile()).isEqualTo(Path.of("/var/lib/ledger"));

        flags.put("--fleet-name", "production");
        flags.put("--fleet-endpoint", "http://127.0.0.1:8000");
        assertThat(problems())
                .containsExactly(
                        "fleet.name: expected fleet.table to name a DynamoDB table, not a file, got \"production\""
                                + " (flag --fleet-name)",
                        "fleet.endpoint: expected fleet.table to name a DynamoDB table, not a file, got"
                                + " \"http://127.0.0.1:8000\" (flag --fleet-endpoint)");
    }

    @Test
    void should_refuse_values_with_which_a_dispatcher_cannot_start() throws Exception {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        flags.put("--workers-keepalive", "25d");
        flags.put("--http-max-concurrent-streams", "17");
        flags.put("--http-stream-window", "64MiB");
        flags.put("--fleet-table", "dispatchers");
        flags.put("--function-launcher", "lambda");
        flags.put("--function-max-workers", "1801");

        assertThat(problems())
                .containsExactly(
                        "workers.keepalive: expected a positive duration, and optionally how long an answer may take,"
                                + " both at most 24d, such as 2s or 2s timeout 3s, got \"25d\" (flag --workers-keepalive)",
                        "http.max-concurrent-streams: expected at most 1GiB when it is multiplied by"
                                + " http.stream-window, because of the largest connection window of HTTP/2, got \"17\""
                                + " (flag --http-max-concurrent-streams)",
                        "function.max-workers: expected at most 1800 in a fleet (fleet.table), got \"1801\""
                                + " (flag --function-max-workers)");

        flags.put("--workers-keepalive", "24d timeout 2147483647ms");
        flags.put("--http-max-concurrent-streams", "16");
        flags.put("--function-max-workers", "1800");
        assertThat(load().functions()).hasSize(1);
    }

    /** The certificate is set, even if it is not valid: one problem, not two. */
    @Test
    void should_not_miss_a_file_that_is_named_but_cannot_be_read() throws Exception {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        Path key = Files.createFile(directory.resolve("key.pem"));
        flags.put("--workers-tls-certificate", directory.toString());
        flags.put("--workers-tls-key", key.toString());

        assertThat(problems())
                .containsExactly("workers.tls.certificate: expected a readable file, or off, got \"" + directory
                        + "\" (flag --workers-tls-certificate)");
    }

    @Test
    void should_refuse_a_port_that_is_used_twice_and_a_server_without_public_ports() {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        flags.put("--workers-port", "8080");
        assertThat(problems())
                .containsExactly(
                        "workers.port: expected a port other than that of public.plain.port, got \"8080\" (flag --workers-port)");

        flags.put("--workers-port", "0.0.0.0:8080");
        assertThat(problems()).singleElement().asString().startsWith("workers.port: expected a port other than that");
        flags.put("--workers-port", "127.0.0.1:8080");

        flags.put("--public-plain-port", "off");
        assertThat(problems())
                .containsExactly("public.plain.port: expected a port, because there is no TLS port with a certificate,"
                        + " got \"off\" (flag --public-plain-port)");
    }

    @Test
    void should_refuse_the_proxy_protocol_of_a_port_that_is_not_open() {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        flags.put("--public-tls-port", "443 proxy-protocol");
        assertThat(problems())
                .containsExactly("public.tls.port: expected no proxy-protocol, or public.tls.certificate to be set, got"
                        + " \"443 proxy-protocol\" (flag --public-tls-port)");
    }

    @Test
    void should_turn_a_port_off_by_what_yaml_makes_of_off() throws Exception {
        write("admin.port: off");

        assertThat(loadWithSecret().get(Settings.ADMIN_PORT).isOff()).isTrue();
    }

    @Test
    void should_read_the_token_of_the_admin_port() throws Exception {
        assertThat(loadWithSecret().find(Settings.ADMIN_TOKEN)).isNull();

        Path token = Files.writeString(directory.resolve("token"), SECRET + "\nanother-" + SECRET + "\n");
        flags.put("--admin-token", "file:" + token);
        assertThat(loadWithSecret().find(Settings.ADMIN_TOKEN))
                .containsExactly(
                        SECRET.getBytes(StandardCharsets.US_ASCII),
                        ("another-" + SECRET).getBytes(StandardCharsets.US_ASCII));

        flags.put("--admin-token", SECRET);
        assertThat(load().find(Settings.ADMIN_TOKEN)).containsExactly(SECRET.getBytes(StandardCharsets.US_ASCII));
        assertThat(load().report()).containsPattern("admin\\.token +\\(secret\\)");
    }

    @Test
    void should_refuse_a_file_with_one_token_that_no_header_can_hold() throws IOException {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        Path token = Files.writeString(directory.resolve("token"), SECRET + "\nwith a space " + SECRET + "\n");
        flags.put("--admin-token", "file:" + token);

        assertThat(problems())
                .containsExactly("admin.token: expected visible ASCII characters without spaces, got \"file:" + token
                        + "\" (flag --admin-token)");
    }

    @Test
    void should_refuse_a_token_that_no_header_can_hold() {
        environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
        flags.put("--admin-token", "0123456789 abcdef");

        assertThat(problems())
                .containsExactly("admin.token: expected visible ASCII characters without spaces, got 17 bytes"
                        + " (flag --admin-token)");
    }

    @ParameterizedTest
    @CsvSource({
        "true, http://c:4317",
        "true, http://c:4317/",
        "true, http://c:4318/v1/traces",
        "true, https://gateway.example.org/otlp/v1/traces",
        "false, http://c:4318/v1",
        "false, http://c:4318/v1/traces/",
        "false, http://c:4317?key=1",
        "false, http://c:4318/v1/traces#here"
    })
    void should_refuse_an_endpoint_that_no_collector_has(boolean possible, String url) throws Exception {
        flags.put("--tracing-endpoint", url);

        if (possible) {
            assertThat(loadWithSecret().find(Settings.TRACING_ENDPOINT)).hasToString(url);
        } else {
            environment.put("LAMBDA_DISPATCHER_WORKERS_SECRET", SECRET);
            String shown = url.contains("?") ? url.length() + " bytes" : '"' + url + '"';
            assertThat(problems())
                    .containsExactly("tracing.endpoint: expected a URL without user, password and query, and without a"
                            + " path for gRPC, such as http://collector:4317, or with the path of HTTP, such as"
                            + " http://collector:4318/v1/traces, got " + shown + " (flag --tracing-endpoint)");
        }
    }

    @Test
    void should_change_a_default_without_touching_the_original() throws Exception {
        Configuration configuration = loadWithSecret();

        Configuration changed = configuration.withDefault(Settings.WORKERS_PORT, "0");

        assertThat(changed.get(Settings.WORKERS_PORT).port()).isZero();
        assertThat(configuration.get(Settings.WORKERS_PORT).port()).isEqualTo(8444);
    }
}
