package io.lambdadispatcher.worker.adapter.function;

import com.amazonaws.services.lambda.runtime.Context;
import io.lambdadispatcher.wire.event.BadResponseException;
import io.lambdadispatcher.wire.event.BodyBuffer;
import io.lambdadispatcher.wire.event.FunctionResponse;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import io.lambdadispatcher.worker.internal.exchange.HandlerCall;
import io.lambdadispatcher.worker.internal.exchange.HandlerThreads;
import io.lambdadispatcher.worker.internal.exchange.TextAnswers;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.UUID;

/**
 * Serves one request as one call of the user's function. Gathers the body on the event loop. The
 * call has its own thread, which is interrupted if the response is no longer needed.
 */
final class FunctionCall extends HandlerCall implements BodyReader {
    private enum State {
        /** The body is arriving. Confined to the event loop. */
        GATHERING,
        /** The thread runs the call, or will. */
        CALLED,
        /** The request was rejected, or its body broke off. There is no call. */
        ENDED
    }

    private final FunctionHandler handler;
    private final BodyBuffer body;
    private long takenBytes;
    private State state = State.GATHERING;

    FunctionCall(FunctionHandler handler, Request request, Response response) {
        super(request, response);
        this.handler = handler;
        this.body = BodyBuffer.ofRequest(request.headers(), handler.maxBodyBytes);
    }

    /** Starts to read the body. Called on the event loop. */
    void start() {
        request.onCancel(this::interrupt);
        if (body.isTooLarge()) {
            refuseBody();
        } else {
            request.body().read(this);
        }
    }

    // The body.

    @Override
    public void onData(ByteBuf bytes) {
        int size = bytes.readableBytes();
        if (state == State.ENDED) {
            bytes.release();
        } else if (!handler.budget.tryTake(takenBytes, size)) {
            bytes.release();
            end();
            response.fail(FailureReason.REFUSED, "the requests that this worker holds use the maximum memory");
        } else {
            takenBytes += size;
            if (!body.add(bytes)) {
                refuseBody();
            }
        }
    }

    private void end() {
        state = State.ENDED;
        release();
    }

    private void refuseBody() {
        end();
        TextAnswers.send(
                request,
                response,
                HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE,
                "a body of more than " + handler.maxBodyBytes + " bytes cannot be sent to the function");
    }

    /** Calls the function. Trailers are dropped, because no event can contain them. */
    @Override
    public void onEnd(Http2Headers trailers) {
        if (state == State.GATHERING) {
            state = State.CALLED;
            execute(HandlerThreads.shared());
        }
    }

    @Override
    public void onFailed(FailureReason code) {
        if (state == State.GATHERING) {
            end();
            response.fail(code, "the request's body is incomplete");
        }
    }

    // The call.

    @Override
    protected void call() {
        Thread.currentThread().setContextClassLoader(handler.classLoader);
        LambdaRequest.enter(request);
        try {
            String id = UUID.randomUUID().toString();
            Context context = new InvocationContext(id, handler.facts, request);
            ByteArrayInputStream event = new ByteArrayInputStream(event(id));
            ByteArrayOutputStream result = new ByteArrayOutputStream(1024);
            handler.function.call(event, result, context);
            answer(result.toByteArray());
        } catch (Throwable e) {
            fail("function", e, "");
        } finally {
            LambdaRequest.leave();
        }
    }

    @Override
    protected void release() {
        body.release();
        handler.budget.giveBack(takenBytes);
        takenBytes = 0;
    }

    private byte[] event(String id) {
        ByteBuf whole = body.take();
        try {
            return handler.events.write(request.headers(), whole, id, FunctionHandler.MAX_EVENT_BYTES);
        } finally {
            whole.release();
        }
    }

    private void answer(byte[] result) {
        FunctionResponse answer;
        try {
            answer = handler.responses.read(result, request.method());
        } catch (BadResponseException e) {
            FailureLog.report("the response of the function", request, e);
            response.fail(FailureReason.BAD_MESSAGE, String.valueOf(e.getMessage()));
            return;
        }
        if (answer.body().length == 0) {
            response.respond(answer.head());
        } else {
            response.respond(answer.head(), Unpooled.wrappedBuffer(answer.body()));
        }
    }
}
