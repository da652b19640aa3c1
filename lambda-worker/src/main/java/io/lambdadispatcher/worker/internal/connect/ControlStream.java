package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.http2.DataOutlet;
import io.lambdadispatcher.wire.worker.ControlCodec;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.FrameReader;
import io.lambdadispatcher.wire.worker.FrameType;
import io.lambdadispatcher.wire.worker.WireException;
import io.lambdadispatcher.worker.internal.relay.StreamHost;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Stream;

/** The worker's end of the control stream: authenticated messages in and out. Event loop only. */
final class ControlStream implements FrameReader.Listener {

    /** Takes the dispatcher's messages. */
    interface Listener {
        void onMessage(ControlMessage message);
    }

    private static final int USUAL_MESSAGE_BYTES = 256;

    private final StreamHost host;
    private final Http2Stream stream;
    private final Listener listener;
    private final ControlCodec codec;
    private final FrameReader reader;
    private final DataOutlet outlet;

    ControlStream(StreamHost host, Http2Stream stream, String token, Listener listener) {
        this.host = host;
        this.stream = stream;
        this.listener = listener;
        this.codec = new ControlCodec(ControlCodec.Role.WORKER, token);
        this.reader = FrameReader.ofControlStream(host.ctx().alloc(), this);
        this.outlet = new DataOutlet(host.http2(), host.ctx(), stream, bodyBytes -> {});
    }

    Http2Stream stream() {
        return stream;
    }

    /** @throws WireException if the octets cannot be trusted: the connection is of no use any more */
    void read(ByteBuf in) throws WireException {
        reader.read(in);
    }

    void send(ControlMessage message) {
        ByteBuf out = host.ctx().alloc().directBuffer(USUAL_MESSAGE_BYTES);
        codec.write(out, message);
        outlet.meta(out);
        host.http2().flushSoon();
    }

    /** The last message. */
    void sendLast(ControlMessage message) {
        send(message);
        outlet.end();
    }

    void close() {
        reader.close();
        outlet.close();
    }

    @Override
    public void onData(ByteBuf part, boolean end) {
        // The reader refuses DATA on a control stream.
        part.release();
    }

    @Override
    public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
        listener.onMessage(codec.read(type, payload, offset));
    }
}
