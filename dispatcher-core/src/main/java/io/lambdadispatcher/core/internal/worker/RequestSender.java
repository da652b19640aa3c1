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
 * The requests of a worker stream, written as frames: bodies by reference, except for small parts,
 * which are gathered while they wait for the worker. What may be sent when is {@link
 * WorkerStream}'s to know. Event loop only.
 */
final class RequestSender implements DataOutlet.Listener {
    /**
     * So many DATA frames may wait in the outlet before small ones are made into one: what comes in
     * a turn leaves with that turn's flush as a rule.
     */
    private static final int MAX_SINGLE_FRAMES = 16;

    private final WorkerStream stream;
    private final WorkerConnection connection;
    private final WindowLedger window;
    private final DataOutlet outlet;
    private final HeadEncoder encoder = new HeadEncoder();

    /**
     * DATA frames with a payload put into the outlet since it was last without: while there are
     * any, {@link #onTaken} is still to come.
     */
    private int queuedFrames;

    /**
     * Small parts of the body that wait behind those frames, to be one frame: ours until the outlet
     * has no more body bytes, or something else follows.
     */
    private @Nullable ByteBuf gathered;

    RequestSender(WorkerStream stream, WorkerConnection connection, Http2Stream http2, WindowLedger window) {
        this.stream = stream;
        this.connection = connection;
        this.window = window;
        this.outlet = new DataOutlet(connection.handler, connection.handler.ctx(), http2, this);
    }

    /**
     * @throws WireException if it cannot be encoded: the worker's HPACK state no longer matches
     *     ours then
     */
    void head(Http2Headers head, int timeoutMillis, boolean end) throws WireException {
        ByteBuf frame = outlet.newMeta();
        try {
            FrameWriter.writeRequestHead(frame, encoder, head, timeoutMillis, end);
        } catch (WireException e) {
            frame.release();
            throw e;
        }
        send(frame);
    }

    /** Takes the buffer. */
    void data(ByteBuf data, boolean end) {
        window.onRequestQueued(data.readableBytes());
        boolean waits = queuedFrames >= MAX_SINGLE_FRAMES || queuedFrames > 0 && outlet.isBlocked();
        if (waits && !end && gather(data)) {
            return;
        }
        sendGathered();
        while (data.readableBytes() > FrameLayout.MAX_PAYLOAD_BYTES) {
            sendData(data.readRetainedSlice(FrameLayout.MAX_PAYLOAD_BYTES), false);
        }
        sendData(data, end);
    }

    /** @throws WireException as {@link #head} */
    void trailers(Http2Headers trailers) throws WireException {
        sendGathered();
        ByteBuf frame = outlet.newMeta();
        try {
            FrameWriter.writeTrailers(frame, encoder, trailers);
        } catch (WireException e) {
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
     * The exchange is over. What the outlet has of it is sent nevertheless, because frames cannot
     * be taken back.
     */
    void onExchangeEnd() {
        dropGathered();
        window.onExchangeEnd();
    }

    /** Nothing can be sent any more. */
    void close() {
        dropGathered();
        outlet.close();
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
            window.onRequestDropped(gathered.readableBytes());
            gathered.release();
            gathered = null;
        }
    }

    private void sendData(ByteBuf data, boolean end) {
        ByteBuf header = outlet.newMeta();
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
                connection
                        .loop()
                        .execute(this::sendGathered); // later, because the outlet must not be written to from here
            }
        }
        stream.onRequestTaken(own);
    }
}
