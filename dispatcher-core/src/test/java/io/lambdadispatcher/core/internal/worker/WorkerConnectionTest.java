package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.wire.testkit.HostileText;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2FrameTypes;
import io.netty.handler.codec.http2.Http2Headers;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Errors of the dispatcher on a worker's connection. Its client and its worker are on one loop. */
class WorkerConnectionTest {
    private static final int META_BYTES = 256;

    private final EmbeddedWorker worker;

    /** Whether there is no memory for the next buffer of the size of a frame's header. */
    private boolean scarce;

    WorkerConnectionTest() throws Exception {
        worker = new EmbeddedWorker(
                (ByteBufAllocator) Proxy.newProxyInstance(
                        getClass().getClassLoader(), new Class<?>[] {ByteBufAllocator.class}, (self, call, args) -> {
                            if (scarce && call.getName().equals("directBuffer") && args[0].equals(META_BYTES)) {
                                scarce = false;
                                throw new InternalError("no more memory for the test");
                            }
                            try {
                                return call.invoke(UnpooledByteBufAllocator.DEFAULT, args);
                            } catch (InvocationTargetException e) {
                                throw e.getCause();
                            }
                        }),
                0,
                2);
        worker.open(3);
    }

    private static class Client extends SilentClient {
        int taken;

        @Nullable
        Failure failure;

        @Override
        public void onRequestTaken(int bytes) {
            taken += bytes;
        }

        @Override
        public void onFailure(Failure cause) {
            failure = cause;
        }
    }

    @AfterEach
    void close() {
        worker.close();
    }

    private Exchange post(Client client) {
        return worker.request("POST", "/", false, client);
    }

    private static ByteBuf part(int bytes) {
        return Unpooled.wrappedBuffer(new byte[bytes]);
    }

    /** Returns what was sent: the type of each frame, and its stream. */
    private List<String> sent() throws Exception {
        List<String> frames = new ArrayList<>();
        worker.takeSent((type, stream, payload) -> frames.add(type + " " + stream));
        return frames;
    }

    /** The worker would take a body without these parts for the complete one. */
    @Test
    void should_reset_the_stream_if_there_is_no_memory_to_send_parts_that_have_waited() throws Exception {
        Client client = new Client();
        Exchange exchange = post(client);
        exchange.data(part(1000), false);
        exchange.data(part(1000), false);
        while (client.taken == 0) {
            worker.openWindow(3, 1);
        }
        // Another request uses the buffers that were used for the first part.
        worker.open(5);
        Exchange other = post(new Client());
        other.data(part(1), false);
        sent();

        scarce = true;
        worker.openWindow(3, 10_000);
        assertThat(scarce).as("has not run out of memory").isFalse();
        assertThat(client.taken).isEqualTo(1000);
        assertThat(client.failure).isNotNull();
        assertThat(client.failure.kind()).isEqualTo(Failure.Kind.WORKER_LOST);
        exchange.data(part(1), true);
        assertThat(sent()).containsExactly(Http2FrameTypes.DATA + " 3", Http2FrameTypes.RST_STREAM + " 3");
    }

    @Test
    void should_log_an_unexpected_error_and_name_it_as_the_reason() throws Exception {
        LoggedLines log = LoggedLines.of(WorkerPortHandler.class, Level.ERROR);
        post(new Client() {
            @Override
            public void onHead(Http2Headers head, boolean end) {
                throw new IllegalStateException("a bug");
            }
        });
        worker.open(5);
        Client other = new Client();
        post(other);
        worker.openWindow(3, 1000);
        ByteBuf out = Unpooled.buffer();
        FrameWriter.writeResponseHead(out, new HeadEncoder(), new DefaultHttp2Headers().status("200"), false);
        worker.channel.writeInbound(EmbeddedWorker.frame(Http2FrameTypes.DATA, 3, out));
        worker.channel.advanceTimeBy(1, TimeUnit.MINUTES);
        worker.channel.runScheduledPendingTasks();
        log.close();

        String reason = "unexpected error in the dispatcher: java.lang.IllegalStateException: a bug";
        assertThat(worker.partings).containsExactly(reason + ". Requests in flight: 2");
        assertThat(other.failure).isNotNull();
        assertThat(other.failure.detail()).isEqualTo("the worker was lost: " + reason);
        assertThat(log.events()).singleElement().satisfies(line -> {
            assertThat(line.getFormattedMessage())
                    .endsWith(": a fault of the dispatcher, please report it. The connection is closed");
            assertThat(line.getThrowableProxy().getMessage()).isEqualTo("a bug");
        });
    }

    /** Embedding programs pass these texts to observers, clients and logs of their own. */
    @Test
    void should_make_what_the_worker_says_printable() throws Exception {
        Client client = new Client();
        post(client);
        worker.openWindow(3, 1000);
        ByteBuf reset = Unpooled.buffer();
        FrameWriter.writeReset(reset, ErrorCode.HANDLER_FAILED, HostileText.ALL_KINDS);
        worker.channel.writeInbound(EmbeddedWorker.frame(Http2FrameTypes.DATA, 3, reset));
        worker.say(new ControlMessage.Goodbye(HostileText.ALL_KINDS));
        worker.channel.close();

        assertThat(client.failure).isNotNull();
        assertThat(client.failure.detail())
                .startsWith("the handler failed: a\\u000ab")
                .matches(HostileText::isPrintable);
        assertThat(worker.partings)
                .singleElement()
                .asString()
                .startsWith("the worker said goodbye: a\\u000ab")
                .matches(HostileText::isPrintable);
    }
}
