package io.lambdadispatcher.worker.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.worker.handler.GatheredExchange.Message;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class GatheredExchangeTest {
    private static final int LIMIT_BYTES = 100;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final GatheredExchange exchange = exchange("POST");

    private GatheredExchange exchange(String method) {
        return new GatheredExchange(
                channel.eventLoop(),
                new Message(new DefaultHttp2Headers().method(method), "body".getBytes(StandardCharsets.UTF_8)),
                Duration.ofMinutes(1),
                LIMIT_BYTES);
    }

    private static ByteBuf bytes(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
    }

    private static final class Listener implements BodyReader {
        final List<String> heard = new ArrayList<>();

        @Override
        public void onData(ByteBuf part) {
            heard.add(part.toString(StandardCharsets.UTF_8));
            part.release();
        }

        @Override
        public void onEnd(Http2Headers trailers) {
            heard.add("end");
        }

        @Override
        public void onFailed(FailureReason code) {
            heard.add(code.toString());
        }
    }

    @Test
    void should_hand_nothing_to_a_paused_reader() {
        Listener reader = new Listener();
        exchange.pause();
        exchange.read(reader);

        assertThat(reader.heard).isEmpty();
        exchange.resume();
        channel.runPendingTasks();
        assertThat(reader.heard).containsExactly("body", "end");
    }

    @Test
    void should_tell_a_paused_reader_when_it_is_cancelled() {
        Listener reader = new Listener();
        exchange.pause();
        exchange.read(reader);
        exchange.cancel(FailureReason.TIMEOUT, "too late");
        channel.runPendingTasks();
        assertThat(reader.heard).containsExactly("TIMEOUT");
        exchange.resume();
        channel.runPendingTasks();

        assertThat(reader.heard).containsExactly("TIMEOUT");
    }

    @Test
    void should_fail_a_response_that_is_too_long_and_tell_the_handler() {
        List<FailureReason> heard = new ArrayList<>();
        exchange.onCancel(heard::add);

        exchange.head(200);
        assertThat(exchange.write(bytes("x".repeat(LIMIT_BYTES)))).isTrue();
        assertThat(exchange.write(bytes("x"))).isFalse();
        ByteBuf late = bytes("late");
        exchange.write(late);
        exchange.end();
        channel.runPendingTasks();

        assertThat(exchange.answer()).isCompletedExceptionally();
        assertThat(heard).containsExactly(FailureReason.NOT_NEEDED);
        assertThat(late.refCnt()).isZero();
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

    /** Compares random responses with what their lengths say. */
    @Test
    void should_accept_a_body_exactly_if_it_is_as_long_as_announced() {
        Random random = new Random(1);
        for (int round = 0; round < 2_000; round++) {
            boolean toHead = random.nextInt(4) == 0;
            int status = List.of(200, 404, 304).get(random.nextInt(3));
            int announced = random.nextInt(6) - 1;
            GatheredExchange each = exchange(toHead ? "HEAD" : "POST");
            Http2Headers head = new DefaultHttp2Headers().status(Integer.toString(status));
            if (announced >= 0) {
                head.add("content-length", Integer.toString(announced));
            }
            each.head(head);
            int sent = 0;
            int mostOfBody = status == 304 ? 0 : announced < 0 ? Integer.MAX_VALUE : announced;
            boolean fits = true;
            for (int parts = random.nextInt(3); parts > 0; parts--) {
                ByteBuf part = bytes("x".repeat(random.nextInt(4)));
                sent += part.readableBytes();
                boolean holds = toHead || sent <= mostOfBody;
                assertThat(thrownBy(() -> each.write(part))).isEqualTo(fits && !holds);
                fits &= holds;
            }
            boolean whole = toHead || status == 304 || announced < 0 || sent == announced;
            assertThat(thrownBy(each::end)).isEqualTo(fits && !whole);
            assertThat(each.answer().isCompletedExceptionally()).isEqualTo(!fits || !whole);
            if (fits && whole) {
                assertThat(each.answer().join().body()).hasSize(toHead ? 0 : sent);
            }
        }
    }

    private static boolean thrownBy(Runnable call) {
        try {
            call.run();
            return false;
        } catch (IllegalStateException e) {
            return true;
        }
    }

    @Test
    void should_refuse_and_release_what_is_out_of_order() {
        ByteBuf early = bytes("early");
        ByteBuf twice = bytes("twice");
        ByteBuf late = bytes("late");

        assertThatThrownBy(() -> exchange.write(early)).hasMessage("write() on a response that expects head()");
        exchange.head(200);
        assertThatThrownBy(() -> exchange.respond(new DefaultHttp2Headers().status("200"), twice))
                .hasMessage("head() on a response that expects write() or end()");
        exchange.end();
        assertThatThrownBy(() -> exchange.write(late))
                .hasMessage("write() on a response that expects no further call, because it has ended");
        assertThat(early.refCnt() + twice.refCnt() + late.refCnt()).isZero();
    }

    @Test
    void should_tell_the_handler_when_it_is_cancelled_and_drop_what_that_still_says() {
        List<FailureReason> heard = new ArrayList<>();
        ByteBuf late = bytes("late");
        exchange.onCancel(code -> {
            heard.add(code);
            exchange.fail(code, "the handler's own words");
        });

        exchange.cancel(FailureReason.TIMEOUT, "too late");
        channel.runPendingTasks();
        exchange.head(200);
        exchange.write(late);
        exchange.end();

        assertThat(heard).containsExactly(FailureReason.TIMEOUT);
        assertThat(late.refCnt()).isZero();
        assertThatThrownBy(exchange.answer()::join).hasMessageContaining("too late");
    }
}
