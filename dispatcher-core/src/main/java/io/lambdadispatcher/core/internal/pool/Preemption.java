package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.ClientShare;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Protection;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Takes worker streams back from clients that hold up more than {@link FunctionPool#share their
 * share}, while requests of other clients are queued. A client holds up a stream if it does not
 * send the rest of its request, or does not take what has arrived of its response. It makes no
 * difference how fast it is: what counts is who waits for whom.
 *
 * <p>While requests are queued, the exchanges in flight are observed ten times a second. One is
 * held up if it was found waiting for its client more often than for its worker, by 2 s or a
 * quarter of the queue timeout if that is less. It then holds a place in its client's share. If no
 * stream is free, and requests of others are queued, the client loses its oldest held-up exchanges
 * until it has no more places than its share.
 *
 * <p>For the next ten seconds, and while the client has more places than its share, all its
 * requests hold a place until they end, and one observation suffices. Otherwise, each new request
 * of the client would keep others waiting for two seconds.
 *
 * <p><i>Threading:</i> one event loop. Clients' places are counted over all event loops.
 */
final class Preemption {
    /** Not 100, so that observations do not coincide with what functions do ten times a second. */
    static final long LOOK_MILLIS = 97;

    static final long MEMORY_NANOS = TimeUnit.SECONDS.toNanos(10);
    static final int MAX_LOOKS = 20;

    private final FunctionPool pool;
    private final EventLoop loop;
    private final DeadlineQueue<Exchange> inFlight;
    private final DeadlineQueue<Exchange> tunnels;
    private final DispatcherObserver observer;
    private boolean started;

    /** Those who hold up exchanges, with these, oldest first. Empty between two observations. */
    private final Map<ClientShare, List<Exchange>> found = new HashMap<>();

    Preemption(
            FunctionPool pool,
            EventLoop loop,
            DeadlineQueue<Exchange> inFlight,
            DeadlineQueue<Exchange> tunnels,
            DispatcherObserver observer) {
        this.pool = pool;
        this.loop = loop;
        this.inFlight = inFlight;
        this.tunnels = tunnels;
        this.observer = observer;
    }

    /** Starts to observe, because requests are queued on some loop. Has no effect if started. */
    void start() {
        if (!started) {
            started = true;
            setTimer();
        }
    }

    private void setTimer() {
        loop.schedule(this::look, LOOK_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void look() {
        if (pool.pending() == 0) {
            started = false;
            pool.onUnobserved();
            // A request that was queued just now may have found all loops observing.
            if (pool.pending() > 0) {
                start();
            }
            return;
        }
        setTimer();
        long now = loop.ticker().nanoTime();
        int enough = enoughLooks();
        inFlight.forEach(exchange -> observe(exchange, enough, now));
        tunnels.forEach(exchange -> observe(exchange, enough, now));
        try {
            if (pool.free() <= 0) {
                found.forEach((client, heldUp) -> preempt(client, heldUp, now));
            }
        } finally {
            found.clear();
        }
    }

    /** Returns how many observations are a quarter of the queue timeout. */
    private int enoughLooks() {
        long looks = pool.options().queueTimeout().toMillis() / (4 * LOOK_MILLIS);
        return (int) Math.max(1, Math.min(MAX_LOOKS, looks));
    }

    private void observe(Exchange exchange, int enough, long now) {
        int looks = exchange.place().observe(enough);
        if (looks == enough || looks > 0 && pool.hasPreempted(now)) {
            ClientShare client = exchange.place().share(pool.shares);
            if (looks == enough || client.isPreempted(now)) {
                exchange.place().holdAlways(client);
                found.computeIfAbsent(client, its -> new ArrayList<>()).add(exchange);
            }
        }
    }

    private void preempt(ClientShare client, List<Exchange> heldUp, long now) {
        // No others wait if all queued requests are the client's own.
        if (pool.queued() <= client.queued()) {
            return;
        }
        boolean first = true;
        for (Exchange exchange : heldUp) {
            // When another one failed, it may have ended, and may serve another request.
            if (!exchange.place().wasHeldUp() || !exchange.place().releaseAbove(pool.share())) {
                continue;
            }
            if (first) {
                first = false;
                remember(client, now);
            }
            observer.onProtection(Protection.SHARE_EXCEEDED);
            exchange.fail(new Failure(
                    Failure.Kind.OVERLOADED,
                    "the client does not send its request, or does not read its response, and requests of other"
                            + " clients are queued"));
        }
    }

    private void remember(ClientShare client, long now) {
        pool.onPreempted(client, now + MEMORY_NANOS);
        pool.standing.begin(now);
        pool.shares.keep(client);
        loop.schedule(() -> pool.shares.release(client), MEMORY_NANOS, TimeUnit.NANOSECONDS);
    }
}
