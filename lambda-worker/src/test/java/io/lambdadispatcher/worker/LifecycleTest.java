package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.amazonaws.services.lambda.runtime.Context;
import com.amazonaws.services.lambda.runtime.RequestStreamHandler;
import io.lambdadispatcher.wire.worker.ControlMessage.Drain;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.blocking.BlockingRequest;
import io.lambdadispatcher.worker.blocking.BlockingResponse;
import io.lambdadispatcher.worker.handler.DownstreamShareListener;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.internal.exchange.Lifecycles;
import io.lambdadispatcher.worker.websocket.WebSocketHandler;
import io.lambdadispatcher.worker.websocket.WebSocketListener;
import io.lambdadispatcher.worker.websocket.WebSocketSession;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(180)
class LifecycleTest {
    /** Is ready when the test says so, and records drains. */
    private static class Slow implements Handler, Lifecycle {
        final CompletableFuture<Void> started = new CompletableFuture<>();
        final BlockingQueue<String> drains = new LinkedBlockingQueue<>();
        volatile CompletableFuture<Void> passedOn = CompletableFuture.completedFuture(null);

        @Override
        public void handle(Request request, Response response) {
            response.head(200);
            response.end();
        }

        @Override
        public CompletionStage<Void> start() {
            return started;
        }

        @Override
        public CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
            drains.add(reason + " " + grace);
            return passedOn;
        }

        String takeDrain() throws InterruptedException {
            return drains.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
        }

        @Override
        public void stop() {}
    }

    private static Slow started() {
        Slow handler = new Slow();
        handler.started.complete(null);
        return handler;
    }

    private static final Queue<String> TOLD = new ConcurrentLinkedQueue<>();

    /** Records what it is told. */
    public abstract static class Recorder implements Lifecycle, DownstreamShareListener {
        @Override
        public CompletionStage<Void> start() {
            return tell("start");
        }

        @Override
        public CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
            return tell("drain");
        }

        @Override
        public CompletionStage<?> onDownstreamShare(int connections) {
            return tell("share " + connections);
        }

        @Override
        public void stop() {
            tell("stop");
        }

        private static CompletionStage<Void> tell(String what) {
            TOLD.add(what);
            return CompletableFuture.completedFuture(null);
        }
    }

    public static class Blocking extends Recorder implements BlockingHandler, RequestStreamHandler {
        @Override
        public void handle(BlockingRequest request, BlockingResponse response) {}

        @Override
        public void handleRequest(InputStream event, OutputStream output, Context context) throws IOException {
            output.write(event.readAllBytes());
        }
    }

    public static class Sockets extends Recorder implements WebSocketHandler {
        @Override
        public WebSocketListener onOpen(WebSocketSession session) {
            return new WebSocketListener() {};
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {Blocking.class, Sockets.class})
    void should_tell_what_is_not_a_handler_itself(Class<?> type) throws Exception {
        TOLD.clear();
        Handler handler = HandlerLoader.load(type.getName(), Map.of());
        try (Harness harness = new Harness(handler, config -> config.downstreamShare(8))) {
            harness.dispatcher.takeReady();
            harness.worker.drain(DrainReason.REQUESTED);
            harness.summary();
        }
        Lifecycles.stop(handler);
        assertThat(TOLD).containsExactly("start", "share 8", "drain", "share 0", "stop");
    }

    @Test
    void should_pass_other_events_to_what_is_not_a_handler_itself() throws Exception {
        TOLD.clear();
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        new LambdaHandler(new Blocking().asHandler())
                .handleRequest(
                        new ByteArrayInputStream(new byte[] {'{', '}'}), output, LambdaHandlerTest.remaining(1_000));
        assertThat(output.toByteArray()).containsExactly('{', '}');
        assertThat(TOLD).containsExactly("start");
    }

    @Test
    void should_dial_only_when_the_handler_has_started() throws Exception {
        Slow handler = new Slow();
        try (Harness harness = new Harness(handler)) {
            assertThat(harness.dispatcher.links()).isEmpty();
            handler.started.complete(null);
            assertThat(harness.stream().exchange(get("/")).status()).isEqualTo("200");
        }
    }

    @Test
    void should_end_the_worker_where_the_handler_cannot_start() throws Exception {
        Slow handler = new Slow();
        try (Harness harness = new Harness(handler)) {
            handler.started.completeExceptionally(new IllegalStateException("port 1 is not open after 5 s"));
            WorkerSummary summary = harness.summary();
            assertThat(summary.reason()).contains("cannot start", "port 1 is not open after 5 s");
            assertThat(summary.connections()).isZero();
            assertThatThrownBy(
                            () -> harness.worker.ready().toCompletableFuture().get())
                    .isInstanceOf(ExecutionException.class)
                    .hasMessageContaining("cannot start");
        }
    }

    /** A failed future would be right, but threads of a worker must not outlive it. */
    @Test
    void should_end_the_worker_where_the_handler_throws_instead_of_starting() throws Exception {
        assertCannotStart(
                () -> {
                    throw new NoClassDefFoundError("com/example/Driver");
                },
                "com/example/Driver");
    }

    @Test
    void should_end_the_worker_where_the_handler_returns_null_instead_of_starting() throws Exception {
        assertCannotStart(() -> null, "the result of start");
    }

    private static void assertCannotStart(Supplier<CompletionStage<Void>> start, String why) throws Exception {
        Slow handler = new Slow() {
            @Override
            public CompletionStage<Void> start() {
                return start.get();
            }
        };
        try (Harness harness = new Harness(handler)) {
            assertThat(harness.summary().reason()).contains("cannot start", why);
        }
        assertThatThrownBy(() -> new LambdaHandler(handler)).hasMessageContainingAll("cannot start", why);
    }

    @Test
    void should_end_a_worker_that_is_drained_before_its_handler_has_started() throws Exception {
        Slow handler = new Slow();
        try (Harness harness = new Harness(handler)) {
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(harness.summary().reason()).isEqualTo("requested");
            handler.started.complete(null);
            assertThat(harness.dispatcher.links()).isEmpty();
            assertThat(handler.drains).isEmpty();
        }
    }

    @Test
    void should_tell_the_handler_once_that_the_worker_drains_and_not_end_before_it_has_passed_that_on()
            throws Exception {
        Slow handler = started();
        handler.passedOn = new CompletableFuture<>();
        try (Harness harness = new Harness(handler, c -> c.connections(2).streams(1))) {
            ScriptedDispatcher.Link one = harness.dispatcher.takeReady();
            ScriptedDispatcher.Link other = harness.dispatcher.takeReady();
            one.send(new Drain(DrainCode.SCALE_IN, 10_000));
            other.send(new Drain(DrainCode.SCALE_IN, 10_000));
            assertThat(handler.takeDrain()).isEqualTo("SCALE_IN PT10S");
            one.awaitClosed();
            other.awaitClosed();
            CompletableFuture<WorkerSummary> done = harness.worker.done().toCompletableFuture();
            assertThatThrownBy(() -> done.get(100, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            handler.passedOn.complete(null);
            harness.summary();
            assertThat(handler.drains).isEmpty();
        }
    }

    @Test
    void should_tell_the_handler_once_that_a_dispatcher_goes_though_the_worker_stays() throws Exception {
        Slow handler = started();
        try (Harness harness = new Harness(handler, c -> c.connections(2).streams(1))) {
            ScriptedDispatcher.Link one = harness.dispatcher.takeReady();
            ScriptedDispatcher.Link other = harness.dispatcher.takeReady();
            harness.dispatcher.answersHello = false;
            one.send(new Drain(DrainCode.SHUTDOWN, 9_000));
            assertThat(handler.takeDrain()).isEqualTo("SHUTDOWN PT9S");
            other.send(new Drain(DrainCode.SHUTDOWN, 9_000));
            other.awaitClosed();
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(handler.takeDrain()).isEqualTo("REQUESTED PT30S");
        }
    }

    @Test
    void should_tell_the_handler_that_the_next_dispatcher_goes_too() throws Exception {
        Slow handler = started();
        try (Harness harness = new Harness(handler)) {
            for (int graceMillis : new int[] {9_000, 8_000}) {
                harness.dispatcher.takeReady().send(new Drain(DrainCode.SHUTDOWN, graceMillis));
                assertThat(handler.takeDrain()).isEqualTo("SHUTDOWN " + Duration.ofMillis(graceMillis));
            }
        }
    }

    /** A failure of the handler must not affect others. */
    @Test
    void should_drain_though_the_handler_throws() throws Exception {
        assertDrains(() -> {
            throw new IllegalStateException("as the test wants it");
        });
    }

    /** A handler may start its first thread when it drains. */
    @Test
    void should_drain_though_the_handler_cannot_start_a_thread() throws Exception {
        assertDrains(() -> {
            throw new OutOfMemoryError("unable to create native thread");
        });
    }

    @Test
    void should_drain_though_the_handler_returns_null() throws Exception {
        assertDrains(() -> null);
    }

    private static void assertDrains(Supplier<CompletionStage<?>> onDrain) throws Exception {
        Slow handler = new Slow() {
            @Override
            public CompletionStage<?> onDrain(DrainReason reason, Duration grace) {
                return onDrain.get();
            }
        };
        handler.started.complete(null);
        try (Harness harness = new Harness(handler)) {
            ScriptedDispatcher.Link link = harness.dispatcher.takeReady();
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(link.takeMessage(Drain.class).reason()).isEqualTo(DrainCode.REQUESTED);
            assertThat(harness.summary().reason()).isEqualTo("requested");
        }
    }

    @Test
    void should_fail_the_initialisation_where_the_handler_cannot_start() {
        Slow handler = new Slow();
        handler.started.completeExceptionally(new IllegalStateException("no such command"));
        assertThatThrownBy(() -> new LambdaHandler(handler))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("no such command");
    }
}
