package io.lambdadispatcher.worker;

/**
 * What a worker did, from its creation to its end.
 *
 * @param function the name of the function that it served
 * @param workerId its id
 * @param requests the number of requests that were started, including those that it refused
 * @param failures the number of requests whose response did not end as the handler intended. A
 *     long response that a draining worker has ended cleanly is none of them
 * @param requestBytes the bytes of the request bodies of all exchanges that have ended
 * @param responseBytes the bytes of the response bodies of all exchanges that have ended
 * @param connections the number of connections that became ready, including reconnections
 * @param readyMillis the milliseconds from the worker's creation until its first connection was
 *     ready; -1 if none ever was
 * @param lifeMillis the milliseconds from the worker's creation to its end
 * @param refused whether a dispatcher rejected the worker for good
 * @param reason why the worker ended, for logs
 */
public record WorkerSummary(
        String function,
        String workerId,
        long requests,
        long failures,
        long requestBytes,
        long responseBytes,
        long connections,
        long readyMillis,
        long lifeMillis,
        boolean refused,
        String reason) {}
