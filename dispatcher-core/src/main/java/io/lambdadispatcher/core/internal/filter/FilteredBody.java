package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.spi.BodyFilter;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * One direction of a filtered request: its filter, and the bytes that flow control owes the sender.
 * Confined to the client's event loop.
 */
abstract class FilteredBody {
    private final BodyLedger ledger = new BodyLedger();
    private @Nullable BodyFilter filter;

    /** Bytes that have not been filtered yet, and that the sender already has back. */
    private int returned;

    /** What later turns of the event loop pass on; {@code null} = nothing. */
    private @Nullable ByteBuf rest;

    /** Passes data on, and its ownership. */
    abstract void pass(ByteBuf data, boolean end);

    abstract void pass(Http2Headers trailers);

    /** The sender may send as many more. */
    abstract void giveBack(int bytes);

    abstract void fail(Throwable error);

    /** Returns whether nothing may be passed on any more. */
    abstract boolean isOver();

    abstract Executor loop();

    /** A body that took several turns has been passed on. */
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
        return ledger.onTaken(taken);
    }

    private void giveIdle() {
        int idle = ledger.takeIdle();
        if (idle > 0) {
            giveBack(idle);
        }
    }

    long heldBytes() {
        return (filter == null ? 0 : filter.heldBytes()) + (rest == null ? 0 : rest.readableBytes());
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
        BodyFilter its = filter;
        if (end && its != null && data.readableBytes() > its.turnBytes()) {
            rest = data;
            nextTurn();
        } else {
            part(data, end);
        }
    }

    private void nextTurn() {
        ByteBuf all = rest;
        if (all == null) {
            return;
        }
        BodyFilter its = filter;
        if (its == null || all.readableBytes() <= its.turnBytes()) {
            rest = null;
            part(all, true);
            onLastTurn();
            return;
        }
        part(all.readRetainedSlice(its.turnBytes()), false);
        if (rest != null) {
            try {
                loop().execute(this::nextTurn);
            } catch (RejectedExecutionException e) {
                fail(e); // The embedding program has ended the event loop.
            }
        }
    }

    private void part(ByteBuf data, boolean end) {
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
        ByteBuf last;
        try {
            passed = arrived > 0 ? Objects.requireNonNull(its.onData(data), "what the filter returns") : data;
            last = end ? last(its) : null;
        } catch (Throwable e) {
            if (passed != null) {
                passed.release();
            }
            giveIdle();
            fail(e);
            return;
        }
        if (passed.isReadable() || end && last == null) {
            send(passed, end && last == null);
        } else {
            passed.release();
        }
        sendLast(last, true);
        giveIdle();
    }

    void trailers(Http2Headers trailers) {
        BodyFilter its = filter;
        if (its == null) {
            pass(trailers);
            return;
        }
        Http2Headers own = new FlatHeaders().add(trailers);
        try {
            sendLast(last(its), false);
            if (isOver()) {
                return;
            }
            its.onTrailers(new NettyFields(() -> own, () -> own));
        } catch (Throwable e) {
            fail(e);
            return;
        }
        pass(own);
    }

    private static @Nullable ByteBuf last(BodyFilter its) {
        ByteBuf last = Objects.requireNonNull(its.onBodyEnd(), "what the filter returns");
        if (last.isReadable()) {
            return last;
        }
        last.release();
        return null;
    }

    private void sendLast(@Nullable ByteBuf last, boolean end) {
        if (last != null && isOver()) {
            last.release();
        } else if (last != null) {
            send(last, end);
        }
    }

    private void send(ByteBuf data, boolean end) {
        ledger.onSent(data.readableBytes());
        pass(data, end);
    }
}
