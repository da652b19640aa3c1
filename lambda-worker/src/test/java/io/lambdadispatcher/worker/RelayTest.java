package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Pipe;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

@EachRelease
class RelayTest {
    private static final byte[] HELLO = "hello".getBytes(StandardCharsets.US_ASCII);

    private static Http2Headers ok() {
        return new DefaultHttp2Headers().status("200");
    }

    private static void respondPath(Request request, Response response) {
        response.respond(ok(), ByteBufUtil.writeUtf8(UnpooledByteBufAllocator.DEFAULT, request.path()));
    }

    private static void echo(Request request, Response response) {
        response.head(ok());
        Pipe.connect(request.body(), response);
    }

    /**
     * Ends when the stream has served one more exchange, which shows that it was not harmed before.
     */
    private static void assertServesTheNext(ScriptedStream stream) throws InterruptedException {
        assertThat(stream.exchange(get("/next")).status()).isEqualTo("200");
    }

    /** Records its calls in order. */
    private static final class Recorder implements Handler, BodyReader {
        final BlockingQueue<String> calls = new LinkedBlockingQueue<>();
        final BlockingQueue<Response> responses = new LinkedBlockingQueue<>();
        final AtomicReference<Request> request = new AtomicReference<>();

        @Override
        public void handle(Request newRequest, Response response) {
            if (newRequest.path().equals("/next")) {
                respondPath(newRequest, response);
                return;
            }
            request.set(newRequest);
            newRequest.onCancel(code -> calls.add("cancelled " + code));
            newRequest.body().read(this);
            responses.add(response);
        }

        @Override
        public void onData(ByteBuf bytes) {
            calls.add("data " + bytes.readableBytes());
            bytes.release();
        }

        @Override
        public void onEnd(Http2Headers trailers) {
            calls.add("end " + trailers.size());
        }

        @Override
        public void onFailed(FailureReason code) {
            calls.add("failed " + code);
        }

        String take() throws InterruptedException {
            return String.valueOf(calls.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS));
        }

        Response response() throws InterruptedException {
            return responses.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
        }
    }

    @Test
    void should_serve_exchanges_one_after_the_other_on_one_stream() throws Exception {
        try (Harness harness = new Harness(RelayTest::respondPath)) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < 20; i++) {
                assertThat(stream.exchange(get("/" + i)).text()).isEqualTo("/" + i);
            }
        }
    }

    /** A thread of the handler may call late, and must go on to release what it has. */
    @Test
    void should_ignore_calls_after_the_end_of_the_worker() throws Exception {
        Recorder handler = new Recorder();
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            Response response = handler.response();
            stream.link().cut();
            harness.worker.drain(DrainReason.REQUESTED);
            harness.summary();
            Request request = handler.request.get();
            assertThat(request.eventLoop().awaitTermination(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            request.body().pause();
            request.body().resume();
            response.head(200);
            ByteBuf content = Unpooled.directBuffer(1).writeByte(1);
            response.write(content);
            assertThat(content.refCnt()).isZero();
            response.end();
        }
    }

    @Test
    void should_relay_interim_heads_body_parts_and_trailers_both_ways() throws Exception {
        Handler handler = (request, response) -> {
            response.interim(new DefaultHttp2Headers().status("103"));
            echo(request, response);
        };
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            assertThat(stream.take(ScriptedStream.Interim.class)
                            .headers()
                            .status()
                            .toString())
                    .isEqualTo("103");
            stream.data(HELLO, false);
            stream.trailers(new DefaultHttp2Headers().add("x-sum", "1"));
            ScriptedStream.Gathered response = stream.gather();
            assertThat(response.text()).isEqualTo("hello");
            assertThat(response.trailers().get("x-sum").toString()).isEqualTo("1");
        }
    }

    @Test
    void should_echo_50_MB_in_full_duplex() throws Exception {
        byte[] chunk = new byte[256 * 1024];
        new Random(1).nextBytes(chunk);
        int chunks = 200;
        try (Harness harness = new Harness(RelayTest::echo)) {
            ScriptedStream stream = harness.stream();
            stream.countsOnly = true;
            stream.request(post("/"), 0, false);
            for (int i = 0; i < chunks; i++) {
                stream.dataWhenTaken(chunk, i == chunks - 1).get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
            }
            stream.gather();
            assertThat(stream.bodyBytes.get()).isEqualTo((long) chunk.length * chunks);
            stream.countsOnly = false;
            assertServesTheNext(stream);
        }
    }

    @Test
    void should_take_no_more_than_its_windows_while_nobody_takes_the_response() throws Exception {
        byte[] chunk = new byte[64 * 1024];
        int chunks = 64;
        try (Harness harness = new Harness(RelayTest::echo)) {
            ScriptedStream stream = harness.stream();
            stream.holdsWindow = true;
            stream.countsOnly = true;
            stream.request(post("/"), 0, false);
            CountDownLatch taken = new CountDownLatch(chunks);
            for (int i = 0; i < chunks; i++) {
                stream.dataWhenTaken(chunk, i == chunks - 1).addListener(f -> taken.countDown());
            }
            // After a round trip of the connection, the stream has come to rest.
            assertThat(stream.take(ScriptedStream.Head.class).end()).isFalse();
            stream.awaitBody(50_000);
            harness.dispatcher.links().get(0).roundTrip();
            // The stream's window, the response's maximum, the peer's window, and one part in
            // transit at each step.
            long most = 512 * 1024 + 256 * 1024 + 64 * 1024 + 4L * chunk.length;
            assertThat((chunks - taken.getCount()) * chunk.length).isLessThan(most);
            stream.releaseWindow();
            assertThat(taken.await(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                    .isTrue();
            stream.take(ScriptedStream.Data.class);
            assertThat(stream.bodyBytes.get()).isEqualTo((long) chunk.length * chunks);
        }
    }

    @Test
    void should_hand_nothing_to_a_paused_reader() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            Response response = recorder.response();
            recorder.request
                    .get()
                    .eventLoop()
                    .submit(recorder.request.get().body()::pause)
                    .get();
            stream.data(HELLO, true);
            stream.link().roundTrip();
            assertThat(recorder.calls).isEmpty();
            recorder.request.get().body().resume();
            assertThat(recorder.take()).isEqualTo("data 5");
            assertThat(recorder.take()).isEqualTo("end 0");
            response.respond(ok());
            assertThat(stream.gather().status()).isEqualTo("200");
        }
    }

    @Test
    void should_cancel_before_the_head() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            recorder.response();
            stream.cancel(ErrorCode.CANCELLED);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.CANCELLED);
            assertThat(recorder.take()).isEqualTo("end 0");
            assertThat(recorder.take()).isEqualTo("cancelled CANCELLED");
            assertServesTheNext(stream);
        }
    }

    @Test
    void should_cancel_within_the_request_and_after_the_head() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            stream.data(HELLO, false);
            Response response = recorder.response();
            response.head(200);
            response.write(Unpooled.copiedBuffer(HELLO));
            stream.take(ScriptedStream.Head.class);
            stream.take(ScriptedStream.Data.class);
            stream.cancel(ErrorCode.CANCELLED);
            stream.take(ScriptedStream.Reset.class);
            assertThat(recorder.take()).isEqualTo("data 5");
            assertThat(recorder.take()).isEqualTo("failed CANCELLED");
            assertThat(recorder.take()).isEqualTo("cancelled CANCELLED");
            // Further calls of the handler have no effect.
            assertThat(response.write(Unpooled.copiedBuffer(HELLO))).isFalse();
            response.end();
            assertServesTheNext(stream);
        }
    }

    @Test
    void should_treat_a_reset_request_as_cancelled() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            stream.reset(ErrorCode.CANCELLED);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.CANCELLED);
            assertThat(recorder.take()).isEqualTo("failed CANCELLED");
            assertServesTheNext(stream);
        }
    }

    @Test
    void should_ignore_a_stale_cancel() throws Exception {
        try (Harness harness = new Harness(RelayTest::respondPath)) {
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(get("/a")).text()).isEqualTo("/a");
            stream.cancel(ErrorCode.CANCELLED);
            assertServesTheNext(stream);
        }
    }

    @Test
    void should_drop_the_request_after_an_early_response_until_it_is_not_needed() throws Exception {
        try (Harness harness = new Harness(RelayTest::respondPath)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/early"), 0, false);
            assertThat(stream.gather().text()).isEqualTo("/early");
            for (int i = 0; i < 40; i++) {
                stream.data(new byte[64 * 1024], false);
            }
            stream.cancel(ErrorCode.NOT_NEEDED);
            assertServesTheNext(stream);
        }
    }

    /** Otherwise, it could not release what it has gathered. */
    @Test
    void should_tell_a_reader_that_throws_that_the_request_has_failed() throws Exception {
        CompletableFuture<FailureReason> failed = new CompletableFuture<>();
        Handler handler = (request, response) -> request.body().read(new BodyReader() {
            @Override
            public void onData(ByteBuf data) {
                data.release();
                throw new IllegalStateException("of the test");
            }

            @Override
            public void onEnd(Http2Headers trailers) {}

            @Override
            public void onFailed(FailureReason code) {
                failed.complete(code);
            }
        });
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), HELLO, true);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.HANDLER_FAILED);
            assertThat(failed.get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                    .isEqualTo(FailureReason.HANDLER_FAILED);
        }
    }

    @Test
    void should_reset_with_handler_failed_when_the_handler_throws() throws Exception {
        Handler handler = (request, response) -> {
            if (request.path().equals("/next")) {
                respondPath(request, response);
                return;
            }
            if (request.path().equals("/late")) {
                response.head(ok());
            }
            throw new IllegalStateException("boom");
        };
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            ScriptedStream.Reset reset = stream.take(ScriptedStream.Reset.class);
            assertThat(reset.code()).isEqualTo(ErrorCode.HANDLER_FAILED);
            assertThat(reset.text()).isEmpty();
            stream.request(get("/late"), 0, true);
            stream.take(ScriptedStream.Head.class);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.HANDLER_FAILED);
            assertServesTheNext(stream);
        }
    }

    @Test
    void should_time_out_at_the_requests_deadline() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 30, true);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.TIMEOUT);
            assertThat(recorder.take()).isEqualTo("end 0");
            assertThat(recorder.take()).isEqualTo("cancelled TIMEOUT");
            assertServesTheNext(stream);
        }
    }

    @Test
    void should_reset_and_replace_a_stream_that_breaks_the_protocol() throws Exception {
        try (Harness harness = new Harness(RelayTest::respondPath)) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            ScriptedStream stream = link.takeStream();
            assertServesTheNext(stream);
            // DATA between exchanges.
            stream.raw(0x40, 0, 0, 1, 'x');
            assertThat(stream.take(ScriptedStream.StreamReset.class).errorCode())
                    .isEqualTo(Http2Error.PROTOCOL_ERROR.code());
            ScriptedStream replacement = link.takeStream();
            assertServesTheNext(replacement);
            // A frame type that does not exist.
            replacement.raw(0xF0, 0, 0, 0);
            replacement.take(ScriptedStream.StreamReset.class);
            ScriptedStream third = link.takeStream();
            // Second headers within an exchange.
            third.request(post("/next"), 0, false);
            third.gather();
            third.request(post("/next"), 0, false);
            third.take(ScriptedStream.StreamReset.class);
        }
    }

    @Test
    void should_cancel_the_exchange_of_a_stream_that_breaks_the_protocol() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            recorder.response();
            stream.raw(0xF0, 0, 0, 0);
            stream.take(ScriptedStream.StreamReset.class);
            assertThat(recorder.take()).startsWith("failed");
            assertThat(recorder.take()).startsWith("cancelled");
        }
    }

    @Test
    void should_keep_the_order_of_calls_from_another_thread() throws Exception {
        Handler handler = (request, response) -> CompletableFuture.runAsync(() -> {
            response.head(ok());
            for (int i = 0; i < 1000; i++) {
                response.write(ByteBufUtil.writeUtf8(UnpooledByteBufAllocator.DEFAULT, i + "\n"));
            }
            response.end();
        });
        try (Harness harness = new Harness(handler)) {
            String text = harness.stream().exchange(get("/")).text();
            assertThat(text).startsWith("0\n1\n2\n").endsWith("\n998\n999\n");
            assertThat(text.lines()).hasSize(1000);
        }
    }

    @Test
    void should_refuse_calls_out_of_order() throws Exception {
        BlockingQueue<Runnable> checks = new LinkedBlockingQueue<>();
        Handler handler = (request, response) -> {
            ByteBuf early = Unpooled.copiedBuffer(HELLO);
            assertThatThrownBy(() -> response.write(early)).hasMessageContaining("head()");
            assertThat(early.refCnt()).isZero();
            assertThatThrownBy(() -> response.head(new DefaultHttp2Headers().status("abc")))
                    .hasMessageContaining("abc");
            response.head(ok());
            assertThatThrownBy(() -> response.head(ok())).isInstanceOf(IllegalStateException.class);
            response.end();
            assertThatThrownBy(response::end).hasMessageContaining("ended");
            checks.add(() -> {});
        };
        try (Harness harness = new Harness(handler)) {
            assertThat(harness.stream().exchange(get("/")).status()).isEqualTo("200");
            assertThat(checks.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                    .isNotNull();
        }
    }

    @Test
    void should_cancel_exchanges_when_the_connection_is_lost() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            recorder.response();
            stream.link().cut();
            assertThat(recorder.take()).isEqualTo("failed CANCELLED");
            assertThat(recorder.take()).isEqualTo("cancelled CANCELLED");
        }
    }

    /**
     * Sets the listener on the event loop while two parts, 256 KiB together, are in transit from
     * another thread. When the first part arrives, less than the bound is in transit. When the
     * second arrives, the first has been sent. So there is no other notice.
     */
    @Test
    void should_not_lose_the_notice_that_what_hopped_has_been_taken() throws Exception {
        CountDownLatch notified = new CountDownLatch(1);
        CountDownLatch queued = new CountDownLatch(1);
        CountDownLatch headSent = new CountDownLatch(1);
        CompletableFuture<Boolean> writable = new CompletableFuture<>();
        Handler handler = (request, response) -> {
            new Thread(() -> {
                        request.eventLoop().execute(() -> response.onWritable(notified::countDown));
                        response.head(ok());
                        request.eventLoop().execute(() -> {
                            headSent.countDown();
                            writable.join();
                        });
                        response.write(Unpooled.buffer().writeZero(200_000));
                        queued.countDown();
                        awaitUninterruptibly(headSent);
                        writable.complete(response.write(Unpooled.buffer().writeZero(256 * 1024 - 200_000)));
                    })
                    .start();
            queued.await();
        };
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 0, true);
            assertThat(writable.get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS))
                    .isFalse();
            assertThat(notified.await(10, TimeUnit.SECONDS)).isTrue();
        }
    }

    private static void awaitUninterruptibly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
