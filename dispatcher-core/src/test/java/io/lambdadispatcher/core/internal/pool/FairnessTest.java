package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The order of requests of several clients that are queued on two event loops. */
class FairnessTest extends OnTwoLoops {
    private final FunctionPool pool = new FunctionPool(
            FunctionOptions.builder("f").queue(1000, Duration.ofHours(1)).build(),
            eventLoops(),
            DispatcherObserver.NONE);
    private final PoolShard here = pool.shard(0);
    private final PoolShard there = pool.shard(1);

    /** Paths of the requests, in the order in which they received worker streams. */
    private final List<String> served = new ArrayList<>();

    /** Serves this number of requests, one in each turn. */
    private void serve(ScriptedStream stream, int requests) {
        for (int i = 0; i < requests; i++) {
            stream.answer();
            turn();
        }
    }

    private Exchange request(PoolShard shard, String client, String path) {
        Http2Headers head = new DefaultHttp2Headers()
                .method("GET")
                .scheme("http")
                .authority("a")
                .path(path);
        return shard.open(head, true, new SilentClient() {
            @Override
            public Requester requester() {
                return Requester.named(client);
            }
        });
    }

    @Test
    void should_serve_a_request_of_another_loop_before_those_that_came_100_ms_later() {
        ScriptedStream stream = ScriptedStream.ofNewWorker(there, served);
        request(there, "a", "/first");
        request(here, "a", "/old");
        for (int i = 0; i < 3; i++) {
            pass(100);
            request(there, "a", "/young" + i);
        }

        serve(stream, 4);

        assertThat(served).containsExactly("/first", "/old", "/young0", "/young1", "/young2");
        assertThat(pool.pending()).isZero();
    }

    @Test
    void should_serve_clients_in_turn_and_the_requests_of_each_in_the_order_of_arrival() {
        ScriptedStream stream = ScriptedStream.ofNewWorker(here, served);
        request(here, "a", "/first");
        for (int i = 0; i < 4; i++) {
            request(here, "a", "/a" + i);
        }
        request(here, "b", "/b0");
        request(here, "b", "/b1");

        serve(stream, 7);

        assertThat(served).containsExactly("/first", "/a0", "/b0", "/a1", "/b1", "/a2", "/a3");
    }

    @Test
    void should_not_let_a_flood_on_one_loop_starve_a_client_of_another() {
        ScriptedStream stream = ScriptedStream.ofNewWorker(there, served);
        request(there, "flood", "/first");
        for (int i = 0; i < 100; i++) {
            request(there, "flood", "/flood" + i);
        }
        pass(1000);
        serve(stream, 10);
        request(here, "polite", "/polite");
        pass(20);

        serve(stream, 3);

        assertThat(served.indexOf("/polite")).isBetween(11, 13);
    }

    /**
     * The request of the stalled loop has precedence, but the loop does not run to take the worker
     * stream.
     */
    @Test
    void should_not_wait_for_an_event_loop_that_is_stalled() {
        ScriptedStream stream = ScriptedStream.ofNewWorker(here, served);
        request(here, "a", "/first");
        request(there, "a", "/stalled");
        pass(100);
        request(here, "a", "/waits");
        Attempt first = Objects.requireNonNull(stream.attempt);
        first.onHead(new DefaultHttp2Headers().status("200"), true);
        here.workers().onStreamFree(stream.worker, stream);
        loops[0].advanceTimeBy(30, TimeUnit.MILLISECONDS);
        loops[0].runPendingTasks();
        assertThat(served).containsExactly("/first");
        loops[0].advanceTimeBy(30, TimeUnit.MILLISECONDS);
        loops[0].runPendingTasks();
        assertThat(served).containsExactly("/first", "/waits");

        turn();
        serve(stream, 1);

        assertThat(served).containsExactly("/first", "/waits", "/stalled");
    }

    @Test
    void should_give_no_credit_for_time_without_requests() {
        ScriptedStream stream = ScriptedStream.ofNewWorker(here, served);
        request(here, "a", "/first");
        for (int i = 0; i < 6; i++) {
            request(here, "a", "/a" + i);
        }
        serve(stream, 4);
        for (int i = 0; i < 6; i++) {
            request(here, "late", "/late" + i);
        }

        serve(stream, 5);

        assertThat(served.subList(5, 10)).containsExactly("/a4", "/late0", "/a5", "/late1", "/late2");
    }

    @Test
    void should_not_let_a_new_request_overtake_those_of_other_loops() {
        ScriptedStream stream = ScriptedStream.ofNewWorker(there, served);
        request(there, "a", "/first");
        request(here, "a", "/old");
        pass(100);
        there.workers().onStreamFree(stream.worker, stream);
        request(there, "a", "/young");
        turn();

        assertThat(served).containsExactly("/first", "/old");
    }

    @Test
    void should_forget_clients_of_which_nothing_waits() {
        ScriptedStream stream = ScriptedStream.ofNewWorker(here, served);
        Exchange first = request(here, "a", "/first");
        Exchange waiting = request(here, "b", "/b");
        assertThat(pool.shares.size()).isEqualTo(1);

        waiting.cancel(ErrorCode.CANCELLED);
        first.cancel(ErrorCode.CANCELLED);

        assertThat(pool.shares.size()).isZero();
        assertThat(stream.worker.busy).isEqualTo(1);
    }
}
