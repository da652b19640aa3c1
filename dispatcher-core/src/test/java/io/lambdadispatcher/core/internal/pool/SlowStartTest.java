package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.policy.SlowStart;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A fresh worker beside a warm one, on one event loop. */
@EachRelease
class SlowStartTest {
    private static final int STREAMS = 20;

    private final EmbeddedChannel loop = new EmbeddedChannel();

    private final class Worker {
        final PooledConnection member;

        Worker(PoolShard shard, String id) {
            member = new PooledConnection(id);
            ScriptedStream stream = new ScriptedStream(shard, member, any -> {});
            shard.workers().onMember(member);
            for (int i = 0; i < STREAMS; i++) {
                shard.workers().onStreamOpened(member, stream);
            }
            shard.workers().setOpen(member, true);
        }
    }

    private FunctionPool pool(Duration slowStart) {
        loop.freezeTime();
        return new FunctionPool(
                FunctionOptions.builder("f").slowStart(slowStart).build(),
                List.of(loop.eventLoop()),
                DispatcherObserver.NONE);
    }

    private void pass(Duration time) {
        loop.advanceTimeBy(time.toMillis(), TimeUnit.MILLISECONDS);
        loop.runScheduledPendingTasks();
    }

    private static void request(PoolShard shard, int count) {
        for (int i = 0; i < count; i++) {
            Http2Headers head = new FlatHeaders()
                    .method("GET")
                    .scheme("http")
                    .authority("a")
                    .path("/");
            shard.open(head, true, new SilentClient());
        }
    }

    @Test
    void should_give_a_fresh_worker_a_rising_share_by_its_reports() {
        FunctionPool pool = pool(Duration.ofSeconds(60));
        PoolShard shard = pool.shard(0);
        Worker warm = new Worker(shard, "warm");
        pass(Duration.ofSeconds(61));
        shard.workers().onRequestCpu(warm.member, 1_000);
        Worker fresh = new Worker(shard, "fresh");

        request(shard, 9);
        assertThat(fresh.member.busy).isEqualTo(3);

        shard.workers().onRequestCpu(fresh.member, 5_000);
        request(shard, 6);
        assertThat(fresh.member.busy).isEqualTo(3);

        shard.workers().onRequestCpu(fresh.member, 900);
        request(shard, 9);
        assertThat(fresh.member.busy).isEqualTo(12);
        assertThat(warm.member.busy).isEqualTo(12);
    }

    @Test
    void should_end_with_the_time() {
        FunctionPool pool = pool(Duration.ofSeconds(60));
        PoolShard shard = pool.shard(0);
        Worker warm = new Worker(shard, "warm");
        pass(Duration.ofSeconds(61));
        shard.workers().onRequestCpu(warm.member, 1_000);
        Worker fresh = new Worker(shard, "fresh");
        shard.workers().onRequestCpu(fresh.member, 7_000);
        request(shard, 4);
        assertThat(fresh.member.busy).isZero();
        pass(Duration.ofSeconds(60));
        request(shard, 4);
        assertThat(fresh.member.busy).isEqualTo(4);
    }

    @Test
    void should_treat_all_workers_alike_if_none_is_warm_or_if_it_is_off() {
        for (Duration slowStart : List.of(Duration.ZERO, Duration.ofSeconds(60))) {
            PoolShard shard = pool(slowStart).shard(0);
            Worker one = new Worker(shard, "one");
            Worker other = new Worker(shard, "other");
            shard.workers().onRequestCpu(other.member, 7_000);
            request(shard, 8);
            assertThat(one.member.busy).isEqualTo(4);
            assertThat(other.member.busy).isEqualTo(4);
        }
    }

    @Test
    void should_limit_the_factor() {
        assertThat(SlowStart.factor(0, 0)).isEqualTo(SlowStart.ONE);
        assertThat(SlowStart.factor(0, 100)).isEqualTo(2 * SlowStart.ONE);
        assertThat(SlowStart.factor(50, 100)).isEqualTo(SlowStart.ONE);
        assertThat(SlowStart.factor(150, 100)).isEqualTo(SlowStart.ONE * 3 / 2);
        assertThat(SlowStart.factor(Integer.MAX_VALUE, 1)).isEqualTo(8 * SlowStart.ONE);
        assertThat(SlowStart.multiply(0, SlowStart.ONE)).isZero();
        assertThat(SlowStart.multiply(0, 2 * SlowStart.ONE)).isEqualTo(1);
        assertThat(SlowStart.multiply(3, 2 * SlowStart.ONE)).isEqualTo(7);
        assertThat(SlowStart.warmMicros(0, 70)).isEqualTo(70);
        assertThat(SlowStart.warmMicros(100, 200)).isEqualTo(125);
    }
}
