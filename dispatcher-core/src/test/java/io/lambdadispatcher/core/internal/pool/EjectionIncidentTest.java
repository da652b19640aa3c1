package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The incident of ejected workers lasts as long as one is ejected. */
class EjectionIncidentTest {
    private static final int ROUNDS = 20_000;

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final ExecutorService other = Executors.newSingleThreadExecutor();
    private final MockTicker ticker = Ticker.newMockTicker();
    private final Queue<Incident> told = new ConcurrentLinkedQueue<>();
    private Runnable whenTold = () -> {};
    private final Incidents incidents = new Incidents(
            new DispatcherObserver() {
                @Override
                public void onIncident(Incident incident) {
                    told.add(incident);
                    whenTold.run();
                }
            },
            ticker);
    private final FunctionPool pool =
            new FunctionPool(FunctionOptions.of("f"), List.of(loops.next()), DispatcherObserver.NONE);

    @AfterEach
    void stop() throws Exception {
        other.shutdown();
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    /** A worker returns on one event loop while another one is ejected on a second loop. */
    @Test
    void should_not_end_while_a_worker_is_ejected() throws Exception {
        List<PooledConnection> workers = sixWorkers();
        CyclicBarrier together = new CyclicBarrier(2);
        pool.openWorkers.beginEjection(workers.get(0), "for the test");
        for (int i = 0; i < ROUNDS; i++) {
            PooledConnection returning = workers.get(i % 6);
            PooledConnection next = workers.get((i + 1) % 6);
            Future<?> begun = other.submit(() -> {
                together.await();
                return pool.openWorkers.beginEjection(next, "for the test");
            });
            together.await();
            pool.openWorkers.endEjection(returning);
            begun.get();
            ticker.advance(1, TimeUnit.MINUTES);
            incidents.tick();
            assertThat(told).as("round %s", i).hasSize(1);
        }
        assertThat(pool.openWorkers.ejected(false)).isEqualTo(1);
    }

    private List<PooledConnection> sixWorkers() throws InterruptedException {
        pool.openWorkers.reportTo(incidents);
        List<PooledConnection> workers = new ArrayList<>();
        loops.submit(() -> {
                    for (int i = 0; i < 6; i++) {
                        PooledConnection worker = new PooledConnection("w" + i);
                        pool.shard(0).workers().onMember(worker);
                        pool.shard(0).workers().setOpen(worker, true);
                        worker.judge().eject(0, "for the test");
                        workers.add(worker);
                    }
                })
                .sync();
        return workers;
    }

    /** An observer is code of the embedding program, which may wait for what an event loop does. */
    @Test
    void should_not_keep_other_threads_waiting_while_the_observer_is_told() throws Exception {
        List<PooledConnection> workers = sixWorkers();
        AtomicBoolean served = new AtomicBoolean();
        whenTold = () -> {
            try {
                other.submit(() -> pool.openWorkers.endEjection(workers.get(1))).get(5, TimeUnit.SECONDS);
                served.set(true);
            } catch (InterruptedException | ExecutionException | TimeoutException e) {
                throw new AssertionError("the other thread waits", e);
            }
        };
        assertThat(pool.openWorkers.beginEjection(workers.get(0), "for the test"))
                .isTrue();
        assertThat(served).isTrue();
    }
}
