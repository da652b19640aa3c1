package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * Closes a connection so that the client can read all that was sent to it (RFC 9112 section 9.6).
 * A socket that is closed with unread bytes, or that receives bytes afterwards, sends a TCP reset,
 * and what the kernel has not sent yet is lost: a GOAWAY, or the end of a response whose client
 * still opens windows or sends its request. So the connection is first closed in one direction
 * only. What the client sends is dropped, until it closes, too, or sends nothing for 5 s, but at
 * most for 30 s. Further closes wait for this: one read can contain several errors, of which each
 * closes. Times are those of nginx's {@code lingering_close}. The handler is after TLS and before
 * the protocol. Event loop only.
 */
public final class LingeringClose extends ChannelDuplexHandler {
    private static final long LOOK_MILLIS = TimeUnit.SECONDS.toMillis(5);
    private static final int MOST_LOOKS = 6;

    private boolean lingering;
    /** Whether bytes have arrived since the last look. */
    private boolean heard;

    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
        // Only tests have channels that cannot be closed in one direction.
        if (!(ctx.channel() instanceof DuplexChannel socket) || !socket.isActive()) {
            ctx.close(promise);
            return;
        }
        socket.closeFuture().addListener(closed -> promise.trySuccess());
        if (lingering) {
            return;
        }
        lingering = true;
        SslHandler tls = ctx.pipeline().get(SslHandler.class);
        Future<?> sent = tls == null ? ctx.writeAndFlush(Unpooled.EMPTY_BUFFER) : tls.closeOutbound();
        sent.addListener(done -> {
            if (done.isSuccess()) {
                socket.shutdownOutput();
            } else {
                ctx.close();
            }
        });
        socket.config().setAutoRead(true);
        linger(ctx, MOST_LOOKS);
    }

    /** Closes a connection that may linger. Event loop of {@code channel} only. */
    public static void end(Channel channel) {
        channel.unsafe().close(channel.newPromise());
    }

    private void linger(ChannelHandlerContext ctx, int looks) {
        heard = false;
        ctx.executor()
                .schedule(
                        () -> {
                            if (heard && looks > 1 && ctx.channel().isOpen()) {
                                linger(ctx, looks - 1);
                            } else {
                                ctx.close();
                            }
                        },
                        LOOK_MILLIS,
                        TimeUnit.MILLISECONDS);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (lingering) {
            heard = true;
            ReferenceCountUtil.release(message);
        } else {
            ctx.fireChannelRead(message);
        }
    }
}
