package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.wire.worker.WireException;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests how much of a dispatcher one worker can use. The function allows each worker one connection
 * with two streams.
 */
class WorkerLimitsTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final RecordingObserver observer = new RecordingObserver();
    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.builder("f")
                    .connectionsPerWorker(1)
                    .streamsPerConnection(2)
                    .build())
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .secret(SECRET)
            .eventLoops(1)
            .observer(observer)
            .start();

    @AfterEach
    void stop() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    private ScriptedWorker worker(String id) throws Exception {
        return new ScriptedWorker(loops, dispatcher.workerAddress(), "f", id, SECRET);
    }

    private void expectLimit() throws Exception {
        assertThat(observer.protections.poll(10, TimeUnit.SECONDS)).isEqualTo(Protection.WORKER_LIMIT);
    }

    /**
     * The status is 429, after which the worker tries again. It may have lost its first connection
     * before the dispatcher has noticed.
     */
    @Test
    void should_refuse_a_connection_more_than_the_function_allows() throws Exception {
        ScriptedWorker first = worker("w").ready(1);
        try (ScriptedWorker second = worker("w")) {
            second.openControl();
            second.expect("1 :status 429");
            second.awaitClosed();
            expectLimit();
        }
        worker("another").ready(1).close();
        assertThat(observer.partings.poll(10, TimeUnit.SECONDS)).isNotNull();

        first.close();
        assertThat(observer.partings.poll(10, TimeUnit.SECONDS)).isNotNull();
        worker("w").ready(1).close();
        assertThat(observer.protections).isEmpty();
    }

    @Test
    void should_allow_no_more_streams_than_the_function_does() throws Exception {
        LoggedLines log = LoggedLines.of(WorkerConnection.class, Level.INFO);
        try (log;
                ScriptedWorker greedy = worker("w")) {
            greedy.openControl();
            greedy.hello(1, 1000);
            greedy.expect("1 :status 200");
            greedy.expect("1 WELCOME");
            expectLimit();
            assertThat(greedy.maxStreams()).isEqualTo(3);
            greedy.openStream(3);
            greedy.expect("3 :status 200");
            greedy.openStream(5);
            greedy.expect("5 :status 200");

            greedy.ignoreMaxStreams();
            greedy.openStream(7);
            greedy.expect("7 RST_STREAM 7");
            expectLimit();
        }
        assertThat(log.messages()).contains("worker w announces 1000 streams, but at most 2 are allowed");
    }

    @ParameterizedTest
    @CsvSource({"RST_STREAM,", "DATA, RST_STREAM 0", "HEADERS, RST_STREAM 1"})
    void should_cut_off_a_worker_that_ends_its_streams_without_end(String frame, String answer) throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            int most = 100 + 10;
            for (int i = 0; i <= most; i++) {
                int id = 3 + 2 * i;
                if (i > 0) {
                    worker.openStream(id);
                    worker.expect(id + " :status 200");
                }
                switch (frame) {
                    case "RST_STREAM" -> worker.reset(id);
                    case "DATA" -> worker.end(id);
                    default -> worker.endWithTrailers(id);
                }
                if (answer != null && i < most) {
                    worker.expect(id + " " + answer);
                }
            }
            worker.awaitClosed();
            assertThat(observer.partings.poll(10, TimeUnit.SECONDS).reason())
                    .isEqualTo("more than 110 streams reset or refused within 10 s");
        }
    }

    @Test
    void should_cut_off_a_worker_that_sends_control_messages_without_end() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            for (int i = 0; i < 99; i++) {
                worker.say(new ControlMessage.Readiness(i % 2 == 0));
            }
            worker.awaitClosed();
            expectLimit();
            assertThat(observer.partings.poll(10, TimeUnit.SECONDS).reason())
                    .contains("more than 100 control messages within 10 s");
        }
    }

    @Test
    void should_cut_off_a_worker_that_has_room_again_without_end() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            for (int i = 0; i < 99; i++) {
                worker.say(new ControlMessage.Readiness(true));
            }
            worker.awaitClosed();
            expectLimit();
        }
    }

    @Test
    void should_count_streams_beyond_those_of_hello() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            worker.awaitRead(5);
            expectLimit();
        }
    }

    @Test
    void should_pass_on_a_thousand_interim_responses_and_no_more() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            CompletableFuture<DispatchResponse> response = dispatcher
                    .dispatch(
                            DispatchRequest.builder("GET", "/a").authority("a").build())
                    .toCompletableFuture();
            worker.expect("3 REQUEST_HEAD /a end");
            HeadEncoder encoder = new HeadEncoder();
            worker.bytes(3, out -> {
                try {
                    for (int i = 0; i < 1_002; i++) {
                        FrameWriter.writeInterim(out, encoder, new DefaultHttp2Headers(false).status("103"));
                    }
                    FrameWriter.writeResponseHead(out, encoder, new DefaultHttp2Headers(false).status("204"), true);
                } catch (WireException e) {
                    throw new AssertionError(e);
                }
            });
            assertThat(response.get(10, TimeUnit.SECONDS).status()).isEqualTo(204);
            assertThat(observer.protections).containsExactly(Protection.INTERIM_DROPPED, Protection.INTERIM_DROPPED);
        }
    }

    private static ControlMessage load(int requestLimit) {
        return new ControlMessage.Load(0, 0, 0, 0, 0, requestLimit);
    }

    private int pending() {
        return dispatcher.pools().get(0).queued();
    }

    /** It has two worker streams. */
    @Test
    void should_send_no_more_requests_at_once_than_the_worker_wants() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(2)) {
            worker.say(load(1));
            Await.until("the limit is known", () -> dispatcher.pools().get(0).free() == 1);
            dispatcher.dispatch(DispatchRequest.get("/a").build());
            dispatcher.dispatch(DispatchRequest.get("/b").build());
            Await.until("one request waits", () -> pending() == 1);
            assertThat(dispatcher.workers().toCompletableFuture().get(10, TimeUnit.SECONDS))
                    .singleElement()
                    .returns(1, WorkerSnapshot::limit);

            worker.say(load(0));
            Await.until("no request waits", () -> pending() == 0);
            assertThat(dispatcher.pools().get(0).free()).isZero();
        }
    }
}
