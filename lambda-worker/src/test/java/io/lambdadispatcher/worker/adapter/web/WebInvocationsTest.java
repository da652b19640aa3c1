package io.lambdadispatcher.worker.adapter.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.amazonaws.services.lambda.runtime.Context;
import io.lambdadispatcher.wire.event.EventFormat;
import io.lambdadispatcher.wire.event.EventWriter;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.event.ResponseReader;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Ordinary invocations: an event arrives, the application receives a request, and its response
 * returns.
 */
@Timeout(180)
class WebInvocationsTest {
    private static Context context(int remainingMillis) {
        return (Context) Proxy.newProxyInstance(
                Context.class.getClassLoader(),
                new Class<?>[] {Context.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "getRemainingTimeInMillis" -> remainingMillis;
                    case "getMemoryLimitInMB" -> 512;
                    default -> method.getName();
                });
    }

    private static String invoke(WebConfig config, String event) throws IOException {
        return invoke(config, event, 30_000);
    }

    private static String invoke(WebConfig config, String event, int remainingMillis) throws IOException {
        WebHandler handler = new WebHandler(config);
        ByteArrayOutputStream result = new ByteArrayOutputStream();
        try {
            handler.handleRequest(
                    new ByteArrayInputStream(event.getBytes(StandardCharsets.UTF_8)), result, context(remainingMillis));
        } finally {
            handler.stop();
        }
        return result.toString(StandardCharsets.UTF_8);
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> answer(String result) {
        return (Map<String, Object>) Json.read(result.getBytes(StandardCharsets.UTF_8));
    }

    private static RawApp answering(String answer) throws IOException {
        RawApp[] app = new RawApp[1];
        app[0] = new RawApp(connection -> {
            String head;
            while (!(head = connection.readHead()).isEmpty()) {
                int at = head.indexOf("content-length: ");
                int bytes = at < 0 ? 0 : Integer.parseInt(head.substring(at + 16, head.indexOf('\r', at)));
                app[0].heard.add(head + connection.read(bytes));
                connection.write(answer);
            }
        });
        return app[0];
    }

    private static final String TWO_COOKIES = "HTTP/1.1 201 Created\r\nContent-Type: text/plain; charset=utf-8\r\n"
            + "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX-Two: 1\r\nX-Two: 2\r\nContent-Length: 2\r\n\r\nok";

    @Test
    void should_serve_events_of_payload_format_2() throws Exception {
        try (RawApp app = answering(TWO_COOKIES)) {
            Map<String, Object> answer = answer(invoke(
                    app.config(),
                    "{\"version\":\"2.0\",\"rawPath\":\"/a%20b\",\"rawQueryString\":\"c=d&c=e\","
                            + "\"cookies\":[\"x=1\",\"y=2\"],\"headers\":{\"Host\":\"h.example\",\"accept\":\"a,b\"},"
                            + "\"requestContext\":{\"http\":{\"method\":\"PUT\"},\"stage\":\"gr\u00fcn\"},"
                            + "\"body\":\"AAEC\",\"isBase64Encoded\":true}"));
            assertThat(app.takeHeard())
                    .startsWith("PUT /a%20b?c=d&c=e HTTP/1.1\r\nhost: h.example\r\n")
                    .contains("accept: a,b\r\n", "cookie: x=1; y=2\r\n", "content-length: 3\r\n")
                    .contains("x-amzn-request-context: {\"http\":{\"method\":\"PUT\"},\"stage\":\"gr\\u00FCn\"}\r\n")
                    .contains("\"function_name\":\"getFunctionName\"", "\"memory\":512")
                    .endsWith("\r\n\r\n\0\1\2");
            assertThat(answer.get("statusCode")).hasToString("201");
            assertThat(answer.get("cookies")).isEqualTo(List.of("a=1", "b=2"));
            assertThat(answer.get("headers"))
                    .isEqualTo(
                            Map.of("content-type", "text/plain; charset=utf-8", "x-two", "1,2", "content-length", "2"));
            assertThat(answer.get("body")).isEqualTo("ok");
            assertThat(answer.get("isBase64Encoded")).isEqualTo(false);
        }
    }

    /** What the application sends, a client of the load balancer gets, whatever the format. */
    @ParameterizedTest
    @EnumSource
    void should_lose_no_value_of_a_response(EventFormat format) throws Exception {
        for (int cookies : new int[] {0, 1, 2, 3, 9, 40, 512}) {
            StringBuilder head = new StringBuilder("HTTP/1.1 401 No\r\nContent-Length: 2\r\n");
            List<String> expected = IntStream.range(0, cookies)
                    .mapToObj(i -> "c" + i + "=1; Path=/")
                    .toList();
            expected.forEach(
                    cookie -> head.append("Set-Cookie: ").append(cookie).append("\r\n"));
            List<String> lists = List.of("link", "vary", "cache-control", "www-authenticate", "x-other");
            lists.forEach(
                    name -> head.append(name).append(": a\r\n").append(name).append(": b\r\n"));
            byte[] event = EventWriter.of(format, "f")
                    .write(new FlatHeaders().method("GET").authority("h").path("/"), Unpooled.EMPTY_BUFFER, 1 << 20);
            try (RawApp app = answering(head + "\r\nok")) {
                String result = invoke(app.config(), new String(event, StandardCharsets.UTF_8));
                Http2Headers seen = new ResponseReader(format)
                        .read(result.getBytes(StandardCharsets.UTF_8), "GET")
                        .head();
                assertThat(seen.getAll("set-cookie").stream().map(Object::toString))
                        .isEqualTo(expected);
                for (String name : lists) {
                    assertThat(String.join(",", seen.getAll(name))).as(name).isEqualTo("a,b");
                }
            }
        }
    }

    @Test
    void should_serve_a_load_balancers_events() throws Exception {
        try (RawApp app = answering(TWO_COOKIES)) {
            Map<String, Object> answer = answer(invoke(
                    app.config(),
                    "{\"httpMethod\":\"GET\",\"path\":\"/p\",\"queryStringParameters\":{\"a\":\"b%20c\"},"
                            + "\"headers\":{\"host\":\"h\"},\"requestContext\":{\"elb\":{}},\"body\":\"\"}"));
            assertThat(app.takeHeard()).startsWith("GET /p?a=b%20c HTTP/1.1\r\nhost: h\r\n");
            assertThat(answer.get("headers")).asString().contains("set-cookie=a=1", "Set-cookie=b=2", "x-two=1,2");
            assertThat(answer.get("statusDescription")).isEqualTo("201 Created");
        }
    }

    @Test
    void should_serve_events_with_many_values() throws Exception {
        try (RawApp app = answering(TWO_COOKIES)) {
            Map<String, Object> answer = answer(invoke(
                    app.config(),
                    "{\"httpMethod\":\"POST\",\"path\":\"/p\",\"resource\":\"/{proxy+}\","
                            + "\"multiValueQueryStringParameters\":{\"a\":[\"b c\",\"&\"]},"
                            + "\"multiValueHeaders\":{\"X-In\":[\"1\",\"2\"]},\"headers\":{\"X-In\":\"2\"},"
                            + "\"requestContext\":{\"stage\":\"prod\"},\"body\":\"text\",\"isBase64Encoded\":false}"));
            assertThat(app.takeHeard())
                    .startsWith("POST /p?a=b%20c&a=%26 HTTP/1.1\r\n")
                    .contains("x-in: 1\r\nx-in: 2\r\n")
                    .endsWith("\r\n\r\ntext");
            assertThat(answer.get("multiValueHeaders")).asString().contains("set-cookie=[a=1, b=2]", "x-two=[1, 2]");
        }
    }

    @Test
    void should_not_let_a_client_say_which_invocation_it_is() throws Exception {
        try (RawApp app = answering(TWO_COOKIES)) {
            invoke(
                    app.config(),
                    "{\"httpMethod\":\"GET\",\"path\":\"/\",\"requestContext\":{\"stage\":\"prod\"},\"headers\":{"
                            + "\"X-Amzn-Request-Context\":\"forged\",\"x_amzn_lambda_context\":\"forged\"}}");
            assertThat(app.takeHeard())
                    .contains("x-amzn-request-context: {\"stage\":\"prod\"}\r\n", "x-amzn-lambda-context: {")
                    .doesNotContain("forged");
        }
    }

    /** A function can have a URL or a load balancer beside the dispatcher. */
    @ParameterizedTest
    @EnumSource
    void should_take_the_dispatchers_headers_only_from_the_dispatcher(EventFormat format) throws Exception {
        Http2Headers head = new FlatHeaders()
                .method("GET")
                .path("/")
                .authority("h")
                .add("lambda-dispatcher-shadow", "orders")
                .add("Lambda_Dispatcher_Shadow", "orders")
                .add("x-other", "kept");
        String direct = new String(
                EventWriter.of(format, "f").write(head, Unpooled.EMPTY_BUFFER, 10_000), StandardCharsets.UTF_8);
        String ofAws = direct.replace("\"apiId\":\"lambda-dispatcher\"", "\"apiId\":\"a1b2c3\"")
                .replace("lambda-dispatcher:targetgroup", "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup");
        try (RawApp app = answering(TWO_COOKIES)) {
            invoke(app.config(), direct);
            assertThat(app.takeHeard()).contains("lambda-dispatcher-shadow: orders\r\n");
            invoke(app.config(), ofAws);
            assertThat(app.takeHeard()).contains("x-other: kept\r\n").doesNotContain("orders");
        }
    }

    /** The bytes are those that the client has sent. */
    @Test
    void should_pass_on_header_values_in_utf_8() throws Exception {
        try (RawApp app = answering(TWO_COOKIES)) {
            invoke(
                    app.config(),
                    "{\"version\":\"2.0\",\"rawPath\":\"/\",\"cookies\":[\"a=日本\"],"
                            + "\"headers\":{\"x-name\":\" Größe\"},"
                            + "\"requestContext\":{\"http\":{\"method\":\"GET\"}}}");
            String head = new String(app.takeHeard().getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
            assertThat(head).contains("cookie: a=日本\r\n", "x-name: Größe\r\n");
        }
    }

    /** API Gateway's HTTP APIs send the path decoded. */
    @Test
    void should_serve_events_with_a_decoded_path() throws Exception {
        try (RawApp app = answering(TWO_COOKIES)) {
            invoke(
                    app.config(),
                    "{\"version\":\"2.0\",\"rawPath\":\"/AWS Lambda/A\u00f1o#1\",\"rawQueryString\":\"q=a%20b\","
                            + "\"requestContext\":{\"http\":{\"method\":\"GET\"}}}");
            assertThat(app.takeHeard()).startsWith("GET /AWS%20Lambda/A%C3%B1o%231?q=a%20b HTTP/1.1\r\n");
            invoke(
                    app.config(),
                    "{\"version\":\"1.0\",\"httpMethod\":\"GET\",\"path\":\"/100%?x\",\"requestContext\":{}}");
            assertThat(app.takeHeard()).startsWith("GET /100%25%3Fx HTTP/1.1\r\n");
        }
    }

    /** The path is also in the request context, which becomes a header. */
    @Test
    void should_serve_events_whose_path_has_a_control_character() throws Exception {
        try (RawApp app = answering(TWO_COOKIES)) {
            invoke(
                    app.config(),
                    "{\"version\":\"2.0\",\"rawPath\":\"/a\u007f\","
                            + "\"requestContext\":{\"http\":{\"method\":\"GET\",\"path\":\"/a\u007f\"}}}");
            assertThat(app.takeHeard()).startsWith("GET /a%7F HTTP/1.1\r\n").contains("\"path\":\"/a\\u007F\"");
        }
    }

    @Test
    void should_encode_what_is_no_text() throws Exception {
        String event = "{\"httpMethod\":\"GET\",\"path\":\"/\",\"requestContext\":{}}";
        for (String fields : new String[] {
            "Content-Type: image/png\r\n", "Content-Type: text/plain\r\n", "Content-Encoding: gzip\r\n"
        }) {
            String body = fields.contains("text") ? "\u00ff\u00fe" : "ok";
            try (RawApp app = answering("HTTP/1.1 200 OK\r\n" + fields + "Content-Length: 2\r\n\r\n" + body)) {
                Map<String, Object> answer = answer(invoke(app.config(), event));
                assertThat(answer.get("isBase64Encoded")).isEqualTo(true);
                assertThat(java.util.Base64.getDecoder().decode((String) answer.get("body")))
                        .isEqualTo(body.getBytes(StandardCharsets.ISO_8859_1));
            }
        }
    }

    @Test
    void should_post_other_events_to_the_pass_through_path() throws Exception {
        String event = "{\"Records\":[{\"eventSource\":\"aws:sqs\"}]}";
        try (RawApp app = answering("HTTP/1.1 200 OK\r\nContent-Length: 28\r\n\r\n{\"batchItemFailures\": [\"1\"]}")) {
            assertThat(invoke(app.builder().passThroughPath("/queue").build(), event))
                    .isEqualTo("{\"batchItemFailures\": [\"1\"]}");
            assertThat(app.takeHeard())
                    .startsWith("POST /queue HTTP/1.1\r\n")
                    .contains("content-type: application/json\r\n")
                    .endsWith("\r\n\r\n" + event);
        }
        try (RawApp app = answering("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nnot json")) {
            assertThat(invoke(app.config(), event)).isEqualTo("\"not json\"");
            assertThat(app.takeHeard()).startsWith("POST /events ");
        }
        try (RawApp app = answering("HTTP/1.1 204 No Content\r\n\r\n")) {
            assertThat(invoke(app.config(), "[1, 2]")).isEqualTo("null");
        }
    }

    @Test
    void should_remove_the_base_path_only_from_paths_of_clients() throws Exception {
        try (RawApp app = answering("HTTP/1.1 204 No Content\r\n\r\n")) {
            WebConfig config = app.builder()
                    .basePath("/shop")
                    .passThroughPath("/shop/queue")
                    .build();
            invoke(config, "{\"httpMethod\":\"GET\",\"path\":\"/shop/7\",\"requestContext\":{}}");
            assertThat(app.takeHeard()).startsWith("GET /7 HTTP/1.1\r\n");
            invoke(config, QUEUE_EVENT);
            assertThat(app.takeHeard()).startsWith("POST /shop/queue HTTP/1.1\r\n");
        }
    }

    @Test
    void should_fail_the_invocation_with_the_statuses_that_are_said_to_be_errors() throws Exception {
        try (RawApp app = answering("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")) {
            assertThatThrownBy(() ->
                            invoke(app.builder().errorStatusCodes("500,502-504").build(), "{\"Records\":[]}"))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("503")
                    .hasMessageContaining("busy");
        }
    }

    private static final String QUEUE_EVENT = "{\"Records\":[{\"eventSource\":\"aws:sqs\"}]}";
    private static final String HTTP_EVENT =
            "{\"httpMethod\":\"POST\",\"path\":\"/\",\"requestContext\":{},\"body\":\"x\"}";

    /** A success would delete a queue's messages, although nothing has processed them. */
    private static void assertUnanswered(WebConfig.Builder app, String why) throws IOException {
        WebConfig config = app.build();
        assertThatThrownBy(() -> invoke(config, QUEUE_EVENT))
                .isInstanceOf(IOException.class)
                .hasMessageContaining(why);
        Map<String, Object> answer = answer(invoke(config, HTTP_EVENT));
        assertThat(answer.get("statusCode")).hasToString("502");
        assertThat(answer.get("body")).asString().isEqualTo("the application gave no valid response\n");
        assertThatThrownBy(() -> invoke(app.errorStatusCodes("502").build(), HTTP_EVENT))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("502");
    }

    @ParameterizedTest
    @EnumSource
    void should_fail_the_invocation_where_the_app_is_down(WebConfig.AppProtocol protocol) throws Exception {
        RawApp gone = new RawApp(RawApp.Connection::awaitEnd);
        gone.close();
        assertUnanswered(gone.builder().protocol(protocol), "no connection to the app");
    }

    @Test
    void should_fail_the_invocation_where_the_app_refuses_its_stream() throws Exception {
        try (H2cApp app = new H2cApp(
                Http2Settings.defaultSettings(),
                (stream, frame) -> stream.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.REFUSED_STREAM)))) {
            assertUnanswered(app.builder(), "REFUSED_STREAM");
        }
    }

    @Test
    void should_fail_the_invocation_where_the_app_dies_or_answers_no_http() throws Exception {
        try (RawApp app = new RawApp(RawApp.Connection::readHead)) {
            assertUnanswered(app.builder(), "closed its connection before");
        }
        try (H2cApp app = new H2cApp(
                Http2Settings.defaultSettings(),
                (stream, frame) -> stream.channel().parent().close())) {
            assertUnanswered(app.builder(), "closed its connection before");
        }
        try (RawApp app = answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n")) {
            assertUnanswered(app.builder(), "transfer-encoding [gzip]");
        }
        try (RawApp app = answering("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhalf")) {
            WebConfig config = app.builder().passThroughPath("/an event").build();
            assertThatThrownBy(() -> invoke(config, QUEUE_EVENT))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("malformed path");
        }
    }

    @Test
    void should_leave_an_app_whose_response_never_ends() throws Exception {
        try (RawApp app = new RawApp(connection -> {
            connection.readHead();
            connection.write("HTTP/1.1 200 OK\r\n\r\n");
            String part = "x".repeat(64 * 1024);
            while (true) {
                connection.write(part);
            }
        })) {
            WebHandler handler = new WebHandler(app.config());
            ByteArrayInputStream event = new ByteArrayInputStream("{}".getBytes(StandardCharsets.UTF_8));
            assertThatThrownBy(() -> handler.handleRequest(event, new ByteArrayOutputStream(), context(30_000)))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("longer than");
            assertThat(app.takeEnded()).contains("Exception");
            handler.stop();
        }
    }

    @Test
    void should_refuse_a_field_without_a_name() throws Exception {
        try (RawApp app = answering(TWO_COOKIES)) {
            assertThat(invoke(
                            app.config(),
                            "{\"httpMethod\":\"GET\",\"path\":\"/\",\"headers\":{\"\":\"x\"},\"requestContext\":{}}",
                            5_000))
                    .contains("\"statusCode\":400");
        }
    }

    @Test
    void should_fail_the_invocation_before_its_time_is_over() throws Exception {
        try (RawApp app = new RawApp(RawApp.Connection::awaitEnd)) {
            assertThatThrownBy(() -> invoke(app.config(), "{}", 250))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("not answered within 50 ms");
        }
    }

    /** A function URL gets base64, because the body is no text any more. */
    @Test
    void should_compress_the_answer_to_an_event() throws Exception {
        String text = "0123456789abcdef".repeat(8);
        try (RawApp app = answering("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " + text.length()
                + "\r\n\r\n" + text)) {
            Map<String, Object> answer =
                    answer(invoke(app.builder().compression(true).build(), """
                    {"version": "2.0", "rawPath": "/", "rawQueryString": "", "headers": {"accept-encoding": "gzip"},
                     "requestContext": {"http": {"method": "GET"}}, "isBase64Encoded": false}"""));
            assertThat(answer.get("isBase64Encoded")).isEqualTo(true);
            assertThat(answer.get("headers").toString()).contains("content-encoding=gzip", "vary=accept-encoding");
            byte[] body = Base64.getDecoder().decode(String.valueOf(answer.get("body")));
            assertThat(new GZIPInputStream(new ByteArrayInputStream(body)).readAllBytes())
                    .asString(StandardCharsets.UTF_8)
                    .isEqualTo(text);
        }
    }
}
