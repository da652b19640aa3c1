package io.lambdadispatcher.server.task;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A task that is run again and again. An executor never runs a task again that has thrown, and says
 * nothing. This task logs what is thrown, once until it succeeds again. Used by one thread at a
 * time.
 */
public final class Repeated implements Runnable {
    private static final Logger log = LoggerFactory.getLogger(Repeated.class);

    private final String name;
    private final Runnable task;
    private boolean failing;

    /** @param name what the task does, for the log */
    public Repeated(String name, Runnable task) {
        this.name = name;
        this.task = task;
    }

    @Override
    public void run() {
        try {
            task.run();
            failing = false;
        } catch (Throwable e) {
            if (!failing) {
                log.error("{} failed, and is tried again", name, e);
            }
            failing = true;
        }
    }
}
