package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.ControlMessage.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class LifecycleTest {
    /** Ready when the test says so. */
    private static final class Slow implements Handler, Lifecycle {
        final CompletableFuture<Void> started = new CompletableFuture<>();

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
        public void stop() {}
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

    @Test
    void should_end_a_worker_that_is_drained_before_its_handler_has_started() throws Exception {
        Slow handler = new Slow();
        try (Harness harness = new Harness(handler)) {
            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(harness.summary().reason()).isEqualTo("REQUESTED");
            handler.started.complete(null);
            assertThat(harness.dispatcher.links()).isEmpty();
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
