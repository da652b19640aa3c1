package io.lambdadispatcher.server.launch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchedWorker;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@EachRelease
class LocalLauncherTest {
    private static final LaunchRequest REQUEST = new LaunchRequest(
            "api",
            "w-1",
            "the-token",
            List.of(new InetSocketAddress("0.0.0.0", 8444), InetSocketAddress.createUnresolved("dispatcher", 1)),
            2,
            50,
            List.of(),
            Duration.ofMinutes(3),
            "",
            0);

    @TempDir
    Path directory;

    private @Nullable LocalLauncher launcher;

    @AfterEach
    void close() {
        if (launcher != null) {
            launcher.close(Duration.ZERO);
        }
    }

    private LaunchedWorker launch(String... command) {
        return launch(false, command);
    }

    private LaunchedWorker launch(boolean outlive, String... command) {
        launcher = new LocalLauncher(new LocalWorkers(
                LocalWorkers.ownJava(),
                List.of(),
                "",
                List.of(command),
                Map.of("LAMBDA_DISPATCHER_WEB_PORT", "8080", "SOME", "a b"),
                Map.of("api", "a.Handler"),
                outlive));
        return launcher.launch(REQUEST);
    }

    private static WorkerExit exit(LaunchedWorker worker) throws Exception {
        CompletableFuture<WorkerExit> exit = new CompletableFuture<>();
        worker.exit().thenAccept(exit::complete);
        return exit.get(60, TimeUnit.SECONDS);
    }

    private Path shell(String script) throws Exception {
        return Files.writeString(directory.resolve("worker.sh"), script);
    }

    /** The options of setpriv are those of docs/guides/run-as-a-service.md. */
    @Test
    void should_run_workers_as_another_user_that_cannot_read_secrets() throws Exception {
        assumeTrue(System.getProperty("user.name").equals("root") && Files.isExecutable(Path.of("/usr/bin/setpriv")));
        String guide = Files.readString(Path.of("../docs/guides/run-as-a-service.md"));
        Matcher documented =
                Pattern.compile("setpriv --reuid=lambda-worker (--\\S+ )+").matcher(guide);
        assertThat(documented.find()).isTrue();
        String[] setpriv = documented.group().replace("lambda-worker", "65534").split(" ");
        Path secret = Files.writeString(directory.resolve("secret"), "take-32-random-bytes");
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        String look = "(cat " + secret + " || cat /proc/$PPID/environ) > /dev/null 2>&1 && echo read a secret"
                + " || echo $(id -u) $(grep CapEff /proc/self/status); exit 1";

        assertThat(exit(launch("sh", "-c", look)).detail()).isEqualTo("read a secret (exit code 1)");
        String[] command = Arrays.copyOf(setpriv, setpriv.length + 3);
        System.arraycopy(new String[] {"/bin/sh", "-c", look}, 0, command, setpriv.length, 3);
        assertThat(exit(launch(command)).detail()).isEqualTo("65534 CapEff: 0000000000000000 (exit code 1)");
    }

    @Test
    void should_leave_workers_of_a_fleet_running(@TempDir Path directory) throws Exception {
        Path file = directory.resolve("pid");
        launch(true, "/bin/sh", "-c", "echo $$ $LAMBDA_DISPATCHER_EXIT_WITH_PARENT > " + file + "; exec sleep 60");
        Await.until("the worker has started", () -> Files.exists(file) && Files.size(file) > 0);

        launcher.close(Duration.ZERO);

        String pid = Files.readString(file).strip();
        ProcessHandle worker = ProcessHandle.of(Long.parseLong(pid)).orElseThrow();
        assertThat(worker.isAlive()).isTrue();
        worker.destroyForcibly();
    }

    @Test
    void should_tell_the_worker_whom_to_dial() throws Exception {
        Path seen = directory.resolve("seen");
        Path script = shell("env > '" + seen + "'; exit 0");

        assertThat(exit(launch("sh", script.toString()))).isEqualTo(new WorkerExit(Cause.ENDED, "exit code 0"));

        List<String> environment = Files.readAllLines(seen);
        assertThat(environment)
                .contains(
                        "LAMBDA_DISPATCHER_HANDLER=a.Handler",
                        "LAMBDA_DISPATCHER_EXIT_WITH_PARENT=stdin",
                        "LAMBDA_DISPATCHER_WEB_PORT=8080",
                        "SOME=a b")
                .noneMatch(line -> line.startsWith("LAMBDA_DISPATCHER_TLS_TRUST_PEM"));
        String payload = environment.stream()
                .filter(line -> line.startsWith("LAMBDA_DISPATCHER_PAYLOAD="))
                .map(line -> line.substring(line.indexOf('=') + 1))
                .findAny()
                .orElseThrow();
        JsonNode json = JsonMapper.shared().readTree(payload);
        assertThat(json.get("function").stringValue()).isEqualTo("api");
        assertThat(json.get("workerId").stringValue()).isEqualTo("w-1");
        assertThat(json.get("token").stringValue()).isEqualTo("the-token");
        assertThat(json.get("addresses").get(0).stringValue()).isEqualTo("127.0.0.1:8444");
        assertThat(json.get("addresses").get(1).stringValue()).isEqualTo("dispatcher:1");
        assertThat(json.get("connections").intValue()).isEqualTo(2);
        assertThat(json.get("streams").intValue()).isEqualTo(50);
        assertThat(json.get("tls").booleanValue()).isFalse();
    }

    @Test
    void should_call_an_exit_code_a_failure() throws Exception {
        assertThat(exit(launch("sh", "-c", "exit 7"))).isEqualTo(new WorkerExit(Cause.FAILED, "exit code 7"));
    }

    @Test
    void should_report_the_last_line_of_a_worker_that_fails() throws Exception {
        Path script = shell(
                "echo INFO  Main: hello; echo 'ERROR WorkerMain: no memory'; printf '\\tat a.B\\n\\n' >&2; exit 1");

        assertThat(exit(launch("sh", script.toString())))
                .isEqualTo(new WorkerExit(Cause.FAILED, "no memory (exit code 1)"));
    }

    @Test
    void should_report_what_a_jvm_says_of_a_bad_flag() throws Exception {
        WorkerExit exit = exit(launch(LocalWorkers.ownJava().toString(), "-Xnonsense"));

        assertThat(exit).isEqualTo(new WorkerExit(Cause.FAILED, "Unrecognized option: -Xnonsense (exit code 1)"));
    }

    @Test
    void should_call_a_configuration_that_cannot_be_used_a_refusal() throws Exception {
        Path script = shell("echo 'ERROR WorkerMain: LAMBDA_DISPATCHER_HANDLER=a.B: no class'; exit 2");

        assertThat(exit(launch("sh", script.toString())))
                .isEqualTo(new WorkerExit(Cause.REFUSED, "LAMBDA_DISPATCHER_HANDLER=a.B: no class (exit code 2)"));
    }

    @Test
    void should_call_a_program_that_is_not_there_a_refusal() throws Exception {
        WorkerExit exit = exit(launch("/no/such/program"));

        assertThat(exit.cause()).isEqualTo(Cause.REFUSED);
        assertThat(exit.detail()).contains("/no/such/program");
    }

    @Test
    void should_not_wait_for_words_of_those_that_outlive_the_worker() throws Exception {
        Path script = shell("sleep 600 & echo $! > '" + directory.resolve("child") + "'; echo last; exit 1");

        WorkerExit exit = exit(launch("sh", script.toString()));
        ProcessHandle.of(pidIn(directory.resolve("child"))).ifPresent(ProcessHandle::destroyForcibly);

        assertThat(exit).isEqualTo(new WorkerExit(Cause.FAILED, "last (exit code 1)"));
    }

    @Test
    void should_kill_a_worker_with_its_children() throws Exception {
        Path ready = directory.resolve("child");
        LaunchedWorker worker = launch(
                "sh",
                shell("sleep 600 & echo $! > '" + ready + ".new'; mv '" + ready + ".new' '" + ready
                                + "'; trap '' TERM; wait")
                        .toString());
        long child = pidIn(ready);

        worker.kill();

        assertThat(exit(worker)).isEqualTo(new WorkerExit(Cause.ENDED, "exit code 137"));
        CompletableFuture<?> childGone = ProcessHandle.of(child)
                .<CompletableFuture<?>>map(ProcessHandle::onExit)
                .orElseGet(() -> CompletableFuture.completedFuture(null));
        childGone.get(60, TimeUnit.SECONDS);
    }

    /** Waits for a file that another process writes: nothing tells us, so we look. */
    private static long pidIn(Path file) throws Exception {
        Await.until("the process has written its id", () -> Files.exists(file));
        return Long.parseLong(Files.readString(file).trim());
    }

    @Test
    void should_end_all_workers_when_it_is_closed() throws Exception {
        Path ready = directory.resolve("ready");
        LaunchedWorker worker = launch(
                "sh",
                shell("echo $$ > '" + ready + ".new'; mv '" + ready + ".new' '" + ready + "'; sleep 600")
                        .toString());
        pidIn(ready);

        launcher.close(Duration.ofSeconds(10));

        assertThat(exit(worker)).isEqualTo(new WorkerExit(Cause.ENDED, "exit code 143"));
    }

    @Test
    void should_start_nothing_after_it_was_closed() throws Exception {
        exit(launch("true"));
        launcher.close(Duration.ZERO);

        assertThat(exit(launcher.launch(REQUEST)).detail())
                .isEqualTo("not started, because the worker was no longer needed");
    }

    @Test
    void should_show_the_worker_the_end_of_the_dispatcher_as_the_end_of_its_input() throws Exception {
        Path ready = directory.resolve("ready");
        LaunchedWorker worker = launch(
                "sh",
                shell("echo $$ > '" + ready + ".new'; mv '" + ready + ".new' '" + ready + "'; cat; exit 3")
                        .toString());
        long pid = pidIn(ready);

        // While we live it waits; it would have left with 3 otherwise.
        assertThat(ProcessHandle.of(pid))
                .hasValueSatisfying(handle -> assertThat(handle.isAlive()).isTrue());
        worker.kill();
        assertThat(exit(worker).detail()).isEqualTo("exit code 137");
    }

    @Test
    void should_name_the_signal_that_has_ended_a_worker() throws Exception {
        assertThat(exit(launch("sh", shell("kill -9 $$").toString())))
                .isEqualTo(new WorkerExit(Cause.FAILED, "exit code 137, signal 9"));
    }
}
