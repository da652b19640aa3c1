package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

class FilteredRequestTest {
    private static final Logger LOG = (Logger) LoggerFactory.getLogger(FilteredRequest.class);
    private static final int WORLDS = Integer.getInteger("contract.worlds", 500);
    private static final int STEPS = 60;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final RecordingObserver observer = new RecordingObserver();

    private final FilterLoop home = new FilterLoop(channel.eventLoop(), observer, (function, request) -> {
        throw new UnsupportedOperationException(function);
    });

    @BeforeEach
    void freeze() {
        channel.freezeTime();
        LOG.setLevel(Level.OFF);
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
        LOG.setLevel(null);
    }

    private FunctionOpener behind(FunctionOpener target, Filter... filters) {
        return new RequestFilters(List.of(filters), Map.of()).beforeFunction("f", target, home);
    }

    private void run() {
        channel.runPendingTasks();
        channel.runScheduledPendingTasks();
    }

    private void pass(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        run();
    }

    private static final class Client extends SilentClient {
        final StringBuilder log = new StringBuilder();

        @Override
        public void onHead(Http2Headers head, boolean end) {
            log.append(head.status())
                    .append(head.contains("x-seen") ? " seen" : "")
                    .append(end ? "$" : " ");
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

    private static Http2Headers head() {
        return new DefaultHttp2Headers()
                .method("POST")
                .scheme("http")
                .authority("a")
                .path("/");
    }

    private static Filter at(Filter.Phase phase, Filter filter) {
        return new Filter() {
            @Override
            public Decision onRequest(RequestContext request) {
                return filter.onRequest(request);
            }

            @Override
            public Phase phase() {
                return phase;
            }
        };
    }

    @Test
    void should_run_phases_in_order_and_share_attributes() {
        ContractWorld.Service never = new ContractWorld(new Random(1)).new Service("f");
        List<Object> seen = new ArrayList<>();
        Filter observe = at(Filter.Phase.OBSERVE, request -> {
            seen.add(request.attributes().get("who"));
            return Decision.answer(403, "no");
        });
        Filter answer = at(Filter.Phase.ANSWER, request -> {
            request.attributes().put("who", "anyone");
            return Decision.pass();
        });
        Client client = new Client();
        behind(never, observe, answer).open(head(), true, client);
        assertThat(seen).containsExactly("anyone");
        assertThat(client.log).hasToString("403 no$");
        assertThat(never.policy()).isEqualTo(TrafficPolicy.NEUTRAL);
        assertThat(observer.ends).singleElement().satisfies(end -> {
            assertThat(end.status()).isEqualTo(403);
            assertThat(end.substitute()).isEqualTo(Substitute.FILTER);
        });
    }

    @Test
    void should_change_no_headers_that_the_client_side_holds() {
        Http2Headers head = head();
        List<Http2Headers> passed = new ArrayList<>();
        FunctionOpener opener = behind(new Target(passed), request -> {
            request.headers().set("X-User", "u1");
            request.setPath("/other");
            return Decision.pass();
        });
        opener.open(head, true, new Client());
        assertThat(head.path()).hasToString("/");
        assertThat(head.contains("x-user")).isFalse();
        assertThat(passed).singleElement().satisfies(it -> {
            assertThat(it.path()).hasToString("/other");
            assertThat(it.get("x-user")).hasToString("u1");
            assertThat(it.method()).hasToString("POST");
        });
    }

    /** Answers each request with headers and a body. */
    private record Target(List<Http2Headers> passed) implements FunctionOpener {
        @Override
        public TrafficPolicy policy() {
            return TrafficPolicy.builder()
                    .deadline(DeadlinePolicy.builder()
                            .limit(Duration.ofSeconds(2))
                            .build())
                    .build();
        }

        @Override
        public RequestSink open(Http2Headers head, boolean end, ResponseSink response, TrafficPolicy policy) {
            passed.add(head);
            response.onHead(new DefaultHttp2Headers().status("200"), false);
            response.onData(Unpooled.copiedBuffer("body", StandardCharsets.US_ASCII), true);
            return new DiscardingSink();
        }
    }

    @Test
    void should_change_the_response() {
        Client client = new Client();
        List<String> ends = new ArrayList<>();
        behind(
                        new Target(new ArrayList<>()),
                        request -> Decision.pass(new ResponseFilter() {
                            @Override
                            public void onHead(int status, HeaderFields headers) {
                                headers.set("x-seen", Integer.toString(status));
                            }

                            @Override
                            public ByteBuf onData(ByteBuf data) {
                                data.release();
                                return Unpooled.copiedBuffer("another", StandardCharsets.US_ASCII);
                            }

                            @Override
                            public void onEnd(String failure) {
                                ends.add(String.valueOf(failure));
                            }
                        }))
                .open(head(), true, client);
        assertThat(client.log).hasToString("200 seen another$");
        assertThat(ends).containsExactly("null");
    }

    @Test
    void should_ask_before_the_request_goes_on() {
        CompletableFuture<Decision> asked = new CompletableFuture<>();
        List<Http2Headers> passed = new ArrayList<>();
        Client client = new Client();
        behind(new Target(passed), request -> Decision.later(asked)).open(head(), true, client);
        assertThat(passed).isEmpty();
        asked.complete(Decision.pass());
        run();
        assertThat(passed).hasSize(1);
        assertThat(client.log).hasToString("200 body$");
        assertThat(observer.ends).isEmpty();
    }

    @Test
    void should_end_with_the_deadline_while_it_asks() {
        Client client = new Client();
        behind(new Target(new ArrayList<>()), request -> Decision.later(new CompletableFuture<>()))
                .open(head(), true, client);
        pass(1999);
        assertThat(client.log).isEmpty();
        pass(1);
        assertThat(client.log).hasToString("DEADLINE_EXCEEDED");
        assertThat(observer.ends).hasSize(1);
    }

    @Test
    void should_fail_a_request_whose_filter_throws() {
        Client client = new Client();
        List<Http2Headers> passed = new ArrayList<>();
        behind(new Target(passed), request -> {
                    throw new IllegalStateException("for the test");
                })
                .open(head(), true, client);
        assertThat(client.log).hasToString("FILTER_FAILED");
        assertThat(passed).isEmpty();
        assertThat(observer.ends).hasSize(1);
    }

    // The contract, with filters that do anything.

    private static final class AnyFilter implements Filter {
        private final ContractWorld world;
        private final EmbeddedChannel channel;

        AnyFilter(ContractWorld world, EmbeddedChannel channel) {
            this.world = world;
            this.channel = channel;
        }

        @Override
        public Decision onRequest(RequestContext request) {
            switch (world.random.nextInt(8)) {
                case 0:
                    return Decision.answer(403, Map.of(), new byte[0]);
                case 1:
                    throw new IllegalStateException("for the test");
                case 2, 3, 4:
                    CompletableFuture<Decision> later = new CompletableFuture<>();
                    if (world.oneIn(8)) {
                        return Decision.later(later);
                    }
                    channel.eventLoop()
                            .schedule(
                                    () -> later.complete(decide()), world.random.nextInt(5000), TimeUnit.MILLISECONDS);
                    return Decision.later(later);
                default:
                    return decide();
            }
        }

        private Decision decide() {
            if (world.oneIn(8)) {
                return Decision.answer(401, Map.of(), new byte[0]);
            }
            return world.oneIn(2) ? Decision.pass() : Decision.pass(new Follower());
        }

        private final class Follower implements ResponseFilter {
            private boolean begun;
            private boolean over;

            @Override
            public void onHead(int status, HeaderFields headers) {
                assertThat(begun || over).isFalse();
                begun = true;
                if (world.oneIn(10)) {
                    throw new IllegalStateException("for the test");
                }
            }

            @Override
            public ByteBuf onData(ByteBuf data) {
                assertThat(begun && !over).isTrue();
                if (world.oneIn(20)) {
                    data.release();
                    throw new IllegalStateException("for the test");
                }
                return data;
            }

            @Override
            public void onEnd(String failure) {
                assertThat(over).isFalse();
                over = true;
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void should_keep_the_contract(int filters) {
        for (int seed = 0; seed < WORLDS; seed++) {
            try {
                play(filters, new ContractWorld(new Random(seed)));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
    }

    private void play(int filters, ContractWorld world) {
        observer.starts.clear();
        Filter[] any = new Filter[filters];
        for (int i = 0; i < filters; i++) {
            any[i] = new AnyFilter(world, channel);
        }
        FunctionOpener opener = behind(world.new Service("own"), any);
        for (int i = 0; i < STEPS; i++) {
            StageContractTest.step(world, opener, TrafficPolicy.NEUTRAL, channel);
        }
        StageContractTest.run(channel);
        world.clients.stream().filter(client -> world.oneIn(3)).forEach(ContractWorld.Client::leave);
        pass(60_000);
        StageContractTest.end(world, channel);
        world.clients.forEach(client -> StageContractTest.checkReport(world, client, observer));
        assertThat(world.buffers).allMatch(buffer -> buffer.refCnt() == 0);
    }
}
