package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.Context;
import io.lambdadispatcher.wire.event.BadResponseException;
import io.lambdadispatcher.wire.event.BodyBuffer;
import io.lambdadispatcher.wire.event.FunctionResponse;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import io.lambdadispatcher.worker.internal.exchange.TextAnswers;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.UUID;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * One request as one call of the user's function. Gathers the body on the event loop, then runs on a thread of its own, which is interrupted when
 * nobody wants the response any more.
 */
final class FunctionCall implements BodyReader, Runnable {
    private enum State {
        /** The body arrives; confined to the event loop. */
        GATHERING,
        /** The thread has the call, or will. */
        CALLED,
        /** Refused, or the body broke off: there is nothing to call. */
        ENDED
    }

    private final FunctionHandler handler;
    private final Request request;
    private final Response response;

    private final BodyBuffer body;
    private State state = State.GATHERING;

    /** Guards {@link #thread}: the interrupt must not hit the thread's next task. */
    private final Object threadLock = new Object();

    private @Nullable Thread thread;

    FunctionCall(FunctionHandler handler, Request request, Response response) {
        this.handler = handler;
        this.request = request;
        this.response = response;
        this.body = BodyBuffer.ofRequest(request.headers(), handler.maxBodyBytes());
    }

    /** On the event loop. */
    void start() {
        request.onCancel(this::onCancel);
        if (body.isTooLarge()) {
            refuseBody();
        } else {
            request.body().read(this);
        }
    }

    // The body.

    @Override
    public void onData(ByteBuf octets) {
        if (!body.add(octets) && state == State.GATHERING) {
            refuseBody();
        }
    }

    private void refuseBody() {
        state = State.ENDED;
        TextAnswers.send(
                request,
                response,
                HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE,
                "a body of more than " + handler.maxBodyBytes() + " bytes cannot be given to the function");
    }

    /** No event has a place for trailers. */
    @Override
    public void onEnd(Http2Headers trailers) {
        if (state == State.GATHERING) {
            state = State.CALLED;
            execute(handler.threads());
        }
    }

    private void execute(Executor threads) {
        try {
            threads.execute(this);
        } catch (RejectedExecutionException e) {
            body.release();
            response.fail(ErrorCode.REFUSED, "no thread is free: " + e.getMessage());
        }
    }

    @Override
    public void onFailed(ErrorCode code) {
        if (state == State.GATHERING) {
            state = State.ENDED;
            body.release();
            response.fail(code, "the request's body broke off");
        }
    }

    // The call.

    private void onCancel(ErrorCode code) {
        synchronized (threadLock) {
            if (thread != null) {
                thread.interrupt();
            }
        }
    }

    @Override
    public void run() {
        enter();
        try {
            if (request.cancellation() == null) {
                call();
            }
        } catch (Throwable e) {
            onFailure(e);
        } finally {
            leave();
            body.release();
        }
    }

    private void enter() {
        synchronized (threadLock) {
            thread = Thread.currentThread();
        }
        thread.setContextClassLoader(handler.classLoader());
        LambdaRequest.enter(request);
    }

    private void leave() {
        LambdaRequest.leave();
        synchronized (threadLock) {
            thread = null;
        }
        // An interrupt that was meant for this request ends with it.
        Thread.interrupted();
    }

    private void call() throws Throwable {
        String id = UUID.randomUUID().toString();
        Context context = new RequestContext(id, handler.facts(), request);
        ByteArrayInputStream event = new ByteArrayInputStream(event(id));
        ByteArrayOutputStream result = new ByteArrayOutputStream(1024);
        handler.function().call(event, result, context);
        answer(result.toByteArray());
    }

    private byte[] event(String id) {
        ByteBuf whole = body.take();
        try {
            return handler.events().write(request.headers(), whole, id, FunctionHandler.MAX_EVENT_BYTES);
        } finally {
            whole.release();
        }
    }

    private void answer(byte[] result) {
        FunctionResponse answer;
        try {
            answer = handler.responses().read(result, request.method());
        } catch (BadResponseException e) {
            FailureLog.report("the response of the function", request, e);
            response.fail(ErrorCode.BAD_MESSAGE, String.valueOf(e.getMessage()));
            return;
        }
        if (answer.body().length == 0) {
            response.respond(answer.head());
        } else {
            response.respond(answer.head(), Unpooled.wrappedBuffer(answer.body()));
        }
    }

    private void onFailure(Throwable cause) {
        if (request.cancellation() == null) {
            FailureLog.report("function", request, cause);
            // The message is for the log only: this text gets as far as the client.
            response.fail(ErrorCode.HANDLER_FAILED, cause.getClass().getName());
        }
    }
}
