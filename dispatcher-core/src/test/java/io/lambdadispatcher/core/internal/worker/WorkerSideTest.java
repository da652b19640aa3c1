package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExchangeListener;
import io.lambdadispatcher.core.observe.ExchangeStart;
import io.lambdadispatcher.core.observe.LaunchHistory;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.options.Transport;
import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.core.testkit.RecordingObserver.Parting;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Tests the dispatcher's end of worker connections. The worker follows a script, and the requests
 * come from the embedding program.
 */
class WorkerSideTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final RecordingObserver observer = new RecordingObserver();
    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.builder("f")
                    .queue(10, Duration.ofSeconds(30))
                    .build())
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .secret(SECRET)
            .eventLoops(2)
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

    private CompletableFuture<DispatchResponse> send(DispatchRequest request) {
        return dispatcher.dispatch(request).toCompletableFuture();
    }

    private CompletableFuture<DispatchResponse> get(String path) {
        return send(DispatchRequest.builder("GET", path).authority("a").build());
    }

    /** Starts a dispatcher whose requests and workers share one event loop. */
    private static Dispatcher ofOneLoop() {
        return ofOneLoop(DispatcherObserver.NONE);
    }

    private static Dispatcher ofOneLoop(DispatcherObserver observer) {
        return Dispatcher.builder()
                .observer(observer)
                .function(FunctionOptions.of("f"))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret(SECRET)
                .eventLoops(1)
                .start();
    }

    private static Http2Headers ok() {
        return new DefaultHttp2Headers().status("200");
    }

    private static DispatchException failure(CompletableFuture<?> future) {
        try {
            future.get(10, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            return (DispatchException) e.getCause();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
        throw new AssertionError("did not fail");
    }

    /** Reads a body to its end and counts its bytes. */
    private static CompletableFuture<Long> count(DispatchResponse response) {
        CompletableFuture<Long> whole = new CompletableFuture<>();
        AtomicLong bytes = new AtomicLong();
        response.body().subscribe(new Flow.Subscriber<>() {
            @Override
            public void onSubscribe(Flow.Subscription subscription) {
                subscription.request(Long.MAX_VALUE);
            }

            @Override
            public void onNext(ByteBuf part) {
                bytes.addAndGet(part.readableBytes());
                part.release();
            }

            @Override
            public void onError(Throwable error) {
                whole.completeExceptionally(error);
            }

            @Override
            public void onComplete() {
                whole.complete(bytes.get());
            }
        });
        return whole;
    }

    @Test
    void should_carry_one_exchange_after_the_other_on_a_stream() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            for (int i = 0; i < 3; i++) {
                CompletableFuture<DispatchResponse> response = get("/" + i);
                worker.expect("3 REQUEST_HEAD /" + i + " end");
                worker.respond(3, ok(), false);
                worker.data(3, 10, true);
                assertThat(count(response.get(10, TimeUnit.SECONDS)).get(10, TimeUnit.SECONDS))
                        .isEqualTo(10);
            }
        }
    }

    /** 20 MiB pass a window of 256 KiB. Each byte must return to the window exactly once. */
    @Test
    void should_give_all_bytes_back_to_the_window() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            for (int i = 0; i < 5; i++) {
                CompletableFuture<DispatchResponse> response = get("/big");
                worker.expect("3 REQUEST_HEAD /big end");
                worker.respond(3, ok(), false);
                for (int part = 0; part < 64; part++) {
                    worker.data(3, 65_536, part == 63);
                }
                assertThat(count(response.get(10, TimeUnit.SECONDS)).get(10, TimeUnit.SECONDS))
                        .isEqualTo(64 * 65_536);
            }
        }
    }

    /** Other requests use the same event loop and the same worker connection. */
    @Test
    void should_bear_a_subscriber_that_throws() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(2)) {
            CompletableFuture<DispatchResponse> broken = get("/broken");
            worker.expect("5 REQUEST_HEAD /broken end");
            CompletableFuture<DispatchResponse> whole = get("/whole");
            worker.expect("3 REQUEST_HEAD /whole end");
            worker.respond(5, ok(), false);
            broken.get(10, TimeUnit.SECONDS).body().subscribe(new Flow.Subscriber<>() {
                @Override
                public void onSubscribe(Flow.Subscription subscription) {
                    subscription.request(1);
                }

                @Override
                public void onNext(ByteBuf content) {
                    content.release();
                    throw new IllegalStateException("a subscriber that throws");
                }

                @Override
                public void onError(Throwable error) {}

                @Override
                public void onComplete() {}
            });
            worker.data(5, 10, false);
            worker.expect("5 CANCEL " + ErrorCode.CANCELLED.code());
            worker.respond(3, ok(), false);
            worker.data(3, 10, true);
            assertThat(count(whole.get(10, TimeUnit.SECONDS)).get(10, TimeUnit.SECONDS))
                    .isEqualTo(10);
        }
    }

    @Test
    void should_end_the_request_when_the_response_ends_first() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1);
                SubmissionPublisher<ByteBuf> body = new SubmissionPublisher<>()) {
            CompletableFuture<DispatchResponse> response = send(DispatchRequest.builder("POST", "/early")
                    .authority("a")
                    .body(body)
                    .build());
            worker.expect("3 REQUEST_HEAD /early");
            worker.respond(3, ok(), true);
            assertThat(response.get(10, TimeUnit.SECONDS).status()).isEqualTo(200);
            worker.expect("3 CANCEL " + ErrorCode.NOT_NEEDED.code());
            get("/next");
            worker.expect("3 REQUEST_HEAD /next end");
        }
    }

    @Test
    void should_not_use_a_stream_again_before_its_cancelled_exchange_is_answered_for() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            CompletableFuture<DispatchResponse> unwanted = get("/a");
            worker.expect("3 REQUEST_HEAD /a end");
            unwanted.cancel(true);
            worker.expect("3 CANCEL " + ErrorCode.CANCELLED.code());
            get("/b");
            worker.respond(3, ok(), false);
            worker.data(3, 100, false);
            worker.bytes(3, out -> FrameWriter.writeReset(out, ErrorCode.CANCELLED, ""));
            worker.expect("3 REQUEST_HEAD /b end");
        }
    }

    /**
     * A CANCEL would wait behind bytes that the worker does not read. Until then, the stream and
     * the memory of these bytes would be in use.
     */
    @Test
    void should_reset_the_stream_of_a_cancelled_request_that_the_worker_does_not_take() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            worker.hold(3);
            CompletableFuture<DispatchResponse> unwanted = send(DispatchRequest.builder("POST", "/a")
                    .authority("a")
                    .body(synchronous(1, 200_000))
                    .build());
            worker.awaitHeld(3, Http2CodecUtil.DEFAULT_WINDOW_SIZE);
            unwanted.cancel(true);
            worker.expect("3 RST_STREAM " + Http2Error.CANCEL.code());
            worker.openStream(5);
            worker.expect("5 :status 200");
            get("/b");
            worker.expect("5 REQUEST_HEAD /b end");
        }
    }

    /** The exchange is over by then, so the worker has nothing to answer. */
    @Test
    void should_not_cancel_an_exchange_that_is_over_when_its_last_bytes_are_passed_on() throws Exception {
        try (Dispatcher ofOneLoop = ofOneLoop();
                ScriptedWorker worker =
                        new ScriptedWorker(loops, ofOneLoop.workerAddress(), "f", "w1", SECRET).ready(1)) {
            CompletableFuture<DispatchResponse> response = ofOneLoop
                    .dispatch(
                            DispatchRequest.builder("GET", "/a").authority("a").build())
                    .toCompletableFuture();
            worker.expect("3 REQUEST_HEAD /a end");
            worker.respond(3, ok(), false);
            CompletableFuture<Void> cancelled = new CompletableFuture<>();
            response.get(10, TimeUnit.SECONDS).body().subscribe(new CancellingWithin(cancelled));
            worker.data(3, 10, true);
            cancelled.get(10, TimeUnit.SECONDS);
            ofOneLoop.dispatch(
                    DispatchRequest.builder("GET", "/next").authority("a").build());
            worker.expect("3 REQUEST_HEAD /next end");
        }
    }

    private static final class CancellingWithin extends Cancelling {
        private final CompletableFuture<Void> cancelled;
        private Flow.Subscription subscription;

        CancellingWithin(CompletableFuture<Void> cancelled) {
            this.cancelled = cancelled;
        }

        @Override
        public void onSubscribe(Flow.Subscription given) {
            subscription = given;
            given.request(1);
        }

        @Override
        public void onNext(ByteBuf part) {
            super.onNext(part);
            subscription.cancel();
            cancelled.complete(null);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "HANDLER_FAILED, handler_failed, 500",
        "INTERNAL, handler_failed, 500",
        "TIMEOUT, timeout, 504",
        "BAD_MESSAGE, bad_response, 502"
    })
    void should_translate_a_reset_before_the_head(ErrorCode code, String failure, int status) throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            CompletableFuture<DispatchResponse> response = get("/a");
            worker.expect("3 REQUEST_HEAD /a end");
            worker.bytes(3, out -> FrameWriter.writeReset(out, code, "because"));
            assertThat(failure(response))
                    .hasMessageContaining("because")
                    .returns(failure, DispatchException::failure)
                    .returns(status, DispatchException::status);
            get("/next");
            worker.expect("3 REQUEST_HEAD /next end");
        }
    }

    @Test
    void should_send_a_refused_request_to_another_worker() throws Exception {
        try (ScriptedWorker first = worker("w1").ready(1)) {
            CompletableFuture<DispatchResponse> response =
                    send(DispatchRequest.builder("POST", "/a").authority("a").build());
            first.expect("3 REQUEST_HEAD /a end");
            first.say(new ControlMessage.Drain(DrainCode.IDLE, 1000));
            try (ScriptedWorker second = worker("w2").ready(1)) {
                first.bytes(3, out -> FrameWriter.writeReset(out, ErrorCode.REFUSED, "draining"));
                second.expect("3 REQUEST_HEAD /a end");
                second.respond(3, ok(), true);
                assertThat(response.get(10, TimeUnit.SECONDS).status()).isEqualTo(200);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"5, 4", "5, 6"})
    void should_never_end_cleanly_a_body_that_is_not_as_long_as_it_says(int says, int comes) throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            CompletableFuture<DispatchResponse> response = get("/a");
            worker.expect("3 REQUEST_HEAD /a end");
            worker.respond(3, ok().setInt("content-length", says), false);
            CompletableFuture<Long> body = count(response.get(10, TimeUnit.SECONDS));
            worker.data(3, comes, true);
            assertThatThrownBy(() -> body.get(10, TimeUnit.SECONDS)).hasMessageContaining("bad_response");
        }
    }

    /** Equal values are rejected, too, because clients may read only one (RFC 9112 section 6.3). */
    @ParameterizedTest
    @CsvSource({
        "GET, 200, 5, 6",
        "GET, 200, 5, 5",
        "GET, 200, '',",
        "GET, 200, '5, 5',",
        "GET, 200, -1,",
        "GET, 200, 99999999999999999999,",
        "HEAD, 200, 5, 6",
        "HEAD, 200, x,",
        "GET, 204, 0, 1",
        "GET, 304, 5, 6"
    })
    void should_refuse_a_response_whose_length_is_not_one_number(
            String method, String status, String length, @Nullable String more) throws Exception {
        Http2Headers head = new DefaultHttp2Headers().status(status).add("content-length", length);
        if (more != null) {
            head.add("content-length", more);
        }
        try (ScriptedWorker worker = worker("w").ready(1)) {
            for (boolean end : new boolean[] {true, false}) {
                CompletableFuture<DispatchResponse> response = send(
                        DispatchRequest.builder(method, "/a").authority("a").build());
                worker.expect("3 REQUEST_HEAD /a end");
                worker.respond(3, head, end);
                assertThat(failure(response))
                        .hasMessageContaining("content-length [" + length)
                        .returns("bad_response", DispatchException::failure)
                        .returns(502, DispatchException::status);
                if (!end) {
                    worker.expect("3 CANCEL " + ErrorCode.BAD_MESSAGE.code());
                    worker.data(3, 5, true);
                }
            }
            get("/next");
            worker.expect("3 REQUEST_HEAD /next end");
        }
    }

    @Test
    void should_lose_only_the_stream_on_which_the_protocol_is_broken() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(2)) {
            CompletableFuture<DispatchResponse> a = get("/a");
            worker.expect("5 REQUEST_HEAD /a end");
            CompletableFuture<DispatchResponse> b = get("/b");
            worker.expect("3 REQUEST_HEAD /b end");
            worker.bytes(5, out -> out.writeInt(0xF0000000));
            worker.expect("5 RST_STREAM 1");
            worker.respond(3, ok(), true);
            assertThat(b.get(10, TimeUnit.SECONDS).status()).isEqualTo(200);
            // GET is idempotent, so the dispatcher sends it again, on the remaining stream.
            worker.expect("3 REQUEST_HEAD /a end");
            worker.respond(3, ok(), true);
            assertThat(a.get(10, TimeUnit.SECONDS).status()).isEqualTo(200);
        }
    }

    @Test
    void should_not_take_a_worker_for_busy_with_a_request_that_could_not_be_sent() throws Exception {
        try (Dispatcher ofOneLoop = ofOneLoop();
                ScriptedWorker first =
                        new ScriptedWorker(loops, ofOneLoop.workerAddress(), "f", "w1", SECRET).ready(2);
                ScriptedWorker second = new ScriptedWorker(loops, ofOneLoop.workerAddress(), "f", "w2", SECRET)) {
            CompletableFuture<DispatchResponse> tooLong = ofOneLoop
                    .dispatch(DispatchRequest.builder("GET", "/" + "x".repeat(300_000))
                            .authority("a")
                            .build())
                    .toCompletableFuture();
            first.expect("5 RST_STREAM 1");
            assertThat(failure(tooLong)).returns("bad_request", DispatchException::failure);
            second.ready(1).awaitRead(5);
            ofOneLoop.dispatch(
                    DispatchRequest.builder("GET", "/next").authority("a").build());
            first.expect("3 REQUEST_HEAD /next end");
        }
    }

    /** The observer adds a header that cannot be encoded, as if memory had run out. */
    @Test
    void should_lose_only_the_stream_whose_request_could_not_be_written() throws Exception {
        CharSequence unwritable = new Unwritable();
        DispatcherObserver adding = new DispatcherObserver() {
            @Override
            public ExchangeListener onExchangeStart(ExchangeStart start) {
                boolean broken = "/broken".contentEquals(start.headers().path());
                return new ExchangeListener() {
                    @Override
                    public void onAttempt(int number, Http2Headers headers) {
                        if (broken) {
                            headers.add("x-unwritable", unwritable);
                        }
                    }

                    @Override
                    public void onEnd(ExchangeEnd end) {}
                };
            }
        };
        try (Dispatcher ofOneLoop = ofOneLoop(adding);
                ScriptedWorker worker =
                        new ScriptedWorker(loops, ofOneLoop.workerAddress(), "f", "w1", SECRET).ready(2)) {
            CompletableFuture<DispatchResponse> broken = ofOneLoop
                    .dispatch(DispatchRequest.builder("GET", "/broken")
                            .authority("a")
                            .build())
                    .toCompletableFuture();
            assertThat(failure(broken)).returns("overloaded", DispatchException::failure);
            worker.expect("5 RST_STREAM 1");
            CompletableFuture<DispatchResponse> next = ofOneLoop
                    .dispatch(DispatchRequest.builder("GET", "/next")
                            .authority("a")
                            .build())
                    .toCompletableFuture();
            worker.expect("3 REQUEST_HEAD /next end");
            worker.openStream(7);
            worker.expect("7 :status 200");
            ofOneLoop.dispatch(
                    DispatchRequest.builder("GET", "/third").authority("a").build());
            worker.expect("7 REQUEST_HEAD /third end");
            worker.respond(3, ok(), true);
            assertThat(next.get(10, TimeUnit.SECONDS).status()).isEqualTo(200);
        }
    }

    private static final class Unwritable implements CharSequence {
        @Override
        public int length() {
            throw new OutOfMemoryError("for the test");
        }

        @Override
        public char charAt(int index) {
            throw new OutOfMemoryError("for the test");
        }

        @Override
        public CharSequence subSequence(int start, int end) {
            throw new OutOfMemoryError("for the test");
        }
    }

    @Test
    void should_turn_away_who_is_not_entitled() throws Exception {
        try (ScriptedWorker stranger = new ScriptedWorker(
                loops,
                dispatcher.workerAddress(),
                "f",
                "w",
                "another secret of that length".getBytes(StandardCharsets.UTF_8))) {
            stranger.openControl();
            stranger.expect("1 :status 401");
            stranger.awaitClosed();
        }
        try (ScriptedWorker lost = new ScriptedWorker(loops, dispatcher.workerAddress(), "g", "w", SECRET)) {
            lost.openControl();
            lost.expect("1 :status 403");
            lost.awaitClosed();
        }
        try (ScriptedWorker hasty = worker("w")) {
            hasty.openStream(1);
            hasty.expect("1 :status 403");
            hasty.awaitClosed();
        }
        try (ScriptedWorker modern = worker("w2")) {
            modern.openControl();
            modern.hello(9, 1);
            modern.awaitClosed();
        }
    }

    /** A worker of one function must not receive requests of another. */
    @Test
    void should_let_in_only_workers_with_the_key_of_their_function() throws Exception {
        byte[] own = "another secret of that length".getBytes(StandardCharsets.UTF_8);
        Dispatcher two = Dispatcher.builder()
                .function(FunctionOptions.of("f"))
                .function(FunctionOptions.of("g"))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret(SECRET)
                .secret("g", own)
                .start();
        try {
            new ScriptedWorker(loops, two.workerAddress(), "f", "w1", SECRET)
                    .ready(1)
                    .close();
            new ScriptedWorker(loops, two.workerAddress(), "g", "w2", own)
                    .ready(1)
                    .close();
            String forged =
                    new LaunchToken("g", "w3", Instant.now().plusSeconds(60)).sign(LaunchToken.key(SECRET, "f"));
            // When its worker has ended, nobody may use its token, and ids are not kept forever.
            String endless =
                    new LaunchToken("f", "w6", Instant.now().plusSeconds(3600)).sign(LaunchToken.key(SECRET, "f"));
            for (ScriptedWorker stranger : List.of(
                    new ScriptedWorker(loops, two.workerAddress(), "g", "w4", SECRET),
                    new ScriptedWorker(loops, two.workerAddress(), "f", "w5", own),
                    new ScriptedWorker(loops, two.workerAddress(), forged),
                    new ScriptedWorker(loops, two.workerAddress(), endless))) {
                stranger.openControl();
                stranger.expect("1 :status 401");
                stranger.awaitClosed();
                stranger.close();
            }
        } finally {
            two.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        }
    }

    @Test
    void should_refuse_secrets_that_cannot_be_meant() {
        DispatcherBuilder builder = Dispatcher.builder()
                .function(FunctionOptions.of("f"))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0));
        assertThatThrownBy(() -> builder.secret("g", SECRET).start())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("secret: 'g', expected the name of one of the functions");
        assertThatThrownBy(() -> Dispatcher.builder()
                        .function(FunctionOptions.of("f"))
                        .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                        .secret("f", new byte[15])
                        .start())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("secret of function f: 15 bytes, expected at least 16");
    }

    @Test
    void should_not_let_a_worker_come_back_that_has_said_goodbye() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            worker.say(new ControlMessage.Goodbye("done"));
            // GOODBYE could be lost if the connection is closed before it is read.
            worker.awaitRead(5);
        }
        assertThat(observer.partings.poll(10, TimeUnit.SECONDS))
                .isEqualTo(new Parting("w", true, "the worker said goodbye: done"));
        try (ScriptedWorker again = worker("w")) {
            again.openControl();
            again.expect("1 :status 403");
            again.awaitClosed();
        }
    }

    @Test
    void should_accept_no_more_streams_than_hello_announced() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            worker.openStream(5);
            worker.expect("5 :status 403");
        }
    }

    @Test
    void should_send_nothing_to_a_worker_that_is_not_ready_and_all_when_it_is() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            worker.say(new ControlMessage.Readiness(false));
            worker.awaitRead(5);
            assertThat(dispatcher.pools().get(0).free()).isZero();
            get("/a");
            worker.say(new ControlMessage.Readiness(true));
            worker.expect("3 REQUEST_HEAD /a end");
        }
    }

    /**
     * The last step of startup is to start launching. It fails, because the duration since the
     * history's time overflows.
     */
    @Test
    void should_leave_no_port_open_when_the_last_step_of_its_start_fails() {
        DispatcherBuilder builder = Dispatcher.builder()
                .function(FunctionOptions.builder("f")
                        .capacity(CapacityPolicy.between(0, 1))
                        .build())
                .transport(new Transport("nio", NioIoHandler.newFactory(), RememberedPort.class))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .launcher(new RecordingLauncher())
                .launchHistory(Instant.MIN, List.of(new LaunchHistory("f", true, 0, List.of(), "")));

        RememberedPort.ALL.clear();
        assertThatThrownBy(builder::start).isInstanceOf(ArithmeticException.class);
        assertThat(RememberedPort.ALL).hasSize(1).noneMatch(Channel::isOpen);
    }

    @Test
    void should_leave_no_port_open_when_it_cannot_start_on_given_event_loops() throws Exception {
        RememberedPort.ALL.clear();
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            assertThatThrownBy(() -> Dispatcher.builder()
                            .function(FunctionOptions.of("f"))
                            .eventLoopGroup(loops)
                            .transport(new Transport("nio", NioIoHandler.newFactory(), RememberedPort.class))
                            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                            .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                            .publicListener(ListenerOptions.plain("127.0.0.1", taken.getLocalPort()))
                            .start())
                    .hasMessageContaining("cannot listen on 127.0.0.1:" + taken.getLocalPort());
            // Netty soon closes the third port, which could not be bound.
            assertThat(RememberedPort.ALL).hasSize(3);
            assertThat(List.copyOf(RememberedPort.ALL).subList(0, 2)).noneMatch(Channel::isOpen);
        }
    }

    /** An embedding program may end its event loops before it closes the dispatcher. */
    @Test
    void should_close_after_its_event_loops_have_ended() throws Exception {
        EventLoopGroup own = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        RecordingLauncher launches = new RecordingLauncher();
        Dispatcher embedded = Dispatcher.builder()
                .function(FunctionOptions.builder("f")
                        .capacity(CapacityPolicy.between(0, 1))
                        .build())
                .eventLoopGroup(own)
                .transport(new Transport("nio", NioIoHandler.newFactory(), NioServerSocketChannel.class))
                .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret(SECRET)
                .launcher(launches)
                .start();
        own.shutdownGracefully(0, 5, TimeUnit.SECONDS).await(20, TimeUnit.SECONDS);
        embedded.close(Duration.ofSeconds(60)).toCompletableFuture().get(20, TimeUnit.SECONDS);
        assertThat(launches.closes).hasValue(1);
        assertThat(launches.workers).isEmpty();
    }

    public static final class RememberedPort extends NioServerSocketChannel {
        private static final Queue<Channel> ALL = new ConcurrentLinkedQueue<>();

        public RememberedPort() {
            ALL.add(this);
        }
    }

    @Test
    void should_tell_workers_to_drain_when_it_closes() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            CompletableFuture<Void> closed =
                    dispatcher.close(Duration.ofSeconds(5)).toCompletableFuture();
            worker.expect("1 DRAIN");
            worker.say(new ControlMessage.Goodbye("done"));
            worker.close();
            closed.get(10, TimeUnit.SECONDS);
        }
    }

    /** A draining worker would not accept queued requests. */
    @Test
    void should_serve_the_embedding_programs_requests_before_workers_are_told_to_drain() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            CompletableFuture<DispatchResponse> first = get("/a");
            worker.expect("3 REQUEST_HEAD /a end");
            List<CompletableFuture<DispatchResponse>> responses = List.of(first, get("/b"));
            CompletableFuture<Void> closed =
                    dispatcher.close(Duration.ofSeconds(30)).toCompletableFuture();
            worker.respond(3, ok(), true);
            worker.expect("3 REQUEST_HEAD /b end");
            worker.respond(3, ok(), true);
            worker.expect("1 DRAIN");
            for (CompletableFuture<DispatchResponse> response : responses) {
                assertThat(response.get(10, TimeUnit.SECONDS).status()).isEqualTo(200);
            }
            worker.say(new ControlMessage.Goodbye("done"));
            worker.close();
            closed.get(10, TimeUnit.SECONDS);
        }
    }

    /** Requests come from both event loops, so some have crossed to the worker's. */
    @Test
    void should_fail_what_is_left_when_it_closes() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(4)) {
            CompletableFuture<DispatchResponse> unread = get("/unread");
            worker.expect("9 REQUEST_HEAD /unread end");
            worker.respond(9, ok(), false);
            worker.data(9, 1000, false);
            worker.awaitRead(11);
            assertThat(unread.get(10, TimeUnit.SECONDS).status()).isEqualTo(200);
            List<CompletableFuture<DispatchResponse>> left = new ArrayList<>();
            left.add(send(DispatchRequest.builder("POST", "/a").authority("a").build()));
            worker.expect("7 REQUEST_HEAD /a end");
            for (int stream : new int[] {5, 3}) {
                left.add(get("/b"));
                worker.expect(stream + " REQUEST_HEAD /b end");
            }
            for (int i = 0; i < 4; i++) {
                left.add(get("/waits"));
            }
            dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);

            assertThat(left)
                    .allMatch(CompletableFuture::isDone)
                    .allSatisfy(
                            future -> assertThat(failure(future)).returns("shutting_down", DispatchException::failure));
            // The worker may have begun the first three.
            assertThat(left.subList(0, 3))
                    .allSatisfy(future ->
                            assertThat(failure(future)).returns(Duration.ZERO, DispatchException::retryAfter));
            assertThat(left.subList(3, 7))
                    .allSatisfy(future ->
                            assertThat(failure(future)).returns(Duration.ofSeconds(1), DispatchException::retryAfter));
            assertThat(failure(get("/late"))).returns("shutting_down", DispatchException::failure);
        }
    }

    @ParameterizedTest
    @CsvSource({"PUT, 60000, true", "PUT, 1048576, true", "PUT, 1048577, false", "POST, 1, false"})
    void should_repeat_idempotent_requests_with_small_bodies(String method, int bytes, boolean repeats)
            throws Exception {
        try (ScriptedWorker lost = worker("w1").ready(1);
                ScriptedWorker other = worker("w2")) {
            CompletableFuture<DispatchResponse> response = send(DispatchRequest.builder(method, "/a")
                    .authority("a")
                    .body(new byte[bytes])
                    .build());
            lost.expect("3 REQUEST_HEAD /a");
            assertThat(lost.body(3)).isEqualTo(bytes);
            other.ready(1);
            Await.until("both are ready", () -> dispatcher.pools().get(0).readyWorkers() == 2);
            lost.close();
            if (repeats) {
                other.expect("3 REQUEST_HEAD /a");
                assertThat(other.body(3)).isEqualTo(bytes);
                other.respond(3, ok(), true);
                assertThat(response.get(10, TimeUnit.SECONDS).status()).isEqualTo(200);
            } else {
                assertThat(failure(response)).returns("worker_lost", DispatchException::failure);
            }
        }
    }

    @Test
    void should_hold_a_body_nobody_reads_in_its_window_and_serve_others() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(2)) {
            CompletableFuture<DispatchResponse> unread = get("/unread");
            worker.expect("5 REQUEST_HEAD /unread end");
            worker.respond(5, ok(), false);
            for (int i = 0; i < 100; i++) {
                worker.data(5, 65_536, false);
            }
            CompletableFuture<DispatchResponse> other = get("/other");
            worker.expect("3 REQUEST_HEAD /other end");
            worker.respond(3, ok(), false);
            worker.data(3, 1000, true);
            assertThat(count(other.get(10, TimeUnit.SECONDS)).get(10, TimeUnit.SECONDS))
                    .isEqualTo(1000);
            unread.get(10, TimeUnit.SECONDS).body().subscribe(new Cancelling());
            worker.expect("5 CANCEL " + ErrorCode.CANCELLED.code());
        }
    }

    /**
     * The worker learns of bytes that clients have read when they are half of the connection's
     * window. Until then, they count as unread.
     */
    @Test
    void should_serve_a_stream_while_clients_leave_the_windows_of_all_others_full() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(4)) {
            CompletableFuture<DispatchResponse> taken = get("/taken");
            worker.expect("9 REQUEST_HEAD /taken end");
            worker.respond(9, ok(), false);
            worker.data(9, 500_000, true);
            assertThat(count(taken.get(10, TimeUnit.SECONDS)).get(10, TimeUnit.SECONDS))
                    .isEqualTo(500_000);
            worker.awaitRead(11);
            List<CompletableFuture<DispatchResponse>> unread = new ArrayList<>();
            for (int stream : new int[] {9, 7, 5}) {
                unread.add(get("/unread"));
                worker.expect(stream + " REQUEST_HEAD /unread end");
                worker.respond(stream, ok(), false);
                worker.data(stream, 400_000, false);
            }
            CompletableFuture<DispatchResponse> other = get("/other");
            worker.expect("3 REQUEST_HEAD /other end");
            worker.respond(3, ok(), false);
            worker.data(3, 1000, true);
            assertThat(count(other.get(10, TimeUnit.SECONDS)).get(10, TimeUnit.SECONDS))
                    .isEqualTo(1000);
            for (CompletableFuture<DispatchResponse> response : unread) {
                response.get(10, TimeUnit.SECONDS).body().subscribe(new Cancelling());
            }
        }
    }

    /**
     * The dispatcher holds the complete rest of the previous response, so its client must not delay
     * the next one, not even one that needs several windows.
     */
    @Test
    void should_use_a_stream_with_its_full_window_although_its_last_response_is_unread() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(2)) {
            int unreadBytes = WorkerPort.STREAM_WINDOW_BYTES - 1_000; // less frame headers
            CompletableFuture<DispatchResponse> unread = respondUnread(worker, unreadBytes);
            for (int i = 0; i < 3; i++) {
                CompletableFuture<DispatchResponse> next = get("/b");
                worker.expect("5 REQUEST_HEAD /b end");
                worker.respond(5, ok(), false);
                for (int part = 0; part < 16; part++) {
                    worker.data(5, 65_536, part == 15);
                }
                assertThat(count(next.get(10, TimeUnit.SECONDS)).get(10, TimeUnit.SECONDS))
                        .isEqualTo(16 * 65_536);
            }
            assertThat(count(unread.get(10, TimeUnit.SECONDS)).get(10, TimeUnit.SECONDS))
                    .isEqualTo(unreadBytes);
        }
    }

    /** A client that leaves gives back only what its own exchange occupies. */
    @Test
    void should_keep_a_full_window_when_a_client_leaves_in_the_middle_of_a_response() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            CompletableFuture<DispatchResponse> left = get("/left");
            worker.expect("3 REQUEST_HEAD /left end");
            worker.respond(3, ok(), false);
            worker.data(3, 100_000, false);
            left.get(10, TimeUnit.SECONDS).body().subscribe(new Cancelling());
            worker.expect("3 CANCEL " + ErrorCode.CANCELLED.code());
            worker.data(3, 65_536, true);
            CompletableFuture<DispatchResponse> next = get("/next");
            worker.expect("3 REQUEST_HEAD /next end");
            worker.respond(3, ok(), false);
            for (int part = 0; part < 16; part++) {
                worker.data(3, 65_536, part == 15);
            }
            assertThat(count(next.get(10, TimeUnit.SECONDS)).get(10, TimeUnit.SECONDS))
                    .isEqualTo(16 * 65_536);
        }
    }

    @Test
    void should_pass_on_the_rest_of_a_whole_response_when_the_worker_has_gone() throws Exception {
        CompletableFuture<DispatchResponse> unread;
        try (ScriptedWorker worker = worker("w").ready(2)) {
            unread = respondUnread(worker, 200_000);
        }
        assertThat(observer.partings.poll(10, TimeUnit.SECONDS)).isNotNull();
        assertThat(count(unread.get(10, TimeUnit.SECONDS)).get(10, TimeUnit.SECONDS))
                .isEqualTo(200_000);
    }

    /** Sends a complete response on stream 5, which is used first. */
    private CompletableFuture<DispatchResponse> respondUnread(ScriptedWorker worker, int bytes) throws Exception {
        CompletableFuture<DispatchResponse> unread = get("/unread");
        worker.expect("5 REQUEST_HEAD /unread end");
        worker.respond(5, ok(), false);
        worker.data(5, bytes, true);
        worker.awaitRead(7);
        return unread;
    }

    private static class Cancelling implements Flow.Subscriber<ByteBuf> {
        @Override
        public void onSubscribe(Flow.Subscription subscription) {
            subscription.cancel();
        }

        @Override
        public void onNext(ByteBuf part) {
            part.release();
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onComplete() {}
    }

    @Test
    void should_pass_a_request_body_on_as_it_is_taken() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1);
                SubmissionPublisher<ByteBuf> body = new SubmissionPublisher<>()) {
            send(DispatchRequest.builder("POST", "/a").authority("a").body(body).build());
            worker.expect("3 REQUEST_HEAD /a");
            // The worker can have the headers before the dispatcher has subscribed on another event
            // loop, and a publisher drops what nobody has subscribed to.
            Await.until("the dispatcher subscribes", body::hasSubscribers);
            for (int i = 0; i < 3; i++) {
                body.submit(Unpooled.buffer().writeZero(100));
                worker.expect("3 DATA 100");
            }
            body.close();
            worker.expect("3 DATA 0 end");
        }
    }

    /**
     * The publisher delivers on the event loop, within the request for more. The dispatcher is then
     * sending earlier parts, and the new parts must still count in the window.
     */
    @Test
    void should_take_a_request_body_whose_publisher_answers_at_once() throws Exception {
        int parts = 20;
        int partBytes = 60_000;
        try (Dispatcher ofOneLoop = ofOneLoop();
                ScriptedWorker worker =
                        new ScriptedWorker(loops, ofOneLoop.workerAddress(), "f", "w1", SECRET).ready(1)) {
            ofOneLoop.dispatch(DispatchRequest.builder("POST", "/a")
                    .authority("a")
                    .body(synchronous(parts, partBytes))
                    .build());
            worker.expect("3 REQUEST_HEAD /a");
            assertThat(worker.dataBefore(3, "3 DATA 0 end")).isEqualTo(parts * partBytes);
            worker.respond(3, ok(), true);
            worker.awaitRead(5);

            worker.hold(3);
            ofOneLoop.dispatch(DispatchRequest.builder("POST", "/b")
                    .authority("a")
                    .body(synchronous(1, 200_000))
                    .build());
            worker.awaitHeld(3, Http2CodecUtil.DEFAULT_WINDOW_SIZE / 3);
            worker.read(3);
            worker.expect("3 REQUEST_HEAD /b");
            assertThat(worker.dataBefore(3, "3 DATA 0 end")).isEqualTo(200_000);
        }
    }

    private DispatchResponse threeParts(ScriptedWorker worker) throws Exception {
        CompletableFuture<DispatchResponse> response = get("/a");
        worker.expect("3 REQUEST_HEAD /a end");
        worker.respond(3, ok(), false);
        worker.data(3, 10, false);
        worker.data(3, 10, false);
        worker.data(3, 10, true);
        DispatchResponse its = response.get(10, TimeUnit.SECONDS);
        // Then the last part has arrived, and the exchange is no longer in flight.
        its.trailers().toCompletableFuture().get(10, TimeUnit.SECONDS);
        return its;
    }

    @Test
    void should_wait_with_closing_until_the_subscriber_has_the_whole_response() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            OneByOne subscriber = new OneByOne();
            threeParts(worker).body().subscribe(subscriber);
            assertThat(subscriber.events.poll(10, TimeUnit.SECONDS)).isEqualTo("10");

            CompletableFuture<Void> closed =
                    dispatcher.close(Duration.ofSeconds(20)).toCompletableFuture();
            // The dispatcher closed within this time when it did not wait for the subscriber.
            assertThat(subscriber.events.poll(1, TimeUnit.SECONDS)).isNull();
            assertThat(closed).isNotDone();

            subscriber.subscription.request(2);
            assertThat(subscriber.events.poll(10, TimeUnit.SECONDS)).isEqualTo("10");
            assertThat(subscriber.events.poll(10, TimeUnit.SECONDS)).isEqualTo("10");
            assertThat(subscriber.events.poll(10, TimeUnit.SECONDS)).isEqualTo("end");
        }
    }

    /** The response has no end of its own, so the worker ends it when it is told to drain. */
    @Test
    void should_wait_with_closing_for_the_reader_of_a_stream_that_ended_with_its_worker() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            CompletableFuture<DispatchResponse> response = get("/events");
            worker.expect("3 REQUEST_HEAD /events end");
            worker.respond(3, ok(), false);
            OneByOne subscriber = new OneByOne();
            response.get(10, TimeUnit.SECONDS).body().subscribe(subscriber);
            CompletableFuture<Void> closed =
                    dispatcher.close(Duration.ofSeconds(4)).toCompletableFuture();
            worker.expect("1 DRAIN");
            worker.data(3, 10, false);
            worker.data(3, 10, true);
            worker.say(new ControlMessage.Goodbye("done"));
            worker.close();
            assertThat(subscriber.events.poll(10, TimeUnit.SECONDS)).isEqualTo("10");
            // The dispatcher closed within this time when it did not wait for the subscriber.
            assertThat(subscriber.events.poll(500, TimeUnit.MILLISECONDS)).isNull();
            assertThat(closed).isNotDone();

            subscriber.subscription.request(1);
            assertThat(subscriber.events.poll(10, TimeUnit.SECONDS)).isEqualTo("10");
            assertThat(subscriber.events.poll(10, TimeUnit.SECONDS)).isEqualTo("end");
            closed.get(10, TimeUnit.SECONDS);
        }
    }

    @Test
    void should_fail_the_rest_of_a_response_that_is_not_read_before_closing() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            OneByOne subscriber = new OneByOne();
            threeParts(worker).body().subscribe(subscriber);
            assertThat(subscriber.events.poll(10, TimeUnit.SECONDS)).isEqualTo("10");

            dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);

            assertThat(subscriber.events.poll(10, TimeUnit.SECONDS)).contains("the dispatcher shuts down");
            subscriber.subscription.request(1);
            subscriber.subscription.cancel();
            assertThat(subscriber.events).isEmpty();
        }
    }

    @Test
    void should_fail_the_body_of_a_response_that_is_first_read_after_closing() throws Exception {
        try (ScriptedWorker worker = worker("w").ready(1)) {
            DispatchResponse held = threeParts(worker);

            dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);

            assertThat(failure(held.bodyAsBytes().toCompletableFuture()))
                    .hasMessageContaining("the dispatcher has closed");
            held.discard();
        }
    }

    /** Requests one part. The test requests the others. */
    private static final class OneByOne implements Flow.Subscriber<ByteBuf> {
        private final BlockingQueue<String> events = new LinkedBlockingQueue<>();
        private volatile Flow.Subscription subscription;

        @Override
        public void onSubscribe(Flow.Subscription given) {
            subscription = given;
            given.request(1);
        }

        @Override
        public void onNext(ByteBuf part) {
            events.add(Integer.toString(part.readableBytes()));
            part.release();
        }

        @Override
        public void onError(Throwable error) {
            events.add(String.valueOf(error.getMessage()));
        }

        @Override
        public void onComplete() {
            events.add("end");
        }
    }

    private static Flow.Publisher<ByteBuf> synchronous(int parts, int partBytes) {
        return subscriber -> subscriber.onSubscribe(new Synchronous(subscriber, parts, partBytes));
    }

    private static final class Synchronous implements Flow.Subscription {
        private final Flow.Subscriber<? super ByteBuf> subscriber;
        private final int partBytes;
        private int left;

        Synchronous(Flow.Subscriber<? super ByteBuf> subscriber, int parts, int partBytes) {
            this.subscriber = subscriber;
            this.partBytes = partBytes;
            this.left = parts;
        }

        @Override
        public void request(long n) {
            assertThat(n).isEqualTo(1);
            if (--left >= 0) {
                subscriber.onNext(Unpooled.buffer(partBytes).writeZero(partBytes));
            } else if (left == -1) {
                subscriber.onComplete();
            }
        }

        @Override
        public void cancel() {}
    }
}
