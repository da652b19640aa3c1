package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.Demand;
import io.lambdadispatcher.core.internal.capacity.Demand.WorkerDemand;
import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.policy.WorkerHealth.Verdict;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.DefaultEventLoop;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A pool over two event loops that the test runs step by step. Worker streams and clients record
 * their calls.
 */
class PoolTest extends OnTwoLoops {
    private static final Failure GONE = new Failure(Failure.Kind.WORKER_LOST, "gone");

    private final FunctionPool pool = new FunctionPool(
            FunctionOptions.builder("f")
                    .queue(3, Duration.ofMillis(100))
                    .workerTimeout(Duration.ofSeconds(1))
                    .build(),
            eventLoops(),
            DispatcherObserver.NONE);
    private final PoolShard here = pool.shard(0);
    private final PoolShard there = pool.shard(1);

    /** A worker connection with one stream. */
    private static final class Stream implements Carrier, RequestSink {
        final PoolShard shard;
        final PooledConnection member;
        final List<String> log = new ArrayList<>();

        @Nullable
        Attempt attempt;

        Stream(PoolShard shard) {
            this(shard, new PooledConnection("worker"));
        }

        Stream(PoolShard shard, PooledConnection member) {
            this.shard = shard;
            this.member = member;
            shard.workers().onMember(member);
            shard.workers().onStreamOpened(member, this);
            shard.workers().setOpen(member, true);
        }

        @Override
        public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt forAttempt) {
            assertThat(attempt).isNull();
            attempt = forAttempt;
            log.add(head.path() + (end ? " end" : ""));
            return this;
        }

        Attempt attempt() {
            Attempt current = attempt;
            if (current == null) {
                throw new AssertionError("carries nothing");
            }
            return current;
        }

        void respond() {
            Attempt current = attempt();
            attempt = null;
            current.onHead(new DefaultHttp2Headers().status("200"), true);
            member.onExchangeEnd(false);
            shard.workers().onStreamFree(member, this);
        }

        /**
         * Frees the stream, as after a cancelled exchange whose cancellation the worker has
         * acknowledged.
         */
        void free() {
            attempt = null;
            shard.workers().onStreamFree(member, this);
        }

        void refuse() {
            Attempt current = attempt();
            attempt = null;
            member.onRefused();
            current.onRefused(GONE);
            shard.workers().onStreamFree(member, this);
        }

        void lose() {
            Attempt current = attempt();
            attempt = null;
            shard.workers().setOpen(member, false);
            shard.workers().onStreamClosed(member, this, false);
            current.onLost(GONE);
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            log.add("data " + data.readableBytes() + (end ? " end" : ""));
            data.release();
        }

        @Override
        public void trailers(Http2Headers trailers) {
            log.add("trailers");
        }

        @Override
        public void cancel(ErrorCode code) {
            log.add("cancel " + code);
        }

        @Override
        public void responseTaken(int bytes) {
            log.add("taken " + bytes);
        }

        @Override
        public String workerId() {
            return member.workerId();
        }
    }

    private static final class Client implements ResponseSink {
        final List<String> log = new ArrayList<>();
        String detail = "";

        @Override
        public void onInterim(Http2Headers head) {
            log.add("interim");
        }

        @Override
        public void onHead(Http2Headers head, boolean end) {
            log.add(head.status() + (end ? " end" : ""));
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            log.add("data " + data.readableBytes());
            data.release();
        }

        @Override
        public void onTrailers(Http2Headers trailers) {
            log.add("trailers");
        }

        @Override
        public void onFailure(Failure failure) {
            log.add(failure.kind().name());
            detail = failure.detail();
        }

        @Override
        public void onRequestTaken(int bytes) {}
    }

    private static Http2Headers head(String method, String path) {
        return new DefaultHttp2Headers()
                .method(method)
                .scheme("http")
                .authority("a")
                .path(path);
    }

    private Exchange get(Client client, String path) {
        return here.open(head("GET", path), true, client);
    }

    private void assertQuiet() {
        assertThat(pool.pending()).isZero();
        assertThat(pool.free()).isEqualTo(pool.streams());
    }

    @Test
    void should_stay_on_its_own_loop_where_a_stream_is_free() {
        Stream away = new Stream(there);
        Stream home = new Stream(here);
        Client client = new Client();
        get(client, "/a");
        assertThat(home.log).containsExactly("/a end");
        assertThat(away.log).isEmpty();
        home.respond();
        assertThat(client.log).containsExactly("200 end");
        assertQuiet();
    }

    @Test
    void should_cross_to_another_loop_with_its_body_in_order() {
        Stream away = new Stream(there);
        Client client = new Client();
        Exchange exchange = here.open(head("POST", "/a"), false, client);
        exchange.data(Unpooled.wrappedBuffer(new byte[3]), false);
        turn();
        exchange.data(Unpooled.wrappedBuffer(new byte[4]), true);
        turn();
        assertThat(away.log).containsExactly("/a", "data 3", "data 4 end");
        away.respond();
        turn();
        assertThat(client.log).containsExactly("200 end");
        assertQuiet();
    }

    @Test
    void should_wait_again_when_the_stream_it_crossed_for_has_gone() {
        Stream vanishing = new Stream(there);
        Client client = new Client();
        get(client, "/a");
        there.workers().setOpen(vanishing.member, false);
        turn();
        assertThat(vanishing.log).isEmpty();
        assertThat(pool.pending()).isEqualTo(1);
        Stream late = new Stream(here);
        assertThat(late.log).containsExactly("/a end");
        late.respond();
        assertThat(client.log).containsExactly("200 end");
        assertThat(here.free.permits()).isEqualTo(1);
        assertThat(there.free.permits()).isZero();
    }

    @Test
    void should_cancel_a_request_that_is_still_crossing() {
        Stream away = new Stream(there);
        Client client = new Client();
        Exchange exchange = get(client, "/a");
        exchange.cancel(ErrorCode.CANCELLED);
        turn();
        assertThat(away.log).containsExactly("/a end", "cancel CANCELLED");
        assertThat(client.log).isEmpty();
    }

    @Test
    void should_serve_waiting_requests_in_order_and_refuse_one_too_many() {
        Client[] clients = {new Client(), new Client(), new Client(), new Client()};
        for (int i = 0; i < 4; i++) {
            get(clients[i], "/" + i);
        }
        assertThat(clients[3].log).containsExactly("QUEUE_FULL");
        Stream stream = new Stream(here);
        for (int i = 0; i < 3; i++) {
            assertThat(stream.log).hasSize(i + 1).endsWith("/" + i + " end");
            stream.respond();
        }
        assertQuiet();
    }

    @Test
    void should_serve_requests_that_wait_on_another_loop() {
        Client client = new Client();
        get(client, "/a");
        Stream away = new Stream(there);
        turn();
        assertThat(away.log).containsExactly("/a end");
        away.respond();
        turn();
        assertThat(client.log).containsExactly("200 end");
        assertQuiet();
    }

    @Test
    void should_answer_for_a_request_that_has_waited_too_long() {
        Client client = new Client();
        get(client, "/a");
        pass(99);
        assertThat(client.log).isEmpty();
        pass(1);
        assertThat(client.log).containsExactly("QUEUE_TIMEOUT");
        assertThat(client.detail).isEqualTo("no worker connected for function f within 100 ms");
        assertQuiet();
    }

    @Test
    void should_forget_a_waiting_request_whose_client_left() {
        Client client = new Client();
        Exchange exchange = here.open(head("POST", "/a"), false, client);
        ByteBuf early = Unpooled.wrappedBuffer(new byte[3]);
        exchange.data(early, false);
        exchange.cancel(ErrorCode.CANCELLED);
        assertThat(early.refCnt()).isZero();
        Stream stream = new Stream(here);
        assertThat(stream.log).isEmpty();
        assertQuiet();
    }

    @Test
    void should_try_a_safe_request_once_more_when_its_worker_is_lost_before_the_head() {
        Stream first = new Stream(here);
        Client client = new Client();
        get(client, "/a");
        first.lose();
        assertThat(client.log).isEmpty();
        Stream second = new Stream(here);
        assertThat(second.log).containsExactly("/a end");
        second.lose();
        assertThat(client.log).containsExactly("WORKER_LOST");
        assertQuiet();
    }

    @Test
    void should_not_try_again_what_is_not_idempotent_or_has_a_head() {
        Stream stream = new Stream(here);
        Client post = new Client();
        here.open(head("POST", "/a"), true, post);
        stream.lose();
        assertThat(post.log).containsExactly("WORKER_LOST");

        Stream second = new Stream(here);
        Client upload = new Client();
        here.open(head("POST", "/a"), false, upload).data(Unpooled.wrappedBuffer(new byte[3]), true);
        second.lose();
        assertThat(upload.log).containsExactly("WORKER_LOST");

        Stream third = new Stream(here);
        Client get = new Client();
        get(get, "/a");
        third.attempt().onHead(new DefaultHttp2Headers().status("200"), false);
        third.lose();
        assertThat(get.log).containsExactly("200", "WORKER_LOST");
        assertQuiet();
    }

    @Test
    void should_try_again_what_a_worker_has_refused_whatever_its_method() {
        Stream first = new Stream(here);
        Client client = new Client();
        here.open(head("POST", "/a"), true, client);
        Attempt attempt = first.attempt();
        first.attempt = null;
        there.workers().setOpen(new Stream(there).member, true);
        attempt.onRefused(GONE);
        here.workers().onStreamFree(first.member, first);
        turn();
        assertThat(client.log).isEmpty();
        assertThat(pool.pending()).isZero();
    }

    /** The queue timeout is 100 ms here. An attempt may take longer. */
    @Test
    void should_let_a_retry_wait_as_long_as_a_new_request() {
        Stream first = new Stream(here);
        Client client = new Client();
        get(client, "/a");
        pass(150);
        first.lose();
        pass(99);
        assertThat(client.log).isEmpty();
        assertThat(pool.pending()).isEqualTo(1);

        Stream second = new Stream(here);
        assertThat(second.log).containsExactly("/a end");
        second.respond();
        assertThat(client.log).containsExactly("200 end");
    }

    @Test
    void should_not_let_a_retry_wait_for_longer_than_a_new_request() {
        Stream first = new Stream(here);
        Client client = new Client();
        get(client, "/a");
        pass(150);
        first.lose();
        pass(100);
        assertThat(client.log).containsExactly("QUEUE_TIMEOUT");
        assertQuiet();
    }

    @Test
    void should_send_a_retry_to_another_worker_though_that_is_busier() {
        Stream lost = new Stream(here, new PooledConnection("previous"));
        get(new Client(), "/a");
        PooledConnection another = new PooledConnection("another");
        new Stream(here, another);
        new Stream(here, another);
        get(new Client(), "/b");
        get(new Client(), "/c");
        Stream idle = new Stream(here, lost.member);
        Stream other = new Stream(here, another);

        Attempt attempt = lost.attempt();
        here.workers().onStreamClosed(lost.member, lost, false);
        attempt.onLost(GONE);

        assertThat(other.log).containsExactly("/a end");
        assertThat(idle.log).isEmpty();
    }

    /** When the last worker has left, the dispatcher may close before its exchanges are told. */
    @Test
    void should_not_queue_a_lost_request_again_when_no_worker_comes_any_more() {
        Stream stream = new Stream(here);
        Client client = new Client();
        get(client, "/a");
        assertThat(here.failQueued(new Failure(Failure.Kind.SHUTTING_DOWN, "test")))
                .isFalse();
        Attempt attempt = stream.attempt();
        here.workers().onStreamClosed(stream.member, stream, false);
        attempt.onLost(GONE);
        assertThat(client.log).containsExactly("SHUTTING_DOWN");
        assertThat(pool.pending()).isZero();
        assertThat(here.isQuiet()).isTrue();
    }

    @Test
    void should_send_a_retry_to_another_worker_of_another_loop() {
        PooledConnection previous = new PooledConnection("previous");
        new Stream(here, previous);
        Stream first = new Stream(here, previous);
        Stream other = new Stream(there, new PooledConnection("another"));
        get(new Client(), "/a");

        first.refuse();
        turn();

        assertThat(other.log).containsExactly("/a end");
        other.respond();
        turn();
        assertQuiet();
    }

    @Test
    void should_send_a_retry_to_the_same_worker_if_there_is_no_other() {
        Stream second = new Stream(here, new PooledConnection("only"));
        Stream first = new Stream(here, second.member);
        Stream away = new Stream(there, new PooledConnection("only"));
        Client client = new Client();
        get(client, "/a");

        first.refuse();
        turn();

        assertThat(away.log).isEmpty();
        Stream served = second.attempt == null ? first : second;
        served.respond();
        turn();
        assertThat(client.log).containsExactly("200 end");
        assertQuiet();
        assertThat(there.free.permits()).isEqualTo(1);
    }

    @Test
    void should_choose_others_before_a_worker_that_refuses_everything() {
        PooledConnection refusing = new PooledConnection("refusing");
        PooledConnection serving = new PooledConnection("serving");
        Stream hole = new Stream(here, refusing);
        new Stream(here, refusing);
        List<Stream> good = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            good.add(new Stream(here, serving));
        }
        int refused = 0;
        for (int i = 0; i < 6; i++) {
            get(new Client(), "/" + i);
            if (hole.attempt != null) {
                hole.refuse();
                refused++;
            }
        }
        assertThat(refused).isEqualTo(1);
        assertThat(good).filteredOn(stream -> stream.attempt != null).hasSize(5);
        assertThat(refusing.sample().failed()).isEqualTo(refused).isPositive();
    }

    @Test
    void should_forgive_a_worker_its_refusals_when_it_serves_again() {
        PooledConnection worker = new PooledConnection("w");
        Stream stream = new Stream(here, worker);
        for (int i = 0; i < 3; i++) {
            here.open(head("POST", "/a"), true, new Client());
            stream.refuse();
            stream.respond();
        }
        assertThat(worker.isDoubted(here.nanoTime())).isFalse();
        assertThat(worker.sample().failed()).isEqualTo(3);
    }

    /** The request and the worker's DRAIN or NOT READY message crossed on the way. */
    @Test
    void should_not_blame_a_worker_for_refusing_when_it_takes_no_requests() {
        PooledConnection worker = new PooledConnection("w");
        Stream stream = new Stream(here, worker);
        get(new Client(), "/a");
        here.workers().setOpen(worker, false);
        stream.refuse();
        assertThat(worker.sample().failed()).isZero();
        assertThat(worker.isDoubted(here.nanoTime())).isFalse();
    }

    @Test
    void should_stop_trying_again_when_the_budget_is_used_up() {
        int lost = 0;
        for (int i = 0; i < 40; i++) {
            Stream first = new Stream(here);
            Client client = new Client();
            get(client, "/a");
            first.lose();
            if (client.log.contains("WORKER_LOST")) {
                lost++;
            } else {
                new Stream(here).lose();
            }
        }
        assertThat(lost).isGreaterThan(15);
    }

    @Test
    void should_cancel_and_answer_when_the_response_takes_too_long() {
        Stream stream = new Stream(here);
        Client client = new Client();
        get(client, "/a");
        pass(1000);
        assertThat(stream.log).containsExactly("/a end", "cancel TIMEOUT");
        assertThat(client.log).containsExactly("TIMEOUT");
    }

    /**
     * The request timeout covers all attempts: clients rely on it, and the worker is told the time
     * that is left.
     */
    @Test
    void should_count_the_time_of_the_first_attempt_on_the_second() {
        Stream first = new Stream(here);
        Client client = new Client();
        get(client, "/a");
        pass(500);
        Stream other = new Stream(here);
        Client younger = new Client();
        get(younger, "/b");
        pass(200);
        Stream second = new Stream(here);
        first.lose();
        assertThat(second.log).containsExactly("/a end");
        pass(299);
        assertThat(client.log).isEmpty();
        pass(1);
        assertThat(client.log).containsExactly("TIMEOUT");
        assertThat(second.log).containsExactly("/a end", "cancel TIMEOUT");
        assertThat(younger.log).isEmpty();
        pass(500);
        assertThat(younger.log).containsExactly("TIMEOUT");
        assertThat(other.log).containsExactly("/b end", "cancel TIMEOUT");
    }

    @Test
    void should_drop_data_of_a_response_nobody_waits_for() {
        Stream stream = new Stream(here);
        Client client = new Client();
        Exchange exchange = get(client, "/a");
        Attempt attempt = stream.attempt();
        exchange.cancel(ErrorCode.CANCELLED);
        ByteBuf late = Unpooled.wrappedBuffer(new byte[5]);
        attempt.onData(late, false);
        assertThat(late.refCnt()).isZero();
        assertThat(stream.log).containsExactly("/a end", "cancel CANCELLED");
    }

    @Test
    void should_count_permits_right_when_members_close_open_and_lose_streams() {
        Stream a = new Stream(here);
        Stream b = new Stream(here);
        here.workers().setOpen(a.member, false);
        assertThat(here.free.permits()).isEqualTo(1);
        here.workers().setOpen(a.member, true);
        assertThat(here.free.permits()).isEqualTo(2);
        here.workers().onStreamClosed(b.member, b, true);
        assertThat(here.free.permits()).isEqualTo(1);
        get(new Client(), "/a");
        here.workers().setOpen(a.member, false);
        assertThat(here.free.permits()).isZero();
        assertThat(pool.streams()).isEqualTo(1);
    }

    @Test
    void should_send_requests_of_one_turn_to_one_worker_while_it_is_less_than_its_batch_ahead() {
        Stream[][] streams = new Stream[2][4];
        for (int worker = 0; worker < 2; worker++) {
            PooledConnection member = new PooledConnection("worker-" + worker);
            for (int i = 0; i < 4; i++) {
                streams[worker][i] = new Stream(here, member);
            }
            member.onRequestCpu(100);
        }
        List<Integer> counts = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            get(new Client(), "/" + i);
            counts.add(busy(streams[0]) - busy(streams[1]));
        }
        assertThat(counts).containsExactly(1, 2, 1, 0, -1, -2, -1, 0);
    }

    @Test
    void should_send_requests_of_different_turns_to_the_least_busy_worker() {
        Stream first = new Stream(here, new PooledConnection("first"));
        Stream more = new Stream(here, first.member);
        Stream second = new Stream(here, new PooledConnection("second"));
        first.member.onRequestCpu(1);
        second.member.onRequestCpu(1);
        get(new Client(), "/a");
        pass(1);
        get(new Client(), "/b");
        assertThat(busy(first, more)).isEqualTo(1);
        assertThat(busy(second)).isEqualTo(1);
    }

    @Test
    void should_spread_the_requests_of_one_turn_over_workers_that_compute_or_do_not_report() {
        for (int micros : new int[] {251, 5_000, 0}) {
            Stream first = new Stream(here, new PooledConnection("first"));
            Stream more = new Stream(here, first.member);
            Stream second = new Stream(here, new PooledConnection("second"));
            first.member.onRequestCpu(micros);
            second.member.onRequestCpu(micros);
            get(new Client(), "/a");
            get(new Client(), "/b");
            assertThat(busy(first, more)).as("%d µs", micros).isEqualTo(1);
            assertThat(busy(second)).as("%d µs", micros).isEqualTo(1);
            here.workers().onMemberGone(first.member);
            here.workers().onMemberGone(second.member);
        }
    }

    @Test
    void should_not_send_more_requests_of_a_turn_to_a_worker_that_has_closed_or_refuses() {
        for (boolean refuse : new boolean[] {true, false}) {
            Stream first = new Stream(here, new PooledConnection("first"));
            Stream more = new Stream(here, first.member);
            Stream second = new Stream(here, new PooledConnection("second"));
            first.member.onRequestCpu(1);
            get(new Client(), "/a");
            Stream taken = busy(first) == 1 ? first : more;
            if (refuse) {
                taken.refuse();
            } else {
                here.workers().setOpen(first.member, false);
            }
            get(new Client(), "/b");
            assertThat(second.attempt).isNotNull();
            here.workers().onMemberGone(first.member);
            here.workers().onMemberGone(second.member);
        }
    }

    private static int busy(Stream... streams) {
        return (int) Arrays.stream(streams).filter(one -> one.attempt != null).count();
    }

    @Test
    void should_give_a_worker_no_more_than_its_limit_and_the_rest_when_it_rises() {
        Stream first = new Stream(here);
        Stream second = new Stream(here, first.member);
        pool.limit("worker", 1);
        turn();
        Client[] clients = {new Client(), new Client()};
        get(clients[0], "/0");
        get(clients[1], "/1");
        assertThat(first.log.size() + second.log.size()).isEqualTo(1);
        assertThat(pool.pending()).isEqualTo(1);

        pool.limit("worker", 2);
        turn();
        assertThat(first.log.size() + second.log.size()).isEqualTo(2);
        first.respond();
        second.respond();
        assertQuiet();
    }

    /** A base worker may open fewer connections than the function permits. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 4})
    void should_divide_a_limit_by_the_connections_that_the_worker_has(int connections) {
        FunctionPool many = new FunctionPool(
                FunctionOptions.builder("f").connectionsPerWorker(4).build(),
                List.of(loops[0].eventLoop()),
                DispatcherObserver.NONE);
        PoolShard shard = many.shard(0);
        for (int i = 0; i < connections; i++) {
            PooledConnection member = new PooledConnection("worker");
            for (int j = 0; j < 12 / connections; j++) {
                new Stream(shard, member);
            }
        }
        many.limit("worker", 8);
        turn();
        for (int i = 0; i < 12; i++) {
            shard.open(head("GET", "/a"), true, new Client());
        }
        assertThat(many.pending()).isEqualTo(4);
    }

    @Test
    void should_give_the_next_request_to_a_worker_at_its_limit_when_its_busy_stream_closes() {
        Stream first = new Stream(here);
        Stream second = new Stream(here, first.member);
        pool.limit("worker", 1);
        turn();
        here.open(head("POST", "/a"), true, new Client());
        get(new Client(), "/b");
        assertThat(second.log).containsExactly("/a end");
        assertThat(first.log).isEmpty();

        Attempt attempt = second.attempt();
        here.workers().onStreamClosed(second.member, second, false);
        attempt.onLost(GONE);
        assertThat(first.log).containsExactly("/b end");
    }

    @Test
    void should_give_nothing_to_a_worker_that_is_put_aside_and_count_its_permits_right_afterwards() {
        Stream stream = new Stream(here);
        Client client = new Client();
        get(client, "/a");
        pool.limit("worker", 0);
        turn();
        stream.respond();
        get(client, "/b");
        assertThat(stream.log).containsExactly("/a end");
        assertThat(here.free.permits()).isZero();

        pool.limit("worker", 5);
        turn();
        assertThat(stream.log).containsExactly("/a end", "/b end");
        stream.respond();
        assertQuiet();
    }

    @Test
    void should_tell_what_has_been_on_all_loops() {
        Stream home = new Stream(here);
        get(new Client(), "/a");
        get(new Client(), "/b");
        pass(50);
        home.respond();
        CompletableFuture<Demand> sampled = pool.sample(true).toCompletableFuture();
        turn();

        Demand demand = sampled.join();
        assertThat(demand.arrived()).isEqualTo(2);
        assertThat(demand.completed()).isEqualTo(1);
        assertThat(demand.serviceNanos()).isEqualTo(TimeUnit.MILLISECONDS.toNanos(50));
        assertThat(demand.busy()).isEqualTo(1);
        assertThat(demand.pending()).isZero();
        assertThat(demand.serviceTimes().count()).isEqualTo(1);
        assertThat(demand.workers()).extracting(WorkerDemand::busy).containsExactly(1);
    }

    /**
     * Otherwise, a client that never ends a body would increase the mean service time, and workers
     * would be launched for it.
     */
    @Test
    void should_not_count_the_time_of_a_client_that_leaves_before_its_body_or_the_response_is_whole() {
        Stream stream = new Stream(here);
        Exchange halfOpen = here.open(head("POST", "/a"), false, new Client());
        pass(500);
        halfOpen.cancel(ErrorCode.CANCELLED);
        stream.free();

        Exchange slowReader = here.open(head("GET", "/b"), true, new Client());
        stream.attempt().onHead(new DefaultHttp2Headers().status("200"), false);
        stream.attempt().onData(Unpooled.wrappedBuffer(new byte[4]), false);
        pass(500);
        slowReader.cancel(ErrorCode.CANCELLED);
        stream.free();

        Exchange dropped = here.open(head("GET", "/b"), true, new Client());
        stream.attempt().onHead(new DefaultHttp2Headers().status("200"), false);
        stream.attempt().onData(Unpooled.wrappedBuffer(new byte[4]), false);
        pass(500);
        dropped.responseTaken(4);
        dropped.cancel(ErrorCode.CANCELLED);
        stream.free();
        assertThat(here.sample(false).completed()).isZero();
        assertThat(here.sample(false).serviceNanos()).isZero();

        Exchange impatient = here.open(head("GET", "/c"), true, new Client());
        pass(500);
        impatient.cancel(ErrorCode.CANCELLED);
        stream.free();
        assertThat(here.sample(false).completed()).isOne();
        assertThat(here.sample(false).serviceNanos()).isEqualTo(TimeUnit.MILLISECONDS.toNanos(500));
        assertQuiet();
    }

    @Test
    void should_tell_when_requests_begin_to_wait() {
        AtomicInteger told = new AtomicInteger();
        pool.onShortage(told::incrementAndGet);
        Stream stream = new Stream(here);
        get(new Client(), "/a");
        assertThat(told).hasValue(0);
        get(new Client(), "/b");
        assertThat(told).hasValue(1);
        stream.respond();
        stream.respond();
    }

    @Test
    void should_fail_whatever_has_not_ended() {
        Client[] clients = {new Client(), new Client(), new Client(), new Client()};
        Stream first = new Stream(here);
        here.open(head("CONNECT", "/tunnel"), false, clients[0]);
        first.attempt().onHead(new DefaultHttp2Headers().status("200"), false);
        Stream second = new Stream(here);
        get(clients[1], "/carried");
        Stream away = new Stream(there);
        get(clients[2], "/crossing");
        get(clients[3], "/waiting");
        assertThat(second.log).containsExactly("/carried end");
        assertThat(pool.pending()).isEqualTo(1);

        here.failAll(new Failure(Failure.Kind.SHUTTING_DOWN, "test"));
        turn();

        assertThat(clients[0].log).containsExactly("200", "SHUTTING_DOWN");
        assertThat(clients[1].log).containsExactly("SHUTTING_DOWN");
        assertThat(clients[2].log).containsExactly("SHUTTING_DOWN");
        assertThat(clients[3].log).containsExactly("SHUTTING_DOWN");
        assertThat(first.log).containsExactly("/tunnel", "cancel CANCELLED");
        assertThat(second.log).containsExactly("/carried end", "cancel CANCELLED");
        assertThat(away.log).containsExactly("/crossing end", "cancel CANCELLED");
        // It has waited elsewhere, for example for the response to an identical request.
        Client late = new Client();
        get(late, "/late");
        assertThat(late.log).containsExactly("SHUTTING_DOWN");
        assertThat(pool.pending()).isZero();
        assertThat(here.sample(false).busy()).isZero();
    }

    /** The request's timeout is one second here. */
    @Test
    void should_let_an_open_tunnel_be_however_old_it_is() {
        for (PoolShard shard : new PoolShard[] {here, there}) {
            Stream stream = new Stream(shard);
            Client client = new Client();
            Exchange exchange = here.open(head("CONNECT", "/a"), false, client);
            turn();
            pass(500);
            stream.attempt().onHead(new DefaultHttp2Headers().status("200"), false);
            turn();
            assertThat(here.sample(false).completed()).isPositive();
            long served = here.sample(false).serviceNanos();
            pass(3_600_000);
            assertThat(here.sample(false).busy()).isEqualTo(1);
            exchange.data(Unpooled.wrappedBuffer(new byte[3]), false);
            stream.attempt().onData(Unpooled.wrappedBuffer(new byte[4]), true);
            turn();
            exchange.data(Unpooled.wrappedBuffer(new byte[5]), true);
            turn();
            assertThat(stream.log).containsExactly("/a", "data 3", "data 5 end");
            assertThat(client.log).containsExactly("200", "data 4");
            assertThat(here.sample(false).busy()).isZero();
            assertThat(here.sample(false).serviceNanos()).isEqualTo(served);
            shard.workers().onMemberGone(stream.member);
        }
    }

    @Test
    void should_time_a_tunnel_out_that_does_not_open() {
        Stream stream = new Stream(here);
        Client client = new Client();
        here.open(head("CONNECT", "/a"), false, client);
        pass(1000);
        assertThat(client.log).containsExactly("TIMEOUT");
        assertThat(stream.log).containsExactly("/a", "cancel TIMEOUT");
    }

    /**
     * Calls for a request that has ended must not reach the stream, because it may already carry
     * the next request.
     */
    @Test
    void should_end_a_crossed_tunnel_with_its_second_half() {
        Stream away = new Stream(there);
        Client client = new Client();
        Exchange exchange = here.open(head("CONNECT", "/a"), false, client);
        turn();
        away.attempt().onHead(new DefaultHttp2Headers().status("200"), true);
        exchange.data(Unpooled.wrappedBuffer(new byte[1]), false);
        turn();
        exchange.data(Unpooled.wrappedBuffer(new byte[2]), true);
        exchange.cancel(ErrorCode.CANCELLED);
        turn();
        assertThat(away.log).containsExactly("/a", "data 1", "data 2 end");
        assertThat(client.log).containsExactly("200 end");
    }

    /** The stream may serve another client by then. */
    @Test
    void should_leave_the_stream_of_a_crossed_tunnel_that_was_not_opened_alone() {
        Stream away = new Stream(there);
        Client client = new Client();
        Exchange exchange = here.open(head("CONNECT", "/a"), false, client);
        turn();
        away.attempt().onHead(new DefaultHttp2Headers().status("200").set(TunnelHead.NOT_SWITCHED, ""), true);
        exchange.data(Unpooled.wrappedBuffer(new byte[1]), false);
        exchange.cancel(ErrorCode.CANCELLED);
        turn();
        assertThat(away.log).containsExactly("/a");
    }

    /** An embedding program may shut down its event loops before it closes the dispatcher. */
    @Test
    void should_fail_what_crosses_to_an_event_loop_that_has_ended() {
        DefaultEventLoop ending = new DefaultEventLoop();
        FunctionPool twoLoops = new FunctionPool(
                FunctionOptions.of("f"), List.of(loops[0].eventLoop(), ending), DispatcherObserver.NONE);
        ending.submit(() -> {
                    new Stream(twoLoops.shard(1));
                    new Stream(twoLoops.shard(1));
                })
                .syncUninterruptibly();
        Client carried = new Client();
        Exchange exchange = twoLoops.shard(0).open(head("PUT", "/carried"), false, carried);
        ending.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();
        turn();

        ByteBuf body = Unpooled.wrappedBuffer(new byte[3]);
        exchange.data(body, false);
        exchange.cancel(ErrorCode.CANCELLED);
        Client late = new Client();
        twoLoops.shard(0).open(head("GET", "/late"), true, late);

        assertThat(body.refCnt()).isZero();
        assertThat(carried.log).containsExactly("SHUTTING_DOWN");
        assertThat(late.log).containsExactly("SHUTTING_DOWN");
    }

    /** Otherwise, the timer of the function's capacity would end, too. */
    @Test
    void should_sample_and_limit_the_workers_of_the_event_loops_that_are_left() {
        DefaultEventLoop ending = new DefaultEventLoop();
        FunctionPool twoLoops = new FunctionPool(
                FunctionOptions.of("f"), List.of(ending, loops[0].eventLoop()), DispatcherObserver.NONE);
        Stream left = new Stream(twoLoops.shard(1));
        Stream other = new Stream(twoLoops.shard(1), left.member);
        ending.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();

        twoLoops.limit("worker", 1);
        turn();
        twoLoops.shard(1).open(head("GET", "/a"), true, new Client());
        twoLoops.shard(1).open(head("GET", "/b"), true, new Client());
        CompletableFuture<Demand> sampled = twoLoops.sample(true).toCompletableFuture();
        turn();

        assertThat(left.log.size() + other.log.size()).isEqualTo(1);
        assertThat(sampled)
                .isCompletedWithValueMatching(demand -> demand.arrived() == 2)
                .isCompletedWithValueMatching(demand -> demand.pending() == 1);
    }

    /** An ejected worker serves probes only, on whichever connection. */
    @Test
    void should_not_serve_on_a_later_connection_of_an_ejected_worker() {
        Stream first = new Stream(here, new PooledConnection("w0"));
        List<Stream> others = new ArrayList<>();
        for (int i = 1; i < 6; i++) {
            others.add(new Stream(here, new PooledConnection("w" + i)));
        }
        assertThat(pool.openWorkers.beginEjection(first.member, "for the test")).isTrue();
        here.workers().ejector.eject("w0", "for the test");
        Stream later = new Stream(here, new PooledConnection("w0"));
        turn();
        for (int i = 0; i < 7; i++) {
            get(new Client(), "/" + i);
        }
        assertThat(others).allMatch(each -> each.attempt != null);
        assertThat(first.log).as("on the first connection").isEmpty();
        assertThat(later.log).as("on the later connection").isEmpty();
    }

    /** Otherwise, the worker would never serve again. */
    @Test
    void should_probe_an_ejected_worker_again_that_was_busy_with_other_dispatchers() {
        Stream ejected = new Stream(here, new PooledConnection("w0"));
        assertThat(pool.openWorkers.beginEjection(ejected.member, "for the test"))
                .isTrue();
        here.workers().ejector.eject("w0", "for the test");
        Stream other = new Stream(here, new PooledConnection("w1"));
        get(new Client(), "/other");
        assertThat(other.log).containsExactly("/other end");

        here.workers().ejector.onVerdict(ejected.member, Verdict.PROBE_AGAIN);
        get(new Client(), "/probe");
        assertThat(ejected.log).containsExactly("/probe end");
        Attempt probe = ejected.attempt();
        ejected.attempt = null;
        here.workers().onBusy(ejected.member);
        probe.onBusy(GONE);
        here.workers().onStreamFree(ejected.member, ejected);
        pass(10);
        assertThat(ejected.log).containsExactly("/probe end", "/probe end");
    }

    @Test
    void should_cancel_what_has_crossed_from_an_event_loop_that_has_ended() {
        DefaultEventLoop ending = new DefaultEventLoop();
        FunctionPool twoLoops = new FunctionPool(
                FunctionOptions.of("f"), List.of(ending, loops[0].eventLoop()), DispatcherObserver.NONE);
        Stream away = new Stream(twoLoops.shard(1));
        ending.submit(() -> twoLoops.shard(0).open(head("GET", "/a"), true, new Client()))
                .syncUninterruptibly();
        turn();
        ending.shutdownGracefully(0, 0, TimeUnit.SECONDS).syncUninterruptibly();

        ByteBuf body = Unpooled.wrappedBuffer(new byte[5]);
        away.attempt().onHead(new DefaultHttp2Headers().status("200"), false);
        away.attempt().onData(body, false);

        assertThat(body.refCnt()).isZero();
        assertThat(away.log).containsExactly("/a end", "cancel CANCELLED");
    }

    /** The group forgets a worker that is not open, so its connection must, too. */
    @Test
    void should_serve_by_a_lone_ejected_worker_that_was_not_ready_for_a_time() {
        Stream lone = new Stream(here);
        eject(lone);
        here.workers().setOpen(lone.member, false);
        get(new Client(), "/a");
        assertThat(lone.log).isEmpty();
        here.workers().setOpen(lone.member, true);
        assertThat(lone.log).containsExactly("/a end");
        assertThat(lone.member.judge().isEjected()).isFalse();
    }

    private void eject(Stream stream) {
        assertThat(pool.openWorkers.beginEjection(stream.member, "for the test"))
                .isTrue();
        stream.shard.workers().ejector.eject(stream.member.workerId(), "for the test");
        stream.shard.workers().ejector.onGroupChange();
    }

    @Test
    void should_eject_a_connection_that_its_worker_opens_while_all_are_ejected() {
        Stream first = new Stream(here, new PooledConnection("w0"));
        eject(first);
        Stream later = new Stream(here, new PooledConnection("w0"));
        get(new Client(), "/a");
        get(new Client(), "/b");
        assertThat(first.log).hasSize(1);
        assertThat(later.log).hasSize(1);
        first.respond();
        later.respond();

        Stream other = new Stream(here, new PooledConnection("w1"));
        for (int i = 0; i < 3; i++) {
            get(new Client(), "/c");
        }
        assertThat(other.log).containsExactly("/c end");
        assertThat(first.log).hasSize(1);
        assertThat(later.log).hasSize(1);
    }

    /** Otherwise, fewer workers are launched the more requests take too long. */
    @Test
    void should_count_the_time_of_a_request_that_no_worker_answers_in_time() {
        new Stream(here);
        Client client = new Client();
        get(client, "/a");
        turn();
        pass(1_000);
        assertThat(client.log).containsExactly("TIMEOUT");
        Demand demand = here.sample(false);
        assertThat(demand.completed()).isOne();
        assertThat(demand.serviceNanos()).isEqualTo(TimeUnit.SECONDS.toNanos(1));
    }
}
