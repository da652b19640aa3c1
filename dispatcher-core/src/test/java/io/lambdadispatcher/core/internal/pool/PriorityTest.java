package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Priorities in the queue of one worker with one stream, with a shed delay of 300 ms. */
class PriorityTest {
    private static final AdmissionPolicy PRIORITIES = AdmissionPolicy.builder("default")
            .priorityHeader("X-Priority")
            .maxQueueDelay(Duration.ofMillis(300))
            .build();

    private final EmbeddedChannel loop = new EmbeddedChannel();
    private final List<String> failures = new ArrayList<>();
    private final List<String> served = new ArrayList<>();
    private final PooledConnection worker = new PooledConnection("worker");
    private FunctionPool pool = pool(PRIORITIES);
    private PoolShard shard = pool.shard(0);
    private ScriptedStream stream = new ScriptedStream(shard, worker, served);

    private FunctionPool pool(AdmissionPolicy policy) {
        return new FunctionPool(
                FunctionOptions.builder("f")
                        .queue(100, Duration.ofSeconds(10))
                        .traffic(TrafficPolicy.builder().admission(policy).build())
                        .build(),
                List.of(loop.eventLoop()),
                DispatcherObserver.NONE);
    }

    @BeforeEach
    void freeze() {
        loop.freezeTime();
        connect();
    }

    private void connect() {
        shard.workers().onMember(worker);
        shard.workers().setOpen(worker, true);
    }

    private void pass(long millis) {
        loop.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        loop.runScheduledPendingTasks();
        loop.runPendingTasks();
    }

    private RequestSink request(String priority, String path) {
        Http2Headers head = new DefaultHttp2Headers()
                .method("GET")
                .scheme("http")
                .authority("a")
                .path(path)
                .add("x-priority", priority);
        return shard.open(head, true, new SilentClient() {
            @Override
            public void onFailure(Failure failure) {
                failures.add(path + " " + failure.kind());
            }
        });
    }

    private void requests(String priority, int count) {
        for (int i = 0; i < count; i++) {
            request(priority, priority.charAt(0) + "" + i);
        }
    }

    /** Each request takes 100 ms. */
    private void serve(int count) {
        for (int i = 0; i < count; i++) {
            pass(100);
            stream.answer();
        }
    }

    @Test
    void should_serve_important_requests_first_and_all_in_proportion() {
        shard.workers().onStreamOpened(worker, stream);
        request("normal", "first");
        requests("sheddable", 2);
        requests("normal", 3);
        requests("Critical", 9);

        for (int i = 0; i < 14; i++) {
            stream.answer();
        }

        assertThat(served)
                .containsExactly(
                        "first", "C0", "C1", "C2", "n0", "C3", "C4", "C5", "C6", "n1", "C7", "C8", "n2", "s0", "s1");
        assertThat(failures).isEmpty();
    }

    @Test
    void should_refuse_sheddable_requests_that_would_wait_for_too_long() {
        shard.workers().onStreamOpened(worker, stream);
        request("sheddable", "first");
        requests("sheddable", 3);
        serve(2);
        served.clear();
        failures.clear();

        // One waits, and there is a turn every 100 ms.
        requests("sheddable", 4);
        requests("critical", 2);

        assertThat(failures).containsExactly("s2 SHED", "s3 SHED");
        serve(5);
        assertThat(served).hasSize(5);
        assertThat(failures).hasSize(2);
        assertThat(pool.pending()).isZero();
    }

    @Test
    void should_let_normal_requests_wait_for_four_times_as_long() {
        shard.workers().onStreamOpened(worker, stream);
        request("normal", "first");
        requests("normal", 3);
        serve(2);

        requests("normal", 15);

        // One waited already. Twelve turns are 1.2 s.
        assertThat(failures).containsExactly("n11 SHED", "n12 SHED", "n13 SHED", "n14 SHED");
    }

    @Test
    void should_refuse_a_sheddable_request_that_has_waited_for_twice_the_limit() {
        shard.workers().onStreamOpened(worker, stream);
        request("normal", "first");
        request("sheddable", "late");
        pass(500);
        request("sheddable", "fresh");
        pass(101);

        stream.answer();

        assertThat(failures).containsExactly("late SHED");
        assertThat(served).containsExactly("first", "fresh");
    }

    @Test
    void should_serve_the_last_request_however_long_it_has_waited() {
        shard.workers().onStreamOpened(worker, stream);
        request("normal", "first");
        request("sheddable", "late");
        pass(5000);

        stream.answer();

        assertThat(served).containsExactly("first", "late");
    }

    @Test
    void should_refuse_nothing_while_no_worker_is_connected_and_little_after_that() {
        requests("sheddable", 10);
        pass(5000);
        requests("sheddable", 10);
        assertThat(failures).isEmpty();

        shard.workers().onStreamOpened(worker, stream);
        for (int i = 0; i < 19; i++) {
            pass(30);
            stream.answer();
        }

        assertThat(served).hasSize(20);
        assertThat(failures).isEmpty();
    }

    @Test
    void should_keep_places_in_the_queue_for_important_requests() {
        shard.workers().onStreamOpened(worker, stream);
        request("normal", "first");

        requests("sheddable", 60);

        assertThat(failures).isNotEmpty().allMatch(each -> each.endsWith(" QUEUE_FULL"));
        failures.clear();
        requests("critical", 10);
        assertThat(failures).isEmpty();
    }

    @Test
    void should_forget_requests_that_their_clients_cancel() {
        shard.workers().onStreamOpened(worker, stream);
        request("sheddable", "first");
        requests("sheddable", 3);
        serve(2);
        List<RequestSink> waiting = new ArrayList<>();
        waiting.add(request("sheddable", "cancelled"));
        waiting.add(request("sheddable", "cancelled, too"));
        waiting.forEach(each -> each.cancel(ErrorCode.CANCELLED));

        request("sheddable", "x");
        request("sheddable", "y");

        assertThat(failures).isEmpty();
    }

    @Test
    void should_change_nothing_without_priorities() {
        pool = pool(AdmissionPolicy.NONE);
        shard = pool.shard(0);
        stream = new ScriptedStream(shard, worker, served);
        connect();
        shard.workers().onStreamOpened(worker, stream);
        request("sheddable", "first");
        requests("sheddable", 3);
        serve(2);
        requests("sheddable", 20);
        requests("critical", 1);

        serve(30);

        assertThat(failures).isEmpty();
        assertThat(served).hasSize(25).endsWith("c0");
    }
}
