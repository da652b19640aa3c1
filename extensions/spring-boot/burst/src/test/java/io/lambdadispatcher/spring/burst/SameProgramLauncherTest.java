package io.lambdadispatcher.spring.burst;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchedWorker;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Workers as processes. */
@EnabledOnOs({OS.LINUX, OS.MAC})
class SameProgramLauncherTest {
    private static final LaunchRequest REQUEST = new LaunchRequest(
            "shop",
            "worker 1",
            "token",
            List.of(InetSocketAddress.createUnresolved("127.0.0.1", 8444)),
            1,
            10,
            List.of(),
            Duration.ZERO,
            "");

    private static SameProgramLauncher shell(String script) {
        return new SameProgramLauncher(List.of("/bin/sh", "-c", script));
    }

    private static WorkerExit exit(LaunchedWorker worker) throws Exception {
        return worker.exit().toCompletableFuture().get(60, TimeUnit.SECONDS);
    }

    @Test
    void should_pass_on_the_payload(@TempDir Path directory) throws Exception {
        Path payload = directory.resolve("payload");
        try (SameProgramLauncher launcher = shell("printenv LAMBDA_DISPATCHER_PAYLOAD >" + payload)) {
            assertThat(exit(launcher.launch(REQUEST)).cause()).isEqualTo(Cause.ENDED);
        }
        assertThat(Files.readString(payload)).contains("\"workerId\":\"worker 1\"", "127.0.0.1:8444");
    }

    @Test
    void should_say_how_a_process_has_failed() throws Exception {
        try (SameProgramLauncher launcher = shell("exit 3")) {
            WorkerExit exit = exit(launcher.launch(REQUEST));
            assertThat(exit.cause()).isEqualTo(Cause.FAILED);
            assertThat(exit.detail()).isEqualTo("exit code 3, its output says why");
        }
        try (SameProgramLauncher launcher = new SameProgramLauncher(List.of("/no/such/program"))) {
            WorkerExit exit = exit(launcher.launch(REQUEST));
            assertThat(exit.cause()).isEqualTo(Cause.REFUSED);
            assertThat(exit.detail()).contains("/no/such/program");
        }
    }

    @Test
    void should_end_processes_when_it_is_closed() throws Exception {
        SameProgramLauncher launcher = shell("exec sleep 1000");
        LaunchedWorker killed = launcher.launch(REQUEST);
        LaunchedWorker left = launcher.launch(REQUEST);
        killed.kill();
        assertThat(exit(killed).failed()).isTrue();
        launcher.close();
        assertThat(exit(left).failed()).isTrue();
        assertThat(exit(launcher.launch(REQUEST)).cause()).isEqualTo(Cause.ENDED);
    }

    /** Surefire starts this JVM with a jar or a class, and with options. */
    @Test
    void should_start_the_program_of_this_process_again() {
        assertThat(SameProgramLauncher.command("--a=b"))
                .startsWith(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString())
                .contains(System.getProperty("java.class.path"))
                .endsWith("--a=b");
    }
}
