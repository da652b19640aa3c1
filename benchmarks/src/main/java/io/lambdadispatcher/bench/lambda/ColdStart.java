package io.lambdadispatcher.bench.lambda;

/**
 * What passes between the wish for an environment and its being there. Called on the environment's
 * own thread.
 */
@FunctionalInterface
interface ColdStart {
    void await() throws InterruptedException;
}
