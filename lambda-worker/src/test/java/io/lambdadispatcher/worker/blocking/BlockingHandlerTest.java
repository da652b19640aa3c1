package io.lambdadispatcher.worker.blocking;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedDispatcher;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.internal.exchange.HandlerThreads;
import java.io.IOException;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@EachRelease
@Timeout(180)
class BlockingHandlerTest {

    @Test
    void should_read_and_write_by_bytes_on_virtual_and_on_pooled_threads() throws Exception {
        byte[] sent = new byte[300_000];
        new Random(2).nextBytes(sent);
        BlockingHandler handler = (request, response) -> {
            byte[] all = request.body().readAllBytes();
            response.status(201);
            response.body().write(all);
        };
        for (var wrapped : new io.lambdadispatcher.worker.handler.Handler[] {
            handler.asHandler(), handler.asHandler(HandlerThreads.platformThreads())
        }) {
            try (Harness harness = new Harness(wrapped)) {
                ScriptedStream stream = harness.stream();
                stream.request(post("/"), 0, false);
                stream.data(sent, true);
                ScriptedStream.Gathered response = stream.gather();
                assertThat(response.status()).isEqualTo("201");
                assertThat(response.body()).isEqualTo(sent);
            }
        }
    }

    @Test
    void should_block_the_writer_while_nobody_takes_the_response() throws Exception {
        AtomicLong written = new AtomicLong();
        byte[] chunk = new byte[16 * 1024];
        int chunks = 256;
        BlockingHandler handler = (request, response) -> {
            for (int i = 0; i < chunks; i++) {
                response.body().write(chunk);
                written.addAndGet(chunk.length);
            }
        };
        try (Harness harness = new Harness(handler.asHandler())) {
            ScriptedStream stream = harness.stream();
            stream.holdsWindow = true;
            stream.countsOnly = true;
            stream.request(get("/"), 0, true);
            stream.awaitBody(50_000);
            stream.link().roundTrip();
            assertThat(written.get()).isLessThan(1024 * 1024);
            stream.releaseWindow();
            stream.gather();
            assertThat(stream.bodyBytes.get()).isEqualTo((long) chunks * chunk.length);
        }
    }

    @Test
    void should_interrupt_the_handler_when_it_is_cancelled() throws Exception {
        BlockingQueue<String> seen = new LinkedBlockingQueue<>();
        CountDownLatch started = new CountDownLatch(1);
        BlockingHandler handler = (request, response) -> {
            started.countDown();
            try {
                request.body().read();
                seen.add("read");
            } catch (IOException e) {
                seen.add("stopped " + request.isCancelled());
            }
        };
        try (Harness harness = new Harness(handler.asHandler())) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            started.await(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
            stream.cancel(ErrorCode.CANCELLED);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.CANCELLED);
            assertThat(seen.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                    .isEqualTo("stopped true");
        }
    }

    /** Otherwise, requests that are cancelled would fill the memory while all threads hang. */
    @Test
    void should_drop_a_call_that_is_cancelled_before_a_thread_is_free() throws Exception {
        CountDownLatch ends = new CountDownLatch(1);
        BlockingQueue<String> called = new LinkedBlockingQueue<>();
        ThreadPoolExecutor one = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
        BlockingHandler handler = (request, response) -> {
            called.add(request.path());
            ends.await();
            response.respond(200, "done");
        };
        try (Harness harness = new Harness(handler.asHandler(one), config -> config.streams(2))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            ScriptedStream hangs = link.takeStream();
            ScriptedStream waits = link.takeStream();
            hangs.request(get("/hangs"), 0, true);
            assertThat(called.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                    .isEqualTo("/hangs");
            waits.request(post("/waits"), new byte[50_000], true);
            Await.until("the call waits", () -> one.getQueue().size() == 1);
            waits.cancel(ErrorCode.CANCELLED);
            waits.take(ScriptedStream.Reset.class);
            link.roundTrip();
            assertThat(one.getQueue()).isEmpty();
            ends.countDown();
            assertThat(hangs.gather().text()).isEqualTo("done");
            assertThat(called).isEmpty();
        } finally {
            one.shutdown();
        }
    }

    @Test
    void should_fail_the_request_when_the_handler_throws_or_says_nothing() throws Exception {
        BlockingHandler handler = (request, response) -> {
            if (request.path().equals("/throw")) {
                throw new IOException("boom");
            }
        };
        try (Harness harness = new Harness(handler.asHandler())) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/throw"), 0, true);
            assertThat(stream.take(ScriptedStream.Reset.class).text()).isEmpty();
            stream.request(get("/"), 0, true);
            assertThat(stream.take(ScriptedStream.Reset.class).text()).isEmpty();
        }
    }
}
