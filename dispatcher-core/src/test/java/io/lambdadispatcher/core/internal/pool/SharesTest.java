package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Limits of one client's share of a function's worker streams and of its queue. */
class SharesTest extends OnTwoLoops {
    private static final int QUEUE_TIMEOUT_MILLIS = 5000;

    private final RecordingObserver observer = new RecordingObserver();
    private final FunctionPool pool = new FunctionPool(
            FunctionOptions.builder("f")
                    .queue(100, Duration.ofMillis(QUEUE_TIMEOUT_MILLIS))
                    .build(),
            eventLoops(),
            observer);
    private final PoolShard here = pool.shard(0);
    private final PoolShard there = pool.shard(1);
    private final AtomicInteger shortages = new AtomicInteger();
    private final List<String> failures = new ArrayList<>();

    @BeforeEach
    void watch() {
        pool.onShortage(shortages::incrementAndGet);
    }

    /** A stream whose response can begin before the test lets it end. */
    private static final class Stream extends ScriptedStream {
        private boolean answered;

        Stream(PoolShard shard, PooledConnection worker) {
            super(shard, worker, any -> {});
            shard.workers().onStreamOpened(worker, this);
        }

        /** Starts the response, as a server does that may continue to read the request. */
        void begin() {
            answered = true;
            Attempt current = attempt;
            if (current != null) {
                current.onHead(new DefaultHttp2Headers().status("200"), false);
            }
        }

        void send(int bytes) {
            Attempt current = attempt;
            if (current != null) {
                current.onData(Unpooled.buffer(bytes).writeZero(bytes), false);
            }
        }

        @Override
        public void cancel(ErrorCode code) {
            if (attempt != null) {
                attempt = null;
                shard.loop().execute(() -> shard.workers().onStreamFree(worker, this));
            }
        }
    }

    private static List<Stream> worker(PoolShard shard, int streams) {
        PooledConnection worker = new PooledConnection("worker");
        shard.workers().onMember(worker);
        shard.workers().setOpen(worker, true);
        List<Stream> all = new ArrayList<>();
        for (int i = 0; i < streams; i++) {
            all.add(new Stream(shard, worker));
        }
        return all;
    }

    private Exchange open(PoolShard shard, Object client, boolean end) {
        return open(shard, client, end, "PUT");
    }

    /** Opens an exchange. A POST is a gRPC call in this test. */
    private Exchange open(PoolShard shard, Object client, boolean end, String method) {
        Http2Headers head = new DefaultHttp2Headers()
                .method(method)
                .scheme("http")
                .authority("a")
                .path("/");
        if (method.equals("POST")) {
            head.add("content-type", "application/grpc");
        }
        return shard.open(head, end, new SilentClient() {
            @Override
            public Requester requester() {
                return Requester.named(client);
            }

            @Override
            public void onFailure(Failure failure) {
                failures.add(failure.kind().name());
            }
        });
    }

    private List<Exchange> halfOpen(PoolShard shard, Object client, int count) {
        List<Exchange> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(open(shard, client, false));
        }
        return all;
    }

    /**
     * Opens complete requests. Those that have a worker stream get the beginning of a response,
     * which nobody reads.
     */
    private List<Exchange> untaken(List<Stream> streams, int count) {
        List<Exchange> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(open(here, "reader", true));
        }
        streams.forEach(stream -> {
            stream.begin();
            stream.send(100_000);
        });
        return all;
    }

    /** Lets time pass until all streams have been observed often enough. */
    private void observe() {
        for (int i = 0; i < 1 + QUEUE_TIMEOUT_MILLIS / 4 / Preemption.LOOK_MILLIS; i++) {
            pass(Preemption.LOOK_MILLIS);
        }
    }

    private static void end(Exchange exchange) {
        exchange.data(Unpooled.EMPTY_BUFFER, true);
    }

    @Test
    void should_leave_streams_free_for_others_however_many_bodies_a_client_begins() {
        worker(there, 100);
        halfOpen(here, "attacker", 100);
        pass(0);

        // The client gets four fifths, and the few bodies that need no share.
        assertThat(pool.free()).isBetween(10, 20);
        assertThat(pool.pending()).isZero();
        assertThat(shortages).hasValue(0);
        assertThat(observer.protections).contains(Protection.SHARE_EXCEEDED);
        open(here, "polite", true);
        assertThat(pool.pending()).isZero();
    }

    @Test
    void should_carry_a_request_over_the_share_when_its_body_ends() {
        List<Stream> streams = worker(here, 20);
        List<Exchange> all = halfOpen(here, "client", 20);
        int free = pool.free();
        assertThat(free).isPositive();

        end(all.get(19));

        assertThat(pool.free()).isEqualTo(free - 1);
        assertThat(streams).filteredOn(stream -> stream.attempt != null).hasSize(21 - free);
    }

    @Test
    void should_carry_a_request_over_the_share_when_another_of_its_client_ends() {
        worker(here, 20);
        List<Exchange> all = halfOpen(here, "client", 20);
        int free = pool.free();

        all.subList(0, 10).forEach(SharesTest::end);
        pass(10);

        assertThat(pool.free()).isLessThan(free).isNotNegative();
    }

    @Test
    void should_carry_a_request_over_the_share_behind_an_older_one_of_a_client_that_stays_over_it() {
        List<Stream> streams = worker(here, 2);
        halfOpen(here, "attacker", 10);
        open(here, "busy", true);
        open(here, "busy", true);
        halfOpen(here, "other", 1);
        assertThat(pool.pending()).isEqualTo(1);

        for (int i = 0; i < 2; i++) {
            streams.get(0).answer();
            pass(10);
        }

        assertThat(pool.pending()).isZero();
        assertThat(pool.free()).isZero();
    }

    @Test
    void should_let_open_tunnels_and_answered_calls_be_as_many_as_there_are_streams() {
        List<Stream> streams = worker(here, 100);
        for (int i = 0; i < 100; i++) {
            Exchange exchange = open(here, "proxy", false, i % 2 == 0 ? "CONNECT" : "POST");
            streams.stream()
                    .filter(stream -> stream.attempt != null && !stream.answered)
                    .forEach(Stream::begin);
            assertThat(exchange.place().holds()).isFalse();
        }
        assertThat(pool.free()).isZero();
    }

    @Test
    void should_not_keep_others_waiting_behind_a_request_over_its_share() {
        worker(here, 20);
        halfOpen(here, "attacker", 50);
        int free = pool.free();

        halfOpen(here, "other", 1);
        open(here, "attacker", true);

        assertThat(pool.free()).isEqualTo(free - 2);
    }

    @Test
    void should_take_streams_back_from_a_client_that_takes_no_responses_while_others_wait() {
        untaken(worker(here, 50), 90);
        assertThat(pool.pending()).isEqualTo(40);
        open(there, "other", true);
        pass(0);
        assertThat(failures).isEmpty();

        observe();

        assertThat(failures).hasSize(34).containsOnly("OVERLOADED");
        assertThat(observer.protections).contains(Protection.SHARE_EXCEEDED);
        assertThat(pool.pending()).isZero();
        assertThat(pool.free()).isPositive();
        open(there, "another", true);
        pass(0);
        assertThat(pool.pending()).isZero();
    }

    @Test
    void should_forget_that_a_client_took_no_responses() {
        List<Exchange> all = untaken(worker(here, 50), 50);
        open(here, "other", true);
        observe();
        assertThat(failures).hasSize(34);
        all.subList(34, 50).forEach(exchange -> exchange.cancel(ErrorCode.CANCELLED));
        pass(TimeUnit.NANOSECONDS.toMillis(Preemption.MEMORY_NANOS));

        for (int i = 0; i < 49; i++) {
            open(here, "reader", true);
        }

        assertThat(pool.free()).isZero();
    }

    /** A client whose only request is cut off has no other request that keeps the memory of it. */
    @Test
    void should_not_wait_again_for_a_client_that_has_just_lost_its_stream() {
        List<Stream> streams = worker(here, 1);
        for (int i = 0; i < 3; i++) {
            halfOpen(here, "attacker", 1);
            open(there, "other", true);
            if (i == 0) {
                observe();
            } else {
                pass(Preemption.LOOK_MILLIS);
            }
            assertThat(failures).hasSize(i + 1).containsOnly("OVERLOADED");
            streams.get(0).answer();
            pass(0);
            assertThat(pool.free()).isEqualTo(1);
        }
        pass(TimeUnit.NANOSECONDS.toMillis(Preemption.MEMORY_NANOS));
        assertThat(pool.shares.size()).isZero();
    }

    @ParameterizedTest
    @CsvSource({"1, 0", "2, 0", "3, 1", "8, 2", "100, 33"})
    void should_leave_a_third_of_the_streams_to_a_client_that_holds_them_up(int size, int kept) {
        List<Exchange> all = untaken(worker(here, size), size);
        open(there, "other", true);
        observe();
        assertThat(all).filteredOn(exchange -> !exchange.isEnded()).hasSize(kept);
    }

    @Test
    void should_give_a_small_pool_to_no_body_that_is_incomplete_while_others_wait() {
        worker(here, 1);
        Exchange running = open(here, "other", true);
        Exchange queued = open(here, "other", true);
        Exchange upload = open(here, "client", false);
        upload.data(Unpooled.buffer(1000).writeZero(1000), false);
        assertThat(pool.pending()).isEqualTo(1);

        upload.data(Unpooled.buffer(64_000).writeZero(64_000), false);
        assertThat(pool.pending()).as("with an upload that fills its window").isEqualTo(2);

        Exchange second = open(here, "second", false);
        assertThat(pool.pending()).isEqualTo(2);
        end(second);
        assertThat(pool.pending()).isEqualTo(3);
        List.of(running, queued, upload, second).forEach(exchange -> exchange.cancel(ErrorCode.CANCELLED));
    }

    @Test
    void should_judge_an_incomplete_body_again_when_its_turn_comes() {
        List<Stream> streams = worker(here, 1);
        open(here, "other", true);
        Exchange upload = open(here, "client", false);
        assertThat(pool.pending()).as("with an upload that nobody waits for").isEqualTo(1);
        open(here, "another", true);
        open(here, "another", true);

        streams.get(0).answer();
        assertThat(upload.place().holds()).as("while others wait").isFalse();
        assertThat(pool.pending()).isEqualTo(1);
        for (int i = 0; i < 2; i++) {
            streams.get(0).answer();
            pass(10);
        }
        assertThat(upload.place().holds()).as("when nobody waits").isTrue();
        assertThat(pool.free()).isZero();
    }

    @Test
    void should_take_no_streams_back_while_nobody_else_waits() {
        untaken(worker(here, 50), 60);
        observe();
        assertThat(failures).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"0, 34", "1, 34", "99999, 34", "100000, 0"})
    void should_judge_by_who_waits_for_whom_and_not_by_a_rate(int bytes, int failed) {
        List<Stream> streams = worker(here, 50);
        List<Exchange> all = untaken(streams, 50);
        open(here, "other", true);
        for (int i = 0; i < Preemption.MAX_LOOKS && failures.isEmpty(); i++) {
            all.forEach(exchange -> exchange.responseTaken(bytes));
            pass(Preemption.LOOK_MILLIS);
            streams.forEach(stream -> stream.send(bytes));
        }
        assertThat(failures).hasSize(failed);
    }

    @Test
    void should_hold_a_slow_reader_to_its_share_although_its_request_ends() {
        List<Exchange> all = untaken(worker(here, 50), 50);
        open(here, "other", true);
        observe();
        all.subList(34, 50).forEach(exchange -> exchange.cancel(ErrorCode.CANCELLED));
        pass(1);
        int free = pool.free();

        halfOpen(here, "reader", free).forEach(SharesTest::end);

        assertThat(pool.free()).isPositive();
    }

    @Test
    void should_count_each_request_once_as_arrived() {
        here.sample(false);
        untaken(worker(here, 50), 90);
        open(here, "other", true);
        observe();
        pass(TimeUnit.NANOSECONDS.toMillis(Preemption.MEMORY_NANOS));
        assertThat(here.sample(false).arrived()).isEqualTo(91);
    }

    @Test
    void should_keep_few_bodies_in_the_queue_when_no_stream_is_free() {
        halfOpen(here, "attacker", 30);
        halfOpen(there, "attacker", 30);

        assertThat(pool.pending()).isEqualTo(8);
        assertThat(here.sample(false).pending() + there.sample(false).pending()).isEqualTo(8);
    }

    @Test
    void should_time_out_what_waits_for_its_share() {
        List<Exchange> all = halfOpen(here, "attacker", 30);
        all.get(29).cancel(ErrorCode.CANCELLED);
        pass(QUEUE_TIMEOUT_MILLIS);

        assertThat(failures).hasSize(29).containsOnly("QUEUE_TIMEOUT");
        assertThat(pool.shares.size()).isZero();
        assertThat(here.isQuiet()).isTrue();
    }

    @Test
    void should_not_limit_the_embedding_program() {
        worker(here, 100);
        halfOpen(here, Requester.EMBEDDER, 100);
        assertThat(pool.free()).isZero();
    }

    @Test
    void should_let_one_client_fill_at_most_half_of_the_queue() {
        for (int i = 0; i < 200; i++) {
            open(here, "flood", true);
        }
        assertThat(pool.pending()).isEqualTo(50);
        assertThat(failures).hasSize(150).containsOnly("QUEUE_FULL");

        for (int i = 0; i < 200; i++) {
            open(there, "second flood", true);
        }
        assertThat(pool.pending()).isEqualTo(75);
        open(there, "polite", true);
        assertThat(pool.pending()).isEqualTo(76);
    }

    @Test
    void should_forget_a_client_when_nothing_of_it_is_left() {
        List<Stream> streams = worker(here, 2);
        List<Exchange> all = halfOpen(here, "client", 12);
        assertThat(pool.shares.size()).isEqualTo(1);

        all.forEach(SharesTest::end);
        for (int i = 0; i < 12; i++) {
            streams.forEach(Stream::answer);
            pass(0);
        }

        assertThat(pool.shares.size()).isZero();
        assertThat(pool.free()).isEqualTo(2);
        assertThat(failures).isEmpty();
    }

    @Test
    void should_need_no_share_for_bodies_that_come_with_their_heads() {
        worker(here, 64);
        for (int i = 0; i < 5; i++) {
            end(open(here, "client", false));
        }
        assertThat(pool.free()).isEqualTo(59);
        assertThat(pool.shares.size()).isZero();
    }

    @Test
    void should_fail_what_waits_for_its_share_at_the_end() {
        halfOpen(here, "attacker", 30);
        here.failAll(new Failure(Failure.Kind.SHUTTING_DOWN, "test"));
        assertThat(failures).hasSize(30).containsOnly("SHUTTING_DOWN");
        assertThat(pool.shares.size()).isZero();
        assertThat(pool.pending()).isZero();
    }
}
