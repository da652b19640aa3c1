package io.lambdadispatcher.core.internal.loop;

import io.netty.channel.EventLoop;

/**
 * The time at which the current turn of the event loop began. The first caller of a turn reads it
 * from the event loop's ticker, and it is forgotten when the turn's tasks run. On a virtual
 * machine, reading the time takes 40 ns, and each request asks twice. The error is the length of a
 * turn, which is less than a millisecond on a healthy event loop. Event loop only.
 */
public final class LoopClock implements Runnable {
    private final EventLoop loop;
    private boolean known;
    private long nanos;

    public LoopClock(EventLoop loop) {
        this.loop = loop;
    }

    /** Returns a time like {@link System#nanoTime}: only differences count. */
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
