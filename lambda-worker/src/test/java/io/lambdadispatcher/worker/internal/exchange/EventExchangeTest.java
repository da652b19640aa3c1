package io.lambdadispatcher.worker.internal.exchange;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class EventExchangeTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final EventExchange exchange = new EventExchange(
            channel.eventLoop(), new DefaultHttp2Headers(), new byte[] {'b', 'o', 'd', 'y'}, Duration.ofMinutes(1));

    private static ByteBuf bytes(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
    }

    @Test
    void should_hand_nothing_to_a_paused_reader() {
        List<String> heard = new ArrayList<>();
        exchange.read(new BodyReader() {
            @Override
            public void onData(ByteBuf part) {
                heard.add(part.toString(StandardCharsets.UTF_8));
                part.release();
                exchange.pause();
            }

            @Override
            public void onEnd(Http2Headers trailers) {
                heard.add("end");
            }

            @Override
            public void onFailed(FailureReason code) {
                heard.add(code.toString());
            }
        });

        assertThat(heard).containsExactly("body");
        exchange.resume();
        channel.runPendingTasks();
        assertThat(heard).containsExactly("body", "end");
    }

    @Test
    void should_put_the_parts_of_a_response_together() {
        exchange.head(200);
        exchange.write(bytes("one, "));
        exchange.write(bytes("two, "));
        exchange.write(bytes("three"));
        exchange.end();

        assertThat(exchange.answer())
                .isCompletedWithValueMatching(
                        answer -> new String(answer.body(), StandardCharsets.UTF_8).equals("one, two, three"));
    }

    @Test
    void should_refuse_and_release_what_is_out_of_order() {
        ByteBuf early = bytes("early");
        ByteBuf twice = bytes("twice");

        assertThatThrownBy(() -> exchange.write(early)).hasMessage("the response has no headers yet");
        exchange.head(200);
        assertThatThrownBy(() -> exchange.respond(new DefaultHttp2Headers(), twice))
                .hasMessage("the response already has headers");
        assertThat(early.refCnt() + twice.refCnt()).isZero();
    }

    @Test
    void should_tell_the_handler_when_it_is_cancelled_and_drop_what_that_still_says() {
        List<FailureReason> heard = new ArrayList<>();
        ByteBuf late = bytes("late");
        exchange.onCancel(heard::add);

        exchange.cancel(FailureReason.TIMEOUT);
        channel.runPendingTasks();
        exchange.head(200);
        exchange.write(late);
        exchange.end();

        assertThat(heard).containsExactly(FailureReason.TIMEOUT);
        assertThat(late.refCnt()).isZero();
        assertThat(exchange.answer()).isCompletedExceptionally();
    }
}
