package io.lambdadispatcher.cache;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.cache.CacheRig.Call;
import io.lambdadispatcher.cache.CacheRig.Client;
import io.lambdadispatcher.cache.StoredResponse.Terms;
import io.lambdadispatcher.core.internal.exchange.Exchange;
import io.lambdadispatcher.core.internal.exchange.ExchangeOwner;
import io.lambdadispatcher.core.internal.exchange.Failure.Kind;
import io.lambdadispatcher.core.internal.exchange.RequestAdmission;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.RateLimit;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HttpCacheTest {
    private static final String FRESH = "cache-control: max-age=60";

    private CacheRig rig = new CacheRig(policy(Duration.ZERO), 1 << 20);

    private static TrafficPolicy policy(Duration staleIfError) {
        return TrafficPolicy.builder()
                .extension(
                        CachePolicy.class,
                        CachePolicy.builder("test")
                                .staleIfError(staleIfError)
                                .maxBodyBytes(1000)
                                .build())
                .build();
    }

    @AfterEach
    void release() {
        rig.close();
    }

    private Call call(int index) {
        assertThat(rig.calls).hasSizeGreaterThan(index);
        return rig.calls.get(index);
    }

    @Test
    void should_answer_from_the_store_on_all_event_loops() {
        Client first = rig.get(0, "/a");
        call(0).respond(200, "body", FRESH);
        assertThat(first.answer()).isEqualTo("200 body");
        assertThat(first.field("cache-status")).isEqualTo("lambda-dispatcher; fwd=uri-miss; stored");
        rig.pass(10);
        Client second = rig.get(1, "/a");
        assertThat(second.answer()).isEqualTo("200 body");
        assertThat(second.field("age")).isEqualTo("10");
        assertThat(second.field("content-length")).isEqualTo("4");
        assertThat(second.field("cache-status")).isEqualTo("lambda-dispatcher; hit; ttl=50");
        assertThat(rig.calls).hasSize(1);
        assertThat(rig.reports()).containsExactly("200 cache");
        assertThat(rig.send(0, "HEAD", "/a").answer()).isEqualTo("200");
        assertThat(rig.get(0, "/b").answer()).isEmpty();
    }

    /** It is chosen and described by the same look at the clock. */
    @Test
    void should_not_call_a_response_stale_that_it_takes_for_fresh() {
        rig.tickNanos = 3;
        int fresh = 0;
        for (int nanos = -30; nanos < 10; nanos++) {
            rig.get(0, "/" + nanos);
            int asked = rig.calls.size();
            call(asked - 1).respond(200, "body", "cache-control: max-age=60, stale-if-error=60");
            rig.pass(60);
            rig.nanos += nanos;
            Client client = rig.get(0, "/" + nanos);
            if (rig.calls.size() == asked) {
                fresh++;
                assertThat(client.field("cache-status")).isEqualTo("lambda-dispatcher; hit; ttl=0");
            }
        }
        assertThat(fresh).isBetween(1, 39);
    }

    @Test
    void should_answer_conditional_requests_9110_13() {
        rig.get(0, "/a");
        call(0).respond(200, "body", FRESH, "etag: W/\"x\"", "last-modified: Tue, 14 Nov 2023 22:13:20 GMT");
        assertThat(rig.get(0, "/a", "if-none-match: \"y\", \"x\"").answer()).isEqualTo("304");
        assertThat(rig.get(0, "/a", "if-none-match: \"y\"").answer()).isEqualTo("200 body");
        assertThat(rig.get(0, "/a", "if-modified-since: Tue, 14 Nov 2023 22:13:20 GMT")
                        .answer())
                .isEqualTo("304");
        rig.get(0, "/b");
        call(1).respond(200, "body", FRESH);
        assertThat(rig.get(0, "/b", "if-none-match: *").answer()).isEqualTo("304");
        assertThat(rig.get(0, "/b", "if-none-match: \"x\"").answer()).isEqualTo("200 body");
        assertThat(rig.reports()).containsExactly("304 cache", "200 cache", "304 cache", "304 cache", "200 cache");
    }

    @Test
    void should_refuse_only_if_cached_9111_5_2_1_7() {
        assertThat(rig.get(0, "/a", "cache-control: only-if-cached").answer()).isEqualTo("only_if_cached");
        assertThat(rig.calls).isEmpty();
    }

    @Test
    void should_forget_what_an_unsafe_request_changes_9111_4_4() {
        rig.get(0, "/a");
        call(0).respond(200, "old", FRESH);
        Client late = rig.get(0, "/a", "x-forwarded-host: b");
        rig.send(1, "POST", "/a");
        call(2).respond(500, "error");
        assertThat(rig.get(0, "/a").answer()).isEqualTo("200 old");
        rig.send(1, "POST", "/a");
        call(3).respond(303, "changed");
        assertThat(rig.get(0, "/a").answer()).isEmpty();
        // It was sent before the change, so it may be older.
        call(1).respond(200, "old", FRESH);
        assertThat(late.answer()).isEqualTo("200 old");
        assertThat(rig.get(0, "/a", "x-forwarded-host: b").answer()).isEmpty();
    }

    /** Routes with weights send the requests of one target to several functions. */
    @Test
    void should_forget_what_other_functions_have_answered_9111_4_4() {
        rig.get(0, "/a");
        call(0).respond(200, "old", FRESH);
        rig.route(1, "next");
        rig.get(1, "/a");
        call(1).respond(200, "other", FRESH);
        assertThat(rig.get(0, "/a").answer()).isEqualTo("200 old");
        assertThat(rig.get(1, "/a").answer()).isEqualTo("200 other");
        Client late = rig.get(0, "/a", "cache-control: no-cache");
        rig.send(1, "POST", "/a");
        call(3).respond(200, "changed");
        call(2).respond(200, "old", FRESH);
        assertThat(late.answer()).isEqualTo("200 old");
        assertThat(rig.get(0, "/a").answer()).isEmpty();
        assertThat(rig.get(1, "/a").answer()).isEmpty();
    }

    @Test
    void should_share_one_response_on_all_event_loops() {
        Client leader = rig.get(0, "/a");
        Client same = rig.get(0, "/a");
        Client other = rig.get(1, "/a");
        Client different = rig.get(1, "/a", "cookie: a=b");
        assertThat(rig.calls).hasSize(2);
        call(0).head(200, false, FRESH);
        call(0).data("bo", false);
        assertThat(leader.read().body.toString()).isEqualTo("bo");
        call(0).data("dy", true);
        rig.run();
        assertThat(leader.answer()).isEqualTo("200 body");
        assertThat(same.answer()).isEqualTo("200 body");
        assertThat(other.answer()).isEqualTo("200 body");
        assertThat(other.field("cache-status")).isEqualTo("lambda-dispatcher; fwd=uri-miss; collapsed; ttl=60");
        assertThat(different.answer()).isEmpty();
        assertThat(rig.reports()).containsExactly("200 collapsed", "200 collapsed");
        assertThat(rig.store.flights()).isEqualTo(1);
        assertThat(call(0).taken).isEqualTo(4);
    }

    @ParameterizedTest
    @ValueSource(strings = {"cache-control: private, max-age=60", "set-cookie: a=b", "cache-control: max-age=0"})
    void should_send_each_request_if_the_response_is_not_for_others(String field) {
        Client leader = rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        call(0).head(200, false, field);
        rig.run();
        assertThat(rig.calls).hasSize(2);
        call(1).respond(200, "two", field);
        call(0).data("one", true);
        assertThat(leader.answer()).isEqualTo("200 one");
        assertThat(waiting.answer()).isEqualTo("200 two");
        // The next requests do not wait.
        rig.get(0, "/a");
        rig.get(1, "/a");
        assertThat(rig.calls).hasSize(4);
    }

    /** Such as a long poll, whose responses are late and for one client. */
    @Test
    void should_wait_for_a_slow_response_only_once() {
        rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        for (int i = 0; i < 40; i++) {
            rig.sleepWithTimers(0.25);
        }
        assertThat(rig.calls).hasSize(2);
        rig.get(0, "/a");
        rig.get(1, "/a");
        assertThat(rig.calls).as("after 10 s").hasSize(4);
        rig.sleepWithTimers(9);
        for (int i = 1; i < 4; i++) {
            call(i).respond(200, "own", "cache-control: no-store");
        }
        assertThat(waiting.answer()).isEqualTo("200 own");
        rig.sleepWithTimers(9);
        rig.get(0, "/a");
        rig.get(1, "/a");
        assertThat(rig.calls).as("9 s after a response").hasSize(6);
    }

    /** Such as 304, or a response without a body. */
    @Test
    void should_learn_nothing_about_others_from_a_request_that_is_like_no_other() {
        rig.get(0, "/a", "if-none-match: \"x\"");
        call(0).head(304, true, "etag: \"x\"");
        rig.send(0, "HEAD", "/a");
        call(1).head(200, true, FRESH);
        rig.get(0, "/a", "cache-control: no-cache");
        call(2).respond(200, "own", "cache-control: no-store");
        rig.get(0, "/a");
        rig.get(1, "/a");
        assertThat(rig.calls).hasSize(4);
    }

    @Test
    void should_bound_the_memory_of_requests_that_do_not_wait() {
        String path = "/" + "x".repeat(60_000);
        for (int i = 0; i < 10_000; i++) {
            rig.store.setUnshared(path + i);
        }
        long bytes = 0;
        for (int i = 0; i < 10_000; i++) {
            bytes += rig.store.isUnshared(path + i) ? path.length() : 0;
        }
        assertThat(bytes).isBetween(1L, 1L << 20);
    }

    @Test
    void should_compare_vary_for_waiting_requests_9111_4_1() {
        rig.get(0, "/a", "x: 1");
        Client waiting = rig.get(1, "/a", "x: 2");
        call(0).respond(200, "one", FRESH, "vary: x");
        rig.run();
        call(1).respond(200, "two", FRESH, "vary: x");
        assertThat(waiting.answer()).isEqualTo("200 two");
        assertThat(rig.get(0, "/a", "x: 1").answer()).isEqualTo("200 one");
        assertThat(rig.get(0, "/a", "x: 2").answer()).isEqualTo("200 two");
        // Requests that differ no longer wait for each other.
        rig.get(0, "/a", "x: 3");
        rig.get(0, "/a", "x: 4");
        assertThat(rig.calls).hasSize(4);
    }

    /** By Date, which has whole seconds, and otherwise in the order of the requests. */
    @ParameterizedTest
    @CsvSource({"2, '', ''", "0.2, '', ''", "0.2, 20, 20", "2, 20, 22", "-2, 15, 19"})
    void should_keep_the_most_recent_response_9111_4(double later, String slowDate, String fastDate) {
        String[] first = {FRESH, "vary: x", slowDate.isEmpty() ? "x: y" : dateOf(slowDate)};
        String[] second = {FRESH, "vary: y", fastDate.isEmpty() ? "x: y" : dateOf(fastDate)};
        rig.get(0, "/a", "cache-control: no-cache");
        rig.pass(Math.abs(later));
        rig.get(1, "/a", "cache-control: no-cache");
        call(later > 0 ? 1 : 0).respond(200, "new", second);
        rig.pass(0.3);
        call(later > 0 ? 0 : 1).respond(200, "old", first);
        assertThat(rig.get(0, "/a").answer()).isEqualTo("200 new");
    }

    private static String dateOf(String second) {
        return "date: Tue, 14 Nov 2023 22:13:" + second + " GMT";
    }

    @Test
    void should_not_go_back_to_a_response_that_another_one_has_replaced() {
        rig.get(0, "/a", "x: 1");
        call(0).respond(200, "old", "cache-control: max-age=600");
        rig.get(0, "/a", "x: 1", "cache-control: no-cache");
        call(1).respond(200, "new", FRESH, "vary: x");
        rig.pass(61);
        assertThat(rig.get(0, "/a", "x: 1").answer()).isEmpty();
    }

    /** Each char is a byte: an e with an acute accent in ISO 8859-1, and the same one in UTF-8. */
    @Test
    void should_not_take_two_encodings_of_a_letter_for_the_same() {
        for (String field : List.of("x: ", "x-forwarded-prefix: ")) {
            int before = rig.calls.size();
            rig.get(0, "/a", field + "\u00e9");
            Client waiting = rig.get(1, "/a", field + "\u00c3\u00a9");
            call(before).respond(200, "one", FRESH, "vary: x");
            rig.run();
            call(before + 1).respond(200, "two", FRESH, "vary: x");
            assertThat(waiting.answer()).as(field).isEqualTo("200 two");
            assertThat(rig.get(0, "/a", field + "\u00e9").answer()).as(field).isEqualTo("200 one");
        }
        rig.get(0, "/\u00e9");
        call(4).respond(200, "one", FRESH, "etag: \"\u00e9\"");
        assertThat(rig.get(0, "/\u00c3\u00a9").answer()).isEmpty();
        rig.get(0, "/b");
        call(6).respond(200, "one", FRESH, "etag: \"\u00e9\"");
        assertThat(rig.get(0, "/b", "if-none-match: \"\u00c3\u00a9\"").answer()).isEqualTo("200 one");
        assertThat(rig.get(0, "/b", "if-none-match: \"\u00e9\"").answer()).isEqualTo("304");
    }

    /** Each char is a byte. The Kelvin sign of UTF-8 is a k in lower case, and names no link. */
    @Test
    void should_remove_what_connection_names_byte_by_byte() {
        rig.get(0, "/a");
        call(0).respond(200, "one", FRESH, "connection: lin\u00e2\u0084\u00aa, x", "link: </b>", "x: 1");
        Client later = rig.get(1, "/a");
        assertThat(later.field("link")).isEqualTo("</b>");
        assertThat(later.field("x")).isNull();
    }

    /** A partition that has all values of a name for each of them would be quadratic. */
    @Test
    void should_keep_each_repeated_header_once() {
        String[] fields = new String[190];
        Arrays.fill(fields, "x-forwarded-prefix: " + "p".repeat(100));
        Http2Headers head = CacheRig.fields(
                new FlatHeaders().method("GET").scheme("http").authority("h").path("/a"), fields);
        RequestContext asked = CacheRig.asked(head, policy(Duration.ZERO));
        CacheRequest request = CacheRequest.of(asked, asked.policy(CachePolicy.class));
        assertThat(request.partition()).hasSizeLessThan(190 * 150);
    }

    @Test
    void should_continue_for_others_if_the_first_client_disconnects() {
        Client leader = rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        call(0).head(200, false, FRESH);
        call(0).data("bo", false);
        leader.request.cancel(ErrorCode.CANCELLED);
        assertThat(call(0).cancelled).isFalse();
        call(0).data("dy", true);
        rig.run();
        assertThat(waiting.answer()).isEqualTo("200 body");
        assertThat(call(0).taken).isEqualTo(4);
        leader.read();
        assertThat(call(0).taken).isEqualTo(4);
    }

    @Test
    void should_cancel_if_a_response_without_a_client_is_not_for_others() {
        Client leader = rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        leader.request.cancel(ErrorCode.CANCELLED);
        assertThat(call(0).cancelled).isFalse();
        call(0).head(200, false, "cache-control: no-store");
        assertThat(call(0).cancelled).isTrue();
        rig.run();
        call(1).respond(200, "own", "cache-control: no-store");
        assertThat(waiting.answer()).isEqualTo("200 own");
    }

    @Test
    void should_cancel_if_a_response_without_a_client_is_too_large() {
        Client leader = rig.get(0, "/a");
        rig.get(1, "/a");
        leader.request.cancel(ErrorCode.CANCELLED);
        call(0).head(200, false, FRESH);
        call(0).data("x".repeat(900), false);
        assertThat(call(0).cancelled).isFalse();
        call(0).data("y".repeat(200), false);
        assertThat(call(0).cancelled).isTrue();
    }

    @Test
    void should_cancel_if_nobody_waits() {
        Client leader = rig.get(0, "/a");
        leader.request.cancel(ErrorCode.CANCELLED);
        assertThat(call(0).cancelled).isTrue();
        assertThat(rig.store.flights()).isZero();
        rig.get(0, "/a");
        assertThat(rig.calls).hasSize(2);
    }

    @Test
    void should_cancel_if_nobody_waits_any_more() {
        Client leader = rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        Client late = rig.get(1, "/a");
        rig.sleepWithTimers(0.25);
        late.request.cancel(ErrorCode.CANCELLED);
        waiting.request.cancel(ErrorCode.CANCELLED);
        leader.request.cancel(ErrorCode.CANCELLED);
        assertThat(call(0).cancelled).isTrue();
        assertThat(rig.store.flights()).isZero();
        rig.run();
        assertThat(rig.calls).hasSize(1);
    }

    @Test
    void should_forget_a_waiting_request_whose_client_disconnects() {
        rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        rig.pass(2);
        waiting.request.cancel(ErrorCode.CANCELLED);
        call(0).respond(200, "body", FRESH);
        rig.run();
        assertThat(waiting.answer()).isEmpty();
        assertThat(rig.calls).hasSize(1);
        assertThat(rig.observer.ends).extracting(ExchangeEnd::outcome).containsExactly(Outcome.CANCELLED);
        assertThat(rig.observer.ends.element().totalNanos()).isEqualTo(TimeUnit.SECONDS.toNanos(2));
    }

    @Test
    void should_send_waiting_requests_if_the_first_one_fails() {
        Client leader = rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        call(0).fail(Kind.RATE_LIMITED);
        rig.run();
        assertThat(leader.answer()).isEqualTo("rate_limited");
        call(1).respond(200, "body", FRESH);
        assertThat(waiting.answer()).isEqualTo("200 body");
    }

    @Test
    void should_never_share_a_response_that_is_cut_off() {
        Client leader = rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        call(0).head(200, false, FRESH);
        call(0).data("bo", false);
        call(0).fail(Kind.WORKER_LOST);
        rig.run();
        assertThat(leader.answer()).isEqualTo("worker_lost");
        assertThat(waiting.answer()).isEmpty();
        assertThat(rig.calls).hasSize(2);
    }

    @Test
    void should_neither_store_nor_delay_a_large_body() {
        Client leader = rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        call(0).head(200, false, FRESH);
        call(0).data("x".repeat(900), false);
        assertThat(call(0).taken).isEqualTo(900);
        call(0).data("y".repeat(200), false);
        assertThat(call(0).taken).isEqualTo(900);
        rig.run();
        assertThat(rig.calls).hasSize(2);
        leader.read();
        assertThat(call(0).taken).isEqualTo(1100);
        call(0).data("z", true);
        assertThat(leader.answer()).hasSize(4 + 1101);
        assertThat(call(0).taken).isEqualTo(1101);
        waiting.request.cancel(ErrorCode.CANCELLED);
        assertThat(call(1).cancelled).isTrue();
        assertThat(rig.store.bytes()).isZero();
    }

    @Test
    void should_give_waiting_requests_what_is_left_of_their_deadline() {
        rig.policy = rig.policy.toBuilder()
                .deadline(DeadlinePolicy.builder().limit(Duration.ofSeconds(5)).build())
                .build();
        rig.get(0, "/a");
        rig.get(1, "/a");
        rig.pass(2);
        call(0).respond(200, "body", "set-cookie: a=b");
        rig.run();
        assertThat(call(1).policy.deadline().limit()).isEqualTo(Duration.ofSeconds(3));
        rig.get(0, "/b");
        Client late = rig.get(1, "/b");
        rig.pass(6);
        call(2).respond(200, "body", "set-cookie: a=b");
        rig.run();
        assertThat(late.answer()).isEqualTo("deadline_exceeded");
    }

    @Test
    void should_report_the_time_that_a_request_has_waited() {
        rig.policy = rig.policy.toBuilder()
                .deadline(DeadlinePolicy.builder().limit(Duration.ofSeconds(5)).build())
                .build();
        rig.get(0, "/a");
        rig.get(1, "/a");
        rig.pass(3);
        call(0).respond(200, "body", FRESH);
        rig.run();
        rig.get(0, "/a");
        rig.get(0, "/b");
        rig.get(1, "/b");
        rig.pass(6);
        call(1).respond(200, "body", "set-cookie: a=b");
        rig.run();
        assertThat(rig.reports()).containsExactly("200 collapsed", "200 cache", "504 ");
        assertThat(rig.observer.ends)
                .extracting(end -> Duration.ofNanos(end.totalNanos()))
                .containsExactly(Duration.ofSeconds(3), Duration.ZERO, Duration.ofSeconds(6));
        assertThat(rig.observer.ends).allMatch(end -> end.queueNanos() == end.totalNanos());
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 400})
    void should_not_let_requests_wait_for_one_that_hangs_while_the_breaker_is_open(long latencyMillis) {
        rig.policy = policy(Duration.ofSeconds(60)).toBuilder()
                .breaker(BreakerPolicy.builder("test")
                        .errors(0.5)
                        .latency(Duration.ofMillis(latencyMillis))
                        .build())
                .build();
        rig.get(0, "/a");
        call(0).respond(200, "old", FRESH);
        rig.pass(61);
        rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        rig.sleepWithTimers(0.4);
        assertThat(rig.calls).hasSize(2);
        rig.open = true;
        Client later = rig.get(1, "/a");
        call(2).fail(Kind.BREAKER_OPEN);
        assertThat(later.answer()).isEqualTo("200 old");
        rig.sleepWithTimers(latencyMillis == 0 ? 9.6 : 0.4);
        call(3).fail(Kind.BREAKER_OPEN);
        assertThat(waiting.answer()).isEqualTo("200 old");
        assertThat(rig.calls).hasSize(4);
    }

    @Test
    void should_count_a_renewal_as_a_request_of_the_client_that_caused_it() {
        rig.policy = rig.policy.toBuilder()
                .admission(AdmissionPolicy.builder("test")
                        .rateLimit(RateLimit.of(1, Duration.ofSeconds(60)))
                        .build())
                .build();
        for (int i = 0; i < 2; i++) {
            rig.get(0, "/" + i);
            call(i).respond(200, "old", "cache-control: max-age=60, stale-while-revalidate=60");
        }
        rig.pass(61);
        rig.get(0, "/0");
        rig.get(0, "/1");
        RequestAdmission admission = new RequestAdmission("f");
        ExchangeOwner owner = (ExchangeOwner) Proxy.newProxyInstance(
                ExchangeOwner.class.getClassLoader(),
                new Class<?>[] {ExchangeOwner.class},
                (self, method, args) -> method.getReturnType() == long.class ? 1L : null);
        for (int i = 2; i < 4; i++) {
            Exchange renewal = new Exchange(owner, call(i).head, true, call(i).response, call(i).policy);
            assertThat(admission.admit(renewal)).as("renewal " + i).isTrue();
        }
    }

    @Test
    void should_renew_once_while_it_answers_5861_3() {
        rig.get(0, "/a");
        call(0).respond(200, "old", "cache-control: max-age=60, stale-while-revalidate=60");
        rig.pass(60.5);
        assertThat(rig.get(0, "/a", "if-none-match: \"q\"").answer()).isEqualTo("200 old");
        Client second = rig.get(1, "/a");
        assertThat(second.answer()).isEqualTo("200 old");
        assertThat(second.field("cache-status")).isEqualTo("lambda-dispatcher; hit; ttl=-1");
        assertThat(rig.calls).hasSize(2);
        assertThat(call(1).head.contains("if-none-match")).isFalse();
        call(1).respond(200, "new", FRESH);
        assertThat(call(1).taken).isEqualTo(3);
        assertThat(rig.get(1, "/a").answer()).isEqualTo("200 new");
        assertThat(rig.reports()).containsExactly("200 stale", "200 stale", "200 cache");
    }

    /** Each attempt is a paid invocation. */
    @ParameterizedTest
    @ValueSource(strings = {"500", "lost", "cut off", "short", "refused", "no-store"})
    void should_pause_after_a_failed_renewal(String how) {
        rig.get(0, "/a");
        call(0).respond(200, "old", "cache-control: max-age=60, stale-while-revalidate=60");
        rig.pass(61);
        assertThat(rig.get(0, "/a").answer()).isEqualTo("200 old");
        switch (how) {
            case "500" -> call(1).respond(500, "error");
            case "lost" -> call(1).fail(Kind.WORKER_LOST);
            case "refused" -> call(1).fail(Kind.QUEUE_FULL);
            case "short" -> call(1).respond(200, "new", FRESH, "content-length: 4");
            case "no-store" -> call(1).respond(200, "new", "cache-control: no-store");
            default -> {
                call(1).head(200, false, FRESH);
                call(1).fail(Kind.WORKER_LOST);
            }
        }
        rig.pass(9);
        assertThat(rig.get(1, "/a").answer()).isEqualTo("200 old");
        assertThat(rig.calls).hasSize(2);
        rig.pass(2);
        assertThat(rig.get(1, "/a").answer()).isEqualTo("200 old");
        call(2).respond(200, "new", FRESH);
        assertThat(rig.get(1, "/a").answer()).isEqualTo("200 new");
    }

    @ParameterizedTest
    @ValueSource(ints = {500, 502, 503, 504})
    void should_replace_an_error_5861_4(int status) {
        rig = new CacheRig(policy(Duration.ofSeconds(60)), 1 << 20);
        rig.get(0, "/a");
        call(0).respond(200, "old", FRESH);
        rig.pass(90);
        Client client = rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        call(1).head(status, false);
        assertThat(client.answer()).isEqualTo("200 old");
        call(1).data("error", true);
        assertThat(SilentClient.endOf(call(1).response, null).substitute().token())
                .isEqualTo("stale");
        rig.run();
        assertThat(waiting.answer()).isEqualTo("200 old");
        assertThat(call(1).taken).isEqualTo(5);
        rig.pass(30);
        Client later = rig.get(0, "/a");
        call(2).respond(status, "error");
        assertThat(later.answer()).isEqualTo(status + " error");
    }

    @Test
    void should_replace_a_failure_5861_4() {
        rig = new CacheRig(policy(Duration.ofSeconds(60)), 1 << 20);
        rig.get(0, "/a");
        call(0).respond(200, "old", FRESH);
        rig.pass(90);
        Client client = rig.get(0, "/a");
        call(1).fail(Kind.TIMEOUT);
        assertThat(client.answer()).isEqualTo("200 old");
        Client head = rig.send(0, "HEAD", "/a");
        call(2).fail(Kind.QUEUE_FULL);
        assertThat(head.answer()).isEqualTo("200");
        Client limited = rig.get(0, "/a");
        call(3).fail(Kind.RATE_LIMITED);
        assertThat(limited.answer()).isEqualTo("rate_limited");
        Client unwilling = rig.get(0, "/a", "cache-control: no-cache");
        call(4).fail(Kind.TIMEOUT);
        assertThat(unwilling.answer()).isEqualTo("timeout");
        Client cutOff = rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        call(5).head(200, false, FRESH);
        call(5).fail(Kind.WORKER_LOST);
        rig.run();
        assertThat(cutOff.answer()).isEqualTo("worker_lost");
        assertThat(waiting.answer()).isEqualTo("200 old");
    }

    @Test
    void should_not_replace_an_error_after_the_time_has_passed_during_the_request() {
        rig = new CacheRig(policy(Duration.ofSeconds(60)), 1 << 20);
        rig.get(0, "/a");
        call(0).respond(200, "old", FRESH);
        rig.pass(90);
        Client client = rig.get(0, "/a");
        rig.pass(31);
        call(1).fail(Kind.TIMEOUT);
        assertThat(client.answer()).isEqualTo("timeout");
    }

    // Removal.

    /** Removes the stored response, as an operator or a client does. */
    private void remove(String by) {
        if (by.equals("clear")) {
            rig.store.clear();
        } else {
            rig.send(1, by, "/a");
            call(rig.calls.size() - 1).respond(200, "changed");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "clear, fails",
        "clear, responds",
        "clear, is cut off",
        "POST, fails",
        "POST, responds",
        "POST, is cut off"
    })
    void should_not_replace_an_error_with_what_was_removed_meanwhile(String by, String how) {
        rig = new CacheRig(policy(Duration.ofSeconds(60)), 1 << 20);
        rig.get(0, "/a");
        call(0).respond(200, "wrong", FRESH);
        rig.pass(90);
        Client leader = rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        Client head = rig.send(1, "HEAD", "/a");
        Client conditional = rig.get(1, "/a", "if-none-match: \"x\"");
        remove(by);
        int asked = rig.calls.size();
        switch (how) {
            case "fails" -> call(1).fail(Kind.TIMEOUT);
            case "responds" -> call(1).respond(503, "error");
            default -> {
                call(1).head(200, false, FRESH);
                call(1).fail(Kind.WORKER_LOST);
            }
        }
        rig.run();
        assertThat(leader.answer()).isIn("timeout", "503 error", "worker_lost");
        assertThat(rig.calls).hasSize(asked + 1);
        call(asked).respond(200, "right", FRESH);
        assertThat(waiting.answer()).isEqualTo("200 right");
        rig.store.clear();
        call(2).fail(Kind.TIMEOUT);
        call(3).fail(Kind.TIMEOUT);
        assertThat(head.answer()).isEqualTo("timeout");
        assertThat(conditional.answer()).isEqualTo("timeout");
    }

    /** The requests that wait continue on their own event loops, which may be busy. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_not_give_waiting_requests_what_was_removed_before_their_turn(boolean failed) {
        rig = new CacheRig(policy(Duration.ofSeconds(60)), 1 << 20);
        rig.get(0, "/a");
        call(0).respond(200, "wrong", FRESH);
        rig.pass(90);
        Client leader = rig.get(0, "/a");
        Client waiting = rig.get(1, "/a");
        if (failed) {
            call(1).fail(Kind.TIMEOUT);
        } else {
            call(1).respond(200, "wrong", FRESH);
        }
        rig.store.clear();
        rig.run();
        assertThat(leader.answer()).isEqualTo("200 wrong");
        assertThat(waiting.answer()).isEmpty();
        call(2).respond(200, "right", FRESH);
        assertThat(waiting.answer()).isEqualTo("200 right");
    }

    /** An error is replaced with what has been stored since, too. */
    @Test
    void should_replace_an_error_with_what_was_stored_after_a_removal() {
        rig = new CacheRig(policy(Duration.ofSeconds(60)), 1 << 20);
        rig.get(0, "/a");
        call(0).respond(200, "wrong", FRESH);
        rig.pass(90);
        Client early = rig.get(0, "/a");
        remove("clear");
        rig.get(1, "/a");
        call(2).respond(200, "right", FRESH);
        call(1).fail(Kind.TIMEOUT);
        assertThat(early.answer()).isEqualTo("200 right");
        assertThat(early.field("cache-status")).isEqualTo("lambda-dispatcher; hit; ttl=60");
        assertThat(SilentClient.endOf(call(1).response, null).substitute().token())
                .isEqualTo("cache");
    }

    @ParameterizedTest
    @CsvSource({"clear, true", "clear, false", "POST, true", "POST, false", "PUT, true", "DELETE, false"})
    void should_not_wait_for_a_request_that_was_sent_before_a_removal(String by, boolean stored) {
        rig = new CacheRig(policy(Duration.ofSeconds(60)), 1 << 20);
        String forAll = "access-control-allow-origin: *";
        if (stored) {
            rig.get(0, "/a");
            call(0).respond(200, "wrong", FRESH, forAll);
            rig.pass(90);
        }
        Client early = rig.get(0, "/a");
        Call first = call(rig.calls.size() - 1);
        Client waiting = rig.get(1, "/a");
        remove(by);
        int asked = rig.calls.size();
        Client later = rig.get(1, "/a");
        Client last = rig.get(0, "/a");
        assertThat(rig.calls).hasSize(asked + 1);
        first.respond(200, "before", FRESH, forAll);
        rig.run();
        assertThat(early.answer()).isEqualTo("200 before");
        assertThat(later.answer()).isEmpty();
        assertThat(last.answer()).isEmpty();
        call(asked).respond(200, "after", FRESH, forAll);
        rig.run();
        assertThat(later.answer()).isEqualTo("200 after");
        assertThat(last.field("cache-status")).contains("collapsed");
        assertThat(last.answer()).isEqualTo("200 after");
        call(asked + 1).respond(200, "alone", FRESH, forAll);
        assertThat(waiting.answer()).isEqualTo("200 alone");
        assertThat(rig.store.flights()).isZero();
    }

    @ParameterizedTest
    @ValueSource(ints = {200, 304, 503})
    void should_not_bring_back_what_was_removed_during_its_renewal(int status) {
        rig.get(0, "/a", "origin: https://b.example");
        String renewed = "cache-control: max-age=60, stale-while-revalidate=60, stale-if-error=600";
        call(0).respond(200, "wrong", renewed, "etag: \"x\"", "access-control-allow-origin: *");
        rig.pass(61);
        assertThat(rig.get(0, "/a").answer()).isEqualTo("200 wrong");
        assertThat(call(1).head.contains("if-none-match")).isFalse();
        rig.store.clear();
        Client later = rig.get(1, "/a");
        call(1).head(status, status == 304, renewed, "etag: \"x\"");
        if (status != 304) {
            call(1).data("wrong", true);
        }
        rig.run();
        assertThat(later.answer()).isEmpty();
        assertThat(rig.store.bytes()).isZero();
        call(2).respond(200, "right", FRESH);
        assertThat(later.answer()).isEqualTo("200 right");
    }

    @Test
    void should_keep_what_was_stored_after_a_removal() {
        Client early = rig.get(0, "/a");
        remove("POST");
        rig.get(1, "/a");
        call(2).respond(200, "after", FRESH);
        call(0).respond(200, "before", FRESH);
        assertThat(early.answer()).isEqualTo("200 before");
        assertThat(rig.get(1, "/a").answer()).isEqualTo("200 after");
    }

    /** Another thread may look at any time, such as when the store looks at the clock. */
    @Test
    void should_never_show_what_is_removed_while_it_is_stored() {
        RequestContext asked = CacheRig.asked(
                new FlatHeaders().method("GET").scheme("http").authority("h").path("/a"), rig.policy);
        CacheRequest request = CacheRequest.of(asked, asked.policy(CachePolicy.class));
        List<StoredResponse> seen = new ArrayList<>();
        Deque<Runnable> others = new ArrayDeque<>();
        ResponseStore store = new ResponseStore(
                1 << 20,
                () -> {
                    Runnable other = others.poll();
                    if (other != null) {
                        other.run();
                    }
                    return 0;
                },
                () -> 0);
        int generation = store.generation(request.key());
        others.add(() -> store.invalidate(request.key()));
        for (int i = 0; i < 20; i++) {
            others.add(() -> seen.add(store.find(request, 0)));
        }
        Terms terms = new Terms(request.partition(), List.of(), List.of(), true, true, 0, 0, 9, 9, 9);
        StoredResponse before = new StoredResponse(terms, 200, asked.headers(), new byte[1]);
        assertThat(store.put(request, before, generation)).isFalse();
        assertThat(seen).allMatch(Objects::isNull);
    }

    /** The client has the response itself, and the function has confirmed it. */
    @Test
    void should_pass_on_a_304_without_bringing_back_what_was_removed() {
        rig = new CacheRig(policy(Duration.ofSeconds(60)), 1 << 20);
        rig.get(0, "/a");
        call(0).respond(200, "wrong", FRESH, "etag: \"x\"");
        rig.pass(90);
        Client client = rig.get(0, "/a", "if-none-match: \"x\"");
        rig.store.clear();
        call(1).head(304, true, FRESH, "etag: \"x\"");
        assertThat(client.answer()).isEqualTo("304");
        Client later = rig.get(1, "/a");
        assertThat(later.answer()).isEmpty();
        assertThat(call(2).head.contains("if-none-match")).isFalse();
        call(2).fail(Kind.TIMEOUT);
        assertThat(later.answer()).isEqualTo("timeout");
    }

    @Test
    void should_keep_what_a_client_still_reads_when_it_is_evicted() {
        rig = new CacheRig(policy(Duration.ZERO), 4000);
        rig.get(0, "/a").read();
        call(0).respond(200, "x".repeat(900), FRESH);
        Client slow = rig.get(0, "/a");
        for (int i = 0; i < 50; i++) {
            rig.get(0, "/" + i);
            rig.calls.get(rig.calls.size() - 1).respond(200, "y".repeat(900), FRESH);
        }
        assertThat(rig.store.bytes()).isLessThanOrEqualTo(4000);
        assertThat(rig.store.evictions()).isPositive();
        assertThat(slow.answer()).isEqualTo("200 " + "x".repeat(900));
        rig.store.clear();
        assertThat(rig.store.bytes()).isZero();
    }

    @Test
    void should_not_store_a_response_with_trailers_or_of_another_length() {
        Client leader = rig.get(0, "/a");
        call(0).head(200, false, FRESH);
        call(0).data("body", false);
        call(0).response.onTrailers(CacheRig.fields(new DefaultHttp2Headers()));
        assertThat(leader.answer()).isEqualTo("200 body");
        rig.pass(11);
        rig.get(0, "/a");
        call(1).respond(200, "body", FRESH, "content-length: 5");
        rig.get(0, "/a");
        assertThat(rig.calls).hasSize(3);
    }
}
