package io.lambdadispatcher.worker.internal.relay;

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
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.EventExecutor;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The worker's end of a worker stream. It reads frames into exchanges, one after the other, and
 * writes their responses. Event loop only.
 *
 * <p><b>Errors.</b> A violation of the protocol resets the HTTP/2 stream, and with it the exchange
 * in flight. The connection opens another stream.
 */
public final class ServedStream implements FrameReader.Listener, DataOutlet.Listener {

    private static final Logger log = LoggerFactory.getLogger(ServedStream.class);

    private final StreamHost host;
    private final Handler handler;
    private final Http2Stream stream;
    private final FrameReader reader;
    private final HeadDecoder decoder = new HeadDecoder();
    private final HeadEncoder encoder = new HeadEncoder();
    private final DataOutlet outlet;
    private final DeadlineTimer deadline;

    private @Nullable ServedExchange exchange;

    /** Whether the worker has room for the exchange. */
    private boolean admitted;

    private boolean closed;
    private boolean served;
    private boolean misused;

    public ServedStream(StreamHost host, Handler handler, Http2Stream stream) {
        this.host = host;
        this.handler = handler;
        this.stream = stream;
        this.reader = FrameReader.ofWorkerStream(host.http2().ctx().alloc(), this);
        this.outlet = new DataOutlet(host.http2(), host.http2().ctx(), stream, this, true);
        this.deadline = new DeadlineTimer(host.http2().ctx().executor(), this::onDeadline);
    }

    /**
     * Returns whether at least one exchange has ended, and none has made the worker reset the
     * stream. A new stream will probably work, too, and needs no wait. The dispatcher closes a
     * connection that loses streams too often.
     */
    public boolean hasServedWell() {
        return served && !misused;
    }

    /**
     * @return number of bytes of {@code in} that return to the window now; the others follow when
     *     the handler has taken them
     */
    public int read(ByteBuf in) {
        if (closed) {
            return in.readableBytes();
        }
        try {
            return reader.read(in);
        } catch (WireException e) {
            onViolation(e);
            // The window of a stream that was reset needs nothing back.
            return 0;
        }
    }

    /**
     * The dispatcher has ended its body, so no more exchanges and no more frames of this one can
     * arrive.
     */
    public void onPeerEnded() {
        if (!closed) {
            log.debug("worker stream {} ended by the dispatcher", stream.id());
            resetStream(exchange == null ? Http2Error.NO_ERROR : Http2Error.CANCEL);
        }
    }

    /** Ends our body between exchanges, after what is queued. */
    public void end() {
        outlet.end();
        host.http2().flushSoon();
    }

    /** Asks the exchange in flight to end soon. */
    public void drain(Duration grace) {
        if (exchange != null) {
            exchange.onDrain(grace);
        }
    }

    /**
     * Ends the exchange in flight cleanly if its protocol permits it.
     *
     * @param latest whether the grace period is over soon
     */
    public void endCleanly(boolean latest) {
        if (exchange != null) {
            exchange.endCleanly(latest);
        }
    }

    /**
     * Returns the time from the beginning of a drain until exchanges must end cleanly.
     *
     * @param grace the time until they are cut off
     * @param latest whether those must that could end later
     */
    public static Duration untilCleanEnd(Duration grace, boolean latest) {
        return latest ? CleanEnd.latest(grace) : CleanEnd.after(grace);
    }

    /** Resets the exchange in flight. */
    public void abort(FailureReason code, String text) {
        if (exchange != null) {
            exchange.cancel(code, text);
        }
    }

    /** The HTTP/2 stream is closed. Further calls have no effect. */
    public void close(FailureReason code) {
        if (closed) {
            return;
        }
        closed = true;
        reader.close();
        outlet.close();
        deadline.stop();
        ServedExchange cut = exchange;
        if (cut != null) {
            cut.onRequestBroken(code, "the worker stream was closed");
            onProgress(cut);
        }
    }

    private void onViolation(WireException cause) {
        log.warn("worker stream {} reset: {}", stream.id(), cause.getMessage());
        resetStream(Http2Error.PROTOCOL_ERROR);
    }

    private void resetStream(Http2Error error) {
        host.http2().reset(stream, error);
        close(FailureReason.INTERNAL);
    }

    @Override
    public void onData(ByteBuf part, boolean end) throws WireException {
        ServedExchange current = exchange;
        if (current == null || current.request().hasArrived()) {
            part.release();
            throw outOfPlace(FrameType.DATA, 0);
        }
        current.request().onData(part, end);
        onProgress(current);
    }

    @Override
    public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
        switch (type) {
            case REQUEST_HEAD -> onRequestHead(payload, end, offset);
            case TRAILERS -> onTrailers(payload, offset);
            case RESET -> onReset(payload, offset);
            case CANCEL -> onCancel(WireCodes.reason(ErrorCode.ofCode(payload.readInt())));
            default -> throw outOfPlace(type, offset);
        }
    }

    private void onRequestHead(ByteBuf payload, boolean end, long offset) throws WireException {
        if (exchange != null) {
            throw outOfPlace(FrameType.REQUEST_HEAD, offset);
        }
        long timeoutMillis = payload.readUnsignedInt();
        Http2Headers head = decoder.decode(payload, offset);
        ServedExchange next = new ServedExchange(this, head, end, TimeUnit.MILLISECONDS.toNanos(timeoutMillis));
        exchange = next;
        admitted = host.onExchangeStarted();
        if (!host.admits()) {
            next.cancel(FailureReason.REFUSED, "the worker is draining");
            return;
        }
        if (!admitted) {
            next.cancel(FailureReason.REFUSED, "the worker is busy with requests of other dispatchers");
            return;
        }
        if (next.hasDeadline()) {
            deadline.arm(next.deadlineNanos());
        }
        next.handle(handler);
    }

    private void onTrailers(ByteBuf payload, long offset) throws WireException {
        ServedExchange current = openRequest(FrameType.TRAILERS, offset);
        current.request().onTrailers(decoder.decode(payload, offset));
        onProgress(current);
    }

    private void onReset(ByteBuf payload, long offset) throws WireException {
        ServedExchange current = openRequest(FrameType.RESET, offset);
        current.onRequestBroken(WireCodes.reason(ErrorCode.ofCode(payload.readInt())), "cancelled by the dispatcher");
        onProgress(current);
    }

    /**
     * A CANCEL that arrives after the exchange has ended was in transit, and is ignored. So is one
     * of a request that is complete: nothing more of it is needed.
     */
    private void onCancel(FailureReason code) {
        ServedExchange current = exchange;
        boolean complete = code == FailureReason.NOT_NEEDED
                && current != null
                && current.request().hasArrived();
        if (current != null && !complete) {
            current.onRequestBroken(code, "cancelled by the dispatcher");
            onProgress(current);
        }
    }

    private ServedExchange openRequest(FrameType type, long offset) throws WireException {
        ServedExchange current = exchange;
        if (current == null || current.request().hasArrived()) {
            throw outOfPlace(type, offset);
        }
        return current;
    }

    private WireException outOfPlace(FrameType type, long offset) {
        String where = exchange == null ? "between exchanges" : "after the request's end or within it";
        return new WireException(Reason.FRAME_NOT_ALLOWED_HERE, offset, type + " " + where);
    }

    private void onDeadline() {
        if (exchange != null) {
            exchange.onDeadline();
        }
    }

    /** Continues after either direction may have ended. */
    void onProgress(ServedExchange of) {
        if (of != exchange || !of.isOver()) {
            return;
        }
        exchange = null;
        of.request().onOver();
        served = true;
        deadline.disarm();
        host.onExchangeEnded(
                admitted, of.isFailed(), of.request().bytes(), of.response().bytes());
    }

    EventExecutor loop() {
        return host.http2().ctx().executor();
    }

    void disarmDeadline() {
        deadline.disarm();
    }

    @Nullable
    Duration drainGrace() {
        return host.drainGrace();
    }

    long nowNanos() {
        return loop().ticker().nanoTime();
    }

    void giveBack(int bytes) {
        if (!closed) {
            host.http2().giveBack(stream, bytes);
        }
    }

    @Override
    public void onTaken(int bodyBytes) {
        if (exchange != null) {
            exchange.response().onTaken(outlet.pendingBytes());
        }
    }

    @Override
    public void onMisused() {
        misused = true;
        if (!closed) {
            log.error(
                    "worker stream {} is reset, because a handler released or changed a buffer after it had given it to Response.write() or"
                            + " respond(). The response owns what it is given",
                    stream.id());
            resetStream(Http2Error.INTERNAL_ERROR);
        }
    }

    // Calls from the response. Bodies are owned by this object.

    int pendingBytes() {
        return outlet.pendingBytes();
    }

    void interim(Http2Headers head) {
        write(out -> FrameWriter.writeInterim(out, encoder, head));
    }

    void head(Http2Headers head, boolean end) {
        if (end) {
            reportTiming();
        }
        write(out -> FrameWriter.writeResponseHead(out, encoder, head, end));
    }

    void trailers(Http2Headers trailers) {
        reportTiming();
        write(out -> FrameWriter.writeTrailers(out, encoder, trailers));
    }

    void whole(Http2Headers head, ByteBuf body) {
        int bodyBytes = body.readableBytes();
        reportTiming();
        write(out -> {
            FrameWriter.writeResponseHead(out, encoder, head, bodyBytes == 0);
            if (bodyBytes > 0) {
                FrameWriter.writeDataHeader(out, bodyBytes, true);
            }
        });
        outlet.body(body);
    }

    void data(ByteBuf content, boolean end) {
        if (end) {
            reportTiming();
        }
        while (content.readableBytes() > FrameLayout.MAX_PAYLOAD_BYTES) {
            writeData(content.readRetainedSlice(FrameLayout.MAX_PAYLOAD_BYTES), false);
        }
        writeData(content, end);
    }

    private void writeData(ByteBuf content, boolean end) {
        if (content.isReadable() || end) {
            write(out -> FrameWriter.writeDataHeader(out, content.readableBytes(), end));
        }
        outlet.body(content);
    }

    void reset(FailureReason code, String text) {
        reportTiming();
        write(out -> FrameWriter.writeReset(out, admitted ? WireCodes.code(code) : host.busyCode(), text));
    }

    /** Called before the last frame of the response. */
    private void reportTiming() {
        if (exchange != null && exchange.isTimed()) {
            ServedExchange timed = exchange;
            write(out -> FrameWriter.writeTiming(out, timed.handlerWaitMicros(), timed.handlerMicros()));
        }
    }

    private interface Frames {
        void writeTo(ByteBuf out) throws WireException;
    }

    /**
     * If headers cannot be written, HPACK's table is in an unknown state, and if another frame
     * finds no memory, the response is incomplete. So the stream cannot be used any more.
     */
    private void write(Frames frames) {
        ByteBuf out = null;
        try {
            out = outlet.newMeta();
            frames.writeTo(out);
        } catch (WireException | RuntimeException | Error e) {
            ReferenceCountUtil.release(out);
            log.warn("worker stream {} is reset, because a frame cannot be written: {}", stream.id(), e.toString());
            resetStream(Http2Error.INTERNAL_ERROR);
            return;
        }
        outlet.meta(out);
        host.http2().flushSoon();
    }
}
