package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Base workers get requests before launched ones do, below their target of 80 % of their streams.
 */
class BaseFirstTest extends OnTwoLoops {
    private static final int STREAMS = 10;
    private static final int TARGET = 8;

    private FunctionPool pool = newPool(Affinity.NONE);

    /** A worker on one of the loops. Its requests stay until the test answers them. */
    private final class Worker {
        final PoolShard shard;
        final PooledConnection member;
        final List<ScriptedStream> busy = new ArrayList<>();
        int served;

        /** Whether it answers each request with 500 immediately. */
        boolean failing;

        Worker(int loop, String id, boolean base) {
            shard = pool.shard(loop);
            member = new PooledConnection(id);
            member.setKind(base ? WorkerKind.BASE : WorkerKind.LAUNCHED);
            shard.workers().onMember(member);
            for (int i = 0; i < STREAMS; i++) {
                shard.workers().onStreamOpened(member, new ScriptedStream(shard, member, this::onRequest));
            }
            shard.workers().setOpen(member, true);
            turn();
        }

        private void onRequest(ScriptedStream stream) {
            served++;
            busy.add(stream);
            if (failing) {
                shard.loop().execute(() -> fail(stream));
            }
        }

        private void fail(ScriptedStream stream) {
            busy.remove(stream);
            var attempt = stream.attempt;
            stream.attempt = null;
            if (attempt != null) {
                attempt.onHead(new DefaultHttp2Headers().status("500"), true);
                member.onExchangeEnd(true, shard.nanoTime(), shard.nanoTime());
                shard.workers().onStreamFree(member, stream);
            }
        }

        void answerAll() {
            List.copyOf(busy).forEach(ScriptedStream::answer);
            busy.clear();
            turn();
        }

        void leave() {
            List<ScriptedStream> its = List.copyOf(busy);
            shard.workers().setOpen(member, false);
            its.forEach(ScriptedStream::answer);
            turn();
        }
    }

    private FunctionPool newPool(Affinity affinity) {
        return new FunctionPool(
                FunctionOptions.builder("f")
                        .streamsPerConnection(STREAMS)
                        .queue(100, Duration.ofSeconds(10))
                        .capacity(CapacityPolicy.builder()
                                .workers(0, 10)
                                .targetUtilization(0.8)
                                .build())
                        .traffic(TrafficPolicy.builder().affinity(affinity).build())
                        .build(),
                eventLoops(),
                DispatcherObserver.NONE);
    }

    private static Http2Headers head(String method) {
        return new DefaultHttp2Headers()
                .method(method)
                .scheme("http")
                .authority("a")
                .path("/");
    }

    private void open(int loop, int requests) {
        for (int i = 0; i < requests; i++) {
            open(loop, head("GET"));
        }
    }

    private void open(int loop, Http2Headers head) {
        pool.shard(loop).open(head, !"CONNECT".contentEquals(head.method()), new SilentClient());
        turn();
    }

    @Test
    void should_fill_the_base_of_all_loops_to_its_target_first() {
        Worker launched = new Worker(0, "launched", false);
        Worker here = new Worker(0, "base 1", true);
        Worker there = new Worker(1, "base 2", true);

        open(0, 2 * TARGET);
        assertThat(here.busy).hasSize(TARGET);
        assertThat(there.busy).hasSize(TARGET);
        assertThat(launched.busy).isEmpty();

        open(1, 1);
        open(0, 1);
        assertThat(there.busy).hasSize(TARGET + 1);
        assertThat(launched.busy).hasSize(1);
    }

    @Test
    void should_use_the_least_loaded_worker_of_either_kind_above_the_target() {
        Worker launched = new Worker(0, "launched", false);
        Worker base = new Worker(0, "base", true);

        open(0, 2 * TARGET);
        assertThat(base.busy).hasSize(TARGET);
        assertThat(launched.busy).hasSize(TARGET);
        open(0, 4);
        assertThat(base.busy).hasSize(STREAMS);
        assertThat(launched.busy).hasSize(STREAMS);
    }

    @Test
    void should_return_to_the_base_when_it_is_below_its_target_again() {
        Worker launched = new Worker(0, "launched", false);
        Worker base = new Worker(1, "base", true);
        open(0, 15);
        assertThat(launched.served).isPositive();
        base.answerAll();
        int before = launched.served;

        open(0, TARGET);
        assertThat(base.busy).hasSize(TARGET);
        assertThat(launched.served).isEqualTo(before);
    }

    @Test
    void should_treat_workers_alike_if_all_are_of_one_kind() {
        Worker here = new Worker(0, "base 1", true);
        Worker there = new Worker(1, "base 2", true);
        open(0, TARGET + 1);
        assertThat(here.busy).hasSize(TARGET + 1);
        assertThat(there.busy).isEmpty();

        // The launched worker comes and goes.
        Worker launched = new Worker(0, "launched", false);
        assertThat(pool.shard(1).free.basePermits()).isEqualTo(TARGET);
        launched.leave();
        assertThat(pool.shard(1).free.basePermits()).isZero();
        open(0, 1);
        assertThat(here.busy).hasSize(STREAMS);
    }

    @Test
    void should_send_tunnels_to_the_base_as_long_as_it_has_a_stream() {
        Worker launched = new Worker(0, "launched", false);
        Worker base = new Worker(1, "base", true);
        open(0, TARGET);
        for (int i = 0; i < 3; i++) {
            open(0, head("CONNECT").set(":protocol", "websocket"));
        }
        assertThat(base.busy).hasSize(STREAMS);
        assertThat(launched.busy).hasSize(1);
    }

    private void openLong(int requests) {
        for (int i = 0; i < requests; i++) {
            open(0, head("GET").set("accept", "text/event-stream"));
        }
    }

    @Test
    void should_apply_to_long_requests_beside_workers_that_are_replaced_soon() {
        Worker leaving = new Worker(0, "leaving", false);
        Worker launched = new Worker(0, "launched", false);
        Worker base = new Worker(1, "base", true);
        pool.openWorkers.setDue(Set.of("leaving"));
        openLong(TARGET + 1);
        assertThat(base.busy).hasSize(TARGET);
        assertThat(launched.busy).hasSize(1);

        open(0, head("CONNECT").set(":protocol", "websocket"));
        assertThat(base.busy).hasSize(TARGET + 1);
        assertThat(leaving.busy).isEmpty();
    }

    @Test
    void should_begin_long_requests_on_workers_that_are_not_needed_only_if_no_other_has_room() {
        Worker surplus = new Worker(0, "surplus", false);
        Worker launched = new Worker(1, "launched", false);
        pool.openWorkers.setSurplus(Set.of("surplus"));
        openLong(STREAMS - 1);
        open(0, head("CONNECT").set(":protocol", "websocket"));
        assertThat(launched.busy).hasSize(STREAMS);
        assertThat(surplus.busy).isEmpty();

        openLong(1);
        assertThat(surplus.busy)
                .as("without waiting, because nothing replaces it")
                .hasSize(1);
    }

    /** The due one ends them for certain. */
    @Test
    void should_begin_long_requests_on_workers_that_are_not_needed_rather_than_on_due_ones() {
        Worker due = new Worker(0, "due", false);
        Worker surplus = new Worker(1, "surplus", false);
        pool.openWorkers.setDue(Set.of("due"));
        pool.openWorkers.setSurplus(Set.of("surplus"));
        openLong(STREAMS);

        assertThat(surplus.busy).hasSize(STREAMS);
        assertThat(due.busy).isEmpty();
    }

    /** It is never busy, so it got each long request. */
    @Test
    void should_begin_no_long_requests_on_a_worker_that_fails_quickly() {
        Worker leaving = new Worker(0, "leaving", false);
        Worker failing = new Worker(0, "failing", false);
        Worker sound = new Worker(1, "sound", false);
        failing.failing = true;
        pool.openWorkers.setDue(Set.of("leaving"));
        openLong(STREAMS);
        assertThat(failing.served).isEqualTo(1);
        assertThat(sound.busy).hasSize(STREAMS - 1);
        assertThat(leaving.busy).isEmpty();
    }

    @Test
    void should_begin_sessions_on_the_base_and_not_move_them() {
        pool = newPool(Affinity.sessionHeader("id"));
        Worker launched = new Worker(0, "launched", false);
        Worker base = new Worker(1, "base", true);
        open(0, 2);
        assertThat(base.busy).hasSize(2);
        open(0, TARGET - 1);
        assertThat(launched.busy).hasSize(1);

        Http2Headers created = new DefaultHttp2Headers().status("200").set("id", "s");
        launched.busy.get(0).answer(created);
        base.answerAll();
        launched.busy.clear();
        turn();
        // The name of the session has the tag of its worker now.
        open(1, head("GET").set("id", created.get("id")));
        assertThat(launched.busy).hasSize(1);
    }

    @Test
    void should_keep_keys_on_the_base_when_launched_workers_come() {
        pool = newPool(Affinity.header("x-user"));
        Worker launched = new Worker(0, "launched", false);
        Worker base = new Worker(1, "base", true);
        for (int user = 0; user < 2 * STREAMS; user++) {
            open(0, head("GET").set("x-user", "user" + user));
        }
        assertThat(base.busy).hasSize(STREAMS);
        assertThat(launched.busy).hasSize(STREAMS);
        base.answerAll();

        for (int user = 0; user < STREAMS; user++) {
            open(0, head("GET").set("x-user", "user" + user));
        }
        assertThat(base.busy).hasSize(STREAMS);
    }

    @Test
    void should_not_prefer_a_base_worker_that_fails_quickly() {
        for (int size : new int[] {1, 2, 4}) {
            pool = newPool(Affinity.NONE);
            Worker launched = new Worker(0, "launched", false);
            List<Worker> base = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                base.add(new Worker(i % 2, "base " + i, true));
            }
            base.forEach(each -> each.failing = true);
            for (int millis = 0; millis < 1_000; millis++) {
                open(0, 1);
                pass(1);
                launched.answerAll();
            }
            // At most five in a second, by which it shows whether it serves again.
            assertThat(base).allSatisfy(each -> assertThat(each.served).isBetween(1, 5));
            assertThat(launched.served).isGreaterThanOrEqualTo(1_000 - 5 * size);

            base.forEach(each -> each.failing = false);
            pass(250);
            launched.served = 0;
            for (int i = 0; i < 50; i++) {
                open(0, 1);
                base.forEach(Worker::answerAll);
                launched.answerAll();
                pass(10);
            }
            assertThat(launched.served).isLessThanOrEqualTo(size);
        }
    }

    @Test
    void should_compare_workers_with_those_of_their_kind_only() {
        List<Worker> launched = new ArrayList<>();
        List<Worker> base = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            launched.add(new Worker(0, "launched " + i, false));
            base.add(new Worker(0, "base " + i, true));
        }
        launched.forEach(each -> each.failing = true);
        for (int i = 0; i < 200; i++) {
            open(0, 4 * TARGET + 8);
            pass(25);
            base.forEach(Worker::answerAll);
        }
        assertThat(launched).allSatisfy(each -> assertThat(each.served).isGreaterThan(20));
        assertThat(launched)
                .noneSatisfy(each -> assertThat(each.member.judge().isEjected()).isTrue());
    }

    @Test
    void should_serve_by_an_ejected_base_if_nobody_else_is_there() {
        Worker base = new Worker(0, "base", true);
        pool.shard(0).workers().ejector.eject("base", "for the test");
        pool.openWorkers.healthOf(true).tryEject("base");
        pool.shard(0).workers().ejector.onGroupChange();
        open(0, 1);
        assertThat(base.busy).hasSize(1);

        Worker launched = new Worker(0, "launched", false);
        open(0, 1);
        assertThat(launched.busy).hasSize(1);
    }

    /** No request of its own kind ends before it gets a probe, because it is the only one. */
    @Test
    void should_serve_by_the_only_base_worker_again_after_its_ejection() {
        Worker launched = new Worker(0, "launched", false);
        Worker base = new Worker(1, "base", true);
        pool.openWorkers.healthOf(true).tryEject("base");
        pool.shard(1).workers().ejector.eject("base", "for the test");
        open(0, 1);
        assertThat(base.busy).isEmpty();
        assertThat(launched.busy).hasSize(1);

        for (int i = 0; i < 300; i++) {
            open(0, 2);
            base.answerAll();
            launched.answerAll();
            pass(100);
        }
        assertThat(base.member.judge().isEjected()).isFalse();
        open(0, TARGET);
        assertThat(base.busy).hasSize(TARGET);
    }

    /** A handler in process is part of the base, but serves no WebSockets. */
    @Test
    void should_send_tunnels_past_the_base_if_it_serves_none() {
        pool.openWorkers.setInProcess("base");
        Worker launched = new Worker(0, "launched", false);
        Worker base = new Worker(0, "base", true);
        open(0, head("CONNECT").set(":protocol", "websocket"));
        open(0, 1);
        assertThat(launched.busy).hasSize(1);
        assertThat(base.busy).hasSize(1);

        // The others have no room, but the base has.
        for (int i = 0; i < STREAMS; i++) {
            open(i % 2, head("CONNECT").set(":protocol", "websocket"));
        }
        pass(100);
        assertThat(launched.busy).hasSize(STREAMS);
        assertThat(base.busy).hasSize(1);
        open(0, 1);
        assertThat(base.busy).hasSize(2);
        launched.answerAll();
        pass(100);
        assertThat(launched.busy).hasSize(1);
        assertThat(base.busy).hasSize(2);
    }

    @Test
    void should_let_tunnels_wait_for_a_worker_to_be_launched_if_the_base_serves_none() {
        pool.launching(() -> new CapacitySnapshot("f", 0, 0, 0, 0, 0, 0, 0, null, null, null, null, null));
        pool.openWorkers.setInProcess("base");
        Worker base = new Worker(0, "base", true);
        open(0, head("CONNECT").set(":protocol", "websocket"));
        pass(100);
        assertThat(base.busy).isEmpty();
        Worker launched = new Worker(1, "launched", false);
        pass(100);
        assertThat(launched.busy).hasSize(1);
        assertThat(base.busy).isEmpty();
    }
}
