package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.worker.ControlMessage.Drain;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.ControlMessage.Goodbye;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.handler.BodyReader;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Pipe;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The worker's end of a tunnel, and notices of a drain. */
@Timeout(180)
class TunnelTest {
    /** The default of {@code WorkerConfig.builder}. */
    private static final int STREAM_WINDOW_BYTES = 512 * 1024;

    /** Three quarters of it are left for the handler. */
    private static final Duration SHORT = Duration.ofSeconds(2);

    private static Http2Headers connect() {
        return get("/ws").method("CONNECT").set(":protocol", "websocket");
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** Opens tunnels and records what arrives. Responds immediately to any other request. */
    private static class Recorder implements Handler, BodyReader {
        final BlockingQueue<String> calls = new LinkedBlockingQueue<>();
        final BlockingQueue<Response> responses = new LinkedBlockingQueue<>();

        @Override
        public boolean servesTunnels() {
            return true;
        }

        @Override
        public void handle(Request request, Response response) {
            if (!request.method().toString().equals("CONNECT")) {
                response.respond(new DefaultHttp2Headers().status("200"));
                return;
            }
            request.onCancel(code -> calls.add("cancelled " + code));
            request.onDrain(grace -> calls.add("drain " + !grace.isZero()));
            response.head(200);
            calls.add("remaining " + request.remaining().isPresent());
            request.body().read(this);
            responses.add(response);
        }

        @Override
        public void onData(ByteBuf content) {
            calls.add("data " + content.toString(StandardCharsets.US_ASCII));
            content.release();
        }

        @Override
        public void onEnd(Http2Headers trailers) {
            calls.add("end");
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

    private static ByteBuf buffer(String text) {
        return ByteBufUtil.writeAscii(UnpooledByteBufAllocator.DEFAULT, text);
    }

    @Test
    void should_go_on_reading_when_the_response_has_ended() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 60_000, false);
            Response response = recorder.response();
            assertThat(recorder.take()).isEqualTo("remaining false");
            response.write(buffer("bye"));
            response.end();
            assertThat(stream.gather().text()).isEqualTo("bye");
            stream.data(bytes("more"), false);
            assertThat(recorder.take()).isEqualTo("data more");
            stream.data(bytes("last"), true);
            assertThat(recorder.take()).isEqualTo("data last");
            assertThat(recorder.take()).isEqualTo("end");
            assertThat(stream.exchange(get("/next")).status()).isEqualTo("200");
        }
    }

    /**
     * A slow reader keeps its bytes, but not the window, because the stream's next request needs
     * that.
     */
    @Test
    void should_give_the_next_request_its_window_when_a_tunnel_is_read_late() throws Exception {
        BlockingQueue<Request> late = new LinkedBlockingQueue<>();
        Recorder recorder = new Recorder();
        Handler handler = (request, response) -> {
            response.head(200);
            if (request.method().toString().equals("CONNECT")) {
                response.end();
                request.body().pause();
                request.body().read(recorder);
                late.add(request);
            } else {
                Pipe.connect(request.body(), response);
            }
        };
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            stream.gather();
            byte[] most = new byte[STREAM_WINDOW_BYTES - 1000];
            stream.data(most, true);
            stream.request(post("/next"), 0, false);
            stream.data(new byte[5000], true);
            assertThat(stream.gather().body()).hasSize(5000);
            assertThat(recorder.calls).isEmpty();
            late.remove().body().resume();
            for (int bytes = 0; bytes < most.length; ) {
                bytes += recorder.take().length() - "data ".length();
            }
            assertThat(recorder.take()).isEqualTo("end");
        }
    }

    /** LeakCheck fails this class if a buffer is not released. */
    @Test
    void should_drop_what_nobody_reads_when_the_tunnel_ends() throws Exception {
        BlockingQueue<Request> unread = new LinkedBlockingQueue<>();
        Handler handler = (request, response) -> {
            response.respond(200, "a page");
            unread.add(request);
        };
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            assertThat(stream.gather().text()).isEqualTo("a page");
            stream.data(bytes("never read"), true);
            assertThat(stream.exchange(get("/next")).status()).isEqualTo("200");
            Recorder recorder = new Recorder();
            Request request = unread.remove();
            request.eventLoop().execute(() -> request.body().read(recorder));
            assertThat(recorder.take()).isEqualTo("failed NOT_NEEDED");
        }
    }

    @Test
    void should_go_on_writing_when_the_request_has_ended() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            stream.data(bytes("last"), true);
            recorder.take();
            assertThat(recorder.take()).isEqualTo("data last");
            assertThat(recorder.take()).isEqualTo("end");
            Response response = recorder.response();
            response.write(buffer("bye"));
            response.end();
            assertThat(stream.gather().text()).isEqualTo("bye");
            assertThat(stream.exchange(get("/next")).status()).isEqualTo("200");
        }
    }

    @Test
    void should_tell_the_reader_of_a_cancel_behind_the_responses_end() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            recorder.response().end();
            stream.gather();
            stream.cancel(ErrorCode.CANCELLED);
            recorder.take();
            assertThat(recorder.take()).isEqualTo("failed CANCELLED");
            assertThat(stream.exchange(get("/next")).status()).isEqualTo("200");
        }
    }

    @Test
    void should_cancel_an_open_tunnel() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            recorder.response();
            stream.cancel(ErrorCode.CANCELLED);
            recorder.take();
            assertThat(List.of(recorder.take(), recorder.take()))
                    .containsExactlyInAnyOrder("failed CANCELLED", "cancelled CANCELLED");
            stream.take(ScriptedStream.Head.class);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.CANCELLED);
            assertThat(stream.exchange(get("/next")).status()).isEqualTo("200");
        }
    }

    @Test
    void should_end_both_directions_of_a_tunnel_that_fails() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            recorder.response().fail(FailureReason.HANDLER_FAILED, "because");
            recorder.take();
            assertThat(recorder.take()).isEqualTo("failed NOT_NEEDED");
            stream.take(ScriptedStream.Head.class);
            stream.take(ScriptedStream.Reset.class);
            stream.cancel(ErrorCode.NOT_NEEDED);
            assertThat(stream.exchange(get("/next")).status()).isEqualTo("200");
        }
    }

    /** A handler only gets tunnels if it says that it serves them. A lambda does not. */
    @Test
    void should_answer_501_for_a_handler_that_serves_no_tunnels() throws Exception {
        BlockingQueue<String> asked = new LinkedBlockingQueue<>();
        final class Plain implements Handler, Lifecycle {
            @Override
            public void handle(Request request, Response response) {
                asked.add(request.path());
                response.respond(new DefaultHttp2Headers().status("200"));
            }

            @Override
            public CompletionStage<Void> start() {
                return CompletableFuture.completedFuture(null);
            }

            @Override
            public void stop() {}
        }
        try (Harness harness = new Harness(new Plain())) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            assertThat(stream.gather().status()).isEqualTo("501");
            stream.cancel(ErrorCode.NOT_NEEDED);
            assertThat(stream.exchange(get("/next")).status()).isEqualTo("200");
            assertThat(asked).containsExactly("/next");
        }
    }

    @Test
    void should_tell_of_a_drain_once() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder)) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            Response response = recorder.response();
            recorder.take();
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(recorder.take()).isEqualTo("drain true");
            harness.worker.drain(DrainReason.REQUESTED);
            response.end();
            stream.data(bytes(""), true);
            assertThat(stream.gather().status()).isEqualTo("200");
            assertThat(recorder.take()).isEqualTo("end");
            assertThat(recorder.calls).isEmpty();
        }
    }

    /** Its handler does nothing when the worker drains. */
    @Test
    void should_close_a_websocket_with_1012_before_the_grace_period_ends() throws Exception {
        Recorder recorder = new Recorder();
        try (Harness harness = new Harness(recorder, config -> config.drainGrace(SHORT))) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            Response response = recorder.response();
            recorder.take();
            response.write(Unpooled.wrappedBuffer(new byte[] {(byte) 0x81, 2, 'h'}));
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(recorder.take()).isEqualTo("drain true");
            response.write(Unpooled.wrappedBuffer(new byte[] {'i'}));
            assertThat(stream.gather().body())
                    .containsExactly((byte) 0x81, 2, 'h', 'i', (byte) 0x88, 2, 1012 >> 8, (byte) 1012);
            assertThat(List.of(recorder.take(), recorder.take()))
                    .containsExactlyInAnyOrder("failed GOING_AWAY", "cancelled GOING_AWAY");

            response.write(buffer("too late"));
            stream.data(bytes("the client's close frame"), true);
            stream.link().takeMessage(Drain.class);
            stream.link().takeMessage(Goodbye.class);
            assertThat(recorder.calls).isEmpty();
            assertThat(harness.summary().failures()).isZero();
        }
    }

    @Test
    void should_end_an_event_stream_but_cut_off_what_its_client_would_take_for_complete() throws Exception {
        Handler handler = (request, response) -> {
            response.head(new DefaultHttp2Headers()
                    .status("200")
                    .set("content-type", request.path().substring(1)));
            response.write(buffer("data: 1\n\n"));
        };
        try (Harness harness =
                new Harness(handler, config -> config.drainGrace(SHORT).streams(2))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            ScriptedStream events = link.takeStream();
            ScriptedStream file = link.takeStream();
            events.request(get("/text/event-stream"), 0, true);
            file.request(get("/text/plain"), 0, true);
            events.awaitBody(9);
            file.awaitBody(9);
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(events.gather().text()).isEqualTo("data: 1\n\n");
            file.take(ScriptedStream.Head.class);
            file.take(ScriptedStream.Data.class);
            assertThat(file.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.GOING_AWAY);
        }
    }

    @Test
    void should_end_a_grpc_call_with_the_status_unavailable() throws Exception {
        Handler handler = (request, response) -> {
            response.head(new DefaultHttp2Headers().status("200").set("content-type", "application/grpc"));
            response.write(Unpooled.wrappedBuffer(new byte[] {0, 0, 0, 0, 1, 7}));
        };
        try (Harness harness = new Harness(handler, config -> config.drainGrace(SHORT))) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/service/watch"), 0, false);
            stream.awaitBody(6);
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(stream.gather().trailers().get("grpc-status")).hasToString("14");
            stream.cancel(ErrorCode.NOT_NEEDED);
        }
    }

    /** A client would otherwise get an error, because its response began too late for the drain. */
    @Test
    void should_end_a_response_that_begins_when_the_time_for_its_end_has_come() throws Exception {
        BlockingQueue<Response> late = new LinkedBlockingQueue<>();
        Handler handler = (request, response) -> {
            if (request.path().equals("/late")) {
                late.add(response);
            } else {
                response.head(eventStream());
            }
        };
        // A second of it remains when the first response is ended.
        Duration grace = Duration.ofSeconds(4);
        try (Harness harness =
                new Harness(handler, config -> config.drainGrace(grace).streams(2))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            ScriptedStream early = link.takeStream();
            ScriptedStream behind = link.takeStream();
            early.request(get("/early"), 0, true);
            behind.request(get("/late"), 0, true);
            Response response = late.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
            harness.worker.drain(DrainReason.REQUESTED);
            early.gather();
            response.head(eventStream());
            assertThat(behind.gather().body()).isEmpty();
        }
    }

    private static Http2Headers eventStream() {
        return new DefaultHttp2Headers().status("200").set("content-type", "text/event-stream");
    }

    /** Records that the worker drains, too. */
    private static final class LifecycleRecorder extends Recorder implements Lifecycle {
        @Override
        public CompletionStage<Void> start() {
            return CompletableFuture.completedStage(null);
        }

        @Override
        public CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
            calls.add("worker drains: " + reason);
            return CompletableFuture.completedStage(null);
        }

        @Override
        public void stop() {}
    }

    /** A dispatcher drains with all the time of the worker, and then the platform ends it. */
    @Test
    void should_end_responses_before_the_grace_period_of_a_second_drain_ends() throws Exception {
        Recorder recorder = new LifecycleRecorder();
        try (Harness harness = new Harness(recorder, config -> config.drainGrace(SHORT))) {
            ScriptedStream stream = harness.stream();
            stream.request(connect(), 0, false);
            recorder.response();
            recorder.take();
            stream.link().send(new Drain(DrainCode.DEADLINE, 900_000));
            assertThat(List.of(recorder.take(), recorder.take()))
                    .containsExactlyInAnyOrder("drain true", "worker drains: DEADLINE");
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(stream.gather().body()).containsExactly((byte) 0x88, 2, 1012 >> 8, (byte) 1012);
            stream.data(bytes(""), true);
        }
    }

    /**
     * When the first response is ended for its handler, the handler ends both from another thread.
     * That is too late for the first one, and early enough for the second one.
     */
    @Test
    void should_end_a_response_once_if_its_handler_ends_it_from_another_thread() throws Exception {
        BlockingQueue<Response> open = new LinkedBlockingQueue<>();
        BlockingQueue<String> cancelled = new LinkedBlockingQueue<>();
        Handler handler = (request, response) -> {
            request.onCancel(code -> {
                cancelled.add(request.path());
                CompletableFuture.runAsync(() -> open.forEach(each -> {
                            each.write(buffer("data: last\n\n"));
                            each.end();
                        }))
                        .join();
            });
            response.head(eventStream());
            response.write(buffer("data: first\n\n"));
            open.add(response);
        };
        try (Harness harness =
                new Harness(handler, config -> config.drainGrace(SHORT).streams(2))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            ScriptedStream first = link.takeStream();
            ScriptedStream second = link.takeStream();
            first.request(get("/first"), 0, true);
            second.request(get("/second"), 0, true);
            first.awaitBody(13);
            second.awaitBody(13);
            harness.worker.drain(DrainReason.REQUESTED);

            assertThat(first.gather().text()).isEqualTo("data: first\n\n");
            assertThat(second.gather().text()).isEqualTo("data: first\n\ndata: last\n\n");
            assertThat(cancelled).containsExactly("/first");
            link.takeMessage(Drain.class);
            link.takeMessage(Goodbye.class);
            assertThat(List.of(first, second))
                    .flatExtracting(each -> each.events)
                    .as("after the end")
                    .noneMatch(ScriptedStream.Data.class::isInstance);
            assertThat(harness.summary().failures()).isZero();
        }
    }
}
