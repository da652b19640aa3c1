package io.lambdadispatcher.server.launch;

import io.lambdadispatcher.core.spi.LaunchPayload;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.server.config.Setting;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Runs workers as processes on this machine. They use the same protocol as workers on AWS Lambda.
 * No worker outlives the dispatcher: each exits when its standard input, a pipe from the
 * dispatcher, is closed. In a fleet, workers live on as they would on Lambda, and exit when they
 * find no dispatcher. Thread-safe.
 */
public final class LocalLauncher implements WorkerLauncher {
    /**
     * Ignores SIGINT: Ctrl-C in a terminal goes to all processes there, but the dispatcher must
     * drain the workers.
     */
    private static final List<String> SHIELD = List.of("/bin/sh", "-c", "trap '' INT; exec \"$0\" \"$@\"");

    private volatile LocalWorkers options;
    private final Set<LocalWorker> workers = ConcurrentHashMap.newKeySet();
    private final ExecutorService starter = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task, "local-launcher");
        thread.setDaemon(true);
        return thread;
    });
    private volatile boolean closed;

    public LocalLauncher(LocalWorkers options) {
        this.options = options;
    }

    /** Replaces the options of workers that are launched from now on. */
    public void setOptions(LocalWorkers value) {
        options = value;
    }

    @Override
    public LaunchedWorker launch(LaunchRequest request) {
        LocalWorker worker = new LocalWorker(request.workerId());
        workers.add(worker);
        worker.gone().whenComplete((exit, never) -> workers.remove(worker));
        ProcessBuilder process = process(request);
        try {
            // Starting a process takes a millisecond or more, and the caller may be an event loop.
            starter.execute(() -> worker.start(process));
        } catch (RejectedExecutionException e) {
            worker.kill();
            worker.start(process);
        }
        if (closed) {
            // close() may have listed the workers before this one was added.
            worker.kill();
        }
        return worker;
    }

    private ProcessBuilder process(LaunchRequest request) {
        LocalWorkers options = this.options;
        List<String> command = new ArrayList<>();
        if (Files.isExecutable(Path.of(SHIELD.get(0)))) {
            command.addAll(SHIELD);
        }
        command.addAll(options.commandLine());
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        Map<String, String> environment = builder.environment();
        // The handler must not see the dispatcher's settings, some of which are secret.
        environment.keySet().removeIf(name -> name.startsWith(Setting.VARIABLE_PREFIX));
        environment.putAll(options.environment());
        environment.put("LAMBDA_DISPATCHER_PAYLOAD", LaunchPayload.json(request));
        if (request.downstreamShare() > 0) {
            environment.put("LAMBDA_DISPATCHER_DOWNSTREAM_SHARE", Integer.toString(request.downstreamShare()));
        }
        if (!options.outlive()) {
            environment.put("LAMBDA_DISPATCHER_EXIT_WITH_PARENT", "stdin");
        }
        String handler = options.handlers().get(request.function());
        if (handler != null) {
            environment.put("LAMBDA_DISPATCHER_HANDLER", handler);
        }
        return builder;
    }

    @Override
    public void close(Duration grace) {
        closed = true;
        starter.shutdown();
        if (options.outlive()) {
            return;
        }
        List<LocalWorker> left = List.copyOf(workers);
        left.forEach(LocalWorker::terminate);
        CompletableFuture<?>[] gone = left.stream().map(LocalWorker::gone).toArray(CompletableFuture<?>[]::new);
        try {
            CompletableFuture.allOf(gone).get(grace.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (TimeoutException | ExecutionException e) {
            // The grace period is over. Remaining workers are killed below.
        }
        left.forEach(LocalWorker::kill);
    }
}
