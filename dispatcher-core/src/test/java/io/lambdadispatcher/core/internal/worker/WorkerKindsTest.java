package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * All who ask which workers are base workers get the same answer: the live page, the metrics, the
 * capacity controller, and the pool, which tells it with each request.
 */
class WorkerKindsTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);
    private static final int DEADLINE_MILLIS = 600_000;

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final RecordingObserver observer = new RecordingObserver();
    private final RecordingLauncher launches = new RecordingLauncher();
    private final Semaphore answers = new Semaphore(0);
    private final List<ScriptedWorker> workers = new ArrayList<>();

    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.builder("f")
                    .streamsPerConnection(1)
                    .capacity(CapacityPolicy.builder()
                            .workers(2, 2)
                            .maxWorkerAge(Duration.ofHours(1))
                            .build())
                    .build())
            .inProcess(
                    "f",
                    (request, response) -> {
                        answers.acquire();
                        response.status(200);
                    },
                    1)
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .secret(SECRET)
            .launcher(launches)
            .eventLoops(2)
            .observer(observer)
            .start();

    @AfterEach
    void stop() throws Exception {
        answers.release(100);
        for (ScriptedWorker worker : workers) {
            worker.close();
        }
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    private void connect(ScriptedWorker worker, int remainingMillis) throws Exception {
        workers.add(worker);
        worker.remainingMillis = remainingMillis;
        worker.ready(1);
    }

    private void connect(String id, int remainingMillis) throws Exception {
        connect(new ScriptedWorker(loops, dispatcher.workerAddress(), "f", id, SECRET), remainingMillis);
    }

    private String launched(int remainingMillis) throws Exception {
        String token = launches.next().request().token();
        connect(new ScriptedWorker(loops, dispatcher.workerAddress(), token), remainingMillis);
        return token;
    }

    private Map<String, WorkerKind> kindsOnThePage() {
        return dispatcher.workers().toCompletableFuture().join().stream()
                .filter(each -> each.state() == WorkerSnapshot.State.READY)
                .collect(Collectors.toMap(
                        WorkerSnapshot::workerId,
                        each -> each.launched() ? WorkerKind.LAUNCHED : WorkerKind.BASE,
                        (a, b) -> a,
                        TreeMap::new));
    }

    /** Gives each worker one request, and returns of which kind its report calls the worker. */
    private Map<String, WorkerKind> kindsOfRequests(int count) throws Exception {
        for (int i = 0; i < count; i++) {
            dispatcher.dispatch(DispatchRequest.get("/").build());
        }
        Await.until("each has a request", () -> dispatcher.pools().get(0).free() == 0);
        answers.release();
        for (ScriptedWorker worker : workers) {
            worker.respond(3, new DefaultHttp2Headers().status("204"), true);
        }
        Map<String, WorkerKind> kinds = new TreeMap<>();
        for (int i = 0; i < count; i++) {
            ExchangeEnd end = observer.ends.poll(10, TimeUnit.SECONDS);
            assertThat(end).isNotNull();
            kinds.put(end.workerId(), end.workerKind());
        }
        return kinds;
    }

    /**
     * A worker with a deadline that this dispatcher does not know is one of the dispatcher before
     * it. The pool took it for a base worker, and so preferred it to those that it has launched.
     */
    @Test
    void should_be_told_alike_to_all_who_ask() throws Exception {
        launched(DEADLINE_MILLIS);
        launched(-1);
        connect("base", -1);
        connect("earlier", DEADLINE_MILLIS);
        Await.until("all are ready", () -> kindsOnThePage().size() == 5);

        Map<String, WorkerKind> kinds = kindsOnThePage();
        assertThat(kinds).containsEntry("base", WorkerKind.BASE).containsEntry("earlier", WorkerKind.LAUNCHED);
        assertThat(kinds.keySet().stream().filter(id -> id.startsWith("in-process-")))
                .singleElement()
                .satisfies(id -> assertThat(kinds.get(id)).isEqualTo(WorkerKind.BASE));
        assertThat(kinds.values()).filteredOn(WorkerKind.LAUNCHED::equals).hasSize(3);
        assertThat(kindsOfRequests(5)).isEqualTo(kinds);
        assertThat(dispatcher.pools().get(0).readyBaseWorkers()).isEqualTo(2);
        Await.until(
                "the controller has looked",
                () -> dispatcher.capacity().get(0).base() != null
                        && dispatcher.capacity().get(0).base().workers() == 2);
        assertThat(dispatcher.capacity().get(0).base().concurrency()).isEqualTo(2);
    }
}
