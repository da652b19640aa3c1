package io.lambdadispatcher.worker.adapter.runtime;

import java.util.HexFormat;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a child is told about an invocation, in addition to its event.
 *
 * @param deadlineEpochMillis the deadline by the wall clock, which the child reads
 * @param deadlineNanos the deadline by {@link System#nanoTime}
 * @param timeoutNanos the time from the arrival of the request to the deadline
 */
record InvokeHead(
        String id,
        String functionArn,
        @Nullable String traceId,
        long deadlineEpochMillis,
        long deadlineNanos,
        long timeoutNanos) {
    /** Lambda's maximum, for requests without a limit. */
    static final long LONGEST_MILLIS = TimeUnit.MINUTES.toMillis(15);

    private static final HexFormat HEX = HexFormat.of();

    /** @param traceId {@code null} for a new one */
    static InvokeHead ofRequest(String functionArn, @Nullable String traceId, long millisLeft) {
        return of(UUID.randomUUID().toString(), functionArn, traceId == null ? newTraceId() : traceId, millisLeft);
    }

    static InvokeHead of(String id, String functionArn, @Nullable String traceId, long millisLeft) {
        long timeoutNanos = TimeUnit.MILLISECONDS.toNanos(millisLeft);
        return new InvokeHead(
                id,
                functionArn,
                traceId,
                System.currentTimeMillis() + millisLeft,
                System.nanoTime() + timeoutNanos,
                timeoutNanos);
    }

    /**
     * Returns a new trace ID in X-Ray's format, not sampled. It is made from UUIDs, because
     * SecureRandom is seeded again in each environment that is restored from a snapshot, and a
     * thread's generator is not (AWS Lambda developer guide, SnapStart and uniqueness).
     */
    private static String newTraceId() {
        UUID unique = UUID.randomUUID();
        long parent = UUID.randomUUID().getLeastSignificantBits();
        String seconds = HEX.toHexDigits((int) TimeUnit.MILLISECONDS.toSeconds(System.currentTimeMillis()));
        String root = HEX.toHexDigits(unique.getMostSignificantBits())
                + HEX.toHexDigits((int) unique.getLeastSignificantBits());
        return "Root=1-" + seconds + "-" + root + ";Parent=" + HEX.toHexDigits(parent) + ";Sampled=0";
    }

    boolean isOverdue(long nowNanos) {
        return nowNanos - deadlineNanos >= 0;
    }
}
