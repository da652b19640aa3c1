package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.observe.CacheSnapshot;
import io.netty.util.concurrent.Ticker;
import org.jspecify.annotations.Nullable;

/**
 * The dispatcher's stored responses. The store is created when the first policy needs it, because
 * its library is not needed otherwise. Any thread.
 */
public final class StoredResponses {
    private final long maxBytes;
    private volatile @Nullable ResponseStore store;

    /** @param maxBytes maximum memory of all stored responses */
    public StoredResponses(long maxBytes) {
        this.maxBytes = maxBytes;
    }

    ResponseStore store() {
        ResponseStore known = store;
        return known == null ? create() : known;
    }

    private synchronized ResponseStore create() {
        ResponseStore known = store;
        if (known == null) {
            known = new ResponseStore(maxBytes, Ticker.systemTicker()::nanoTime, System::currentTimeMillis);
            store = known;
        }
        return known;
    }

    /** Forgets all stored responses, and does not store those on their way. */
    public void clear() {
        ResponseStore known = store;
        if (known != null) {
            known.clear();
        }
    }

    /** Returns the use of memory; {@code null} = nothing was stored yet. */
    public @Nullable CacheSnapshot snapshot() {
        ResponseStore known = store;
        return known == null ? null : new CacheSnapshot(known.bytes(), known.maxBytes(), known.evictions());
    }
}
