package io.lambdadispatcher.worker;

/**
 * What a worker did.
 *
 * @param requests that were started, the refused ones included
 * @param failures responses that did not end as the handler meant them to
 * @param requestBytes octets of request bodies received
 * @param responseBytes octets of response bodies written
 * @param connections that became ready, reconnections included
 * @param readyMillis from the making of the worker (threads and classes included) to the first connection's readiness; -1 = never ready
 * @param lifeMillis from start to end
 * @param refused the dispatcher did not let it in
 * @param reason why it ended
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
