package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.wire.testkit.Await;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Workers in the zone of the dispatcher, and in another one. */
@Timeout(60)
class ZoneTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);
    private static final int STREAMS = 6;

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private Dispatcher dispatcher;

    @AfterEach
    void stop() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    /** Returns the requests in flight of the near and the far worker. */
    private String spread(String zone, int requests) throws Exception {
        dispatcher = Dispatcher.builder()
                .function(FunctionOptions.builder("f").build())
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret(SECRET)
                .eventLoops(1)
                .zone(zone)
                .start();
        ScriptedWorker far = worker("far", "use1-az2");
        ScriptedWorker near = worker("near", "use1-az1");
        try (far;
                near) {
            Await.until("both are ready", () -> dispatcher.pools().get(0).readyWorkers() == 2);
            for (int i = 0; i < requests; i++) {
                dispatcher.dispatch(DispatchRequest.get("/").build());
            }
            Await.until(
                    "all have arrived",
                    () -> busy().values().stream().mapToInt(each -> each).sum() == requests);
            Map<String, Integer> busy = busy();
            return busy.get("near") + "+" + busy.get("far");
        }
    }

    private Map<String, Integer> busy() {
        return dispatcher.workers().toCompletableFuture().join().stream()
                .collect(Collectors.toMap(WorkerSnapshot::workerId, WorkerSnapshot::busy));
    }

    private ScriptedWorker worker(String id, String zone) throws Exception {
        ScriptedWorker worker = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", id, SECRET);
        worker.zone = zone;
        return worker.ready(STREAMS);
    }

    @Test
    void should_use_workers_in_its_own_zone_first() throws Exception {
        assertThat(spread("use1-az1", 3)).isEqualTo("3+0");
    }

    @Test
    void should_use_other_zones_before_its_own_is_full() throws Exception {
        assertThat(spread("use1-az1", 8)).isIn("5+3", "6+2");
    }

    @Test
    void should_use_all_streams() throws Exception {
        assertThat(spread("use1-az1", 12)).isEqualTo("6+6");
    }

    @Test
    void should_not_distinguish_zones_if_it_does_not_know_its_own() throws Exception {
        assertThat(spread("", 4)).isEqualTo("2+2");
    }
}
