package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersDecoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The outlet is the server's; a client of Netty's receives. */
class DataOutletTest {
    private static final int STREAM_ID = 3;
    private static final int WINDOW_BYTES = 10;

    private final ByteArrayOutputStream received = new ByteArrayOutputStream();
    private final List<Integer> frameBytes = new ArrayList<>();
    private final List<Integer> taken = new ArrayList<>();
    private boolean ended;

    private final CoalescingHttp2Handler server = server();
    private Http2ConnectionHandler client = client(WINDOW_BYTES);
    private EmbeddedChannel serverChannel = new EmbeddedChannel();
    private EmbeddedChannel clientChannel = new EmbeddedChannel();

    private static CoalescingHttp2Handler server() {
        return Http2Assembly.server(
                new DefaultHttp2HeadersDecoder(), new Http2Settings(), parts -> new CoalescingHttp2Handler(parts) {});
    }

    private Http2ConnectionHandler client(int windowBytes) {
        return new Http2ConnectionHandlerBuilder()
                .server(false)
                .initialSettings(new Http2Settings().initialWindowSize(windowBytes))
                .frameListener(new Http2FrameAdapter() {
                    @Override
                    public int onDataRead(
                            ChannelHandlerContext ctx, int streamId, ByteBuf data, int padding, boolean endOfStream) {
                        frameBytes.add(data.readableBytes());
                        received.writeBytes(ByteBufUtil.getBytes(data));
                        ended |= endOfStream;
                        return 0;
                    }
                })
                .build();
    }

    private DataOutlet open(int windowBytes) {
        client = client(windowBytes);
        serverChannel = new EmbeddedChannel(server);
        clientChannel = new EmbeddedChannel(client);
        pump();
        ChannelHandlerContext clientCtx = clientChannel.pipeline().context(client);
        client.encoder()
                .writeHeaders(
                        clientCtx,
                        STREAM_ID,
                        new DefaultHttp2Headers().method("GET").scheme("http").path("/"),
                        0,
                        false,
                        clientCtx.newPromise());
        clientChannel.flush();
        pump();
        ChannelHandlerContext ctx = serverChannel.pipeline().context(server);
        server.encoder()
                .writeHeaders(ctx, STREAM_ID, new DefaultHttp2Headers().status("200"), 0, false, ctx.newPromise());
        return new DataOutlet(server, ctx, stream(), taken::add);
    }

    private Http2Stream stream() {
        return server.connection().stream(STREAM_ID);
    }

    @AfterEach
    void finish() {
        serverChannel.finishAndReleaseAll();
        clientChannel.finishAndReleaseAll();
    }

    private void flush() {
        serverChannel.flush();
        pump();
    }

    private void pump() {
        boolean moved = true;
        while (moved) {
            serverChannel.runPendingTasks();
            clientChannel.runPendingTasks();
            moved = move(serverChannel, clientChannel) | move(clientChannel, serverChannel);
        }
    }

    private static boolean move(EmbeddedChannel from, EmbeddedChannel to) {
        boolean moved = false;
        for (ByteBuf content = from.readOutbound(); content != null; content = from.readOutbound()) {
            to.writeInbound(content);
            moved = true;
        }
        return moved;
    }

    private void giveBack(int bytes) throws Exception {
        client.connection().local().flowController().consumeBytes(client.connection().stream(STREAM_ID), bytes);
        clientChannel.flush();
        pump();
    }

    private static ByteBuf bytes(String text) {
        return ByteBufAllocator.DEFAULT.buffer().writeBytes(text.getBytes(StandardCharsets.US_ASCII));
    }

    private String receivedText() {
        return received.toString(StandardCharsets.US_ASCII);
    }

    private int takenBytes() {
        return taken.stream().mapToInt(Integer::intValue).sum();
    }

    @Test
    void should_send_everything_in_order_in_one_frame() {
        DataOutlet outlet = open(1000);
        outlet.meta(bytes("<h1>"));
        outlet.body(bytes("one"));
        outlet.meta(bytes("<h2>"));
        outlet.meta(bytes("<h3>"));
        outlet.body(bytes("two"));
        outlet.end();
        assertThat(outlet.pendingBytes()).isEqualTo(18);
        flush();
        assertThat(receivedText()).isEqualTo("<h1>one<h2><h3>two");
        assertThat(frameBytes).containsExactly(18);
        assertThat(taken).containsExactly(6);
        assertThat(ended).isTrue();
        assertThat(outlet.pendingBytes()).isZero();
    }

    @Test
    void should_wait_for_window_and_report_what_has_left() throws Exception {
        DataOutlet outlet = open(WINDOW_BYTES);
        outlet.meta(bytes("head"));
        outlet.body(bytes("abcdefghijklmnopqrstu"));
        outlet.end();
        flush();
        assertThat(receivedText()).isEqualTo("headabcdef");
        assertThat(taken).containsExactly(6);
        assertThat(outlet.pendingBytes()).isEqualTo(15);
        assertThat(ended).isFalse();
        giveBack(10);
        assertThat(taken).containsExactly(6, 10);
        giveBack(10);
        assertThat(receivedText()).isEqualTo("headabcdefghijklmnopqrstu");
        assertThat(taken).containsExactly(6, 10, 5);
        assertThat(ended).isTrue();
    }

    @Test
    void should_take_more_while_it_waits() throws Exception {
        DataOutlet outlet = open(WINDOW_BYTES);
        outlet.body(bytes("0123456789ab"));
        flush();
        outlet.meta(bytes("m"));
        outlet.body(bytes("cd"));
        assertThat(outlet.pendingBytes()).isEqualTo(5);
        giveBack(10);
        assertThat(receivedText()).isEqualTo("0123456789abmcd");
        assertThat(takenBytes()).isEqualTo(14);
    }

    @Test
    void should_send_frames_as_large_as_the_peer_allows() {
        DataOutlet outlet = open(65_535);
        outlet.body(bytes("x".repeat(40_000)));
        flush();
        assertThat(frameBytes).containsExactly(16_384, 16_384, 7_232);
        assertThat(taken).containsExactly(40_000);
    }

    @Test
    void should_not_copy_a_body() {
        DataOutlet outlet = open(1000);
        pump();
        String text = "body".repeat(GatheringFrameWriter.COPY_BREAK_BYTES / 4) + '.';
        ByteBuf body = bytes(text);
        outlet.body(body);
        serverChannel.flush();
        List<Object> written = new ArrayList<>(serverChannel.outboundMessages());
        assertThat(written).anySatisfy(message -> assertThat(message).isSameAs(body));
        pump();
        assertThat(receivedText()).isEqualTo(text);
    }

    @Test
    void should_send_small_bodies_and_their_frames_in_one_buffer() {
        DataOutlet outlet = open(1000);
        pump();
        outlet.meta(bytes("<h>"));
        outlet.body(bytes("body"));
        serverChannel.flush();
        assertThat(serverChannel.outboundMessages()).hasSize(1);
        pump();
        assertThat(receivedText()).isEqualTo("<h>body");
        assertThat(taken).containsExactly(4);
    }

    @Test
    void should_end_a_stream_that_has_no_data() {
        DataOutlet outlet = open(WINDOW_BYTES);
        outlet.end();
        outlet.end();
        flush();
        assertThat(frameBytes).containsExactly(0);
        assertThat(ended).isTrue();
        assertThat(taken).isEmpty();
    }

    @Test
    void should_drop_and_report_what_comes_after_the_end() {
        DataOutlet outlet = open(WINDOW_BYTES);
        outlet.end();
        ByteBuf late = bytes("late");
        outlet.body(late);
        outlet.meta(bytes("late"));
        assertThat(taken).containsExactly(4);
        assertThat(late.refCnt()).isZero();
        flush();
        assertThat(receivedText()).isEmpty();
        assertThat(ended).isTrue();
    }

    @Test
    void should_report_what_is_dropped_once_when_closed() {
        DataOutlet outlet = open(WINDOW_BYTES);
        ByteBuf body = bytes("0123456789abcde");
        outlet.body(body);
        outlet.meta(bytes("meta"));
        outlet.body(bytes("fgh"));
        flush();
        outlet.close();
        assertThat(taken).containsExactly(10, 8);
        assertThat(body.refCnt()).isZero();
        assertThat(outlet.pendingBytes()).isZero();
        outlet.close();
        outlet.body(bytes("xy"));
        assertThat(taken).containsExactly(10, 8, 2);
    }

    @Test
    void should_let_the_flow_controller_go_on_after_close() throws Exception {
        DataOutlet outlet = open(WINDOW_BYTES);
        outlet.body(bytes("0123456789abcde"));
        flush();
        outlet.close();
        giveBack(10);
        assertThat(receivedText()).isEqualTo("0123456789");
        assertThat(taken).containsExactly(10, 5);
        serverChannel.checkException();
    }

    @Test
    void should_drop_its_queue_when_the_peer_resets_the_stream() {
        DataOutlet outlet = open(WINDOW_BYTES);
        outlet.body(bytes("0123456789abcde"));
        flush();
        ChannelHandlerContext ctx = clientChannel.pipeline().context(client);
        client.resetStream(ctx, STREAM_ID, Http2Error.CANCEL.code(), ctx.newPromise());
        clientChannel.flush();
        pump();
        assertThat(taken).containsExactly(10, 5);
        assertThat(outlet.pendingBytes()).isZero();
        outlet.body(bytes("late"));
        assertThat(taken).containsExactly(10, 5, 4);
    }

    @Test
    void should_drop_its_queue_when_we_reset_the_stream() {
        DataOutlet outlet = open(WINDOW_BYTES);
        outlet.body(bytes("0123456789abcde"));
        ChannelHandlerContext ctx = serverChannel.pipeline().context(server);
        server.resetStream(ctx, STREAM_ID, Http2Error.CANCEL.code(), ctx.newPromise());
        flush();
        assertThat(receivedText()).isEmpty();
        assertThat(takenBytes()).isEqualTo(15);
        outlet.close();
        assertThat(takenBytes()).isEqualTo(15);
    }

    @Test
    void should_drop_its_queue_when_the_connection_goes() {
        DataOutlet outlet = open(WINDOW_BYTES);
        outlet.body(bytes("0123456789abcde"));
        outlet.meta(bytes("meta"));
        flush();
        serverChannel.close();
        serverChannel.runPendingTasks();
        serverChannel.disconnect();
        outlet.close();
        assertThat(takenBytes()).isEqualTo(15);
    }

    @Test
    void should_tell_the_owner_of_a_body_that_was_released_and_keep_the_connection() {
        open(WINDOW_BYTES);
        AtomicInteger misused = new AtomicInteger();
        DataOutlet outlet = new DataOutlet(
                server,
                serverChannel.pipeline().context(server),
                stream(),
                new DataOutlet.Listener() {
                    @Override
                    public void onTaken(int bodyBytes) {
                        taken.add(bodyBytes);
                    }

                    @Override
                    public void onMisused() {
                        misused.incrementAndGet();
                    }
                },
                true);
        outlet.meta(bytes("m"));
        ByteBuf body = bytes("body");
        outlet.body(body);
        body.release();
        flush();
        assertThat(misused).hasValue(1);
        assertThat(receivedText()).isEmpty();
        assertThat(takenBytes()).isEqualTo(4);
        assertThat(body.refCnt()).isZero();
        assertThat(serverChannel.isActive()).isTrue();
        outlet.body(bytes("more"));
        flush();
        assertThat(misused).hasValue(1);
        assertThat(receivedText()).isEmpty();
    }
}
