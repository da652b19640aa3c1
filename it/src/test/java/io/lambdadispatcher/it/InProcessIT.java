package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.DispatcherBuilder;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.core.spi.InProcessHandler;
import io.lambdadispatcher.core.spi.LaunchPayload;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.blocking.BlockingHandler;
import io.lambdadispatcher.worker.config.WorkerConfig;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A program serves its own requests, and launches workers for what exceeds its concurrency. */
@Timeout(180)
class InProcessIT {
    /** Launches workers of this process, which dial in as those on Lambda do. */
    private static final class Launcher implements WorkerLauncher {
        final Queue<Worker> workers = new ConcurrentLinkedQueue<>();
        private final BlockingHandler handler;

        Launcher(BlockingHandler handler) {
            this.handler = handler;
        }

        @Override
        public LaunchedWorker launch(LaunchRequest request) {
            Worker worker =
                    new Worker(WorkerConfig.ofPayload(LaunchPayload.json(request)), handler.asHandler()).start();
            workers.add(worker);
            return new LaunchedWorker() {
                @Override
                public CompletionStage<WorkerExit> exit() {
                    return worker.done().handle((done, error) -> new WorkerExit(Cause.ENDED, "it has ended"));
                }

                @Override
                public void kill() {
                    worker.close();
                }
            };
        }

        @Override
        public void close(Duration grace) {
            workers.forEach(Worker::close);
        }
    }

    @Test
    void should_launch_workers_for_what_exceeds_the_program() throws Exception {
        Semaphore gate = new Semaphore(0);
        AtomicInteger inProgram = new AtomicInteger();
        AtomicInteger mostInProgram = new AtomicInteger();
        InProcessHandler base = (request, response) -> {
            mostInProgram.accumulateAndGet(inProgram.incrementAndGet(), Math::max);
            gate.acquire();
            inProgram.decrementAndGet();
            response.respond(200, "base");
        };
        BlockingHandler excess = (request, response) -> {
            gate.acquire();
            response.respond(200, "launched");
        };
        Launcher launcher = new Launcher(excess);
        try (Dispatcher dispatcher = Dispatcher.builder()
                .function(FunctionOptions.builder("orders")
                        .streamsPerConnection(4)
                        .capacity(CapacityPolicy.between(0, 4))
                        .queue(1_000, Duration.ofSeconds(60))
                        .build())
                .inProcess("orders", base, 4)
                .workerListener(ListenerOptions.workers("127.0.0.1", 0))
                .launcher(launcher)
                .start()) {
            Await.until("the program is ready", () -> dispatcher.pools().get(0).readyWorkers() == 1);
            List<CompletionStage<String>> responses = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                responses.add(dispatcher
                        .dispatch(DispatchRequest.get("/" + i).build())
                        .thenCompose(DispatchResponse::bodyAsString));
            }
            Await.until("the program has all that it can have", () -> inProgram.get() == 4);
            Await.until(
                    "the others are with launched workers", Duration.ofSeconds(60), () -> launched(dispatcher) == 6);
            gate.release(10);
            List<String> served = new ArrayList<>();
            for (CompletionStage<String> each : responses) {
                served.add(each.toCompletableFuture().get(60, TimeUnit.SECONDS));
            }
            assertThat(served).filteredOn("base"::equals).hasSize(4);
            assertThat(served).filteredOn("launched"::equals).hasSize(6);
            assertThat(mostInProgram).hasValue(4);
        }
    }

    @Test
    void should_run_what_the_embedding_page_shows() throws Exception {
        Launcher launcher = new Launcher((request, response) -> response.respond(500, "not needed"));
        // tag::in-process
        InProcessHandler base = (request, response) -> response.respond(200, "hello from " + request.path());
        DispatcherBuilder builder = Dispatcher.builder()
                .function(FunctionOptions.builder("hello")
                        .streamsPerConnection(4) // of each launched worker
                        .capacity(CapacityPolicy.between(0, 4))
                        .build())
                .inProcess("hello", base, 4) // at most four requests at a time
                .launcher(launcher); // launches workers for what exceeds them
        // end::in-process
        Dispatcher dispatcher =
                builder.workerListener(ListenerOptions.workers("127.0.0.1", 0)).start();
        CompletionStage<String> answer =
                dispatcher.dispatch(DispatchRequest.get("/world").build()).thenCompose(DispatchResponse::bodyAsString);
        assertThat(answer.toCompletableFuture().get(60, TimeUnit.SECONDS)).isEqualTo("hello from /world");
        assertThat(launcher.workers).isEmpty();
        dispatcher.close();
    }

    /** Returns the number of requests that launched workers have. */
    private static int launched(Dispatcher dispatcher) throws Exception {
        return dispatcher.workers().toCompletableFuture().get(60, TimeUnit.SECONDS).stream()
                .filter(WorkerSnapshot::launched)
                .mapToInt(WorkerSnapshot::busy)
                .sum();
    }
}
