package io.lambdadispatcher.core.internal.loop;

import io.netty.channel.EventLoop;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
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

    /** @throws java.util.concurrent.RejectedExecutionException after the loop has shut down */
    public void post(Runnable call) {
        calls.add(call);
        if (scheduled.compareAndSet(false, true)) {
            loop.execute(this);
        }
    }

    @Override
    public void run() {
        // Cleared first: a call posted from here on schedules another run, so none is left behind.
        scheduled.set(false);
        for (Runnable call = calls.poll(); call != null; call = calls.poll()) {
            call.run();
        }
    }
}
