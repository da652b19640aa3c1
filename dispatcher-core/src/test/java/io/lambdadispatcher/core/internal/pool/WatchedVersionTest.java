package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A worker of a new version beside an old one, on one event loop. */
class WatchedVersionTest {
    private static final int STREAMS = 20;
    private static final int PER_SECOND = 10;

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final FunctionPool pool = new FunctionPool(
            FunctionOptions.builder("f").connectionsPerWorker(1).build(),
            List.of(loop.eventLoop()),
            DispatcherObserver.NONE);
    private final PoolShard shard = pool.shard(0);

    private final class Worker {
        final PooledConnection member;
        final ScriptedStream stream;

        Worker(String version) {
            member = new PooledConnection("worker of " + version);
            stream = new ScriptedStream(shard, member, any -> {});
            shard.onMember(member);
            shard.onVersion(member, version);
            for (int i = 0; i < STREAMS; i++) {
                shard.onStreamOpened(member, stream);
            }
            shard.setOpen(member, true);
        }

        void end(boolean failure) {
            while (member.busy > 0) {
                member.onExchangeEnd(failure);
                if (!failure) {
                    member.onServed();
                }
                shard.onStreamFree(member, stream);
            }
        }
    }

    private void watch(String version) {
        pool.watch(version);
        loop.runPendingTasks();
    }

    private void request() {
        Http2Headers head =
                new FlatHeaders().method("GET").scheme("http").authority("a").path("/");
        shard.open(head, true, new SilentClient());
    }

    /** The old worker has a request in flight throughout, and the new one fails at once. */
    private void fail(int requests, Worker old, Worker fresh) {
        for (int i = 0; i < requests; i++) {
            request();
            fresh.end(true);
            if (old.member.busy == STREAMS) {
                old.end(false);
                request();
            }
        }
    }

    @Test
    void should_give_a_failing_version_few_requests_although_it_is_the_least_busy() {
        Worker old = new Worker("7");
        request();
        watch("8");
        Worker fresh = new Worker("8");

        fail(1000, old, fresh);
        assertThat(fresh.member.started()).isEqualTo(PER_SECOND);
        watch("8");
        fail(1000, old, fresh);
        assertThat(fresh.member.started()).as("after another second").isEqualTo(2 * PER_SECOND);
        assertThat(pool.pending()).isZero();
    }

    @Test
    void should_give_a_version_that_serves_well_as_many_requests_as_the_others() {
        Worker old = new Worker("7");
        watch("8");
        Worker fresh = new Worker("8");

        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 2 * STREAMS; i++) {
                request();
                if (i == STREAMS) {
                    old.end(false);
                    fresh.end(false);
                }
            }
            old.end(false);
            fresh.end(false);
        }
        for (int i = 0; i < 2 * STREAMS; i++) {
            request();
        }
        assertThat(fresh.member.busy).isEqualTo(STREAMS);
        assertThat(old.member.busy).isEqualTo(STREAMS);
    }

    @Test
    void should_let_requests_wait_until_the_next_second_if_the_others_are_busy() {
        Worker old = new Worker("7");
        watch("8");
        Worker fresh = new Worker("8");
        for (int i = 0; i < 2 * STREAMS; i++) {
            request();
        }
        assertThat(old.member.busy).isEqualTo(STREAMS);
        assertThat(fresh.member.busy).isEqualTo(PER_SECOND);
        assertThat(pool.pending()).isEqualTo(STREAMS - PER_SECOND);

        watch("8");
        assertThat(fresh.member.busy).isEqualTo(STREAMS);
        assertThat(pool.pending()).isZero();
    }

    @Test
    void should_limit_nothing_when_the_version_is_no_longer_watched() {
        Worker old = new Worker("7");
        request();
        watch("8");
        Worker fresh = new Worker("8");
        watch("");

        fail(1000, old, fresh);
        assertThat(fresh.member.started()).isGreaterThan(900);
    }

    @Test
    void should_watch_workers_that_were_connected_before() {
        Worker old = new Worker("7");
        Worker fresh = new Worker("8");
        request();
        request();
        watch("8");

        fail(1000, old, fresh);
        assertThat(fresh.member.started()).isLessThanOrEqualTo(PER_SECOND + 1);
    }
}
