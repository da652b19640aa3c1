package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.worker.ControlMessage.Load;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A base worker with many streams says at run time that it is saturated with few requests. */
class SaturatedBaseTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final CountDownLatch launched = new CountDownLatch(1);
    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.builder("f")
                    .streamsPerConnection(50)
                    .capacity(CapacityPolicy.between(0, 1))
                    .build())
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .secret(SECRET)
            .launcher(new WorkerLauncher() {
                @Override
                public LaunchedWorker launch(LaunchRequest request) {
                    launched.countDown();
                    CompletableFuture<WorkerExit> exit = new CompletableFuture<>();
                    return new LaunchedWorker() {
                        @Override
                        public CompletionStage<WorkerExit> exit() {
                            return exit;
                        }

                        @Override
                        public void kill() {
                            exit.complete(new WorkerExit(Cause.FAILED, "killed"));
                        }
                    };
                }

                @Override
                public void close(Duration grace) {}
            })
            .eventLoops(1)
            .start();

    @AfterEach
    void stop() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    @Test
    void should_launch_workers_for_what_a_saturated_base_does_not_take() throws Exception {
        try (ScriptedWorker base = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", "base", SECRET)) {
            base.ready(50);
            Await.until("the base has streams", () -> concurrency() == 50);
            base.say(new Load(0, 0, 0, 0, 0, 2));
            Await.until("the base is smaller", () -> concurrency() == 2);
            for (int i = 0; i < 4; i++) {
                dispatcher.dispatch(DispatchRequest.get("/").build());
            }
            assertThat(launched.await(10, TimeUnit.SECONDS)).isTrue();
            Await.until("two requests wait", () -> dispatcher.pools().get(0).queued() == 2);
        }
    }

    private int concurrency() {
        var base = dispatcher.capacity().get(0).base();
        return base == null ? 0 : base.concurrency();
    }
}
