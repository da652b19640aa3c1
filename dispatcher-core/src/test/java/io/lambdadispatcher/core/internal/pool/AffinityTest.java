package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The way of a request with a session to its worker, over two event loops. */
class AffinityTest extends OnTwoLoops {
    private final RecordingObserver observer = new RecordingObserver();
    private final FunctionPool pool = new FunctionPool(
            FunctionOptions.builder("f")
                    .traffic(TrafficPolicy.builder()
                            .affinity(Affinity.sessionHeader("id"))
                            .build())
                    .build(),
            eventLoops(),
            observer);
    private final Worker here = new Worker("here", 0);
    private final Worker there = new Worker("there", 1);

    private List<SessionResult> results() {
        return observer.ends.stream().map(ExchangeEnd::sessionResult).toList();
    }

    /** A worker with one connection. */
    private final class Worker {
        final PoolShard shard;
        final PooledConnection member;
        final List<ScriptedStream> streams = new ArrayList<>();

        Worker(String id, int loop) {
            shard = pool.shard(loop);
            member = new PooledConnection(id);
            shard.workers().onMember(member);
            for (int i = 0; i < 3; i++) {
                ScriptedStream stream = new ScriptedStream(shard, member, any -> {});
                streams.add(stream);
                shard.workers().onStreamOpened(member, stream);
            }
            shard.workers().setOpen(member, true);
        }

        List<ScriptedStream> busy() {
            return streams.stream().filter(stream -> stream.attempt != null).toList();
        }

        ScriptedStream serves() {
            assertThat(busy()).hasSize(1);
            return busy().get(0);
        }
    }

    private static final class Client extends SilentClient {
        @Nullable
        Http2Headers head;

        @Override
        public void onHead(Http2Headers responseHead, boolean end) {
            head = responseHead;
        }
    }

    private Client request(int loop, @Nullable CharSequence id) {
        Client client = new Client();
        open(loop, id, true, client);
        return client;
    }

    private Exchange open(int loop, @Nullable CharSequence id, boolean end, Client client) {
        Http2Headers head =
                new FlatHeaders().method("GET").scheme("http").authority("a").path("/");
        if (id != null) {
            head.set("id", id);
        }
        Exchange exchange = pool.shard(loop).open(head, end, client);
        assertThat(exchange.isEnded()).isFalse();
        turn();
        return exchange;
    }

    private static Http2Headers ok() {
        return new FlatHeaders().status("200");
    }

    private CharSequence sessionOf(Worker worker) {
        Worker other = worker == here ? there : here;
        other.shard.workers().setOpen(other.member, false);
        Client client = request(0, null);
        other.shard.workers().setOpen(other.member, true);
        worker.serves().answer(ok().set("id", "s1"));
        turn();
        return Objects.requireNonNull(client.head).get("id");
    }

    @Test
    void should_reach_the_worker_of_a_session_from_any_event_loop() {
        for (Worker worker : List.of(here, there)) {
            CharSequence id = sessionOf(worker);
            for (int loop = 0; loop < 2; loop++) {
                request(loop, id);
                ScriptedStream stream = worker.serves();
                assertThat(Objects.requireNonNull(stream.head).get("id")).hasToString("s1");
                stream.answer(ok());
                turn();
            }
        }
        assertThat(results())
                .containsExactly(
                        SessionResult.NEW,
                        SessionResult.KEPT,
                        SessionResult.KEPT,
                        SessionResult.NEW,
                        SessionResult.KEPT,
                        SessionResult.KEPT);
    }

    @Test
    void should_begin_sessions_on_the_least_busy_worker_of_all_event_loops() {
        for (int i = 0; i < 4; i++) {
            request(0, null);
        }
        assertThat(here.busy()).hasSize(2);
        assertThat(there.busy()).hasSize(2);
    }

    @Test
    void should_wait_while_the_worker_of_the_session_is_full() {
        CharSequence id = sessionOf(there);
        for (int i = 0; i < 3; i++) {
            request(0, id);
        }
        assertThat(there.busy()).hasSize(3);
        request(0, id);
        request(1, id);
        assertThat(pool.queued()).isEqualTo(2);
        // It delays no request of another session, and no hedge of one.
        assertThat(pool.shard(0).takeExtraAttempt(ExtraAttempt.HEDGE)).isNotEqualTo(RetryDenial.QUEUED);
        request(0, null);
        here.serves().answer(ok());

        there.busy().get(0).answer(ok());
        pass(20);
        assertThat(there.busy()).hasSize(3);
        assertThat(pool.queued()).isEqualTo(1);
        assertThat(results()).containsExactly(SessionResult.NEW, SessionResult.NEW, SessionResult.KEPT);
    }

    /** In the queue, it would delay all other requests, and workers would be launched for it. */
    @Test
    void should_go_on_waiting_for_its_worker_when_its_body_ends() {
        CharSequence id = sessionOf(there);
        for (int i = 0; i < 3; i++) {
            request(0, id);
            request(0, null);
        }
        Exchange upload = open(0, id, false, new Client());
        assertThat(pool.queued()).isEqualTo(1);
        upload.data(Unpooled.EMPTY_BUFFER, true);
        assertThat(pool.pending()).isZero();
        there.busy().get(0).answer(ok());
        pass(20);
        assertThat(there.busy()).hasSize(3);
        assertThat(pool.queued()).isZero();
    }

    @Test
    void should_take_another_worker_when_it_has_waited_long_enough() {
        CharSequence id = sessionOf(there);
        for (int i = 0; i < 4; i++) {
            request(0, id);
        }
        pass(9_990);
        assertThat(here.busy()).isEmpty();
        pass(20);
        here.serves().answer(ok());
        turn();
        assertThat(results()).containsExactly(SessionResult.NEW, SessionResult.WORKER_FULL);
        assertThat(pool.queued()).isZero();
    }

    /** Nothing binds it to a worker that is replaced soon, too, where it would be closed again. */
    @Test
    void should_move_to_a_worker_that_stays_when_its_own_is_gone() {
        CharSequence id = sessionOf(there);
        Worker third = new Worker("third", 0);
        there.shard.workers().setOpen(there.member, false);
        for (Worker due : List.of(here, third)) {
            pool.openWorkers.setDue(Set.of(due.member.workerId()));
            Http2Headers head = new FlatHeaders()
                    .method("GET")
                    .scheme("http")
                    .authority("a")
                    .path("/");
            pool.shard(0).open(head.set("id", id).set("accept", "text/event-stream"), true, new Client());
            turn();
            assertThat(due.busy()).isEmpty();
            (due == here ? third : here).serves().answer(ok());
            turn();
        }
        assertThat(results()).containsExactly(SessionResult.NEW, SessionResult.WORKER_GONE, SessionResult.WORKER_GONE);
    }

    @Test
    void should_no_longer_wait_for_a_worker_that_drains() {
        CharSequence id = sessionOf(there);
        for (int i = 0; i < 4; i++) {
            request(0, id);
        }
        there.shard.workers().setOpen(there.member, false);
        pass(20);
        here.serves().answer(ok());
        turn();
        assertThat(results()).containsExactly(SessionResult.NEW, SessionResult.WORKER_GONE);
    }

    @Test
    void should_send_a_session_to_another_worker_when_its_own_drains() {
        CharSequence id = sessionOf(there);
        there.shard.workers().setOpen(there.member, false);
        request(1, id);
        here.serves().answer(ok());
        turn();
        assertThat(results()).containsExactly(SessionResult.NEW, SessionResult.WORKER_GONE);
    }

    /** The worker drains while the request is on its way to the worker's event loop. */
    @Test
    void should_find_another_worker_if_its_own_has_left_when_the_request_arrives() {
        CharSequence id = sessionOf(there);
        Http2Headers head =
                new FlatHeaders().method("GET").scheme("http").authority("a").path("/");
        pool.shard(0).open(head.set("id", id), true, new Client());
        there.shard.workers().setOpen(there.member, false);
        turn();
        here.serves().answer(ok());
        turn();
        assertThat(there.busy()).isEmpty();
        assertThat(results()).containsExactly(SessionResult.NEW, SessionResult.WORKER_GONE);
    }

    @Test
    void should_retry_on_another_worker_if_the_own_one_refuses() {
        CharSequence id = sessionOf(there);
        request(0, id);
        there.serves().refuse();
        turn();
        here.serves().answer(ok());
        turn();
        assertThat(results()).containsExactly(SessionResult.NEW, SessionResult.WORKER_GONE);
    }

    @Test
    void should_apply_other_options_to_later_requests() {
        CharSequence id = sessionOf(there);
        for (PoolShard shard : pool.shards()) {
            shard.setOptions(FunctionOptions.of("f"));
        }
        request(0, id);
        assertThat(Objects.requireNonNull(here.serves().head).get("id")).isEqualTo(id);
    }
}
