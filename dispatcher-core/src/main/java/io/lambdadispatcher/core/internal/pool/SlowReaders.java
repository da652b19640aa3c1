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
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Cuts off responses of clients that occupy many worker streams and do not read, while requests of
 * other clients are queued. Otherwise, {@code http.write-timeout} limits slow clients, and one
 * client with a thousand requests could occupy all streams of a function during that time.
 *
 * <p>While requests are queued, the responses in flight are checked once a second. If no stream is
 * free, a client is a slow reader if it has read less than 240 bytes/s of each of its responses, on
 * average, over two checks. It loses a fifth of them, the oldest first. For the next ten seconds,
 * each of its requests holds a place in its share until the response ends, like a request whose
 * body does not end. A client is judged by all its responses together, because over a slow
 * connection a single response can stand still for seconds. Reading is counted in steps of 256 KiB,
 * so a client of 1 Mbit/s is not cut off.
 *
 * <p><b>Threading.</b> One event loop.
 */
final class SlowReaders {
    static final long LOOK_MILLIS = 1000;
    static final long SLOW_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long MIN_BYTES_IN_TWO_LOOKS = 480;

    private final FunctionPool pool;
    private final EventLoop loop;
    private final DeadlineQueue<Exchange> inFlight;
    private final DispatcherObserver observer;
    private boolean looking;

    // Bytes read until the last check and until the one before, of responses that have more to
    // read.
    private Map<Exchange, Long> taken = new IdentityHashMap<>();
    private Map<Exchange, Long> takenBefore = new IdentityHashMap<>();

    SlowReaders(FunctionPool pool, EventLoop loop, DeadlineQueue<Exchange> inFlight, DispatcherObserver observer) {
        this.pool = pool;
        this.loop = loop;
        this.inFlight = inFlight;
        this.observer = observer;
    }

    /**
     * Starts to check, because requests are queued on some event loop. Further calls have no
     * effect.
     */
    void watch() {
        if (!looking) {
            looking = true;
            setTimer();
        }
    }

    private void look() {
        if (pool.pending() == 0) {
            looking = false;
            pool.onSlowReadersUnwatched();
            taken.clear();
            takenBefore.clear();
            return;
        }
        Map<ClientShare, Untaken> clients = new HashMap<>();
        Map<Exchange, Long> now = new IdentityHashMap<>();
        inFlight.forEach(exchange -> {
            if (exchange.untakenBytes() > 0) {
                now.put(exchange, exchange.takenBytes());
                Long before = takenBefore.get(exchange);
                if (before != null) {
                    clients.computeIfAbsent(exchange.share(pool.shares), client -> new Untaken())
                            .add(exchange, exchange.takenBytes() - before);
                }
            }
        });
        takenBefore = taken;
        taken = now;
        setTimer();
        if (pool.free() <= 0) {
            clients.forEach(this::judge);
        }
    }

    private void setTimer() {
        loop.schedule(this::look, LOOK_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void judge(ClientShare client, Untaken untaken) {
        int responses = untaken.exchanges.size();
        boolean othersWait = pool.queued() > client.queued();
        if (responses <= pool.minShareOfLoop()
                || !othersWait
                || untaken.takenBytes >= MIN_BYTES_IN_TWO_LOOKS * responses
                || client.isTrusted()) {
            return;
        }
        long until = loop.ticker().nanoTime() + SLOW_NANOS;
        client.markSlow(until);
        pool.onSlowReader(until);
        int cut = (responses + 4) / 5;
        for (Exchange kept : untaken.exchanges.subList(cut, responses)) {
            // A response of another client may have ended with those that were cut off.
            if (!kept.holds() && inFlight.contains(kept)) {
                kept.hold(client, Integer.MAX_VALUE);
            }
        }
        for (Exchange longest : untaken.exchanges.subList(0, cut)) {
            observer.onProtection(Protection.RESPONSE_TOO_SLOW);
            longest.fail(new Failure(
                    Failure.Kind.OVERLOADED,
                    "the client does not read its responses, and requests of other clients are queued"));
        }
    }

    /** The unread responses of one client, the oldest first. */
    private static final class Untaken {
        final List<Exchange> exchanges = new ArrayList<>();
        long takenBytes;

        void add(Exchange exchange, long bytes) {
            exchanges.add(exchange);
            takenBytes += bytes;
        }
    }
}
