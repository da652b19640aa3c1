package io.lambdadispatcher.core.internal.direct;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.loop.Handover;
import io.lambdadispatcher.core.spi.FunctionInvoker.InvokeResult;
import io.lambdadispatcher.wire.event.BadResponseException;
import io.lambdadispatcher.wire.event.EventTooLargeException;
import io.lambdadispatcher.wire.event.FunctionResponse;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.EmptyHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * One request as one invocation: gathers the body, invokes the function when it is whole, answers with what came back. Confined to the
 * client's event loop; only the response's JSON is read on the thread that brought it.
 *
 * <p>The body is copied as it arrives, unlike everywhere else: a retained slice of a single octet would keep the whole buffer that it was read into, for as
 * long as the client likes to drip.
 */
final class DirectCall implements Carrier, RequestSink {

    private enum State {
        /** The body arrives; the call is counted. */
        GATHERING,
        /** The function has the event, or fails to get it. */
        INVOKED,
        /** The client has yet to take some of the response, which is held for it in whole. */
        ANSWERED,
        /** Failed, cancelled, or the response is taken; the body is released and the call counted off. */
        ENDED
    }

    private static final int FIRST_BODY_BYTES = 4096;

    private final DirectFunction function;
    private final Handover home;

    private State state = State.GATHERING;
    private Http2Headers head = EmptyHttp2Headers.INSTANCE;
    private @Nullable Attempt attempt;
    private @Nullable ByteBuf body;
    private @Nullable CompletionStage<InvokeResult> invocation;
    private int untakenBytes;

    /** {@link DirectFunction#tryBeginCall} has said true, and {@link #carry} is called next. */
    DirectCall(DirectFunction function, Handover home) {
        this.function = function;
        this.home = home;
    }

    /** There is none: the function's environments are AWS's. */
    @Override
    public @Nullable String workerId() {
        return null;
    }

    @Override
    public RequestSink carry(Http2Headers requestHead, boolean end, int timeoutMillis, Attempt forAttempt) {
        head = requestHead;
        attempt = forAttempt;
        if (announcedBytes(requestHead) > function.options().maxBodyBytes()) {
            refuseBody();
        } else if (end) {
            invoke();
        }
        return this;
    }

    /** Ingress has seen to it that the body agrees with it. */
    private static long announcedBytes(Http2Headers head) {
        return ContentLength.of(head);
    }

    // From the client.

    @Override
    public void data(ByteBuf data, boolean end) {
        Attempt to = attempt;
        if (state != State.GATHERING || to == null) {
            data.release();
            return;
        }
        int bytes = data.readableBytes();
        if (!gather(data)) {
            refuseBody();
        } else if (end) {
            invoke();
        }
        // Last, for the next part may come from within this call.
        to.onRequestTaken(bytes);
    }

    private boolean gather(ByteBuf data) {
        try {
            int gathered = body == null ? 0 : body.readableBytes();
            int bytes = data.readableBytes();
            int limit = function.options().maxBodyBytes();
            if (bytes > limit - gathered) {
                return false;
            }
            if (bytes > 0) {
                if (body == null) {
                    body = ByteBufAllocator.DEFAULT.heapBuffer(Math.max(bytes, FIRST_BODY_BYTES));
                }
                body.writeBytes(data);
            }
            return true;
        } finally {
            data.release();
        }
    }

    private void refuseBody() {
        fail(new Failure(
                Failure.Kind.TOO_LARGE,
                "a body of more than " + function.options().maxBodyBytes() + " octets cannot be given to function "
                        + function.name()));
    }

    /** No event has a place for trailers. */
    @Override
    public void trailers(Http2Headers trailers) {
        if (state == State.GATHERING && attempt != null) {
            invoke();
        }
    }

    @Override
    public void cancel(ErrorCode code) {
        if (state != State.ENDED) {
            CompletionStage<InvokeResult> waitedFor = invocation;
            end();
            if (waitedFor != null) {
                waitedFor.toCompletableFuture().cancel(true);
            }
        }
    }

    /** There is no window to open. Comes also for what a client that has gone will never take. */
    @Override
    public void responseTaken(int bytes) {
        untakenBytes -= bytes;
        if (state == State.ANSWERED && untakenBytes <= 0) {
            end();
        }
    }

    // To the function and back.

    private void invoke() {
        state = State.INVOKED;
        byte[] event;
        try {
            event = function.events()
                    .write(
                            head,
                            body == null ? Unpooled.EMPTY_BUFFER : body,
                            function.options().maxEventBytes());
        } catch (EventTooLargeException e) {
            fail(new Failure(
                    Failure.Kind.TOO_LARGE, e.getMessage() + " cannot be given to function " + function.name()));
            return;
        } finally {
            releaseBody();
        }
        CompletionStage<InvokeResult> begun;
        try {
            begun = function.invoker().invoke(function.name(), event);
        } catch (RuntimeException e) {
            onError(e);
            return;
        }
        invocation = begun;
        begun.whenComplete(this::onCompleted);
    }

    /** Any thread. */
    private void onCompleted(@Nullable InvokeResult result, @Nullable Throwable error) {
        if (result == null) {
            Throwable cause = error == null ? new CancellationException("no result") : error;
            home.post(() -> onError(cause));
            return;
        }
        Object outcome = outcome(result);
        home.post(() -> onOutcome(outcome));
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
                    "a response of " + result.payload().length + " octets of JSON, the limit is " + limit);
        }
        try {
            return function.responses().read(result.payload(), head.method());
        } catch (BadResponseException e) {
            return new Failure(
                    Failure.Kind.BAD_RESPONSE, "the response of function " + function.name() + ": " + e.getMessage());
        }
    }

    private void onOutcome(Object outcome) {
        if (state != State.INVOKED) {
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
        invocation = null;
        untakenBytes = response.body().length;
        to.onHead(response.head(), false);
        to.onData(Unpooled.wrappedBuffer(response.body()), true);
    }

    private void onError(Throwable error) {
        if (state != State.INVOKED) {
            return;
        }
        Failure failure = function.failure(error);
        if (failure.kind() == Failure.Kind.THROTTLED) {
            Attempt to = attempt();
            end();
            // Nobody has seen the request: one that has overflowed may still find a worker.
            to.onRefused(failure);
        } else {
            fail(failure);
        }
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
        invocation = null;
        releaseBody();
        function.onCallEnded();
    }

    private void releaseBody() {
        if (body != null) {
            body.release();
            body = null;
        }
    }
}
