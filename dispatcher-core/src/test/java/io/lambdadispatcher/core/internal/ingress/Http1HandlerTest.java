package io.lambdadispatcher.core.internal.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.DispatcherObserver;
import io.lambdadispatcher.core.ForwardingPolicy;
import io.lambdadispatcher.core.HttpLimits;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.wire.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.CharsetUtil;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Slow heads, by a clock that the test sets: the handler looks once every head time-out, and what it sees may have begun a moment before. */
class Http1HandlerTest {
    private static final Duration LOOK = HttpLimits.defaults().headTimeout();
    private static final Duration MOMENT = Duration.ofMillis(1);

    private static final String BEGUN = "GET / HTTP/1.1\r\nho";
    private static final String REST = "st: a\r\n\r\n";

    private final EmbeddedChannel channel = new EmbeddedChannel();

    @BeforeEach
    void connect() {
        channel.freezeTime();
        Http1Handler.install(
                channel.pipeline(),
                new IngressContext(
                        HttpLimits.defaults(),
                        ForwardingPolicy.defaults(),
                        Http1HandlerTest::open,
                        DispatcherObserver.NONE,
                        new IngressDrain(),
                        "http"));
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private static RequestSink open(Http2Headers head, boolean end, ResponseSink response) {
        response.onHead(new DefaultHttp2Headers().status("204"), true);
        return new RequestSink() {
            @Override
            public void data(ByteBuf data, boolean end) {
                data.release();
            }

            @Override
            public void trailers(Http2Headers trailers) {}

            @Override
            public void cancel(ErrorCode code) {}

            @Override
            public void responseTaken(int bytes) {}
        };
    }

    private void pass(Duration time) {
        channel.advanceTimeBy(time.toNanos(), TimeUnit.NANOSECONDS);
        channel.runPendingTasks();
    }

    private void read(String text) {
        channel.writeInbound(Unpooled.copiedBuffer(text, CharsetUtil.US_ASCII));
        channel.runPendingTasks();
    }

    private String sent() {
        StringBuilder all = new StringBuilder();
        for (ByteBuf some = channel.readOutbound(); some != null; some = channel.readOutbound()) {
            all.append(some.toString(CharsetUtil.US_ASCII));
            some.release();
        }
        return all.toString();
    }

    @Test
    void should_leave_each_head_its_time_when_it_begins_just_before_a_look() {
        pass(LOOK.minus(MOMENT));
        for (int i = 0; i < 3; i++) {
            read(BEGUN);
            pass(MOMENT);
            assertThat(sent()).isEmpty();
            read(REST);
            assertThat(sent()).startsWith("HTTP/1.1 204 ");
            pass(LOOK.minus(MOMENT));
        }
    }

    @Test
    void should_answer_408_to_a_head_that_has_taken_longer_than_a_look() {
        read(BEGUN);
        pass(LOOK);
        assertThat(sent()).isEmpty();
        pass(LOOK);
        assertThat(sent()).startsWith("HTTP/1.1 408 ");
    }
}
