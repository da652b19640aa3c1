package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WorkerCommandResult;
import io.lambdadispatcher.core.observe.WorkerCommandResult.Outcome;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.wire.testkit.Await;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An embedding program drains workers that it has not launched. */
@Timeout(240)
class SelfLaunchedDrainIT {
    private static List<Outcome> outcomes(CompletionStage<List<WorkerCommandResult>> command) throws Exception {
        return command.toCompletableFuture().get(10, TimeUnit.SECONDS).stream()
                .map(WorkerCommandResult::outcome)
                .toList();
    }

    private static CompletableFuture<HttpResponse<String>> get(Rig rig, String path) {
        return rig.client(Version.HTTP_2)
                .sendAsync(HttpRequest.newBuilder(rig.https(path)).build(), BodyHandlers.ofString());
    }

    @Test
    void should_finish_the_requests_of_a_drained_worker_and_send_new_ones_to_another() throws Exception {
        try (Rig rig = Rig.start(Rig.function().build(), DispatcherObserver.NONE)) {
            Process first = rig.process(2, 20, Rig.DEMO);
            CompletableFuture<HttpResponse<String>> inFlight = get(rig, "/delay?delay=3000");
            Await.until(
                    "the worker has the request",
                    () -> rig.pool().free() < rig.pool().streams());
            String id = rig.dispatcher.workers().toCompletableFuture().get(10, TimeUnit.SECONDS).stream()
                    .map(WorkerSnapshot::workerId)
                    .findAny()
                    .orElseThrow();

            assertThat(outcomes(rig.dispatcher.drain(worker -> false))).isEmpty();
            assertThat(outcomes(rig.dispatcher.recycle(worker -> true))).containsExactly(Outcome.NOT_LAUNCHED_HERE);
            assertThat(outcomes(rig.dispatcher.drain(worker -> worker.workerId().equals(id))))
                    .containsExactly(Outcome.DONE);
            assertThat(outcomes(rig.dispatcher.drain(worker -> true))).containsExactly(Outcome.DRAINS_ALREADY);
            CompletableFuture<HttpResponse<String>> queued = get(rig, "/ping");
            rig.worker(2, 20);

            assertThat(queued.get(60, TimeUnit.SECONDS).body()).isEqualTo("pong");
            assertThat(inFlight.get(60, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
            assertThat(first.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(first.exitValue()).isZero();
        }
    }

    @Test
    void should_fail_after_the_dispatcher_has_closed() throws Exception {
        Rig rig = Rig.start();
        rig.close();

        assertThatThrownBy(() -> outcomes(rig.dispatcher.drain(worker -> true)))
                .hasRootCauseInstanceOf(java.util.concurrent.RejectedExecutionException.class);
    }
}
