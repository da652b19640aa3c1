package io.lambdadispatcher.core.internal.policy;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Counts the requests in flight, of all clients together or of each tenant, so that those of one
 * cannot occupy everything. Queued requests and open tunnels count, too.
 *
 * <p><i>Event loops:</i> all loops share the counts, so a limit holds exactly over all of them. The
 * common count costs one atomic operation at the start and one at the end of a request, a tenant's
 * count a look-up in a hash table each.
 *
 * <p><i>Memory:</i> only tenants with requests in flight have a count.
 *
 * <p><i>Threading:</i> any thread.
 */
public final class Bulkhead {
    private final AtomicInteger all = new AtomicInteger();
    final ConcurrentHashMap<String, Integer> tenants = new ConcurrentHashMap<>();

    /**
     * Counts a request. {@link #leave()} must follow once if it returns true.
     *
     * @param limit maximum number of requests in flight, positive
     * @return false if there are as many
     */
    public boolean tryEnter(int limit) {
        int seen = all.get();
        while (seen < limit) {
            if (all.compareAndSet(seen, seen + 1)) {
                return true;
            }
            seen = all.get();
        }
        return false;
    }

    public void leave() {
        all.decrementAndGet();
    }

    /**
     * Counts a request of a tenant. {@link #leave(String)} must follow once if it returns true.
     *
     * @param limit maximum number of the tenant's requests in flight, positive
     * @return false if there are as many
     */
    public boolean tryEnter(String tenant, int limit) {
        boolean[] entered = new boolean[1];
        tenants.compute(tenant, (key, count) -> {
            int seen = count == null ? 0 : count;
            entered[0] = seen < limit;
            return entered[0] ? seen + 1 : seen;
        });
        return entered[0];
    }

    public void leave(String tenant) {
        tenants.computeIfPresent(tenant, (key, count) -> count == 1 ? null : count - 1);
    }
}
