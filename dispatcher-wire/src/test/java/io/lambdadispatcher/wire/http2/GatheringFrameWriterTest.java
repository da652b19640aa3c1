package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2FrameReader;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GatheringFrameWriterTest {

    /** One frame, just one frame, two, and many; read by Netty's own reader. */
    @ParameterizedTest
    @ValueSource(ints = {10, 16_000, 16_384, 20_000, 60_000})
    void should_write_heads_of_any_size_that_netty_reads(int valueBytes) throws Exception {
        EmbeddedChannel channel = new EmbeddedChannel(new ChannelInboundHandlerAdapter());
        ChannelHandlerContext ctx = channel.pipeline().firstContext();
        GatheringFrameWriter writer = new GatheringFrameWriter();
        writer.headersConfiguration().maxHeaderListSize(1 << 20);
        Http2Headers head = new DefaultHttp2Headers().status("200").set("x", "v".repeat(valueBytes) + "\u00ff");
        for (int i = 0; i < 2; i++) {
            writer.writeHeaders(ctx, 3, head, 0, i == 1, ctx.newPromise());
        }
        writer.handOver(ctx);
        channel.flush();
        ByteBuf all = Unpooled.buffer();
        for (ByteBuf part = channel.readOutbound(); part != null; part = channel.readOutbound()) {
            all.writeBytes(part);
            part.release();
        }
        List<String> read = new ArrayList<>();
        DefaultHttp2FrameReader reader = new DefaultHttp2FrameReader(false);
        reader.configuration().headersConfiguration().maxHeaderListSize(1 << 20, 1 << 21);
        reader.readFrame(ctx, all, new Http2FrameAdapter() {
            @Override
            public void onHeadersRead(
                    ChannelHandlerContext c, int streamId, Http2Headers headers, int padding, boolean end) {
                read.add(streamId + " " + end + " " + headers.equals(head));
            }
        });
        assertThat(read).containsExactly("3 false true", "3 true true");
        all.release();
        reader.close();
        channel.finishAndReleaseAll();
    }
}
