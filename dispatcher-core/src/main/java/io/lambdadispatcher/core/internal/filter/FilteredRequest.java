package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.ExchangeReport;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.exchange.UnsentExchange;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A request at one filter of the program: {@code UNDECIDED → OPENING → PASSED → REPLACING}, or
 * {@code ENDED} from each of them. Until it is passed on, its body waits here, within the client's
 * flow-control window or the size that the filter has allowed. Confined to the client's event loop.
 */
final class FilteredRequest implements RequestSink, ForwardingSink {
    private enum State {
        UNDECIDED,
        /** The next stage is being opened, or gets what has waited. */
        OPENING,
        PASSED,
        /** Refused, and the filter decides what the client gets instead. */
        REPLACING,
        /** Answered here, failed here, or cancelled. */
        ENDED
    }

    /** Most of a response that is dropped so that its worker stream ends as usual. */
    private static final int MAX_DROPPED_BYTES = 256 * 1024;

    /** Memory of this object and its headers, as an estimate. */
    private static final int HELD_BYTES = 2048;

    final FilterStage stage;
    final FilterContext context;
    /** Another one if the client has left, and the filter wants its response. */
    private ResponseSink outer;

    private final TrafficPolicy policy;
    private final boolean bodyless;
    private final long startNanos;

    private final WaitingBody waiting = new WaitingBody();

    private State state = State.UNDECIDED;
    private boolean requestEnded;
    private @Nullable RequestSink target;
    private @Nullable ErrorCode cancelled;
    private @Nullable PendingDecision pending;
    private @Nullable ResponseFilter follower;

    /** The filter waits for the body. */
    private Decision.@Nullable WithBody holding;

    private boolean responseBegun;

    /** How the filter has encoded the body of the response; {@code null} = it has not. */
    private @Nullable String encoding;

    private final Replacement replacement = new Replacement();

    private @Nullable Failure refusal;

    /** What the client gets because the filter has failed after the request was passed on. */
    private @Nullable Failure failed;

    /** Bytes of the response that the client has read before {@link #target} was known. */
    private int takenEarly;

    FilteredRequest(FilterStage stage, FilterContext context, boolean end, ResponseSink outer, TrafficPolicy policy) {
        this.stage = stage;
        this.context = context;
        this.outer = outer;
        this.policy = policy;
        bodyless = end;
        requestEnded = end;
        startNanos = stage.loop().ticker().nanoTime();
        context.enter(this, policy, !end);
    }

    private long waitedNanos() {
        return stage.loop().ticker().nanoTime() - startNanos;
    }

    // The decision.

    private void decide(@Nullable Decision decision) {
        if (decision instanceof Decision.Pass pass) {
            if (refusal != null) {
                passRefusal();
            } else {
                request.filter(pass.request());
                follower = pass.response();
                response.filter(follower);
                pass();
            }
        } else if (decision instanceof Decision.Answer answer) {
            answer(answer);
        } else if (decision instanceof Decision.Later later) {
            awaitDecision(later);
        } else if (decision instanceof Decision.Resume resume) {
            decideBy(() -> resume.then().apply(context));
        } else if (decision instanceof Decision.Refuse refuse && AnswerHead.failureOf(refuse) != null) {
            fail(Objects.requireNonNull(AnswerHead.failureOf(refuse)));
        } else if (decision instanceof Decision.WithBody withBody && refusal == null) {
            holding = withBody;
            pending().waitAtMost(leftNanos());
            holdBody();
        } else {
            failFilter(new IllegalStateException("the filter decides " + decision));
        }
    }

    /** What a filter decides can throw, too: its stage, and the headers of its answer. */
    void decideBy(Supplier<? extends @Nullable Decision> source) {
        try {
            decide(source.get());
        } catch (Throwable e) {
            if (state != State.UNDECIDED && state != State.REPLACING) {
                throw e;
            }
            failFilter(e);
        }
    }

    private PendingDecision pending() {
        if (pending == null) {
            pending = new PendingDecision(stage.loop(), this::onLate);
        }
        stage.home().onUndecided(this);
        return pending;
    }

    private void awaitDecision(Decision.Later later) {
        pending().ask(later, leftNanos(), (decided, error) -> {
            if (error != null) {
                failFilter(error);
            } else {
                decideBy(() -> decided);
            }
        });
    }

    private void holdBody() {
        Decision.WithBody its = holding;
        if (its == null) {
            return;
        }
        boolean tooLarge = waiting.bytes() > its.maxBytes();
        if (tooLarge || requestEnded) {
            holding = null;
            stopWaiting();
            ByteBuf body = tooLarge ? null : waiting.gather().asReadOnly();
            decideBy(() -> its.then().apply(body));
            return;
        }
        int more = waiting.hold();
        if (more > 0) {
            request.onReturned(more);
            outer.onRequestTaken(more);
        }
    }

    /** Returns how long the request may still take; {@code Long.MAX_VALUE} = nothing limits it. */
    long leftNanos() {
        long budget = context.budgetNanos(policy);
        return budget == Long.MAX_VALUE ? budget : Math.max(0, budget - waitedNanos());
    }

    private void onLate() {
        long left = leftNanos();
        Decision otherwise = pending == null ? null : pending.takeOtherwise();
        if (otherwise != null && left > 0) {
            stopWaiting();
            decideBy(() -> otherwise);
        } else if (refusal != null) {
            passRefusal();
        } else if (state == State.UNDECIDED) {
            fail(PendingDecision.late(left));
        }
    }

    private void failFilter(Throwable error) {
        fail(stage.failureOf(error));
    }

    /** The filter has not decided. A request that is refused already, stays refused. */
    void fail(Failure failure) {
        if (refusal != null) {
            passRefusal();
            return;
        }
        unsent().reportFailed(stage.observer(), failure, waitedNanos());
        end(failure);
    }

    private void answer(Decision.Answer answer) {
        Http2Headers head = AnswerHead.of(answer, context.head().method());
        endHere();
        byte[] body = answer.body();
        boolean none = StatusCode.isBodyless(answer.status()) || body.length == 0;
        boolean end = none || Methods.isHead(context.head().method());
        if (replacement.isAsked() && !end) {
            response.onAdded(body.length);
        }
        outer.onHead(head, end);
        if (!replacement.isAsked()) {
            // Now, because filters in front of this one may have encoded it.
            unsent().reportAnswered(
                            stage.observer(), answer.status(), answer.by(), end ? 0 : body.length, waitedNanos());
        }
        if (!end && cancelled == null) {
            outer.onData(Unpooled.wrappedBuffer(body), true);
        }
        tellEnd(null);
    }

    private void passRefusal() {
        end(Objects.requireNonNull(refusal, "refusal"));
    }

    /** Ends the request with what the client gets. */
    private void end(Failure failure) {
        endHere();
        outer.onFailure(failure);
        tellEnd(failure.kind().token());
    }

    private UnsentExchange unsent() {
        return new UnsentExchange(stage.function(), context.head(), outer);
    }

    private void endHere() {
        state = State.ENDED;
        holding = null;
        stopWaiting();
        waiting.drop();
        request.drop();
        response.drop();
    }

    private void stopWaiting() {
        if (pending != null) {
            pending.stop();
            stage.home().onDecided(this);
        }
    }

    private void pass() {
        stopWaiting();
        if (pending != null && leftNanos() == 0) {
            fail(PendingDecision.late(0));
            return;
        }
        state = State.OPENING;
        TrafficPolicy rest = pending != null ? context.rest(policy, waitedNanos()) : policy;
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
                request.data(data, requestEnded && waiting.isEmpty());
            } else {
                request.trailers((Http2Headers) each);
            }
        }
        if (state == State.OPENING) {
            state = State.PASSED;
        }
    }

    // From the client.

    @Override
    public void data(ByteBuf data, boolean end) {
        requestEnded |= end;
        switch (state) {
            case UNDECIDED, OPENING -> {
                waiting.add(data);
                holdBody();
            }
            case PASSED -> request.data(data, end);
            case REPLACING, ENDED -> data.release();
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        requestEnded = true;
        switch (state) {
            case UNDECIDED, OPENING -> {
                waiting.add(trailers);
                holdBody();
            }
            case PASSED -> request.trailers(trailers);
            case REPLACING, ENDED -> {}
        }
    }

    /** What the client sends. */
    private final FilteredBody request = new FilteredBody(this, false) {
        @Override
        void pass(ByteBuf data, boolean end) {
            target().data(data, end);
        }

        @Override
        void pass(Http2Headers trailers) {
            target().trailers(trailers);
        }

        @Override
        void giveBack(int bytes) {
            if (state != State.ENDED) {
                outer.onRequestTaken(bytes);
            }
        }
    };

    private RequestSink target() {
        return Objects.requireNonNull(target, "the request has not been passed on");
    }

    @Override
    public void cancel(ErrorCode code) {
        State before = state;
        if (requestEnded && (before == State.OPENING || before == State.PASSED) && stage.isWantedBy(follower)) {
            outer = new GoneClient(context.requester(), this);
            giveBack(response.sendersOf(Integer.MAX_VALUE));
            return;
        }
        cancelled = code;
        if (before == State.UNDECIDED) {
            endHere();
            unsent().reportCancelled(stage.observer(), waitedNanos());
        } else if (before == State.REPLACING) {
            endHere();
            tellEnd("cancelled");
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
        giveBack(response.sendersOf(bytes));
    }

    private void giveBack(int bytes) {
        if (target == null) {
            takenEarly += bytes;
        } else if (bytes > 0) {
            target.responseTaken(bytes);
        }
    }

    /** A part of the response has arrived, and may have changed what the filter wants. */
    private void cancelIfUnwanted() {
        if (outer instanceof GoneClient && follower != null && !stage.isWantedBy(follower)) {
            cancelPassed(ErrorCode.CANCELLED);
            tellEnd("cancelled");
        }
    }

    @Override
    public void detach() {
        if (target != null && !(outer instanceof GoneClient)) {
            target.detach();
        }
    }

    @Override
    public long heldBytes() {
        long passed = target == null ? HELD_BYTES + waiting.held() : target.heldBytes();
        return passed + request.ledger.excessBytes() + request.heldBytes() + response.heldBytes();
    }

    // From the function.

    @Override
    public ResponseSink outer() {
        return outer;
    }

    /** After an answer, the client's side may serve another request. */
    @Override
    public Requester requester() {
        return state == State.ENDED ? context.requester() : outer.requester();
    }

    @Override
    public void onInterim(Http2Headers head) {
        if (state != State.ENDED) {
            outer.onInterim(head);
        }
    }

    @Override
    public void complete(ExchangeReport report, @Nullable Failure failure) {
        if (encoding != null) {
            report.setContentEncoding(encoding);
        }
        if (failed != null) {
            report.onFilterFailed(failed, responseBegun);
            outer.complete(report, failed);
            return;
        }
        if (failure != null) {
            replaces(failure);
        }
        Substitute its = replacement.substitute();
        if (its != null) {
            report.setSubstitute(outer instanceof GoneClient ? null : its);
            report.setContentEncoding(null);
        }
        outer.complete(report, its == null ? failure : null);
    }

    @Override
    public void onHead(Http2Headers head, boolean end) {
        if (state == State.ENDED) {
            return;
        }
        if (follower != null) {
            CharSequence before = head.get(HttpHeaderNames.CONTENT_ENCODING);
            Decision.Answer answer;
            try {
                int status = StatusCode.parse(head.status());
                answer = replacement.of(status, follower);
                if (answer == null) {
                    follower.onHead(status, new NettyFields(() -> head, () -> head), !end);
                }
            } catch (Throwable e) {
                failPassed(e);
                return;
            }
            if (answer != null) {
                answerInstead(answer, end ? 0 : ContentLength.of(head));
                return;
            }
            CharSequence after = head.get(HttpHeaderNames.CONTENT_ENCODING);
            boolean same = after == null || AsciiString.contentEquals(before, after);
            encoding = same || end || Methods.isHead(context.head().method()) ? null : after.toString();
        }
        responseBegun = true;
        outer.onHead(head, end);
        if (end) {
            tellEnd(null);
        } else {
            cancelIfUnwanted();
        }
    }

    /**
     * What the function still sends is dropped if it is known to be little. Otherwise, the function
     * could send for hours, or wait for the request.
     */
    private void answerInstead(Decision.Answer answer, long left) {
        answer(answer);
        boolean little = outer instanceof GoneClient ? left == 0 : left >= 0 && left <= MAX_DROPPED_BYTES;
        if (!requestEnded || cancelled != null || !little) {
            cancelPassed(ErrorCode.CANCELLED);
        }
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        if (state == State.ENDED) {
            giveBack(data.readableBytes());
            data.release();
            return;
        }
        response.data(data, end);
        if (end && !response.hasRest()) {
            tellEnd(null);
        } else if (!end) {
            cancelIfUnwanted();
        }
    }

    /** What the function sends. */
    private final FilteredBody response = new FilteredBody(this, true) {
        @Override
        void pass(ByteBuf data, boolean end) {
            outer.onData(data, end);
        }

        @Override
        void pass(Http2Headers trailers) {
            outer.onTrailers(trailers);
        }

        @Override
        void giveBack(int bytes) {
            FilteredRequest.this.giveBack(bytes);
        }

        @Override
        void onLastTurn() {
            tellEnd(null);
        }
    };

    @Override
    public void onTrailers(Http2Headers trailers) {
        if (state != State.ENDED) {
            response.trailers(trailers);
            tellEnd(null);
        }
    }

    @Override
    public void onFailure(Failure failure) {
        if (state == State.ENDED) {
            return;
        }
        if (replaces(failure)) {
            refusal = failure;
            state = State.REPLACING;
            waiting.drop();
            decideBy(replacement::decision);
        } else {
            end(failure);
        }
    }

    private boolean replaces(Failure failure) {
        return replacement.isOf(failure, state == State.ENDED || responseBegun ? null : follower, stage);
    }

    @Override
    public void onRequestTaken(int bytes) {
        int senders = request.sendersOf(bytes);
        if (state != State.ENDED && senders > 0) {
            outer.onRequestTaken(senders);
        }
    }

    /** Returns whether nothing may be passed on any more. */
    boolean isOver() {
        return state == State.ENDED;
    }

    /** A filter has failed after the request was passed on. */
    void failPassed(Throwable error) {
        Failure failure = stage.failureOf(error);
        failed = failure; // The function reports its end while it is cancelled.
        cancelPassed(ErrorCode.INTERNAL);
        end(failure);
    }

    /** The first end counts. The directions of a tunnel end separately. */
    private void tellEnd(@Nullable String failure) {
        ResponseFilter its = follower;
        follower = null;
        if (requestEnded || !Methods.isConnect(context.head().method())) {
            request.filter(null);
        }
        request.ledger.dropExcess();
        response.filter(null);
        if (its != null) {
            try {
                its.onEnd(failure);
            } catch (Throwable e) {
                stage.warn(e);
            }
        }
    }
}
