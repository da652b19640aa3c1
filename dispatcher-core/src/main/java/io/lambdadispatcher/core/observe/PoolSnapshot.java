package io.lambdadispatcher.core.observe;

/**
 * The workers and requests of one function at a moment, summed over event loops that keep running while it is taken.
 *
 * @param workers connected workers
 * @param readyWorkers connected workers that are neither starting nor draining
 * @param streams open worker streams
 * @param free worker streams that could take a request now
 * @param pending requests that wait for a worker stream
 */
public record PoolSnapshot(String function, int workers, int readyWorkers, int streams, int free, int pending) {}
