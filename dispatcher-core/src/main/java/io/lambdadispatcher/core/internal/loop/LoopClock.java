package io.lambdadispatcher.core.internal.loop;

import io.netty.channel.EventLoop;

/**
 * A clock that reads the time at most once per turn of an event loop. The first call in a turn
 * reads the loop's ticker. All calls return this time until the loop runs its queued tasks.
 *
 * <p>Reading the time takes 40 ns on a virtual machine, and each request needs it twice. The time
 * can be late by the length of one turn, which is less than a millisecond on a healthy loop.
 * Confined to the event loop.
 */
public final class LoopClock implements Runnable {
    private final EventLoop loop;
    private boolean known;
    private long nanos;

    public LoopClock(EventLoop loop) {
        this.loop = loop;
    }

    /**
     * Returns the time of this turn. As with {@link System#nanoTime}, only differences have a
     * meaning.
     */
    public long nanoTime() {
        if (!known) {
            nanos = loop.ticker().nanoTime();
            known = true;
            loop.execute(this);
        }
        return nanos;
    }

    @Override
    public void run() {
        known = false;
    }
}
