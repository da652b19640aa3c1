package io.lambdadispatcher.server.launch;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Options of local workers. Immutable.
 *
 * @param command runs instead of a JVM; empty = a JVM with the worker's main class
 * @param classPath of that JVM
 * @param environment variables added to the dispatcher's environment
 * @param handlers handler classes by function
 * @param outlive whether workers outlive the dispatcher, because they serve other dispatchers, too
 */
public record LocalWorkers(
        Path java,
        List<String> jvmFlags,
        String classPath,
        List<String> command,
        Map<String, String> environment,
        Map<String, String> handlers,
        boolean outlive) {

    static final String MAIN_CLASS = "io.lambdadispatcher.worker.WorkerMain";

    public LocalWorkers {
        jvmFlags = List.copyOf(jvmFlags);
        command = List.copyOf(command);
        environment = Map.copyOf(environment);
        handlers = Map.copyOf(handlers);
    }

    /** Returns the {@code java} program of the running JVM. */
    public static Path ownJava() {
        return Path.of(System.getProperty("java.home"), "bin", "java");
    }

    List<String> commandLine() {
        if (!command.isEmpty()) {
            return command;
        }
        List<String> line = new ArrayList<>();
        line.add(java.toString());
        // Permits Netty's native transports. Without it, JDK 24 and later print a warning.
        line.add("--enable-native-access=ALL-UNNAMED");
        line.addAll(jvmFlags);
        line.add("-cp");
        line.add(classPath);
        line.add(MAIN_CLASS);
        return line;
    }
}
