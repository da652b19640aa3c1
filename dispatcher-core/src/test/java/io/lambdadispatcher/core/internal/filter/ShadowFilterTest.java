package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.filter.ScriptedFunction.Call;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.ShadowEnd;
import io.lambdadispatcher.core.observe.ShadowEnd.Result;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.ShadowPolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ShadowFilterTest {
    private static final Failure NO_WORKER = new Failure(Failure.Kind.QUEUE_FULL, "no worker");

    private final RecordingObserver observer = new RecordingObserver();
    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final ScriptedFunction shop = new ScriptedFunction();
    private final ScriptedFunction next = new ScriptedFunction();
    private final Shadows shadows = new Shadows("shop", observer);
    private final ShadowFilter filter = new ShadowFilter(shop, shadows, channel.eventLoop(), Map.of("next", next)::get);
    private final StringBuilder client = new StringBuilder();

    ShadowFilterTest() {
        channel.freezeTime();
    }

    private final class Client extends SilentClient {
        @Override
        public void onHead(Http2Headers head, boolean end) {
            client.append(head.status()).append(' ');
        }

        @Override
        public void onData(ByteBuf data, boolean end) {
            client.append(data.readableBytes()).append(" bytes ");
            super.onData(data, end);
        }

        @Override
        public void onFailure(Failure failure) {
            client.append(failure.kind().token()).append(' ');
        }

        @Override
        public void onRequestTaken(int bytes) {
            client.append("taken ").append(bytes).append(' ');
        }
    }

    private static ShadowPolicy.Builder shadow() {
        return ShadowPolicy.builder("next").share(1);
    }

    private RequestSink open(String method, boolean end, ShadowPolicy.Builder policy) {
        Http2Headers head = new DefaultHttp2Headers().method(method).path("/a?b=c");
        return filter.open(
                head,
                end,
                new Client(),
                TrafficPolicy.builder().shadow(policy.build()).build());
    }

    private static ByteBuf bytes(String text) {
        return ByteBufUtil.writeAscii(UnpooledByteBufAllocator.DEFAULT, text);
    }

    private Result onlyResult() {
        assertThat(observer.shadowEnds).hasSize(1);
        return observer.shadowEnds.element().result();
    }

    @Test
    void should_copy_a_request_and_drop_the_response_of_the_copy() {
        next.policy = TrafficPolicy.builder()
                .deadline(DeadlinePolicy.builder().limit(Duration.ofSeconds(1)).build())
                .shadow(ShadowPolicy.builder("shop").build())
                .build();
        open("GET", true, shadow());
        Call copy = next.only();
        assertThat(copy.head.get(ShadowPolicy.HEADER)).isEqualTo("shop");
        assertThat(copy.head.path()).isEqualTo("/a?b=c");
        assertThat(copy.policy.deadline()).isSameAs(next.policy.deadline());
        assertThat(copy.policy.isFiltered()).as("a copy is not copied").isFalse();
        assertThat(shop.only().head.contains(ShadowPolicy.HEADER)).isFalse();

        channel.advanceTimeBy(3, TimeUnit.MILLISECONDS);
        shop.only().respond(200, true);
        channel.advanceTimeBy(4, TimeUnit.MILLISECONDS);
        copy.respond(204, false);
        assertThat(observer.shadowEnds)
                .containsExactly(new ShadowEnd("shop", "next", Result.SAME, 200, 204, 3_000_000, 7_000_000));
        ByteBuf body = bytes("abc");
        copy.response.onData(body, false);
        assertThat(body.refCnt()).isZero();
        assertThat(copy.log.toString()).isEqualTo("end taken 3");
        assertThat(shadows.inFlight()).isOne();
        copy.response.onData(bytes(""), true);
        assertThat(shadows.inFlight()).isZero();
        assertThat(client.toString()).isEqualTo("200 ");
        assertThat(observer.shadowEnds).hasSize(1);
    }

    @Test
    void should_report_a_status_of_another_class() {
        open("GET", true, shadow());
        next.only().respond(500, true);
        assertThat(observer.shadowEnds).isEmpty();
        shop.only().respond(404, true);
        assertThat(onlyResult()).isEqualTo(Result.DIFFERENT);
    }

    @Test
    void should_copy_a_body_without_copying_bytes() {
        RequestSink request = open("POST", false, shadow().allMethods(true));
        ByteBuf body = bytes("abcd");
        request.data(body, false);
        assertThat(body.refCnt()).isEqualTo(2);
        assertThat(request.heldBytes()).isEqualTo(1 + 1 + 4);
        next.only().take();
        assertThat(client.toString()).as("of its own function only").isEmpty();
        shop.only().take();
        assertThat(client.toString()).isEqualTo("taken 4 ");
        assertThat(body.refCnt()).isZero();
        assertThat(request.heldBytes()).isEqualTo(2);
        request.trailers(new DefaultHttp2Headers());
        assertThat(shop.only().log.toString()).isEqualTo("open abcd trailers");
        assertThat(next.only().log.toString()).isEqualTo("open abcd trailers");
        shop.only().respond(200, true);
        next.only().respond(200, true);
        assertThat(onlyResult()).isEqualTo(Result.SAME);
    }

    @Test
    void should_cancel_a_copy_that_lags_and_not_the_request() {
        RequestSink request = open("POST", false, shadow().allMethods(true).bufferBytes(5));
        ByteBuf first = bytes("abc");
        request.data(first, false);
        shop.only().take();
        assertThat(first.refCnt()).isOne();
        ByteBuf second = bytes("def");
        request.data(second, true);
        assertThat(first.refCnt()).isZero();
        assertThat(second.refCnt()).isOne();
        shop.only().take();
        assertThat(second.refCnt()).isZero();
        assertThat(shop.only().log.toString()).isEqualTo("open abc def end");
        assertThat(next.only().log.toString()).isEqualTo("open abc cancelled");
        assertThat(onlyResult()).isEqualTo(Result.LAGGED);
        assertThat(shadows.inFlight()).isZero();
        shop.only().respond(200, true);
        assertThat(client.toString()).isEqualTo("taken 3 taken 3 200 ");
        assertThat(observer.shadowEnds).hasSize(1);
    }

    @Test
    void should_cancel_the_copy_if_the_client_disconnects() {
        open("GET", true, shadow()).cancel(ErrorCode.CANCELLED);
        assertThat(next.only().log.toString()).isEqualTo("end cancelled");
        assertThat(onlyResult()).isEqualTo(Result.NOT_COMPARED);
        assertThat(shadows.inFlight()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"head", "data", "trailers", "failure"})
    void should_cancel_a_copy_whose_request_ends_before_its_body(String end) {
        RequestSink request = open("POST", false, shadow().allMethods(true));
        request.data(bytes("abc"), false);
        Call own = shop.only();
        if (end.equals("failure")) {
            own.response.onFailure(new Failure(Failure.Kind.WORKER_LOST, "lost"));
        } else {
            own.respond(401, end.equals("head"));
        }
        if (end.equals("data")) {
            own.response.onData(bytes("no"), true);
        } else if (end.equals("trailers")) {
            own.response.onTrailers(new DefaultHttp2Headers());
        }
        assertThat(next.only().log.toString()).isEqualTo("open abc cancelled");
        assertThat(onlyResult()).isEqualTo(Result.NOT_COMPARED);
        assertThat(shadows.inFlight()).isZero();
        own.cancel(ErrorCode.CANCELLED);
    }

    @Test
    void should_not_copy_a_body_that_its_function_refuses() {
        shop.refusal = NO_WORKER;
        open("POST", false, shadow().allMethods(true));
        assertThat(next.calls).isEmpty();
        assertThat(onlyResult()).isEqualTo(Result.NOT_COMPARED);
        assertThat(shadows.inFlight()).isZero();
    }

    @Test
    void should_not_copy_a_request_that_its_function_refuses() {
        shop.refusal = NO_WORKER;
        open("GET", true, shadow());
        assertThat(client.toString()).isEqualTo("queue_full ");
        assertThat(next.calls).isEmpty();
        assertThat(onlyResult()).isEqualTo(Result.NOT_COMPARED);
        assertThat(shadows.inFlight()).isZero();
    }

    @Test
    void should_serve_the_client_if_the_copy_fails() {
        next.refusal = NO_WORKER;
        open("GET", true, shadow());
        assertThat(onlyResult()).isEqualTo(Result.FAILED);
        shop.only().respond(200, true);
        assertThat(client.toString()).isEqualTo("200 ");
        assertThat(shadows.inFlight()).isZero();
    }

    @Test
    void should_limit_the_copies_in_flight() {
        open("GET", true, shadow().maxRequests(1));
        open("GET", true, shadow().maxRequests(1));
        assertThat(shop.calls).hasSize(2);
        assertThat(next.only().head.path()).isEqualTo("/a?b=c");
        assertThat(onlyResult()).isEqualTo(Result.SKIPPED);
        shop.calls.get(0).respond(200, true);
        next.only().respond(200, true);
        open("GET", true, shadow().maxRequests(1));
        assertThat(next.calls).hasSize(2);
    }

    @ParameterizedTest
    @ValueSource(strings = {"POST", "PUT", "DELETE", "PATCH", "CONNECT"})
    void should_not_copy_methods_that_are_not_safe(String method) {
        open(method, true, shadow());
        assertThat(next.calls).isEmpty();
        open(method, true, shadow().allMethods(true));
        assertThat(next.calls).hasSize(method.equals("CONNECT") ? 0 : 1);
    }

    @Test
    void should_copy_a_share() {
        for (int i = 0; i < 10_000; i++) {
            open("GET", true, shadow().share(0.1).maxRequests(100_000));
        }
        assertThat(shop.calls).hasSize(10_000);
        assertThat(next.calls.size()).isBetween(800, 1200);
    }

    @Test
    void should_copy_nothing_to_a_function_that_is_not_there() {
        open("GET", true, ShadowPolicy.builder("other").share(1));
        assertThat(shop.calls).hasSize(1);
        assertThat(shadows.inFlight()).isZero();
    }
}
