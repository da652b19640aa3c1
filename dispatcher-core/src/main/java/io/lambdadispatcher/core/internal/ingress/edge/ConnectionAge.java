package io.lambdadispatcher.core.internal.ingress.edge;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The age at which a client's connection takes no further requests. Up to a tenth of it is added at
 * random, so that connections that were opened together are not replaced together. Any thread.
 */
public final class ConnectionAge {
    private final long openedNanos;
    private final long maxNanos;

    /** @param max 0 = no limit */
    public ConnectionAge(Duration max, long nowNanos) {
        openedNanos = nowNanos;
        maxNanos = max.isZero()
                ? Long.MAX_VALUE
                : max.toNanos() + ThreadLocalRandom.current().nextLong(max.toNanos() / 10 + 1);
    }

    public boolean isReached(long nowNanos) {
        return nowNanos - openedNanos >= maxNanos;
    }
}
