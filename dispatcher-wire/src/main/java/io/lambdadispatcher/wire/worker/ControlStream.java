package io.lambdadispatcher.wire.worker;

import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.http2.DataOutlet;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.Http2Stream;

/** One end of a control stream: reads and writes authenticated messages. Event loop only. */
public final class ControlStream implements FrameReader.Listener {

    /** Takes the peer's messages. */
    public interface Listener {
        /**
         * @param offset bytes of the stream before the message, for error messages
         * @throws WireException if the message is not allowed now; {@link #read} passes it on
         */
        void onMessage(ControlMessage message, long offset) throws WireException;
    }

    private static final int USUAL_MESSAGE_BYTES = 256;

    private final CoalescingHttp2Handler handler;
    private final Http2Stream stream;
    private final ControlCodec codec;
    private final Listener listener;
    private final FrameReader reader;
    private final DataOutlet outlet;

    /** @param codec codec of this end of this stream */
    public ControlStream(CoalescingHttp2Handler handler, Http2Stream stream, ControlCodec codec, Listener listener) {
        this.handler = handler;
        this.stream = stream;
        this.codec = codec;
        this.listener = listener;
        this.reader = FrameReader.ofControlStream(handler.ctx().alloc(), this);
        this.outlet = new DataOutlet(handler, handler.ctx(), stream, bodyBytes -> {});
    }

    public Http2Stream stream() {
        return stream;
    }

    /**
     * Reads all of {@code in}, which remains the caller's. Must not be called after {@link #close}.
     *
     * @throws WireException if the bytes cannot be trusted, so that the connection must be closed
     */
    public void read(ByteBuf in) throws WireException {
        reader.read(in);
    }

    public void send(ControlMessage message) {
        ByteBuf out = handler.ctx().alloc().directBuffer(USUAL_MESSAGE_BYTES);
        codec.write(out, message);
        outlet.meta(out);
        handler.flushSoon();
    }

    /** Sends the last message, and ends this end's body with it. */
    public void sendLast(ControlMessage message) {
        send(message);
        outlet.end();
    }

    /** Releases what is held. Further calls have no effect. */
    public void close() {
        reader.close();
        outlet.close();
    }

    @Override
    public void onData(ByteBuf part, boolean end) {
        part.release();
        throw new AssertionError("DATA on a control stream passed the reader");
    }

    @Override
    public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
        listener.onMessage(codec.read(type, payload, offset), offset);
    }
}
