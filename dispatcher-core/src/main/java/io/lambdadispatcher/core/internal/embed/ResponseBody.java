package io.lambdadispatcher.core.internal.embed;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.Ticker;
import java.util.ArrayDeque;
import java.util.concurrent.Flow;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes a response body to one subscriber. Buffers that the subscriber has not requested yet
 * are queued, and count against the worker stream's flow-control window.
 *
 * <p><i>Threading:</i> state is confined to the exchange's event loop, which also calls the
 * subscriber. {@link #subscribe}, {@link #request}, {@link #cancel} and {@link #discard} may be
 * called on any thread. After the event loop has ended, {@link #subscribe} calls {@code onError} on
 * the calling thread, and the others have no effect.
 */
final class ResponseBody implements Flow.Publisher<ByteBuf>, Flow.Subscription {
    private static final Logger log = LoggerFactory.getLogger(ResponseBody.class);
    private static final SeldomLog failures = new SeldomLog(log, Ticker.systemTicker());

    private static final Flow.Subscription NOTHING = new Flow.Subscription() {
        @Override
        public void request(long n) {}

        @Override
        public void cancel() {}
    };

    private final EmbeddedExchange exchange;
    private final ArrayDeque<ByteBuf> waiting = new ArrayDeque<>(4);
    private Flow.@Nullable Subscriber<? super ByteBuf> subscriber;
    private boolean claimed;
    private long demand;
    private boolean ended;
    private @Nullable Throwable error;
    private boolean closed;
    private boolean delivering;

    ResponseBody(EmbeddedExchange exchange) {
        this.exchange = exchange;
    }

    @Override
    public void subscribe(Flow.Subscriber<? super ByteBuf> given) {
        if (!exchange.onLoop(() -> accept(given))) {
            refuse(given, EmbeddedExchange.exception(EmbeddedExchange.CLOSED));
        }
    }

    private void accept(Flow.Subscriber<? super ByteBuf> given) {
        if (claimed) {
            refuse(given, new IllegalStateException("the response's body was read or discarded before, expected once"));
            return;
        }
        claim();
        subscriber = given;
        EmbeddedExchange.guarded(() -> given.onSubscribe(this), thrown -> {
            report(thrown);
            cancel();
        });
        deliver();
    }

    private static void refuse(Flow.Subscriber<? super ByteBuf> given, Throwable cause) {
        tell(() -> {
            given.onSubscribe(NOTHING);
            given.onError(cause);
        });
    }

    @Override
    public void request(long n) {
        exchange.onLoop(() -> {
            if (n <= 0) {
                // The response may have ended already, although the subscriber has not taken all of
                // it.
                ended = true;
                error = new IllegalArgumentException("request(" + n + "), expected more than 0");
                deliver();
                exchange.cancel();
                return;
            }
            demand = demand + n < 0 ? Long.MAX_VALUE : demand + n;
            deliver();
        });
    }

    /** Discards the body if nobody has claimed it. May be called repeatedly. Any thread. */
    void discard() {
        exchange.onLoop(() -> {
            if (!claimed) {
                claim();
                close();
                exchange.cancel();
            }
        });
    }

    private void claim() {
        claimed = true;
        exchange.onBodyClaimed();
    }

    /**
     * Drops the queued buffers of a body that is not read in time. Its subscriber gets the error,
     * also if it comes later.
     */
    void expire(Throwable cause) {
        ended = true;
        error = cause;
        dropWaiting();
        deliver();
    }

    /** Returns whether the body has a subscriber or is discarded. */
    boolean isClaimed() {
        return claimed;
    }

    /** Returns whether bytes are queued or may still arrive. */
    boolean isWaiting() {
        return !ended || !waiting.isEmpty();
    }

    @Override
    public void cancel() {
        exchange.onLoop(() -> {
            close();
            exchange.cancel();
        });
    }

    void add(ByteBuf data) {
        if (closed || !data.isReadable()) {
            drop(data);
            return;
        }
        waiting.add(data);
        deliver();
    }

    void end(@Nullable Throwable cause) {
        if (!ended) {
            ended = true;
            error = cause;
            if (cause != null && subscriber == null) {
                // There may never be a subscriber for a failed body. If there is, it gets the
                // error.
                dropWaiting();
            }
            deliver();
        }
    }

    private void deliver() {
        Flow.Subscriber<? super ByteBuf> to = subscriber;
        if (to == null || delivering || closed) {
            return;
        }
        delivering = true;
        while (demand > 0 && !waiting.isEmpty() && !closed) {
            ByteBuf next = waiting.remove();
            int bytes = next.readableBytes();
            demand--;
            pass(next, to);
            exchange.taken(bytes);
        }
        delivering = false;
        if (ended && !closed && (waiting.isEmpty() || error != null)) {
            close();
            Throwable cause = error;
            tell(() -> {
                if (cause == null) {
                    to.onComplete();
                } else {
                    to.onError(cause);
                }
            });
        }
    }

    private static void report(Throwable thrown) {
        failures.warn("the subscriber of a response's body failed", thrown);
    }

    private static void tell(Runnable call) {
        EmbeddedExchange.guarded(call, ResponseBody::report);
    }

    /**
     * Passes one buffer to the subscriber. A subscriber must not throw. If it does, this cancels
     * the subscription (Reactive Streams 2.13) and protects other exchanges of the event loop.
     */
    private void pass(ByteBuf next, Flow.Subscriber<? super ByteBuf> to) {
        EmbeddedExchange.guarded(() -> to.onNext(next), thrown -> {
            report(thrown);
            close();
            exchange.cancel();
        });
    }

    private void close() {
        closed = true;
        dropWaiting();
    }

    private void dropWaiting() {
        for (ByteBuf data = waiting.poll(); data != null; data = waiting.poll()) {
            drop(data);
        }
    }

    private void drop(ByteBuf data) {
        int bytes = data.readableBytes();
        data.release();
        if (bytes > 0) {
            exchange.taken(bytes);
        }
    }
}
