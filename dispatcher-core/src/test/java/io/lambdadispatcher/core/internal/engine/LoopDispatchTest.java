package io.lambdadispatcher.core.internal.engine;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.filter.FilterLoop;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.spi.RequestRouter;
import io.lambdadispatcher.core.spi.RouteTarget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoop;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LoopDispatchTest {
    private final List<String> failures = new ArrayList<>();
    private final ResponseSink client = new SilentClient() {
        @Override
        public void onFailure(Failure failure) {
            failures.add(failure.kind().status().code() + " " + failure.detail());
        }
    };

    private void ask(RequestRouter router) {
        EventLoop loop = new EmbeddedChannel().eventLoop();
        FilterLoop filters = new FilterLoop(loop, DispatcherObserver.NONE, (function, request, key) -> {
            throw new UnsupportedOperationException(function);
        });
        LoopDispatch dispatch = new LoopDispatch(
                loop, router, Map.of(), Map.of(), Map.of(), List.of(), filters, DispatcherObserver.NONE);
        ByteBuf body = Unpooled.buffer().writeZero(1);
        dispatch.open(new DefaultHttp2Headers().method("POST").path("/a"), false, client)
                .data(body, true);
        assertThat(body.refCnt()).isZero();
    }

    @Test
    void should_answer_404_where_no_function_serves() {
        ask(head -> null);
        ask(head -> RouteTarget.of("of another dispatcher"));
        assertThat(failures).containsExactly("404 no function matches /a", "404 no function matches /a");
    }

    /** A filter sends it in the middle of another request, whose client must not wait for it. */
    @Test
    void should_open_a_request_of_a_filter_later_and_for_the_client_that_it_is_given() {
        EmbeddedChannel channel = new EmbeddedChannel();
        List<Object> clients = new ArrayList<>();
        FunctionOpener function = new FunctionOpener() {
            @Override
            public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
                clients.add(response.requester().key(head));
                return new DiscardingSink();
            }

            @Override
            public RequestSink refuse(Http2Headers head, ResponseSink response, Failure failure) {
                throw new UnsupportedOperationException();
            }

            @Override
            public TrafficPolicy policy() {
                return TrafficPolicy.NEUTRAL;
            }
        };
        FilterLoop filters = new FilterLoop(channel.eventLoop(), DispatcherObserver.NONE, (name, request, key) -> {
            throw new UnsupportedOperationException(name);
        });
        LoopDispatch dispatch = new LoopDispatch(
                channel.eventLoop(),
                head -> null,
                Map.of("f", function),
                Map.of(),
                Map.of(),
                List.of(),
                filters,
                DispatcherObserver.NONE);
        dispatch.send("f", DispatchRequest.get("/").build(), "a key");
        dispatch.send("f", DispatchRequest.get("/").client("of its own").build(), "a key");
        assertThat(clients).isEmpty();
        channel.runPendingTasks();
        assertThat(clients).containsExactly("a key", "of its own");
    }

    @Test
    void should_answer_500_where_the_router_throws() {
        ask(head -> {
            throw new IllegalStateException("a router that throws");
        });
        assertThat(failures).containsExactly("500 the router failed");
    }
}
