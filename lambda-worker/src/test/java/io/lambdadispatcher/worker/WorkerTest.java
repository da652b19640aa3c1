package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.Drain;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.ControlMessage.Load;
import io.lambdadispatcher.wire.worker.Endpoints;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.worker.config.Credential;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.config.WorkerTls;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.ServedRequests;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@EachRelease
@Timeout(180)
class WorkerTest {
    private static final byte[] SECRET_BYTES = "0123456789abcdef0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    /** Lets the test send its responses. */
    private static final class Holding implements Handler {
        final BlockingQueue<Response> responses = new LinkedBlockingQueue<>();

        @Override
        public void handle(io.lambdadispatcher.worker.handler.Request request, Response response) {
            responses.add(response);
        }

        Response take() throws InterruptedException {
            return responses.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
        }
    }

    /** Records the grace of each drain. */
    private record DrainedHandler(BlockingQueue<Duration> graces) implements Handler, Lifecycle {
        @Override
        public void handle(io.lambdadispatcher.worker.handler.Request request, Response response) {
            response.respond(200, "done");
        }

        @Override
        public CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
            graces.add(grace);
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public CompletionStage<Void> start() {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void stop() {}
    }

    @Test
    void should_say_hello_with_a_token_of_its_own_then_open_its_streams_then_be_ready() throws Exception {
        try (Harness harness = new Harness(
                new PongHandler(),
                c -> c.connections(2)
                        .streams(3)
                        .deadline(Duration.ofMinutes(15))
                        .deadlineMargin(Duration.ZERO))) {
            for (int i = 0; i < 2; i++) {
                ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
                LaunchToken token = LaunchToken.verify(
                        link.authorization.substring(Endpoints.BEARER.length()),
                        name -> List.of(LaunchToken.key(SECRET_BYTES, name)),
                        Instant.now());
                assertThat(token.function()).isEqualTo("f");
                assertThat(token.workerId()).isEqualTo("w1");
                ControlMessage.Hello hello = link.takeMessage(ControlMessage.Hello.class);
                assertThat(hello.streams()).isEqualTo(3);
                assertThat(hello.remainingMillis()).isBetween(800_000, 900_000);
                assertThat(link.takeMessage(ControlMessage.Readiness.class).ready())
                        .isTrue();
                for (int s = 0; s < 3; s++) {
                    assertThat(link.takeStream().exchange(get("/ping")).text()).isEqualTo("pong");
                }
            }
        }
    }

    /** The dispatcher would take requests of an application in another process for cheap ones. */
    @Test
    void should_count_only_the_requests_whose_work_this_process_does() throws Exception {
        assertThat(countedOfThree(true)).isBetween(2L, 3L);
        assertThat(countedOfThree(false)).isZero();
    }

    /** The last request may not have been counted when its response has arrived. */
    private static long countedOfThree(boolean inProcess) throws Exception {
        long before = ServedRequests.total();
        Handler handler = new Handler() {
            @Override
            public void handle(io.lambdadispatcher.worker.handler.Request request, Response response) {
                response.respond(200, "done");
            }

            @Override
            public boolean servesInProcess() {
                return inProcess;
            }
        };
        try (Harness harness = new Harness(handler, c -> c.connections(1).streams(1))) {
            ScriptedStream stream = harness.dispatcher.takeReady().takeStream();
            for (int i = 0; i < 3; i++) {
                assertThat(stream.exchange(get("/")).text()).isEqualTo("done");
            }
            return ServedRequests.total() - before;
        }
    }

    @Test
    void should_open_no_more_streams_than_the_dispatcher_allows() throws Exception {
        ScriptedDispatcher dispatcher = new ScriptedDispatcher();
        dispatcher.maxStreams = 3;
        try (Harness harness =
                new Harness(dispatcher, new PongHandler(), c -> c.connections(1).streams(4))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            for (int i = 0; i < 2; i++) {
                assertThat(link.takeStream().exchange(get("/ping")).text()).isEqualTo("pong");
            }
            link.roundTrip();
            assertThat(link.streams).isEmpty();
            assertThat(link.closed).isEmpty();
        }
    }

    @Test
    void should_spread_its_connections_over_all_addresses() throws Exception {
        ScriptedDispatcher first = new ScriptedDispatcher();
        try (ScriptedDispatcher other = new ScriptedDispatcher();
                Harness harness = new Harness(
                        first,
                        new PongHandler(),
                        c -> WorkerConfig.builder("f", Harness.SECRET, List.of(first.address(), other.address()))
                                .workerId("w1")
                                .plain()
                                .connections(4)
                                .streams(1))) {
            for (int i = 0; i < 2; i++) {
                harness.dispatcher.takeReady();
                other.takeReady();
            }
        }
    }

    @Test
    void should_finish_what_is_under_way_when_drained_and_then_say_goodbye() throws Exception {
        Holding handler = new Holding();
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            harness.worker.ready().toCompletableFuture().get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
            stream.request(post("/"), 0, false);
            Response response = handler.take();
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(stream.link().takeMessage(Drain.class).reason()).isEqualTo(DrainCode.REQUESTED);
            stream.data(new byte[10], true);
            response.head(200);
            response.write(io.netty.buffer.Unpooled.copiedBuffer(SECRET_BYTES));
            response.end();
            assertThat(stream.gather().body()).isEqualTo(SECRET_BYTES);
            assertThat(stream.link().takeMessage(ControlMessage.Goodbye.class).text())
                    .contains("requested");
            stream.link().awaitClosed();
            WorkerSummary summary = harness.summary();
            assertThat(summary.requests()).isEqualTo(1);
            assertThat(summary.failures()).isZero();
            assertThat(summary.requestBytes()).isEqualTo(10);
            assertThat(summary.responseBytes()).isEqualTo(SECRET_BYTES.length);
            assertThat(summary.readyMillis()).isNotNegative();
        }
    }

    private static final int LONG = 200_000;
    private static final Handler LONG_ANSWER = (request, response) -> response.respond(
            new io.netty.handler.codec.http2.DefaultHttp2Headers().status("200"),
            io.netty.buffer.Unpooled.wrappedBuffer(new byte[LONG]));

    /** Requests an answer whose end waits for the window. */
    private static ScriptedStream halfAnswered(Harness harness) throws Exception {
        ScriptedStream stream = harness.stream();
        stream.holdsWindow = true;
        stream.request(get("/"), 0, true);
        stream.awaitBody(50_000);
        return stream;
    }

    /** The response has ended for the handler, but its end is queued behind other bytes. */
    @Test
    void should_send_all_of_a_response_before_it_says_goodbye() throws Exception {
        try (Harness harness = new Harness(LONG_ANSWER)) {
            ScriptedStream stream = halfAnswered(harness);
            harness.worker.drain(DrainReason.REQUESTED);
            stream.link().takeMessage(Drain.class);
            // Longer than a worker waits for the end of its streams after its grace.
            Await.remains(
                    "it waits",
                    Duration.ofMillis(2_500),
                    () -> !harness.worker.done().toCompletableFuture().isDone());
            stream.releaseWindow();
            assertThat(stream.gather().body()).hasSize(LONG);
            stream.link().takeMessage(ControlMessage.Goodbye.class);
            assertThat(harness.summary().failures()).isZero();
        }
    }

    /** After its grace, a worker on Lambda has only 0.5 s. */
    @Test
    void should_say_goodbye_when_its_grace_is_over_though_a_client_does_not_read() throws Exception {
        try (Harness harness = new Harness(LONG_ANSWER)) {
            ScriptedStream stream = halfAnswered(harness);
            long drainNanos = System.nanoTime();
            stream.link().send(new Drain(DrainCode.DEADLINE, 100));
            stream.link().takeMessage(ControlMessage.Goodbye.class);
            assertThat(Duration.ofNanos(System.nanoTime() - drainNanos)).isLessThan(Duration.ofSeconds(2));
        }
    }

    /** A dispatcher that shuts down does not know when the worker must end. */
    @Test
    void should_end_in_its_own_grace_although_a_dispatcher_grants_more() throws Exception {
        Holding handler = new Holding();
        try (Harness harness = new Harness(handler, c -> c.drainGrace(Duration.ofMillis(100)))) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            handler.take();
            stream.link().send(new Drain(DrainCode.SHUTDOWN, 600_000));
            stream.link().roundTrip();
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.GOING_AWAY);
            harness.summary();
        }
    }

    /** A dispatcher drains a worker that is to be replaced almost until its deadline. */
    @Test
    void should_serve_for_all_of_the_grace_that_a_dispatcher_grants() throws Exception {
        assertThat(graceOf(new Drain(DrainCode.DEADLINE, 80_000))).isEqualTo(Duration.ofSeconds(80));
    }

    /** A dispatcher that shuts down grants the same grace to all of its workers. */
    @Test
    void should_say_goodbye_before_its_deadline_whatever_a_dispatcher_grants() throws Exception {
        assertThat(graceOf(new Drain(DrainCode.SHUTDOWN, 200_000)))
                .isBetween(Duration.ofSeconds(30), Duration.ofMillis(99_500));
    }

    /** Returns the grace of the handler if a dispatcher drains a worker that has 100 s left. */
    private static Duration graceOf(Drain drain) throws Exception {
        BlockingQueue<Duration> graces = new LinkedBlockingQueue<>();
        try (Harness harness = new Harness(new DrainedHandler(graces), c -> c.deadline(Duration.ofSeconds(100)))) {
            harness.dispatcher.takeReady().send(drain);
            return graces.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
        }
    }

    @Test
    void should_refuse_requests_that_come_after_the_dispatchers_own_drain() throws Exception {
        Holding handler = new Holding();
        try (Harness harness = new Harness(handler, c -> c.connections(1).streams(2))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            ScriptedStream busy = link.takeStream();
            ScriptedStream late = link.takeStream();
            busy.request(get("/"), 0, true);
            Response response = handler.take();
            link.send(new Drain(DrainCode.SCALE_IN, 10_000));
            late.request(get("/"), 0, true);
            assertThat(late.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.REFUSED);
            response.head(200);
            response.end();
            busy.gather();
            link.takeMessage(ControlMessage.Goodbye.class);
            assertThat(harness.summary().reason()).isEqualTo("scale in");
        }
    }

    @Test
    void should_cut_off_what_is_left_when_grace_is_over() throws Exception {
        Holding handler = new Holding();
        try (Harness harness = new Harness(handler)) {
            ScriptedStream stream = harness.stream();
            stream.request(post("/"), 0, false);
            handler.take();
            stream.link().send(new Drain(DrainCode.SCALE_IN, 20));
            assertThat(stream.take(ScriptedStream.Reset.class).code()).isEqualTo(ErrorCode.GOING_AWAY);
            stream.link().takeMessage(ControlMessage.Goodbye.class);
            assertThat(harness.summary().failures()).isEqualTo(1);
        }
    }

    @Test
    void should_drain_before_its_deadline() throws Exception {
        try (Harness harness = new Harness(
                new PongHandler(), c -> c.deadline(Duration.ofSeconds(8)).deadlineMargin(Duration.ofSeconds(10)))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            Drain drain = link.takeMessage(Drain.class);
            assertThat(drain.reason()).isEqualTo(DrainCode.DEADLINE);
            // The rest of the last tenth. Nothing is left after the deadline.
            assertThat(drain.graceMillis()).isBetween(1, 600);
            assertThat(harness.summary().reason()).isEqualTo("deadline");
        }
    }

    @Test
    void should_drain_when_idle_for_too_long() throws Exception {
        try (Harness harness = new Harness(
                new PongHandler(),
                c -> c.idleTimeout(Duration.ofSeconds(2))
                        .drainGrace(Duration.ofSeconds(5))
                        .loneTimeout(Duration.ZERO))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            assertThat(link.takeMessage(Drain.class).reason()).isEqualTo(DrainCode.IDLE);
            assertThat(harness.summary().reason()).isEqualTo("idle");
        }
    }

    /** Lambda kills an environment whose worker has not ended in time. */
    @Test
    void should_not_wait_for_a_connection_that_is_not_yet_established() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            WorkerConfig config = WorkerConfig.builder(
                            "f", Harness.SECRET, List.of(new InetSocketAddress("127.0.0.1", silent.getLocalPort())))
                    .connections(1)
                    .tls(WorkerTls.system())
                    .build();
            Worker worker = new Worker(config, new PongHandler()).start();
            // The other end does not answer the TLS handshake.
            try (Socket accepted = silent.accept()) {
                worker.drain(DrainReason.REQUESTED);
                worker.done().toCompletableFuture().get(3, TimeUnit.SECONDS);
                assertThat(accepted.isConnected()).isTrue();
            }
        }
    }

    @Test
    void should_come_back_after_a_lost_connection() throws Exception {
        try (Harness harness = new Harness(new PongHandler())) {
            harness.dispatcher.takeReady().cut();
            assertThat(harness.stream().exchange(get("/ping")).text()).isEqualTo("pong");
        }
    }

    @Test
    void should_come_back_when_the_dispatcher_does() throws Exception {
        try (Harness harness = new Harness(new PongHandler())) {
            harness.dispatcher.takeReady();
            int port = harness.dispatcher.stopListening();
            harness.dispatcher.listenAgain(port);
            assertThat(harness.stream().exchange(get("/ping")).text()).isEqualTo("pong");
        }
    }

    @Test
    void should_leave_a_silent_dispatcher() throws Exception {
        ScriptedDispatcher dispatcher = new ScriptedDispatcher();
        dispatcher.pingIntervalMillis = 50;
        dispatcher.pingTimeoutMillis = 1_000;
        try (Harness harness = new Harness(dispatcher, new PongHandler(), c -> c)) {
            ScriptedDispatcher.Link silent = dispatcher.takeReady();
            // The next connection must stay open even on a slow machine.
            dispatcher.pingTimeoutMillis = 60_000;
            silent.freeze();
            assertThat(harness.stream().exchange(get("/ping")).text()).isEqualTo("pong");
        }
    }

    @Test
    void should_stay_while_the_dispatcher_answers_its_pings() throws Exception {
        ScriptedDispatcher dispatcher = new ScriptedDispatcher();
        dispatcher.pingIntervalMillis = 10;
        dispatcher.pingTimeoutMillis = 60_000;
        try (Harness harness = new Harness(dispatcher, new PongHandler(), c -> c)) {
            ScriptedStream stream = harness.stream();
            assertThat(stream.exchange(get("/delay/200")).text()).isEqualTo("pong");
            assertThat(dispatcher.links()).hasSize(1);
        }
    }

    @Test
    void should_end_when_refused_for_good() throws Exception {
        ScriptedDispatcher dispatcher = new ScriptedDispatcher();
        dispatcher.controlStatus = 401;
        try (Harness harness = new Harness(dispatcher, new PongHandler(), c -> c)) {
            WorkerSummary summary = harness.summary();
            assertThat(summary.refused()).isTrue();
            assertThat(summary.reason()).contains("401");
            assertThat(harness.worker.ready().toCompletableFuture()).isCompletedExceptionally();
        }
    }

    /** A program can create workers again and again on one group. */
    @Test
    void should_leave_nothing_on_shared_loops_when_it_ends() throws Exception {
        IoEventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            WeakReference<Handler> handler = handlerOfEndedWorker(dispatcher, loops);
            Await.until("it is collected", () -> {
                System.gc();
                return handler.get() == null;
            });
        } finally {
            loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    private static WeakReference<Handler> handlerOfEndedWorker(ScriptedDispatcher dispatcher, IoEventLoopGroup loops)
            throws Exception {
        WorkerConfig config = WorkerConfig.builder("f", Harness.SECRET, List.of(dispatcher.address()))
                .plain()
                .deadline(Duration.ofDays(1))
                .idleTimeout(Duration.ofHours(1))
                .loneTimeout(Duration.ofHours(1))
                .build();
        Handler handler = new PongHandler();
        try (Worker worker = Worker.onLoops(config, handler, loops)) {
            worker.start().ready().toCompletableFuture().get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
        }
        return new WeakReference<>(handler);
    }

    @Test
    void should_be_ready_when_the_dispatcher_has_read_that_it_is() throws Exception {
        ScriptedDispatcher dispatcher = new ScriptedDispatcher();
        dispatcher.freezesAfterHello = true;
        try (Harness harness = new Harness(dispatcher, new PongHandler(), config -> config)) {
            CompletableFuture<Worker> ready = harness.worker.ready().toCompletableFuture();
            Await.until(
                    "HELLO",
                    () -> !dispatcher.links().isEmpty()
                            && !dispatcher.links().get(0).messages.isEmpty());
            Await.remains("the worker is not ready", Duration.ofMillis(300), () -> !ready.isDone());
            dispatcher.links().get(0).thaw();
            ready.get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
            assertThat(dispatcher.takeReady()).isSameAs(dispatcher.links().get(0));
        }
    }

    @Test
    void should_name_a_handler_that_blocks_the_event_loop() throws Exception {
        LoggedLines log = LoggedLines.of(Worker.class, Level.WARN);
        CountDownLatch release = new CountDownLatch(1);
        Handler blocking = (request, response) -> {
            release.await();
            response.respond(200, "");
        };
        try (log;
                Harness harness = new Harness(blocking)) {
            ScriptedStream stream = harness.stream();
            stream.request(get("/"), 60_000, true);
            Await.until("a warning", () -> !log.messages().isEmpty());
            release.countDown();
        } finally {
            release.countDown();
        }
        assertThat(log.messages())
                .singleElement()
                .asString()
                .contains(" ms by io.lambdadispatcher.worker.WorkerTest.lambda$");
    }

    @Test
    void should_end_when_launched_and_alone_for_too_long() throws Exception {
        try (ScriptedDispatcher dispatcher = new ScriptedDispatcher()) {
            WorkerConfig config = WorkerConfig.builder(
                            "f", new Credential.Token("v1.a.b.c.d"), List.of(dispatcher.address()))
                    .workerId("w1")
                    .plain()
                    .idleTimeout(Duration.ZERO)
                    .drainGrace(Duration.ofSeconds(1))
                    .loneTimeout(Duration.ofMillis(300))
                    .build();
            dispatcher.stopListening();
            WorkerSummary summary = new Worker(config, new PongHandler())
                    .start()
                    .done()
                    .toCompletableFuture()
                    .get(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
            assertThat(summary.reason()).contains("no connection to a dispatcher for");
            assertThat(summary.readyMillis()).isEqualTo(-1);
        }
    }

    @Test
    void should_tell_dispatchers_how_many_requests_it_takes_at_once() throws Exception {
        try (Harness harness = new Harness(new Holding(), config -> config.streams(10))) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            harness.worker.limit(3);
            awaitLimit(link, 3);
            harness.worker.limit(10);
            awaitLimit(link, 0);
            harness.worker.limit(4);
            awaitLimit(link, 4);

            link.cut();
            ScriptedDispatcher.Link next = harness.dispatcher.takeReady();
            next.takeMessage(ControlMessage.Hello.class);
            assertThat(next.messages.poll())
                    .as("before READINESS")
                    .isInstanceOfSatisfying(
                            Load.class, load -> assertThat(load.requestLimit()).isEqualTo(4));
        }
    }

    /** A slow machine makes event loops late, and then there are more reports. */
    private static void awaitLimit(ScriptedDispatcher.Link link, int expected) throws Exception {
        int told;
        do {
            told = link.takeMessage(Load.class).requestLimit();
        } while (told != expected);
    }

    @Test
    void should_refuse_a_limit_without_requests() throws Exception {
        try (Harness harness = new Harness(new Holding())) {
            harness.dispatcher.takeReady();
            assertThatThrownBy(() -> harness.worker.limit(0))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("expected 1 or more");
        }
    }
}
