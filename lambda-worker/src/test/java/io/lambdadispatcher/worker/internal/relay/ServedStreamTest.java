package io.lambdadispatcher.worker.internal.relay;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.transport.Http2Client;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledHeapByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** One worker stream in moments that no dispatcher can choose. */
class ServedStreamTest {
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

    /** Its buffers grow until the memory is used up. */
    private static final class ScarceMemory extends AbstractByteBufAllocator {
        boolean usedUp;

        @Override
        protected ByteBuf newHeapBuffer(int initial, int max) {
            return newDirectBuffer(initial, max);
        }

        @Override
        public boolean isDirectBufferPooled() {
            return false;
        }

        @Override
        protected ByteBuf newDirectBuffer(int initial, int max) {
            return new UnpooledHeapByteBuf(this, initial, max) {
                @Override
                public ByteBuf capacity(int bytes) {
                    if (usedUp) {
                        throw new OutOfMemoryError("for the test");
                    }
                    return super.capacity(bytes);
                }
            };
        }
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
        ask(stream);
        return stream;
    }

    private static void ask(ServedStream stream) throws Exception {
        ByteBuf head = Unpooled.buffer();
        FrameWriter.writeRequestHead(head, new HeadEncoder(), request(), 0, true);
        stream.read(head);
        head.release();
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

    /**
     * The headers before the one that found no memory are in HPACK's table. The dispatcher does not
     * know them, and would read others in the next response.
     */
    @ParameterizedTest
    @ValueSource(strings = {"head", "interim", "trailers", "whole"})
    void should_reset_the_stream_if_headers_find_no_memory(String part) throws Exception {
        ScarceMemory memory = new ScarceMemory();
        channel.config().setAllocator(memory);
        ServedStream stream = serve();
        Response response = responses.get(0);
        Http2Headers fields = new DefaultHttp2Headers().set("x-secret", "of this client");
        fields.set("x-long", "a".repeat(2_000));
        ByteBuf body = Unpooled.copiedBuffer("body", StandardCharsets.US_ASCII);
        if (part.equals("trailers")) {
            response.head(new DefaultHttp2Headers().status("200"));
        }
        memory.usedUp = true;
        switch (part) {
            case "head" -> response.head(fields.status("200"));
            case "interim" -> response.interim(fields.status("103"));
            case "trailers" -> response.end(fields);
            default -> response.respond(fields.status("200"), body.retain());
        }
        memory.usedUp = false;
        channel.runPendingTasks();

        assertThat(http2.connection().numActiveStreams()).isZero();
        ask(stream);
        assertThat(responses).as("the stream serves no other").hasSize(1);
        assertThat(body.refCnt()).isOne();
        body.release();
    }
}
