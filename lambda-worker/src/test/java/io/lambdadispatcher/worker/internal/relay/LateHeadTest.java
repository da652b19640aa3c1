package io.lambdadispatcher.worker.internal.relay;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.transport.Http2Client;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Responses that begin when the worker has already begun to end long ones. */
class LateHeadTest {
    private final Http2Client http2 = Http2Client.create(new Owner(), 65_535);
    private final EmbeddedChannel channel = new EmbeddedChannel(http2);
    private final List<FailureReason> cancelled = new ArrayList<>();
    private final List<Response> responses = new ArrayList<>();

    private static final class Owner extends Http2Client.Owner {
        @Override
        protected void onConnected(ChannelHandlerContext ctx) {}

        @Override
        protected void onInactive(@Nullable Throwable failure) {}
    }

    /** A connection that drains. */
    private final class Host implements StreamHost {
        @Override
        public CoalescingHttp2Handler http2() {
            return http2;
        }

        @Override
        public boolean admits() {
            return true;
        }

        @Override
        public Duration drainGrace() {
            return Duration.ofSeconds(2);
        }

        @Override
        public boolean onExchangeStarted() {
            return true;
        }

        @Override
        public ErrorCode busyCode() {
            throw new AssertionError("the worker is not busy");
        }

        @Override
        public void onExchangeEnded(boolean admitted, boolean failed, long requestBytes, long responseBytes) {}
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private ServedStream serve() throws Exception {
        int id = http2.connection().local().incrementAndGetNextStreamId();
        http2.encoder()
                .writeHeaders(http2.ctx(), id, request(), 0, false, http2.ctx().newPromise());
        Http2Stream opened = http2.connection().stream(id);
        ServedStream stream = new ServedStream(
                new Host(),
                (request, response) -> {
                    request.onCancel(cancelled::add);
                    responses.add(response);
                },
                opened);
        ByteBuf head = Unpooled.buffer();
        FrameWriter.writeRequestHead(head, new HeadEncoder(), request(), 0, true);
        stream.read(head);
        head.release();
        return stream;
    }

    private static Http2Headers request() {
        return new DefaultHttp2Headers()
                .method("POST")
                .scheme("http")
                .authority("a")
                .path("/service/watch");
    }

    /**
     * The time of a gRPC call is the last one of a drain. A second drain with less time has its
     * last one first, and so each order is possible.
     */
    @ParameterizedTest
    @CsvSource({"false, false, false", "false, true, true", "true, false, true", "true, true, true"})
    void should_end_a_grpc_call_that_begins_after_the_last_time_of_any_drain(
            boolean first, boolean second, boolean ends) throws Exception {
        ServedStream stream = serve();
        stream.endCleanly(first);
        stream.endCleanly(second);
        responses.get(0).head(new DefaultHttp2Headers().status("200").set("content-type", "application/grpc"));
        assertThat(cancelled.contains(FailureReason.GOING_AWAY)).isEqualTo(ends);
    }
}
