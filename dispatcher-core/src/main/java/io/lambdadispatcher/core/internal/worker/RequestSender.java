package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.internal.exchange.SmallParts;
import io.lambdadispatcher.wire.http2.DataOutlet;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameLayout;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.wire.worker.WireException;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import org.jspecify.annotations.Nullable;

/**
 * Writes the requests of a worker stream as frames. Bodies are sent by reference, except small
 * parts, which are joined while they wait for the worker. {@link WorkerStream} decides what may be
 * sent when. Event loop only.
 */
final class RequestSender implements DataOutlet.Listener {
    /**
     * Number of DATA frames in the outlet from which on small parts are joined. With fewer, they
     * are joined only if the outlet is blocked, because the flush of this turn usually sends them.
     */
    private static final int MAX_SINGLE_FRAMES = 16;

    private final WorkerStream stream;
    private final WorkerConnection connection;
    private final WindowLedger window;
    private final DataOutlet outlet;
    private final HeadEncoder encoder = new HeadEncoder();

    /**
     * Number of DATA frames with a payload since the outlet last had no body bytes. While it is
     * positive, a call of {@link #onTaken} follows.
     */
    private int queuedFrames;

    /** {@link DataOutlet#writtenBytes} when the headers of the current request have been sent. */
    private long headEnd;

    /**
     * Joined small parts of the body that wait behind the frames in the outlet. They become one
     * frame when the outlet has no more body bytes, or another frame follows. Owned by this object.
     */
    private @Nullable ByteBuf gathered;

    RequestSender(WorkerStream stream, WorkerConnection connection, Http2Stream http2, WindowLedger window) {
        this.stream = stream;
        this.connection = connection;
        this.window = window;
        this.outlet = new DataOutlet(connection.handler, connection.handler.ctx(), http2, this);
    }

    /**
     * @throws WireException if the headers cannot be encoded; the HPACK state of the worker then
     *     differs from ours
     */
    void head(Http2Headers head, int timeoutMillis, boolean end) throws WireException {
        ByteBuf frame = outlet.newMeta();
        try {
            FrameWriter.writeRequestHead(frame, encoder, head, timeoutMillis, end);
        } catch (WireException | RuntimeException | Error e) {
            frame.release();
            throw e;
        }
        send(frame);
        headEnd = outlet.writtenBytes() + outlet.pendingBytes();
    }

    /**
     * Returns whether the worker can know of the current request. What it has sent before that
     * belongs to no response.
     */
    boolean isHeadSent() {
        return outlet.writtenBytes() >= headEnd;
    }

    /** Takes ownership of the buffer, also if it throws an exception. */
    void data(ByteBuf data, boolean end) {
        window.onRequestQueued(data.readableBytes());
        boolean waits = queuedFrames >= MAX_SINGLE_FRAMES || queuedFrames > 0 && outlet.isBlocked();
        if (waits && !end && gather(data)) {
            return;
        }
        sendGatheredBefore(data);
        try {
            while (data.readableBytes() > FrameLayout.MAX_PAYLOAD_BYTES) {
                sendData(data.readRetainedSlice(FrameLayout.MAX_PAYLOAD_BYTES), false);
            }
        } catch (RuntimeException | Error e) {
            data.release();
            throw e;
        }
        sendData(data, end);
    }

    /** @throws WireException see {@link #head} */
    void trailers(Http2Headers trailers) throws WireException {
        sendGathered();
        ByteBuf frame = outlet.newMeta();
        try {
            FrameWriter.writeTrailers(frame, encoder, trailers);
        } catch (WireException | RuntimeException | Error e) {
            frame.release();
            throw e;
        }
        send(frame);
    }

    void cancel(ErrorCode code) {
        ByteBuf frame = outlet.newMeta();
        FrameWriter.writeCancel(frame, code);
        send(frame);
    }

    /**
     * The exchange has ended. Its frames in the outlet are still sent, because frames cannot be
     * withdrawn.
     */
    void onExchangeEnd() {
        dropGathered();
        window.onExchangeEnd();
    }

    /** The stream is closed. Nothing more is sent. */
    void close() {
        dropGathered();
        outlet.close();
    }

    /**
     * Joins a small part with earlier ones.
     *
     * @return false if the buffer is too large to be joined; then it remains the caller's
     */
    private boolean gather(ByteBuf data) {
        ByteBuf joined = SmallParts.add(gathered, data);
        if (joined == null && gathered != null) {
            sendGatheredBefore(data);
            joined = SmallParts.add(null, data);
        }
        gathered = joined == null ? gathered : joined;
        return joined != null;
    }

    /** @param next released if this throws an exception */
    private void sendGatheredBefore(ByteBuf next) {
        try {
            sendGathered();
        } catch (RuntimeException | Error e) {
            next.release();
            throw e;
        }
    }

    private void sendGathered() {
        ByteBuf data = gathered;
        if (data != null) {
            gathered = null;
            sendData(data, false);
        }
    }

    /** A task of its own, because the outlet must not be written to from {@link #onTaken}. */
    private void sendGatheredLater() {
        try {
            sendGathered();
        } catch (RuntimeException | Error e) {
            stream.onUnsent(e);
        }
    }

    private int gatheredBytes() {
        return gathered == null ? 0 : gathered.readableBytes();
    }

    private void dropGathered() {
        if (gathered != null) {
            window.onRequestDropped(gathered.readableBytes());
            gathered.release();
            gathered = null;
        }
    }

    /** Takes ownership of the buffer, also if it throws an exception. */
    private void sendData(ByteBuf data, boolean end) {
        ByteBuf header;
        try {
            header = outlet.newMeta();
        } catch (RuntimeException | Error e) {
            data.release();
            throw e;
        }
        FrameWriter.writeDataHeader(header, data.readableBytes(), end);
        outlet.meta(header);
        queuedFrames += data.isReadable() ? 1 : 0;
        outlet.body(data);
        connection.handler.flushSoon();
    }

    private void send(ByteBuf frame) {
        outlet.meta(frame);
        connection.handler.flushSoon();
    }

    @Override
    public void onTaken(int bodyBytes) {
        int own = window.onRequestTaken(bodyBytes);
        if (window.requestBytes() == gatheredBytes()) {
            queuedFrames = 0;
            if (gathered != null) {
                connection.loop().execute(this::sendGatheredLater);
            }
        }
        stream.onRequestTaken(own);
    }
}
