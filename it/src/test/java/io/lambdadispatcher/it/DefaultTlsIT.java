package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.server.demo.DemoHandler;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import io.lambdadispatcher.wire.worker.PortKey;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The worker port has TLS if nothing is said about it, for each kind of worker. All dispatchers and
 * workers are processes.
 */
@StartsPrograms
@Timeout(300)
class DefaultTlsIT {
    private static final String OLD = "the old secret of the test";
    private static final String NEW = "the new secret of the test";
    private static final int TLS_ALERT = 0x15;

    @TempDir
    Path directory;

    private final int workersPort = FreePort.next();
    private final List<Process> workers = new ArrayList<>();

    @AfterEach
    void stop() {
        workers.forEach(Process::destroyForcibly);
    }

    private static String fingerprint(String secret) {
        return PortKey.fingerprint(
                PortKey.of(secret.getBytes(StandardCharsets.UTF_8)).getPublic());
    }

    /** Starts a worker that launches itself. Its output is in the file with its id. */
    private Process worker(String id, String... variables) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(ChildJvm.command(ChildJvm.WORKER, "-Xmx256m"))
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve(id).toFile());
        Map<String, String> environment = builder.environment();
        environment.put("LAMBDA_DISPATCHER_ADDRESSES", "127.0.0.1:" + workersPort);
        environment.put("LAMBDA_DISPATCHER_FUNCTION", "shop");
        environment.put("LAMBDA_DISPATCHER_WORKER_ID", id);
        environment.put("LAMBDA_DISPATCHER_STREAMS", "2");
        environment.put("LAMBDA_DISPATCHER_HANDLER", DemoHandler.class.getName());
        environment.put("LAMBDA_DISPATCHER_EXIT_WITH_PARENT", "true");
        for (int i = 0; i < variables.length; i += 2) {
            environment.put("LAMBDA_DISPATCHER_" + variables[i], variables[i + 1]);
        }
        Process worker = builder.start();
        workers.add(worker);
        return worker;
    }

    private Map<String, String> selfLaunched(String... more) {
        Map<String, String> settings = new HashMap<>(Map.of(
                "FUNCTION_LAUNCHER", "external",
                "FUNCTION_HANDLER", "",
                "FUNCTION_MIN_WORKERS", "",
                "FUNCTION_MAX_WORKERS", "",
                "WORKERS_PORT", Integer.toString(workersPort)));
        for (int i = 0; i < more.length; i += 2) {
            settings.put(more[i], more[i + 1]);
        }
        return settings;
    }

    /** A peer in clear text gets an alert, and no HTTP/2. */
    private static void assertServesOverTls(ServedProgram program, int port) throws Exception {
        assertThat(program.get("/ping").get(60, TimeUnit.SECONDS).body()).isEqualTo("pong");
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.setSoTimeout(30_000);
            socket.getOutputStream().write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            assertThat(socket.getInputStream().read()).isIn(TLS_ALERT, -1);
        }
    }

    private static Set<Object> ready(ServedProgram program) {
        return program.document("workers")
                .filter(worker -> "ready".equals(worker.get("state")))
                .map(worker -> worker.get("id"))
                .collect(Collectors.toSet());
    }

    private static void awaitReady(ServedProgram program, String... ids) {
        Await.until(
                "ready are " + List.of(ids),
                Duration.ofSeconds(100),
                () -> ready(program).equals(Set.of((Object[]) ids)));
    }

    private String output(String id) throws IOException {
        return Files.readString(directory.resolve(id));
    }

    @Test
    void should_reach_local_workers_over_tls() throws Exception {
        try (ServedProgram program = ServedProgram.start(Map.of())) {
            assertServesOverTls(program, program.workersPort);
        }
    }

    @Test
    void should_reach_workers_on_lambda_over_tls() throws Exception {
        try (LoopbackLambda lambda = new LoopbackLambda("7", Map.of("7", DemoHandler.class));
                ServedProgram program = ServedProgram.start(
                        Map.of(
                                "FUNCTION_LAUNCHER", "lambda",
                                "FUNCTION_LAMBDA", "shop:live",
                                "FUNCTION_HANDLER", "",
                                "WORKERS_PORT", Integer.toString(workersPort),
                                "WORKERS_ADVERTISED_ADDRESSES", "127.0.0.1:" + workersPort,
                                "AWS_ENDPOINT", lambda.endpoint(),
                                "AWS_REGION", "us-east-1"),
                        Map.of("AWS_ACCESS_KEY_ID", "test", "AWS_SECRET_ACCESS_KEY", "test"))) {
            assertServesOverTls(program, workersPort);
        }
    }

    /** The worker with only a key is told the fingerprint that the command prints. */
    @ParameterizedTest
    @ValueSource(strings = {"SECRET", "FUNCTION_KEY", "FUNCTION_SECRET"})
    void should_reach_self_launched_workers_over_tls(String credential) throws Exception {
        Map<String, String> settings = selfLaunched("WORKERS_SECRET", OLD);
        String[] variables = {"SECRET", OLD};
        if (credential.equals("FUNCTION_SECRET")) {
            settings.put("FUNCTION_SECRET", NEW);
            variables = new String[] {"SECRET", NEW, "TLS_FINGERPRINT", workerKeys(settings)[1]};
        } else if (credential.equals("FUNCTION_KEY")) {
            String[] keys = workerKeys(settings);
            variables = new String[] {"FUNCTION_KEY", keys[0], "TLS_FINGERPRINT", keys[1]};
        }
        worker("w1", variables);
        worker("w2", variables);
        try (ServedProgram program = ServedProgram.start(settings)) {
            assertServesOverTls(program, workersPort);
        }
    }

    /** Returns the key of the function, and the fingerprint of the worker port. */
    private static String[] workerKeys(Map<String, String> settings) throws Exception {
        ProcessBuilder builder = ServedProgram.command("worker", "keys", "--function-name", "shop");
        settings.forEach((name, value) -> {
            if (!value.isEmpty()) {
                builder.environment().put("LAMBDA_DISPATCHER_" + name, value);
            }
        });
        Process process = builder.start();
        List<String> lines = process.inputReader().lines().toList();
        assertThat(process.waitFor()).isZero();
        assertThat(lines).hasSize(2);
        return new String[] {
            lines.get(0).replace("shop ", ""), lines.get(1).replace("LAMBDA_DISPATCHER_TLS_FINGERPRINT=", "")
        };
    }

    @Test
    void should_not_serve_somebody_else_in_the_place_of_the_dispatcher() throws Exception {
        try (Dispatcher other = Dispatcher.builder()
                .function(FunctionOptions.of("shop"))
                .workerListener(ListenerOptions.workers("127.0.0.1", workersPort))
                .secret(NEW)
                .start()) {
            assertThat(other.workerFingerprints()).containsExactly(fingerprint(NEW));
            Process worker = worker("w1", "SECRET", OLD);
            assertThat(worker.waitFor(120, TimeUnit.SECONDS)).isTrue();
            assertThat(output("w1"))
                    .contains("the dispatcher has a public key with the fingerprint " + fingerprint(NEW) + ", expected "
                            + fingerprint(OLD));
            assertThat(other.pools().get(0).workers()).isZero();
        }
    }

    @Test
    void should_not_start_with_a_key_and_without_a_fingerprint() throws Exception {
        Process worker = worker("w1", "FUNCTION_KEY", "ab".repeat(32));
        assertThat(worker.waitFor(120, TimeUnit.SECONDS)).isTrue();
        assertThat(worker.exitValue()).isEqualTo(2);
        assertThat(output("w1"))
                .contains("LAMBDA_DISPATCHER_TLS_FINGERPRINT is not set, expected the fingerprint that");
    }

    @Test
    void should_lose_no_request_while_the_secret_is_replaced_in_three_steps() throws Exception {
        Path secrets = directory.resolve("secrets");
        Files.writeString(secrets, OLD + "\n");
        worker("old-1", "SECRET", OLD);
        worker("old-2", "SECRET", OLD);
        try (ServedProgram program = ServedProgram.start(selfLaunched("WORKERS_SECRET", "file:" + secrets));
                LoadClients http1 = LoadClients.http1(program.publicPort, 1);
                LoadClients http2 = LoadClients.http2(program.publicPort, 1)) {
            replace(program, secrets, OLD + "\n" + NEW + "\n");
            worker("early", "SECRET", NEW);
            awaitReady(program, "old-1", "old-2", "early");

            replace(program, secrets, NEW + "\n" + OLD + "\n");
            // A worker that has only the old secret is let in, as a connection could break here.
            Process late = worker("late", "SECRET", OLD);
            worker("new", "SECRET", NEW);
            awaitReady(program, "old-1", "old-2", "early", "late", "new");
            late.destroy();
            workers.subList(0, 2).forEach(Process::destroy);
            awaitReady(program, "early", "new");

            replace(program, secrets, NEW + "\n");
            worker("too-late", "SECRET", OLD);
            Await.until(
                    "the old key is gone",
                    Duration.ofSeconds(60),
                    () -> output("too-late")
                            .contains("the dispatcher has a public key with the fingerprint " + fingerprint(NEW)));
            assertThat(ready(program)).isEqualTo(Set.of("early", "new"));
            for (LoadClients load : List.of(http1, http2)) {
                load.close();
                assertThat(load.lost()).isEmpty();
                assertThat(load.served()).isGreaterThan(200);
            }
        }
    }

    private void replace(ServedProgram program, Path file, String text) throws Exception {
        int length = program.log().length();
        Path next = Files.writeString(directory.resolve("next"), text);
        Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        Await.until("the secrets are in force", () -> program.log().indexOf("workers.secret:", length) >= 0);
    }
}
