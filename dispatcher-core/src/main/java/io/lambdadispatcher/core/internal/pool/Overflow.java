package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Tells the shard which of its waiting requests have waited so long that they may go another way
 * than to a worker. A ticket outlives its request's wait by no more than the time it runs. Confined
 * to the shard's event loop.
 */
final class Overflow {
    /**
     * What an exchange holds until it is carried stays charged to the client's window; more than
     * this would seldom be whole.
     */
    static final int MAX_BODY_BYTES = 64 * 1024;

    private final EventLoop loop;
    private final Supplier<@Nullable Carrier> way;
    private final DeadlineQueue<Ticket> tickets;

    private static final class Ticket extends DeadlineQueue.Entry {
        final Exchange exchange;

        Ticket(Exchange exchange) {
            this.exchange = exchange;
        }
    }

    /**
     * @param way gives a new carrier, or {@code null} if it is full as well
     * @param onDue is given an exchange that has waited for {@code after}, whether or not it still
     *     waits
     */
    Overflow(EventLoop loop, Duration after, Supplier<@Nullable Carrier> way, Consumer<Exchange> onDue) {
        this.loop = loop;
        this.way = way;
        this.tickets = new DeadlineQueue<>(loop, after.toNanos(), ticket -> onDue.accept(ticket.exchange));
    }

    void onWaiting(Exchange exchange) {
        if (exchange.isIdempotent()) {
            tickets.add(new Ticket(exchange), loop.ticker().nanoTime());
        }
    }

    /** @return {@code null}: it must go on waiting */
    @Nullable
    Carrier carrierFor(Exchange exchange) {
        return exchange.isHeldWhole(MAX_BODY_BYTES) ? way.get() : null;
    }
}
