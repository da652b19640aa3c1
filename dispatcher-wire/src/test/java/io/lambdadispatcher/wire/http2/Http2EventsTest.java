package io.lambdadispatcher.wire.http2;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Settings;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class Http2EventsTest {
    private final EmbeddedChannel channel = new EmbeddedChannel(new ChannelInboundHandlerAdapter());
    private final ChannelHandlerContext ctx = channel.pipeline().firstContext();
    private final Http2Events events = new Http2Events() {};

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private void setWritable(boolean writable) {
        channel.unsafe().outboundBuffer().setUserDefinedWritability(1, writable);
    }

    private void askForAnswers(int count) throws Http2Exception {
        for (int i = 0; i < count; i += 2) {
            events.onPingRead(ctx, i);
            events.onSettingsRead(ctx, new Http2Settings());
        }
    }

    @Test
    void should_answer_a_peer_that_reads_as_often_as_it_asks() throws Exception {
        for (int i = 0; i < 10; i++) {
            setWritable(false);
            askForAnswers(Http2Events.MAX_UNREAD_ANSWERS);
            setWritable(true);
            askForAnswers(2);
        }
    }

    @Test
    void should_end_the_connection_of_a_peer_that_asks_and_does_not_read() throws Exception {
        setWritable(false);
        askForAnswers(Http2Events.MAX_UNREAD_ANSWERS);
        assertThatThrownBy(() -> events.onPingRead(ctx, 0))
                .isInstanceOf(Http2Exception.class)
                .hasMessageContaining("1001 PING or SETTINGS");
    }
}
