package io.lambdadispatcher.core.observe;

/**
 * The workers and requests of one function at a moment. The numbers are summed over event loops
 * that continue to run, so they are not from exactly the same moment.
 *
 * @param function the name of the function
 * @param workers number of connected workers
 * @param readyWorkers number of connected workers that are not starting, draining or ejected
 * @param readyBaseWorkers those of {@code readyWorkers} that are base workers
 * @param ejectedWorkers number of workers that get no requests for some time, because they failed
 *     or were slow while others were not
 * @param streams number of open worker streams
 * @param free number of worker streams that could take a request now
 * @param queued number of queued requests
 */
public record PoolSnapshot(
        String function,
        int workers,
        int readyWorkers,
        int readyBaseWorkers,
        int ejectedWorkers,
        int streams,
        int free,
        int queued) {}
