package io.lambdadispatcher.spring.burst;

import io.lambdadispatcher.core.spi.LaunchPayload;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Launches workers as processes that run this program again, with the same JVM options and
 * arguments. They write to the output of this process. Thread-safe.
 */
final class SameProgramLauncher implements WorkerLauncher {
    private static final String PAYLOAD = "LAMBDA_DISPATCHER_PAYLOAD";
    /** Options of the JVM that processes cannot share: ports, and files that each overwrites. */
    private static final List<String> OWN_OPTIONS = List.of(
            "-agentlib:",
            "-agentpath:",
            "-javaagent:",
            "-Xrunjdwp",
            "-Xlog:",
            "-Xloggc",
            "-XX:StartFlightRecording",
            "-Dcom.sun.management.");
    /** Their options are among this JVM's, which the command repeats as far as it may. */
    private static final List<String> OPTION_VARIABLES =
            List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS");
    /** Of processes that SIGINT to the terminal's group, or SIGTERM has ended. */
    private static final Set<Integer> ENDED = Set.of(0, 130, 143);

    private final List<String> command;
    private final Set<Process> running = ConcurrentHashMap.newKeySet();
    private boolean closed;

    SameProgramLauncher(List<String> command) {
        this.command = List.copyOf(command);
    }

    /** @param arguments the program's arguments */
    static SameProgramLauncher of(String... arguments) {
        return new SameProgramLauncher(command(arguments));
    }

    static List<String> command(String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
                .filter(option -> OWN_OPTIONS.stream().noneMatch(option::startsWith))
                .forEach(command::add);
        String classPath = System.getProperty("java.class.path");
        String started = System.getProperty("sun.java.command", "");
        if (started.startsWith(classPath) && classPath.endsWith(".jar")) {
            command.addAll(List.of("-jar", classPath));
        } else {
            command.addAll(List.of("-cp", classPath, started.split(" ", 2)[0]));
        }
        command.addAll(List.of(arguments));
        return command;
    }

    @Override
    public synchronized LaunchedWorker launch(LaunchRequest request) {
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(Redirect.INHERIT);
        builder.environment().keySet().removeAll(OPTION_VARIABLES);
        builder.environment().put(PAYLOAD, LaunchPayload.json(request));
        if (closed) {
            return notStarted(new WorkerExit(Cause.ENDED, "not started, because the dispatcher closes"));
        }
        try {
            Process process = builder.start();
            running.add(process);
            return new LaunchedProcess(process.onExit().thenApply(this::onExit), process::destroyForcibly);
        } catch (IOException e) {
            return notStarted(new WorkerExit(Cause.REFUSED, "cannot start: " + e.getMessage()));
        }
    }

    private static LaunchedWorker notStarted(WorkerExit exit) {
        return new LaunchedProcess(CompletableFuture.completedStage(exit), () -> {});
    }

    private record LaunchedProcess(CompletionStage<WorkerExit> exit, Runnable end) implements LaunchedWorker {
        @Override
        public void kill() {
            end.run();
        }
    }

    private WorkerExit onExit(Process process) {
        running.remove(process);
        int code = process.exitValue();
        return ENDED.contains(code)
                ? new WorkerExit(Cause.ENDED, "exit code " + code)
                : new WorkerExit(Cause.FAILED, "exit code " + code + ", its output says why");
    }

    @Override
    public void close(Duration grace) {
        List<Process> left;
        synchronized (this) {
            closed = true;
            left = List.copyOf(running);
        }
        left.forEach(Process::destroy);
        try {
            CompletableFuture.allOf(left.stream().map(Process::onExit).toArray(CompletableFuture[]::new))
                    .get(grace.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (TimeoutException | ExecutionException e) {
            // The grace is over. The remaining processes are killed.
        }
        left.forEach(Process::destroyForcibly);
    }
}
