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
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Limits of the memory that one function's queued requests use. */
class WaitingMemoryTest {
    private static final int FREE_BYTES = 1_000_000;
    private static final int QUEUE_TIMEOUT_MILLIS = 1000;

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final RecordingObserver observer = new RecordingObserver();
    private final List<String> failures = new ArrayList<>();
    private final PoolShard busy = shard("busy");
    private final PoolShard other = shard("other");
    private long free = FREE_BYTES;

    private PoolShard shard(String function) {
        FunctionOptions options = FunctionOptions.builder(function)
                .queue(1000, Duration.ofMillis(QUEUE_TIMEOUT_MILLIS))
                .build();
        PoolShard shard = new FunctionPool(options, List.of(loop.eventLoop()), observer).shard(0);
        shard.limitMemoryBy(() -> free);
        return shard;
    }

    @BeforeEach
    void freeze() {
        loop.freezeTime();
    }

    private Exchange open(PoolShard shard, Object client) {
        Http2Headers head = new DefaultHttp2Headers()
                .method("PUT")
                .scheme("http")
                .authority("a")
                .path("/");
        return shard.open(head, false, new SilentClient() {
            @Override
            public Requester requester() {
                return Requester.named(client);
            }

            @Override
            public void onFailure(Failure failure) {
                failures.add(failure.kind() + ": " + failure.detail());
            }
        });
    }

    private Exchange open(PoolShard shard, int bodyBytes) {
        Exchange exchange = open(shard, new Object());
        data(exchange, bodyBytes);
        return exchange;
    }

    private static void data(Exchange exchange, int bytes) {
        exchange.data(Unpooled.buffer(bytes).writeZero(bytes), false);
    }

    /** Opens requests until one is refused. @return how many were accepted */
    private int fill(PoolShard shard) {
        int begun = failures.size();
        for (int count = 0; count < 1000; count++) {
            open(shard, 100_000);
            if (failures.size() > begun) {
                return count;
            }
        }
        throw new AssertionError("nothing was refused");
    }

    private void assertNothingIsHeld() {
        failures.clear();
        free = FREE_BYTES;
        assertThat(fill(busy)).isEqualTo(19);
    }

    @Test
    void should_give_one_function_twice_what_is_free() {
        assertThat(fill(busy)).isEqualTo(19);
        assertThat(failures).containsExactly("OVERLOADED: the queued requests of function busy use too much memory");
        assertThat(observer.protections).containsExactly(Protection.MEMORY_REFUSED);
        assertThat(busy.pool().queued()).isEqualTo(19);
        assertThat(fill(other)).isEqualTo(19);
    }

    @Test
    void should_refuse_the_first_part_of_a_body_that_is_too_much() {
        Exchange exchange = open(busy, 1_900_000);
        data(exchange, 99_000);
        assertThat(failures).isEmpty();
        data(exchange, 1_000);
        assertThat(failures).hasSize(1);
        assertThat(busy.pool().queued()).isZero();
        data(exchange, 1_000);
        assertNothingIsHeld();
    }

    /**
     * Otherwise, one client that holds much memory would keep out all other clients of the
     * function.
     */
    @Test
    void should_let_small_requests_wait_when_a_large_one_has_used_up_the_memory() {
        Exchange large = open(busy, 1_900_000);
        open(busy, 10_000);
        data(large, 99_000);
        assertThat(failures).hasSize(1);
        large = open(busy, 1_980_000);
        open(busy, 10_000);
        open(busy, 10_000);
        assertThat(failures).hasSize(1);
        assertThat(busy.pool().queued()).isEqualTo(4);
        Exchange whole = open(busy, 1);
        whole.data(Unpooled.EMPTY_BUFFER, true);
        large.trailers(new DefaultHttp2Headers().add("a", "b".repeat(1_000)));
        assertThat(failures).hasSize(2);
        timeOut();
        assertNothingIsHeld();
    }

    @Test
    void should_refuse_a_head_if_nothing_is_free() {
        free = 10;
        open(busy, new Object());
        assertThat(failures).hasSize(1);
        assertNothingIsHeld();
    }

    @Test
    void should_count_off_whatever_ends_the_waiting() {
        Object client = new Object();
        List<Exchange> all = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            // Some of them are over their client's share.
            Exchange exchange = open(busy, client);
            data(exchange, 10_000);
            all.add(exchange);
        }
        assertThat(failures).isEmpty();
        all.get(0).cancel(ErrorCode.CANCELLED);
        all.get(11).cancel(ErrorCode.CANCELLED);
        worker(3);
        loop.runPendingTasks();
        timeOut();
        assertThat(busy.pool().queued()).isZero();
        open(busy, new Object()); // takes the stream that is left for others
        assertNothingIsHeld();
    }

    /** A request must not be in the queue twice, and its memory must not be subtracted twice. */
    @Test
    void should_count_a_request_again_that_is_tried_again() {
        Exchange exchange = open(busy, new Object());
        List<Attempt> attempts = worker(1);
        attempts.get(0).onRefused(new Failure(Failure.Kind.WORKER_LOST, "refused"));
        data(exchange, 1_500_000);
        open(busy, 600_000);
        assertThat(failures).hasSize(1);
        exchange.cancel(ErrorCode.CANCELLED);
        timeOut();
        assertNothingIsHeld();
    }

    private void timeOut() {
        loop.advanceTimeBy(QUEUE_TIMEOUT_MILLIS + 20, TimeUnit.MILLISECONDS);
        loop.runScheduledPendingTasks();
        loop.runPendingTasks();
    }

    private List<Attempt> worker(int streams) {
        List<Attempt> attempts = new ArrayList<>();
        PooledConnection worker = new PooledConnection("worker");
        busy.workers().onMember(worker);
        busy.workers().setOpen(worker, true);
        for (int i = 0; i < streams; i++) {
            busy.workers()
                    .onStreamOpened(worker, new ScriptedStream(busy, worker, stream -> attempts.add(stream.attempt)));
        }
        return attempts;
    }
}
