package io.lambdadispatcher.cache;

import java.util.function.LongSupplier;

/** A cache whose clock is a test's. */
public final class ClockedCache {
    private ClockedCache() {}

    /** @param millis time since 1970 */
    public static HttpCache of(LongSupplier nanos, LongSupplier millis) {
        return new HttpCache(new ResponseStore(1 << 20, nanos, millis));
    }
}
