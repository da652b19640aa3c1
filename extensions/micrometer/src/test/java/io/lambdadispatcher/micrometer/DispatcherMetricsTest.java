package io.lambdadispatcher.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.CapacitySnapshot.AdvisedBase;
import io.lambdadispatcher.core.observe.ClientSnapshot;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.ExtraAttempt;
import io.lambdadispatcher.core.observe.FilterEvent;
import io.lambdadispatcher.core.observe.FilterGauge;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.PoolSnapshot;
import io.lambdadispatcher.core.observe.ProcessSnapshot;
import io.lambdadispatcher.core.observe.RetryDenial;
import io.lambdadispatcher.core.observe.SessionResult;
import io.lambdadispatcher.core.observe.WorkerKind;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DispatcherMetricsTest {
    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final DispatcherMetrics observer = new DispatcherMetrics(registry);

    private static ExchangeEnd end(
            @Nullable String function, int status, Outcome outcome, @Nullable String failure, int attempts) {
        return new Ended(
                function,
                "w-1",
                "GET",
                "/ping",
                status,
                outcome,
                failure,
                10,
                400,
                TimeUnit.MICROSECONDS.toNanos(100),
                TimeUnit.MILLISECONDS.toNanos(3),
                attempts);
    }

    private record Ended(
            @Nullable String function,
            String workerId,
            String method,
            String path,
            int status,
            Outcome outcome,
            @Nullable String failure,
            long requestBytes,
            long responseBytes,
            long queueNanos,
            long totalNanos,
            int attempts)
            implements ExchangeEnd {
        @Override
        public Http2Headers headers() {
            return new DefaultHttp2Headers().method(method).path(path);
        }

        @Override
        public @Nullable WorkerKind workerKind() {
            return attempts == 0 ? null : attempts == 1 ? WorkerKind.BASE : WorkerKind.LAUNCHED;
        }

        @Override
        public @Nullable SessionResult sessionResult() {
            return attempts == 3 ? SessionResult.WORKER_GONE : null;
        }

        @Override
        public int extraAttempts(ExtraAttempt reason) {
            return reason == ExtraAttempt.HEDGE ? attempts - 1 : 0;
        }

        @Override
        public @Nullable RetryDenial retryDenial() {
            return failure == null ? null : RetryDenial.BUDGET;
        }
    }

    /** The observer ignores the start. */
    private void tell(ExchangeEnd end) {
        observer.onExchangeStart(null).onEnd(end);
    }

    @Test
    void should_count_requests_by_function_outcome_and_class_of_status() {
        tell(end("a", 200, Outcome.COMPLETED, null, 1));
        tell(end("a", 204, Outcome.COMPLETED, null, 1));
        tell(end("a", 503, Outcome.FAILED, "queue_full", 0));
        tell(end("b", 0, Outcome.CANCELLED, null, 1));
        tell(end(null, 404, Outcome.FAILED, "no_function", 0));

        assertThat(registry.scrape())
                .contains("lambda_dispatcher_requests_total{function=\"a\",outcome=\"completed\",status=\"2xx\"} 2.0\n")
                .contains("lambda_dispatcher_requests_total{function=\"a\",outcome=\"failed\",status=\"5xx\"} 1.0\n")
                .contains("lambda_dispatcher_worker_requests_total{function=\"a\",kind=\"base\"} 2.0\n")
                .contains("lambda_dispatcher_worker_requests_total{function=\"a\",kind=\"launched\"} 0.0\n")
                .contains(
                        "lambda_dispatcher_requests_total{function=\"b\",outcome=\"cancelled\",status=\"none\"} 1.0\n")
                .contains("lambda_dispatcher_requests_total{function=\"none\",outcome=\"failed\",status=\"4xx\"} 1.0\n")
                .contains("lambda_dispatcher_request_failures_total{failure=\"queue_full\",function=\"a\"} 1.0\n");
    }

    @Test
    void should_keep_histograms_of_duration_and_queue_time() {
        tell(end("a", 200, Outcome.COMPLETED, null, 1));

        assertThat(registry.scrape())
                .contains("lambda_dispatcher_request_duration_seconds_bucket{function=\"a\",le=\"0.0025\"} 0\n")
                .contains("lambda_dispatcher_request_duration_seconds_bucket{function=\"a\",le=\"0.005\"} 1\n")
                .contains("lambda_dispatcher_request_duration_seconds_sum{function=\"a\"} 0.003\n")
                .contains("lambda_dispatcher_request_queue_seconds_bucket{function=\"a\",le=\"2.5E-4\"} 1\n");
    }

    /** The duration of a tunnel that was open for a day says nothing about response times. */
    @Test
    void should_keep_tunnels_out_of_the_durations_of_requests() {
        tell(new Ended(
                "a", "w-1", "CONNECT", "/ws", 200, Outcome.COMPLETED, null, 1, 1, 0, TimeUnit.DAYS.toNanos(1), 1));
        tell(new Ended(
                "a", "w-1", "CONNECT", "/ws", 403, Outcome.COMPLETED, null, 1, 1, 0, TimeUnit.SECONDS.toNanos(1), 1));

        assertThat(registry.scrape())
                .contains("lambda_dispatcher_requests_total{function=\"a\",outcome=\"completed\",status=\"2xx\"} 1.0\n")
                .contains("lambda_dispatcher_tunnel_duration_seconds_sum{function=\"a\"} 86400.0\n")
                .contains("lambda_dispatcher_request_duration_seconds_sum{function=\"a\"} 1.0\n");
    }

    @Test
    void should_count_bytes_retries_and_sessions() {
        tell(end("a", 200, Outcome.COMPLETED, null, 3));
        tell(end("a", 503, Outcome.FAILED, "queue_full", 0));

        assertThat(registry.scrape())
                .contains("lambda_dispatcher_request_body_bytes_total{function=\"a\"} 20.0\n")
                .contains("lambda_dispatcher_response_body_bytes_total{function=\"a\"} 800.0\n")
                .contains("lambda_dispatcher_request_retries_total{function=\"a\",reason=\"hedge\"} 2.0\n")
                .contains("lambda_dispatcher_request_retries_denied_total{function=\"a\",reason=\"budget\"} 1.0\n")
                .contains("lambda_dispatcher_request_retries_total{function=\"a\",reason=\"lost\"} 0.0\n")
                .contains("lambda_dispatcher_request_sessions_total{function=\"a\",worker=\"kept\"} 0.0\n")
                .contains("lambda_dispatcher_request_sessions_total{function=\"a\",worker=\"worker_gone\"} 1.0\n");
    }

    @Test
    void should_show_pools_launches_and_clients_as_they_are_at_the_scrape() {
        CapacitySnapshot launching = new CapacitySnapshot(
                "a", 4, 1, 2, 1, 5, 7.5, 90.5, null, new AdvisedBase(60, 0.2, 0.3), null, null, "the switch is off");
        AtomicInteger looks = new AtomicInteger();
        observer.watch(
                List.of("a", "b"),
                () -> {
                    looks.incrementAndGet();
                    return List.of(new PoolSnapshot("a", 3, 2, 1, 0, 100, 60, 7));
                },
                () -> List.of(launching),
                () -> new ClientSnapshot(2, 1000, 4000, 1));

        assertThat(registry.scrape())
                .contains("lambda_dispatcher_workers{function=\"a\"} 3.0\n")
                .contains("lambda_dispatcher_workers{function=\"b\"} 0.0\n")
                .contains("lambda_dispatcher_workers_ready{function=\"a\"} 2.0\n")
                .contains("lambda_dispatcher_workers_ready_base{function=\"a\"} 1.0\n")
                .contains("lambda_dispatcher_worker_streams{function=\"a\"} 100.0\n")
                .contains("lambda_dispatcher_worker_streams_free{function=\"a\"} 60.0\n")
                .contains("lambda_dispatcher_requests_queued{function=\"a\"} 7.0\n")
                .contains("lambda_dispatcher_workers_desired{function=\"a\"} 4.0\n")
                .contains("lambda_dispatcher_base_advised_concurrency{function=\"a\"} 60.0\n")
                .contains("lambda_dispatcher_launches_blocked{function=\"a\"} 1.0\n")
                .contains("lambda_dispatcher_launches_blocked{function=\"b\"} 0.0\n")
                .contains("lambda_dispatcher_worker_gigabyte_seconds_total{function=\"a\"} 90.5\n")
                .contains("lambda_dispatcher_client_memory_bytes 1000.0\n")
                .contains("lambda_dispatcher_client_memory_limit_bytes 4000.0\n")
                .contains("lambda_dispatcher_client_memory_level 1.0\n");
        assertThat(looks).hasValue(1);
    }

    @Test
    void should_show_what_filters_report() {
        Map<String, String> labels = Map.of("shadow", "next", "result", "same");
        observer.onFilterEvent("a", FilterEvent.counted("shadow.requests", "Copies", labels));
        observer.onFilterEvent("a", FilterEvent.counted("shadow.requests", "Copies", labels));
        observer.onFilterEvent("a", new FilterEvent("shadow.headers", "Time", Map.of("of", "shadow"), 3_000_000));
        observer.onFilterEvent(null, FilterEvent.counted("denied", "Requests without a key", Map.of()));
        observer.onFilterEvent("a", FilterEvent.counted("compressed.body.bytes", "Bytes", Map.of(), 300));
        observer.onFilterEvent("a", FilterEvent.counted("compressed.body.bytes", "Bytes", Map.of(), 100));

        assertThat(registry.scrape())
                .contains("# HELP lambda_dispatcher_shadow_requests_total Copies\n")
                .contains(
                        "lambda_dispatcher_shadow_requests_total{function=\"a\",result=\"same\",shadow=\"next\"} 2.0\n")
                .contains("lambda_dispatcher_shadow_headers_seconds_sum{function=\"a\",of=\"shadow\"} 0.003\n")
                .contains("lambda_dispatcher_denied_total{function=\"none\"} 1.0\n")
                .contains("lambda_dispatcher_compressed_body_bytes_total{function=\"a\"} 400.0\n");
    }

    @Test
    void should_report_what_filters_measure() {
        AtomicInteger value = new AtomicInteger(7);
        observer.watch(new FilterGauge("cache.memory", "bytes", "Memory", false, value::get));
        observer.watch(new FilterGauge("cache.evictions", null, "Evictions", true, value::get));
        System.gc();
        value.set(9);
        assertThat(registry.scrape())
                .contains("# HELP lambda_dispatcher_cache_memory_bytes Memory\n")
                .contains("lambda_dispatcher_cache_memory_bytes 9.0\n")
                .contains("lambda_dispatcher_cache_evictions_total 9.0\n");
    }

    /** A look into the registry builds a meter each time. */
    @Test
    void should_look_for_the_meters_of_a_filter_once() {
        FilterEvent counted = FilterEvent.counted("quota.requests", "Requests", Map.of("result", "same"));
        FilterEvent timed = new FilterEvent("quota.time", "Time", Map.of(), 1);
        observer.onFilterEvent("a", counted);
        observer.onFilterEvent("a", timed);
        assertThat(registry.getMeters())
                .extracting(each -> each.getId().getName())
                .contains("lambda.dispatcher.quota.requests", "lambda.dispatcher.quota.time");
        registry.clear();
        observer.onFilterEvent("a", FilterEvent.counted("quota.requests", "Requests", Map.of("result", "same")));
        observer.onFilterEvent("a", timed);
        assertThat(registry.getMeters()).isEmpty();
        observer.onFilterEvent("a", FilterEvent.counted("quota.requests", "Requests", Map.of("result", "other")));
        assertThat(registry.getMeters()).hasSize(1);
    }

    @Test
    void should_count_connections_rejects_and_launches() {
        InetSocketAddress remote = InetSocketAddress.createUnresolved("somewhere", 1);
        observer.onClientConnected();
        observer.onClientConnected();
        observer.onClientDisconnected();
        observer.onWorkerConnected("a", "w-1", remote, 50);
        observer.onWorkerConnected("a", "w-1", remote, 50);
        observer.onWorkerDisconnected("a", "w-1", true, "goodbye");
        observer.onWorkerDisconnected("a", "w-1", false, "reset");
        observer.onWorkerRejected(remote, "wrong token");
        observer.onLaunch("a", "w-1", "minimum");
        observer.onLaunchEnd("a", "w-1", true, "exit code 1");

        assertThat(registry.scrape())
                .contains("lambda_dispatcher_client_connections 1.0\n")
                .contains("lambda_dispatcher_client_connections_accepted_total 2.0\n")
                .contains("lambda_dispatcher_worker_connections_opened_total{function=\"a\"} 2.0\n")
                .contains("lambda_dispatcher_worker_connections_closed_total{end=\"drained\",function=\"a\"} 1.0\n")
                .contains("lambda_dispatcher_worker_connections_closed_total{end=\"lost\",function=\"a\"} 1.0\n")
                .contains("lambda_dispatcher_worker_rejections_total 1.0\n")
                .contains("lambda_dispatcher_launches_total{function=\"a\"} 1.0\n")
                .contains("lambda_dispatcher_launches_ended_total{function=\"a\",result=\"failed\"} 1.0\n");
    }

    @Test
    void should_show_the_incidents_that_go_on_and_what_the_process_lacks() {
        Incident full =
                new Incident(Incident.Kind.REQUESTS_REFUSED, "a", "queue_full", "too many", Instant.EPOCH, 1, null);
        Incident over = new Incident(
                Incident.Kind.REQUESTS_REFUSED, "a", "queue_full", "too many", Instant.EPOCH, 9, Duration.ofSeconds(3));
        observer.watchProcess(() -> new ProcessSnapshot(1_500_000_000, 250_000_000, 0, 0.5, 0.5));
        observer.onIncident(full);

        assertThat(registry.scrape())
                .contains("lambda_dispatcher_incidents{function=\"a\",kind=\"requests_refused\"} 1.0\n")
                .contains("lambda_dispatcher_event_loop_lag_seconds 0.25\n")
                .contains("lambda_dispatcher_cpu_throttled_seconds_total 1.5\n");

        observer.onIncident(over);
        assertThat(registry.scrape())
                .contains("lambda_dispatcher_incidents{function=\"a\",kind=\"requests_refused\"} 0.0\n");
    }

    @Test
    void should_show_what_workers_report() {
        observer.onWorkerLoad("a", "w-1", 500, 250, 2000);

        assertThat(registry.scrape())
                .contains("lambda_dispatcher_worker_cpu_ratio_sum{function=\"a\"} 0.5\n")
                .contains("lambda_dispatcher_worker_memory_ratio_sum{function=\"a\"} 0.25\n")
                .contains("lambda_dispatcher_worker_loop_lag_seconds_sum{function=\"a\"} 0.002\n");
    }
}
