package io.lambdadispatcher.core.internal.loop;

import io.netty.channel.EventLoop;

/**
 * The time at which a turn of the event loop began, for all that happens in it: read from the
 * loop's ticker by the first who asks, and forgotten when the turn's tasks run. A virtual machine
 * takes 40 ns for the time, which adds up at two questions a request; what is lost is the length of
 * one turn, less than a millisecond on a loop that is well. Event loop only.
 */
public final class LoopClock implements Runnable {
    private final EventLoop loop;
    private boolean known;
    private long nanos;

    public LoopClock(EventLoop loop) {
        this.loop = loop;
    }

    /** As {@link System#nanoTime}: only differences count. */
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
