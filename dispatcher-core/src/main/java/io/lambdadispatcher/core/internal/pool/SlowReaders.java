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
 * Takes worker streams back from clients that do not read their responses while other clients'
 * requests are queued. {@code http.write-timeout} ends such responses too late: until then, one
 * client with a thousand requests could occupy all streams of a function.
 *
 * <p>While requests are queued, the responses in flight are checked once a second. If no stream is
 * free, a client is judged by the bytes that it took of its responses in two seconds. If the mean
 * per response is below 240 bytes/s, the client loses the oldest fifth of its responses. For the
 * next ten seconds it is a slow reader: each of its requests counts against its share until the
 * response ends.
 *
 * <p>A client is judged by all its responses together, because over a slow connection one of many
 * may pause for seconds. Bytes are counted in units of up to 256 KiB, so a client of 1 Mbit/s is
 * not cut off.
 *
 * <p><i>Threading:</i> one event loop.
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

    // Bytes taken at the last check and at the check before, of responses with untaken bytes.
    private Map<Exchange, Long> taken = new IdentityHashMap<>();
    private Map<Exchange, Long> takenBefore = new IdentityHashMap<>();

    SlowReaders(FunctionPool pool, EventLoop loop, DeadlineQueue<Exchange> inFlight, DispatcherObserver observer) {
        this.pool = pool;
        this.loop = loop;
        this.inFlight = inFlight;
        this.observer = observer;
    }

    /**
     * Starts the checks, because requests are queued on some loop. Does nothing if already started.
     */
    void watch() {
        if (!looking) {
            looking = true;
            setTimer();
        }
    }

    /** The exchange has ended. Its object may be reused for another request. */
    void forget(Exchange ended) {
        if (looking) {
            taken.remove(ended);
            takenBefore.remove(ended);
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
            // Responses of this client may have ended when another client's were cut off.
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

    /** The responses that one client has yet to take, oldest first. */
    private static final class Untaken {
        final List<Exchange> exchanges = new ArrayList<>();
        long takenBytes;

        void add(Exchange exchange, long bytes) {
            exchanges.add(exchange);
            takenBytes += bytes;
        }
    }
}
