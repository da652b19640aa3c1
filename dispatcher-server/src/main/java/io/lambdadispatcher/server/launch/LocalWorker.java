package io.lambdadispatcher.server.launch;

import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchedWorker;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/**
 * One worker process, from before its start until after its end. Its states are {@code asked →
 * running → gone}, or {@code asked → gone} if it cannot be started or is no longer wanted. A
 * failure is reported with the last line that the process printed. Any thread.
 */
final class LocalWorker implements LaunchedWorker {
    private static final Logger log = LoggerFactory.getLogger(LocalWorker.class);
    /**
     * Exit codes after which another launch is useless: a worker cannot use its configuration
     * ({@code WorkerMain}), or a shell cannot run or find a program (POSIX, sh, 2.8.2).
     */
    private static final Set<Integer> REFUSALS = Set.of(2, 126, 127);

    /** Higher exit codes mean that a signal ended the process, so its last line says nothing. */
    private static final int MOST_OF_ITS_OWN = 128;

    /** How long to wait for the last line. A child process may keep the output open for longer. */
    private static final long LAST_LINE_SECONDS = 1;

    /** Matches the beginning of a line in the log format for workers ({@code LogConfigurator}). */
    private static final Pattern LEVEL = Pattern.compile("^(ERROR|WARN|INFO|DEBUG|TRACE) +(?=[\\w$.]+: )");

    private static final Pattern CONTINUED =
            Pattern.compile("^(\\s|Caused by: |Suppressed: |[\\w$.]+(Exception|Error)\\b)");
    private static final Pattern LEVEL_AND_LOGGER = Pattern.compile("^(ERROR|WARN |INFO |DEBUG|TRACE) [\\w$]+: ");

    /**
     * Matches lines that follow the actual reason: the frames of a stack trace, and what a JVM
     * prints after each bad flag.
     */
    private static final Pattern SAYS_NOTHING = Pattern.compile(
            "\\s*|\\sat .*|\\s\\.\\.\\. .*|Error: (Could not create the Java|A fatal exception has occurred).*");

    /** 128 + SIGKILL. Java reports signals in this way. */
    private static final int KILLED = 137;

    private static final int TERMINATED = 143;

    private final String workerId;
    private final CompletableFuture<WorkerExit> exit = new CompletableFuture<>();
    private final CompletableFuture<Void> outputEnd = new CompletableFuture<>();
    private volatile String lastLine = "";
    private @Nullable Process process;
    private boolean unwanted;

    LocalWorker(String workerId) {
        this.workerId = workerId;
    }

    @Override
    public CompletionStage<WorkerExit> exit() {
        return exit.minimalCompletionStage();
    }

    CompletableFuture<WorkerExit> gone() {
        return exit;
    }

    /** Called once, on a thread that may block. */
    void start(ProcessBuilder builder) {
        Process started;
        synchronized (this) {
            if (unwanted) {
                exit.complete(new WorkerExit(Cause.ENDED, "not started, because the worker was no longer needed"));
                return;
            }
            try {
                started = builder.start();
            } catch (IOException e) {
                exit.complete(new WorkerExit(Cause.REFUSED, "cannot start: " + e.getMessage()));
                return;
            }
            process = started;
        }
        log.debug("worker {} is process {}", workerId, started.pid());
        Thread output = new Thread(() -> logOutput(started), "worker-" + workerId);
        output.setDaemon(true);
        output.start();
        started.onExit().thenAccept(this::onExit);
    }

    /**
     * Logs the output of the process. Its standard input stays open: the end of input tells the
     * worker that the dispatcher has exited, even after a crash.
     */
    private void logOutput(Process started) {
        try (BufferedReader lines = started.inputReader()) {
            LineReader reader = new LineReader(lines);
            Level level = Level.INFO;
            for (String line = reader.next(); line != null; line = reader.next()) {
                level = levelOf(line, level);
                log.atLevel(level)
                        .log("worker {}: {}", workerId, LEVEL.matcher(line).replaceFirst(""));
                if (!SAYS_NOTHING.matcher(line).matches()) {
                    lastLine = line;
                }
            }
        } catch (IOException e) {
            log.debug("output of worker {} ended", workerId, e);
        }
        outputEnd.complete(null);
    }

    /**
     * Returns the level that the line begins with. A continued line, such as a line of a stack
     * trace, has the level of the line before. Other lines are at INFO.
     */
    private static Level levelOf(String line, Level before) {
        Matcher level = LEVEL.matcher(line);
        if (level.find()) {
            return Level.valueOf(level.group(1));
        }
        return CONTINUED.matcher(line).find() ? before : Level.INFO;
    }

    private void onExit(Process ended) {
        int code = ended.exitValue();
        boolean asked;
        synchronized (this) {
            asked = unwanted && (code == KILLED || code == TERMINATED);
        }
        if (code == 0 || asked) {
            exit.complete(new WorkerExit(Cause.ENDED, "exit code " + code));
        } else if (code > MOST_OF_ITS_OWN) {
            exit.complete(new WorkerExit(Cause.FAILED, "exit code " + code + ", signal " + (code - MOST_OF_ITS_OWN)));
        } else {
            // The last line may not have been read yet.
            outputEnd
                    .completeOnTimeout(null, LAST_LINE_SECONDS, TimeUnit.SECONDS)
                    .thenRun(() -> onFailed(code));
        }
    }

    private void onFailed(int code) {
        String said = LEVEL_AND_LOGGER.matcher(lastLine).replaceFirst("").strip();
        exit.complete(new WorkerExit(
                REFUSALS.contains(code) ? Cause.REFUSED : Cause.FAILED,
                said.isEmpty() ? "exit code " + code : said + " (exit code " + code + ")"));
    }

    /** Sends SIGTERM. */
    synchronized void terminate() {
        unwanted = true;
        if (process != null) {
            // Process.destroy() would also close the pipes and lose the last output.
            process.toHandle().destroy();
        }
    }

    @Override
    public synchronized void kill() {
        unwanted = true;
        if (process != null) {
            // List the children before the parent is killed, because they cannot be found
            // afterwards. Kill them after the parent, because it could react to their end.
            List<ProcessHandle> children = process.descendants().toList();
            process.toHandle().destroyForcibly();
            children.forEach(ProcessHandle::destroyForcibly);
        }
    }
}
