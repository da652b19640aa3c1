package io.lambdadispatcher.wire.blocking;

import org.jspecify.annotations.Nullable;

/**
 * The thread that runs a call. It can be interrupted while it does, but an interrupt does not reach
 * the thread's next task. Any thread.
 */
public final class CallThread {
    private @Nullable Thread thread;

    /** The current thread begins the call. */
    public synchronized void begin() {
        thread = Thread.currentThread();
    }

    /** The call has ended. Clears an interrupt that was meant for it. */
    public synchronized void end() {
        thread = null;
        Thread.interrupted();
    }

    /** Interrupts the call. Has no effect before its begin and after its end. */
    public synchronized void interrupt() {
        if (thread != null) {
            thread.interrupt();
        }
    }
}
