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
 * HTTP clients, of which one is in use; those before it live until their last request has ended. A
 * client's pool closes idle connections by the monotonic clock, on a thread of its own. In an
 * environment that was frozen that clock may have stood still and that thread comes too late: the
 * first request after a thaw would be written to a connection which its peer has closed, or which a
 * NAT gateway has forgotten. So a request gets a new client, which has no connections, when
 *
 * <ul>
 *   <li>nothing has happened for as long as a connection may be idle, by the wall clock;
 *   <li>the wall clock has gained on the monotonic one since the client was made: there was a
 *       freeze;
 *   <li>the wall clock was set back, which tells nothing of what is idle;
 *   <li>the worker's concurrency has changed: a pool's size is fixed.
 * </ul>
 *
 * <p>Any thread.
 *
 * @param <C> the client
 */
final class Generations<C extends SdkAutoCloseable> {
    /** Clocks that run on differ by less: NTP slews by 0.05 % at most, and steps seldom. */
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
     * @param making a client for so many requests at once; called with the first request
     * @param size of the pool
     * @param closing runs what closes a client, which may block
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

    /** A client for the time of one request. */
    final class Lease {
        private final Generation<C> generation;
        private boolean ended;

        private Lease(Generation<C> generation) {
            this.generation = generation;
        }

        C client() {
            return generation.client;
        }

        /** The response has come, or will not. Harmless when called again. */
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
            // Not earlier: the first client of a process is made slowly.
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

    /** Of the monotonic clock, the wall clock: grows by the time of each freeze. */
    private long aheadMillis() {
        return clocks.wallMillis() - TimeUnit.NANOSECONDS.toMillis(clocks.nanos());
    }

    /** @return to be closed, if there is no request on it */
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
     * Closes all clients on the calling thread, with the requests that are in flight. The next
     * request makes another.
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
