package io.lambdadispatcher.core.internal.launch;

import io.lambdadispatcher.core.internal.capacity.NamedVersion;
import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchRequest;
import io.lambdadispatcher.core.spi.WorkerLauncher.LaunchedWorker;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Ticker;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls a launcher, which is the embedding program's code, and keeps its contract for it: nothing
 * here throws or returns {@code null}, and each launch ends. A launch that breaks the contract
 * becomes a failed launch, so that the backoff applies to it. Confined to the executor.
 */
final class GuardedLauncher {
    private static final Logger log = LoggerFactory.getLogger(GuardedLauncher.class);
    private static final long MOST_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final WorkerLauncher launcher;
    private final String function;
    private final EventExecutor executor;
    private final SeldomLog blocks = new SeldomLog(log, Ticker.systemTicker());

    GuardedLauncher(WorkerLauncher launcher, String function, EventExecutor executor) {
        this.launcher = launcher;
        this.function = function;
        this.executor = executor;
    }

    /** A launch, whose {@code exit} never fails and has a value. */
    record Launch(@Nullable LaunchedWorker worker, CompletionStage<WorkerExit> exit) {}

    Launch launch(LaunchRequest request) {
        LaunchedWorker worker;
        try {
            worker = timed("launch()", () -> launcher.launch(request));
        } catch (Throwable e) {
            log.warn("the launcher of function {} threw an exception", function, e);
            return new Launch(null, ended(Cause.FAILED, "the launcher threw " + e));
        }
        if (worker == null) {
            return new Launch(null, ended(Cause.FAILED, "the launcher returned null, expected a LaunchedWorker"));
        }
        return new Launch(worker, exitOf(worker));
    }

    /** The launcher does not know whether a worker runs whose stage is wrong. */
    private static CompletionStage<WorkerExit> exitOf(LaunchedWorker worker) {
        CompletionStage<WorkerExit> exit;
        try {
            exit = worker.exit();
        } catch (Throwable e) {
            return ended(Cause.LOST, "the launcher's exit() threw " + e);
        }
        if (exit == null) {
            return ended(Cause.LOST, "the launcher's exit() returned null, expected a stage");
        }
        return exit.handle((result, failure) -> {
            if (failure != null) {
                return new WorkerExit(Cause.LOST, "the launcher's exit() failed: " + root(failure));
            }
            return result == null
                    ? new WorkerExit(Cause.LOST, "the launcher's exit() completed with null, expected a WorkerExit")
                    : result;
        });
    }

    private static CompletionStage<WorkerExit> ended(Cause cause, String detail) {
        return CompletableFuture.completedStage(new WorkerExit(cause, detail));
    }

    void kill(Launch launch) {
        LaunchedWorker worker = launch.worker();
        if (worker != null) {
            guarded("kill()", worker::kill);
        }
    }

    void warmUp(int environments) {
        guarded("warmUp()", () -> launcher.warmUp(function, environments));
    }

    private void guarded(String call, Runnable code) {
        try {
            timed(call, () -> {
                code.run();
                return call;
            });
        } catch (Throwable e) {
            log.warn("the launcher of function {} threw an exception in {}", function, call, e);
        }
    }

    /**
     * Asks for the version of new workers: the launcher's own, and the one that matches the base.
     *
     * @param base the version that the base states; empty = none
     */
    CompletionStage<NamedVersion> version(String base) {
        CompletionStage<String> matching = base.isEmpty()
                ? CompletableFuture.completedStage("")
                : answer("versionLike()", () -> launcher.versionLike(function, base));
        return answer("version()", () -> launcher.version(function))
                .thenCombine(matching, (own, match) -> new NamedVersion(own, base, match));
    }

    private CompletionStage<String> answer(String call, Callable<CompletionStage<String>> question) {
        try {
            CompletionStage<String> version = timed(call, question);
            if (version != null) {
                return version.thenApply(value -> {
                    if (value == null) {
                        throw new IllegalStateException("the launcher's " + call + " completed with null");
                    }
                    return value;
                });
            }
            return CompletableFuture.failedFuture(
                    new IllegalStateException("the launcher's " + call + " returned null"));
        } catch (Throwable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private static Throwable root(Throwable error) {
        return error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    }

    private <T> @Nullable T timed(String call, Callable<T> code) throws Exception {
        long startNanos = executor.ticker().nanoTime();
        try {
            return code.call();
        } finally {
            long nanos = executor.ticker().nanoTime() - startNanos;
            if (nanos >= MOST_NANOS) {
                blocks.warn(
                        "the launcher of function {} has blocked an event loop for {} ms in {}, and all its requests"
                                + " waited. A launcher must return before the worker runs, so start slow work on another"
                                + " thread",
                        function,
                        TimeUnit.NANOSECONDS.toMillis(nanos),
                        call);
            }
        }
    }
}
