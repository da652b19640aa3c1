package io.lambdadispatcher.core.internal.ingress;

import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.internal.ingress.http1.Http1ClientConnection;
import io.lambdadispatcher.core.internal.ingress.http2.Http2ClientConnection;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.util.concurrent.Future;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Detects the protocol of a plain-text connection by its first bytes: HTTP/2's preface (RFC 9113
 * section 3.4), otherwise HTTP/1.1. Then it removes itself from the pipeline and passes the bytes
 * on. Event loop only.
 */
final class ProtocolDetector extends ByteToMessageDecoder {
    private static final Logger log = LoggerFactory.getLogger(ProtocolDetector.class);

    private static final ByteBuf PREFACE = Http2CodecUtil.connectionPrefaceBuf();

    private final IngressContext context;
    private final long timeoutNanos;
    private @Nullable Future<?> timer;

    /** @param timeoutNanos maximum time until the first bytes of a protocol */
    ProtocolDetector(IngressContext context, long timeoutNanos) {
        this.context = context;
        this.timeoutNanos = timeoutNanos;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        timer = ctx.executor().schedule(() -> ctx.close(), timeoutNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    protected void handlerRemoved0(ChannelHandlerContext ctx) {
        if (timer != null) {
            timer.cancel(false);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) throws Exception {
        if (timer != null) {
            timer.cancel(false);
        }
        super.channelInactive(ctx);
    }

    /** A client that resets its connection before its first byte is no fault of the dispatcher. */
    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        log.debug("client {}: {}", context.client(), PrintableText.startOf(cause));
        ctx.close();
    }

    @Override
    protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out) {
        int compared = Math.min(in.readableBytes(), PREFACE.readableBytes());
        boolean same = io.netty.buffer.ByteBufUtil.equals(in, in.readerIndex(), PREFACE, 0, compared);
        if (same && compared < PREFACE.readableBytes()) {
            return;
        }
        if (same) {
            Http2ClientConnection.install(ctx.pipeline(), context);
        } else {
            Http1ClientConnection.install(ctx.pipeline(), context);
        }
        ctx.pipeline().remove(this);
    }
}
