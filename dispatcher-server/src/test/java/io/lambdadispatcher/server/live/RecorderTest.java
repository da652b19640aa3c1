package io.lambdadispatcher.server.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import io.lambdadispatcher.core.observe.BreakerState;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.Substitute;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class RecorderTest {
    private final Recorder recorder = new Recorder();

    record End(
            @Nullable String function,
            @Nullable String workerId,
            int attempts,
            String method,
            String path,
            int status,
            Outcome outcome,
            @Nullable String failure,
            long queueNanos,
            long firstByteNanos,
            long totalNanos)
            implements ExchangeEnd {
        End(
                @Nullable String function,
                @Nullable String workerId,
                int attempts,
                String method,
                String path,
                int status,
                Outcome outcome,
                @Nullable String failure,
                long queueNanos,
                long totalNanos) {
            this(
                    function,
                    workerId,
                    attempts,
                    method,
                    path,
                    status,
                    outcome,
                    failure,
                    queueNanos,
                    outcome == Outcome.COMPLETED ? totalNanos : -1,
                    totalNanos);
        }

        @Override
        public Http2Headers headers() {
            return new DefaultHttp2Headers().method(method).path(path);
        }

        /** What was completed without an attempt was answered by a filter. */
        @Override
        public @Nullable Substitute substitute() {
            return attempts == 0 && outcome == Outcome.COMPLETED ? Substitute.FILTER : null;
        }

        @Override
        public long requestBytes() {
            return 0;
        }

        @Override
        public long responseBytes() {
            return 0;
        }
    }

    private void end(@Nullable String function, String method, int status, Outcome outcome, @Nullable String failure) {
        recorder.onExchangeStart(null)
                .onEnd(new End(
                        function,
                        "w",
                        1,
                        method,
                        "/orders?token=secret",
                        status,
                        outcome,
                        failure,
                        1_000_000,
                        5_000_000));
    }

    @Test
    void should_keep_the_incidents_that_go_on() {
        Incident lost = new Incident(Incident.Kind.WORKERS_LOST, "a", "", "worker 1", Instant.EPOCH, 1, null);
        Incident full = new Incident(
                Incident.Kind.REQUESTS_REFUSED, "a", "queue_full", "x", Instant.EPOCH.plusSeconds(1), 1, null);
        recorder.onIncident(lost);
        recorder.onIncident(full);
        assertThat(recorder.incidents()).containsExactly(full, lost);

        Incident over =
                new Incident(Incident.Kind.WORKERS_LOST, "a", "", "worker 1", Instant.EPOCH, 3, Duration.ofSeconds(9));
        recorder.onIncident(over);
        assertThat(recorder.incidents()).containsExactly(full);

        // The next one can begin before the end of this one is told.
        Incident next =
                new Incident(Incident.Kind.WORKERS_LOST, "a", "", "worker 2", Instant.EPOCH.plusSeconds(40), 1, null);
        recorder.onIncident(next);
        recorder.onIncident(over);
        assertThat(recorder.incidents()).containsExactly(next, full);
    }

    @Test
    void should_count_requests_and_their_time_with_workers() {
        end("f", "GET", 200, Outcome.COMPLETED, null);
        end("f", "GET", 504, Outcome.FAILED, "timeout");
        end("f", "CONNECT", 200, Outcome.COMPLETED, null);
        end(null, "GET", 404, Outcome.FAILED, "no_function");

        Recorder.Counts counts = recorder.counts("f");
        assertThat(counts.requests()).isEqualTo(3);
        assertThat(counts.failures.sum()).isEqualTo(1);
        assertThat(counts.serviceNanos.sum()).as("without the tunnel").isEqualTo(8_000_000);
        assertThat(recorder.counts("none").failures.sum()).isEqualTo(1);
    }

    @Test
    void should_count_what_costs_money() {
        for (End end : List.of(
                new End("f", "w", 1, "GET", "/", 200, Outcome.COMPLETED, null, 0, 5),
                new End("f", null, 1, "GET", "/", 200, Outcome.COMPLETED, null, 1, 5),
                new End("f", null, 0, "GET", "/", 503, Outcome.FAILED, "queue_full", 0, 0),
                new End("f", null, 0, "GET", "/", 503, Outcome.FAILED, "queue_timeout", 9, 9))) {
            recorder.onExchangeStart(null).onEnd(end);
        }

        Recorder.Counts counts = recorder.counts("f");
        assertThat(counts.requests()).isEqualTo(4);
        assertThat(counts.served()).isEqualTo(2);
        assertThat(counts.direct.sum()).isEqualTo(1);
    }

    @Test
    void should_remember_the_latest_failures_without_queries() {
        for (int i = 0; i < 150; i++) {
            end("f", "GET", i, Outcome.FAILED, "timeout");
        }

        List<Recorder.FailedRequest> failures = recorder.failures().list();
        assertThat(failures).hasSize(100);
        assertThat(failures.get(0).status()).as("the latest first").isEqualTo(149);
        assertThat(failures.get(0).reason()).isEqualTo("timeout");
        assertThat(failures.get(0).path()).isEqualTo("/orders");
        assertThat(failures.get(0).millis()).isEqualTo(5);
    }

    @Test
    void should_remember_the_start_of_a_long_path_and_method() {
        recorder.onExchangeStart(null)
                .onEnd(new End(
                        null,
                        null,
                        0,
                        "M".repeat(60_000),
                        "/" + "p".repeat(60_000),
                        404,
                        Outcome.FAILED,
                        "no_function",
                        0,
                        0));

        Recorder.FailedRequest failure = recorder.failures().list().get(0);
        assertThat(failure.path()).isEqualTo("/" + "p".repeat(511));
        assertThat(failure.method()).isEqualTo("M".repeat(512));
    }

    @Test
    void should_not_wait_for_a_reader_in_a_flood_of_failures() throws Exception {
        Latest<Integer> latest = new Latest<>(3);
        CountDownLatch reading = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        latest.add(1);
        Thread reader = new Thread(() -> latest.replace(
                each -> {
                    reading.countDown();
                    try {
                        return !done.await(10, TimeUnit.SECONDS);
                    } catch (InterruptedException e) {
                        throw new AssertionError(e);
                    }
                },
                0));
        reader.start();
        reading.await();

        latest.tryAdd(() -> 2);
        done.countDown();
        reader.join();
        latest.tryAdd(() -> 3);

        assertThat(latest.list()).containsExactly(3, 1);
    }

    @Test
    void should_join_a_launch_and_its_end() {
        recorder.onLaunch("f", "w-1", "minimum");
        recorder.onLaunch("f", "w-2", "minimum");
        recorder.onLaunch("f", "w-3", "minimum");
        recorder.onLaunchEnd("f", "w-1", true, "out of memory");
        recorder.onLaunchEnd("f", "w-2", false, "drained");

        List<Recorder.Launch> launches = recorder.launches();
        assertThat(launches)
                .as("the failed one first")
                .extracting(Recorder.Launch::worker)
                .containsExactly("w-1", "w-3", "w-2");
        assertThat(launches).extracting(Recorder.Launch::failed).containsExactly(true, false, false);
        assertThat(launches).extracting(Recorder.Launch::detail).containsExactly("out of memory", null, "drained");
        assertThat(launches).extracting(Recorder.Launch::reason).containsOnly("minimum");
        assertThat(launches.get(1).end()).isNull();
        assertThat(recorder.counts("f").launches.sum()).isEqualTo(3);
    }

    @Test
    void should_remember_failed_launches_for_longer_than_others() {
        recorder.onLaunch("f", "old", "minimum");
        Instant time = recorder.launches().get(0).time();
        for (int i = 0; i < 500; i++) {
            recorder.onLaunch("f", "w-" + i, "minimum");
        }
        recorder.onLaunchEnd("f", "old", true, "out of memory");
        recorder.onLaunchEnd("f", "w-0", false, "drained");

        List<Recorder.Launch> launches = recorder.launches();
        assertThat(launches).hasSize(51);
        assertThat(launches.get(0).worker()).isEqualTo("old");
        assertThat(launches.get(0).time()).isEqualTo(time);
        assertThat(launches.get(1).worker()).isEqualTo("w-499");
    }

    @Test
    void should_sample_what_happened_in_each_second() {
        History history = new History(recorder);
        List<PoolSnapshot> pools = List.of(new PoolSnapshot("f", 2, 1, 0, 0, 20, 15, 3));
        end("f", "GET", 200, Outcome.COMPLETED, null);
        history.sample(pools);
        end("f", "GET", 200, Outcome.COMPLETED, null);
        end("f", "GET", 504, Outcome.FAILED, "timeout");
        history.sample(pools);

        assertThat(history.of("f")).containsExactly(new History.Sample(2, 1, 3, 5, 1, 0, 0, 0));
        for (int i = 0; i < 400; i++) {
            history.sample(pools);
        }
        assertThat(history.of("f")).hasSize(History.SECONDS);
        assertThat(history.of("other")).isEmpty();
        assertThat(history.latencies("f")).hasSize(60);
        assertThat(history.latencies("other")).isEmpty();
    }

    /** A status of a function is no failure of the dispatcher, but an operator must see it. */
    @Test
    void should_count_responses_by_class_of_status() {
        History history = new History(recorder);
        List<PoolSnapshot> pools = List.of(new PoolSnapshot("f", 3, 3, 2, 0, 20, 20, 0));
        history.sample(pools);
        for (int status : new int[] {200, 201, 302, 404, 404, 500, 503, 503}) {
            end("f", "GET", status, Outcome.COMPLETED, null);
        }
        end("f", "GET", 503, Outcome.FAILED, "queue_full");
        end("f", "GET", 0, Outcome.CANCELLED, null);
        history.sample(pools);

        assertThat(history.of("f")).containsExactly(new History.Sample(10, 1, 0, 0, 3, 2, 2, 3));
        Recorder.Counts counts = recorder.counts("f");
        assertThat(counts.responses(0)).isEqualTo(1);
        assertThat(counts.responses(2)).isEqualTo(2);
        assertThat(counts.responses(5)).isEqualTo(3);
        assertThat(counts.failures.sum()).isEqualTo(1);
    }

    private void endAfter(int millis, int queueMillis, int firstByteMillis, int attempts, Outcome outcome) {
        recorder.onExchangeStart(null)
                .onEnd(new End(
                        "f",
                        attempts == 0 ? null : "w",
                        attempts,
                        "GET",
                        "/",
                        200,
                        outcome,
                        null,
                        TimeUnit.MILLISECONDS.toNanos(queueMillis),
                        firstByteMillis < 0 ? -1 : TimeUnit.MILLISECONDS.toNanos(firstByteMillis),
                        TimeUnit.MILLISECONDS.toNanos(millis)));
    }

    @Test
    void should_split_latencies_into_queue_and_worker() {
        History history = new History(recorder);
        List<PoolSnapshot> pools = List.of(new PoolSnapshot("f", 1, 1, 0, 0, 1, 1, 0));
        history.sample(pools);
        for (int i = 0; i < 97; i++) {
            endAfter(60, 0, 10, 1, Outcome.COMPLETED);
        }
        // The client left before the response began. Nobody waited for a first byte.
        endAfter(70, 0, -1, 1, Outcome.CANCELLED);
        for (int i = 0; i < 2; i++) {
            endAfter(500, 400, 480, 1, Outcome.COMPLETED);
        }
        for (int i = 0; i < History.SECONDS_OF_LATENCIES; i++) {
            assertThat(history.latencies("f")).isEmpty();
            history.sample(pools);
        }

        History.Latencies seen = history.latencies("f").get(0);
        assertThat(seen.queue().median()).as("nothing waits").isLessThan(200);
        assertThat(seen.queue().p99()).isBetween(400_000L, 500_000L);
        assertThat(seen.worker().median()).isBetween(10_000L, 12_500L);
        assertThat(seen.worker().p99()).as("without the queue").isBetween(80_000L, 100_000L);
        assertThat(seen.firstByte().p99()).isBetween(480_000L, 600_000L);

        // Requests that no worker gets are long in the queue, and their clients wait for the error.
        endAfter(20_000, 20_000, -1, 0, Outcome.FAILED);
        for (int i = 0; i < History.SECONDS_OF_LATENCIES; i++) {
            history.sample(pools);
        }
        seen = history.latencies("f").get(1);
        assertThat(seen.queue().median()).isBetween(20_000_000L, 25_000_000L);
        assertThat(seen.worker()).as("no request").isEqualTo(new History.Quantiles(-1, -1));
        assertThat(seen.firstByte().median()).isBetween(20_000_000L, 25_000_000L);
    }

    /** Its bucket also has the requests that were hardly queued. */
    @Test
    void should_count_requests_that_were_queued_for_a_little_more_than_the_least() {
        History history = new History(recorder);
        List<PoolSnapshot> pools = List.of(new PoolSnapshot("f", 1, 1, 0, 0, 1, 1, 0));
        history.sample(pools);
        for (int i = 0; i < 9; i++) {
            recorder.onExchangeStart(null)
                    .onEnd(new End("f", "w", 1, "GET", "/", 200, Outcome.COMPLETED, null, 110_000, 5_000_000));
        }
        endAfter(500, 400, 480, 1, Outcome.COMPLETED);
        for (int i = 0; i < History.SECONDS_OF_LATENCIES; i++) {
            history.sample(pools);
        }

        assertThat(history.latencies("f").get(0).queue().median()).isBetween(110L, 132L);
    }

    @Test
    void should_count_routes_of_requests_that_were_answered_without_a_worker() {
        recorder.onExchangeStart(null)
                .onEnd(new End("f", null, 0, "GET", "/a", 200, Outcome.COMPLETED, null, 0, -1, 5_000_000));

        assertThat(recorder.routes().list("f", System.nanoTime()))
                .singleElement()
                .satisfies(route -> {
                    assertThat(route.name()).isEqualTo("GET /a");
                    assertThat(route.p99Micros()).isBetween(5_000L, 6_250L);
                });
    }

    @Test
    void should_know_quantiles_of_all_durations_within_25_percent() {
        for (long micros : new long[] {1, 131, 132, 999, 1_000, 54_321, 1_000_000, 900_000_000L}) {
            LatencyCounts counts = new LatencyCounts();
            long[] before = counts.sums();
            counts.record(TimeUnit.MICROSECONDS.toNanos(micros));
            assertThat(LatencyCounts.quantileMicros(before, counts.sums(), 0.99))
                    .as("%d µs", micros)
                    .isBetween(micros, Math.max(132, micros * 5 / 4));
            assertThat(counts.total()).isEqualTo(1);
        }
        LatencyCounts counts = new LatencyCounts();
        counts.record(Long.MAX_VALUE);
        assertThat(LatencyCounts.quantileMicros(new LatencyCounts().sums(), counts.sums(), 0.5))
                .as("half an hour or more")
                .isGreaterThan(TimeUnit.MINUTES.toMicros(30));
    }

    @Test
    void should_remember_what_has_changed() {
        recorder.onIncident(new Incident(
                Incident.Kind.WORKERS_LOST, "a", "", "worker 1 is gone", Instant.EPOCH, 1, Duration.ofSeconds(9)));
        recorder.onBreaker("a", "default", BreakerState.OPEN, "60 % failed");
        recorder.onLaunch("a", "w-1", "minimum");
        recorder.onLaunchEnd("a", "w-1", true, "out of memory");

        assertThat(recorder.changes().list())
                .extracting(each -> each.kind().token() + " " + each.function() + " " + each.text())
                .containsExactly(
                        "launch_failed a w-1: out of memory",
                        "launch a w-1: minimum",
                        "breaker a breaker default lets 0 % of the requests pass: 60 % failed",
                        "incident_over a workers of function a are lost: worker 1 is gone");
    }

    /** The figures are those of AWS's price list, calculated by hand. */
    @Test
    void should_compare_the_cost_with_direct_invocations() {
        assertThat(Cost.of(1_000_000, 1_000_000)).isCloseTo(16.67 + 0.20, within(0.01));
        long nanos = TimeUnit.MILLISECONDS.toNanos(100);
        assertThat(Cost.ofDirect(10_000_000, 10_000_000 * nanos, 512))
                .as("ten million requests of 100 ms with 512 MB")
                .isCloseTo(8.33 + 2.00, within(0.01));
    }
}
