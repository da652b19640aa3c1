package io.lambdadispatcher.core.internal.filter;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.exchange.UnsentExchange;
import io.lambdadispatcher.core.internal.policy.DeadlineHeaders;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
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

    private static final long MAX_WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Memory of this object and its headers, as an estimate. */
    private static final int HELD_BYTES = 2048;

    private final FilterStage stage;
    private final FilterContext context;
    private final ResponseSink outer;
    private final TrafficPolicy policy;
    private final boolean bodyless;
    private final long startNanos;

    private final WaitingBody waiting = new WaitingBody();
    private final FilteredBody request = new ToFunction();
    private final FilteredBody response = new ToClient();

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

    /** What the filter says to the refusal of the request. */
    private @Nullable Decision instead;

    private @Nullable Failure refusal;

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

    FilterContext context() {
        return context;
    }

    private long waitedNanos() {
        return stage.loop().ticker().nanoTime() - startNanos;
    }

    // The decision.

    void begin() {
        decideBy(() -> stage.filter().onRequest(context));
    }

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
            awaitDecision(later.decision());
        } else if (decision instanceof Decision.Resume resume) {
            decideBy(() -> resume.then().apply(context));
        } else if (decision instanceof Decision.WithBody withBody && refusal == null) {
            holding = withBody;
            pending().waitAtMost(leftNanos());
            holdBody();
        } else {
            failFilter(new IllegalStateException("the filter decides " + decision));
        }
    }

    private void decideBy(Supplier<Decision> source) {
        Decision decision;
        try {
            decision = source.get();
        } catch (Throwable e) {
            failFilter(e);
            return;
        }
        decide(decision);
    }

    private PendingDecision pending() {
        if (pending == null) {
            pending = new PendingDecision(stage.loop(), this::failLate);
        }
        stage.home().onUndecided(this);
        return pending;
    }

    private void awaitDecision(CompletionStage<Decision> decision) {
        PendingDecision its = pending();
        if (!its.isTimed()) {
            its.waitAtMost(Math.min(MAX_WAIT_NANOS, leftNanos()));
        }
        its.ask(decision, (decided, error) -> {
            if (error != null) {
                failFilter(error);
            } else {
                decide(decided);
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
        long budget = budgetNanos();
        return budget == Long.MAX_VALUE ? budget : Math.max(0, budget - waitedNanos());
    }

    private long budgetNanos() {
        return policy.isTimed() ? DeadlineHeaders.budgetNanos(policy.deadline(), context.head()) : Long.MAX_VALUE;
    }

    private void failLate() {
        if (refusal != null) {
            passRefusal();
        } else if (state == State.UNDECIDED) {
            fail(
                    leftNanos() == 0
                            ? new Failure(
                                    Failure.Kind.DEADLINE_EXCEEDED, "a filter has not decided within the deadline")
                            : new Failure(Failure.Kind.FILTER_FAILED, "a filter has not decided within 10 s"));
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
        boolean end = none || body.length == 0 || Methods.isHead(context.head().method());
        if (refusal == null) {
            unsent().reportAnswered(
                            stage.observer(), answer.status(), Substitute.FILTER, end ? 0 : body.length, waitedNanos());
        } else if (!end) {
            response.onAdded(body.length);
        }
        outer.onHead(head, end);
        if (!end && cancelled == null) {
            outer.onData(Unpooled.wrappedBuffer(body), true);
        }
        tellEnd(null);
    }

    private void passRefusal() {
        Failure its = Objects.requireNonNull(refusal, "refusal");
        endHere();
        outer.onFailure(its);
        tellEnd(its.kind().token());
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
            case UNDECIDED -> {
                waiting.add(data);
                holdBody();
            }
            case OPENING -> waiting.add(data);
            case PASSED -> request.data(data, end);
            case REPLACING, ENDED -> data.release();
        }
    }

    @Override
    public void trailers(Http2Headers trailers) {
        requestEnded = true;
        switch (state) {
            case UNDECIDED -> {
                waiting.add(trailers);
                holdBody();
            }
            case OPENING -> waiting.add(trailers);
            case PASSED -> request.trailers(trailers);
            case REPLACING, ENDED -> {}
        }
    }

    private abstract class Direction extends FilteredBody {
        @Override
        void fail(Throwable error) {
            failPassed(error);
        }

        @Override
        boolean isOver() {
            return state == State.ENDED;
        }

        @Override
        Executor loop() {
            return stage.loop();
        }
    }

    /** What the client sends. */
    private final class ToFunction extends Direction {
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

    @Override
    public void detach() {
        if (target != null) {
            target.detach();
        }
    }

    @Override
    public long heldBytes() {
        long passed = target == null ? HELD_BYTES + waiting.held() : target.heldBytes();
        return passed + request.heldBytes() + response.heldBytes();
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
    public @Nullable Substitute substitute(int status, @Nullable Failure failure) {
        return failure != null && replaces(failure) ? Substitute.FILTER : outer.substitute(status, failure);
    }

    @Override
    public @Nullable String contentEncoding() {
        return encoding == null ? outer.contentEncoding() : encoding;
    }

    @Override
    public void onHead(Http2Headers head, boolean end) {
        if (state == State.ENDED) {
            return;
        }
        responseBegun = true;
        if (follower != null) {
            CharSequence before = head.get(HttpHeaderNames.CONTENT_ENCODING);
            try {
                follower.onHead(StatusCode.parse(head.status()), new NettyFields(() -> head, () -> head), !end);
            } catch (Throwable e) {
                failPassed(e);
                return;
            }
            CharSequence after = head.get(HttpHeaderNames.CONTENT_ENCODING);
            boolean same = after == null || AsciiString.contentEquals(before, after);
            encoding = same || end || Methods.isHead(context.head().method()) ? null : after.toString();
        }
        outer.onHead(head, end);
        if (end) {
            tellEnd(null);
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
        }
    }

    /** What the function sends. */
    private final class ToClient extends Direction {
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
    }

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
            decide(instead);
        } else {
            endHere();
            outer.onFailure(failure);
            tellEnd(failure.kind().token());
        }
    }

    /** Asks the filter once. */
    private boolean replaces(Failure failure) {
        if (instead == null) {
            instead = Decision.pass();
            ResponseFilter its = follower;
            if (its != null && state != State.ENDED && !responseBegun && isRefusal(failure)) {
                try {
                    instead =
                            Objects.requireNonNull(its.onRefused(failure.kind().token()), "the filter's decision");
                } catch (Throwable e) {
                    stage.warn(e);
                }
            }
        }
        return !(instead instanceof Decision.Pass);
    }

    /** A dispatcher that shuts down can answer nothing else. */
    private static boolean isRefusal(Failure failure) {
        return failure.wasNotTried() && failure.kind() != Failure.Kind.SHUTTING_DOWN;
    }

    @Override
    public void onRequestTaken(int bytes) {
        int senders = request.sendersOf(bytes);
        if (state != State.ENDED && senders > 0) {
            outer.onRequestTaken(senders);
        }
    }

    private void failPassed(Throwable error) {
        Failure failure = stage.failureOf(error);
        cancelPassed(ErrorCode.INTERNAL);
        outer.onFailure(failure);
        tellEnd(failure.kind().token());
    }

    /** The first end counts. */
    private void tellEnd(@Nullable String failure) {
        ResponseFilter its = follower;
        follower = null;
        request.filter(null);
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
