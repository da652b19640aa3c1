package io.lambdadispatcher.spring.burst;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchedWorker;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.lambdadispatcher.wire.testkit.EachRelease;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Workers as processes. */
@EachRelease
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
            "",
            0);

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

    /** A shell reports signals so, as does a JVM. */
    @ParameterizedTest
    @ValueSource(ints = {130, 143})
    void should_not_take_the_end_by_a_signal_for_a_failure(int code) throws Exception {
        try (SameProgramLauncher launcher = shell("exit " + code)) {
            assertThat(exit(launcher.launch(REQUEST)).cause()).isEqualTo(Cause.ENDED);
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
        assertThat(exit(left)).isEqualTo(new WorkerExit(Cause.ENDED, "exit code 143"));
        assertThat(exit(launcher.launch(REQUEST)).cause()).isEqualTo(Cause.ENDED);
    }

    /** Launches itself, and then writes down its options. */
    static final class Options {
        private static final List<String> VARIABLES = List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS");

        private Options() {}

        public static void main(String[] arguments) throws Exception {
            if (System.getenv("LAMBDA_DISPATCHER_PAYLOAD") == null) {
                try (SameProgramLauncher launcher = SameProgramLauncher.of(arguments)) {
                    exit(launcher.launch(REQUEST));
                }
                return;
            }
            List<String> options =
                    new ArrayList<>(ManagementFactory.getRuntimeMXBean().getInputArguments());
            VARIABLES.stream().filter(System.getenv()::containsKey).forEach(options::add);
            Files.write(Path.of(arguments[0]), options);
        }
    }

    /** They would open the same ports, and overwrite the same files. */
    @Test
    void should_pass_on_the_options_of_variables_that_processes_can_share(@TempDir Path directory) throws Exception {
        Path written = directory.resolve("options");
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx64m",
                        "-XX:StartFlightRecording:filename=" + directory.resolve("own.jfr"),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Options.class.getName(),
                        written.toString())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("output").toFile());
        builder.environment()
                .put("JAVA_TOOL_OPTIONS", "-Dtool=1 -Xlog:gc:file=" + directory.resolve("gc.log") + " -Dtool.more=2");
        builder.environment().put("JDK_JAVA_OPTIONS", "-Dlauncher=3 -Xloggc:" + directory.resolve("old.log"));
        Process process = builder.start();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(written).exists();
        assertThat(Files.readAllLines(written))
                .containsExactlyInAnyOrder("-Dtool=1", "-Dtool.more=2", "-Dlauncher=3", "-Xmx64m");
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
