package io.lambdadispatcher.core.testkit;

import io.lambdadispatcher.core.spi.WorkerLauncher;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * Launches workers that never connect, and records them until the test takes them. A worker ends
 * when the test completes its exit, and by default also when it is killed.
 *
 * <p><b>Threading.</b> Event loops launch. Any thread can take workers and end them.
 */
public final class RecordingLauncher implements WorkerLauncher {
    private static final int MOST_SECONDS = 20;

    /** A launched worker. A test can connect in its place, with the token of its request. */
    public final class AbsentWorker implements LaunchedWorker {
        private final LaunchRequest request;
        private final CompletableFuture<WorkerExit> exit = new CompletableFuture<>();

        private AbsentWorker(LaunchRequest request) {
            this.request = request;
        }

        public LaunchRequest request() {
            return request;
        }

        @Override
        public CompletableFuture<WorkerExit> exit() {
            return exit;
        }

        @Override
        public void kill() {
            onKill.accept(this);
        }
    }

    /** The workers that have been launched. */
    public final BlockingQueue<AbsentWorker> workers = new LinkedBlockingQueue<>();

    /** How often the launcher has been closed. */
    public final AtomicInteger closes = new AtomicInteger();

    /** The version that the launcher names for each function; empty = it knows no versions. */
    public volatile String version = "";

    private final Consumer<AbsentWorker> onLaunch;
    private final Consumer<AbsentWorker> onKill;

    /** Creates a launcher whose workers end when they are killed. */
    public RecordingLauncher() {
        this(worker -> {});
    }

    /**
     * Creates a launcher whose workers end when they are killed.
     *
     * @param onLaunch called for each new worker. If it throws, the launch fails
     */
    public RecordingLauncher(Consumer<AbsentWorker> onLaunch) {
        this(onLaunch, worker -> worker.exit().complete(new WorkerExit(Cause.FAILED, "killed")));
    }

    /**
     * Creates a launcher.
     *
     * @param onLaunch called for each new worker. If it throws, the launch fails
     * @param onKill called for each worker that is killed
     */
    public RecordingLauncher(Consumer<AbsentWorker> onLaunch, Consumer<AbsentWorker> onKill) {
        this.onLaunch = onLaunch;
        this.onKill = onKill;
    }

    /** Returns the next worker, and waits for its launch. */
    public AbsentWorker next() throws InterruptedException {
        AbsentWorker next = workers.poll(MOST_SECONDS, TimeUnit.SECONDS);
        if (next == null) {
            throw new AssertionError("no worker was launched within " + MOST_SECONDS + " s");
        }
        return next;
    }

    @Override
    public LaunchedWorker launch(LaunchRequest request) {
        AbsentWorker worker = new AbsentWorker(request);
        onLaunch.accept(worker);
        workers.add(worker);
        return worker;
    }

    @Override
    public CompletionStage<String> version(String function) {
        return CompletableFuture.completedStage(version);
    }

    @Override
    public void close(Duration grace) {
        closes.incrementAndGet();
    }
}
