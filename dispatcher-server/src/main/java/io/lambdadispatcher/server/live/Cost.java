package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.observe.CapacitySnapshot.AdvisedBase;

/**
 * What AWS charges for Lambda, in dollars: x86, us-east-1, first tier, without free tier (AWS
 * Lambda pricing, 2026; of a GB-second, see {@link AdvisedBase}). The dispatcher's own cost is not
 * included.
 */
final class Cost {
    static final double GB_SECOND = AdvisedBase.LAMBDA_GB_SECOND;
    static final double INVOCATION = 0.20 / 1_000_000;

    private static final double MEGABYTES_PER_GB = 1024;
    private static final double NANOS = 1e9;

    private Cost() {}

    /** Returns the cost of workers and direct invocations. */
    static double of(double gbSeconds, long invocations) {
        return gbSeconds * GB_SECOND + invocations * INVOCATION;
    }

    /**
     * Returns what the same requests would have cost as direct invocations with as much memory. An
     * invocation serves one request, and lasts as long as the request was with its worker.
     */
    static double ofDirect(long requests, long serviceNanos, int megabytes) {
        return serviceNanos / NANOS * megabytes / MEGABYTES_PER_GB * GB_SECOND + requests * INVOCATION;
    }
}
