package io.lambdadispatcher.wire.http2;

import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http2.DefaultHttp2LocalFlowController;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Stream;
import org.jspecify.annotations.Nullable;

/**
 * The windows of a server in which a peer may send. A peer that exceeds one loses its connection
 * before anything is counted (RFC 9113 section 6.9.1).
 *
 * <p>Netty counts first. If it then fails, the decoder returns bytes that were never taken: twice
 * the bytes of a stream, or it throws another error instead of FLOW_CONTROL_ERROR, and the peer
 * keeps sending. Event loop only.
 */
final class StrictFlowController extends DefaultHttp2LocalFlowController {
    private final Http2Connection connection;
    private boolean violated;

    StrictFlowController(Http2Connection connection) {
        super(connection);
        this.connection = connection;
    }

    @Override
    public void receiveFlowControlledFrame(@Nullable Http2Stream stream, ByteBuf data, int padding, boolean endOfStream)
            throws Http2Exception {
        int bytes = data.readableBytes() + padding;
        if (violated || bytes > room(connection.connectionStream()) || stream != null && bytes > room(stream)) {
            violated = true;
            throw Http2Exception.connectionError(Http2Error.FLOW_CONTROL_ERROR, "a flow-control window was exceeded");
        }
        super.receiveFlowControlledFrame(stream, data, padding, endOfStream);
    }

    /** A closed stream has no window. Its bytes count only for the connection. */
    private int room(Http2Stream stream) {
        return stream.state() == Http2Stream.State.CLOSED ? Integer.MAX_VALUE : windowSize(stream);
    }

    /**
     * Returns nothing after a violation, because the decoder would return bytes that were not
     * counted.
     */
    @Override
    public boolean consumeBytes(Http2Stream stream, int bytes) throws Http2Exception {
        return !violated && super.consumeBytes(stream, bytes);
    }
}
