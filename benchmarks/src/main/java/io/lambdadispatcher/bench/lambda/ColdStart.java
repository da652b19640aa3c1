package io.lambdadispatcher.bench.lambda;

/** Waits for as long as a cold start takes. Called on the thread of the environment. */
@FunctionalInterface
interface ColdStart {
    void await() throws InterruptedException;
}
