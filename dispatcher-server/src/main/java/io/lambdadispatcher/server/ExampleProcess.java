package io.lambdadispatcher.server;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What an example runs beside its demo: its program {@code start}, with the URL for clients and the
 * port for workers. Its input ends with the dispatcher, even after a crash.
 */
final class ExampleProcess implements AutoCloseable {
    private final Process process;

    private ExampleProcess(Process process) {
        this.process = process;
    }

    /**
     * @param directory of the example
     * @return {@code null} if it has no such program
     * @throws StartException if the program cannot be started
     */
    static @Nullable ExampleProcess start(Path directory, Server server) throws StartException {
        Path program = directory.resolve("start");
        if (!Files.isExecutable(program)) {
            return null;
        }
        ProcessBuilder builder = new ProcessBuilder(
                program.toString(), server.publicUrls().get(0), Integer.toString(server.workersPort()));
        builder.redirectOutput(Redirect.INHERIT).redirectError(Redirect.INHERIT);
        try {
            return new ExampleProcess(builder.start());
        } catch (IOException e) {
            throw new StartException("cannot start " + program + ": " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        process.destroy();
    }
}
