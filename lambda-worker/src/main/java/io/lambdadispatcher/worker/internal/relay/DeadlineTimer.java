package io.lambdadispatcher.worker.internal.relay;

import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The deadline of the exchange in flight. Most exchanges end long before their deadlines, and
 * deadlines usually increase. Therefore, a timer of an earlier exchange keeps running and is set
 * again when it fires, so that most exchanges set no timer. Event loop only.
 */
final class DeadlineTimer {
    private final EventExecutor loop;
    private final Runnable onDeadline;

    private boolean armed;
    private long deadlineNanos;
    private long firesAtNanos;
    private @Nullable Future<?> timer;

    DeadlineTimer(EventExecutor loop, Runnable onDeadline) {
        this.loop = loop;
        this.onDeadline = onDeadline;
    }

    /** @param atNanos by the event loop's ticker */
    void arm(long atNanos) {
        armed = true;
        deadlineNanos = atNanos;
        if (timer != null && firesAtNanos - atNanos <= 0) {
            return;
        }
        stop();
        schedule();
    }

    void disarm() {
        armed = false;
    }

    /** Stops the timer for good. */
    void stop() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }

    private void schedule() {
        firesAtNanos = deadlineNanos;
        timer = loop.schedule(this::onTimer, deadlineNanos - loop.ticker().nanoTime(), TimeUnit.NANOSECONDS);
    }

    private void onTimer() {
        timer = null;
        if (!armed) {
            return;
        }
        if (deadlineNanos - loop.ticker().nanoTime() > 0) {
            schedule();
        } else {
            armed = false;
            onDeadline.run();
        }
    }
}
