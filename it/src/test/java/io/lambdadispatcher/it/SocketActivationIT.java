package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.epoll.Epoll;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * The command {@code serve} is restarted under load, with listening sockets that another process
 * holds, as systemd does. The worker keeps running.
 */
class SocketActivationIT {
    private static final int CLIENTS = 4;
    private static final int RESTARTS = 2;
    private static final Duration MOST_START = Duration.ofSeconds(150);

    @TempDir
    Path directory;

    private final int publicPort = Rig.freePort();
    private final int workerPort = Rig.freePort();
    private Process holder;
    private Process worker;

    @BeforeEach
    void start() throws Exception {
        Assumptions.assumeTrue(Epoll.isAvailable(), "sockets are taken with epoll only");
        Assumptions.assumeTrue(isInstalled("python3"), "python3 holds the sockets, and is not installed");
        holder = holder();
        Rig.await("the sockets are open", this::isOpen);
        worker = worker();
    }

    private boolean isOpen() {
        try (Socket socket = new Socket("127.0.0.1", publicPort)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    private static boolean isInstalled(String program) throws InterruptedException {
        try {
            return new ProcessBuilder(program, "--version").start().waitFor() == 0;
        } catch (IOException e) {
            return false;
        }
    }

    private Process holder() throws Exception {
        Path script = Path.of(Objects.requireNonNull(getClass().getResource("/socket-holder.py"))
                .toURI());
        List<String> command = new ArrayList<>(List.of(
                "python3", script.toString(), Integer.toString(publicPort), Integer.toString(workerPort), "--"));
        command.addAll(ServedProgram.command(
                        "serve",
                        "--public-plain-port=" + publicPort,
                        "--workers-port=" + workerPort,
                        "--admin-port=off",
                        "--workers-secret=" + Rig.SECRET,
                        "--workers-ping-timeout=30s",
                        "--function-name=demo",
                        "--function-queue-timeout=60s",
                        "--http-header-timeout=60s",
                        "--shutdown-delay=0")
                .command());
        return new ProcessBuilder(command)
                .redirectError(directory.resolve("dispatcher.log").toFile())
                .start();
    }

    private Process worker() throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx256m",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "io.lambdadispatcher.worker.WorkerMain")
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("worker.log").toFile());
        Map<String, String> environment = builder.environment();
        environment.putAll(Rig.DEMO);
        environment.put("LAMBDA_DISPATCHER_ADDRESSES", "127.0.0.1:" + workerPort);
        environment.put("LAMBDA_DISPATCHER_FUNCTION", "demo");
        environment.put("LAMBDA_DISPATCHER_SECRET", Rig.SECRET);
        environment.put("LAMBDA_DISPATCHER_EXIT_WITH_PARENT", "true");
        return builder.start();
    }

    @AfterEach
    void stop() throws Exception {
        if (holder != null) {
            holder.getOutputStream().close();
            assertThat(holder.waitFor(90, TimeUnit.SECONDS)).isTrue();
        }
        if (worker != null) {
            worker.destroyForcibly().waitFor();
        }
    }

    @Test
    void should_lose_no_request_when_the_dispatcher_is_restarted() throws Exception {
        Writer restart = holder.outputWriter(StandardCharsets.US_ASCII);
        BufferedReader exits = holder.inputReader(StandardCharsets.US_ASCII);
        List<LoadClients> loads =
                List.of(LoadClients.http1(publicPort, CLIENTS), LoadClients.http2(publicPort, CLIENTS));
        for (int i = 0; i < RESTARTS; i++) {
            awaitProgress(loads);
            restart.write("restart\n");
            restart.flush();
            assertThat(exits.readLine()).isEqualTo("exit 0");
        }
        awaitProgress(loads);
        for (LoadClients load : loads) {
            load.close();
            LoggerFactory.getLogger(SocketActivationIT.class)
                    .info(
                            "{} restarts: {} served on {} connections, {} lost",
                            RESTARTS,
                            load.served(),
                            load.connections(),
                            load.lost().size());
        }
        assertThat(loads).allSatisfy(load -> assertThat(load.lost()).isEmpty());
        assertThat(loads).allSatisfy(load -> assertThat(load.connections()).isGreaterThan(RESTARTS * CLIENTS));
        assertThat(log()).contains("Using the socket of systemd on /127.0.0.1:" + publicPort);
    }

    /** Waits until each load has made progress, so a dispatcher serves it. */
    private static void awaitProgress(List<LoadClients> loads) {
        List<Integer> before = loads.stream().map(LoadClients::served).toList();
        Awaitility.await("requests are served")
                .atMost(MOST_START)
                .pollInterval(Duration.ofMillis(10))
                .until(() -> {
                    for (int i = 0; i < before.size(); i++) {
                        if (loads.get(i).served() < before.get(i) + 500) {
                            return false;
                        }
                    }
                    return true;
                });
    }

    private String log() {
        try {
            return Files.readString(directory.resolve("dispatcher.log"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
