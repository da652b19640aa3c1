package io.lambdadispatcher.core.internal.inprocess;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.DirectEventFormat;
import io.lambdadispatcher.core.options.DirectOptions;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchException;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.InProcessHandler;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Requests that the program serves itself, in the process of its dispatcher. */
@EachRelease
@Timeout(120)
class InProcessTest {
    private static final DispatchRequest GET =
            DispatchRequest.get("/orders?id=7").build();
    private static final int MIB = 1024 * 1024;

    /** Where handlers of a test wait. */
    private final Semaphore gate = new Semaphore(0);

    private final AtomicInteger running = new AtomicInteger();
    private final AtomicInteger interrupted = new AtomicInteger();
    private final List<Dispatcher> dispatchers = new ArrayList<>();

    @AfterEach
    void close() {
        gate.release(1_000_000);
        dispatchers.forEach(Dispatcher::close);
    }

    private Dispatcher serving(InProcessHandler handler, int concurrency) {
        return serving(handler, concurrency, Duration.ofSeconds(60));
    }

    private Dispatcher serving(InProcessHandler handler, int concurrency, Duration timeout) {
        return started(Dispatcher.builder()
                .function(
                        FunctionOptions.builder("orders").workerTimeout(timeout).build())
                .inProcess("orders", handler, concurrency));
    }

    private Dispatcher started(DispatcherBuilder builder) {
        Dispatcher dispatcher = builder.publicListener(ListenerOptions.plain("127.0.0.1", 0))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .eventLoops(2)
                .start();
        dispatchers.add(dispatcher);
        return dispatcher;
    }

    /** A handler that counts itself while it waits for the gate. */
    private InProcessHandler waiting() {
        return (request, response) -> {
            running.incrementAndGet();
            try {
                gate.acquire();
                response.respond(200, "done");
            } catch (InterruptedException e) {
                interrupted.incrementAndGet();
                throw e;
            } finally {
                running.decrementAndGet();
            }
        };
    }

    private static DispatchResponse response(CompletionStage<DispatchResponse> stage) throws Exception {
        return stage.toCompletableFuture().get(60, TimeUnit.SECONDS);
    }

    private static String text(CompletionStage<DispatchResponse> stage) throws Exception {
        return stage.thenCompose(DispatchResponse::bodyAsString)
                .toCompletableFuture()
                .get(60, TimeUnit.SECONDS);
    }

    private static DispatchException failure(CompletionStage<DispatchResponse> stage) {
        try {
            throw new AssertionError("status " + response(stage).status());
        } catch (ExecutionException e) {
            return (DispatchException) e.getCause();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private static WorkerSnapshot worker(Dispatcher dispatcher) throws Exception {
        List<WorkerSnapshot> all = dispatcher.workers().toCompletableFuture().get(60, TimeUnit.SECONDS);
        assertThat(all).hasSize(1);
        return all.get(0);
    }

    @Test
    void should_serve_a_request_on_a_thread_that_may_wait() throws Exception {
        CompletableFuture<Dispatcher> own = new CompletableFuture<>();
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    if (request.path().equals("/inner")) {
                        response.respond(200, "inner");
                        return;
                    }
                    // On an event loop, send() would throw an exception.
                    DispatchResponse inner =
                            own.get().send(DispatchRequest.get("/inner").build());
                    response.header("X-Kind", "base")
                            .respond(
                                    201,
                                    request.method() + " " + request.path() + " " + request.header("Accept") + " "
                                            + text(CompletableFuture.completedStage(inner)));
                },
                3);
        own.complete(dispatcher);
        DispatchResponse response = response(dispatcher.dispatch(
                DispatchRequest.get("/orders?id=7").header("accept", "text/*").build()));
        assertThat(response.status()).isEqualTo(201);
        assertThat(response.header("x-kind")).isEqualTo("base");
        assertThat(response.bodyAsString().toCompletableFuture().get(60, TimeUnit.SECONDS))
                .isEqualTo("GET /orders?id=7 text/* inner");
    }

    @Test
    void should_be_a_worker_that_nobody_has_launched() throws Exception {
        Dispatcher dispatcher = serving(waiting(), 3);
        Await.until("the handler is ready", dispatcher::isReady);
        WorkerSnapshot worker = worker(dispatcher);
        assertThat(worker.workerId()).startsWith("in-process-");
        assertThat(worker.remoteAddress()).hasToString("in process");
        assertThat(worker.launched()).isFalse();
        assertThat(worker.state()).isEqualTo(WorkerSnapshot.State.READY);
        assertThat(worker.streams()).isEqualTo(3);
        assertThat(worker.limit()).isEqualTo(3);
        CompletionStage<DispatchResponse> response = dispatcher.dispatch(GET);
        Await.until("it is seen", () -> worker(dispatcher).busy() == 1);
        gate.release();
        assertThat(text(response)).isEqualTo("done");
        Await.until("it has ended", () -> worker(dispatcher).completed() == 1);
        assertThat(worker(dispatcher).failed()).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5})
    void should_serve_at_most_as_many_at_a_time_as_stated(int concurrency) throws Exception {
        Dispatcher dispatcher = serving(waiting(), concurrency);
        List<CompletionStage<DispatchResponse>> responses = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            responses.add(dispatcher.dispatch(GET));
        }
        Await.until("all are in use", () -> running.get() == concurrency);
        Await.until("the others wait", () -> dispatcher.pools().get(0).queued() == 20 - concurrency);
        assertThat(running).hasValue(concurrency);
        for (int i = 0; i < 20; i++) {
            gate.release();
            int left = Math.min(concurrency, 19 - i);
            Await.until("the next begins", () -> running.get() == left);
        }
        for (CompletionStage<DispatchResponse> each : responses) {
            assertThat(text(each)).isEqualTo("done");
        }
    }

    private static byte[] random(int bytes) {
        byte[] body = new byte[bytes];
        new Random(bytes).nextBytes(body);
        return body;
    }

    /** Publishes parts as they are asked for, and counts them. */
    private static final class Upload implements Flow.Publisher<ByteBuf> {
        final AtomicInteger published = new AtomicInteger();
        private final byte[] body;
        private final int partBytes;

        Upload(byte[] body, int partBytes) {
            this.body = body;
            this.partBytes = partBytes;
        }

        @Override
        public void subscribe(Flow.Subscriber<? super ByteBuf> subscriber) {
            subscriber.onSubscribe(new Flow.Subscription() {
                private int at;

                @Override
                public void request(long n) {
                    int bytes = Math.min(partBytes, body.length - at);
                    if (bytes == 0) {
                        subscriber.onComplete();
                        return;
                    }
                    published.addAndGet(bytes);
                    at += bytes;
                    subscriber.onNext(Unpooled.copiedBuffer(body, at - bytes, bytes));
                }

                @Override
                public void cancel() {}
            });
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {100, 8 * 1024, 100_000})
    void should_pass_large_bodies_both_ways(int partBytes) throws Exception {
        Dispatcher dispatcher = serving((request, response) -> request.body().transferTo(response.body()), 2);
        byte[] body = random(partBytes * 120 + 7);
        DispatchRequest request =
                DispatchRequest.post("/").body(new Upload(body, partBytes)).build();
        assertThat(response(dispatcher.dispatch(request))
                        .bodyAsBytes()
                        .toCompletableFuture()
                        .get(60, TimeUnit.SECONDS))
                .isEqualTo(body);
    }

    @Test
    void should_not_take_a_body_faster_than_it_is_read() throws Exception {
        byte[] body = random(4 * MIB);
        Upload upload = new Upload(body, 64 * 1024);
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    gate.acquire();
                    response.respond(200, Integer.toString(request.body().readAllBytes().length));
                },
                2);
        CompletionStage<DispatchResponse> response =
                dispatcher.dispatch(DispatchRequest.post("/").body(upload).build());
        Await.until("it begins", () -> upload.published.get() > 0);
        Await.remains("it waits", Duration.ofMillis(200), () -> upload.published.get() == 64 * 1024);
        gate.release();
        assertThat(text(response)).isEqualTo(Integer.toString(body.length));
    }

    @Test
    void should_not_write_faster_than_the_client_reads() throws Exception {
        AtomicLong written = new AtomicLong();
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    byte[] part = new byte[10_000];
                    for (int i = 0; i < 1000; i++) {
                        response.body().write(part);
                        written.addAndGet(part.length);
                    }
                },
                2);
        DispatchResponse response = response(dispatcher.dispatch(GET));
        Await.until("the window is full", () -> written.get() >= ThreadCall.WINDOW_BYTES - 10_000);
        Await.remains(
                "the handler waits", Duration.ofMillis(200), () -> written.get() <= ThreadCall.WINDOW_BYTES + 40_000);
        assertThat(response.bodyAsBytes().toCompletableFuture().get(60, TimeUnit.SECONDS))
                .hasSize(10_000_000);
    }

    @Test
    void should_serve_a_client_that_sends_faster_than_it_reads() throws Exception {
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    response.header("content-length", String.valueOf(request.header("content-length")));
                    request.body().transferTo(response.body());
                },
                2);
        // More than the buffers of all sockets hold.
        byte[] body = random(64 * MIB);
        try (Socket client =
                new Socket("127.0.0.1", dispatcher.publicAddresses().get(0).getPort())) {
            CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> {
                try {
                    client.getOutputStream()
                            .write(("POST / HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: " + body.length
                                            + "\r\n\r\n")
                                    .getBytes(StandardCharsets.US_ASCII));
                    client.getOutputStream().write(body);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            Await.remains("the sender waits", Duration.ofMillis(300), () -> !sent.isDone());
            byte[] all = client.getInputStream().readAllBytes();
            sent.get(60, TimeUnit.SECONDS);
            assertThat(new String(all, 0, 15, StandardCharsets.US_ASCII)).isEqualTo("HTTP/1.1 200 OK");
            assertThat(Arrays.mismatch(all, all.length - body.length, all.length, body, 0, body.length))
                    .isEqualTo(-1);
        }
    }

    @Test
    void should_interrupt_the_handler_if_the_client_leaves() throws Exception {
        Dispatcher dispatcher = serving(waiting(), 1);
        CompletableFuture<DispatchResponse> response = dispatcher.dispatch(GET).toCompletableFuture();
        Await.until("it runs", () -> running.get() == 1);
        response.cancel(false);
        Await.until("it was interrupted", () -> interrupted.get() == 1);
        gate.release();
        assertThat(text(dispatcher.dispatch(GET))).isEqualTo("done");
        assertThat(worker(dispatcher).failed()).isZero();
    }

    @Test
    void should_end_a_wait_for_the_body_if_the_client_leaves() throws Exception {
        BlockingQueue<Exception> thrown = new LinkedBlockingQueue<>();
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    running.incrementAndGet();
                    try {
                        request.body().readAllBytes();
                    } catch (IOException e) {
                        thrown.add(e);
                        assertThat(request.isCancelled()).isTrue();
                    }
                },
                1);
        CompletableFuture<DispatchResponse> response = dispatcher
                .dispatch(DispatchRequest.post("/")
                        .body(subscriber -> subscriber.onSubscribe(new Flow.Subscription() {
                            @Override
                            public void request(long n) {}

                            @Override
                            public void cancel() {}
                        }))
                        .build())
                .toCompletableFuture();
        Await.until("it runs", () -> running.get() == 1);
        response.cancel(false);
        assertThat(thrown.poll(60, TimeUnit.SECONDS)).isNotNull();
    }

    @Test
    void should_answer_500_if_the_handler_throws() throws Exception {
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    response.status(200).body().write(1);
                    throw new IllegalStateException("broken");
                },
                1);
        DispatchException failure = failure(dispatcher.dispatch(GET));
        assertThat(failure.status()).isEqualTo(500);
        assertThat(failure).hasMessageContaining("IllegalStateException").hasMessageNotContaining("broken");
        Await.until("it counts", () -> worker(dispatcher).failed() == 1);
    }

    @Test
    void should_break_the_response_off_if_the_handler_throws_later() throws Exception {
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    response.body().write(1);
                    response.body().flush();
                    throw new IllegalStateException("broken");
                },
                1);
        DispatchResponse response = response(dispatcher.dispatch(GET));
        assertThat(response.status()).isEqualTo(200);
        assertThatThrownBy(() -> response.bodyAsBytes().toCompletableFuture().get(60, TimeUnit.SECONDS))
                .hasCauseInstanceOf(DispatchException.class);
    }

    @Test
    void should_answer_500_without_a_response_and_502_for_a_malformed_one() {
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    if (request.path().equals("/short")) {
                        response.header("content-length", "3").body().write(1);
                    }
                },
                1);
        assertThat(failure(dispatcher.dispatch(GET)).status()).isEqualTo(500);
        DispatchRequest tooShort = DispatchRequest.get("/short").build();
        DispatchException failure = failure(dispatcher
                .dispatch(tooShort)
                .thenCompose(response -> response.bodyAsBytes().thenApply(body -> response)));
        assertThat(failure.failure()).isEqualTo("bad_response");
    }

    @Test
    void should_answer_504_and_interrupt_the_handler() throws Exception {
        Dispatcher dispatcher = serving(waiting(), 1, Duration.ofMillis(300));
        DispatchException failure = failure(dispatcher.dispatch(GET));
        assertThat(failure.status()).isEqualTo(504);
        Await.until("it was interrupted", () -> interrupted.get() == 1);
        gate.release();
        assertThat(text(dispatcher.dispatch(GET))).isEqualTo("done");
    }

    @Test
    void should_count_a_handler_until_it_returns() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    if (running.incrementAndGet() == 1) {
                        boolean ended = false;
                        while (!ended) {
                            try {
                                end.await();
                                ended = true;
                            } catch (InterruptedException e) {
                                interrupted.incrementAndGet();
                            }
                        }
                    }
                    response.respond(200, "done");
                },
                1);
        CompletableFuture<DispatchResponse> first = dispatcher.dispatch(GET).toCompletableFuture();
        Await.until("it runs", () -> running.get() == 1);
        first.cancel(false);
        Await.until("it was interrupted", () -> interrupted.get() == 1);
        CompletionStage<DispatchResponse> second = dispatcher.dispatch(GET);
        Await.until("the second waits", () -> dispatcher.pools().get(0).queued() == 1);
        assertThat(running).hasValue(1);
        end.countDown();
        assertThat(text(second)).isEqualTo("done");
    }

    @Test
    void should_answer_head_without_a_body_and_send_trailers() throws Exception {
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    byte[] body = request.body().readAllBytes();
                    response.trailer(
                            "x-sum",
                            request.trailers()
                                    .getOrDefault("x-sum", List.of("none"))
                                    .get(0));
                    response.respond(200, new String(body, StandardCharsets.UTF_8) + "fine");
                },
                1);
        DispatchResponse head = response(
                dispatcher.dispatch(DispatchRequest.builder("HEAD", "/").build()));
        assertThat(head.header("content-length")).isEqualTo("4");
        assertThat(head.bodyAsString().toCompletableFuture().get(60, TimeUnit.SECONDS))
                .isEmpty();
        DispatchResponse post = response(dispatcher.dispatch(DispatchRequest.post("/")
                .body("all ")
                .trailers(CompletableFuture.completedFuture(Map.of("x-sum", List.of("42"))))
                .build()));
        assertThat(post.bodyAsString().toCompletableFuture().get(60, TimeUnit.SECONDS))
                .isEqualTo("all fine");
        assertThat(post.trailers().toCompletableFuture().get(60, TimeUnit.SECONDS))
                .isEqualTo(Map.of("x-sum", List.of("42")));
    }

    @Test
    void should_tell_the_time_that_is_left() throws Exception {
        Dispatcher dispatcher = serving(
                (request, response) -> response.respond(
                        200, request.remaining().map(Duration::toSeconds).orElse(-1L) + ""),
                1);
        assertThat(Long.parseLong(text(dispatcher.dispatch(GET)))).isBetween(1L, 60L);
    }

    @Test
    void should_wait_for_handlers_when_the_dispatcher_closes() throws Exception {
        Dispatcher dispatcher = serving(waiting(), 2);
        CompletionStage<DispatchResponse> response = dispatcher.dispatch(GET);
        Await.until("it runs", () -> running.get() == 1);
        CompletableFuture<Void> closed =
                dispatcher.close(Duration.ofSeconds(60)).toCompletableFuture();
        Await.remains("it waits", Duration.ofMillis(200), () -> !closed.isDone());
        gate.release();
        assertThat(text(response)).isEqualTo("done");
        closed.get(60, TimeUnit.SECONDS);
        assertThat(interrupted).hasValue(0);
    }

    @Test
    void should_interrupt_handlers_when_the_grace_is_over() throws Exception {
        Dispatcher dispatcher = serving(waiting(), 2);
        CompletionStage<DispatchResponse> response = dispatcher.dispatch(GET);
        Await.until("it runs", () -> running.get() == 1);
        dispatcher.close(Duration.ofMillis(200)).toCompletableFuture().get(60, TimeUnit.SECONDS);
        assertThat(failure(response).failure()).isEqualTo("shutting_down");
        Await.until("it was interrupted", () -> interrupted.get() == 1);
    }

    @Test
    void should_close_although_a_handler_never_returns() throws Exception {
        CountDownLatch end = new CountDownLatch(1);
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    running.incrementAndGet();
                    while (end.getCount() > 0) {
                        Thread.onSpinWait();
                    }
                    response.respond(200, "too late");
                },
                1);
        CompletionStage<DispatchResponse> response = dispatcher.dispatch(GET);
        Await.until("it runs", () -> running.get() == 1);
        dispatcher.close(Duration.ofMillis(100)).toCompletableFuture().get(60, TimeUnit.SECONDS);
        end.countDown();
        assertThat(failure(response).failure()).isEqualTo("shutting_down");
    }

    @Test
    void should_refuse_websockets() throws Exception {
        Dispatcher dispatcher = serving(waiting(), 1);
        Await.until("the handler is ready", dispatcher::isReady);
        assertThat(statusOfWebSocket(dispatcher)).isEqualTo("HTTP/1.1 501");
        gate.release();
        assertThat(text(dispatcher.dispatch(GET))).isEqualTo("done");
    }

    private static String statusOfWebSocket(Dispatcher dispatcher) throws Exception {
        try (Socket client =
                new Socket("127.0.0.1", dispatcher.publicAddresses().get(0).getPort())) {
            client.getOutputStream()
                    .write(("GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n"
                                    + "sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            return new String(client.getInputStream().readNBytes(12), StandardCharsets.US_ASCII);
        }
    }

    @Test
    void should_launch_a_worker_for_a_websocket() throws Exception {
        RecordingLauncher launcher = new RecordingLauncher();
        Dispatcher dispatcher = started(Dispatcher.builder()
                .function(FunctionOptions.builder("orders")
                        .capacity(CapacityPolicy.between(0, 1))
                        .queue(100, Duration.ofSeconds(2))
                        .build())
                .launcher(launcher)
                .inProcess("orders", waiting(), 100));
        Await.until("the handler is ready", dispatcher::isReady);
        assertThat(statusOfWebSocket(dispatcher)).isEqualTo("HTTP/1.1 503");
        assertThat(launcher.workers).hasSize(1);
        gate.release();
        assertThat(text(dispatcher.dispatch(GET))).isEqualTo("done");
    }

    @Test
    void should_refuse_options_that_cannot_be() {
        assertThatThrownBy(() -> Dispatcher.builder().inProcess("orders", waiting(), 0))
                .hasMessage("concurrency: 0, expected 1 to 10000");
        DispatcherBuilder other = Dispatcher.builder()
                .function(FunctionOptions.of("orders"))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .inProcess("order", waiting(), 1);
        assertThatThrownBy(other::start).hasMessage("inProcess: 'order', expected the name of one of the functions");
        DispatcherBuilder direct = Dispatcher.builder()
                .function(FunctionOptions.of("orders"))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .direct("orders", DirectOptions.of(DirectEventFormat.ALB))
                .invoker((function, event) -> new CompletableFuture<>())
                .inProcess("orders", waiting(), 1);
        assertThatThrownBy(direct::start)
                .hasMessage(
                        "inProcess: 'orders', expected a function whose requests are not all direct: set spilloverAfter");
    }

    /** Whatever handlers and clients do, all places are free in the end, and no buffer is lost. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void should_have_all_places_again_in_the_end(long seed) throws Exception {
        Random random = new Random(seed);
        Dispatcher dispatcher = serving(
                (request, response) -> {
                    switch (request.path()) {
                        case "/echo" -> request.body().transferTo(response.body());
                        case "/throw" -> throw new IllegalStateException("broken");
                        case "/late" -> {
                            response.body().write(request.body().readNBytes(10_000));
                            response.body().flush();
                            throw new IllegalStateException("broken");
                        }
                        case "/closed" -> {
                            request.body().read();
                            request.body().close();
                            response.body().write(new byte[300_000]);
                        }
                        case "/long" -> response.header("content-length", "1").respond(200, "longer");
                        case "/wait" -> new CountDownLatch(1).await(); // until the client disconnects
                        default -> response.status(204);
                    }
                },
                7);
        List<String> paths = List.of("/echo", "/throw", "/late", "/closed", "/long", "/wait", "/empty");
        List<CompletableFuture<DispatchResponse>> all = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            String path = paths.get(random.nextInt(paths.size()));
            int bytes = random.nextInt(3) == 0 ? random.nextInt(1_000_000) : random.nextInt(20_000);
            DispatchRequest.Builder request = DispatchRequest.post(path);
            request.body(new Upload(new byte[bytes], 1 + random.nextInt(50_000)));
            CompletableFuture<DispatchResponse> response =
                    dispatcher.dispatch(request.build()).toCompletableFuture();
            all.add(response);
            int then = random.nextInt(4);
            if (path.equals("/wait") || then == 0) {
                CompletableFuture.delayedExecutor(random.nextInt(100), TimeUnit.MILLISECONDS)
                        .execute(() -> response.cancel(false));
            }
            response.thenAccept(answer -> {
                if (then == 1) {
                    answer.bodyAsBytes(20_000);
                } else if (then == 2) {
                    answer.discard();
                } else {
                    answer.bodyAsBytes();
                }
            });
        }
        for (CompletableFuture<DispatchResponse> each : all) {
            each.handle((answer, error) -> null).get(60, TimeUnit.SECONDS);
        }
        Await.until("all places are free", () -> worker(dispatcher).busy() == 0);
        assertThat(worker(dispatcher).streams()).isEqualTo(7);
        assertThat(response(dispatcher.dispatch(DispatchRequest.get("/empty").build()))
                        .status())
                .isEqualTo(204);
    }

    @Test
    void should_serve_no_more_requests_at_once_than_the_program_wants_now() throws Exception {
        Dispatcher dispatcher = serving(waiting(), 4);
        Await.until("it is ready", () -> dispatcher.pools().get(0).free() == 4);
        dispatcher.limitInProcess("orders", 1);
        Await.until("the limit is known", () -> dispatcher.pools().get(0).free() == 1);
        for (int i = 0; i < 5; i++) {
            dispatcher.dispatch(GET);
        }
        Await.until("four requests wait", () -> dispatcher.pools().get(0).queued() == 4);
        Await.until("one is served", () -> running.get() == 1);
        assertThat(worker(dispatcher).limit()).isEqualTo(1);

        dispatcher.limitInProcess("orders", 3);
        Await.until("three are served", () -> running.get() == 3);
        assertThat(dispatcher.pools().get(0).queued()).isEqualTo(2);
        dispatcher.limitInProcess("orders", 100);
        Await.until("four are served", () -> running.get() == 4);
    }

    @Test
    void should_refuse_a_limit_that_makes_no_sense() {
        Dispatcher dispatcher = serving(waiting(), 4);
        assertThatThrownBy(() -> dispatcher.limitInProcess("other", 1))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("expected one that this process serves");
        assertThatThrownBy(() -> dispatcher.limitInProcess("orders", 0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("expected 1 or more");
    }

    /** Otherwise, a thread that is not a daemon would look at the processor time forever. */
    @Test
    void should_be_forgotten_if_the_program_ends_its_event_loops_before_it_closes() throws Exception {
        WeakReference<InProcessHandler> handler = handlerOfClosedDispatcher();
        Await.until("nothing holds the handler", () -> {
            System.gc();
            return handler.refersTo(null);
        });
    }

    private static WeakReference<InProcessHandler> handlerOfClosedDispatcher() throws Exception {
        EventLoopGroup loops = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
        String own = new String("done");
        InProcessHandler handler = (request, response) -> response.respond(200, own);
        Dispatcher dispatcher = Dispatcher.builder()
                .function(FunctionOptions.of("orders"))
                .inProcess("orders", handler, 2)
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .eventLoopGroup(loops)
                .start();
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(60, TimeUnit.SECONDS);
        return new WeakReference<>(handler);
    }
}
