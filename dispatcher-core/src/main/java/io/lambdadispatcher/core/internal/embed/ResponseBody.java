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
 * A response body for one subscriber. Bytes that it has not requested wait here and count in the
 * worker's window. All state is confined to the exchange's event loop, on which the subscriber is
 * called.
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
        exchange.onLoop(() -> {
            if (claimed) {
                tell(() -> {
                    given.onSubscribe(NOTHING);
                    given.onError(new IllegalStateException(
                            "the response's body was read or discarded before, expected once"));
                });
                return;
            }
            claim();
            subscriber = given;
            EmbeddedExchange.guarded(() -> given.onSubscribe(this), thrown -> {
                report(thrown);
                cancel();
            });
            deliver();
        });
    }

    @Override
    public void request(long n) {
        exchange.onLoop(() -> {
            if (n <= 0) {
                // The response may have ended, and only the subscriber has not taken all of it.
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

    /** Discards the body. Further calls have no effect. Any thread. */
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
     * Drops the waiting bytes, because nobody has started to read in time. A later subscriber gets
     * the error.
     */
    void expire(Throwable cause) {
        ended = true;
        error = cause;
        dropWaiting();
    }

    /** Returns whether somebody reads or has discarded the body. */
    boolean isClaimed() {
        return claimed;
    }

    /** Returns whether bytes wait for a reader, or can still arrive. */
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
                // A later subscriber gets only the error. The bytes of a failed body must not wait
                // for a subscriber that may never come.
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
     * A subscriber must not throw. If it does, it has cancelled (Reactive Streams 2.13), and other
     * requests on this event loop are not affected.
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
