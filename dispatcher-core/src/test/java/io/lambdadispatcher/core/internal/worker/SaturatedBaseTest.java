package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.worker.ControlMessage.Load;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A base worker with many streams has room for few requests. */
class SaturatedBaseTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final RecordingLauncher launches = new RecordingLauncher();
    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.builder("f")
                    .streamsPerConnection(50)
                    .capacity(CapacityPolicy.between(0, 1))
                    .build())
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .secret(SECRET)
            .launcher(launches)
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
            launches.next();
            Await.until("two requests wait", () -> dispatcher.pools().get(0).queued() == 2);
        }
    }

    /** For this dispatcher alone, the base would suffice. */
    @Test
    void should_launch_workers_if_other_dispatchers_use_the_base() throws Exception {
        try (ScriptedWorker base = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", "base", SECRET)) {
            base.ready(1);
            Await.until("the base has a stream", () -> concurrency() == 1);
            dispatcher.dispatch(DispatchRequest.get("/").build());
            // It is tried again after 5 ms, 10 ms and so on.
            for (int i = 0; i < 6; i++) {
                base.expect("3 REQUEST_HEAD / end");
                base.bytes(3, out -> FrameWriter.writeReset(out, ErrorCode.BUSY, "busy"));
            }
            launches.next();
        }
    }

    private int concurrency() {
        var base = dispatcher.capacity().get(0).base();
        return base == null ? 0 : base.concurrency();
    }
}
