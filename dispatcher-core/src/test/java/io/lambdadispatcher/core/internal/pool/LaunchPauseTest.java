package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.capacity.LaunchPause;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A pool over two event loops whose launches are blocked. Requests time out after 10 s. */
class LaunchPauseTest {
    private static final int TIMEOUT_MILLIS = 10_000;

    private final EmbeddedChannel[] loops = {new EmbeddedChannel(), new EmbeddedChannel()};
    private final FunctionPool pool = new FunctionPool(
            FunctionOptions.builder("f")
                    .queue(10, Duration.ofMillis(TIMEOUT_MILLIS))
                    .build(),
            List.of(loops[0].eventLoop(), loops[1].eventLoop()),
            DispatcherObserver.NONE);
    private final List<String> answers = new ArrayList<>();

    private final class Client extends SilentClient {
        @Override
        public void onFailure(Failure failure) {
            answers.add(failure.kind().token() + " " + failure.retryAfterSeconds() + " " + failure.detail());
        }
    }

    @BeforeEach
    void freeze() {
        for (EmbeddedChannel loop : loops) {
            loop.freezeTime();
        }
    }

    private void open(int loop, String method) {
        Http2Headers head = new DefaultHttp2Headers()
                .method(method)
                .scheme("http")
                .authority("a")
                .path("/");
        pool.shard(loop).open(head, true, new Client());
    }

    private void pass(long millis) {
        for (EmbeddedChannel loop : loops) {
            loop.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
            loop.runScheduledPendingTasks();
            loop.runPendingTasks();
        }
    }

    private void pause(boolean refusesAll, long millis, boolean overflows) {
        long until = loops[0].eventLoop().ticker().nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        pool.onLaunchPause(new LaunchPause("launches are blocked", until, refusesAll), overflows);
    }

    @Test
    void should_refuse_immediately_and_say_when_the_next_launch_is() {
        pause(true, 2_001, false);

        open(0, "POST");

        assertThat(answers)
                .containsExactly("launches_blocked 3 no worker connected for function f, and launches are blocked");
        assertThat(pool.queued()).isZero();
    }

    /** The launcher tries again then, and the request may be served. */
    @Test
    void should_let_requests_wait_when_the_pause_is_over() {
        pause(true, 2_000, false);
        pass(2_000);

        open(0, "GET");

        assertThat(answers).isEmpty();
        assertThat(pool.queued()).isEqualTo(1);
    }

    @Test
    void should_let_requests_wait_if_the_pause_ends_before_their_timeout() {
        pause(false, TIMEOUT_MILLIS - 1, false);
        open(0, "GET");
        assertThat(answers).isEmpty();

        pause(false, TIMEOUT_MILLIS, false);
        open(0, "GET");
        assertThat(answers).hasSize(1);
    }

    @Test
    void should_refuse_the_requests_that_are_queued_on_all_event_loops() {
        open(0, "GET");
        open(1, "GET");

        pause(true, 1_000, false);
        assertThat(answers).isEmpty();
        pass(0);

        assertThat(answers).hasSize(2).allMatch(answer -> answer.startsWith("launches_blocked 1 "));
        assertThat(pool.queued()).isZero();
    }

    @Test
    void should_let_requests_wait_for_busy_workers() {
        PooledConnection worker = new PooledConnection("worker");
        pool.shard(1).workers().onMember(worker);
        pool.shard(1).workers().onStreamOpened(worker, new ScriptedStream(pool.shard(1), worker, stream -> {
            throw new AssertionError("not ready");
        }));
        pause(true, 60_000, false);

        open(0, "GET");

        assertThat(answers).isEmpty();
        assertThat(pool.queued()).isEqualTo(1);
    }

    @Test
    void should_let_only_those_requests_wait_that_can_overflow() {
        pause(true, 60_000, true);

        open(0, "GET");
        assertThat(answers).isEmpty();

        open(0, "POST");
        assertThat(answers).hasSize(1);
    }

    /** A stream of a worker that is not ready. */
}
