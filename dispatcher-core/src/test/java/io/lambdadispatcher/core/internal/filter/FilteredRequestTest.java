package io.lambdadispatcher.core.internal.filter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.FunctionOpener;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.exchange.UnsentExchange;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.observe.Substitute;
import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.spi.BodyFilter;
import io.lambdadispatcher.core.spi.Decision;
import io.lambdadispatcher.core.spi.Filter;
import io.lambdadispatcher.core.spi.HeaderFields;
import io.lambdadispatcher.core.spi.RequestContext;
import io.lambdadispatcher.core.spi.ResponseFilter;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

class FilteredRequestTest {
    private static final Logger LOG = (Logger) LoggerFactory.getLogger(FilteredRequest.class);
    private static final int WORLDS = Integer.getInteger("contract.worlds", 500);
    private static final int STEPS = 60;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final RecordingObserver observer = new RecordingObserver();

    /** The keys of clients for which filters have sent requests. */
    private final List<Object> senders = new ArrayList<>();

    private final FilterLoop home = new FilterLoop(channel.eventLoop(), observer, (function, request, client) -> {
        senders.add(client);
        return new CompletableFuture<>();
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
        return new RequestFilters(List.of(filters), Map.of()).beforeFunction("f", target, true, home);
    }

    private void run() {
        channel.runPendingTasks();
        channel.runScheduledPendingTasks();
    }

    private void pass(long millis) {
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        run();
    }

    private static class Client extends SilentClient {
        final StringBuilder log = new StringBuilder();
        int returned;

        @Override
        public void onRequestTaken(int bytes) {
            returned += bytes;
        }

        @Override
        public void onTrailers(Http2Headers trailers) {
            log.append(trailers.get("x-end")).append('$');
        }

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
        return ScriptedFunction.request("POST");
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

    /** It counts in the limits of this client. The key can be what a header says. */
    @Test
    void should_send_a_request_of_a_filter_for_the_client() {
        Client client = new Client() {
            @Override
            public Requester requester() {
                return new Requester() {
                    @Override
                    public Object key(Http2Headers head) {
                        return "key of " + head.path();
                    }

                    @Override
                    public @Nullable SocketAddress remoteAddress() {
                        return null;
                    }

                    @Override
                    public ClientProtocol protocol() {
                        return ClientProtocol.EMBEDDED;
                    }
                };
            }
        };
        List<RequestContext> contexts = new ArrayList<>();
        Filter filter = request -> {
            contexts.add(request);
            request.setPath("/other");
            return Decision.pass();
        };
        behind(new Target(new ArrayList<>()), filter).open(head(), true, client);
        contexts.get(0).send("f", DispatchRequest.get("/").build());
        assertThat(senders).containsExactly("key of /");
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
        Filter encode = at(Filter.Phase.ENCODE, request -> {
            throw new AssertionError("for the test");
        });
        Client client = new Client();
        behind(never, encode, observe, answer).open(head(), true, client);
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

    @Test
    void should_take_an_asterisk_for_a_path_only_with_options() {
        List<Http2Headers> passed = new ArrayList<>();
        FunctionOpener opener = behind(new Target(passed), request -> {
            if (request.method().equals("OPTIONS")) {
                request.setPath("*");
            } else {
                assertThatThrownBy(() -> request.setPath("*"))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("'*', expected");
            }
            return Decision.pass();
        });
        opener.open(head(), true, new Client());
        opener.open(head().method("OPTIONS"), true, new Client());
        assertThat(passed).extracting(it -> it.path().toString()).containsExactly("/", "*");
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

    /** Zero would take turns forever. */
    @ParameterizedTest
    @ValueSource(ints = {0, -1, -2})
    void should_fail_a_response_whose_filter_takes_nothing_in_a_turn(int turn) {
        ByteBuf body = Unpooled.copiedBuffer("body", StandardCharsets.US_ASCII);
        List<String> ends = new ArrayList<>();
        Held held = new Held();
        Client client = new Client();
        Filter filter = request -> Decision.pass(new ResponseFilter() {
            @Override
            public int turnBytes() {
                if (turn == -2) {
                    throw new IllegalStateException("for the test");
                }
                return turn;
            }

            @Override
            public void onEnd(String failure) {
                ends.add(failure);
            }
        });
        behind(held, filter).open(head(), true, client);
        held.response.onHead(new DefaultHttp2Headers().status("200"), false);
        held.response.onData(body, true);
        assertThat(client.log).hasToString("200 FILTER_FAILED");
        assertThat(ends).containsExactly("filter_failed");
        assertThat(body.refCnt()).isZero();
        assertThat(channel.hasPendingTasks()).isFalse();
    }

    /** What it says in a later turn counts too. */
    @Test
    void should_read_the_turn_once_and_tell_the_last_part() {
        List<Integer> turns = new ArrayList<>(List.of(3, 2, 0));
        List<String> parts = new ArrayList<>();
        ByteBuf body = Unpooled.copiedBuffer("0123456789", StandardCharsets.US_ASCII);
        Held held = new Held();
        Client client = new Client();
        Filter filter = request -> Decision.pass(new ResponseFilter() {
            @Override
            public int turnBytes() {
                return turns.remove(0);
            }

            @Override
            public ByteBuf onData(ByteBuf data, boolean last) {
                parts.add(data.toString(StandardCharsets.US_ASCII) + (last ? " last" : ""));
                return data;
            }
        });
        behind(held, filter).open(head(), true, client);
        held.response.onHead(new DefaultHttp2Headers().status("200"), false);
        held.response.onData(Unpooled.copiedBuffer("ab", StandardCharsets.US_ASCII), false);
        held.response.onData(body, true);
        run();
        assertThat(parts).containsExactly("ab", "012 last", "34 last");
        assertThat(client.log).hasToString("200 ab 012 34 FILTER_FAILED");
        assertThat(body.refCnt()).isZero();
    }

    @Test
    void should_pass_on_the_last_part_and_the_end_of_the_body_as_one() {
        Client client = new Client();
        Filter filter = request -> Decision.pass(new ResponseFilter() {
            @Override
            public ByteBuf onBodyEnd() {
                return Unpooled.copiedBuffer(" end", StandardCharsets.US_ASCII);
            }
        });
        behind(new Target(new ArrayList<>()), filter).open(head(), true, client);
        assertThat(client.log).hasToString("200 body end$");
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

    /** Each client could cause it, and a stack trace costs an event loop. */
    @Test
    void should_log_seldom_that_a_filter_fails() {
        try (LoggedLines lines = LoggedLines.of(FilteredRequest.class, Level.WARN)) {
            Filter filter = request -> Decision.pass(new ResponseFilter() {
                @Override
                public ByteBuf onData(ByteBuf data) {
                    data.release();
                    throw new IllegalStateException("for the test");
                }
            });
            FunctionOpener opener = behind(new Target(new ArrayList<>()), filter);
            for (int i = 0; i < 100; i++) {
                Client client = new Client();
                opener.open(head(), true, client);
                assertThat(client.log).hasToString("200 FILTER_FAILED");
            }
            assertThat(lines.events()).singleElement().satisfies(line -> {
                assertThat(line.getFormattedMessage())
                        .isEqualTo("filter " + filter.getClass().getName() + " failed");
                assertThat(line.getThrowableProxy().getMessage()).isEqualTo("for the test");
            });
        }
    }

    /** A worker may say that a body follows that HEAD does not have. */
    @ParameterizedTest
    @CsvSource({"GET, gzip", "HEAD,"})
    void should_report_an_encoding_of_a_body_only(String method, String encoding) {
        Held held = new Held();
        Filter filter = request -> Decision.pass(new ResponseFilter() {
            @Override
            public void onHead(int status, HeaderFields headers) {
                headers.set("content-encoding", "gzip");
            }
        });
        behind(held, filter).open(head().method(method), true, new Client());
        held.response.onHead(new DefaultHttp2Headers().status("200"), false);
        assertThat(SilentClient.endOf(held.response, null).contentEncoding()).isEqualTo(encoding);
        held.response.onData(Unpooled.EMPTY_BUFFER, true);
    }

    // Bodies.

    /** Takes a request and responds when told. */
    private class Held implements FunctionOpener, RequestSink {
        final StringBuilder log = new StringBuilder();
        Http2Headers head;
        ResponseSink response;
        TrafficPolicy applied;
        int taken;

        @Override
        public TrafficPolicy policy() {
            return TrafficPolicy.NEUTRAL;
        }

        @Override
        public RequestSink open(Http2Headers given, boolean end, ResponseSink to, TrafficPolicy with) {
            head = given;
            response = to;
            applied = with;
            return this;
        }

        @Override
        public void data(ByteBuf data, boolean end) {
            log.append(data.toString(StandardCharsets.US_ASCII)).append(end ? "$" : " ");
            int bytes = data.readableBytes();
            data.release();
            response.onRequestTaken(bytes);
        }

        @Override
        public void trailers(Http2Headers trailers) {
            log.append(trailers.get("x-end")).append('$');
        }

        @Override
        public void cancel(ErrorCode code) {
            log.append("cancelled");
        }

        @Override
        public void responseTaken(int bytes) {
            taken += bytes;
        }
    }

    @Test
    void should_tell_a_filter_of_the_request_and_count_what_it_holds() {
        Held held = new Held();
        List<String> seen = new ArrayList<>();
        Filter filter = request -> {
            seen.add(request.scheme() + " " + request.hasBody());
            return Decision.pass(
                    new BodyFilter() {
                        @Override
                        public long heldBytes() {
                            return 1000;
                        }
                    },
                    new ResponseFilter() {});
        };
        FunctionOpener opener = behind(held, filter);
        assertThat(opener.open(head(), false, new Client()).heldBytes()).isEqualTo(1000);
        opener.open(head(), true, new Client());
        assertThat(seen).containsExactly("http true", "http false");
    }

    /** Otherwise, one filter would stop the measurement of all clients of its event loop. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void should_count_nothing_of_a_filter_that_cannot_say_what_it_holds(boolean fails) {
        ResponseFilter broken = new ResponseFilter() {
            @Override
            public long heldBytes() {
                if (fails) {
                    throw new IllegalStateException("for the test");
                }
                return -1000;
            }
        };
        Held function = new Held();
        Client client = new Client();
        RequestSink request =
                behind(function, context -> Decision.pass(broken, broken)).open(head(), true, client);
        try (LoggedLines lines = LoggedLines.of(FilteredRequest.class, Level.WARN)) {
            assertThat(request.heldBytes()).isZero();
            assertThat(lines.events()).hasSize(fails ? 1 : 0);
        }
        function.response.onHead(new DefaultHttp2Headers().status("200"), true);
        assertThat(client.log).as("the request goes on").hasToString("200$");
    }

    /** The worker's direction of a tunnel can end first. */
    @Test
    void should_filter_what_a_client_sends_after_the_end_of_the_other_direction() {
        ScriptedFunction function = new ScriptedFunction();
        BodyFilter masked = new BodyFilter() {
            @Override
            public ByteBuf onData(ByteBuf data) {
                int bytes = data.readableBytes();
                data.release();
                return ascii("*".repeat(bytes));
            }
        };
        FunctionOpener opener = behind(function, request -> Decision.pass(masked, new ResponseFilter() {}));
        RequestSink request = opener.open(ScriptedFunction.request("CONNECT"), false, new Client());
        function.only().response.onHead(ScriptedFunction.ok(), false);
        function.only().response.onData(ascii("bye"), true);

        request.data(ascii("secret"), false);
        request.data(ascii("x"), true);
        assertThat(function.only().log).hasToString("open ****** * end");
        request.cancel(ErrorCode.CANCELLED);
    }

    private static ByteBuf ascii(String text) {
        return Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII);
    }

    /** Drops what arrives, counts it, and says so at the end. */
    private static final class Counting implements ResponseFilter {
        private int bytes;

        @Override
        public ByteBuf onData(ByteBuf data) {
            bytes += data.readableBytes();
            data.release();
            return Unpooled.EMPTY_BUFFER;
        }

        @Override
        public ByteBuf onBodyEnd() {
            return ascii(bytes + " bytes");
        }

        @Override
        public void onTrailers(HeaderFields trailers) {
            trailers.set("x-end", "of the filter");
        }
    }

    @Test
    void should_add_the_last_bytes_of_a_response() {
        Held function = new Held();
        Client client = new Client();
        RequestSink request =
                behind(function, context -> Decision.pass(new Counting())).open(head(), true, client);
        function.response.onHead(new DefaultHttp2Headers().status("200"), false);
        function.response.onData(ascii("abc"), false);
        assertThat(function.taken).isEqualTo(3);
        function.response.onData(ascii("de"), true);
        assertThat(client.log).hasToString("200 5 bytes$");
        // A direct call is free only when its bytes have been taken. It never sent the filter's.
        request.responseTaken(7);
        assertThat(function.taken).isEqualTo(5);
    }

    /** What an encoder of 4 bytes in each turn would be. */
    private static final class Slow implements ResponseFilter {
        private final List<String> seen;

        Slow(List<String> seen) {
            this.seen = seen;
        }

        @Override
        public void onHead(int status, HeaderFields headers, boolean hasBody) {
            seen.add("body " + hasBody);
            headers.set("content-encoding", "slow");
        }

        @Override
        public int turnBytes() {
            return 4;
        }

        @Override
        public ByteBuf onData(ByteBuf data) {
            return data;
        }

        @Override
        public void onEnd(String failure) {
            seen.add("end " + failure);
        }
    }

    @Test
    void should_pass_on_a_large_last_part_in_several_turns() {
        Held function = new Held();
        Client client = new Client();
        List<String> seen = new ArrayList<>();
        RequestSink request =
                behind(function, context -> Decision.pass(new Slow(seen))).open(head(), true, client);
        function.response.onHead(new DefaultHttp2Headers().status("200"), false);
        function.response.onData(ascii("12345"), false);
        ByteBuf last = ascii("abcdefghij");
        function.response.onData(last, true);
        assertThat(client.log).hasToString("200 12345 abcd ");
        assertThat(request.heldBytes()).isGreaterThanOrEqualTo(6);
        assertThat(seen).as("not over").containsExactly("body true");
        run();
        assertThat(client.log).hasToString("200 12345 abcd efgh ij$");
        assertThat(seen).containsExactly("body true", "end null");
        assertThat(SilentClient.endOf(function.response, null).contentEncoding())
                .isEqualTo("slow");
        request.responseTaken(15);
        assertThat(function.taken).isEqualTo(15);
        assertThat(last.refCnt()).isZero();
    }

    @Test
    void should_drop_the_rest_of_a_large_last_part_if_the_client_leaves() {
        Held function = new Held();
        Client client = new Client();
        List<String> seen = new ArrayList<>();
        RequestSink request =
                behind(function, context -> Decision.pass(new Slow(seen))).open(head(), true, client);
        function.response.onHead(new DefaultHttp2Headers().status("200"), false);
        ByteBuf last = ascii("abcdefghij");
        function.response.onData(last, true);
        request.cancel(ErrorCode.CANCELLED);
        assertThat(last.refCnt()).isZero();
        assertThat(function.taken).as("the rest").isEqualTo(6);
        request.responseTaken(4);
        assertThat(function.taken).isEqualTo(10);
        run();
        assertThat(client.log).hasToString("200 abcd ");
        assertThat(seen).containsExactly("body true", "end cancelled");
    }

    @Test
    void should_say_whether_a_response_has_a_body() {
        Held function = new Held();
        List<String> seen = new ArrayList<>();
        behind(function, context -> Decision.pass(new Slow(seen))).open(head(), true, new Client());
        function.response.onHead(new DefaultHttp2Headers().status("200"), true);
        assertThat(seen).containsExactly("body false", "end null");
        assertThat(SilentClient.endOf(function.response, null).contentEncoding())
                .as("of no body")
                .isNull();
    }

    /** Otherwise, small parts of which an encoder makes large ones would fill the memory. */
    @Test
    void should_stop_a_sender_whose_receiver_takes_nothing() {
        Held function = new Held();
        ResponseFilter bursts = new ResponseFilter() {
            private int parts;

            @Override
            public ByteBuf onData(ByteBuf data) {
                data.release();
                parts++;
                return parts % 4 == 0 ? ascii("a".repeat(8)) : Unpooled.EMPTY_BUFFER;
            }
        };
        RequestSink request = behind(function, context -> Decision.pass(bursts)).open(head(), true, new Client());
        function.response.onHead(new DefaultHttp2Headers().status("200"), false);
        for (int i = 0; i < 16; i++) {
            function.response.onData(ascii("ab"), false);
        }
        // While nothing waited, three parts returned. Since then, as much waits as was sent.
        assertThat(function.taken).isEqualTo(6);
        request.responseTaken(16);
        assertThat(function.taken).isEqualTo(6 + 13);
        request.responseTaken(16);
        assertThat(function.taken).isEqualTo(32);
        request.cancel(ErrorCode.CANCELLED);
    }

    @Test
    void should_change_the_trailers_of_a_response_after_its_last_bytes() {
        Held function = new Held();
        Client client = new Client();
        behind(function, context -> Decision.pass(new Counting())).open(head(), true, client);
        function.response.onHead(new DefaultHttp2Headers().status("200"), false);
        function.response.onTrailers(new DefaultHttp2Headers().set("x-end", "of the function"));
        assertThat(client.log).hasToString("200 0 bytes of the filter$");
    }

    @Test
    void should_replace_the_body_of_a_request() {
        Held function = new Held();
        Client client = new Client();
        RequestSink request = behind(function, context -> Decision.pass(new Counting(), new ResponseFilter() {}))
                .open(head(), false, client);
        request.data(ascii("abc"), false);
        assertThat(client.returned).isEqualTo(3);
        request.data(ascii("de"), false);
        Http2Headers trailers = new DefaultHttp2Headers().set("x-end", "of the client");
        request.trailers(trailers);
        assertThat(function.log).hasToString("5 bytes of the filter$");
        assertThat(client.returned).isEqualTo(5);
        assertThat(trailers.get("x-end")).hasToString("of the client");
    }

    @Test
    void should_fail_a_request_whose_body_filter_throws() {
        Held function = new Held();
        Client client = new Client();
        BodyFilter broken = new BodyFilter() {
            @Override
            public ByteBuf onBodyEnd() {
                throw new IllegalStateException("for the test");
            }
        };
        RequestSink request = behind(function, context -> Decision.pass(broken, new ResponseFilter() {}))
                .open(head(), false, client);
        ByteBuf data = ascii("abc");
        request.data(data, true);
        assertThat(data.refCnt()).isZero();
        assertThat(function.log).hasToString("cancelled");
        assertThat(client.log).hasToString("FILTER_FAILED");
    }

    private enum Place {
        HEAD,
        DATA,
        BODY_END,
        TRAILERS,
        TURN,
        REQUEST
    }

    /** Throws in one place. */
    private record Throwing(Place place) implements ResponseFilter {
        private void perhaps(Place here) {
            if (place == here) {
                throw new IllegalStateException("for the test");
            }
        }

        @Override
        public void onHead(int status, HeaderFields headers) {
            perhaps(Place.HEAD);
        }

        @Override
        public ByteBuf onData(ByteBuf data) {
            if (place == Place.DATA || place == Place.REQUEST) {
                data.release();
                throw new IllegalStateException("for the test");
            }
            return data;
        }

        @Override
        public ByteBuf onBodyEnd() {
            perhaps(Place.BODY_END);
            return Unpooled.EMPTY_BUFFER;
        }

        @Override
        public int turnBytes() {
            perhaps(Place.TURN);
            return Integer.MAX_VALUE;
        }

        @Override
        public void onTrailers(HeaderFields trailers) {
            perhaps(Place.TRAILERS);
        }
    }

    /** An operator who is told that the handler is at fault looks in the wrong place. */
    @ParameterizedTest
    @EnumSource(Place.class)
    void should_report_that_the_filter_has_failed_and_not_the_function(Place place) {
        List<ExchangeEnd> ends = new ArrayList<>();
        Held function = new Held() {
            @Override
            public void cancel(ErrorCode code) {
                ends.add(SilentClient.endOf(response, new Failure(Failure.Kind.BAD_RESPONSE, "for the test")));
            }
        };
        List<String> seen = new ArrayList<>();
        Filter outer = context -> Decision.pass(new ResponseFilter() {
            @Override
            public Decision.Answer replace(int status, String failure) {
                seen.add(status + " " + failure);
                return null;
            }

            @Override
            public void onEnd(String failure) {
                seen.add("end " + failure);
            }
        });
        ResponseFilter throwing = new Throwing(place);
        Filter inner = context ->
                place == Place.REQUEST ? Decision.pass(throwing, new ResponseFilter() {}) : Decision.pass(throwing);
        Client client = new Client();
        RequestSink request = behind(function, outer, inner).open(head(), false, client);
        request.data(ascii("abc"), false);
        if (place != Place.REQUEST) {
            function.response.onHead(new DefaultHttp2Headers().status("200"), false);
            if (place == Place.TRAILERS) {
                function.response.onTrailers(new DefaultHttp2Headers());
            } else {
                function.response.onData(ascii("body"), true);
            }
        }
        assertThat(client.log.toString()).endsWith("FILTER_FAILED");
        assertThat(ends).singleElement().satisfies(end -> {
            assertThat(end.failure()).isEqualTo("filter_failed");
            assertThat(end.failureDetail()).contains("for the test");
            assertThat(end.outcome()).isEqualTo(Outcome.FAILED);
        });
        String told = place == Place.HEAD || place == Place.REQUEST ? "500 filter_failed" : "200 null";
        assertThat(seen).containsExactly(told, "end filter_failed");
    }

    @Test
    void should_hold_a_body_and_pass_it_on() {
        Held function = new Held();
        Client client = new Client();
        List<String> held = new ArrayList<>();
        List<ByteBuf> kept = new ArrayList<>();
        RequestSink request = behind(
                        function,
                        context -> Decision.withBody(5, body -> {
                            held.add(body.toString(StandardCharsets.US_ASCII));
                            kept.add(body.retain());
                            return Decision.pass();
                        }))
                .open(head(), false, client);
        request.data(ascii("abc"), false);
        assertThat(client.returned).as("so that more arrives").isEqualTo(3);
        assertThat(request.heldBytes()).isGreaterThanOrEqualTo(3);
        request.data(ascii("de"), true);
        assertThat(held).containsExactly("abcde");
        assertThat(function.log).hasToString("abcde$");
        assertThat(client.returned).isEqualTo(5);
        assertThat(kept).singleElement().satisfies(body -> {
            assertThat(body.isReadOnly()).isTrue();
            assertThat(body.toString(StandardCharsets.US_ASCII)).isEqualTo("abcde");
            assertThat(body.release()).isTrue();
        });
    }

    private static Filter holding(Decision decision) {
        return context -> Decision.withBody(10_000, body -> decision);
    }

    /** The client has its window back, so nobody else counts what waits for a slow worker. */
    @Test
    void should_count_a_body_that_was_held_until_it_is_taken() {
        ScriptedFunction function = new ScriptedFunction();
        RequestSink request = behind(function, holding(Decision.pass())).open(head(), false, new Client());
        request.data(ascii("a".repeat(1000)), false);
        request.data(ascii("a".repeat(4000)), false);
        long waiting = request.heldBytes();
        assertThat(waiting).isGreaterThanOrEqualTo(5000);
        request.data(ascii("a".repeat(200)), true);
        ScriptedFunction.Call call = function.only();
        assertThat(request.heldBytes()).isEqualTo(call.heldBytes() + 5000);
        call.take();
        assertThat(request.heldBytes()).isEqualTo(call.heldBytes());
    }

    @Test
    void should_count_nothing_of_a_held_body_that_was_dropped() {
        ScriptedFunction function = new ScriptedFunction();
        RequestSink passed = behind(function, holding(Decision.pass())).open(head(), false, new Client());
        passed.data(ascii("a".repeat(5000)), false);
        passed.data(Unpooled.EMPTY_BUFFER, true);
        function.only().respond(413, true);
        assertThat(passed.heldBytes()).isEqualTo(function.only().heldBytes());
        function.only().take();

        RequestSink answered =
                behind(function, holding(Decision.answer(413, ""))).open(head(), false, new Client());
        long before = answered.heldBytes();
        answered.data(ascii("a".repeat(5000)), false);
        assertThat(answered.heldBytes()).isEqualTo(before + 5000);
        answered.data(Unpooled.EMPTY_BUFFER, true);
        assertThat(answered.heldBytes()).isEqualTo(before);
    }

    @Test
    void should_hold_no_more_than_the_filter_allows() {
        Held function = new Held();
        Client client = new Client();
        List<Object> held = new ArrayList<>();
        RequestSink request = behind(
                        function,
                        context -> Decision.withBody(4, body -> {
                            held.add(body == null);
                            return Decision.pass();
                        }))
                .open(head(), false, client);
        request.data(ascii("abc"), false);
        request.data(ascii("de"), false);
        assertThat(held).containsExactly(true);
        request.data(ascii("f"), true);
        assertThat(function.log).hasToString("abc de f$");
        assertThat(client.returned).isEqualTo(6);
    }

    @Test
    void should_hold_the_empty_body_of_a_request_without_one() {
        Held function = new Held();
        List<Integer> held = new ArrayList<>();
        behind(
                        function,
                        context -> Decision.withBody(4, body -> {
                            held.add(body.readableBytes());
                            return Decision.pass();
                        }))
                .open(head(), true, new Client());
        assertThat(held).containsExactly(0);
        assertThat(function.log).isEmpty();
    }

    // Time, and what happens after `later`.

    @Test
    void should_change_headers_after_an_answer() {
        CompletableFuture<Decision> asked = new CompletableFuture<>();
        Held function = new Held();
        behind(function, context -> Decision.later(asked)).open(head(), true, new Client());
        asked.complete(Decision.resume(context -> {
            context.headers().set("x-user", "u1");
            return Decision.pass();
        }));
        run();
        assertThat(function.head.get("x-user")).hasToString("u1");
    }

    @Test
    void should_cancel_what_it_asks_when_the_client_leaves() {
        CompletableFuture<Decision> asked = new CompletableFuture<>();
        RequestSink request =
                behind(new Held(), context -> Decision.later(asked)).open(head(), true, new Client());
        request.cancel(ErrorCode.CANCELLED);
        assertThat(asked).isCancelled();
        run();
        assertThat(home.isQuiet()).isTrue();
    }

    @Test
    void should_count_the_wait_before_the_router() {
        CompletableFuture<Decision> asked = new CompletableFuture<>();
        List<Duration> left = new ArrayList<>();
        Filter first = at(Filter.Phase.AUTHENTICATE, context -> {
            left.add(context.timeLeft());
            return Decision.later(asked);
        });
        Filter second = context -> {
            left.add(context.timeLeft());
            return Decision.pass();
        };
        Held function = new Held();
        RequestFilters filters = new RequestFilters(List.of(first, second), Map.of());
        FunctionOpener routed = filters.beforeFunction("f", function, true, home);
        TrafficPolicy policy = new Target(List.of()).policy();
        filters.beforeRouter((given, end, to) -> routed.open(given, end, to, policy), home)
                .open(head(), true, new Client());
        pass(1500);
        asked.complete(Decision.pass());
        run();
        assertThat(left).containsExactly(null, Duration.ofMillis(500));
        assertThat(function.applied.deadline().limit()).isEqualTo(Duration.ofMillis(500));
    }

    // Refusals.

    private ResponseFilter instead(List<String> seen, Decision decision) {
        return new ResponseFilter() {
            @Override
            public Decision onRefused(String failure) {
                seen.add(failure);
                return decision;
            }

            @Override
            public void onEnd(String failure) {
                seen.add("end " + failure);
            }
        };
    }

    private Held refused(Client client, List<String> seen, Decision decision, Failure.Kind kind) {
        Held function = new Held();
        RequestSink request = behind(function, context -> Decision.pass(instead(seen, decision)))
                .open(head(), true, client);
        Failure failure = new Failure(kind, "for the test");
        new UnsentExchange("f", head(), function.response).reportFailed(observer, failure);
        function.response.onFailure(failure);
        run();
        request.responseTaken(9);
        assertThat(function.taken).as("of the function").isZero();
        return function;
    }

    @Test
    void should_answer_in_place_of_a_refusal() {
        for (boolean later : List.of(false, true)) {
            observer.ends.clear();
            Client client = new Client();
            List<String> seen = new ArrayList<>();
            Decision answer = Decision.answer(200, "of others");
            Decision decision = later ? Decision.later(CompletableFuture.completedFuture(answer)) : answer;
            refused(client, seen, decision, Failure.Kind.QUEUE_FULL);
            assertThat(client.log).hasToString("200 of others$");
            assertThat(seen).containsExactly("queue_full", "end null");
            assertThat(observer.ends)
                    .singleElement()
                    .extracting(ExchangeEnd::substitute)
                    .isEqualTo(Substitute.FILTER);
        }
    }

    @Test
    void should_refuse_if_the_filter_has_no_answer() {
        List<Decision> decisions = List.of(
                Decision.pass(),
                Decision.later(CompletableFuture.failedFuture(new IllegalStateException("for the test"))),
                Decision.resume(context -> {
                    throw new IllegalStateException("for the test");
                }),
                Decision.withBody(1, body -> Decision.pass()));
        for (Decision decision : decisions) {
            Client client = new Client();
            List<String> seen = new ArrayList<>();
            refused(client, seen, decision, Failure.Kind.BREAKER_OPEN);
            assertThat(client.log).hasToString("BREAKER_OPEN");
            assertThat(seen).containsExactly("breaker_open", "end breaker_open");
            assertThat(home.isQuiet()).isTrue();
        }
    }

    @Test
    void should_refuse_if_the_answer_takes_too_long() {
        Client client = new Client();
        CompletableFuture<Decision> never = new CompletableFuture<>();
        refused(client, new ArrayList<>(), Decision.later(never), Failure.Kind.QUEUE_FULL);
        pass(9_999);
        assertThat(client.log).isEmpty();
        pass(1);
        assertThat(client.log).hasToString("QUEUE_FULL");
        assertThat(never).isCancelled();
    }

    @Test
    void should_replace_no_failure_of_a_handler() {
        for (Failure.Kind kind : List.of(Failure.Kind.HANDLER_FAILED, Failure.Kind.SHUTTING_DOWN)) {
            Client client = new Client();
            List<String> seen = new ArrayList<>();
            refused(client, seen, Decision.answer(200, "of others"), kind);
            assertThat(client.log).hasToString(kind.name());
            assertThat(seen).containsExactly("end " + kind.token());
        }
        Held function = new Held();
        Client client = new Client();
        List<String> seen = new ArrayList<>();
        behind(function, context -> Decision.pass(instead(seen, Decision.answer(200, "of others"))))
                .open(head(), true, client);
        function.response.onHead(new DefaultHttp2Headers().status("503"), true);
        assertThat(client.log).hasToString("503$");
        assertThat(seen).containsExactly("end null");
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
            if (world.oneIn(8)) {
                return Decision.resume(request -> decide());
            }
            if (world.oneIn(6)) {
                return Decision.withBody(1 + world.random.nextInt(8000), body -> decide());
            }
            Follower follower = new Follower();
            return switch (world.random.nextInt(3)) {
                case 0 -> Decision.pass();
                case 1 -> Decision.pass(follower);
                default -> Decision.pass(follower.request, follower);
            };
        }

        /** Keeps some parts until the end. */
        private final class Keeper implements BodyFilter {
            private final List<ByteBuf> kept = new ArrayList<>();

            @Override
            public ByteBuf onData(ByteBuf data) {
                if (world.oneIn(20)) {
                    data.release();
                    throw new IllegalStateException("for the test");
                }
                if (world.oneIn(2) && kept.isEmpty()) {
                    return data;
                }
                kept.add(data);
                return Unpooled.EMPTY_BUFFER;
            }

            @Override
            public ByteBuf onBodyEnd() {
                ByteBuf last = Unpooled.wrappedBuffer(kept.toArray(ByteBuf[]::new));
                kept.clear();
                return last;
            }

            void release() {
                kept.forEach(ByteBuf::release);
                kept.clear();
            }
        }

        private final class Follower implements ResponseFilter {
            final Keeper request = new Keeper();
            private final Keeper response = new Keeper();
            private boolean begun;
            private boolean complete;
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
                assertThat(begun && !complete && !over).isTrue();
                return response.onData(data);
            }

            @Override
            public ByteBuf onBodyEnd() {
                assertThat(begun && !complete && !over).isTrue();
                complete = true;
                return response.onBodyEnd();
            }

            @Override
            public void onTrailers(HeaderFields trailers) {
                assertThat(complete && !over).isTrue();
            }

            @Override
            public Decision onRefused(String failure) {
                assertThat(begun || over).isFalse();
                return world.oneIn(3) ? Decision.pass() : onRequest(null);
            }

            @Override
            public void onEnd(String failure) {
                assertThat(over).isFalse();
                over = true;
                request.release();
                response.release();
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
        // The end of a body or a refusal can lead to a decision that takes time.
        for (int i = 0; i < 4; i++) {
            pass(60_000);
            world.clients.forEach(ContractWorld.Client::finish);
            List.copyOf(world.calls).forEach(ContractWorld.Call::finish);
        }
        pass(60_000);
        StageContractTest.end(world, channel);
        world.clients.forEach(client -> StageContractTest.checkReport(world, client, observer));
        assertThat(world.buffers).allMatch(buffer -> buffer.refCnt() == 0);
    }
}
