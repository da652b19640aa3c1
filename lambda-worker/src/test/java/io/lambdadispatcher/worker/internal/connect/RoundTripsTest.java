package io.lambdadispatcher.worker.internal.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.internal.transport.Http2Client;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2FrameTypes;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class RoundTripsTest {
    private final List<String> back = new ArrayList<>();
    private final Http2Client http2 = Http2Client.create(
            new Http2Client.Owner() {
                @Override
                protected void onConnected(ChannelHandlerContext ctx) {}

                @Override
                protected void onInactive(@Nullable Throwable failure) {}
            },
            65_535);
    private final RoundTrips roundTrips = new RoundTrips(http2);
    private final EmbeddedChannel channel = new EmbeddedChannel(http2);

    @BeforeEach
    void dropThePreface() {
        channel.flushOutbound();
        channel.releaseOutbound();
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    @Test
    void should_run_each_action_once_when_its_own_ping_comes_back() {
        roundTrips.start(() -> back.add("first"));
        roundTrips.start(() -> back.add("second"));
        roundTrips.onPingAck(0);
        assertThat(back).isEmpty();
        roundTrips.onPingAck(2);
        roundTrips.onPingAck(2);
        roundTrips.onPingAck(1);
        assertThat(back).containsExactly("second", "first");
    }

    @Test
    void should_send_the_ping_behind_what_was_written_before() {
        http2.encoder()
                .writeHeaders(http2.ctx(), 1, new DefaultHttp2Headers().path("/"), 0, false, channel.newPromise());
        http2.encoder().writeData(http2.ctx(), 1, Unpooled.wrappedBuffer(new byte[3]), 0, false, channel.newPromise());
        roundTrips.start(() -> {});
        channel.runPendingTasks();
        assertThat(sentTypes())
                .containsExactly((int) Http2FrameTypes.HEADERS, (int) Http2FrameTypes.DATA, (int) Http2FrameTypes.PING);
    }

    private List<Integer> sentTypes() {
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
            all.writeBytes(part);
            part.release();
        }
        List<Integer> types = new ArrayList<>();
        while (all.isReadable()) {
            int bytes = all.readUnsignedMedium();
            types.add((int) all.readByte());
            all.skipBytes(5 + bytes);
        }
        return types;
    }
}
