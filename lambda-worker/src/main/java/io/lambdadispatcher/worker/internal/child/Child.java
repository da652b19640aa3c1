package io.lambdadispatcher.worker.internal.child;

import io.lambdadispatcher.wire.http.PrintableText;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A child process, which is restarted until it is stopped:
 *
 * <pre>
 *   NEW ──start──▶ RUNNING ──died──▶ WAITING ──back-off──▶ RUNNING
 *                     │                 │
 *                    stop              stop
 *                     ▼                 ▼
 *                  STOPPING ──ended──▶ STOPPED
 * </pre>
 *
 * The wait before each restart doubles, until {@link #markHealthy} is called. Signals also go to
 * the processes that the child has started, as long as they are its descendants. Processes that it
 * leaves behind in its {@link Session} are killed when it ends, because the next child would find
 * their ports in use. Any thread can call the methods. The state is confined to the thread of all
 * children.
 */
public final class Child {
    private static final Duration FIRST_WAIT = Duration.ofMillis(100);
    private static final Duration MOST_WAIT = Duration.ofSeconds(10);

    private static final Logger log = LoggerFactory.getLogger(Child.class);

    private enum State {
        NEW,
        RUNNING,
        WAITING,
        STOPPING,
        STOPPED
    }

    private final ChildCommand command;
    private final ChildListener listener;
    private final long firstWaitMillis;
    private final long mostWaitMillis;
    private final CompletableFuture<Void> stopped = new CompletableFuture<>();

    private State state = State.NEW;
    private long waitMillis;
    private @Nullable Process process;
    private List<ProcessHandle> family = List.of();
    private @Nullable ScheduledFuture<?> timer;

    public Child(ChildCommand command, ChildListener listener) {
        this(command, listener, FIRST_WAIT, MOST_WAIT);
    }

    Child(ChildCommand command, ChildListener listener, Duration firstWait, Duration mostWait) {
        this.command = command;
        this.listener = listener;
        this.firstWaitMillis = firstWait.toMillis();
        this.mostWaitMillis = mostWait.toMillis();
        this.waitMillis = firstWaitMillis;
    }

    public ChildCommand command() {
        return command;
    }

    /** Starts the child. Further calls have no effect. */
    public void start() {
        Children.THREAD.execute(this::onStart);
    }

    /** Notes that the child works. If it dies, it is restarted after the shortest wait. */
    public void markHealthy() {
        Children.THREAD.execute(() -> waitMillis = firstWaitMillis);
    }

    /**
     * Kills the process with KILL, unless it has been replaced. The listener learns that it has
     * died.
     *
     * @param pid the process id from {@link ChildListener#onStarted}
     */
    public void kill(long pid) {
        Children.THREAD.execute(() -> {
            if (process != null && process.pid() == pid) {
                family(process).forEach(ProcessHandle::destroyForcibly);
            }
        });
    }

    /**
     * Sends TERM, and KILL after {@code grace}. The child is not restarted. Further calls have no
     * effect.
     *
     * @return completes when the process has ended, and never exceptionally
     */
    public CompletionStage<Void> stop(Duration grace) {
        Children.THREAD.execute(() -> onStop(grace));
        return stopped.copy();
    }

    private void onStart() {
        if (state == State.NEW) {
            launch();
        }
    }

    private void launch() {
        timer = null;
        Process started;
        try {
            started = command.toBuilder().start();
        } catch (IOException | RuntimeException e) {
            // A NUL in a word or a variable is an IllegalArgumentException.
            onDied("cannot start: " + e.getMessage());
            return;
        }
        state = State.RUNNING;
        process = started;
        log.info("{} runs as process {}", command.name(), started.pid());
        Leash.hold(started);
        OutputLog.follow(command.name(), started);
        started.onExit().thenRunAsync(() -> onEnded(started), Children.THREAD);
        tell(() -> listener.onStarted(started.pid()));
    }

    private void onEnded(Process ended) {
        process = null;
        if (state == State.STOPPING) {
            awaitFamily(ended);
        } else {
            onDied(describe(ended.exitValue()));
            killRest(ended);
        }
    }

    /**
     * Kills the processes that are left. A shell that ends leaves the other programs of its line
     * running.
     */
    private void killRest(Process ended) {
        List<ProcessHandle> rest = Session.ledBy(ended.pid());
        if (!rest.isEmpty()) {
            String left = PrintableText.counted(rest.size(), "process", "processes");
            log.warn("killing {} that {} has left behind", left, command.name());
            rest.forEach(ProcessHandle::destroyForcibly);
        }
    }

    /** Describes an exit code. A shell and the JDK report a signal in this way. */
    private static String describe(int exitCode) {
        return exitCode > 128 ? "exit code " + exitCode + ", signal " + (exitCode - 128) : "exit code " + exitCode;
    }

    private void onDied(String how) {
        state = State.WAITING;
        log.warn("{} died: {}. It is restarted in {} ms.", command.name(), how, waitMillis);
        timer = Children.THREAD.schedule(this::launch, waitMillis, TimeUnit.MILLISECONDS);
        waitMillis = Math.min(mostWaitMillis, Math.max(1, waitMillis * 2));
        tell(() -> listener.onDied(how));
    }

    private void tell(Runnable news) {
        try {
            news.run();
        } catch (RuntimeException e) {
            log.error("the listener of {} threw an exception", command.name(), e);
        }
    }

    private void onStop(Duration grace) {
        switch (state) {
            case NEW, WAITING -> {
                stopTimer();
                onStopped();
            }
            case RUNNING -> {
                state = State.STOPPING;
                terminate(grace);
            }
            case STOPPING, STOPPED -> {}
        }
    }

    /**
     * Waits for the processes that the child has started, because a shell ends immediately while
     * they may take time.
     */
    private void awaitFamily(Process ended) {
        CompletableFuture<?>[] left = family.stream().map(ProcessHandle::onExit).toArray(CompletableFuture<?>[]::new);
        CompletableFuture.allOf(left).thenRunAsync(() -> onFamilyEnded(ended), Children.THREAD);
    }

    private void onFamilyEnded(Process ended) {
        stopTimer();
        killRest(ended);
        log.info("{} has exited", command.name());
        onStopped();
    }

    private void terminate(Duration grace) {
        if (process == null) {
            return;
        }
        List<ProcessHandle> all = family(process);
        family = all;
        all.forEach(ProcessHandle::destroy);
        timer = Children.THREAD.schedule(
                () -> {
                    log.warn(
                            "{} has not exited within {} after SIGTERM. It is killed.",
                            command.name(),
                            PrintableText.of(grace));
                    all.forEach(ProcessHandle::destroyForcibly);
                },
                grace.toMillis(),
                TimeUnit.MILLISECONDS);
    }

    /** Returns the process and its descendants, which can no longer be found after its end. */
    private static List<ProcessHandle> family(Process process) {
        return Stream.concat(Stream.of(process.toHandle()), process.descendants())
                .toList();
    }

    private void onStopped() {
        state = State.STOPPED;
        stopped.complete(null);
    }

    private void stopTimer() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }

    /**
     * In a separate class, so that no thread starts before the first child. The thread never ends,
     * because Linux takes the end of the thread that started a process for the end of its parent
     * (prctl(2), PR_SET_PDEATHSIG).
     */
    private static final class Children {
        static final ScheduledThreadPoolExecutor THREAD = create();

        private static ScheduledThreadPoolExecutor create() {
            ScheduledThreadPoolExecutor thread = new ScheduledThreadPoolExecutor(1, task -> {
                Thread made = new Thread(task, "children");
                made.setDaemon(true);
                return made;
            });
            thread.setRemoveOnCancelPolicy(true);
            return thread;
        }
    }
}
