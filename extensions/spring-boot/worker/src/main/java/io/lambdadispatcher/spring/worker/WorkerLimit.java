package io.lambdadispatcher.spring.worker;

import io.lambdadispatcher.worker.Worker;

/**
 * Lets an application say how many requests it takes at once, because it knows better than its
 * properties when it is saturated. Inject it as a bean. Any thread.
 */
@FunctionalInterface
public interface WorkerLimit {
    /**
     * Does what {@link Worker#limit} does, for the worker of this process, also if a dispatcher has
     * launched the process on its own machine. It has no effect on AWS Lambda, and in an
     * application that runs without a worker.
     *
     * @param requests 1 or more
     * @throws IllegalArgumentException for other numbers
     */
    void limit(int requests);
}
