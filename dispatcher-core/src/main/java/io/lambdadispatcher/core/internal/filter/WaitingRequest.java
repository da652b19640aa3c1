package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.exchange.UnsentExchange;
import io.lambdadispatcher.core.internal.policy.CacheRequest;
import io.lambdadispatcher.core.internal.policy.DeadlineHeaders;
import io.lambdadispatcher.core.internal.policy.DeadlineRule;
import io.lambdadispatcher.core.internal.policy.StoredResponse;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A request that waits for the response to an identical one. It is answered with it, or sent to the
 * function if the response is not for others, or is late. Confined to the client's event loop,
 * except {@link #resumeSoon}.
 */
final class WaitingRequest implements RequestSink {
    private enum State {
        WAITING,
        /** The request is answered, or the function has it. */
        SENT,
        /** Failed or cancelled. */
        ENDED
    }

    /** A response that takes longer is probably a stream, or never comes. */
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);

    /**
     * Minimum time between two looks at the breaker. Many requests can wait, each with its timer.
     */
    private static final long MIN_CHECK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** Memory of this object and its headers, as an estimate. */
    private static final int HELD_BYTES = 2048;

    private final CacheFilter filter;
    private final CacheRequest request;
    private final ResponseSink client;
    private final TrafficPolicy policy;
    private final long startNanos;
    private final long budgetNanos;

    private State state = State.WAITING;
    private @Nullable Future<?> timer;
    private @Nullable RequestSink sent;

    WaitingRequest(CacheFilter filter, CacheRequest request, ResponseSink client, TrafficPolicy policy) {
        this.filter = filter;
        this.request = request;
        this.client = client;
        this.policy = policy;
        startNanos = filter.store().nanoTime();
        budgetNanos =
                policy.isTimed() ? DeadlineHeaders.budgetNanos(policy.deadline(), request.head()) : Long.MAX_VALUE;
    }

    void startTimer() {
        long wait = Math.max(0, leftNanos());
        long latency = policy.breaker().latency().toNanos();
        if (latency > 0) {
            wait = Math.min(wait, Math.max(latency, MIN_CHECK_NANOS));
        }
        timer = filter.loop().schedule(this::onTimer, wait, TimeUnit.NANOSECONDS);
    }

    private long leftNanos() {
        return Math.min(MAX_WAIT_NANOS, budgetNanos) - waitedNanos();
    }

    private long waitedNanos() {
        return filter.store().nanoTime() - startNanos;
    }

    private void onTimer() {
        timer = null;
        if (state != State.WAITING) {
            return;
        }
        if (leftNanos() <= 0 || filter.isOpen(policy)) {
            send();
        } else {
            startTimer();
        }
    }

    /** Continues on the client's event loop. Any thread. */
    void resumeSoon(@Nullable StoredResponse response, boolean error) {
        try {
            filter.loop().execute(() -> resume(response, error));
        } catch (RejectedExecutionException e) {
            // The event loop has ended, and its clients with it.
        }
    }

    private void resume(@Nullable StoredResponse response, boolean error) {
        if (state != State.WAITING) {
            return;
        }
        cancelTimer();
        state = State.SENT;
        if (response == null
                || !filter.answerCollapsed(response, error, request, client, this::hasLeft, waitedNanos())) {
            send();
        }
    }

    private boolean hasLeft() {
        return state == State.ENDED;
    }

    private void send() {
        long waited = waitedNanos();
        if (waited >= budgetNanos) {
            failLate(waited);
            return;
        }
        state = State.SENT;
        TrafficPolicy rest = policy;
        if (budgetNanos != Long.MAX_VALUE) {
            DeadlineHeaders.writeLeft(policy.deadline(), request.head(), budgetNanos - waited);
            rest = withRest(waited);
        }
        RequestSink opened = filter.sendAlone(request, client, this::hasLeft, rest, waited);
        sent = opened;
        if (hasLeft()) {
            // When it got the response's headers.
            opened.cancel(ErrorCode.CANCELLED);
        }
    }

    private void failLate(long waitedNanos) {
        state = State.ENDED;
        Failure failure = new Failure(
                Failure.Kind.DEADLINE_EXCEEDED,
                "no response to an identical request within the deadline of "
                        + TimeUnit.NANOSECONDS.toMillis(budgetNanos) + " ms");
        new UnsentExchange(filter.function(), request.head(), client)
                .reportFailed(filter.observer(), failure, waitedNanos);
        client.onFailure(failure);
    }

    /** The wait counts, so the function has less time. */
    private TrafficPolicy withRest(long waitedNanos) {
        DeadlinePolicy rest = DeadlineRule.rest(policy.deadline(), policy.deadline(), waitedNanos);
        return policy.toBuilder().deadline(rest).build();
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        data.release();
    }

    @Override
    public void trailers(Http2Headers trailers) {}

    @Override
    public void cancel(ErrorCode code) {
        cancelTimer();
        State before = state;
        state = State.ENDED;
        if (before == State.WAITING) {
            new UnsentExchange(filter.function(), request.head(), client)
                    .reportCancelled(filter.observer(), waitedNanos());
        } else if (before == State.SENT && sent != null) {
            sent.cancel(code);
        }
    }

    @Override
    public void responseTaken(int bytes) {
        if (sent != null) {
            sent.responseTaken(bytes);
        }
    }

    @Override
    public long heldBytes() {
        return sent == null ? HELD_BYTES : sent.heldBytes();
    }
}
