package io.lambdadispatcher.worker.adapter.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http.HttpServerCodec;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The test is the loop of the API, because the pool is never started. */
class ApiConnectionTest {
    private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);
    private static final RuntimeConfig CONFIG =
            RuntimeConfig.read(Map.of("LAMBDA_DISPATCHER_RUNTIME", "never-started"));

    private final RuntimePool pool = new RuntimePool(CONFIG);
    private final RuntimeChild child = new RuntimeChild(pool, CONFIG, "never-started");

    @AfterEach
    void stop() {
        pool.stop();
    }

    private EmbeddedChannel connect(String text) {
        EmbeddedChannel channel = new EmbeddedChannel(new HttpServerCodec(), new ApiConnection(child, 1_000));
        write(channel, text);
        return channel;
    }

    private static void write(EmbeddedChannel channel, String text) {
        channel.writeInbound(Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII));
    }

    /** An answer may take longer than the request's time, if there is no limit for the request. */
    @ParameterizedTest
    @ValueSource(strings = {"", "Lambda-Runtime-Function-Response-Mode: streaming\r\n"})
    void should_take_bytes_of_an_answer_for_a_sign_of_life(String mode) {
        Invocation invocation = new Invocation(InvokeHead.of("id", "arn", null, 900_000), new byte[0], new Ignoring());
        EmbeddedChannel polling = connect("GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nHost: x\r\n\r\n");
        child.give(invocation);
        pool.sweep(10 * MINUTE);
        EmbeddedChannel answering = connect("POST /2018-06-01/runtime/invocation/id/response HTTP/1.1\r\nHost: x\r\n"
                + mode + "Transfer-Encoding: chunked\r\n\r\n");
        write(answering, "1\r\n1\r\n");
        pool.sweep(20 * MINUTE);
        assertThat(invocation.isHanging(20 * MINUTE)).isFalse();
        assertThat(invocation.isHanging(25 * MINUTE - 1)).isFalse();
        assertThat(invocation.isHanging(25 * MINUTE)).isTrue();
        polling.finishAndReleaseAll();
        answering.finishAndReleaseAll();
    }

    private static final class Ignoring implements Answer {
        @Override
        public void onWhole(byte[] payload) {}

        @Override
        public Stream onStream(String contentType, Runnable resume, Runnable stop) {
            return new Stream() {
                @Override
                public boolean onBytes(ByteBuf bytes) {
                    bytes.release();
                    return true;
                }

                @Override
                public void onEnd() {}

                @Override
                public void onBroken(String text) {}
            };
        }

        @Override
        public void onError(String type, byte[] details) {}

        @Override
        public void onFailed(Failure why, String text) {}
    }
}
