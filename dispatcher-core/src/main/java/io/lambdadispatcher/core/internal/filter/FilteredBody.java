package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.spi.BodyFilter;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One direction of a filtered request: its filter, and the bytes of which flow control must not
 * tell the sender. Confined to the client's event loop.
 */
abstract class FilteredBody {
    private @Nullable BodyFilter filter;

    /** Bytes passed on that the sender has not sent, or already has back. */
    private int surplus;

    /** Passes data on, and its ownership. */
    abstract void pass(ByteBuf data, boolean end);

    abstract void pass(Http2Headers trailers);

    /** The sender may send as many more. */
    abstract void giveBack(int bytes);

    abstract void fail(Throwable error);

    /** Returns whether nothing may be passed on any more. */
    abstract boolean isOver();

    void filter(@Nullable BodyFilter value) {
        filter = value;
    }

    /** The receiver gets bytes of which the sender must not be told. */
    void onSurplus(int bytes) {
        surplus += bytes;
    }

    /** Returns how many of the bytes that the receiver has taken are the sender's. */
    int sendersOf(int taken) {
        int own = Math.min(surplus, taken);
        surplus -= own;
        return taken - own;
    }

    private void give(int bytes) {
        int senders = sendersOf(bytes);
        if (senders > 0) {
            giveBack(senders);
        }
    }

    long heldBytes() {
        return filter == null ? 0 : filter.heldBytes();
    }

    /** Takes ownership of the data. */
    void data(ByteBuf data, boolean end) {
        BodyFilter its = filter;
        if (its == null) {
            pass(data, end);
            return;
        }
        int arrived = data.readableBytes();
        ByteBuf passed = data;
        try {
            if (arrived > 0) {
                passed = Objects.requireNonNull(its.onData(data), "what the filter returns");
            }
        } catch (Throwable e) {
            give(arrived);
            fail(e);
            return;
        }
        int bytes = passed.readableBytes();
        surplus += Math.max(0, bytes - arrived);
        ByteBuf last = null;
        if (end) {
            try {
                last = last(its);
            } catch (Throwable e) {
                passed.release();
                give(Math.max(bytes, arrived));
                fail(e);
                return;
            }
        }
        give(Math.max(0, arrived - bytes));
        if (bytes > 0 || end && last == null) {
            pass(passed, end && last == null);
        } else {
            passed.release();
        }
        passLast(last, true);
    }

    void trailers(Http2Headers trailers) {
        BodyFilter its = filter;
        if (its == null) {
            pass(trailers);
            return;
        }
        Http2Headers own = new FlatHeaders().add(trailers);
        try {
            passLast(last(its), false);
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

    private @Nullable ByteBuf last(BodyFilter its) {
        ByteBuf last = Objects.requireNonNull(its.onBodyEnd(), "what the filter returns");
        if (last.isReadable()) {
            surplus += last.readableBytes();
            return last;
        }
        last.release();
        return null;
    }

    private void passLast(@Nullable ByteBuf last, boolean end) {
        if (last != null && isOver()) {
            last.release();
        } else if (last != null) {
            pass(last, end);
        }
    }
}
