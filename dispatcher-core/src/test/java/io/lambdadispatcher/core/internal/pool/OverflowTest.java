package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Carrier;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A pool without workers. Its requests may overflow after 100 ms, and time out after 350 ms. */
class OverflowTest {
    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final FunctionPool pool = new FunctionPool(
            FunctionOptions.builder("f").queue(10, Duration.ofMillis(350)).build(),
            List.of(loop.eventLoop()),
            DispatcherObserver.NONE);
    private final PoolShard shard = pool.shard(0);
    private final List<String> carried = new ArrayList<>();
    private final List<String> answers = new ArrayList<>();
    private boolean full;

    @Nullable
    private Attempt attempt;

    /** The direct call that a request overflows to. */
    private final class Way extends DiscardingSink implements Carrier {
        @Override
        public RequestSink carry(Http2Headers head, boolean end, int timeoutMillis, Attempt forAttempt) {
            carried.add(head.path() + (end ? " end" : ""));
            attempt = forAttempt;
            return this;
        }

        @Override
        public @Nullable String workerId() {
            return null;
        }

        @Override
        public boolean isOfWorker() {
            return false;
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            carried.add(data.readableBytes() + (end ? " end" : ""));
            data.release();
        }

        @Override
        public void cancel(ErrorCode code) {
            carried.add("cancel");
        }
    }

    private final ResponseSink client = new SilentClient() {
        @Override
        public void onHead(Http2Headers head, boolean end) {
            answers.add(String.valueOf(head.status()));
        }

        @Override
        public void onFailure(Failure failure) {
            answers.add(failure.kind().name());
        }
    };

    @BeforeEach
    void freeze() {
        loop.freezeTime();
        shard.overflow(Duration.ofMillis(100), () -> full ? null : new Way());
    }

    private Exchange open(String method, String path, boolean end) {
        return shard.open(
                new DefaultHttp2Headers()
                        .method(method)
                        .scheme("http")
                        .authority("a")
                        .path(path),
                end,
                client);
    }

    private void pass(long millis) {
        loop.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        loop.runScheduledPendingTasks();
        loop.runPendingTasks();
    }

    private static ByteBuf bytes(int count) {
        return ByteBufAllocator.DEFAULT.buffer().writeZero(count);
    }

    @Test
    void should_go_the_other_way_when_it_has_waited_long_enough() {
        open("GET", "/a", true);
        pass(99);
        assertThat(carried).isEmpty();
        assertThat(pool.pending()).isEqualTo(1);

        pass(1);

        assertThat(carried).containsExactly("/a end");
        assertThat(pool.pending()).isZero();
        pass(1000);
        assertThat(answers).isEmpty();
    }

    @Test
    void should_take_the_body_along_if_it_is_whole() {
        Exchange whole = open("PUT", "/whole", false);
        whole.data(bytes(3), true);
        Exchange half = open("PUT", "/half", false);
        half.data(bytes(3), false);
        pass(100);
        assertThat(carried).containsExactly("/whole", "3 end");

        half.data(bytes(1), true);
        pass(100);

        assertThat(carried).containsExactly("/whole", "3 end", "/half", "4 end");
        // Until an exchange ends, its body is kept for another attempt.
        whole.cancel(ErrorCode.CANCELLED);
        half.cancel(ErrorCode.CANCELLED);
    }

    @Test
    void should_wait_for_a_worker_with_what_is_not_safe_or_not_small() {
        open("POST", "/order", true);
        open("PUT", "/large", false).data(bytes(Overflow.MAX_BODY_BYTES + 1), true);

        pass(340);
        assertThat(answers).isEmpty();
        pass(10);

        assertThat(carried).isEmpty();
        assertThat(answers).containsExactly("QUEUE_TIMEOUT", "QUEUE_TIMEOUT");
    }

    @Test
    void should_ask_again_when_the_other_way_was_full() {
        full = true;
        open("GET", "/a", true);
        pass(100);
        full = false;
        pass(99);
        assertThat(carried).isEmpty();

        pass(1);

        assertThat(carried).containsExactly("/a end");
    }

    @Test
    void should_leave_alone_what_waits_no_more() {
        Exchange gone = open("GET", "/gone", true);
        gone.cancel(ErrorCode.CANCELLED);

        pass(1000);

        assertThat(carried).isEmpty();
        assertThat(pool.pending()).isZero();
    }

    @Test
    void should_go_the_other_way_when_it_waits_because_its_worker_is_lost() {
        PooledConnection worker = new PooledConnection("w");
        shard.workers().onMember(worker);
        shard.workers().setOpen(worker, true);
        ScriptedStream stream = new ScriptedStream(shard, worker, carried);
        shard.workers().onStreamOpened(worker, stream);
        open("GET", "/a", true);
        pass(200);
        stream.lose();
        assertThat(carried).containsExactly("/a");
        assertThat(pool.pending()).isEqualTo(1);

        pass(100);

        assertThat(carried).containsExactly("/a", "/a end");
    }

    @Test
    void should_wait_again_when_the_other_way_refuses() {
        open("GET", "/a", true);
        pass(100);

        Attempt taken = attempt;
        assertThat(taken).isNotNull();
        taken.onRefused(new Failure(Failure.Kind.THROTTLED, "throttled"));

        assertThat(answers).isEmpty();
        assertThat(pool.pending()).isEqualTo(1);
        pass(249);
        assertThat(answers).isEmpty();
        assertThat(carried).hasSize(1);
        pass(1);
        assertThat(answers).containsExactly("QUEUE_TIMEOUT");
        assertThat(pool.pending()).isZero();
    }

    /** A throttled request has not begun, so it takes nothing from the budget of retries. */
    @Test
    void should_wait_again_however_many_are_refused() {
        for (int i = 0; i < 15; i++) {
            full = false;
            open("GET", "/" + i, true);
            pass(100);
            Attempt taken = attempt;
            assertThat(taken).isNotNull();
            full = true;
            taken.onRefused(new Failure(Failure.Kind.THROTTLED, "throttled"));
        }
        assertThat(answers).doesNotContain("THROTTLED");
    }
}
