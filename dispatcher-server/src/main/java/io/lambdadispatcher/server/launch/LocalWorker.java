package io.lambdadispatcher.server.launch;

import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchedWorker;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One worker process, from before its start until after its end. {@code asked → running → gone}, or {@code asked → gone} if it cannot be
 * started or is not wanted any more. Any thread.
 */
final class LocalWorker implements LaunchedWorker {
    private static final Logger log = LoggerFactory.getLogger(LocalWorker.class);
    /** 128 + SIGKILL and 128 + SIGTERM, as Java reports them. */
    private static final int KILLED = 137;

    private static final int TERMINATED = 143;

    private final String workerId;
    private final CompletableFuture<WorkerExit> exit = new CompletableFuture<>();
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
                exit.complete(new WorkerExit(Cause.ENDED, "not started, it was not wanted any more"));
                return;
            }
            try {
                started = builder.start();
            } catch (IOException e) {
                exit.complete(new WorkerExit(Cause.REFUSED, "cannot be started: " + e.getMessage()));
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

    /** Its standard input stays open: its end tells the worker that we are gone, however that happened. */
    private void logOutput(Process started) {
        try (BufferedReader lines = started.inputReader()) {
            LineReader reader = new LineReader(lines);
            for (String line = reader.next(); line != null; line = reader.next()) {
                log.info("worker {}: {}", workerId, line);
            }
        } catch (IOException e) {
            log.debug("output of worker {} ended", workerId, e);
        }
    }

    private void onExit(Process ended) {
        int code = ended.exitValue();
        boolean asked;
        synchronized (this) {
            asked = unwanted && (code == KILLED || code == TERMINATED);
        }
        exit.complete(new WorkerExit(code != 0 && !asked ? Cause.FAILED : Cause.ENDED, "exit code " + code));
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
            // Children first found, then killed last: without a parent they are not found, and without them the parent
            // may go its own way.
            List<ProcessHandle> children = process.descendants().toList();
            process.toHandle().destroyForcibly();
            children.forEach(ProcessHandle::destroyForcibly);
        }
    }
}
