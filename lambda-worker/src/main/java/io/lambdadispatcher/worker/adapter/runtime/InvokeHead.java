package io.lambdadispatcher.worker.adapter.runtime;

import java.util.HexFormat;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What a child is told of an invocation beside its event.
 *
 * @param deadlineEpochMillis by the wall clock, as the child reads it
 * @param deadlineNanos the same by {@link System#nanoTime}
 * @param timeoutNanos from its arrival to the deadline
 */
record InvokeHead(
        String id,
        String functionArn,
        @Nullable String traceId,
        long deadlineEpochMillis,
        long deadlineNanos,
        long timeoutNanos) {
    /** Lambda's own limit, for requests without one. */
    static final long LONGEST_MILLIS = TimeUnit.MINUTES.toMillis(15);

    private static final HexFormat HEX = HexFormat.of();

    /** @param traceId {@code null} = a new one */
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
     * As X-Ray writes them; not sampled. Out of a UUID: other than a thread's generator,
     * SecureRandom is seeded again in each environment that is restored from a snapshot (AWS Lambda
     * developer guide, SnapStart and uniqueness).
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
