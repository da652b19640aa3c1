package io.lambdadispatcher.worker;

import static io.lambdadispatcher.worker.ScriptedStream.get;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.worker.ControlMessage.Load;
import io.lambdadispatcher.wire.worker.ControlMessage.Welcome;
import io.lambdadispatcher.worker.ScriptedDispatcher.Link;
import io.lambdadispatcher.worker.handler.DownstreamShareListener;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Lifecycle;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(180)
class DownstreamShareTest {

    /** Records its shares, and confirms them when the test says so. */
    private static final class Sharing implements Handler, Lifecycle, DownstreamShareListener {
        record Told(int connections, CompletableFuture<Void> done) {}

        final BlockingQueue<Told> told = new LinkedBlockingQueue<>();

        @Override
        public void handle(Request request, Response response) {
            response.head(200);
            response.end();
        }

        @Override
        public CompletionStage<Void> start() {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void stop() {}

        @Override
        public CompletionStage<?> onDownstreamShare(int connections) {
            Told next = new Told(connections, new CompletableFuture<>());
            told.add(next);
            return next.done;
        }

        /** Confirms the next share, and returns it. */
        int confirmNext() throws InterruptedException {
            Told next = takeNext();
            next.done.complete(null);
            return next.connections;
        }

        Told takeNext() throws InterruptedException {
            Told next = told.poll(ScriptedDispatcher.WAIT_SECONDS, TimeUnit.SECONDS);
            assertThat(next).isNotNull();
            return next;
        }
    }

    @Test
    void should_connect_when_the_handler_keeps_to_its_share_and_end_when_it_has_closed_all() throws Exception {
        Sharing handler = new Sharing();
        try (Harness harness = new Harness(handler, config -> config.downstreamShare(8))) {
            Sharing.Told first = handler.takeNext();
            assertThat(first.connections()).isEqualTo(8);
            assertThat(harness.dispatcher.links()).isEmpty();
            first.done().complete(null);
            assertThat(harness.stream().exchange(get("/")).status()).isEqualTo("200");

            harness.worker.drain(DrainReason.REQUESTED);
            Sharing.Told last = handler.takeNext();
            assertThat(last.connections()).isZero();
            assertThat(harness.worker.done().toCompletableFuture()).isNotDone();
            last.done().complete(null);
            harness.summary();
        }
        assertThat(handler.told).isEmpty();
    }

    @Test
    void should_report_a_share_only_when_the_handler_has_confirmed_it() throws Exception {
        Sharing handler = new Sharing();
        try (Harness harness = new Harness(handler, config -> config.downstreamShare(8))) {
            assertThat(handler.confirmNext()).isEqualTo(8);
            Link link = harness.dispatcher.takeReady();
            assertThat(link.takeMessage(Load.class).downstreamShare()).isEqualTo(8);

            link.send(new Welcome(2, 5000, 5000, 3));
            Sharing.Told smaller = handler.takeNext();
            assertThat(smaller.connections()).isEqualTo(3);
            assertThat(link.takeMessage(Load.class).downstreamShare()).isEqualTo(8);
            smaller.done().complete(null);
            assertThat(link.takeMessage(Load.class).downstreamShare()).isEqualTo(3);

            harness.worker.drain(DrainReason.REQUESTED);
            assertThat(handler.confirmNext()).isZero();
        }
    }

    @Test
    void should_end_if_the_handler_refuses_its_share() throws Exception {
        Sharing handler = new Sharing();
        try (Harness harness = new Harness(handler, config -> config.downstreamShare(1))) {
            handler.takeNext().done().completeExceptionally(new IllegalStateException("needs 2 connections"));
            assertThat(handler.confirmNext()).isZero();
            assertThat(harness.summary().reason()).contains("cannot start", "needs 2 connections");
        }
    }

    @Test
    void should_end_at_its_deadline_if_the_handler_never_confirms_its_share() throws Exception {
        Sharing handler = new Sharing();
        try (Harness harness =
                new Harness(handler, config -> config.downstreamShare(8).deadline(Duration.ofSeconds(1)))) {
            assertThat(handler.takeNext().connections()).isEqualTo(8);
            assertThat(handler.confirmNext()).isZero();
            assertThat(harness.summary().reason()).isEqualTo("deadline");
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_end_if_the_listener_throws_an_error_or_returns_null(boolean isNull) throws Exception {
        Handler handler = new Faulty(isNull);
        try (Harness harness = new Harness(handler, config -> config.downstreamShare(8))) {
            assertThat(harness.summary().reason())
                    .contains("cannot start", isNull ? "the result of onDownstreamShare" : "com.example.Driver");
        }
    }

    private record Faulty(boolean isNull) implements Handler, Lifecycle, DownstreamShareListener {
        @Override
        public void handle(Request request, Response response) {
            response.respond(200, "");
        }

        @Override
        public CompletionStage<Void> start() {
            return CompletableFuture.completedFuture(null);
        }

        @Override
        public void stop() {}

        @Override
        @SuppressWarnings("NullAway") // the fault
        public CompletionStage<?> onDownstreamShare(int connections) {
            if (isNull) {
                return null;
            }
            throw new NoClassDefFoundError("com.example.Driver");
        }
    }

    @Test
    void should_tell_nothing_without_a_limit_and_report_nothing_without_a_listener() throws Exception {
        Sharing unlimited = new Sharing();
        try (Harness harness = new Harness(unlimited)) {
            assertThat(harness.stream().exchange(get("/")).status()).isEqualTo("200");
        }
        assertThat(unlimited.told).isEmpty();
        try (Harness harness = new Harness(new PongHandler(), config -> config.downstreamShare(8))) {
            assertThat(harness.dispatcher.takeReady().takeMessage(Load.class).downstreamShare())
                    .isZero();
        }
    }
}
