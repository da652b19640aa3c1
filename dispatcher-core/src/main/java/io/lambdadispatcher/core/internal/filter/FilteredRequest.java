package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.exchange.UnsentExchange;
import io.lambdadispatcher.core.internal.policy.DeadlineHeaders;
import io.lambdadispatcher.core.internal.policy.DeadlineRule;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.util.ArrayDeque;
import java.util.Locale;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A request at one filter of the program: {@code UNDECIDED → OPENING → PASSED}, or {@code ENDED}
 * from each of them. Until it is passed on, its body waits here, within the client's flow-control
 * window. Confined to the client's event loop.
 */
final class FilteredRequest implements RequestSink, ForwardingSink {
    private enum State {
        UNDECIDED,
        /** The next stage is being opened, or gets what has waited. */
        OPENING,
        PASSED,
        /** Answered here, failed here, or cancelled. */
        ENDED
    }

    private static final Logger log = LoggerFactory.getLogger(FilteredRequest.class);
    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Memory of this object and its headers, as an estimate. */
    private static final int HELD_BYTES = 2048;

    private final FilterStage stage;
    private final FilterContext context;
    private final ResponseSink outer;
    private final TrafficPolicy policy;
    private final boolean bodyless;
    private final long startNanos;

    /** Buffers, and trailers as the last one. */
    private final Queue<Object> waiting = new ArrayDeque<>(0);

    private State state = State.UNDECIDED;
    private boolean requestEnded;
    private @Nullable RequestSink target;
    private @Nullable ErrorCode cancelled;
    private @Nullable Future<?> timer;
    private @Nullable ResponseFilter follower;

    /** Bytes of the response that the client has read before {@link #target} was known. */
    private int takenEarly;

    /** Bytes that the filter has added to the response, which no function has sent. */
    private int surplus;

    FilteredRequest(FilterStage stage, FilterContext context, boolean end, ResponseSink outer, TrafficPolicy policy) {
        this.stage = stage;
        this.context = context;
        this.outer = outer;
        this.policy = policy;
        bodyless = end;
        requestEnded = end;
        startNanos = nanoTime();
    }

    FilterContext context() {
        return context;
    }

    private long nanoTime() {
        return stage.loop().ticker().nanoTime();
    }

    private long waitedNanos() {
        return nanoTime() - startNanos;
    }

    // The decision.

    void begin() {
        Decision decision;
        try {
            decision = stage.filter().onRequest(context);
        } catch (Throwable e) {
            failFilter(e);
            return;
        }
        decide(decision);
    }

    private void decide(@Nullable Decision decision) {
        if (decision instanceof Decision.Pass pass) {
            follower = pass.response();
            pass();
        } else if (decision instanceof Decision.Answer answer) {
            answer(answer);
        } else if (decision instanceof Decision.Later later) {
            awaitDecision(later);
        } else {
            failFilter(new NullPointerException("the filter's decision"));
        }
    }

    private void awaitDecision(Decision.Later later) {
        if (timer == null) {
            long wait = Math.max(0, Math.min(MAX_WAIT_NANOS, budgetNanos()) - waitedNanos());
            timer = stage.loop().schedule(this::failLate, wait, TimeUnit.NANOSECONDS);
            stage.home().onUndecided(this);
        }
        later.decision().whenComplete((decision, error) -> {
            try {
                stage.loop().execute(() -> resume(decision, error));
            } catch (RejectedExecutionException e) {
                // The event loop has ended, and its clients with it.
            }
        });
    }

    private void resume(@Nullable Decision decision, @Nullable Throwable error) {
        if (state != State.UNDECIDED) {
            return;
        }
        if (error != null) {
            failFilter(error);
        } else {
            decide(decision);
        }
    }

    private long budgetNanos() {
        return policy.isTimed() ? DeadlineHeaders.budgetNanos(policy.deadline(), context.head()) : Long.MAX_VALUE;
    }

    private void failLate() {
        if (state == State.UNDECIDED) {
            fail(
                    budgetNanos() < MAX_WAIT_NANOS
                            ? new Failure(
                                    Failure.Kind.DEADLINE_EXCEEDED, "a filter has not decided within the deadline")
                            : new Failure(Failure.Kind.FILTER_FAILED, "a filter has not decided within 10 s"));
        }
    }

    private void failFilter(Throwable error) {
        log.error("filter {} failed", stage.filter().getClass().getName(), error);
        fail(new Failure(Failure.Kind.FILTER_FAILED, "a filter failed: " + error));
    }

    /** The request has not been passed on. */
    void fail(Failure failure) {
        endHere();
        unsent().reportFailed(stage.observer(), failure, waitedNanos());
        outer.onFailure(failure);
    }

    private void answer(Decision.Answer answer) {
        endHere();
        FlatHeaders head = new FlatHeaders();
        head.status(AsciiString.of(Integer.toString(answer.status())));
        answer.headers().forEach((name, value) -> head.add(AsciiString.of(name.toLowerCase(Locale.ROOT)), value));
        byte[] body = answer.body();
        boolean none = StatusCode.isBodyless(answer.status());
        if (!none) {
            head.set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(body.length)));
        }
        boolean end = none
                || body.length == 0
                || HttpMethod.HEAD.asciiName().contentEquals(context.head().method());
        unsent().reportAnswered(
                        stage.observer(), answer.status(), Substitute.FILTER, end ? 0 : body.length, waitedNanos());
        outer.onHead(head, end);
        if (!end && cancelled == null) {
            outer.onData(Unpooled.wrappedBuffer(body), true);
        }
    }

    private UnsentExchange unsent() {
        return new UnsentExchange(stage.function(), context.head(), outer);
    }

    private void endHere() {
        state = State.ENDED;
        cancelTimer();
        dropWaiting();
    }

    private void cancelTimer() {
        if (timer != null) {
            timer.cancel(false);
            timer = null;
            stage.home().onDecided(this);
        }
    }

    private void dropWaiting() {
        for (Object each = waiting.poll(); each != null; each = waiting.poll()) {
            ReferenceCountUtil.release(each);
        }
    }

    private void pass() {
        boolean late = timer != null;
        cancelTimer();
        state = State.OPENING;
        TrafficPolicy rest = late ? rest() : policy;
        RequestSink opened = stage.next().open(context.passOn(), bodyless, this, rest);
        target = opened;
        if (takenEarly > 0) {
            opened.responseTaken(takenEarly);
        }
        if (cancelled != null) {
            opened.cancel(cancelled);
            return;
        }
        // More can arrive during these calls, and waits its turn.
        for (Object each = waiting.poll(); each != null; each = waiting.poll()) {
            if (each instanceof ByteBuf data) {
                opened.data(data, requestEnded && waiting.isEmpty());
            } else {
                opened.trailers((Http2Headers) each);
            }
        }
        if (state == State.OPENING) {
            state = State.PASSED;
        }
    }

    /** The wait counts, so the function has less time. */
    private TrafficPolicy rest() {
        long budget = budgetNanos();
        long waited = waitedNanos();
        if (budget == Long.MAX_VALUE) {
            return policy;
        }
        DeadlineHeaders.writeLeft(policy.deadline(), context.ownHead(), Math.max(0, budget - waited));
        return policy.toBuilder()
                .deadline(DeadlineRule.rest(policy.deadline(), policy.deadline(), waited))
                .build();
    }

    // From the client.

    @Override
    public void data(ByteBuf data, boolean end) {
        requestEnded |= end;
        switch (state) {
            case UNDECIDED, OPENING -> waiting.add(data);
            case PASSED -> target().data(data, end);
            case ENDED -> data.release();
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        requestEnded = true;
        switch (state) {
            case UNDECIDED, OPENING -> waiting.add(trailers);
            case PASSED -> target().trailers(trailers);
            case ENDED -> {}
        }
    }

    private RequestSink target() {
        if (target == null) {
            throw new IllegalStateException("the request has not been passed on");
        }
        return target;
    }

    @Override
    public void cancel(ErrorCode code) {
        State before = state;
        cancelled = code;
        if (before == State.UNDECIDED) {
            endHere();
            unsent().reportCancelled(stage.observer(), waitedNanos());
        } else if (before != State.ENDED) {
            cancelPassed(code);
            tellEnd("cancelled");
        }
    }

    private void cancelPassed(ErrorCode code) {
        cancelled = code;
        endHere();
        if (target != null) {
            target.cancel(code);
        }
    }

    @Override
    public void responseTaken(int bytes) {
        int own = Math.min(surplus, bytes);
        surplus -= own;
        giveBack(bytes - own);
    }

    private void giveBack(int bytes) {
        if (target == null) {
            takenEarly += bytes;
        } else if (bytes > 0) {
            target.responseTaken(bytes);
        }
    }

    @Override
    public void endedResponseTaken(int bytes) {
        int own = Math.min(surplus, bytes);
        surplus -= own;
        if (target != null && bytes > own) {
            target.endedResponseTaken(bytes - own);
        }
    }

    @Override
    public void detach() {
        if (target != null) {
            target.detach();
        }
    }

    @Override
    public long heldBytes() {
        return target == null ? HELD_BYTES : target.heldBytes();
    }

    // From the function.

    @Override
    public ResponseSink outer() {
        return outer;
    }

    @Override
    public void onRouted(String function) {
        outer.onRouted(function);
    }

    @Override
    public void onInterim(Http2Headers head) {
        if (state != State.ENDED) {
            outer.onInterim(head);
        }
    }

    @Override
    public void onHead(Http2Headers head, boolean end) {
        if (state == State.ENDED) {
            return;
        }
        if (follower != null) {
            try {
                follower.onHead(StatusCode.parse(head.status()), new NettyFields(() -> head, () -> head));
            } catch (Throwable e) {
                failResponse(e);
                return;
            }
        }
        outer.onHead(head, end);
        tellEndIf(end);
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        if (state == State.ENDED) {
            giveBack(data.readableBytes());
            data.release();
            return;
        }
        ByteBuf passed = data;
        if (follower != null) {
            int arrived = data.readableBytes();
            try {
                passed = Objects.requireNonNull(follower.onData(data), "what the filter returns");
            } catch (Throwable e) {
                giveBack(arrived);
                failResponse(e);
                return;
            }
            int more = passed.readableBytes() - arrived;
            if (more > 0) {
                surplus += more;
            } else {
                giveBack(-more);
            }
        }
        outer.onData(passed, end);
        tellEndIf(end);
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        if (state != State.ENDED) {
            outer.onTrailers(trailers);
            tellEndIf(true);
        }
    }

    @Override
    public void onFailure(Failure failure) {
        if (state != State.ENDED) {
            outer.onFailure(failure);
            tellEnd(failure.kind().token());
        }
    }

    @Override
    public void onRequestTaken(int bytes) {
        if (state != State.ENDED) {
            outer.onRequestTaken(bytes);
        }
    }

    private void failResponse(Throwable error) {
        log.error("filter {} failed", stage.filter().getClass().getName(), error);
        Failure failure = new Failure(Failure.Kind.FILTER_FAILED, "a filter failed: " + error);
        cancelPassed(ErrorCode.INTERNAL);
        outer.onFailure(failure);
        tellEnd(failure.kind().token());
    }

    private void tellEndIf(boolean last) {
        if (last) {
            tellEnd(null);
        }
    }

    /** The first end counts. */
    private void tellEnd(@Nullable String failure) {
        ResponseFilter its = follower;
        follower = null;
        if (its != null) {
            try {
                its.onEnd(failure);
            } catch (Throwable e) {
                log.error("filter {} failed", stage.filter().getClass().getName(), e);
            }
        }
    }
}
