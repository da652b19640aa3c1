package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.SmallParts;
import io.lambdadispatcher.core.internal.loop.DeadlineQueue;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.http2.DataOutlet;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameLayout;
import io.lambdadispatcher.wire.worker.FrameReader;
import io.lambdadispatcher.wire.worker.FrameType;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadDecoder;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.wire.worker.WireException;
import io.lambdadispatcher.wire.worker.WireException.Reason;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * A worker stream: carries one exchange after the other. Here is the dispatcher's view of the exchange's two directions
 * ({@code docs/PROTOCOL.md}, "Exchanges"); transitions happen in {@link #carry}, {@link #onRequestEnded}, {@link #endResponse},
 * {@link #onResponseEnded}, {@link #endTunnel}, {@link #onLeft}, {@link #onOver}, {@link #responseTaken}, {@link #cancel} and {@link #close}
 * only. Confined to the connection's event loop.
 */
final class WorkerStream extends DeadlineQueue.Entry
        implements Carrier, RequestSink, FrameReader.Listener, DataOutlet.Listener {

    private enum State {
        /** Free. */
        IDLE,
        /** The request is open; so is the response. */
        SENDING,
        /** The request has ended, the response has not. */
        AWAITING,
        /** The worker has ended its direction of a tunnel, the client has not. */
        TUNNEL_ENDING,
        /** Both directions of a tunnel have ended, but the worker has yet to take octets of the client: the next head would wait behind them. */
        LEAVING,
        /** The exchange is over, but its client has yet to take so much of the response that the next one would find too little room in the window. */
        LAGGING,
        /** We have sent CANCEL: the exchange is forgotten, but the stream is free only when the worker has ended the response. */
        ABANDONED,
        CLOSED
    }

    /**
     * What clients may have yet to take when the next exchange begins. With more, the rest of the window could be used up before the half of it has been taken
     * upon which HTTP/2's flow controller tells the worker of new room: the next exchange would wait for the client of this one.
     */
    private static final int MAX_LAG_BYTES = WorkerPort.STREAM_WINDOW_BYTES / 2;
    /** So many DATA frames may wait in the outlet before small ones are made into one: what comes in a turn leaves with that turn's flush as a rule. */
    private static final int MAX_SINGLE_FRAMES = 16;
    /** One exchange in eight is timed: reading the clock costs more than all other counting. */
    private static final int TIMED_MASK = 7;

    private final WorkerConnection connection;
    private final Http2Stream stream;
    private final DataOutlet outlet;
    private final FrameReader reader;
    private final HeadEncoder encoder = new HeadEncoder();
    private final HeadDecoder decoder = new HeadDecoder();
    private final ContentLength responseLength = new ContentLength();

    private State state = State.IDLE;
    /** Where the worker's frames go: SENDING and AWAITING only, and no longer when the last one of the response is passed on, from which we may be called. */
    private @Nullable Attempt attempt;
    /** TUNNEL_ENDING only: whose request goes on, when no frame of the worker may come any more. */
    private @Nullable Attempt ending;

    private boolean tunnel;
    private boolean headSeen;
    private int exchanges;
    private long startNanos;
    private boolean failed;
    private boolean headRequest;

    // Body octets in the outlet or gathered: those of the exchange under way come after those of exchanges that are
    // over.
    private int ownUntaken;
    private int staleUntaken;

    /** DATA frames with octets put into the outlet since it was last without: while there are any, {@link #onTaken} is still to come. */
    private int queuedFrames;
    /** Small parts of the request's body that wait behind those frames, to be one frame: ours, until the outlet has no more body octets or something else follows. */
    private @Nullable ByteBuf gathered;

    /** Octets of responses, of all exchanges so far, that are with their clients' side and still charged to the stream's window. */
    private int responseUntaken;

    // Body octets that nobody wants, within one call of onOctets.
    private int dropped;

    WorkerStream(WorkerConnection connection, Http2Stream stream) {
        this.connection = connection;
        this.stream = stream;
        this.outlet = connection.outlet(stream, this);
        this.reader = FrameReader.ofWorkerStream(connection.allocator(), this);
    }

    @Override
    public String workerId() {
        return connection.workerId();
    }

    // Towards the worker.

    @Override
    public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt forAttempt) {
        assert state == State.IDLE : state;
        ByteBuf frame = outlet.newMeta();
        try {
            FrameWriter.writeRequestHead(frame, encoder, head, timeoutMillis, end);
        } catch (WireException e) {
            frame.release();
            // The worker's HPACK state no longer matches ours.
            connection.reset(stream);
            state = State.AWAITING; // for it has been taken, and is not to be looked for among the free ones
            close(e.getMessage());
            forAttempt.onFailure(new Failure(Failure.Kind.BAD_REQUEST, "request head: " + e.getMessage()));
            return this;
        }
        attempt = forAttempt;
        startNanos = (exchanges++ & TIMED_MASK) == 0 ? connection.nanoTime() : 0;
        failed = false;
        headSeen = false;
        headRequest = Methods.isHead(head.method());
        tunnel = Exchange.isTunnel(head);
        state = end ? State.AWAITING : State.SENDING;
        send(frame);
        return this;
    }

    @Override
    public void data(ByteBuf data, boolean end) {
        if (!isRequestOpen() || !data.isReadable() && !end) {
            data.release();
            return;
        }
        ownUntaken += data.readableBytes();
        if (queuedFrames >= MAX_SINGLE_FRAMES && !end && gather(data)) {
            return;
        }
        sendGathered();
        while (data.readableBytes() > FrameLayout.MAX_PAYLOAD_BYTES) {
            sendData(data.readRetainedSlice(FrameLayout.MAX_PAYLOAD_BYTES), false);
        }
        sendData(data, end);
        if (end) {
            onRequestEnded();
        }
    }

    /** @return false if it is too large for that, and still the caller's */
    private boolean gather(ByteBuf data) {
        ByteBuf together = SmallParts.add(gathered, data);
        if (together == null && gathered != null) {
            sendGathered();
            together = SmallParts.add(null, data);
        }
        gathered = together == null ? gathered : together;
        return together != null;
    }

    private void sendGathered() {
        ByteBuf data = gathered;
        if (data != null) {
            gathered = null;
            sendData(data, false);
        }
    }

    private int gatheredBytes() {
        return gathered == null ? 0 : gathered.readableBytes();
    }

    private void dropGathered() {
        if (gathered != null) {
            ownUntaken -= gathered.readableBytes();
            gathered.release();
            gathered = null;
        }
    }

    private boolean isRequestOpen() {
        return state == State.SENDING && attempt != null || state == State.TUNNEL_ENDING;
    }

    private void sendData(ByteBuf data, boolean end) {
        ByteBuf header = outlet.newMeta();
        FrameWriter.writeDataHeader(header, data.readableBytes(), end);
        outlet.meta(header);
        queuedFrames += data.isReadable() ? 1 : 0;
        outlet.body(data);
        connection.flushSoon();
    }

    @Override
    public void trailers(Http2Headers trailers) {
        if (!isRequestOpen()) {
            return;
        }
        sendGathered();
        ByteBuf frame = outlet.newMeta();
        try {
            FrameWriter.writeTrailers(frame, encoder, trailers);
        } catch (WireException e) {
            frame.release();
            connection.reset(stream);
            close(e.getMessage());
            return;
        }
        send(frame);
        onRequestEnded();
    }

    @Override
    public void cancel(ErrorCode code) {
        if (attempt != null) {
            sendCancel(code);
            failed |= code == ErrorCode.TIMEOUT || code == ErrorCode.BAD_MESSAGE;
            forgetExchange();
            state = State.ABANDONED;
            connection.expectFromWorker(this);
        } else if (state == State.TUNNEL_ENDING) {
            sendCancel(code);
            endTunnel();
        }
    }

    @Override
    public void responseTaken(int bytes) {
        if (state == State.CLOSED) {
            return;
        }
        connection.returnToWindow(stream, bytes);
        responseUntaken -= bytes;
        if (state == State.LAGGING && responseUntaken <= MAX_LAG_BYTES) {
            state = State.IDLE;
            connection.onStreamCaughtUp(this);
        }
    }

    private void sendCancel(ErrorCode code) {
        ByteBuf frame = outlet.newMeta();
        FrameWriter.writeCancel(frame, code);
        send(frame);
    }

    private void send(ByteBuf frame) {
        outlet.meta(frame);
        connection.flushSoon();
    }

    private void onRequestEnded() {
        if (state == State.TUNNEL_ENDING) {
            endTunnel();
        } else {
            state = State.AWAITING;
        }
    }

    /** The response has ended before. */
    private void endTunnel() {
        forgetExchange();
        state = State.LEAVING;
        connection.expectFromWorker(this);
        onLeft();
    }

    private void onLeft() {
        if (state == State.LEAVING && staleUntaken == 0) {
            connection.onAnswered(this);
            onOver();
        }
    }

    /** Nothing of the exchange is left but, perhaps, what its client has yet to take, which may be for as long as that client likes. */
    private void onOver() {
        if (responseUntaken <= MAX_LAG_BYTES) {
            state = State.IDLE;
            connection.onStreamFree(this);
        } else {
            state = State.LAGGING;
            connection.onStreamLags();
        }
    }

    @Override
    public void onTaken(int bodyBytes) {
        int stale = Math.min(bodyBytes, staleUntaken);
        staleUntaken -= stale;
        if (state == State.LEAVING) {
            connection.onAnswered(this);
            connection.expectFromWorker(this);
            connection.execute(this::onLeft); // for the outlet must not be written to from here
        }
        int own = bodyBytes - stale;
        ownUntaken -= own;
        if (ownUntaken + staleUntaken == gatheredBytes()) {
            onOutletDrained();
        }
        Attempt to = attempt == null ? ending : attempt;
        if (own > 0 && to != null) {
            to.onRequestTaken(own);
        }
    }

    private void onOutletDrained() {
        queuedFrames = 0;
        if (gathered != null) {
            connection.execute(this::sendGathered); // not from here, as above
        }
    }

    // From the worker.

    /** DATA has arrived on the HTTP/2 stream. @return the octets to give back to the window at once */
    int onOctets(ByteBuf octets) {
        if (state == State.CLOSED) {
            return octets.readableBytes();
        }
        dropped = 0;
        try {
            return reader.read(octets) + dropped;
        } catch (WireException e) {
            connection.onViolation(stream, e);
            close(e.getMessage());
            // Not returned: the closed stream's octets go back to the connection's window by themselves.
            return 0;
        }
    }

    @Override
    public void onData(ByteBuf part, boolean end) throws WireException {
        Attempt current = attempt;
        if (current == null || !headSeen) {
            int bytes = part.readableBytes();
            part.release();
            verify(state == State.ABANDONED, FrameType.DATA);
            dropped += bytes;
            endAbandonedIf(end);
            return;
        }
        if (!responseLength.add(part.readableBytes(), end)) {
            dropped += part.readableBytes();
            part.release();
            failBadLength(current, end);
            return;
        }
        responseUntaken += part.readableBytes();
        if (!end) {
            current.onData(part, false);
            return;
        }
        boolean goesOn = endResponse(current);
        current.onData(part, true);
        if (!goesOn) {
            onResponseEnded();
        }
    }

    @Override
    public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
        switch (type) {
            case RESPONSE_HEAD -> onResponseHead(decoder.decode(payload, offset), end);
            case INTERIM -> onInterim(decoder.decode(payload, offset));
            case TRAILERS -> onTrailers(decoder.decode(payload, offset));
            case RESET -> onReset(payload);
            default -> throw notAllowed(type);
        }
    }

    private void onInterim(Http2Headers head) throws WireException {
        Attempt current = attempt;
        if (current == null) {
            verify(state == State.ABANDONED, FrameType.INTERIM);
        } else {
            verify(!headSeen, FrameType.INTERIM);
            CharSequence status = head.status();
            if (!StatusCode.isInterim(StatusCode.parse(status))) {
                throw new WireException(Reason.BAD_HEAD, 0, "INTERIM with status " + status + ", expected 1xx but 101");
            }
            current.onInterim(head);
        }
    }

    private void onResponseHead(FlatHeaders head, boolean end) throws WireException {
        Attempt current = attempt;
        if (current == null) {
            verify(state == State.ABANDONED, FrameType.RESPONSE_HEAD);
            endAbandonedIf(end);
            return;
        }
        verify(!headSeen, FrameType.RESPONSE_HEAD);
        int status = verifiedStatus(head);
        headSeen = true;
        failed = status >= 500;
        if (!readLength(head, status)) {
            String values = head.getAll(HttpHeaderNames.CONTENT_LENGTH).toString();
            failBadResponse(current, end, "response with content-length " + values + ", expected one number");
            return;
        }
        if (!end) {
            current.onHead(head, false);
            return;
        }
        if (!responseLength.add(0, true)) {
            failBadLength(current, true);
            return;
        }
        boolean goesOn = endResponse(current);
        current.onHead(head, true);
        if (!goesOn) {
            onResponseEnded();
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

    /** @return false if nobody could say where the response ends (RFC 9112 section 6.3); whom we pass it on to might think otherwise */
    private boolean readLength(FlatHeaders head, int status) {
        if (tunnel && opensTunnel(status)) {
            responseLength.expectAny();
            return true;
        }
        return responseLength.expectResponse(head, status, headRequest);
    }

    /** RFC 9110 section 9.3.6: with any other status it is a response like others; in an open tunnel content-length says nothing. */
    private boolean opensTunnel(int status) {
        tunnel = StatusCode.isSuccess(status);
        if (tunnel) {
            // An hour's talk does not make a worker slow.
            startNanos = 0;
        }
        return tunnel;
    }

    private void failBadLength(Attempt current, boolean end) {
        failBadResponse(current, end, "the response's body does not match its content-length or status");
    }

    private void failBadResponse(Attempt current, boolean end, String detail) {
        Failure failure = new Failure(Failure.Kind.BAD_RESPONSE, detail);
        if (end) {
            failed = true;
            forgetExchange();
            current.onFailure(failure);
            onResponseEnded();
        } else {
            cancel(ErrorCode.BAD_MESSAGE);
            current.onFailure(failure);
        }
    }

    private void onTrailers(Http2Headers trailers) throws WireException {
        Attempt current = attempt;
        if (current == null) {
            verify(state == State.ABANDONED, FrameType.TRAILERS);
            endAbandonedIf(true);
            return;
        }
        verify(headSeen, FrameType.TRAILERS);
        if (!responseLength.add(0, true)) {
            failBadLength(current, true);
            return;
        }
        boolean goesOn = endResponse(current);
        current.onTrailers(trailers);
        if (!goesOn) {
            onResponseEnded();
        }
    }

    private void onReset(ByteBuf payload) throws WireException {
        ErrorCode code = ErrorCode.ofCode(payload.readInt());
        String text = payload.toString(StandardCharsets.UTF_8);
        Attempt current = attempt;
        if (current == null) {
            verify(state == State.ABANDONED, FrameType.RESET);
            endAbandonedIf(true);
            return;
        }
        failed = code != ErrorCode.REFUSED;
        forgetExchange();
        switch (code) {
            case REFUSED ->
                current.onRefused(failure(Failure.Kind.WORKER_LOST, "the worker refused the request", text));
            case GOING_AWAY -> current.onLost(failure(Failure.Kind.WORKER_LOST, "the worker went away", text));
            case TIMEOUT -> current.onFailure(failure(Failure.Kind.TIMEOUT, "the handler timed out", text));
            case CANCELLED -> current.onFailure(failure(Failure.Kind.HANDLER_CANCELLED, "the handler broke off", text));
            case BAD_MESSAGE ->
                current.onFailure(failure(Failure.Kind.BAD_RESPONSE, "the handler's response is malformed", text));
            default -> current.onFailure(failure(Failure.Kind.HANDLER_FAILED, "the handler failed", text));
        }
        onResponseEnded();
    }

    private static Failure failure(Failure.Kind kind, String what, String text) {
        return new Failure(kind, text.isEmpty() ? what : what + ": " + text);
    }

    private void verify(boolean allowed, FrameType type) throws WireException {
        if (!allowed) {
            throw notAllowed(type);
        }
    }

    private WireException notAllowed(FrameType type) {
        return new WireException(
                Reason.FRAME_NOT_ALLOWED_HERE,
                0,
                type + " in state " + state + (headSeen ? " after" : " before") + " the head");
    }

    /** What the worker has owed for too long, in words. */
    String owed() {
        return state == State.LEAVING ? "the last octets of a tunnel not taken in time" : "CANCEL not answered in time";
    }

    private void endAbandonedIf(boolean end) {
        if (end) {
            connection.onAnswered(this);
            onResponseEnded();
        }
    }

    private void forgetExchange() {
        attempt = null;
        ending = null;
        dropGathered();
        connection.onExchangeEnd(failed, startNanos == 0 ? 0 : connection.nanoTime() - startNanos);
        staleUntaken += ownUntaken;
        ownUntaken = 0;
    }

    /** The worker's part is over. @return whether the client's goes on, which is so in a tunnel */
    private boolean endResponse(Attempt current) {
        if (tunnel && state == State.SENDING) {
            attempt = null;
            ending = current;
            state = State.TUNNEL_ENDING;
            return true;
        }
        forgetExchange();
        return false;
    }

    private void onResponseEnded() {
        if (state == State.CLOSED) {
            return;
        }
        if (state == State.SENDING) {
            sendCancel(ErrorCode.NOT_NEEDED);
        }
        onOver();
    }

    /** The stream is no more: reset by either side, or its connection has gone. */
    void close(@Nullable String reason) {
        if (state == State.CLOSED) {
            return;
        }
        State before = state;
        state = State.CLOSED;
        Attempt current = attempt == null ? ending : attempt;
        attempt = null;
        ending = null;
        dropGathered();
        outlet.close();
        reader.close();
        connection.onAnswered(this);
        connection.onStreamClosed(this, before == State.IDLE || before == State.LAGGING);
        if (current != null) {
            connection.onExchangeEnd(true, 0);
            current.onLost(new Failure(Failure.Kind.WORKER_LOST, "the worker was lost: " + reason));
        }
    }

    Http2Stream http2() {
        return stream;
    }
}
