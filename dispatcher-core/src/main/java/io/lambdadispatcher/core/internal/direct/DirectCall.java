package io.lambdadispatcher.core.internal.direct;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.spi.FunctionInvoker.InvokeResult;
import io.lambdadispatcher.wire.event.BadResponseException;
import io.lambdadispatcher.wire.event.BodyBuffer;
import io.lambdadispatcher.wire.event.EventTooLargeException;
import io.lambdadispatcher.wire.event.FunctionResponse;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Carries one request as one invocation: gathers the body, invokes the function when the body is
 * complete, and answers with the result. Confined to the client's event loop, except that the
 * thread that completes the invocation parses the response's JSON.
 */
final class DirectCall implements Carrier, RequestSink {

    private enum State {
        /** The body arrives. The call is not counted yet, unless it was counted from the start. */
        GATHERING,
        /** The event is being sent, or the function runs. */
        INVOKED,
        /** AWS still prepares the function. The event is sent again soon. */
        WAITING,
        /**
         * Nobody waits for the response. The function still runs, because Lambda cannot end an
         * invocation, so the call stays counted, and its whole time is metered.
         */
        ABANDONED,
        /** The call holds the complete response until the client has taken all of it. */
        ANSWERED,
        /**
         * The call has failed, is cancelled, or the client has taken the response. The body is
         * released, and the call is no longer counted.
         */
        ENDED
    }

    private static final byte[] NO_EVENT = {};
    private static final long FIRST_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(250);
    private static final long MAX_BACKOFF_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final DirectFunction function;
    private final EventLoop home;
    private final long patienceNanos;

    private State state = State.GATHERING;
    private boolean counted;
    private Http2Headers head = EmptyHttp2Headers.INSTANCE;
    private @Nullable Attempt attempt;
    private @Nullable BodyBuffer body;
    private long invokedNanos;
    private int untakenBytes;

    /** What is sent, while it may have to be sent again. */
    private byte[] event = NO_EVENT;

    /** How often AWS has said that it still prepares the function. */
    private int notReady;

    private long patientUntilNanos;

    /**
     * @param counted whether the caller has counted the call with {@link
     *     DirectFunction#tryBeginCall}, and calls {@link #carry} next; otherwise, the call is
     *     counted when the body is complete
     * @param patienceNanos time for which the call waits for a function that AWS still prepares; 0
     *     = it refuses the request, which then waits elsewhere
     */
    DirectCall(DirectFunction function, EventLoop home, boolean counted, long patienceNanos) {
        this.function = function;
        this.home = home;
        this.counted = counted;
        this.patienceNanos = patienceNanos;
    }

    /** Returns {@code null}, because AWS manages the function's environments. */
    @Override
    public @Nullable String workerId() {
        return null;
    }

    @Override
    public boolean isOfWorker() {
        return false;
    }

    @Override
    public RequestSink carry(Http2Headers requestHead, boolean end, int timeoutMillis, Attempt forAttempt) {
        head = requestHead;
        attempt = forAttempt;
        if (end) {
            invoke();
            return this;
        }
        body = BodyBuffer.ofRequest(requestHead, function.options().maxBodyBytes());
        if (body.isTooLarge()) {
            refuseBody();
        }
        return this;
    }

    // From the client.

    @Override
    public void data(ByteBuf data, boolean end) {
        Attempt to = attempt;
        if (state != State.GATHERING || to == null || body == null) {
            data.release();
            return;
        }
        int bytes = data.readableBytes();
        if (!body.add(data)) {
            refuseBody();
        } else if (end) {
            invoke();
        }
        // Last, because the next part may arrive within this call.
        if (state != State.ENDED) {
            to.onRequestTaken(bytes);
        }
    }

    private void refuseBody() {
        fail(new Failure(
                Failure.Kind.TOO_LARGE,
                "a body of more than " + function.options().maxBodyBytes() + " bytes cannot be sent to function "
                        + function.name()));
    }

    /** Ends the body. Trailers are dropped, because no event format supports them. */
    @Override
    public void trailers(Http2Headers trailers) {
        if (state == State.GATHERING && attempt != null) {
            invoke();
        }
    }

    @Override
    public void cancel(ErrorCode code) {
        switch (state) {
            case GATHERING, WAITING, ANSWERED -> end();
            case INVOKED -> {
                state = State.ABANDONED;
                attempt = null;
                event = NO_EVENT;
            }
            case ABANDONED, ENDED -> {}
        }
    }

    @Override
    public void responseTaken(int bytes) {
        endedResponseTaken(bytes);
    }

    /** Counts response bytes. Also called for bytes that a disconnected client never takes. */
    @Override
    public void endedResponseTaken(int bytes) {
        untakenBytes -= bytes;
        if (state == State.ANSWERED && untakenBytes <= 0) {
            end();
        }
    }

    /** Returns the bytes of the body while it is gathered, then of the event until the response. */
    @Override
    public long heldBytes() {
        return switch (state) {
            case GATHERING -> body == null ? 0 : body.capacityBytes();
            case INVOKED, WAITING -> event.length;
            case ABANDONED, ANSWERED, ENDED -> 0;
        };
    }

    // To the function and back.

    private void invoke() {
        counted = counted || function.tryBeginCall();
        if (!counted) {
            fail(new Failure(
                    Failure.Kind.QUEUE_FULL,
                    "function " + function.name() + " has " + function.options().maxConcurrentInvocations()
                            + " direct requests in flight, which is the maximum"));
            return;
        }
        state = State.INVOKED;
        ByteBuf whole = body == null ? Unpooled.EMPTY_BUFFER : body.take();
        try {
            event = function.events().write(head, whole, function.options().maxEventBytes());
        } catch (EventTooLargeException e) {
            fail(new Failure(
                    Failure.Kind.TOO_LARGE, e.getMessage() + " cannot be sent to function " + function.name()));
            return;
        } catch (RuntimeException | Error e) {
            // Usually, memory has run out. The call must not stay counted.
            onError(e);
            return;
        } finally {
            whole.release();
        }
        patientUntilNanos = home.ticker().nanoTime() + patienceNanos;
        send();
    }

    private void send() {
        state = State.INVOKED;
        invokedNanos = home.ticker().nanoTime();
        CompletionStage<InvokeResult> begun;
        try {
            begun = Objects.requireNonNull(
                    function.invoker().invoke(function.name(), event), "the invoker returned null, expected a stage");
        } catch (Throwable e) {
            onError(e);
            return;
        }
        begun.whenComplete(this::onCompleted);
    }

    /** Any thread. */
    private void onCompleted(@Nullable InvokeResult result, @Nullable Throwable error) {
        function.onInvocationEnd(home.ticker().nanoTime() - invokedNanos);
        if (result == null) {
            Throwable cause = error == null ? new CancellationException("no result") : error;
            home.execute(() -> onError(cause));
            return;
        }
        Object outcome;
        try {
            outcome = outcome(result);
        } catch (RuntimeException | Error e) {
            // Usually, memory has run out. The request must be answered.
            home.execute(() -> onError(e));
            return;
        }
        home.execute(() -> onOutcome(outcome));
    }

    /** @return a {@link FunctionResponse} or a {@link Failure} */
    private Object outcome(InvokeResult result) {
        int limit = function.options().maxResponseBytes();
        if (result.functionError() != null) {
            return new Failure(Failure.Kind.FUNCTION_FAILED, "function " + function.name() + " failed");
        }
        if (result.payload().length > limit) {
            return new Failure(
                    Failure.Kind.BAD_RESPONSE,
                    "a response of " + result.payload().length + " bytes of JSON, the limit is " + limit);
        }
        try {
            return function.responses().read(result.payload(), head.method());
        } catch (BadResponseException e) {
            return new Failure(
                    Failure.Kind.BAD_RESPONSE, "the response of function " + function.name() + ": " + e.getMessage());
        }
    }

    private void onOutcome(Object outcome) {
        if (state == State.ABANDONED) {
            end();
            return;
        }
        function.onInvoked();
        if (outcome instanceof FunctionResponse response) {
            answer(response);
        } else {
            fail((Failure) outcome);
        }
    }

    private void answer(FunctionResponse response) {
        Attempt to = attempt();
        if (response.body().length == 0) {
            end();
            to.onHead(response.head(), true);
            return;
        }
        state = State.ANSWERED;
        event = NO_EVENT;
        untakenBytes = response.body().length;
        to.onHead(response.head(), false);
        to.onData(Unpooled.wrappedBuffer(response.body()), true);
    }

    private void onError(Throwable error) {
        if (state == State.ABANDONED) {
            end();
            return;
        }
        Failure failure = function.failure(error);
        boolean preparing = failure.kind() == Failure.Kind.QUEUE_TIMEOUT;
        long leftNanos = patientUntilNanos - home.ticker().nanoTime();
        if (preparing && leftNanos > 0 && patienceNanos > 0) {
            sendLater(leftNanos);
        } else if (preparing && patienceNanos == 0 || failure.kind() == Failure.Kind.THROTTLED) {
            Attempt to = attempt();
            end();
            // The function has not seen the request, so a worker may still serve it.
            to.onRefused(failure);
        } else {
            fail(failure);
        }
    }

    /** Waits with full jitter, at the longest until the request's patience ends. */
    private void sendLater(long leftNanos) {
        state = State.WAITING;
        long bound = Math.min(MAX_BACKOFF_NANOS, FIRST_BACKOFF_NANOS << Math.min(notReady++, 10));
        long pause = bound / 8 + ThreadLocalRandom.current().nextLong(bound);
        home.schedule(
                () -> {
                    if (state == State.WAITING) {
                        send();
                    }
                },
                Math.min(leftNanos, pause),
                TimeUnit.NANOSECONDS);
    }

    private void fail(Failure failure) {
        Attempt to = attempt();
        end();
        to.onFailure(failure);
    }

    private Attempt attempt() {
        if (attempt == null) {
            throw new IllegalStateException("carries nothing in state " + state);
        }
        return attempt;
    }

    private void end() {
        state = State.ENDED;
        event = NO_EVENT;
        if (body != null) {
            body.release();
        }
        if (counted) {
            function.onCallEnded();
        }
    }
}
