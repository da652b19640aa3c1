package io.lambdadispatcher.core.internal.loop;

import io.netty.channel.EventLoop;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The way onto one event loop from the others: calls queue up without a lock and are run in order, all that is there in one task, so
 * that a burst costs one wake-up. Any thread posts.
 */
public final class Handover implements Runnable {
    private final EventLoop loop;
    private final Queue<Runnable> calls = new ConcurrentLinkedQueue<>();
    private final AtomicBoolean scheduled = new AtomicBoolean();

    public Handover(EventLoop loop) {
        this.loop = loop;
    }

    public EventLoop loop() {
        return loop;
    }

    /** @throws RejectedExecutionException after the loop has shut down */
    public void post(Runnable call) {
        calls.add(call);
        schedule();
    }

    private void schedule() {
        if (scheduled.compareAndSet(false, true)) {
            try {
                loop.execute(this);
            } catch (RejectedExecutionException e) {
                // Whoever posts next is to know it as well.
                scheduled.set(false);
                throw e;
            }
        }
    }

    @Override
    public void run() {
        // Cleared first: a call posted from here on schedules another run, so none is left behind.
        scheduled.set(false);
        try {
            for (Runnable call = calls.poll(); call != null; call = calls.poll()) {
                call.run();
            }
        } finally {
            // A call has thrown: those behind it must not wait until something else is posted.
            if (!calls.isEmpty()) {
                schedule();
            }
        }
    }
}
