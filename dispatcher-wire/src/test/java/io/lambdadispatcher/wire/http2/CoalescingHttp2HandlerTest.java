package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionDecoder;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionEncoder;
import io.netty.handler.codec.http2.DefaultHttp2FrameReader;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.util.ReferenceCountUtil;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class CoalescingHttp2HandlerTest {

    /** A peer that takes nothing any more: what is written stays, unfinished. */
    private static final class FullSocket extends ChannelOutboundHandlerAdapter {
        final List<ChannelPromise> unfinished = new ArrayList<>();
        boolean full;

        @Override
        public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
            if (full) {
                ReferenceCountUtil.release(message);
                unfinished.add(promise);
            } else {
                ctx.write(message, promise);
            }
        }

        @Override
        public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
            unfinished.forEach(write -> write.tryFailure(new ClosedChannelException()));
            ctx.close(promise);
        }
    }

    private static final class Handler extends CoalescingHttp2Handler {
        Handler(DefaultHttp2Connection connection, GatheringFrameWriter frames) {
            this(connection, new DefaultHttp2ConnectionEncoder(connection, frames), frames);
        }

        private Handler(
                DefaultHttp2Connection connection, Http2ConnectionEncoder encoder, GatheringFrameWriter frames) {
            super(
                    new DefaultHttp2ConnectionDecoder(connection, encoder, new DefaultHttp2FrameReader()),
                    encoder,
                    frames,
                    new Http2Settings());
            decoder().frameListener(new Http2EventAdapter() {});
            gracefulShutdownTimeoutMillis(-1);
        }
    }

    @Test
    void should_end_a_connection_in_error_whose_peer_does_not_take_the_goaway() {
        DefaultHttp2Connection connection = new DefaultHttp2Connection(true);
        FullSocket socket = new FullSocket();
        EmbeddedChannel channel = new EmbeddedChannel(socket, new Handler(connection, new GatheringFrameWriter()));
        channel.freezeTime();
        channel.writeInbound(Http2CodecUtil.connectionPrefaceBuf(), frame(4, 0));
        socket.full = true;

        // SETTINGS belong to the connection: on a stream they are an error of the connection.
        channel.writeInbound(frame(4, 1));
        assertThat(channel.isOpen()).isTrue();
        assertThat(channel.config().isAutoRead()).isFalse();

        channel.advanceTimeBy(1, TimeUnit.SECONDS);
        channel.runScheduledPendingTasks();
        assertThat(channel.isOpen()).isFalse();
        channel.finishAndReleaseAll();
    }

    private static ByteBuf frame(int type, int stream) {
        return Unpooled.buffer().writeMedium(0).writeByte(type).writeByte(0).writeInt(stream);
    }
}
