package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.spi.BodyFilter;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * One direction of a filtered request: its filter, and the bytes that flow control owes the sender.
 * Confined to the client's event loop.
 */
abstract class FilteredBody {
    private static final String RETURNED = "what the filter returns";

    private final FilteredRequest owner;
    final BodyLedger ledger = new BodyLedger();
    private @Nullable BodyFilter filter;

    /** Bytes that have not been filtered yet, and that the sender already has back. */
    private int returned;

    /** Whether the sender waits for the receiver. */
    private boolean paced = true;

    /** What later turns of the event loop pass on; {@code null} = nothing. */
    private @Nullable ByteBuf rest;

    /** Whether the rest waits until the receiver has taken something. */
    private boolean restWaits;

    /** Whether the receiver says what it has taken until the body has ended. */
    private final boolean toClient;

    FilteredBody(FilteredRequest owner, boolean toClient) {
        this.owner = owner;
        this.toClient = toClient;
    }

    /** Passes data on, and its ownership. */
    abstract void pass(ByteBuf data, boolean end);

    abstract void pass(Http2Headers trailers);

    /** The sender may send as many more. */
    abstract void giveBack(int bytes);

    /** A body whose last part took one or more turns has been passed on. */
    void onLastTurn() {}

    void filter(@Nullable BodyFilter value) {
        filter = value;
    }

    /** The sender has bytes back that are yet to be filtered. */
    void onReturned(int bytes) {
        returned += bytes;
    }

    /** The receiver gets bytes that the sender has not sent. */
    void onAdded(int bytes) {
        ledger.onSent(bytes);
    }

    /** Returns how many of the sender's bytes return to it when the receiver has taken these. */
    int sendersOf(int taken) {
        int senders = ledger.onTaken(taken);
        if (restWaits && !ledger.isAhead()) {
            restWaits = false;
            continueLater();
        }
        return senders;
    }

    private void giveIdle() {
        int idle = paced ? ledger.takeIdle() : ledger.takeAll();
        if (idle > 0) {
            giveBack(idle);
        }
    }

    long heldBytes() {
        long its = 0;
        try {
            its = filter == null ? 0 : Math.max(0, filter.heldBytes());
        } catch (Throwable e) {
            owner.stage.warn(e); // All clients of the event loop are measured in one turn.
        }
        return its + (rest == null ? 0 : rest.readableBytes());
    }

    /** Returns whether a part of the body waits for later turns. */
    boolean hasRest() {
        return rest != null;
    }

    /** Nobody wants the rest of the body. */
    void drop() {
        ByteBuf dropped = rest;
        if (dropped != null) {
            rest = null;
            giveBack(dropped.readableBytes());
            dropped.release();
        }
        giveIdle();
    }

    /** Takes ownership of the data. */
    void data(ByteBuf data, boolean end) {
        if (end && filter != null && data.isReadable()) {
            rest = data;
            nextTurn();
        } else {
            part(data, end, end);
        }
    }

    private void nextTurn() {
        ByteBuf all = rest;
        if (all == null) {
            return;
        }
        int bytes;
        try {
            bytes = turnBytes(filter);
        } catch (Throwable e) {
            owner.failPassed(e); // It drops the rest.
            return;
        }
        if (all.readableBytes() <= bytes) {
            rest = null;
            part(all, true, true);
            onLastTurn();
            return;
        }
        part(all.readRetainedSlice(bytes), false, true);
        // A stored body arrives at once, however slow the client is. Embedders can wait forever.
        restWaits = toClient && ledger.isAhead() && owner.requester().protocol() != ClientProtocol.EMBEDDED;
        if (rest != null && !restWaits) {
            continueLater();
        }
    }

    private void continueLater() {
        try {
            owner.stage.loop().execute(this::nextTurn);
        } catch (RejectedExecutionException e) {
            owner.failPassed(e); // The embedding program has ended the event loop.
        }
    }

    private static int turnBytes(@Nullable BodyFilter its) {
        int bytes = its == null ? Integer.MAX_VALUE : its.turnBytes();
        if (bytes < 1) {
            throw new IllegalStateException("turnBytes() returns " + bytes + ", expected 1 or more");
        }
        return bytes;
    }

    /** @param last whether all of the rest of the body has arrived */
    private void part(ByteBuf data, boolean end, boolean last) {
        int arrived = data.readableBytes();
        int early = Math.min(returned, arrived);
        returned -= early;
        ledger.onReceived(arrived - early);
        BodyFilter its = filter;
        if (its == null) {
            send(data, end);
            return;
        }
        ByteBuf passed = null;
        try {
            passed = arrived > 0 ? Objects.requireNonNull(its.onData(data, last), RETURNED) : data;
            if (end) {
                passed = joined(passed, Objects.requireNonNull(its.onBodyEnd(), RETURNED));
            }
            paced = its.isPaced();
        } catch (Throwable e) {
            if (passed != null) {
                passed.release();
            }
            giveIdle();
            owner.failPassed(e);
            return;
        }
        if (passed.isReadable() || end) {
            send(passed, end);
        } else {
            passed.release();
        }
        giveIdle();
    }

    private static ByteBuf joined(ByteBuf first, ByteBuf second) {
        if (!second.isReadable()) {
            second.release();
            return first;
        }
        if (!first.isReadable()) {
            first.release();
            return second;
        }
        return Unpooled.wrappedBuffer(first, second);
    }

    void trailers(Http2Headers trailers) {
        BodyFilter its = filter;
        if (its == null) {
            pass(trailers);
            return;
        }
        Http2Headers own = new FlatHeaders().add(trailers);
        try {
            ByteBuf last = Objects.requireNonNull(its.onBodyEnd(), RETURNED);
            if (!last.isReadable() || owner.isOver()) {
                last.release();
            } else {
                send(last, false);
            }
            if (owner.isOver()) {
                return;
            }
            its.onTrailers(new NettyFields(() -> own, () -> own));
        } catch (Throwable e) {
            owner.failPassed(e);
            return;
        }
        pass(own);
    }

    private void send(ByteBuf data, boolean end) {
        ledger.onSent(data.readableBytes());
        pass(data, end);
    }
}
