package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameReader;
import io.lambdadispatcher.wire.worker.FrameType;
import io.lambdadispatcher.wire.worker.HeadDecoder;
import io.lambdadispatcher.wire.worker.WireException;
import io.lambdadispatcher.wire.worker.WireException.Reason;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Reads and checks the worker's frames of a worker stream, and passes responses on to the attempt
 * that waits for them. Before a frame that ends the response is passed on, it calls {@link
 * WorkerStream}, which changes the state. Event loop only.
 */
final class ResponseReceiver implements FrameReader.Listener {
    /**
     * Maximum number of interim responses and TIMING frames of one response. No back-pressure
     * limits them, so they could fill the queue of the client's event loop. A handler that sends an
     * interim response each second for 15 minutes stays below it.
     */
    private static final int MAX_SIDE_FRAMES = 1000;

    private static final String BAD_LENGTH = "the response's body does not match its content-length or status";

    private final WorkerStream stream;
    private final WindowLedger window;
    private final FrameReader reader;
    private final HeadDecoder decoder = new HeadDecoder();
    private final ContentLength length = new ContentLength();

    /** {@code null} if no response is expected, or if nobody wants the rest. */
    private @Nullable Attempt attempt;

    private boolean tunnel;
    private boolean headSeen;
    private boolean failed;
    private boolean headRequest;
    private int sideFrames;

    // Number of body bytes that the current call of read() has discarded.
    private int dropped;

    ResponseReceiver(WorkerStream stream, ByteBufAllocator allocator, WindowLedger window) {
        this.stream = stream;
        this.window = window;
        this.reader = FrameReader.ofWorkerStream(allocator, this);
    }

    /** A request was sent. Its response goes to {@code forAttempt}. */
    void expect(Http2Headers request, Attempt forAttempt) {
        attempt = forAttempt;
        CharSequence method = request.method();
        tunnel = Methods.isConnect(method);
        headSeen = false;
        failed = false;
        sideFrames = 0;
        headRequest = Methods.isHead(method);
    }

    /** Nobody wants the rest of the response, or there is none. */
    void forget() {
        attempt = null;
    }

    void close() {
        forget();
        reader.close();
    }

    /** Returns whether the request has opened a tunnel. */
    boolean isTunnel() {
        return tunnel && headSeen;
    }

    /** Returns whether the status of the response is a server error. */
    boolean hasFailed() {
        return failed;
    }

    boolean isInsideFrame() {
        return reader.isInsideFrame();
    }

    /** @return number of bytes to return to the window now */
    int read(ByteBuf in) throws WireException {
        dropped = 0;
        return reader.read(in) + dropped;
    }

    // Frames.

    @Override
    public void onData(ByteBuf part, boolean end) throws WireException {
        Attempt to = headSeen ? attempt : null;
        int bytes = part.readableBytes();
        if (to == null) {
            part.release();
            receiver(FrameType.DATA, false);
            dropped += bytes;
            stream.onAbandonedFrame(end);
        } else if (!length.add(bytes, end)) {
            part.release();
            dropped += bytes;
            fail(to, end, BAD_LENGTH);
        } else {
            window.onResponse(bytes);
            stream.onPassingOn(end);
            to.onData(part, end);
        }
    }

    @Override
    public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
        switch (type) {
            case RESPONSE_HEAD -> onHead(decoder.decode(payload, offset), end);
            case INTERIM -> onInterim(decoder.decode(payload, offset));
            case TRAILERS -> onTrailers(decoder.decode(payload, offset));
            case TIMING -> onTiming(payload.readUnsignedInt(), payload.readUnsignedInt());
            case RESET -> onReset(ErrorCode.ofCode(payload.readInt()), payload.toString(StandardCharsets.UTF_8));
            default -> throw notAllowed(type);
        }
    }

    private void onInterim(Http2Headers head) throws WireException {
        Attempt to = receiver(FrameType.INTERIM, !headSeen);
        if (to != null) {
            verifyInterim(head.status());
            if (sideFrames < MAX_SIDE_FRAMES) {
                sideFrames++;
                to.onInterim(head);
            } else {
                stream.onInterimDropped();
            }
        }
    }

    private void onHead(FlatHeaders head, boolean end) throws WireException {
        Attempt to = receiver(FrameType.RESPONSE_HEAD, !headSeen);
        if (to == null) {
            stream.onAbandonedFrame(end);
            return;
        }
        int status = verifiedStatus(head);
        headSeen = true;
        failed = status >= 500;
        stream.onAnswer();
        tunnel = tunnel && TunnelHead.opens(head);
        if (!expectBody(head, status)) {
            String values = head.getAll(HttpHeaderNames.CONTENT_LENGTH).toString();
            fail(to, end, "response with content-length " + values + ", expected one number");
        } else if (end && !length.add(0, true)) {
            fail(to, true, BAD_LENGTH);
        } else {
            boolean reusable = to.isDoneWithHead();
            stream.onPassingOn(end);
            to.onHead(head, end);
            if (reusable) {
                decoder.reuse(head);
            }
        }
    }

    private void onTrailers(Http2Headers trailers) throws WireException {
        Attempt to = receiver(FrameType.TRAILERS, headSeen);
        if (to == null) {
            stream.onAbandonedFrame(true);
        } else if (!length.add(0, true)) {
            fail(to, true, BAD_LENGTH);
        } else {
            stream.onPassingOn(true);
            to.onTrailers(trailers);
        }
    }

    private void onTiming(long waitMicros, long handlerMicros) throws WireException {
        Attempt to = receiver(FrameType.TIMING, true);
        if (to != null && sideFrames < MAX_SIDE_FRAMES) {
            sideFrames++;
            to.onTiming(waitMicros, handlerMicros);
        }
    }

    private void onReset(ErrorCode code, String text) throws WireException {
        Attempt to = receiver(FrameType.RESET, true);
        if (to == null) {
            stream.onAbandonedFrame(true);
            return;
        }
        if (code == ErrorCode.REFUSED) {
            stream.onRefusing();
        } else if (code == ErrorCode.BUSY && !headSeen) {
            stream.onBusy();
        } else {
            stream.onExchangeEnding(true);
        }
        switch (code) {
            case BUSY -> to.onBusy(failure(Failure.Kind.WORKER_LOST, "the worker was busy", text));
            case REFUSED -> to.onRefused(failure(Failure.Kind.WORKER_LOST, "the worker refused the request", text));
            case GOING_AWAY -> to.onLost(failure(Failure.Kind.WORKER_LOST, "the worker exits", text));
            case TIMEOUT -> to.onFailure(failure(Failure.Kind.TIMEOUT, "the handler timed out", text));
            case CANCELLED ->
                to.onFailure(failure(Failure.Kind.HANDLER_CANCELLED, "the handler cancelled the response", text));
            case BAD_MESSAGE ->
                to.onFailure(failure(Failure.Kind.BAD_RESPONSE, "the handler's response is malformed", text));
            default -> to.onFailure(failure(Failure.Kind.HANDLER_FAILED, "the handler failed", text));
        }
    }

    private static Failure failure(Failure.Kind kind, String what, String text) {
        return new Failure(kind, text.isEmpty() ? what : what + ": " + text);
    }

    /** The response is malformed. The exchange fails, and the stream stays usable. */
    private void fail(Attempt to, boolean end, String detail) {
        Failure failure = new Failure(Failure.Kind.BAD_RESPONSE, detail);
        if (end) {
            stream.onExchangeEnding(true);
            to.onFailure(failure);
        } else {
            stream.cancel(ErrorCode.BAD_MESSAGE);
            to.onFailure(failure);
        }
    }

    /** @return {@code null} if nobody wants the frame */
    private @Nullable Attempt receiver(FrameType type, boolean allowed) throws WireException {
        if (attempt == null ? !stream.isAbandoned() : !allowed) {
            throw notAllowed(type);
        }
        return attempt;
    }

    private WireException notAllowed(FrameType type) {
        return new WireException(
                Reason.FRAME_NOT_ALLOWED_HERE,
                0,
                type + " in state " + stream.stateName() + (headSeen ? " after" : " before") + " the head");
    }

    // Status and content-length.

    private static void verifyInterim(@Nullable CharSequence status) throws WireException {
        if (!StatusCode.isInterim(StatusCode.parse(status))) {
            throw new WireException(Reason.BAD_HEAD, 0, "INTERIM with status " + status + ", expected 1xx except 101");
        }
    }

    private static int verifiedStatus(Http2Headers head) throws WireException {
        int status = StatusCode.parse(head.status());
        if (!StatusCode.isFinal(status)) {
            throw new WireException(
                    Reason.BAD_HEAD, 0, "response with status " + head.status() + ", expected 200 to 999");
        }
        return status;
    }

    /**
     * @return false if the end of the response is ambiguous (RFC 9112 section 6.3), so that the
     *     client could see another end than the dispatcher
     */
    private boolean expectBody(FlatHeaders head, int status) {
        if (tunnel) {
            length.expectAny();
            return true;
        }
        return length.expectResponse(head, status, headRequest);
    }
}
