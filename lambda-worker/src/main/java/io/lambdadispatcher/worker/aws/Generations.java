package io.lambdadispatcher.worker.aws;

import io.lambdadispatcher.worker.internal.transport.FreezeClocks;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.utils.SdkAutoCloseable;

/**
 * Replaces HTTP clients whose idle connections may be dead. One client is in use; previous ones
 * live until their last request has ended.
 *
 * <p>A client's pool closes idle connections by the monotonic clock, on its own thread. In a frozen
 * environment, that clock may stand still, and the thread runs too late. The first request after a
 * thaw would then use a connection that its peer has closed, or that a NAT gateway has forgotten.
 * So a request gets a new client, without connections, in these cases:
 *
 * <ul>
 *   <li>There was no request for as long as a connection may be idle, by the wall clock.
 *   <li>The wall clock has gained on the monotonic clock since the client was created, so there was
 *       a freeze.
 *   <li>The wall clock was set back, so idle times are unknown.
 *   <li>The worker's concurrency has changed, because the size of a pool is fixed.
 * </ul>
 *
 * <p>Any thread.
 *
 * @param <C> the client
 */
final class Generations<C extends SdkAutoCloseable> {
    /**
     * A freeze is longer than this. Running clocks differ by less: NTP slews by at most 0.05 %, and
     * seldom steps.
     */
    private static final long FREEZE_MILLIS = 1000;

    private final IntFunction<C> making;
    private final IntSupplier size;
    private final FreezeClocks clocks;
    private final long idleMillis;
    private final Executor closing;

    private @Nullable Generation<C> current;
    private long usedMillis;
    private final Set<Generation<C>> retired = new HashSet<>();

    /**
     * @param making creates a client for this many concurrent requests. First called with the first
     *     request
     * @param size returns the current size of the pool
     * @param closing runs the close of a client, which may block
     */
    Generations(IntFunction<C> making, IntSupplier size, FreezeClocks clocks, long idleMillis, Executor closing) {
        this.making = making;
        this.size = size;
        this.clocks = clocks;
        this.idleMillis = idleMillis;
        this.closing = closing;
    }

    private static final class Generation<C> {
        final C client;
        final int size;
        final long aheadMillis;
        int leases;

        Generation(C client, int size, long aheadMillis) {
            this.client = client;
            this.size = size;
            this.aheadMillis = aheadMillis;
        }
    }

    /** Lends a client for one request. */
    final class Lease {
        private final Generation<C> generation;
        private boolean ended;

        private Lease(Generation<C> generation) {
            this.generation = generation;
        }

        C client() {
            return generation.client;
        }

        /**
         * Returns the client, because the response has ended or will not come. Further calls have
         * no effect.
         */
        void end() {
            boolean last;
            synchronized (Generations.this) {
                last = !ended && --generation.leases == 0 && retired.remove(generation);
                if (!ended && generation == current) {
                    usedMillis = clocks.wallMillis();
                }
                ended = true;
            }
            if (last) {
                closing.execute(generation.client::close);
            }
        }
    }

    Lease lease() {
        Generation<C> unused;
        Lease lease;
        synchronized (this) {
            unused = isFit() ? null : retire();
            Generation<C> generation = current;
            if (generation == null) {
                int requests = size.getAsInt();
                generation = new Generation<>(making.apply(requests), requests, aheadMillis());
                current = generation;
            }
            // Read only now, because the first client of a process takes long to create.
            usedMillis = clocks.wallMillis();
            generation.leases++;
            lease = new Lease(generation);
        }
        if (unused != null) {
            closing.execute(unused.client::close);
        }
        return lease;
    }

    private boolean isFit() {
        Generation<C> generation = current;
        long unusedMillis = clocks.wallMillis() - usedMillis;
        return generation != null
                && unusedMillis >= 0
                && unusedMillis < idleMillis
                && aheadMillis() - generation.aheadMillis < FREEZE_MILLIS
                && generation.size == size.getAsInt();
    }

    /**
     * Returns how far the wall clock is ahead of the monotonic clock. Grows by the time of each
     * freeze.
     */
    private long aheadMillis() {
        return clocks.wallMillis() - TimeUnit.NANOSECONDS.toMillis(clocks.nanos());
    }

    /** @return the client to close, or {@code null} if it has requests in flight */
    private @Nullable Generation<C> retire() {
        Generation<C> generation = current;
        current = null;
        if (generation == null || generation.leases == 0) {
            return generation;
        }
        retired.add(generation);
        return null;
    }

    /**
     * Closes all clients on the calling thread, also those with requests in flight. The next
     * request creates a new client.
     */
    void closeAll() {
        Set<Generation<C>> all;
        synchronized (this) {
            all = new HashSet<>(retired);
            retired.clear();
            if (current != null) {
                all.add(current);
                current = null;
            }
        }
        all.forEach(generation -> generation.client.close());
    }
}
