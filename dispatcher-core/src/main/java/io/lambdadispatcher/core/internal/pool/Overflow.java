package io.lambdadispatcher.core.internal.pool;

import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.netty.channel.EventLoop;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reports queued requests that have waited long enough to be sent another way than to a worker. A
 * ticket stays until its time ends, even if its request no longer waits. Confined to the shard's
 * event loop.
 */
final class Overflow {
    /**
     * The largest request body that may overflow, in bytes. The client's flow-control window limits
     * what a queued exchange can hold, so a larger body would seldom be complete.
     */
    static final int MAX_BODY_BYTES = 64 * 1024;

    private final EventLoop loop;
    private final Supplier<@Nullable Carrier> way;
    private final DeadlineQueue<Ticket> tickets;
    private final Set<Exchange> ticketed = new HashSet<>();

    private static final class Ticket extends DeadlineQueue.Entry {
        final Exchange exchange;

        Ticket(Exchange exchange) {
            this.exchange = exchange;
        }
    }

    /**
     * @param way returns a new carrier, or {@code null} if there is no capacity
     * @param onDue receives an exchange {@code after} it began to wait, even if it no longer waits
     */
    Overflow(EventLoop loop, Duration after, Supplier<@Nullable Carrier> way, Consumer<Exchange> onDue) {
        this.loop = loop;
        this.way = way;
        this.tickets = new DeadlineQueue<>(loop, after.toNanos(), ticket -> {
            ticketed.remove(ticket.exchange);
            onDue.accept(ticket.exchange);
        });
    }

    /** Also called for an exchange that has a ticket, because it waited before. */
    void onWaiting(Exchange exchange) {
        if (exchange.isIdempotent() && ticketed.add(exchange)) {
            tickets.add(new Ticket(exchange), loop.ticker().nanoTime());
        }
    }

    /** @return the carrier for the exchange; {@code null} = the exchange must continue to wait */
    @Nullable
    Carrier carrierFor(Exchange exchange) {
        return exchange.isHeldWhole(MAX_BODY_BYTES) ? way.get() : null;
    }
}
