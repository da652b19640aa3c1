package io.lambdadispatcher.core.internal.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.exchange.DiscardingSink;
import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.ingress.ClientPath.Kind;
import io.lambdadispatcher.core.internal.ingress.edge.CorsMemory;
import io.lambdadispatcher.core.internal.ingress.edge.ErrorAnswers;
import io.lambdadispatcher.core.internal.ingress.edge.HealthCheck;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.internal.pool.SilentClient;
import io.lambdadispatcher.core.options.ForwardingPolicy;
import io.lambdadispatcher.core.spi.ErrorRenderer;
import io.lambdadispatcher.wire.http.TextAnswer;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Responses that the dispatcher makes instead of a function. */
class OwnAnswersTest {
    private static final String ORIGIN = "https://app.example";
    private static final Failure FULL = new Failure(Failure.Kind.QUEUE_FULL, "full");

    private final CorsMemory cors = new CorsMemory();
    private final ErrorAnswers answers =
            new ErrorAnswers(null, ForwardingPolicy.defaults(), null, cors, Incidents.unobserved());

    private static Http2Headers fields(String... namesAndValues) {
        Http2Headers head = new DefaultHttp2Headers(false);
        for (int i = 0; i < namesAndValues.length; i += 2) {
            head.add(namesAndValues[i], namesAndValues[i + 1]);
        }
        return head;
    }

    private static Http2Headers request(String method, String... namesAndValues) {
        return fields(namesAndValues)
                .method(method)
                .scheme("http")
                .authority("a")
                .path("/");
    }

    private static Http2Headers allowing(String origin) {
        return fields("access-control-allow-origin", origin, "access-control-allow-credentials", "true")
                .status("200");
    }

    private String allowed(@Nullable String function, @Nullable Http2Headers to) {
        TextAnswer answer = function == null
                ? answers.reject(UnpooledByteBufAllocator.DEFAULT, HttpResponseStatus.BAD_REQUEST, "bad", to)
                : answers.answer(UnpooledByteBufAllocator.DEFAULT, FULL, to, function);
        answer.body().release();
        Http2Headers head = answer.head();
        return head.get("access-control-allow-origin") + " " + head.get("access-control-allow-credentials") + " "
                + head.get("access-control-expose-headers") + " " + head.get("vary");
    }

    @ParameterizedTest
    @EnumSource(
            value = Kind.class,
            names = {"HTTP1", "HTTP2"})
    void should_let_a_page_read_what_the_function_lets_it_read(Kind kind) {
        for (String function : new String[] {"f", "g"}) {
            try (ClientPath path = ClientPath.of(kind, ForwardingPolicy.defaults(), cors)) {
                path.request(fields("origin", ORIGIN), "", null);
                path.route(function);
                Http2Headers own = path.fail(FULL);
                assertThat(own).isNotNull();
                assertThat(own.contains("access-control-allow-origin")).isFalse();
            }
            if (function.equals("f")) {
                try (ClientPath path = ClientPath.of(kind, ForwardingPolicy.defaults(), cors)) {
                    path.request(fields("origin", ORIGIN), "", null);
                    path.route("f");
                    path.respond(allowing(ORIGIN), null);
                }
            }
        }
        for (String origin : new String[] {ORIGIN, "https://other.example"}) {
            try (ClientPath path = ClientPath.of(kind, ForwardingPolicy.defaults(), cors)) {
                path.request(fields("origin", origin), "", null);
                path.route("f");
                Http2Headers own = path.fail(FULL);
                assertThat(own).isNotNull();
                assertThat(String.valueOf(own.get("access-control-allow-origin")))
                        .isEqualTo(origin.equals(ORIGIN) ? ORIGIN : "null");
            }
        }
    }

    /** What launchers, workers and the JDK write into the details of failures. */
    private static final String INTERNALS =
            "arn:aws:lambda:eu-west-1:123456789012:function:api w-7f3a 10.1.2.3:8443 java.io.IOException: password";

    private static boolean tellsInternals(CharSequence text) {
        return Stream.of("arn:", "123456789012", "w-7f3a", "10.1.2.3", "IOException", "password")
                .anyMatch(text.toString()::contains);
    }

    @ParameterizedTest
    @EnumSource(Failure.Kind.class)
    void should_tell_clients_a_fixed_sentence_and_nothing_of_the_deployment(Failure.Kind kind) {
        Failure failure = new Failure(kind, INTERNALS);
        for (ErrorRenderer renderer : new ErrorRenderer[] {null, ErrorRenderer.problemJson()}) {
            TextAnswer answer = new ErrorAnswers(
                            renderer, ForwardingPolicy.defaults(), "x-failure", cors, Incidents.unobserved())
                    .answer(UnpooledByteBufAllocator.DEFAULT, failure, request("GET"), "api");
            String body = answer.body().toString(StandardCharsets.UTF_8);
            answer.body().release();
            assertThat(body).contains(kind.message()).matches(text -> !tellsInternals(text));
            assertThat(answer.head()).noneMatch(field -> tellsInternals(field.getValue()));
        }
        for (Kind path : new Kind[] {Kind.HTTP1, Kind.HTTP2}) {
            try (ClientPath client = ClientPath.of(path)) {
                client.request(fields(), "", null);
                assertThat(client.answerTo(failure)).contains(kind.message()).matches(text -> !tellsInternals(text));
            }
        }
        try (ClientPath client = ClientPath.of(Kind.HTTP2)) {
            client.request(fields("content-type", "application/grpc"), "", null);
            assertThat(client.fail(failure)).noneMatch(field -> tellsInternals(field.getValue()));
        }
    }

    @ParameterizedTest
    @EnumSource(Failure.Kind.class)
    void should_document_what_clients_read(Failure.Kind kind) throws IOException {
        assertThat(Files.readString(Path.of("../docs/reference/failures.md")))
                .contains("| `" + kind.token() + "` | " + kind.status().code() + " | " + kind.message() + " |");
    }

    @Test
    void should_not_quote_the_exceptions_of_its_decoder() {
        try (ClientPath client = ClientPath.of(Kind.HTTP1)) {
            client.channel.pipeline().fireExceptionCaught(new DecoderException(new IllegalStateException(INTERNALS)));
            assertThat(client.sent().toString(StandardCharsets.US_ASCII)).doesNotContain("123456789012");
        }
        try (ClientPath client = ClientPath.of(Kind.HTTP1)) {
            client.channel.writeInbound(Unpooled.copiedBuffer("GET / HTTP/one\r\n\r\n", StandardCharsets.US_ASCII));
            assertThat(client.sent().toString(StandardCharsets.US_ASCII))
                    .startsWith("HTTP/1.1 400 ")
                    .endsWith("\r\n\r\nmalformed request\n");
        }
    }

    @Test
    void should_say_what_the_last_response_said() {
        Http2Headers request = request("GET", "origin", ORIGIN);
        answers.onResponse("f", request, allowing("*").add("access-control-expose-headers", "x-total"));
        assertThat(allowed("f", request)).isEqualTo("* true x-total origin");
        // A preflight request is not about what a page may read.
        Http2Headers preflight = request("OPTIONS", "origin", ORIGIN, "access-control-request-method", "PUT");
        answers.onResponse("f", preflight, allowing(ORIGIN));
        assertThat(allowed("f", request)).isEqualTo("* true x-total origin");
        answers.onResponse("f", request, allowing(ORIGIN));
        assertThat(allowed("f", request)).isEqualTo(ORIGIN + " true null origin");
        // Many applications forget the headers in their errors.
        answers.onResponse("f", request, fields().status("500"));
        assertThat(allowed("f", request)).isEqualTo(ORIGIN + " true null origin");
        answers.onResponse("f", request, fields().status("200"));
        assertThat(allowed("f", request)).isEqualTo("null null null null");
    }

    @Test
    void should_learn_from_a_preflight_before_the_first_request() {
        Http2Headers preflight = request("OPTIONS", "origin", ORIGIN, "access-control-request-method", "PUT");
        answers.onResponse("f", preflight, allowing(ORIGIN));
        assertThat(allowed("f", request("PUT", "origin", ORIGIN))).startsWith(ORIGIN);
    }

    /** For example, there is no function for the path, or the request line is too long. */
    @Test
    void should_let_pages_read_what_belongs_to_no_function() {
        assertThat(allowed(null, null)).isEqualTo("null null null null");
        answers.onResponse("f", request("GET", "origin", ORIGIN), allowing(ORIGIN));
        assertThat(allowed(null, request("GET", "origin", ORIGIN))).startsWith(ORIGIN);
        assertThat(allowed(null, request("GET", "origin", "https://other.example")))
                .startsWith("null");
        assertThat(allowed(null, request("GET"))).startsWith("null");
        assertThat(allowed(null, null)).isEqualTo("* null null null");
    }

    /** A worker whose application does not answer. */
    @Test
    void should_let_pages_read_what_stands_in_for_the_function() {
        Http2Headers request = request("GET", "origin", ORIGIN);
        answers.onResponse("f", request, allowing(ORIGIN));
        Http2Headers made = fields(TextAnswer.MARK.toString(), "worker").status("200");
        answers.onResponse("f", request, made);
        assertThat(made.get("access-control-allow-origin")).hasToString(ORIGIN);
        assertThat(allowed("f", request)).startsWith(ORIGIN);
    }

    @Test
    void should_remember_a_bounded_number_of_origins() {
        for (int i = 0; i < 5000; i++) {
            answers.onResponse("f", request("GET", "origin", "https://" + i), allowing("https://" + i));
        }
        int remembered = 0;
        for (int i = 0; i < 5000; i++) {
            remembered += allowed("f", request("GET", "origin", "https://" + i)).startsWith("null") ? 0 : 1;
        }
        assertThat(remembered).isEqualTo(1024);
        String longer = "https://" + "a".repeat(1000);
        answers.onResponse("f", request("GET", "origin", longer), allowing(longer));
        assertThat(allowed("f", request("GET", "origin", longer))).startsWith("null");
    }

    @ParameterizedTest
    @CsvSource({
        "GET,  /up,      any,                   200",
        "HEAD, /up,      any,                   200",
        "GET,  /up?a=b,  any,                   200",
        "POST, /up,      any,                   passed",
        "GET,  /upper,   any,                   passed",
        "GET,  /,        any,                   passed",
        "GET,  /UP,      any,                   passed",
    })
    void should_answer_a_health_check_by_its_path(String method, String path, String agent, String seen) {
        assertThat(checked(new HealthCheck("/up", "", () -> true), method, path, agent))
                .isEqualTo(seen);
    }

    @ParameterizedTest
    @CsvSource({
        "/,  ELB-HealthChecker/2.0, 200",
        "/,  elb-healthchecker/3,   200",
        "/,  curl/8,                passed",
        "/,  '',                    passed",
        "/a, ELB-HealthChecker/2.0, passed",
    })
    void should_answer_a_health_check_by_its_user_agent(String path, String agent, String seen) {
        assertThat(checked(new HealthCheck("/", "ELB-HealthChecker", () -> true), "GET", path, agent))
                .isEqualTo(seen);
    }

    @Test
    void should_answer_503_while_it_is_not_ready() {
        AtomicBoolean ready = new AtomicBoolean(true);
        HealthCheck check = new HealthCheck("/up", "", ready::get);
        assertThat(checked(check, "GET", "/up", "any")).isEqualTo("200");
        ready.set(false);
        assertThat(checked(check, "GET", "/up", "any")).isEqualTo("503");
    }

    private static String checked(HealthCheck check, String method, String path, String agent) {
        List<String> seen = new ArrayList<>();
        ResponseSink client = new SilentClient() {
            @Override
            public void onHead(Http2Headers head, boolean end) {
                seen.add(head.status().toString());
                assertThat(end).isEqualTo(method.equals("HEAD"));
            }

            @Override
            public void onData(ByteBuf data, boolean end) {
                assertThat(data.toString(StandardCharsets.US_ASCII)).endsWith("ready\n");
                assertThat(end).isTrue();
                data.release();
            }
        };
        Http2Headers head = request(method).path(path);
        if (!agent.isEmpty()) {
            head.add("user-agent", agent);
        }
        check.before((passed, end, sink) -> {
                    seen.add("passed");
                    return new DiscardingSink();
                })
                .open(head, true, client);
        return String.join(" ", seen);
    }
}
