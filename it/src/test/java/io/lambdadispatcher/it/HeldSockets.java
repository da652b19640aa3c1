package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.net.Socket;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
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
    final int publicPort = FreePort.next();
    final int workerPort = FreePort.next();
    private final Path log;
    private final Process holder;
    private final Writer commands;
    private final BufferedReader exits;

    /**
     * Starts the first process. Returns when clients can connect.
     *
     * @param settings settings in addition to the ports, by environment variable without its prefix
     * @param environment other environment variables
     */
    HeldSockets(Path directory, Map<String, String> settings, Map<String, String> environment) throws Exception {
        log = directory.resolve("dispatcher.log");
        List<String> command = new ArrayList<>(List.of(
                "python3", script().toString(), Integer.toString(publicPort), Integer.toString(workerPort), "--"));
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
        commands.write("restart\n");
        commands.flush();
        assertThat(exits.readLine()).isEqualTo("exit 0");
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
        assertThat(holder.waitFor(90, TimeUnit.SECONDS)).isTrue();
    }
}
