package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Attempt;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Limits of rate and concurrency that two event loops share. */
class AdmissionTest extends OnTwoLoops {
    private static final AdmissionPolicy TENANTS = AdmissionPolicy.builder("default")
            .maxConcurrentRequests(5)
            .tenants("x-tenant", 3)
            .build();

    private final FunctionPool pool = new FunctionPool(
            FunctionOptions.builder("f")
                    .queue(3, Duration.ofSeconds(1))
                    .traffic(TrafficPolicy.builder().admission(TENANTS).build())
                    .build(),
            eventLoops(),
            DispatcherObserver.NONE);
    private final List<Failure> failures = new ArrayList<>();
    private final List<Attempt> attempts = new ArrayList<>();

    private void connect(int loop, int streams) {
        PooledConnection worker = new PooledConnection("worker " + loop);
        pool.shard(loop).workers().onMember(worker);
        pool.shard(loop).workers().setOpen(worker, true);
        for (int i = 0; i < streams; i++) {
            pool.shard(loop)
                    .workers()
                    .onStreamOpened(
                            worker,
                            new ScriptedStream(pool.shard(loop), worker, stream -> attempts.add(stream.attempt)));
        }
    }

    private static Http2Headers head(String tenant) {
        return new DefaultHttp2Headers()
                .method("GET")
                .scheme("http")
                .authority("a")
                .path("/")
                .add("x-tenant", tenant);
    }

    private final SilentClient client = new SilentClient() {
        @Override
        public void onFailure(Failure failure) {
            failures.add(failure);
        }
    };

    private RequestSink request(int loop, String tenant) {
        return pool.shard(loop).open(head(tenant), true, client);
    }

    private List<Failure.Kind> refused() {
        List<Failure.Kind> kinds = failures.stream().map(Failure::kind).toList();
        failures.clear();
        return kinds;
    }

    @Test
    void should_limit_a_tenant_and_all_over_both_event_loops() {
        connect(0, 10);
        connect(1, 10);
        request(0, "a");
        request(1, "a");
        request(0, "a");
        assertThat(refused()).isEmpty();

        request(1, "a");
        assertThat(failures)
                .extracting(Failure::detail)
                .containsExactly(
                        "3 requests with this x-tenant are already in flight for function f with policy default");
        assertThat(refused()).containsExactly(Failure.Kind.TENANT_LIMITED);

        request(1, "b");
        request(0, "b");
        request(1, "b");
        assertThat(refused()).containsExactly(Failure.Kind.BULKHEAD_FULL);

        attempts.get(0).onHead(new DefaultHttp2Headers().status("200"), true);
        request(1, "a");
        request(1, "a");
        assertThat(refused()).containsExactly(Failure.Kind.BULKHEAD_FULL);
    }

    @Test
    void should_free_the_place_however_a_request_ends() {
        connect(0, 2);
        request(0, "a").cancel(ErrorCode.CANCELLED);
        request(0, "a");
        attempts.get(1).onFailure(new Failure(Failure.Kind.HANDLER_FAILED, "a failure"));
        // No stream is free now, because the streams have not ended.
        request(0, "a").cancel(ErrorCode.CANCELLED);
        request(1, "a");
        request(1, "a");
        request(1, "a");
        assertThat(refused()).containsExactly(Failure.Kind.HANDLER_FAILED);
        request(1, "b");
        assertThat(refused()).containsExactly(Failure.Kind.QUEUE_FULL);
        pass(1001);
        assertThat(refused()).hasSize(3).containsOnly(Failure.Kind.QUEUE_TIMEOUT);

        request(1, "a");
        request(1, "a");
        request(1, "a");
        assertThat(refused()).isEmpty();
        request(1, "a");
        assertThat(refused()).containsExactly(Failure.Kind.TENANT_LIMITED);
    }

    @Test
    void should_count_on_while_the_policy_of_a_route_changes() {
        connect(0, 10);
        connect(1, 10);
        request(0, "a");
        request(0, "a");
        TrafficPolicy stricter = TrafficPolicy.builder()
                .admission(AdmissionPolicy.builder("default")
                        .tenants("x-tenant", 2)
                        .build())
                .build();

        pool.shard(1).open(head("a"), true, client, stricter);

        assertThat(refused()).containsExactly(Failure.Kind.TENANT_LIMITED);
        TrafficPolicy ofRoute = TrafficPolicy.builder()
                .admission(
                        AdmissionPolicy.builder("/route").tenants("x-tenant", 2).build())
                .build();
        pool.shard(1).open(head("a"), true, client, ofRoute);
        assertThat(refused()).isEmpty();
    }

    @Test
    void should_limit_the_rate_over_both_event_loops() {
        connect(0, 100);
        connect(1, 100);
        TrafficPolicy policy = TrafficPolicy.builder()
                .admission(AdmissionPolicy.builder("default")
                        .rateLimit(RateLimit.of(60, Duration.ofMinutes(1))
                                .burst(10)
                                .perHeader("x-tenant"))
                        .build())
                .build();
        for (int i = 0; i < 30; i++) {
            pool.shard(i % 2).open(head("a"), true, client, policy);
        }
        assertThat(attempts).hasSize(10);
        assertThat(failures).hasSize(20).allSatisfy(failure -> {
            assertThat(failure.kind()).isEqualTo(Failure.Kind.RATE_LIMITED);
            assertThat(failure.detail()).isEqualTo("more than 60 requests in 60 s");
            assertThat(failure.retryAfterSeconds()).isEqualTo(1);
            assertThat(failure.quota()).isEqualTo(new Failure.Quota("default", 60, 60));
        });

        pass(5_000);
        for (int i = 0; i < 30; i++) {
            pool.shard(i % 2).open(head("a"), true, client, policy);
        }
        assertThat(attempts).hasSize(15);
    }

    /** Otherwise, a client could evade its limit with one more value in each request. */
    @Test
    void should_count_all_requests_with_several_values_together() {
        connect(0, 100);
        TrafficPolicy policy = TrafficPolicy.builder()
                .admission(AdmissionPolicy.builder("default")
                        .rateLimit(RateLimit.of(60, Duration.ofMinutes(1))
                                .burst(10)
                                .perHeader("x-tenant"))
                        .tenants("x-tenant", 12)
                        .build())
                .build();
        for (int i = 0; i < 30; i++) {
            pool.shard(0).open(head("a").add("x-tenant", "random-" + i), true, client, policy);
            pool.shard(0).open(head("random-" + i).add("x-tenant", "a"), true, client, policy);
        }
        assertThat(attempts).hasSize(10);
        failures.clear();
        pool.shard(0).open(head("a"), true, client, policy);
        assertThat(failures).as("the only value is not used up").isEmpty();
    }

    @Test
    void should_charge_no_token_for_a_request_that_finds_the_bulkhead_full() {
        connect(0, 100);
        TrafficPolicy policy = TrafficPolicy.builder()
                .admission(AdmissionPolicy.builder("default")
                        .maxConcurrentRequests(2)
                        .rateLimit(RateLimit.of(3, Duration.ofHours(1)).perRoute())
                        .build())
                .build();
        for (int i = 0; i < 10; i++) {
            pool.shard(0).open(head("a"), true, client, policy);
        }
        assertThat(refused()).hasSize(8).containsOnly(Failure.Kind.BULKHEAD_FULL);
        attempts.forEach(each -> each.onHead(new DefaultHttp2Headers().status("200"), true));

        pool.shard(0).open(head("a"), true, client, policy);
        pool.shard(0).open(head("a"), true, client, policy);

        assertThat(refused()).containsExactly(Failure.Kind.RATE_LIMITED);
        // The refused request has left the bulkhead.
        pool.shard(0).open(head("a"), true, client, policy);
        assertThat(refused()).containsExactly(Failure.Kind.RATE_LIMITED);
    }

    /** A browser sends a preflight request for each of some requests, and a page cannot see it. */
    @Test
    void should_not_spend_limits_on_preflight_requests() {
        connect(0, 100);
        TrafficPolicy policy = TrafficPolicy.builder()
                .admission(AdmissionPolicy.builder("default")
                        .maxConcurrentRequests(4)
                        .rateLimit(RateLimit.of(2, Duration.ofHours(1)).perRoute())
                        .build())
                .build();
        Http2Headers preflight = head("a").method("OPTIONS").add("origin", "https://b");
        preflight.add("access-control-request-method", "PUT");
        for (int i = 0; i < 4; i++) {
            pool.shard(0).open(preflight, true, client, policy);
        }
        assertThat(refused()).isEmpty();
        pool.shard(0).open(head("a"), true, client, policy);
        pool.shard(0).open(head("a"), true, client, policy);
        assertThat(refused()).isEmpty();
        pool.shard(0).open(head("a").method("OPTIONS"), true, client, policy);
        assertThat(refused()).containsExactly(Failure.Kind.RATE_LIMITED);
        // They are no way around the limits.
        pool.shard(0).open(preflight, true, client, policy);
        assertThat(refused()).containsExactly(Failure.Kind.BULKHEAD_FULL);
        for (int i = 0; i < 100; i++) {
            attempts.forEach(each -> each.onHead(new DefaultHttp2Headers().status("200"), true));
            attempts.clear();
            pool.shard(0).open(preflight, true, client, policy);
        }
        assertThat(refused()).hasSize(84).containsOnly(Failure.Kind.RATE_LIMITED);
    }
}
