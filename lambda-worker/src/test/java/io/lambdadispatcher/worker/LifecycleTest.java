package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.worker.ControlMessage.Drain;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

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
