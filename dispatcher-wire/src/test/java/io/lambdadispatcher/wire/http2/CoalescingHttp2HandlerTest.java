package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.ReferenceCountUtil;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CoalescingHttp2HandlerTest {

    /** A peer that takes nothing any more: what is written stays, unfinished. */
    private static final class FullSocket extends ChannelOutboundHandlerAdapter {
        final List<ChannelPromise> unfinished = new ArrayList<>();
        boolean full;
        int reads;

        @Override
        public void read(ChannelHandlerContext ctx) {
            reads++;
            ctx.read();
        }

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
            handlerRemoved(ctx);
            ctx.close(promise);
        }

        @Override
        public void handlerRemoved(ChannelHandlerContext ctx) {
            unfinished.forEach(write -> write.tryFailure(new ClosedChannelException()));
        }
    }

    private static final class Handler extends CoalescingHttp2Handler {
        private Handler(Http2Assembly.Parts parts) {
            super(parts);
        }

        static Handler create(Http2Settings settings) {
            Handler handler = Http2Assembly.server(new DefaultHttp2HeadersDecoder(), settings, Handler::new);
            handler.gracefulShutdownTimeoutMillis(-1);
            return handler;
        }
    }

    @Test
    void should_end_a_connection_in_error_whose_peer_does_not_take_the_goaway() {
        FullSocket socket = new FullSocket();
        EmbeddedChannel channel = new EmbeddedChannel(socket, Handler.create(new Http2Settings()));
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

    /** Not an error that the reader has found, which reads nothing more after one. */
    @Test
    void should_neither_read_nor_answer_after_an_error_of_the_connection() throws Exception {
        Served served = new Served();
        served.read(ping());
        assertThat(served.frames()).endsWith("6 on 0");
        served.socket.full = true;

        served.handler.onError(
                served.ctx, false, Http2Exception.connectionError(Http2Error.ENHANCE_YOUR_CALM, "too much"));
        int readsBefore = served.socket.reads;
        int writesBefore = served.socket.unfinished.size();
        served.read(ping(), ping());
        assertThat(served.socket.reads).isEqualTo(readsBefore);
        assertThat(served.socket.unfinished).hasSize(writesBefore);
        served.channel.unsafe().closeForcibly();
        served.finish();
    }

    private static ByteBuf ping() {
        return Unpooled.buffer()
                .writeMedium(Long.BYTES)
                .writeByte(6)
                .writeByte(0)
                .writeInt(0)
                .writeLong(0);
    }

    @Test
    void should_hold_a_peer_to_its_streams_before_it_acknowledges_the_settings() {
        Handler handler = Handler.create(new Http2Settings().maxConcurrentStreams(2));
        Http2Connection connection = handler.connection();
        EmbeddedChannel channel = new EmbeddedChannel(handler);
        channel.writeInbound(Http2CodecUtil.connectionPrefaceBuf(), frame(4, 0), get(1), get(3), get(5));
        assertThat(connection.stream(3)).isNotNull();
        assertThat(connection.stream(5)).isNull();
        assertThat(connection.numActiveStreams()).isEqualTo(2);
        channel.finishAndReleaseAll();
    }

    private static ByteBuf get(int stream) {
        return Unpooled.buffer()
                .writeMedium(3)
                .writeByte(1)
                .writeByte(0x5)
                .writeInt(stream)
                .writeBytes(new byte[] {(byte) 0x82, (byte) 0x86, (byte) 0x84});
    }

    private static ByteBuf frame(int type, int stream) {
        return Unpooled.buffer().writeMedium(0).writeByte(type).writeByte(0).writeInt(stream);
    }

    /** A server, two of whose streams a client has opened, and what that client gets. */
    private static final class Served {
        final FullSocket socket = new FullSocket();
        final Handler handler =
                Http2Assembly.publicServer(new DefaultHttp2HeadersDecoder(), new Http2Settings(), Handler::new);
        final Http2Connection connection = handler.connection();
        final EmbeddedChannel channel;
        final ChannelHandlerContext ctx;
        final ByteBuf received = Unpooled.buffer();

        Served() throws Http2Exception {
            channel = new EmbeddedChannel(socket, handler);
            ctx = channel.pipeline().context(handler);
            channel.writeInbound(Http2CodecUtil.connectionPrefaceBuf(), frame(4, 0));
            connection.remote().createStream(1, true);
            connection.remote().createStream(3, true);
            take();
        }

        Http2Stream stream(int id) {
            return connection.stream(id);
        }

        DataOutlet outlet(int id) {
            return new DataOutlet(handler, ctx, stream(id), taken -> {});
        }

        void head(int id, Http2Headers head, boolean end) {
            handler.encoder().writeHeaders(ctx, id, head, 0, end, handler.headPromise(stream(id)));
        }

        void answer(int id, int bodyBytes) throws Http2Exception {
            head(id, new DefaultHttp2Headers().status("200"), false);
            DataOutlet outlet = outlet(id);
            outlet.body(Unpooled.wrappedBuffer(new byte[bodyBytes]));
            outlet.end();
            handler.encoder().flowController().writePendingBytes();
        }

        void read(ByteBuf... frames) {
            channel.writeInbound((Object[]) frames);
            channel.runPendingTasks();
        }

        void take() {
            channel.runPendingTasks();
            for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
                received.writeBytes(part);
                part.release();
            }
        }

        /** Type and stream of each frame since the connection's first. */
        List<String> frames() {
            take();
            List<String> frames = new ArrayList<>();
            ByteBuf left = received.duplicate();
            while (left.isReadable()) {
                int bytes = left.readMedium();
                frames.add(left.readByte() + " on " + left.skipBytes(1).readInt());
                left.skipBytes(bytes);
            }
            return frames;
        }

        void finish() {
            received.release();
            channel.finishAndReleaseAll();
        }
    }

    @Test
    void should_send_what_is_gathered_before_it_closes_after_a_goaway() throws Exception {
        Served served = new Served();
        served.handler.goAway(served.ctx, Integer.MAX_VALUE, 0, Unpooled.EMPTY_BUFFER, served.ctx.newPromise());
        served.answer(1, 10);
        served.answer(3, 10);
        assertThat(served.connection.numActiveStreams()).isZero();

        served.channel.close();
        assertThat(served.frames()).endsWith("1 on 1", "0 on 1", "1 on 3", "0 on 3");
        assertThat(served.channel.isOpen()).isFalse();
        served.finish();
    }

    @Test
    void should_not_close_before_an_earlier_answer_is_sent_because_the_last_stream_is_reset() throws Exception {
        Served served = new Served();
        served.socket.full = true;
        served.answer(1, 10);
        served.channel.close();
        served.read(frame(3, 3, 8));
        assertThat(served.stream(3)).isNull();
        assertThat(served.channel.isOpen()).isTrue();

        served.socket.unfinished.forEach(ChannelPromise::trySuccess);
        served.channel.runPendingTasks();
        assertThat(served.channel.isOpen()).isFalse();
        served.finish();
    }

    @Test
    void should_send_trailers_that_waited_when_it_was_closed() throws Exception {
        Served served = new Served();
        served.head(1, new DefaultHttp2Headers().status("200"), false);
        served.outlet(1).body(Unpooled.wrappedBuffer(new byte[Http2CodecUtil.DEFAULT_WINDOW_SIZE + 1]));
        served.head(1, new DefaultHttp2Headers().set("checksum", "1"), true);
        served.channel.flush();
        served.channel.close();
        assertThat(served.frames()).endsWith("0 on 1", "7 on 0");

        served.read(frame(8, 0, 100), frame(8, 1, 100));
        assertThat(served.frames()).endsWith("0 on 1", "1 on 1");
        assertThat(served.stream(1)).isNull();
        served.finish();
    }

    @Test
    void should_reset_a_stream_whose_waiting_trailers_are_too_large_for_the_peer() throws Exception {
        Served served = new Served();
        served.handler.encoder().configuration().headersConfiguration().maxHeaderListSize(100);
        served.head(1, new DefaultHttp2Headers().status("200"), false);
        served.outlet(1).body(Unpooled.wrappedBuffer(new byte[10]));
        served.head(1, new DefaultHttp2Headers().set("checksum", "1".repeat(100)), true);
        served.channel.flush();
        assertThat(served.frames()).endsWith("1 on 1", "0 on 1", "3 on 1");
        assertThat(served.stream(1)).isNull();
        served.finish();
    }

    /**
     * Streams that count as ended would let a peer who reads nothing open others, and us queue
     * their heads, forever.
     */
    @Test
    void should_count_streams_whose_end_a_full_channel_holds() throws Exception {
        Served served = new Served();
        served.socket.full = true;
        served.channel.unsafe().outboundBuffer().setUserDefinedWritability(1, false);
        served.head(1, new DefaultHttp2Headers().status("204"), true);
        served.channel.flush();
        assertThat(served.connection.numActiveStreams()).isEqualTo(2);

        served.socket.unfinished.forEach(ChannelPromise::trySuccess);
        assertThat(served.connection.numActiveStreams()).isEqualTo(1);
        served.finish();
    }

    /** The socket accepts the end of a response when its stream has been reset and reused. */
    @Test
    void should_not_close_the_stream_of_a_later_request_when_an_earlier_write_completes() throws Exception {
        Served served = new Served();
        served.socket.full = true;
        served.channel.unsafe().outboundBuffer().setUserDefinedWritability(1, false);
        served.head(1, new DefaultHttp2Headers().status("204"), true);
        served.channel.flush();
        served.read(frame(3, 1, 8));
        assertThat(served.stream(1)).isNull();
        served.connection.remote().createStream(5, true);

        served.socket.unfinished.forEach(ChannelPromise::trySuccess);
        served.channel.runPendingTasks();
        assertThat(served.stream(5).state()).isEqualTo(Http2Stream.State.HALF_CLOSED_REMOTE);
        assertThat(served.connection.numActiveStreams()).isEqualTo(2);
        served.finish();
    }

    /** Fails once. */
    private static final class ScarceMemory extends AbstractByteBufAllocator {
        int left;

        ScarceMemory(int left) {
            super(true);
            this.left = left;
        }

        @Override
        protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
            return new UnpooledHeapByteBuf(this, initialCapacity, maxCapacity);
        }

        @Override
        protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
            if (left-- == 0) {
                throw new OutOfMemoryError("no more for the test");
            }
            return newHeapBuffer(initialCapacity, maxCapacity);
        }

        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }
    }

    /** What follows a header without its bytes would be taken for these. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    void should_end_a_connection_rather_than_leave_a_frame_unfinished(int buffers) throws Exception {
        Served served = new Served();
        ScarceMemory memory = new ScarceMemory(buffers);
        served.channel.config().setAllocator(memory);
        DataOutlet first = served.outlet(1);
        DataOutlet second = served.outlet(3);
        for (DataOutlet outlet : List.of(first, second)) {
            outlet.body(Unpooled.wrappedBuffer(new byte[GatheringFrameWriter.COPY_BREAK_BYTES]));
            outlet.end();
        }
        served.channel.flush();
        assertThat(memory.left < 0).isNotEqualTo(served.channel.isOpen());
        served.finish();
    }

    private static ByteBuf frame(int type, int stream, int number) {
        return Unpooled.buffer()
                .writeMedium(Integer.BYTES)
                .writeByte(type)
                .writeByte(0)
                .writeInt(stream)
                .writeInt(number);
    }
}
