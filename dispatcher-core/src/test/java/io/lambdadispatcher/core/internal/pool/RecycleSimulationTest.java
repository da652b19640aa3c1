package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.CapacityController;
import io.lambdadispatcher.core.internal.capacity.FleetView;
import io.lambdadispatcher.core.internal.capacity.Plan;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.spi.WorkerLauncher.Cause;
import io.lambdadispatcher.core.spi.WorkerLauncher.WorkerExit;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * All workers of a function are replaced while each client has an endless session: a WebSocket or
 * server-sent events. The controller, the pool and its two event loops are the real ones, in
 * virtual time. Workers close their sessions when they drain, and the clients connect again.
 */
class RecycleSimulationTest extends OnTwoLoops {
    private static final int RUNS = Integer.getInteger("recycle.runs", 60);
    private static final int STREAMS = 10;
    private static final int STEP_MILLIS = 20;
    private static final Duration QUEUE_TIMEOUT = Duration.ofSeconds(10);

    private record Event(long atMillis, long number, Runnable action) {}

    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::atMillis).thenComparingLong(Event::number));

    private final List<Session> sessions = new ArrayList<>();
    private final Map<String, Worker> workers = new LinkedHashMap<>();
    private Random random = new Random(0);
    private FunctionPool pool;
    private CapacityController controller;
    private long nowMillis;
    private long numbered;
    private int launched;
    private @Nullable String blocked;

    /** An endless exchange of a client that connects again. */
    private final class Session extends SilentClient {
        final int number = sessions.size();
        final FunctionPool its = pool;
        int closed;
        int failed;
        int waited;
        long askedMillis;
        boolean open;

        void connect() {
            askedMillis = nowMillis;
            Http2Headers head =
                    new DefaultHttp2Headers().scheme("http").authority("a").path("/session");
            boolean webSocket = number % 2 == 0;
            head.method(webSocket ? "CONNECT" : "GET");
            if (!webSocket) {
                head.set("accept", "text/event-stream");
            }
            pool.shard(number / 2 % 2).open(head, !webSocket, this);
        }

        @Override
        public void onHead(Http2Headers head, boolean end) {
            open = true;
            waited += (int) (nowMillis - askedMillis);
        }

        @Override
        public void onFailure(Failure failure) {
            closed += open ? 1 : 0;
            failed += open ? 0 : 1;
            reconnect();
        }

        @Override
        public String toString() {
            return "session " + number + ": open " + open + ", closed " + closed + ", failed " + failed + ", asked at "
                    + askedMillis;
        }

        private void reconnect() {
            open = false;
            if (its != pool) {
                return; // Its simulation has ended.
            }
            after(random.nextInt(500), this::connect);
        }
    }

    private final class Worker {
        final String id;
        final PoolShard shard;
        final PooledConnection member;
        final List<ScriptedStream> busy = new ArrayList<>();

        Worker(String id) {
            this.id = id;
            shard = pool.shard(workers.size() % 2);
            member = new PooledConnection(id);
        }

        void begin() {
            shard.workers().onMember(member);
            for (int i = 0; i < STREAMS; i++) {
                shard.workers().onStreamOpened(member, new ScriptedStream(shard, member, this::onRequest));
            }
            shard.workers().setOpen(member, true);
            controller.workers().onDialled(nanos(), id, WorkerKind.LAUNCHED);
            carryOut(controller.onReady(nanos(), id, STREAMS, Long.MAX_VALUE, ""));
        }

        private void onRequest(ScriptedStream stream) {
            busy.add(stream);
            shard.loop()
                    .execute(() -> stream.attempt.onHead(
                            new DefaultHttp2Headers().status("200").set("content-type", "text/event-stream"), false));
        }

        /** Closes its sessions within a second, and then exits. */
        void drain() {
            shard.workers().setOpen(member, false);
            for (ScriptedStream stream : busy) {
                after(random.nextInt(1000), () -> {
                    shard.workers().onStreamClosed(member, stream, false);
                    stream.attempt.onLost(ScriptedStream.GONE);
                });
            }
            after(1500, () -> {
                shard.workers().onMemberGone(member);
                controller.onDisconnected(nanos(), id, true);
                controller.onExit(nanos(), id, new WorkerExit(Cause.ENDED, "done"));
            });
        }
    }

    private void after(long millis, Runnable action) {
        events.add(new Event(nowMillis + millis, numbered++, action));
    }

    private long nanos() {
        return TimeUnit.MILLISECONDS.toNanos(nowMillis);
    }

    private void carryOut(Plan plan) {
        for (Plan.Launch launch : plan.launches()) {
            String id = "w" + launched++;
            controller.onLaunched(nanos(), id, launch);
            after(500 + random.nextInt(3000), () -> {
                Worker worker = new Worker(id);
                workers.put(id, worker);
                worker.begin();
            });
        }
        plan.drains().forEach(drain -> workers.get(drain.workerId()).drain());
        pool.openWorkers.setDue(controller.due());
    }

    private void second() {
        pool.sample(true).thenAccept(demand -> carryOut(controller.evaluate(nanos(), demand, FleetView.ALONE)));
        after(1000, this::second);
    }

    private void run(long untilMillis) {
        while (nowMillis < untilMillis) {
            nowMillis += STEP_MILLIS;
            pass(STEP_MILLIS);
            for (Event next = events.peek(); next != null && next.atMillis <= nowMillis; next = events.peek()) {
                events.remove();
                next.action.run();
                turn();
            }
        }
    }

    private void begin(int seed, int count, int clients) {
        random = new Random(seed);
        events.clear();
        sessions.clear();
        workers.clear();
        nowMillis = 0;
        FunctionOptions options = FunctionOptions.builder("f")
                .streamsPerConnection(STREAMS)
                .queue(1000, QUEUE_TIMEOUT)
                .capacity(CapacityPolicy.fixed(count))
                .launching(LaunchLimits.builder().build())
                .build();
        pool = new FunctionPool(options, eventLoops(), DispatcherObserver.NONE);
        controller = new CapacityController(options, new Random(seed));
        pool.launching(() -> controller.status(nanos(), blocked));
        second();
        run(5_000);
        assertThat(workers).hasSize(count);
        for (int i = 0; i < clients; i++) {
            Session session = new Session();
            sessions.add(session);
            after(random.nextInt(3000), session::connect);
        }
        run(10_000);
        assertThat(sessions).allMatch(session -> session.open && session.closed == 0);
    }

    private void recycleAll() {
        List.copyOf(workers.keySet())
                .forEach(id -> assertThat(controller.recycle(id)).isTrue());
        pool.openWorkers.setDue(controller.due());
    }

    @Test
    void should_close_each_session_at_most_once_while_all_workers_are_replaced() {
        for (int seed = 0; seed < RUNS; seed++) {
            int count = 1 + new Random(seed).nextInt(12);
            int clients = 1 + new Random(~seed).nextInt(count * STREAMS * 7 / 10);
            begin(seed, count, clients);
            recycleAll();
            // Others connect meanwhile.
            for (int i = 0; i < count; i++) {
                Session late = new Session();
                sessions.add(late);
                after(random.nextInt(20_000), late::connect);
            }
            run(100_000);
            String run = "seed " + seed + ", " + count + " workers, " + clients + " sessions";
            assertThat(launched).as(run).isGreaterThanOrEqualTo(2 * count);
            assertThat(sessions).as(run).allSatisfy(session -> {
                assertThat(session.open).isTrue();
                assertThat(session.closed).isLessThanOrEqualTo(1);
                assertThat(session.failed).isZero();
                assertThat(session.waited).isLessThan((int) QUEUE_TIMEOUT.toMillis());
            });
            launched = 0;
        }
    }

    /** A client does not wait for workers that do not come. */
    @Test
    void should_use_a_worker_that_is_replaced_if_no_other_can_be_launched() {
        begin(1, 2, 4);
        blocked = "launching is paused by the kill switch";
        recycleAll();
        Session late = new Session();
        sessions.add(late);
        late.connect();
        run(nowMillis + 100);
        assertThat(late.open).isTrue();
    }

    @Test
    void should_use_a_worker_that_is_replaced_if_no_other_comes_in_time() {
        begin(1, 2, 4);
        recycleAll();
        events.clear(); // No worker starts, and no second passes for the controller.
        Session late = new Session();
        sessions.add(late);
        late.connect();
        run(nowMillis + QUEUE_TIMEOUT.toMillis() - 100);
        assertThat(late.open).isFalse();
        run(nowMillis + 200);
        assertThat(late.open).isTrue();
    }

    /** Otherwise, it would decline each stream that becomes free, until its time is over. */
    @Test
    void should_use_the_first_free_stream_if_all_were_busy() {
        begin(1, 2, 0);
        for (int i = 0; i < 2 * STREAMS; i++) {
            Http2Headers head = new DefaultHttp2Headers()
                    .method("GET")
                    .scheme("http")
                    .authority("a")
                    .path("/");
            pool.shard(i % 2).open(head, true, new SilentClient());
        }
        run(nowMillis + 100);
        Worker due = workers.get("w0");
        assertThat(due.busy).hasSize(STREAMS);
        events.clear();
        pool.openWorkers.setDue(Set.of("w0"));
        for (int i = 0; i < 2; i++) {
            Session queued = new Session();
            sessions.add(queued);
            queued.connect();
            run(nowMillis + 100);
            assertThat(queued.open).isFalse();

            ScriptedStream stream = due.busy.get(i);
            stream.attempt.onTrailers(new DefaultHttp2Headers());
            due.shard.workers().onStreamFree(due.member, stream);
            run(nowMillis + 100);
            assertThat(queued.open).as(queued.toString()).isTrue();
        }
    }
}
