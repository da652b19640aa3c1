package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.filter.ScriptedFunction.Call;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.CanarySnapshot;
import io.lambdadispatcher.core.observe.CanarySnapshot.State;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.CanaryPolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CanaryFilterTest {
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final ScriptedFunction shop = new ScriptedFunction();
    private final ScriptedFunction next = new ScriptedFunction();
    private final FunctionFilters filters =
            new FunctionFilters("shop", DispatcherObserver.NONE, new StoredResponses(1));
    private final Map<String, FunctionOpener> others = new HashMap<>();
    private final FunctionOpener filter = filters.around(shop, channel.eventLoop(), others::get);

    @BeforeEach
    void open() {
        others.put("shop", filter);
        others.put(
                "next",
                new FunctionFilters("next", DispatcherObserver.NONE, new StoredResponses(1))
                        .around(next, channel.eventLoop(), others::get));
    }

    private static TrafficPolicy policy(String function, int... steps) {
        List<Integer> percents = Arrays.stream(steps).boxed().toList();
        return TrafficPolicy.builder()
                .canary(new CanaryPolicy(function, percents, Duration.ofMinutes(5)))
                .build();
    }

    private void request(TrafficPolicy policy, String key) {
        Http2Headers head = new DefaultHttp2Headers().method("GET").path("/").add("x-user", key);
        filter.open(head, true, new SilentClient(), policy);
    }

    private void requests(TrafficPolicy policy, int count) {
        for (int i = 0; i < count; i++) {
            request(policy, Integer.toString(i));
        }
    }

    private CanarySnapshot canary() {
        CanarySnapshot seen = filters.canary();
        assertThat(seen).isNotNull();
        return seen;
    }

    @Test
    void should_give_the_canary_its_share_with_its_own_policy() {
        next.policy = TrafficPolicy.builder()
                .affinity(Affinity.header("x-user"))
                .canary(CanaryPolicy.of("shop"))
                .build();
        requests(policy("next", 10), 10_000);
        assertThat(shop.calls.size() + next.calls.size()).isEqualTo(10_000);
        assertThat(next.calls.size()).isBetween(800, 1200);
        TrafficPolicy applied = next.calls.get(0).policy;
        assertThat(applied.affinity()).isEqualTo(Affinity.header("x-user"));
        assertThat(applied.canary().isOff()).as("a canary has no canary").isTrue();
    }

    @Test
    void should_keep_requests_with_the_same_key_on_one_side_while_the_share_rises() {
        TrafficPolicy.Builder sticky = TrafficPolicy.builder().affinity(Affinity.header("x-user"));
        Set<String> before = new HashSet<>();
        for (int percent : new int[] {10, 50}) {
            next.calls.clear();
            TrafficPolicy policy = sticky.canary(
                            new CanaryPolicy("next" + percent, List.of(percent), Duration.ofMinutes(5)))
                    .build();
            others.put("next" + percent, next);
            requests(policy, 1000);
            requests(policy, 1000);
            Set<String> keys = new HashSet<>();
            next.calls.forEach(call -> keys.add(call.head.get("x-user").toString()));
            assertThat(next.calls).hasSize(2 * keys.size());
            assertThat(keys.size()).isBetween(7 * percent, 13 * percent);
            assertThat(keys).containsAll(before);
            before = keys;
        }
    }

    @Test
    void should_take_all_requests_from_a_canary_that_fails() {
        TrafficPolicy policy = policy("next", 50, 100);
        filters.setPolicy(policy);
        for (int i = 0; i < 400; i++) {
            request(policy, "");
            shop.calls.forEach(call -> call.respond(200, true));
            shop.calls.clear();
            next.calls.forEach(call -> call.respond(500, true));
            next.calls.clear();
        }
        assertThat(canary().state()).isEqualTo(State.STOPPED);
        assertThat(canary().failures()).isLessThan(100);
        requests(policy, 100);
        assertThat(next.calls).isEmpty();
        Call plain = shop.calls.get(0);
        assertThat(plain.response).as("nothing is counted").isInstanceOf(SilentClient.class);

        assertThat(filters.resumeCanary()).isTrue();
        assertThat(canary().share()).isEqualTo(50);
        assertThat(filters.stopCanary()).isTrue();
        assertThat(filters.stopCanary()).isFalse();
    }

    @Test
    void should_count_what_clients_get() {
        TrafficPolicy policy = policy("next", 100);
        filters.setPolicy(policy);
        requests(policy, 8);
        next.calls.get(5).response.onFailure(new Failure(Failure.Kind.SHUTTING_DOWN, "closes"));
        next.calls.get(0).respond(404, true);
        next.calls.get(1).respond(503, true);
        next.calls.get(2).response.onFailure(new Failure(Failure.Kind.QUEUE_FULL, "full"));
        next.calls.get(3).respond(200, false);
        next.calls.get(3).response.onFailure(new Failure(Failure.Kind.WORKER_LOST, "lost"));
        next.calls.get(4).response.onFailure(new Failure(Failure.Kind.RATE_LIMITED, "too many"));
        assertThat(canary().requests()).isEqualTo(4);
        long failures = canary().failures();
        next.calls.get(6).respond(200, false);
        next.calls.get(6).response.onFailure(new Failure(Failure.Kind.SHUTTING_DOWN, "closes"));
        next.calls.get(7).respond(200, false);
        next.calls.get(7).response.onFailure(new Failure(Failure.Kind.TIMEOUT, "not read in time"));
        assertThat(canary().failures()).isEqualTo(failures);
        assertThat(canary().failures()).isEqualTo(3);
    }

    @Test
    void should_keep_the_state_over_a_reload_that_names_the_same_canary() {
        filters.setPolicy(policy("next", 10, 100));
        assertThat(filters.stopCanary()).isTrue();
        filters.setPolicy(policy("next", 20, 100));
        assertThat(canary().state()).isEqualTo(State.STOPPED);
        assertThat(filters.resumeCanary()).isTrue();
        assertThat(canary().share()).isEqualTo(20);

        filters.setPolicy(policy("other", 30));
        assertThat(canary().canary()).isEqualTo("other");
        filters.setPolicy(TrafficPolicy.NEUTRAL);
        assertThat(filters.canary()).isNull();
        filters.setPolicy(policy("next", 20));
        assertThat(canary().share()).isEqualTo(20);
    }

    /** Event loops get a new policy one after another. */
    @Test
    void should_forget_a_canary_that_a_request_with_the_earlier_policy_brings_back() {
        TrafficPolicy before = policy("next", 50);
        filters.setPolicy(before);
        assertThat(filters.stopCanary()).isTrue();
        Runnable then = filters.setPolicy(TrafficPolicy.NEUTRAL);
        requests(before, 10);
        then.run();
        assertThat(filters.stopCanary()).isFalse();
        filters.setPolicy(before);
        assertThat(canary().requests()).isZero();
    }

    @Test
    void should_serve_without_a_canary_that_is_not_there() {
        requests(policy("unknown", 100), 10);
        assertThat(shop.calls).hasSize(10);
    }
}
