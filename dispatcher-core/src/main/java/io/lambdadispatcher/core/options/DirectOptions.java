package io.lambdadispatcher.core.options;

import io.lambdadispatcher.wire.event.EventFormat;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How a function takes requests directly, one invocation each.
 *
 * @param maxBodyBytes of a request, before base64; a larger one gets 413
 * @param maxEventBytes of the JSON event; a larger one gets 413
 * @param maxResponseBytes of the JSON that the function returns; larger is 502
 * @param maxConcurrent requests at once, over all event loops, until the response is taken; more get 503. Each may hold a body and its event, or a response
 * @param overflowAfter how long a request that may go either way waits for a worker first; {@code null} = there are no workers, every request goes
 *     directly
 */
public record DirectOptions(
        EventFormat shape,
        int maxBodyBytes,
        int maxEventBytes,
        int maxResponseBytes,
        int maxConcurrent,
        @Nullable Duration overflowAfter) {

    private static final int MIB = 1024 * 1024;

    /** Lambda's own limit for what goes into a synchronous invocation, and for what comes out. */
    private static final int LAMBDA_BYTES = 6 * MIB;

    /** A request that could not overflow when its time came asks again after as much time. */
    private static final Duration MIN_WAIT = Duration.ofMillis(10);

    public DirectOptions {
        require(maxBodyBytes >= 0, "maxBodyBytes", maxBodyBytes, "0 or more");
        require(maxEventBytes >= 1024, "maxEventBytes", maxEventBytes, "1024 or more");
        require(maxResponseBytes >= 1024, "maxResponseBytes", maxResponseBytes, "1024 or more");
        require(maxConcurrent >= 1, "maxConcurrent", maxConcurrent, "1 or more");
        require(
                overflowAfter == null || overflowAfter.compareTo(MIN_WAIT) >= 0,
                "overflowAfter",
                overflowAfter,
                "at least " + MIN_WAIT.toMillis() + " ms");
    }

    /** Every request goes directly, within the limits that AWS has for this shape; at most 1000 at once. */
    public static DirectOptions of(EventFormat shape) {
        return switch (shape) {
            case ALB, ALB_MULTI_VALUE -> new DirectOptions(shape, MIB, LAMBDA_BYTES, MIB, 1000, null);
            case HTTP_API_V2, REST_API, FUNCTION_URL ->
                new DirectOptions(shape, LAMBDA_BYTES, LAMBDA_BYTES, LAMBDA_BYTES, 1000, null);
        };
    }

    /** Requests wait for a worker; an idempotent one that has waited so long goes directly. */
    public DirectOptions withOverflowAfter(Duration wait) {
        return new DirectOptions(shape, maxBodyBytes, maxEventBytes, maxResponseBytes, maxConcurrent, wait);
    }

    public DirectOptions withMaxConcurrent(int value) {
        return new DirectOptions(shape, maxBodyBytes, maxEventBytes, maxResponseBytes, value, overflowAfter);
    }

    private static void require(boolean holds, String what, @Nullable Object value, String expected) {
        if (!holds) {
            throw new IllegalArgumentException(what + ": " + value + ", expected " + expected);
        }
    }
}
