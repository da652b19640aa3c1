package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.BreakerPolicy;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the contract has for filters that keep responses for other clients. */
class StoringFilterTest {
    private static final byte[] OLD = "old".getBytes(StandardCharsets.US_ASCII);

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final RecordingObserver observer = new RecordingObserver();
    private final ScriptedFunction function = new ScriptedFunction();
    private final Client client = new Client();
    private final List<String> seen = new ArrayList<>();
    private final FilterLoop home =
            new FilterLoop(channel.eventLoop(), observer, (name, request, sender) -> new CompletableFuture<>());

    @BeforeEach
    void freeze() {
        channel.freezeTime();
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    private static final class Client extends SilentClient {
        private final StringBuilder log = new StringBuilder();
        private @Nullable Http2Headers head;
        private @Nullable SocketAddress address;

        @Override
        public Requester requester() {
            return new Requester.Known("the client's key", address, ClientProtocol.HTTP_2);
        }

        @Override
        public void onHead(Http2Headers given, boolean end) {
            head = given;
            log.append(given.status()).append(end ? "$" : " ");
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            log.append(data.toString(StandardCharsets.US_ASCII)).append(end ? "$" : " ");
            data.release();
        }

        @Override
        public void onFailure(Failure failure) {
            log.append(failure.kind());
        }
    }

    /** Writes down what it is told. */
    private class Follower implements ResponseFilter {
        boolean wanted;
        boolean paced = true;

        @Override
        public boolean outlivesClient() {
            return wanted;
        }

        @Override
        public boolean isPaced() {
            return paced;
        }

        @Override
        public void onHead(int status, HeaderFields headers) {
            seen.add("head " + status);
        }

        @Override
        public ByteBuf onData(ByteBuf data) {
            seen.add("data " + data.toString(StandardCharsets.US_ASCII));
            return data;
        }

        @Override
        public void onEnd(@Nullable String failure) {
            seen.add("end " + failure);
        }
    }

    private RequestSink open(TrafficPolicy policy, Filter filter) {
        return behind(filter).open(head(), true, client, policy);
    }

    private RequestSink open(Filter filter) {
        return open(TrafficPolicy.NEUTRAL, filter);
    }

    private FunctionOpener behind(Filter filter) {
        FunctionOpener breaker = new FunctionFilters("f", observer).around(function, channel.eventLoop());
        return new RequestFilters(List.of(filter), Map.of()).beforeFunction("f", breaker, true, home);
    }

    private static Http2Headers head() {
        return ScriptedFunction.request("GET", "x-asked", "1");
    }

    private static ByteBuf ascii(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII);
    }

    private void pass(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runScheduledPendingTasks();
        channel.runPendingTasks();
    }

    private static Decision.Answer old(HeaderFields kept) {
        HeaderFields headers = kept.copy();
        headers.set("x-kept", "yes");
        return Decision.answer(203, headers, OLD, Substitute.STALE);
    }

    // Answers.

    @Test
    void should_answer_with_copied_headers_and_say_what_answered() {
        List<HeaderFields> kept = new ArrayList<>();
        open(request -> Decision.pass(new ResponseFilter() {
            @Override
            public void onHead(int status, HeaderFields headers) {
                kept.add(headers.copy());
            }
        }));
        Http2Headers sent =
                new DefaultHttp2Headers().status("200").add("link", "a").add("link", "b");
        function.only().response.onHead(sent, true);
        Client second = new Client();
        behind(request -> old(kept.get(0))).open(head(), true, second);
        assertThat(second.log).hasToString("203 old$");
        assertThat(second.head).isNotNull();
        assertThat(second.head.getAll("link")).map(Object::toString).containsExactly("a", "b");
        assertThat(second.head.get("x-kept")).hasToString("yes");
        assertThat(second.head.get("content-length")).hasToString("3");
        assertThat(second.head.getAll(":status")).hasSize(1);
        assertThat(kept.get(0).contains("x-kept")).as("a copy of the copy").isFalse();
        assertThat(observer.ends).last().satisfies(end -> {
            assertThat(end.substitute()).isEqualTo(Substitute.STALE);
            assertThat(end.responseBytes()).isEqualTo(3);
        });
    }

    @Test
    void should_refuse_as_the_dispatcher_does() {
        open(request -> Decision.refuse("only_if_cached"));
        assertThat(client.log).hasToString("ONLY_IF_CACHED");
        assertThat(observer.ends).singleElement().satisfies(end -> {
            assertThat(end.failure()).isEqualTo("only_if_cached");
            assertThat(end.status()).isEqualTo(504);
        });
        Client second = new Client();
        behind(request -> Decision.refuse("no such failure")).open(head(), true, second);
        assertThat(second.log).hasToString("FILTER_FAILED");
    }

    // Replacements.

    private Filter replacing(List<String> asked) {
        return request -> Decision.pass(new Follower() {
            @Override
            public Decision.@Nullable Answer replace(int status, @Nullable String failure) {
                asked.add(status + " " + failure);
                return status >= 500 ? old(request.headers()) : null;
            }
        });
    }

    @Test
    void should_replace_an_error_of_the_function_and_drop_its_body() {
        List<String> asked = new ArrayList<>();
        RequestSink request = open(replacing(asked));
        ScriptedFunction.Call call = function.only();
        call.response.onHead(new DefaultHttp2Headers().status("500").set("content-length", "262144"), false);
        assertThat(client.log).hasToString("203 old$");
        call.response.onData(ascii("error"), true);
        request.responseTaken(3);
        assertThat(call.log).hasToString("end taken 5");
        assertThat(SilentClient.endOf(call.response, null).substitute()).isEqualTo(Substitute.STALE);
        assertThat(asked).containsExactly("500 null");
        assertThat(seen).containsExactly("end null");
    }

    /** It could be a stream of events, which would occupy a worker stream until the timeout. */
    @ParameterizedTest
    @CsvSource({"262145", "not a number", "''"})
    void should_cancel_a_replaced_response_that_may_be_long(String length) {
        RequestSink request = open(replacing(new ArrayList<>()));
        ScriptedFunction.Call call = function.only();
        Http2Headers head = new DefaultHttp2Headers().status("500");
        if (!length.isEmpty()) {
            head.set("content-length", length);
        }
        call.response.onHead(head, false);
        assertThat(client.log).hasToString("203 old$");
        assertThat(call.log).hasToString("end cancelled");
        request.responseTaken(3);
        request.cancel(ErrorCode.CANCELLED);
        assertThat(call.log).as("nothing of the function's, and once").hasToString("end cancelled");
        assertThat(seen).containsExactly("end null");
    }

    /** An ended stream of HTTP/2 serves the next request while the function still sends. */
    @Test
    void should_report_the_client_of_the_replaced_response_and_not_of_the_next_request() {
        SocketAddress first = InetSocketAddress.createUnresolved("first", 1);
        client.address = first;
        open(replacing(new ArrayList<>()));
        function.only().respond(404, false);
        assertThat(function.only().response.requester().remoteAddress()).isEqualTo(first);

        function.calls.clear();
        open(replacing(new ArrayList<>()));
        function.only().response.onHead(new DefaultHttp2Headers().status("500").set("content-length", "5"), false);
        client.address = InetSocketAddress.createUnresolved("second", 1);
        assertThat(function.only().response.requester().remoteAddress()).isEqualTo(first);
        function.only().response.onData(ascii("error"), true);
    }

    /** Also one that a handler may have worked on, of which {@code onRefused} is not told. */
    @Test
    void should_replace_a_failure() {
        List<String> asked = new ArrayList<>();
        open(replacing(asked));
        ScriptedFunction.Call call = function.only();
        Failure failure = new Failure(Failure.Kind.WORKER_LOST, "for the test");
        assertThat(SilentClient.endOf(call.response, failure).substitute()).isEqualTo(Substitute.STALE);
        call.response.onFailure(failure);
        assertThat(client.log).hasToString("203 old$");
        assertThat(asked).containsExactly("502 worker_lost");
        assertThat(seen).containsExactly("end null");
    }

    @Test
    void should_pass_on_what_is_not_replaced() {
        List<String> asked = new ArrayList<>();
        open(replacing(asked));
        ScriptedFunction.Call call = function.only();
        call.respond(404, false);
        call.response.onFailure(new Failure(Failure.Kind.WORKER_LOST, "for the test"));
        assertThat(client.log).hasToString("404 WORKER_LOST");
        assertThat(asked).as("not after the response has begun").containsExactly("404 null");
        assertThat(seen).containsExactly("head 404", "end worker_lost");
    }

    /** The client gets what the outer filter says. */
    @Test
    void should_report_the_outer_of_two_answers() {
        Filter outer = replacing(new ArrayList<>());
        Filter answering = request -> Decision.answer(500, "of the inner filter");
        new RequestFilters(List.of(outer, answering), Map.of())
                .beforeFunction("f", function, true, home)
                .open(head(), true, client);
        assertThat(client.log).hasToString("203 old$");
        assertThat(observer.ends)
                .singleElement()
                .satisfies(end -> assertThat(end.substitute()).isEqualTo(Substitute.STALE));

        Filter encoding = request -> Decision.pass(new ResponseFilter() {
            @Override
            public void onHead(int status, HeaderFields headers) {
                headers.set("content-encoding", "gzip");
            }
        });
        new RequestFilters(List.of(outer, encoding), Map.of())
                .beforeFunction("f", function, true, home)
                .open(head(), true, new Client());
        function.only().respond(500, false);
        ExchangeEnd end = SilentClient.endOf(function.only().response, null);
        assertThat(end.substitute()).isEqualTo(Substitute.STALE);
        assertThat(end.contentEncoding()).as("of what the client did not get").isNull();
    }

    @Test
    void should_report_no_answer_of_a_filter_that_cannot_give_one() {
        for (Decision decision : List.of(Decision.refuse("shed"), Decision.withBody(1, body -> Decision.pass()))) {
            function.calls.clear();
            open(context -> Decision.pass(new ResponseFilter() {
                @Override
                public Decision onRefused(String failure) {
                    return decision;
                }
            }));
            Failure failure = new Failure(Failure.Kind.QUEUE_FULL, "for the test");
            assertThat(SilentClient.endOf(function.only().response, failure).substitute())
                    .isNull();
            function.only().response.onFailure(failure);
        }
        assertThat(client.log).hasToString("QUEUE_FULLQUEUE_FULL");
    }

    // Responses without a client.

    @Test
    void should_follow_a_response_whose_client_has_left_while_it_is_wanted() {
        Follower follower = new Follower();
        follower.wanted = true;
        RequestSink request = open(context -> Decision.pass(follower));
        ScriptedFunction.Call call = function.only();
        call.respond(200, false);
        call.response.onData(ascii("ab"), false);
        request.cancel(ErrorCode.CANCELLED);
        assertThat(call.log).as("what the client had not taken").hasToString("end taken 2");
        call.response.onData(ascii("cde"), false);
        assertThat(call.log).hasToString("end taken 2 taken 3");
        assertThat(client.log).hasToString("200 ab ");
        request.responseTaken(2);
        assertThat(call.log).as("once").hasToString("end taken 2 taken 3");
        assertThat(call.response.requester().key(head())).isEqualTo("the client's key");
        follower.wanted = false;
        call.response.onData(ascii("f"), false);
        assertThat(call.log.toString()).endsWith(" cancelled");
        assertThat(seen).containsExactly("head 200", "data ab", "data cde", "data f", "end cancelled");
    }

    @Test
    void should_tell_a_filter_of_the_whole_response_without_a_client() {
        Follower follower = new Follower();
        follower.wanted = true;
        RequestSink request = open(context -> Decision.pass(follower));
        request.cancel(ErrorCode.CANCELLED);
        ScriptedFunction.Call call = function.only();
        call.respond(200, false);
        call.response.onData(ascii("ab"), true);
        assertThat(call.log).hasToString("end taken 2");
        assertThat(seen).containsExactly("head 200", "data ab", "end null");
    }

    @Test
    void should_cancel_a_response_that_nobody_wants() {
        RequestSink request = open(context -> Decision.pass(new Follower()));
        request.cancel(ErrorCode.CANCELLED);
        assertThat(function.only().log).hasToString("end cancelled");
        assertThat(seen).containsExactly("end cancelled");
    }

    /** It is sent after the answer, passes the breaker, and counts as the client's. */
    @Test
    void should_send_a_copy_of_a_request_that_it_answers() {
        Follower follower = new Follower();
        follower.wanted = true;
        open(context -> {
            context.fork("PUT", copy -> {
                copy.headers().remove("x-asked");
                return follower;
            });
            return Decision.answer(200, "at once");
        });
        assertThat(client.log).hasToString("200 at once$");
        assertThat(function.calls).isEmpty();
        channel.runPendingTasks();
        ScriptedFunction.Call call = function.only();
        assertThat(call.head.method()).hasToString("PUT");
        assertThat(call.head.path()).hasToString("/");
        assertThat(call.head.contains("x-asked")).isFalse();
        assertThat(call.response.requester().key(call.head)).isEqualTo("the client's key");
        assertThat(call.response.requester().remoteAddress()).isNull();
        call.respond(200, false);
        call.response.onData(ascii("new"), true);
        assertThat(call.log).hasToString("end taken 3");
        assertThat(seen).containsExactly("head 200", "data new", "end null");
        assertThat(client.log).hasToString("200 at once$");
    }

    // Flow control.

    /** Other requests may wait for the response, and must not wait for this client. */
    @Test
    void should_not_let_a_sender_wait_for_the_client_if_the_filter_says_so() {
        Follower follower = new Follower();
        follower.paced = false;
        RequestSink request = open(context -> Decision.pass(follower));
        ScriptedFunction.Call call = function.only();
        call.respond(200, false);
        call.response.onData(ascii("abc"), false);
        assertThat(call.log).hasToString("end taken 3");
        follower.paced = true;
        call.response.onData(ascii("de"), false);
        assertThat(call.log).hasToString("end taken 3");
        request.responseTaken(5);
        assertThat(call.log).as("each byte once").hasToString("end taken 3 taken 2");
        request.cancel(ErrorCode.CANCELLED);
    }

    // Time.

    @Test
    void should_decide_otherwise_after_a_time() {
        CompletableFuture<Decision> first = new CompletableFuture<>();
        CompletableFuture<Decision> second = new CompletableFuture<>();
        open(context -> Decision.later(
                first,
                Duration.ofSeconds(20),
                Decision.resume(again -> Decision.later(second, Duration.ofSeconds(5), Decision.pass()))));
        pass(19_999);
        assertThat(first).isNotDone();
        pass(1);
        assertThat(first).isCancelled();
        pass(4_999);
        assertThat(function.calls).isEmpty();
        pass(1);
        assertThat(function.calls).hasSize(1);
        assertThat(second).isCancelled();
        assertThat(home.isQuiet()).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"PT0S", "PT-1S"})
    void should_reject_a_wait_that_is_over_at_once(Duration atMost) {
        CompletableFuture<Decision> stage = new CompletableFuture<>();
        assertThatThrownBy(() -> Decision.later(stage, atMost, Decision.pass()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(atMost.toString());
    }

    @Test
    void should_wait_forever_if_the_filter_says_so() {
        CompletableFuture<Decision> asked = new CompletableFuture<>();
        open(context -> Decision.later(asked, ChronoUnit.FOREVER.getDuration(), Decision.answer(500, "late")));
        pass(Duration.ofDays(1).toMillis());
        assertThat(client.log).isEmpty();
        asked.complete(Decision.answer(200, "at last"));
        pass(0);
        assertThat(client.log).hasToString("200 at last$");
    }

    private static final class BrokenStage extends CompletableFuture<Decision> {
        @Override
        public CompletableFuture<Decision> whenComplete(BiConsumer<? super Decision, ? super Throwable> action) {
            throw new IllegalStateException("for the test");
        }

        @Override
        public boolean cancel(boolean mayInterrupt) {
            throw new IllegalStateException("for the test");
        }
    }

    /** The exception would reset the stream, or nobody would answer it. */
    @Test
    void should_answer_if_what_a_filter_decides_is_broken() {
        Decision broken = Decision.later(new BrokenStage());
        HeaderFields fields = (HeaderFields) Proxy.newProxyInstance(
                HeaderFields.class.getClassLoader(), new Class<?>[] {HeaderFields.class}, (proxy, method, given) -> {
                    throw new IllegalStateException("for the test");
                });
        CompletableFuture<Decision> never = new CompletableFuture<>();
        List<Decision> decisions = List.of(
                broken,
                Decision.later(CompletableFuture.completedFuture(broken)),
                Decision.later(never, Duration.ofSeconds(1), broken),
                Decision.answer(200, fields, OLD, Substitute.STALE));
        for (Decision decision : decisions) {
            Client each = new Client();
            behind(context -> decision).open(head(), true, each);
            pass(1000);
            assertThat(each.log).hasToString("FILTER_FAILED");
        }
        for (Decision decision : decisions) {
            Client each = new Client();
            function.calls.clear();
            behind(context -> Decision.pass(new ResponseFilter() {
                        @Override
                        public Decision onRefused(String failure) {
                            return decision;
                        }
                    }))
                    .open(head(), true, each);
            function.only().response.onFailure(new Failure(Failure.Kind.QUEUE_FULL, "for the test"));
            pass(1000);
            assertThat(each.log).hasToString("QUEUE_FULL");
        }
        assertThat(home.isQuiet()).isTrue();
    }

    @Test
    void should_decide_nothing_otherwise_after_a_decision() {
        CompletableFuture<Decision> asked = new CompletableFuture<>();
        open(context -> Decision.later(asked, Duration.ofSeconds(5), Decision.answer(500, "late")));
        asked.complete(Decision.later(new CompletableFuture<>()));
        pass(0);
        pass(5_000);
        assertThat(client.log).as("the usual time counts from now on").isEmpty();
        pass(5_000);
        assertThat(client.log).hasToString("FILTER_FAILED");
    }

    @Test
    void should_end_with_the_deadline_whatever_is_decided_otherwise() {
        TrafficPolicy policy = TrafficPolicy.builder()
                .deadline(DeadlinePolicy.builder().limit(Duration.ofSeconds(2)).build())
                .build();
        open(policy, context -> Decision.later(new CompletableFuture<>(), Duration.ofSeconds(5), Decision.pass()));
        pass(2_000);
        assertThat(client.log).hasToString("DEADLINE_EXCEEDED");
    }

    // What the policy of the route says.

    @Test
    void should_say_by_what_the_route_tells_clients_apart() {
        TrafficPolicy policy = TrafficPolicy.builder()
                .admission(AdmissionPolicy.builder("t").tenants("X-Tenant", 1).build())
                .affinity(Affinity.header("x-shard"))
                .build();
        List<Object> said = new ArrayList<>();
        Filter filter = context -> {
            said.add(context.distinguishingHeaders());
            said.add(String.valueOf(context.sessionHeader()));
            return Decision.answer(204, "");
        };
        open(policy, filter);
        open(
                policy.toBuilder()
                        .affinity(Affinity.sessionHeader("mcp-session-id"))
                        .build(),
                filter);
        open(filter);
        assertThat(said)
                .containsExactly(
                        List.of("x-tenant", "x-shard"),
                        "null",
                        List.of("x-tenant"),
                        "mcp-session-id",
                        List.of(),
                        "null");
    }

    @Test
    void should_say_whether_the_breaker_is_open() {
        TrafficPolicy policy = TrafficPolicy.builder()
                .breaker(BreakerPolicy.builder("test").errors(0.5).build())
                .build();
        List<Boolean> open = new ArrayList<>();
        FunctionOpener opener = behind(context -> {
            open.add(context.isBreakerOpen());
            return Decision.pass();
        });
        for (int i = 0; i < 50; i++) {
            opener.open(head(), true, new Client(), policy);
            ScriptedFunction.Call call = function.calls.get(function.calls.size() - 1);
            call.response.onFailure(new Failure(Failure.Kind.WORKER_LOST, "for the test"));
            if (observer.breakerChanges.isEmpty()) {
                continue;
            }
            opener.open(head(), true, new Client(), policy);
            break;
        }
        assertThat(open).last().isEqualTo(true);
        assertThat(open).first().isEqualTo(false);
        opener.open(head(), true, new Client(), TrafficPolicy.NEUTRAL);
        assertThat(open).last().as("of a route without a breaker").isEqualTo(false);
    }
}
