package io.lambdadispatcher.core.internal.exchange;

import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The shares of one function's clients. Only clients that need one have a share. Any thread. */
public final class ClientShares {
    private final ConcurrentHashMap<Object, ClientShare> shares = new ConcurrentHashMap<>();

    /** Returns the share of a client. {@link #release} must follow once for each call. */
    ClientShare acquire(Object client) {
        return shares.compute(client, ClientShares::acquire);
    }

    private static ClientShare acquire(Object client, @Nullable ClientShare present) {
        ClientShare share = present == null ? new ClientShare(client) : present;
        share.references++;
        return share;
    }

    /** Keeps a share until {@link #release}, although no request of its client may need it. */
    public void keep(ClientShare share) {
        acquire(share.key);
    }

    /** Has to be called once for each share that was acquired or kept. */
    public void release(ClientShare share) {
        shares.computeIfPresent(share.key, (client, present) -> --present.references == 0 ? null : present);
    }

    public int size() {
        return shares.size();
    }
}
