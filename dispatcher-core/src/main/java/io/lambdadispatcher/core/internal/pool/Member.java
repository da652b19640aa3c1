package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Carrier;
import java.util.ArrayDeque;

/**
 * A worker connection as its pool shard sees it: its free worker streams, and how many are busy. Confined to the connection's event
 * loop; changed through {@link PoolShard} only.
 */
public final class Member extends LeastOutstanding.Entry {
    private final String workerId;
    final ArrayDeque<Carrier> free = new ArrayDeque<>();
    int busy;
    boolean open;

    public Member(String workerId) {
        this.workerId = workerId;
    }

    public String workerId() {
        return workerId;
    }

    /** Worker streams that carry an exchange, or whose last one has not been answered for yet. */
    public int busy() {
        return busy;
    }
}
