package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.Incident.Kind;
import io.lambdadispatcher.core.observe.WorkerCommandResult.Outcome;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.core.testkit.RecordingObserver.Parting;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Which ends of a worker are planned, and which are an incident: those without a goodbye of either
 * side.
 */
@Timeout(60)
class WorkerDepartureTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final RecordingObserver observer = new RecordingObserver();
    private Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.of("f"))
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .secret(SECRET)
            .eventLoops(1)
            .observer(observer)
            .start();

    /** Something that ends the connection of a worker that is ready. */
    private interface End {
        void come(ScriptedWorker worker, Dispatcher dispatcher) throws Exception;
    }

    @AfterEach
    void stop() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    private static Named<End> end(String name, End end) {
        return Named.of(name, end);
    }

    /** The worker says why it drains, and then goodbye. */
    private static Named<End> drain(DrainCode reason) {
        return end("the worker drains: " + reason, (worker, dispatcher) -> {
            worker.say(new ControlMessage.Drain(reason, 1000));
            goodbye(worker);
        });
    }

    private static void goodbye(ScriptedWorker worker) throws Exception {
        worker.say(new ControlMessage.Goodbye("done"));
        // GOODBYE could be lost if the connection is closed before it is read.
        worker.awaitRead(5);
        worker.close();
    }

    static Stream<Named<End>> planned() {
        return Stream.concat(
                Stream.of(DrainCode.values()).map(WorkerDepartureTest::drain),
                Stream.of(
                        end("the worker says goodbye", (worker, dispatcher) -> goodbye(worker)),
                        end("an operator drains the worker", (worker, dispatcher) -> {
                            assertThat(dispatcher
                                            .drain(known -> true)
                                            .toCompletableFuture()
                                            .get(10, TimeUnit.SECONDS))
                                    .singleElement()
                                    .satisfies(result ->
                                            assertThat(result.outcome()).isEqualTo(Outcome.DONE));
                            worker.expect("1 DRAIN");
                            goodbye(worker);
                        }),
                        end("a dispatcher of its fleet drains the worker", (worker, dispatcher) -> {
                            dispatcher.drain(known -> true);
                            worker.expect("1 DRAIN");
                            worker.say(new ControlMessage.Drain(DrainCode.LEAVING, 1000));
                            goodbye(worker);
                        }),
                        end("the dispatcher closes", (worker, dispatcher) -> {
                            dispatcher.close(Duration.ZERO);
                            worker.awaitClosed();
                        })));
    }

    static Stream<Named<End>> lost() {
        return Stream.of(
                end("its connection ends", (worker, dispatcher) -> worker.close()),
                end("its control stream is reset", (worker, dispatcher) -> worker.reset(1)),
                end("it drains, and is killed", (worker, dispatcher) -> {
                    worker.say(new ControlMessage.Drain(DrainCode.DEADLINE, 1000));
                    worker.awaitRead(5);
                    worker.close();
                }),
                end("it leaves for other dispatchers, and is killed", (worker, dispatcher) -> {
                    worker.say(new ControlMessage.Drain(DrainCode.LEAVING, 1000));
                    worker.awaitRead(5);
                    worker.close();
                }),
                end("it breaks the protocol", (worker, dispatcher) -> {
                    worker.bytes(1, out -> out.writeZero(100));
                    worker.awaitClosed();
                }));
    }

    private Parting partingAfter(End end) throws Exception {
        try (ScriptedWorker worker = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", "w", SECRET).ready(1)) {
            Await.until("it is ready", () -> dispatcher.pools().get(0).readyWorkers() == 1);
            end.come(worker, dispatcher);
            Parting parting = observer.partings.poll(10, TimeUnit.SECONDS);
            assertThat(parting).isNotNull();
            return parting;
        }
    }

    private Stream<Incident> losses() {
        return observer.incidents.stream().filter(incident -> incident.kind() == Kind.WORKERS_LOST);
    }

    @ParameterizedTest
    @MethodSource("planned")
    void should_not_take_a_planned_end_for_a_loss(End end) throws Exception {
        assertThat(partingAfter(end).clean()).isTrue();
        assertThat(losses()).isEmpty();
    }

    @ParameterizedTest
    @MethodSource("lost")
    void should_tell_of_a_worker_that_is_lost(End end) throws Exception {
        Parting parting = partingAfter(end);
        assertThat(parting.clean()).isFalse();
        assertThat(losses()).singleElement().returns("worker w: " + parting.reason(), Incident::cause);
    }

    @Test
    void should_tell_of_a_worker_that_is_silent() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        dispatcher = Dispatcher.builder()
                .function(FunctionOptions.of("f"))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret(SECRET)
                .eventLoops(1)
                .liveness(Duration.ofMillis(100), Duration.ofSeconds(2))
                .observer(observer)
                .start();
        assertThat(partingAfter((worker, its) -> worker.fallSilent()).reason()).startsWith("no answer to a ping");
        assertThat(losses())
                .singleElement()
                .asString()
                .startsWith("incident begins: workers of function f are lost: worker w: no answer to a ping");
    }
}
