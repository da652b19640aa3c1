package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.wire.event.BadResponseException;
import io.lambdadispatcher.wire.event.BodyBuffer;
import io.lambdadispatcher.wire.event.EventTooLargeException;
import io.lambdadispatcher.wire.event.EventWriter;
import io.lambdadispatcher.wire.event.FunctionResponse;
import io.lambdadispatcher.wire.event.ResponseReader;
import io.lambdadispatcher.wire.http.PrintableText;
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
 * Serves one request as one invocation: gathers its body, makes an event of it, and sends the
 * result as the response.
 *
 * <p><b>Buffers.</b> This class owns the body's buffer until the event is written.
 *
 * <p><b>Threading.</b> Runs on the event loop of the request, except the methods of {@link Answer}
 * and work that would block the loop too long.
 *
 * <p><b>Errors.</b>
 * <ul>
 *   <li>502 if the function fails, or its result is not an HTTP response. A load balancer does the
 *       same.
 *   <li>413 if the request is too large for an event.
 *   <li>500 if this class throws, which includes a lack of memory.
 *   <li>504 after the deadline. The relay enforces it.
 *   <li>The request goes to another worker if no thread is free before the function has seen it.
 * </ul>
 */
final class RequestExchange implements BodyReader, Answer {
    /**
     * Larger bodies are converted to and from JSON on another thread, because 64 MiB keep a thread
     * busy for a second.
     */
    private static final int MOST_INLINE_BYTES = 256 * 1024;

    private static final AsciiString TRACE_ID = AsciiString.cached("x-amzn-trace-id");

    private static final Logger log = LoggerFactory.getLogger(RequestExchange.class);

    /**
     * The parts that all requests share.
     *
     * @param threads runs work that would block an event loop too long
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
     * The body's part of the budget. The thread that ends the body gives it back, which can be any
     * thread.
     */
    private final AtomicLong takenBytes = new AtomicLong();

    private final long timeoutMillis;
    private boolean refused;
    private @Nullable Invocation invocation;

    RequestExchange(Shared shared, Request request, Response response) {
        this.shared = shared;
        this.request = request;
        this.response = response;
        this.body = BodyBuffer.ofRequest(request.headers(), shared.maxBytes());
        this.timeoutMillis = millisLeft();
    }

    private long millisLeft() {
        return request.remaining().map(Duration::toMillis).orElse(InvokeHead.LONGEST_MILLIS);
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

    /** Rejects the request, so that it can go to another worker that may have memory. */
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

    /** Makes the event and submits it. Trailers are dropped, because no event can contain them. */
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

    /** Releases the body. @return the event, or {@code null} if it is too large */
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
            CharSequence trace = request.headers().get(TRACE_ID);
            InvokeHead head = InvokeHead.ofRequest(
                    shared.functionArn(), trace == null ? null : trace.toString(), timeoutMillis, millisLeft());
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

    // The response.

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
            String text = "malformed response of the function: " + e.getMessage();
            badGateway(text, text);
        }
    }

    @Override
    public Stream onStream(String contentType, Runnable resume, Runnable stop) {
        onRequestLoop(() -> {
            response.onWritable(resume);
            request.onCancel(code -> {
                onCancel(code);
                resume.run();
                stop.run();
            });
        });
        return new StreamedResponse(request, response, contentType, this::badGateway);
    }

    @Override
    public void onError(String type, byte[] details) {
        if (log.isDebugEnabled()) {
            String text = type + " " + new String(details, StandardCharsets.UTF_8);
            log.debug("{}: the function failed: {}", request, PrintableText.startOf(text));
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
        badGateway(text, "the function did not answer");
    }

    private void badGateway(String text, String shown) {
        FailureLog.report("runtime", request, new IllegalStateException(text));
        respond(HttpResponseStatus.BAD_GATEWAY, shown);
    }

    private void respond(HttpResponseStatus status, String text) {
        TextAnswers.send(request, response, status, text);
    }

    // Threads and failures.

    private void onRequestLoop(Runnable action) {
        try {
            request.eventLoop().execute(() -> guarded(action));
        } catch (RejectedExecutionException e) {
            log.debug("the response to {} arrived after its connection was closed", request);
        }
    }

    /**
     * Runs an action on another thread.
     *
     * @param onRefusal called immediately if there is no thread. A thread that cannot be created is
     *     an OutOfMemoryError
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
        // Without the message, because the client can see this text. The message is only for the
        // log.
        response.fail(FailureReason.HANDLER_FAILED, "");
    }
}
