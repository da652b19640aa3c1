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
 * Finds the queued requests that have waited long enough to be sent directly instead of to a
 * worker. A ticket stays here for at most the configured time after its request stopped waiting.
 * Confined to the shard's event loop.
 */
final class Overflow {
    /** A queued body counts in the client's window. A larger body would seldom be complete. */
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
     * @param way returns a new carrier, or {@code null} if no more direct requests are allowed
     * @param onDue receives each exchange that has waited for {@code after}, even if it no longer
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

    /** @return {@code null} if the exchange must keep waiting */
    @Nullable
    Carrier carrierFor(Exchange exchange) {
        return exchange.isHeldWhole(MAX_BODY_BYTES) ? way.get() : null;
    }
}
