package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A queue with a timeout of 10 s, and a worker with one stream. */
class SheddingTest {
    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final RecordingObserver observer = new RecordingObserver();
    private final List<String> failures = new ArrayList<>();
    private final List<String> served = new ArrayList<>();
    private final FunctionPool pool = new FunctionPool(
            FunctionOptions.builder("f").queue(100, Duration.ofSeconds(10)).build(),
            List.of(loop.eventLoop()),
            observer);
    private final PoolShard shard = pool.shard(0);
    private final PooledConnection worker = new PooledConnection("worker");
    private final ScriptedStream stream = new ScriptedStream(shard, worker, served);

    @BeforeEach
    void freeze() {
        loop.freezeTime();
        shard.workers().onMember(worker);
        shard.workers().setOpen(worker, true);
    }

    private void pass(long millis) {
        loop.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        loop.runScheduledPendingTasks();
        loop.runPendingTasks();
    }

    private void request(String path) {
        Http2Headers head = new DefaultHttp2Headers()
                .method("GET")
                .scheme("http")
                .authority("a")
                .path(path);
        shard.open(head, true, new SilentClient() {
            @Override
            public void onFailure(Failure failure) {
                failures.add(path + " " + failure.kind());
            }
        });
    }

    private void requestEachSecond(int seconds) {
        for (int i = 0; i < seconds; i++) {
            request("/" + i);
            pass(1000);
        }
    }

    @Test
    void should_serve_a_fresh_request_once_the_queue_has_stood_for_twice_the_timeout() {
        shard.workers().onStreamOpened(worker, stream);
        request("/carried");
        requestEachSecond(9);
        pass(900);
        stream.answer();
        assertThat(served).containsExactly("/carried", "/0");
        requestEachSecond(10);
        assertThat(observer.protections).isEmpty();
        served.clear();
        request("/fresh");
        pass(100);

        stream.answer();

        assertThat(served).containsExactly("/fresh");
        assertThat(failures).hasSize(18).allMatch(failure -> failure.endsWith(" QUEUE_TIMEOUT"));
        assertThat(observer.protections).hasSizeGreaterThan(7).containsOnly(Protection.QUEUE_SHED);
        assertThat(pool.pending()).isZero();
    }

    /** All that wait at the same time would otherwise be shed together. */
    @Test
    void should_shed_only_what_has_waited_for_longer_than_others_at_first() {
        shard.workers().onStreamOpened(worker, stream);
        request("/carried");
        requestEachSecond(6);
        stream.answer();
        requestEachSecond(3);
        pass(1100);

        stream.answer();

        assertThat(served).containsExactly("/carried", "/0", "/5");
        assertThat(failures).hasSize(4);
    }

    @Test
    void should_serve_the_last_request_however_long_it_has_waited() {
        shard.workers().onStreamOpened(worker, stream);
        request("/carried");
        requestEachSecond(9);
        pass(2000);

        stream.answer();

        assertThat(served).containsExactly("/carried", "/8");
    }

    @Test
    void should_shed_nothing_at_a_cold_start_however_long_that_takes() {
        requestEachSecond(15);
        assertThat(failures).hasSize(6);

        shard.workers().onStreamOpened(worker, stream);
        stream.answer();

        assertThat(served).containsExactly("/6", "/7");
        assertThat(observer.protections).isEmpty();
    }

    @Test
    void should_begin_anew_when_the_queue_has_been_empty() {
        shard.workers().onStreamOpened(worker, stream);
        request("/carried");
        request("/a");
        pass(9000);
        stream.answer();
        request("/b");
        request("/c");
        pass(5000);

        stream.answer();

        assertThat(served).containsExactly("/carried", "/a", "/b");
        assertThat(failures).isEmpty();
    }
}
