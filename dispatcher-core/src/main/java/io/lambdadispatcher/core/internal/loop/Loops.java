package io.lambdadispatcher.core.internal.loop;

import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/** Gives tasks to event loops, which an embedding program can end at any time. Any thread. */
public final class Loops {
    private Loops() {}

    /**
     * Runs a task on an event loop, never within this call.
     *
     * @return false if the event loop has ended, and with it all that it served. Then the task does
     *     not run
     */
    public static boolean execute(Executor loop, Runnable task) {
        try {
            loop.execute(task);
            return true;
        } catch (RejectedExecutionException e) {
            return false;
        }
    }
}
