package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.http2.Http2Assembly;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The HTTP/2 handler of a connection to the worker port. It passes frames to an {@link Admission},
 * and then to the {@link WorkerConnection} that replaces it. Event loop only.
 */
final class WorkerPortHandler extends CoalescingHttp2Handler {
    private static final Logger log = LoggerFactory.getLogger(WorkerPortHandler.class);

    private final WorkerPort port;

    /** {@code null} until the peer is admitted. */
    private @Nullable WorkerConnection admitted;

    /** {@code null} after HELLO has arrived. */
    private @Nullable Future<?> handshakeTimer;

    WorkerPortHandler(Http2Assembly.Parts parts, WorkerPort port) {
        super(parts);
        this.port = port;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) throws Exception {
        super.handlerAdded(ctx);
        decoder().frameListener(new Admission(port, this));
        long timeoutMillis = port.access().handshakeTimeout().toMillis();
        handshakeTimer = ctx.executor().schedule(() -> onHandshakeTimeout(ctx), timeoutMillis, TimeUnit.MILLISECONDS);
    }

    /** HELLO has arrived, or the connection is closed. */
    void onHandshakeEnd() {
        if (handshakeTimer != null) {
            handshakeTimer.cancel(false);
            handshakeTimer = null;
        }
    }

    void onAdmitted(WorkerConnection connection) {
        admitted = connection;
        decoder().frameListener(connection);
        connection().addListener(connection);
    }

    private void onHandshakeTimeout(ChannelHandlerContext ctx) {
        if (admitted == null) {
            ctx.close();
        } else {
            admitted.onHandshakeTimeout();
        }
    }

    /**
     * Closes the connection of a peer that is not admitted, because it could cause any number of
     * answers.
     */
    @Override
    protected void onStreamError(
            ChannelHandlerContext ctx, boolean outbound, Throwable cause, Http2Exception.StreamException error) {
        if (error.error() == Http2Error.REFUSED_STREAM) {
            port.observer.onProtection(Protection.WORKER_LIMIT);
        }
        if (outbound || admitted != null) {
            super.onStreamError(ctx, outbound, cause, error);
            // Frames that were in transit when the dispatcher reset the stream are not a violation.
            boolean late = error.error() == Http2Error.STREAM_CLOSED && connection().stream(error.streamId()) == null;
            if (!outbound && !late && admitted != null) {
                admitted.onStreamLost();
            }
        } else {
            onConnectionError(
                    ctx,
                    false,
                    cause,
                    Http2Exception.connectionError(error.error(), "the worker is rejected: %s", error.getMessage()));
        }
    }

    @Override
    protected void onConnectionError(
            ChannelHandlerContext ctx, boolean outbound, Throwable cause, @Nullable Http2Exception error) {
        if (error == null && !(cause instanceof IOException)) {
            log.error(
                    "worker connection {}: a fault of the dispatcher, please report it. The connection is closed",
                    ctx.channel().remoteAddress(),
                    cause);
            if (admitted != null) {
                admitted.onUnexpected(cause);
            }
        } else if (error != null && admitted == null && !decoder().prefaceReceived()) {
            port.onNoPreface(ctx.channel().remoteAddress(), String.valueOf(error.getMessage()));
        } else {
            log.debug(
                    "worker connection {}: connection error: {}",
                    ctx.channel().remoteAddress(),
                    PrintableText.startOf(cause));
        }
        super.onConnectionError(ctx, outbound, cause, error);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) throws Exception {
        onHandshakeEnd();
        if (admitted != null) {
            admitted.onInactive();
        }
        super.channelInactive(ctx);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) throws Exception {
        if (cause instanceof IOException || cause instanceof DecoderException) {
            port.onFailed(ctx.channel().remoteAddress(), cause);
            ctx.close();
        } else {
            super.exceptionCaught(ctx, cause);
        }
    }
}
