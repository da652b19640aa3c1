package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.Try;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.internal.policy.ClientSession;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the worker stream of a request and gives the request to it: a stream of the worker that
 * its session chooses, or else, for a tunnel or a long response, one of a worker that is not
 * replaced soon, or else one of a base worker below its target, on any loop, if there are
 * launched workers, too, or else a free one of its own event loop, or else one of another loop, to
 * which it crosses over. Workers of earlier attempts come last, and a further attempt does not
 * prefer base workers of other loops. A tunnel that the handler in process does not serve gets a
 * stream of the least busy other worker. Confined to the requests' event loop. It takes permits of
 * other loops and leaves the choice of the stream to them.
 */
final class Placement {
    private static final Failure NO_STREAM =
            new Failure(Failure.Kind.WORKER_LOST, "the worker stream was taken by another request");

    private final FunctionPool pool;
    private final PoolShard home;
    private final FreeStreams free;
    private final WakeUps wakeUps;
    private final DeadlineQueue<Exchange> inFlight;
    private final Consumer<Exchange> onNoRoom;

    /**
     * @param home the shard of the requests
     * @param inFlight receives the exchanges that have a worker stream
     * @param onNoRoom receives an exchange that has found no stream on another event loop
     */
    Placement(
            PoolShard home,
            FreeStreams free,
            WakeUps wakeUps,
            DeadlineQueue<Exchange> inFlight,
            Consumer<Exchange> onNoRoom) {
        this.pool = home.pool();
        this.home = home;
        this.free = free;
        this.wakeUps = wakeUps;
        this.inFlight = inFlight;
        this.onNoRoom = onNoRoom;
    }

    /**
     * Gives the exchange to a worker stream, or sends it to another event loop.
     *
     * @return false if there is no permit, so that the exchange must wait
     */
    boolean dispatch(Exchange exchange) {
        List<String> tried = exchange.attempts().tried();
        ClientSession session = exchange.place().session();
        boolean stays = pool.openWorkers.isAnyLeaving() && exchange.lastsLong();
        PooledConnection wanted = session == null ? null : session.choose(candidates(session, tried, stays), tried);
        if (wanted == null && stays) {
            wanted = pool.openWorkers.leastBusyStaying(tried, exchange.asksForTunnel(), home.nanoTime());
        }
        boolean notInProcess = pool.isForOtherWorkers(exchange);
        if (wanted == null && notInProcess) {
            wanted = pool.openWorkers.leastBusyNotInProcess(tried, home.nanoTime());
        }
        if (wanted != null || notInProcess) {
            return wanted != null && dispatchTo(wanted, exchange);
        }
        if (!tried.isEmpty()) {
            return dispatchToAnother(exchange, tried, 0);
        }
        if (free.isBaseFirst() && dispatchToBase(exchange)) {
            return true;
        }
        // If all workers of this loop are in doubt, those of other loops come first.
        return free.areAllDoubted() && crossOver(exchange, 0, List.of()) || dispatchToAny(exchange);
    }

    /** @param stays whether the exchange should not begin on a worker that leaves soon */
    private PooledConnection[] candidates(ClientSession session, List<String> tried, boolean stays) {
        PooledConnection[] all = pool.openWorkers.all();
        return stays && !session.isBound(all, tried) ? pool.openWorkers.staying() : all;
    }

    /**
     * Sends the exchange to this worker connection, on any loop.
     *
     * @return false if another event loop has taken the last permit just now
     */
    private boolean dispatchTo(PooledConnection wanted, Exchange exchange) {
        PoolShard its = wanted.shard;
        if (its == null || !its.free.tryAcquire()) {
            return false;
        }
        if (its != home) {
            // The worker is on any loop, so the other loops were not tried.
            crossOver(exchange, its, streams -> streams.takeOf(wanted), 0);
            return true;
        }
        Carrier stream = free.takeOf(wanted);
        if (stream == null) {
            wakeUps.onPermitUnused();
            return false;
        }
        carry(exchange, stream);
        return true;
    }

    /**
     * Sends the exchange to a base worker below its target, on any loop. A tunnel also goes to a
     * base worker above it, because a tunnel may last longer than launched workers are needed.
     *
     * @return false if there is none
     */
    private boolean dispatchToBase(Exchange exchange) {
        if (free.tryAcquireBase()) {
            Carrier stream = free.takeBase();
            if (stream != null) {
                carry(exchange, stream);
                return true;
            }
            wakeUps.onPermitUnused();
        }
        for (PoolShard other : pool.shards()) {
            if (other != home && other.free.tryAcquireBase()) {
                crossOver(exchange, other, FreeStreams::takeBase, 0);
                return true;
            }
        }
        PooledConnection base = exchange.asksForTunnel() ? pool.openWorkers.leastBusyBase() : null;
        return base != null && dispatchTo(base, exchange);
    }

    private boolean dispatchToAny(Exchange exchange) {
        if (free.tryAcquire()) {
            Carrier stream = free.take(List.of());
            if (stream != null) {
                carry(exchange, stream);
                return true;
            }
            wakeUps.onPermitUnused();
        }
        return crossOver(exchange, 0, List.of());
    }

    /**
     * Sends the exchange to a worker that is not among {@code tried} if any has room, on any loop.
     * Only the other loop knows its workers. So an exchange may find none after it crossed over,
     * comes back and tries the next loop.
     *
     * @param from index of the first shard to try
     */
    private boolean dispatchToAnother(Exchange exchange, List<String> tried, int from) {
        Carrier stream = from == 0 ? tryTakeExcept(tried) : null;
        if (stream != null) {
            carry(exchange, stream);
            return true;
        }
        if (crossOver(exchange, from, tried)) {
            return true;
        }
        // Avoid the worker only once: otherwise, two exchanges that avoid the same worker could
        // take permits from each other and look for another worker forever.
        exchange.attempts().avoidNoWorker();
        return dispatchToAny(exchange);
    }

    /** Takes a stream of this loop from a worker that is not among {@code tried}, if any. */
    private @Nullable Carrier tryTakeExcept(List<String> tried) {
        if (!free.hasExcept(tried) || !free.tryAcquire()) {
            return null;
        }
        Carrier stream = free.take(tried);
        if (stream == null) {
            wakeUps.onPermitUnused();
        }
        return stream;
    }

    private boolean crossOver(Exchange exchange, int from, List<String> avoided) {
        PoolShard other = tryAcquireElsewhere(from);
        if (other == null) {
            return false;
        }
        crossOver(
                exchange, other, streams -> streams.take(avoided), pool.shards().indexOf(other) + 1);
        return true;
    }

    /**
     * @param use takes the stream on the other loop
     * @param next index of the shard that a further attempt tries first if there is no such stream
     */
    private void crossOver(Exchange exchange, PoolShard other, Function<FreeStreams, @Nullable Carrier> use, int next) {
        Try nextTry = exchange.attempts().upcoming();
        carry(exchange, new Crossing(nextTry, home, other, use, () -> onStranded(exchange, next)));
    }

    /**
     * Takes a permit of another shard.
     *
     * @param from index of the first shard to try
     */
    private @Nullable PoolShard tryAcquireElsewhere(int from) {
        List<PoolShard> shards = pool.shards();
        for (int i = from; i < shards.size(); i++) {
            PoolShard other = shards.get(i);
            if (other != home && other.free.tryAcquire()) {
                return other;
            }
        }
        return null;
    }

    /**
     * Dispatches the exchange again, because its permit of another event loop found no stream, or
     * only streams of the avoided workers.
     *
     * @param next index of the first shard to try
     */
    private void onStranded(Exchange exchange, int next) {
        assert home.loop().inEventLoop();
        if (!exchange.onStranded()) {
            return;
        }
        inFlight.remove(exchange);
        List<String> tried = exchange.attempts().tried();
        boolean other = !tried.isEmpty() && !pool.isForOtherWorkers(exchange);
        if (!other || !dispatchToAnother(exchange, tried, next)) {
            onNoRoom.accept(exchange);
        }
    }

    /** Gives the exchange to a worker stream, or to another carrier. */
    void carry(Exchange exchange, Carrier carrier) {
        inFlight.add(exchange, exchange.onCarrierFound(carrier));
        exchange.carryOn(carrier);
    }

    /**
     * Takes a worker stream, of any event loop, for a try beside others.
     *
     * @param tried the workers whose streams must not be taken
     * @return {@code null} if none is free
     */
    @Nullable
    Carrier carrierFor(Try next, List<String> tried) {
        Carrier stream = tryTakeExcept(tried);
        if (stream != null) {
            return stream;
        }
        PoolShard other = tryAcquireElsewhere(0);
        return other == null
                ? null
                : new Crossing(next, home, other, streams -> streams.take(tried), () -> next.onBusy(NO_STREAM));
    }
}
