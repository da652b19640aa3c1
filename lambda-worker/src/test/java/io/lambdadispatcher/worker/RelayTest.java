package io.lambdadispatcher.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.ControlMessage.DrainReason;
import io.lambdadispatcher.worker.config.Credential;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class RelayTest {
    private final ScriptedDispatcher dispatcher = new ScriptedDispatcher();

    @AfterEach
    void close() {
        dispatcher.close();
    }

    @Test
    void should_serve_exchanges_one_after_the_other_and_say_goodbye() throws Exception {
        WorkerConfig config = WorkerConfig.of(
                        "f", "w1", new Credential.Secret("0123456789abcdef"), List.of(dispatcher.address()))
                .withStreams(1, 2);
        Worker worker = new Worker(
                        config,
                        (request, response) -> response.respond(
                                new DefaultHttp2Headers().status("200"),
                                ByteBufUtil.writeUtf8(UnpooledByteBufAllocator.DEFAULT, request.path())))
                .start();
        ScriptedDispatcher.Link link = dispatcher.takeReady();
        ScriptedStream stream = link.takeStream();
        for (int i = 0; i < 3; i++) {
            assertThat(stream.exchange(ScriptedStream.get("/" + i)).text()).isEqualTo("/" + i);
        }
        worker.drain(DrainReason.REQUESTED);
        WorkerSummary summary = worker.done().toCompletableFuture().get(20, TimeUnit.SECONDS);
        assertThat(summary.requests()).isEqualTo(3);
        assertThat(summary.failures()).isZero();
        link.awaitClosed();
    }
}
