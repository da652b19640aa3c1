package io.lambdadispatcher.wire.http2;

import io.netty.util.concurrent.EventExecutor;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * Reports event loops that run no task for two seconds, with the code that blocks them. All
 * requests of a blocked event loop wait, and nothing on it can say so. Once a second, each event
 * loop gets an empty task.
 *
 * <p><i>Threading:</i> the JDK's thread for delayed tasks, so the watch has no thread of its own.
 * {@link #close} can be called on any thread.
 */
public final class BlockedLoopWatch {
    private static final long PERIOD_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A longer pause means that this process did not run, which says nothing about its loops. */
    private static final long MAX_PAUSE_NANOS = PERIOD_NANOS * 3 / 2;

    private static final long BLOCKED_NANOS = 2 * PERIOD_NANOS;

    /** Code that waits for other code, or that is called on every event loop. */
    private static final Pattern NOBODYS_CODE = Pattern.compile("(?:java|javax|jdk|sun|com\\.sun|io\\.netty)\\..*");

    private static final Executor IN_A_PERIOD =
            CompletableFuture.delayedExecutor(PERIOD_NANOS, TimeUnit.NANOSECONDS, Runnable::run);

    private final List<Beat> beats;
    private final BiConsumer<String, Throwable> reports;
    private long lookedNanos = System.nanoTime();
    private volatile boolean closed;

    private BlockedLoopWatch(Iterable<? extends EventExecutor> loops, BiConsumer<String, Throwable> reports) {
        this.beats =
                StreamSupport.stream(loops.spliterator(), false).map(Beat::new).toList();
        this.reports = reports;
    }

    /**
     * Starts to watch.
     *
     * @param reports receives one report for each time that an event loop is blocked: a sentence,
     *     and a throwable with the stack of the blocked thread. Must not block
     */
    public static BlockedLoopWatch start(
            Iterable<? extends EventExecutor> loops, BiConsumer<String, Throwable> reports) {
        BlockedLoopWatch watch = new BlockedLoopWatch(loops, reports);
        watch.look();
        return watch;
    }

    /** Ends the watch. May be called repeatedly. */
    public void close() {
        closed = true;
    }

    private void look() {
        if (closed) {
            return;
        }
        long now = System.nanoTime();
        boolean paused = now - lookedNanos > MAX_PAUSE_NANOS;
        lookedNanos = now;
        beats.forEach(beat -> beat.look(now, paused));
        IN_A_PERIOD.execute(this::look);
    }

    /** The empty task of one event loop, with the time since which the event loop has it. */
    private final class Beat implements Runnable {
        private final EventExecutor loop;
        private long askedNanos;
        private boolean told;
        private volatile boolean pending;
        private volatile @Nullable Thread thread;

        Beat(EventExecutor loop) {
            this.loop = loop;
        }

        @Override
        public void run() {
            thread = Thread.currentThread();
            pending = false;
        }

        void look(long nowNanos, boolean paused) {
            Thread blocked = thread;
            if (!pending) {
                told = false;
                askedNanos = nowNanos;
                ask();
            } else if (paused) {
                askedNanos = nowNanos;
            } else if (!told && blocked != null && nowNanos - askedNanos >= BLOCKED_NANOS) {
                StackTraceElement[] stack = blocked.getStackTrace();
                // It may have run the task meanwhile, and the stack would blame other code.
                if (pending && stack.length > 0) {
                    told = true;
                    tell(blocked, stack, nowNanos - askedNanos);
                }
            }
        }

        private void ask() {
            try {
                pending = true;
                loop.execute(this);
            } catch (RejectedExecutionException e) {
                pending = false; // The event loop has ended.
            }
        }

        private void tell(Thread blocked, StackTraceElement[] stack, long nanos) {
            StackTraceElement culprit = Stream.of(stack)
                    .filter(frame -> !NOBODYS_CODE.matcher(frame.getClassName()).matches())
                    .findFirst()
                    .orElse(stack[0]);
            Throwable trace = new Throwable("the stack of " + blocked.getName());
            trace.setStackTrace(stack);
            reports.accept(
                    "event loop " + blocked.getName() + " has been blocked for "
                            + TimeUnit.NANOSECONDS.toMillis(nanos) + " ms by " + culprit.getClassName() + "."
                            + culprit.getMethodName() + "(" + culprit.getFileName() + ":" + culprit.getLineNumber()
                            + ")"
                            + ". All its requests wait. Code on an event loop must not wait, see \"Threads\" in the guide on embedding",
                    trace);
        }
    }
}
