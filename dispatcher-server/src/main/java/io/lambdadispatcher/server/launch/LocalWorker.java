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
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One worker process, from before its start until after its end. {@code asked → running → gone}, or
 * {@code asked → gone} if it cannot be started or is not wanted any more. A failed one is reported
 * with the last line it has printed. Any thread.
 */
final class LocalWorker implements LaunchedWorker {
    private static final Logger log = LoggerFactory.getLogger(LocalWorker.class);
    /**
     * A worker cannot use its configuration ({@code WorkerMain}); a shell cannot run, or cannot
     * find, a program (POSIX, sh, 2.8.2).
     */
    private static final Set<Integer> REFUSALS = Set.of(2, 126, 127);

    /** Those above are of signals, which come between a process and its words. */
    private static final int MOST_OF_ITS_OWN = 128;

    /** Whatever still holds its output, we do not wait for it any longer. */
    private static final long LAST_LINE_SECONDS = 1;

    private static final int MOST_LAST_CHARS = 1000;
    /** Of our log's form for workers. */
    private static final Pattern LEVEL_AND_LOGGER = Pattern.compile("^(ERROR|WARN |INFO |DEBUG|TRACE) [\\w$]+: ");

    /** Behind what does: a stack trace's frames, and what a JVM says of each bad flag. */
    private static final Pattern SAYS_NOTHING = Pattern.compile(
            "\\s*|\tat .*|\t\\.\\.\\. .*|Error: (Could not create the Java|A fatal exception has occurred).*");

    /** 128 + SIGKILL and 128 + SIGTERM, as Java reports them. */
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
     * Its standard input stays open: its end tells the worker that we are gone, however that
     * happened.
     */
    private void logOutput(Process started) {
        try (BufferedReader lines = started.inputReader()) {
            LineReader reader = new LineReader(lines);
            for (String line = reader.next(); line != null; line = reader.next()) {
                log.info("worker {}: {}", workerId, line);
                if (!SAYS_NOTHING.matcher(line).matches()) {
                    lastLine = line;
                }
            }
        } catch (IOException e) {
            log.debug("output of worker {} ended", workerId, e);
        }
        outputEnd.complete(null);
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
            exit.complete(new WorkerExit(Cause.FAILED, "exit code " + code));
        } else {
            // What it has said last may still be on its way.
            outputEnd
                    .completeOnTimeout(null, LAST_LINE_SECONDS, TimeUnit.SECONDS)
                    .thenRun(() -> onFailed(code));
        }
    }

    private void onFailed(int code) {
        String said = LEVEL_AND_LOGGER.matcher(lastLine).replaceFirst("").strip();
        String shown = said.length() > MOST_LAST_CHARS ? said.substring(0, MOST_LAST_CHARS) + "..." : said;
        exit.complete(new WorkerExit(
                REFUSALS.contains(code) ? Cause.REFUSED : Cause.FAILED,
                shown.isEmpty() ? "exit code " + code : shown + " (exit code " + code + ")"));
    }

    /** SIGTERM. */
    synchronized void terminate() {
        unwanted = true;
        if (process != null) {
            // Process.destroy() would close the pipes as well, and lose the last words.
            process.toHandle().destroy();
        }
    }

    @Override
    public synchronized void kill() {
        unwanted = true;
        if (process != null) {
            // Children first found, then killed last: without a parent they are not found, and
            // without them the parent may go its own way.
            List<ProcessHandle> children = process.descendants().toList();
            process.toHandle().destroyForcibly();
            children.forEach(ProcessHandle::destroyForcibly);
        }
    }
}
