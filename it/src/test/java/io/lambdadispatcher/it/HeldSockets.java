package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.net.Socket;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * The command {@code serve} with listening sockets that another process holds, as systemd does, so
 * that one process of the dispatcher can replace another.
 */
final class HeldSockets implements AutoCloseable {
    /** Longer than the script waits for a process that starts. */
    private static final Duration MOST_COMMAND = Duration.ofSeconds(180);

    final int publicPort = FreePort.next();
    final int workerPort = FreePort.next();
    private final Path log;
    private final Process holder;
    private final Writer commands;
    private final BufferedReader exits;

    /**
     * Starts the first process. Returns when clients can connect.
     *
     * @param settings settings in addition to the ports, by environment variable without prefix;
     *     the worker port is not held if it is one of them
     * @param environment other environment variables
     */
    HeldSockets(Path directory, Map<String, String> settings, Map<String, String> environment) throws Exception {
        log = directory.resolve("dispatcher.log");
        List<String> command = new ArrayList<>(List.of("python3", script().toString(), Integer.toString(publicPort)));
        if (!settings.containsKey("WORKERS_PORT")) {
            command.add(Integer.toString(workerPort));
        }
        command.add("--");
        command.addAll(ServedProgram.command("serve").command());
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(log.toFile());
        builder.environment().putAll(environment);
        builder.environment().put("LAMBDA_DISPATCHER_PUBLIC_PLAIN_PORT", Integer.toString(publicPort));
        builder.environment().put("LAMBDA_DISPATCHER_WORKERS_PORT", "127.0.0.1:" + workerPort);
        builder.environment().put("LAMBDA_DISPATCHER_ADMIN_PORT", "off");
        builder.environment().put("LAMBDA_DISPATCHER_SHUTDOWN_DELAY", "0");
        settings.forEach((name, value) -> builder.environment().put("LAMBDA_DISPATCHER_" + name, value));
        holder = builder.start();
        commands = holder.outputWriter(StandardCharsets.US_ASCII);
        exits = holder.inputReader(StandardCharsets.US_ASCII);
        Await.until("the sockets are open", this::isOpen);
    }

    private static Path script() throws URISyntaxException {
        return Path.of(Objects.requireNonNull(HeldSockets.class.getResource("/socket-holder.py"))
                .toURI());
    }

    static boolean isPossible() throws InterruptedException {
        try {
            return new ProcessBuilder("python3", "--version").start().waitFor() == 0;
        } catch (IOException e) {
            return false;
        }
    }

    private boolean isOpen() {
        try (Socket socket = new Socket("127.0.0.1", publicPort)) {
            return socket.isConnected();
        } catch (IOException e) {
            return false;
        }
    }

    /** Stops the process, and starts another when it has exited. */
    void replace() throws IOException {
        command("restart", "exit 0");
    }

    /** Starts a process beside those that run. */
    void start() throws IOException {
        send("start");
    }

    /** Returns when the newest process has said that it is ready. */
    void awaitReady() throws IOException {
        command("ready", "ready");
    }

    /** Sends SIGTERM to the oldest process. */
    void terminate() throws IOException {
        send("term");
    }

    /** Waits for the oldest process, which must end without an error. */
    void awaitExit() throws IOException {
        command("exit", "exit 0");
    }

    /** Ends a process with SIGKILL. The oldest one has number 0. */
    void kill(int number) throws IOException {
        command("kill " + number, "exit -9");
    }

    private void command(String command, String answer) throws IOException {
        send(command);
        Await.until("the command " + command + " is answered", MOST_COMMAND, () -> exits.ready() || !holder.isAlive());
        assertThat(exits.readLine()).isEqualTo(answer);
    }

    private void send(String command) throws IOException {
        commands.write(command + "\n");
        commands.flush();
    }

    String log() {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() throws Exception {
        commands.close();
        boolean ended = holder.waitFor(90, TimeUnit.SECONDS);
        if (!ended) {
            holder.descendants().forEach(ProcessHandle::destroyForcibly);
            holder.destroyForcibly();
        }
        assertThat(ended).as("all processes have ended").isTrue();
    }
}
