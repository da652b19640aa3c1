package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.policy.DeadlineHeaders;
import io.lambdadispatcher.core.internal.policy.DeadlineRule;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.FallbackPolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.Grpc;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.http.TextAnswer;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.concurrent.Ticker;
import org.jspecify.annotations.Nullable;

/**
 * A request whose response may come from elsewhere. It is the response sink of the function until
 * the response begins or another one replaces it.
 *
 * <p><i>Buffers:</i> passes all on, and releases those of a response that is replaced, and of a
 * request that has a fixed response. Confined to the client's event loop.
 */
final class FallbackExchange implements RequestSink, ForwardingSink {

    private enum State {
        /** The function has not responded. */
        PENDING,
        /** The client has the headers of the function's response. */
        PASSING,
        /** The other function has the request. What the first one still sends is dropped. */
        REPLACED,
        /** The client has the fixed response. */
        FIXED,
        /** The client has cancelled the request. */
        CANCELLED
    }

    private final Ticker ticker;
    private final @Nullable FunctionOpener other;
    private final Http2Headers head;
    private final boolean bodyless;
    private final ResponseSink response;
    private final TrafficPolicy policy;
    private final long budgetNanos;
    private final long startNanos;

    private State state = State.PENDING;

    private boolean requestEnded;

    /** Whether the first function may have a part of the body, which nobody keeps. */
    private boolean bodyBegun;

    private @Nullable RequestSink first;
    private @Nullable RequestSink second;

    /** Whether the function will not get the rest of the request, so that it may never end. */
    private boolean firstIsCutOff;

    private boolean secondIsCutOff;

    /** What replaces the response that {@link #substitute} was asked for. */
    private @Nullable Substitute replacement;

    private @Nullable Failure firstFailure;

    /** @param other {@code null} = there is no other function */
    FallbackExchange(
            Ticker ticker,
            @Nullable FunctionOpener other,
            Http2Headers head,
            boolean bodyless,
            ResponseSink response,
            TrafficPolicy policy) {
        this.ticker = ticker;
        this.other = other;
        this.head = head;
        this.bodyless = bodyless;
        requestEnded = bodyless;
        this.response = response;
        this.policy = policy;
        budgetNanos = DeadlineHeaders.budgetNanos(policy.deadline(), head);
        startNanos = budgetNanos == DeadlineHeaders.NONE ? 0 : ticker.nanoTime();
    }

    void setFirst(RequestSink value) {
        first = value;
        if (firstIsCutOff) {
            value.cancel(ErrorCode.CANCELLED);
        }
    }

    @Override
    public ResponseSink outer() {
        return response;
    }

    // The decisions.

    /** Returns what replaces a failure; {@code null} = nothing does. */
    private @Nullable Substitute replacementFor(Failure failure) {
        return switch (failure.kind()) {
            case HANDLER_FAILED,
                    HANDLER_CANCELLED,
                    WORKER_LOST,
                    BAD_RESPONSE,
                    QUEUE_FULL,
                    QUEUE_TIMEOUT,
                    BULKHEAD_FULL,
                    SHED,
                    BREAKER_OPEN,
                    LAUNCHES_BLOCKED,
                    THROTTLED,
                    FUNCTION_FAILED,
                    INVOKE_FAILED,
                    TIMEOUT,
                    DEADLINE_EXCEEDED -> replacement(failure.wasNotTried());
            default -> null;
        };
    }

    private @Nullable Substitute replacement(boolean unseen) {
        boolean repeatable = !bodyBegun && (unseen || Methods.isIdempotent(head.method()));
        return other != null && repeatable && leftNanos() > 0 ? Substitute.FUNCTION : fixed();
    }

    private @Nullable Substitute fixed() {
        return policy.fallback().status() == 0 || Grpc.isCall(head) ? null : Substitute.FIXED;
    }

    private long leftNanos() {
        return budgetNanos == DeadlineHeaders.NONE ? Long.MAX_VALUE : budgetNanos - (ticker.nanoTime() - startNanos);
    }

    /** These statuses are the errors of {@code stale-if-error} (RFC 5861 section 4). */
    private static boolean isError(Http2Headers responseHead) {
        return switch (StatusCode.parse(responseHead.status())) {
            case 500, 502, 503, 504 -> true;
            default -> false;
        };
    }

    private void replaceBy(Substitute substitute) {
        replacement = substitute;
        if (substitute == Substitute.FUNCTION && other != null) {
            state = State.REPLACED;
            openOther(other);
        } else {
            respondFixed();
        }
    }

    private void openOther(FunctionOpener its) {
        // The event loop of the first attempt may still read these.
        Http2Headers copy = new FlatHeaders().add(head);
        RequestSink opened = its.open(copy, bodyless, new Second(), policyOf(its, copy));
        second = opened;
        if (secondIsCutOff || state == State.CANCELLED) {
            opened.cancel(ErrorCode.CANCELLED);
        }
    }

    /** The deadline continues. */
    private TrafficPolicy policyOf(FunctionOpener its, Http2Headers copy) {
        TrafficPolicy own = its.policy().undiverted();
        long left = leftNanos();
        if (left == Long.MAX_VALUE) {
            return own;
        }
        DeadlineHeaders.writeLeft(policy.deadline(), copy, Math.max(1, left));
        DeadlinePolicy rest = DeadlineRule.rest(policy.deadline(), own.deadline(), ticker.nanoTime() - startNanos);
        return own.toBuilder().deadline(rest).build();
    }

    private void respondFixed() {
        state = State.FIXED;
        FallbackPolicy fallback = policy.fallback();
        byte[] body = fallback.body();
        FlatHeaders fixed = new FlatHeaders();
        fixed.status(Integer.toString(fallback.status()));
        fixed.add(HttpHeaderNames.CONTENT_TYPE, fallback.contentType());
        fixed.add(HttpHeaderNames.CONTENT_LENGTH, Integer.toString(body.length));
        fixed.add(HttpHeaderNames.CACHE_CONTROL, HttpHeaderValues.NO_STORE);
        boolean empty = body.length == 0 || Methods.isHead(head.method());
        fixed.add(TextAnswer.MARK, "fallback");
        response.onHead(fixed, empty);
        // The client may have cancelled during the call.
        if (!empty && state == State.FIXED) {
            response.onData(Unpooled.wrappedBuffer(body), true);
        }
    }

    // From the client.

    @Override
    public void data(ByteBuf data, boolean end) {
        bodyBegun = true;
        requestEnded |= end;
        RequestSink to = current();
        if (to == null) {
            data.release();
        } else {
            to.data(data, end);
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        bodyBegun = true;
        requestEnded = true;
        RequestSink to = current();
        if (to != null) {
            to.trailers(trailers);
        }
    }

    /** Returns what gets the request; {@code null} = nobody does any more. */
    private @Nullable RequestSink current() {
        return switch (state) {
            case PENDING, PASSING -> first;
            case REPLACED -> second;
            case FIXED, CANCELLED -> null;
        };
    }

    /**
     * Returns whose response bytes the client takes. It can take some after it has cancelled, if
     * another filter still holds them.
     */
    private @Nullable RequestSink responding() {
        boolean ofSecond = state == State.REPLACED || state == State.CANCELLED && second != null;
        return state == State.FIXED ? null : ofSecond ? second : first;
    }

    @Override
    public void cancel(ErrorCode code) {
        state = State.CANCELLED;
        if (first != null) {
            first.cancel(code);
        }
        if (second != null) {
            second.cancel(code);
        }
    }

    @Override
    public void responseTaken(int bytes) {
        RequestSink of = responding();
        if (of != null) {
            of.responseTaken(bytes);
        }
    }

    @Override
    public void endedResponseTaken(int bytes) {
        RequestSink of = responding();
        if (of != null) {
            of.endedResponseTaken(bytes);
        }
    }

    @Override
    public void detach() {
        if (first != null) {
            first.detach();
        }
        if (second != null) {
            second.detach();
        }
    }

    @Override
    public long heldBytes() {
        return (first == null ? 0 : first.heldBytes()) + (second == null ? 0 : second.heldBytes());
    }

    // From the function.

    /** @param request {@code null} = it is still being opened */
    private void cancelIfOpen(@Nullable RequestSink request) {
        if (request != null && state != State.CANCELLED) {
            request.cancel(ErrorCode.CANCELLED);
        }
    }

    /** The client has its response, and its stream may carry another request. */
    @Override
    public void onRequestTaken(int bytes) {
        if (state != State.FIXED) {
            response.onRequestTaken(bytes);
        }
    }

    @Override
    public void onSent() {
        if (state == State.PENDING) {
            response.onSent();
        }
    }

    @Override
    public void onInterim(Http2Headers interim) {
        if (state == State.PENDING) {
            response.onInterim(interim);
        }
    }

    @Override
    public void onHead(Http2Headers responseHead, boolean end) {
        if (state != State.PENDING) {
            return;
        }
        Substitute substitute = isError(responseHead) ? replacement(false) : null;
        if (substitute != null) {
            boolean cutOff = !end && !requestEnded;
            replaceBy(substitute);
            if (cutOff) {
                firstIsCutOff = true;
                cancelIfOpen(first);
            }
        } else {
            state = State.PASSING;
            response.onHead(responseHead, end);
        }
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        if (state == State.PASSING) {
            response.onData(data, end);
            return;
        }
        // The replaced response of a complete request is read to its end, so that its worker
        // stream is free soon.
        int bytes = data.readableBytes();
        data.release();
        if (first != null && state != State.CANCELLED) {
            first.responseTaken(bytes);
        }
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        if (state == State.PASSING) {
            response.onTrailers(trailers);
        }
    }

    @Override
    public void onFailure(Failure failure) {
        if (state == State.PASSING) {
            response.onFailure(failure);
        } else if (state == State.PENDING) {
            Substitute substitute = replacementFor(failure);
            if (substitute == null) {
                state = State.PASSING;
                response.onFailure(failure);
            } else {
                firstFailure = failure;
                replaceBy(substitute);
            }
        }
    }

    @Override
    public @Nullable Substitute substitute(int status, @Nullable Failure failure) {
        Substitute next = replacement;
        if (next == null && state == State.PENDING && failure != null) {
            next = replacementFor(failure);
        }
        return next == null ? response.substitute(status, failure) : next;
    }

    /** Receives the response of the other function. */
    private final class Second implements ForwardingSink {
        private boolean begun;
        private boolean replaced;

        @Override
        public ResponseSink outer() {
            return response;
        }

        @Override
        public void onRequestTaken(int bytes) {
            FallbackExchange.this.onRequestTaken(bytes);
        }

        private boolean isReplacedByFixed() {
            return !begun && fixed() != null;
        }

        @Override
        public void onInterim(Http2Headers interim) {
            if (!replaced) {
                response.onInterim(interim);
            }
        }

        @Override
        public void onHead(Http2Headers responseHead, boolean end) {
            if (isError(responseHead) && isReplacedByFixed()) {
                boolean cutOff = !end && !requestEnded;
                replaced = true;
                respondFixed();
                if (cutOff) {
                    secondIsCutOff = true;
                    cancelIfOpen(second);
                }
            } else {
                begun = true;
                response.onHead(responseHead, end);
            }
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            if (!replaced) {
                response.onData(data, end);
                return;
            }
            int bytes = data.readableBytes();
            data.release();
            if (second != null && state != State.CANCELLED) {
                second.responseTaken(bytes);
            }
        }

        @Override
        public void onTrailers(Http2Headers trailers) {
            if (!replaced) {
                response.onTrailers(trailers);
            }
        }

        @Override
        public void onFailure(Failure failure) {
            if (replaced) {
                return;
            }
            if (isReplacedByFixed()) {
                replaced = true;
                respondFixed();
            } else {
                response.onFailure(begun || firstFailure == null ? failure : firstFailure);
            }
        }

        @Override
        public @Nullable Substitute substitute(int status, @Nullable Failure failure) {
            boolean fixed = replaced || failure != null && isReplacedByFixed();
            return fixed ? Substitute.FIXED : response.substitute(status, failure);
        }
    }
}
