package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.wire.event.BadResponseException;
import io.lambdadispatcher.wire.event.BodyBuffer;
import io.lambdadispatcher.wire.event.EventTooLargeException;
import io.lambdadispatcher.wire.event.EventWriter;
import io.lambdadispatcher.wire.event.FunctionResponse;
import io.lambdadispatcher.wire.event.ResponseReader;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.FailureLog;
import io.lambdadispatcher.worker.internal.exchange.TextAnswers;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One request as an invocation: its body is gathered, it becomes an event, and the answer becomes
 * its response. The body's buffer is ours until the event is written. Runs on the loop of the
 * request, except for what {@link Answer} says and for what would keep that loop too long.
 *
 * <p>A function that fails, or answers what no HTTP response can be made of, is a 502 as behind a
 * load balancer; a request that is too large for an event is a 413; the deadline is the relay's
 * business, a 504. What throws here, memory that is not to be had included, is a 500 at once, and
 * what finds no thread before the function has seen it goes to another worker.
 */
final class RequestExchange implements BodyReader, Answer {
    /**
     * What is larger is turned into JSON and back on another thread: a body of 64 MiB keeps one
     * busy for a second.
     */
    private static final int MOST_INLINE_BYTES = 256 * 1024;

    private static final AsciiString TRACE_ID = AsciiString.cached("x-amzn-trace-id");

    private static final Logger log = LoggerFactory.getLogger(RequestExchange.class);

    /**
     * What all requests share.
     *
     * @param threads for what would keep a loop too long
     */
    record Shared(
            RuntimePool pool,
            EventWriter events,
            ResponseReader answers,
            Executor threads,
            String functionArn,
            int maxBytes) {}

    private final Shared shared;
    private final Request request;
    private final Response response;

    private final BodyBuffer body;

    /**
     * What the body has taken of the budget. Given back on the thread that ends it, whichever that
     * is.
     */
    private final AtomicLong takenBytes = new AtomicLong();

    private boolean refused;
    private @Nullable Invocation invocation;

    RequestExchange(Shared shared, Request request, Response response) {
        this.shared = shared;
        this.request = request;
        this.response = response;
        this.body = BodyBuffer.ofRequest(request.headers(), shared.maxBytes());
    }

    void start() {
        if (body.isTooLarge()) {
            refuseSize();
            return;
        }
        request.onCancel(this::onCancel);
        request.body().read(this);
    }

    private void onCancel(FailureReason code) {
        refused = true;
        releaseBody();
        if (invocation != null) {
            shared.pool().drop(invocation);
        }
    }

    // The request.

    @Override
    public void onData(ByteBuf data) {
        int bytes = data.readableBytes();
        if (refused || !shared.pool().budget().tryTake(takenBytes.get(), bytes)) {
            data.release();
            refuseMemory();
            return;
        }
        takenBytes.addAndGet(bytes);
        if (!body.add(data)) {
            giveBack();
            refuseSize();
        }
    }

    /** Another worker may have room. */
    private void refuseMemory() {
        if (!refused) {
            refused = true;
            releaseBody();
            response.fail(FailureReason.REFUSED, "the requests that this worker buffers use the maximum memory");
        }
    }

    private void releaseBody() {
        body.release();
        giveBack();
    }

    private void giveBack() {
        shared.pool().budget().giveBack(takenBytes.getAndSet(0));
    }

    /** No event has a place for trailers. */
    @Override
    public void onEnd(Http2Headers trailers) {
        if (refused) {
            return;
        }
        ByteBuf whole = body.take();
        if (whole.readableBytes() <= MOST_INLINE_BYTES) {
            submit(event(whole));
        } else {
            Runnable makeEvent = () -> {
                byte @Nullable [] event = event(whole);
                onRequestLoop(() -> submit(event));
            };
            aside(makeEvent, refusal -> {
                whole.release();
                giveBack();
                response.fail(FailureReason.REFUSED, "no thread is free: " + refusal.getMessage());
            });
        }
    }

    /** Releases the body. @return {@code null}: too large */
    private byte @Nullable [] event(ByteBuf whole) {
        try {
            return shared.events().write(request.headers(), whole, shared.maxBytes());
        } catch (EventTooLargeException e) {
            return null;
        } finally {
            whole.release();
            giveBack();
        }
    }

    private void submit(byte @Nullable [] event) {
        if (event == null) {
            refuseSize();
        } else if (request.cancellation() == null) {
            long millisLeft = request.remaining().map(Duration::toMillis).orElse(InvokeHead.LONGEST_MILLIS);
            CharSequence trace = request.headers().get(TRACE_ID);
            InvokeHead head =
                    InvokeHead.ofRequest(shared.functionArn(), trace == null ? null : trace.toString(), millisLeft);
            invocation = new Invocation(head, event, this);
            shared.pool().submit(invocation);
        }
    }

    @Override
    public void onFailed(FailureReason code) {
        refused = true;
        releaseBody();
    }

    private void refuseSize() {
        refused = true;
        respond(
                HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE,
                "an event of more than " + shared.maxBytes() + " bytes cannot be sent to the function");
    }

    // The answer.

    @Override
    public void onWhole(byte[] payload) {
        if (payload.length <= MOST_INLINE_BYTES) {
            onRequestLoop(() -> respond(payload));
        } else {
            aside(() -> respond(payload), this::onThrew);
        }
    }

    private void respond(byte[] payload) {
        try {
            FunctionResponse answer = shared.answers().read(payload, request.method());
            response.respond(answer.head(), Unpooled.wrappedBuffer(answer.body()));
        } catch (BadResponseException e) {
            badGateway("malformed response of the function: " + e.getMessage());
        }
    }

    @Override
    public Stream onStream(String contentType, Runnable resume) {
        onRequestLoop(() -> {
            response.onWritable(resume);
            request.onCancel(code -> {
                onCancel(code);
                resume.run();
            });
        });
        return new StreamedResponse(request, response, contentType, this::badGateway);
    }

    @Override
    public void onError(String type, byte[] details) {
        if (log.isDebugEnabled()) {
            log.debug("{}: the function failed: {} {}", request, type, new String(details, StandardCharsets.UTF_8));
        }
        respond(HttpResponseStatus.BAD_GATEWAY, "the function failed");
    }

    @Override
    public void onFailed(Failure why, String text) {
        switch (why) {
            case REFUSED -> response.fail(FailureReason.REFUSED, text);
            case TIMED_OUT -> response.fail(FailureReason.TIMEOUT, text);
            case CHILD_FAILED -> badGateway(text);
        }
    }

    private void badGateway(String text) {
        FailureLog.report("runtime", request, new IllegalStateException(text));
        respond(HttpResponseStatus.BAD_GATEWAY, "the function did not answer");
    }

    private void respond(HttpResponseStatus status, String text) {
        TextAnswers.send(request, response, status, text);
    }

    // Where things run, and what becomes of them there.

    private void onRequestLoop(Runnable action) {
        try {
            request.eventLoop().execute(() -> guarded(action));
        } catch (RejectedExecutionException e) {
            log.debug("the response to {} arrived after its connection was closed", request);
        }
    }

    /**
     * @param onRefusal called at once where there is no thread: that it cannot be made is an
     *     OutOfMemoryError
     */
    private void aside(Runnable action, Consumer<Throwable> onRefusal) {
        try {
            shared.threads().execute(() -> guarded(action));
        } catch (RejectedExecutionException | OutOfMemoryError e) {
            onRefusal.accept(e);
        }
    }

    private void guarded(Runnable action) {
        try {
            action.run();
        } catch (Throwable e) {
            onThrew(e);
        }
    }

    private void onThrew(Throwable cause) {
        FailureLog.report("runtime", request, cause);
        // The message is for the log only: this text gets as far as the client.
        response.fail(FailureReason.HANDLER_FAILED, "");
    }
}
