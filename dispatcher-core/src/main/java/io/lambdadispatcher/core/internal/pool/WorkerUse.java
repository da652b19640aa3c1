package io.lambdadispatcher.core.internal.pool;

/**
 * What one worker does, or one of its connections.
 *
 * @param streams open worker streams
 * @param busy worker streams that carry an exchange
 * @param limit maximum number of concurrent exchanges; {@link Integer#MAX_VALUE} = the streams
 * @param completed exchanges that have ended since the connection opened
 * @param failed those of {@code completed} that failed
 */
public record WorkerUse(int streams, int busy, int limit, long completed, long failed) {
    public static final WorkerUse NONE = new WorkerUse(0, 0, 0, 0, 0);

    WorkerUse plus(WorkerUse other) {
        return new WorkerUse(
                streams + other.streams,
                busy + other.busy,
                (int) Math.min(Integer.MAX_VALUE, (long) limit + other.limit),
                completed + other.completed,
                failed + other.failed);
    }
}
