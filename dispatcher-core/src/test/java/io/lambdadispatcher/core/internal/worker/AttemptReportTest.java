package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.WaitReason;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What an observer learns of a request's attempts. */
@Timeout(60)
class AttemptReportTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    private final BlockingQueue<String> attempts = new LinkedBlockingQueue<>();
    private final BlockingQueue<ExchangeEnd> ends = new LinkedBlockingQueue<>();
    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.builder("f")
                    .queue(10, Duration.ofMillis(200))
                    .build())
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .secret(SECRET)
            .eventLoops(1)
            .observer(new Following())
            .observer(new Throwing())
            .start();

    private final class Following implements DispatcherObserver {
        @Override
        public ExchangeListener onExchangeStart(ExchangeStart start) {
            return new ExchangeListener() {
                @Override
                public void onAttempt(int number, Http2Headers headers) {
                    headers.set("traceparent", "attempt-" + number);
                    attempts.add("attempt " + number);
                }

                @Override
                public void onAttemptFailed(int number, @Nullable String workerId, String failure) {
                    attempts.add(failure + " of " + workerId);
                }

                @Override
                public void onEnd(ExchangeEnd end) {
                    ends.add(end.copy());
                }
            };
        }
    }

    /** Its exceptions must affect neither the request nor the other observer. */
    private static final class Throwing implements DispatcherObserver {
        @Override
        public ExchangeListener onExchangeStart(ExchangeStart start) {
            return new ExchangeListener() {
                @Override
                public void onAttempt(int number, Http2Headers headers) {
                    throw new IllegalStateException("no attempt");
                }

                @Override
                public void onAttemptFailed(int number, @Nullable String workerId, String failure) {
                    throw new IllegalStateException("no failure");
                }

                @Override
                public void onEnd(ExchangeEnd end) {
                    throw new IllegalStateException("no end");
                }
            };
        }
    }

    @AfterEach
    void stop() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    private ScriptedWorker worker(String id) throws Exception {
        int ready = dispatcher.pools().get(0).readyWorkers();
        ScriptedWorker worker = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", id, SECRET).ready(1);
        Await.until("it is ready", () -> dispatcher.pools().get(0).readyWorkers() > ready);
        return worker;
    }

    private void get(String path) {
        dispatcher.dispatch(DispatchRequest.builder("GET", path).authority("a").build());
    }

    private ExchangeEnd end() throws InterruptedException {
        ExchangeEnd end = ends.poll(10, TimeUnit.SECONDS);
        assertThat(end).isNotNull();
        return end;
    }

    @Test
    void should_report_the_times_of_the_handler() throws Exception {
        try (ScriptedWorker worker = worker("w")) {
            get("/a");
            worker.expect("3 REQUEST_HEAD /a attempt-1 end");
            worker.bytes(3, out -> FrameWriter.writeTiming(out, 250, 12_345));
            worker.respond(3, new DefaultHttp2Headers().status("204"), true);

            ExchangeEnd end = end();

            assertThat(end.handlerWaitNanos()).isEqualTo(250_000);
            assertThat(end.handlerNanos()).isEqualTo(12_345_000);
            assertThat(end.firstByteNanos()).isBetween(0L, end.totalNanos());
            assertThat(end.waitReason()).isNull();
            assertThat(attempts).containsExactly("attempt 1");
        }
    }

    @Test
    void should_report_each_attempt_and_forget_the_times_of_the_first() throws Exception {
        try (ScriptedWorker first = worker("w1")) {
            get("/a");
            first.expect("3 REQUEST_HEAD /a attempt-1 end");
            try (ScriptedWorker second = worker("w2")) {
                first.bytes(3, out -> {
                    FrameWriter.writeTiming(out, 1, 2);
                    FrameWriter.writeReset(out, ErrorCode.REFUSED, "draining");
                });
                second.expect("3 REQUEST_HEAD /a attempt-2 end");
                second.respond(3, new DefaultHttp2Headers().status("204"), true);

                ExchangeEnd end = end();

                assertThat(attempts).containsExactly("attempt 1", "worker_lost of w1", "attempt 2");
                assertThat(end.workerId()).isEqualTo("w2");
                assertThat(end.attempts()).isEqualTo(2);
                assertThat(end.handlerNanos()).isEqualTo(-1);
            }
        }
    }

    @Test
    void should_say_why_a_request_was_queued() throws Exception {
        get("/a");

        ExchangeEnd end = end();

        assertThat(end.failure()).isEqualTo("queue_timeout");
        assertThat(end.waitReason()).isEqualTo(WaitReason.NO_WORKER);
        assertThat(end.firstByteNanos()).isEqualTo(-1);
        assertThat(attempts).isEmpty();
    }

    @Test
    void should_say_that_all_workers_were_busy() throws Exception {
        try (ScriptedWorker worker = worker("w")) {
            get("/a");
            worker.expect("3 REQUEST_HEAD /a attempt-1 end");
            get("/b");

            ExchangeEnd end = end();

            assertThat(end.path()).hasToString("/b");
            assertThat(end.waitReason()).isEqualTo(WaitReason.ALL_BUSY);
        }
    }
}
