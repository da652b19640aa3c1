package io.lambdadispatcher.wire.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

class EventWriterTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LIMIT = 1 << 20;

    private final EventWriter alb = new AlbEvent("f", false);
    private final EventWriter albMulti = new AlbEvent("f", true);
    private final EventWriter httpApi = new HttpApiEvent();
    private final EventWriter restApi = new RestApiEvent();
    private final EventWriter functionUrl = new FunctionUrlEvent();

    private static Http2Headers head(String method, String path) {
        return new DefaultHttp2Headers()
                .method(method)
                .scheme("http")
                .authority("shop.example.org:8080")
                .path(path)
                .add("x-forwarded-for", "10.0.0.9, 192.0.2.7")
                .add("x-forwarded-proto", "http")
                .add("user-agent", "curl/8");
    }

    private static JsonNode event(EventWriter writer, Http2Headers head, byte[] body) {
        ByteBuf bytes = Unpooled.wrappedBuffer(body);
        return JSON.readTree(writer.write(head, bytes, LIMIT));
    }

    private static JsonNode event(EventWriter writer, Http2Headers head) {
        return event(writer, head, new byte[0]);
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void should_write_a_target_groups_event_with_the_last_of_several_values() {
        Http2Headers head = head("GET", "/a%20b/c?q=1&q=%32&empty=&bare&&=x")
                .add("x-list", "one")
                .add("x-list", "two");

        JsonNode event = event(alb, head);

        assertThat(event.at("/requestContext/elb/targetGroupArn").asString())
                .isEqualTo("lambda-dispatcher:targetgroup/f");
        assertThat(event.at("/httpMethod").asString()).isEqualTo("GET");
        assertThat(event.at("/path").asString()).isEqualTo("/a%20b/c");
        assertThat(event.at("/queryStringParameters").toString())
                .isEqualTo("{\"q\":\"%32\",\"empty\":\"\",\"bare\":\"\",\"\":\"x\"}");
        assertThat(event.at("/headers/x-list").asString()).isEqualTo("two");
        assertThat(event.at("/headers/host").asString()).isEqualTo("shop.example.org:8080");
        assertThat(event.at("/headers/x-forwarded-port").asString()).isEqualTo("8080");
        assertThat(event.at("/body").asString()).isEmpty();
        assertThat(event.at("/isBase64Encoded").booleanValue()).isFalse();
        assertThat(event.has("multiValueHeaders")).isFalse();
        assertThat(event.at("/headers").has(":path")).isFalse();
    }

    @Test
    void should_write_all_values_where_the_target_group_has_multi_value_headers() {
        Http2Headers head = head("GET", "/?q=1&q=2").add("x-list", "one").add("x-list", "two");

        JsonNode event = event(albMulti, head);

        assertThat(event.at("/multiValueQueryStringParameters/q").toString()).isEqualTo("[\"1\",\"2\"]");
        assertThat(event.at("/multiValueHeaders/x-list").toString()).isEqualTo("[\"one\",\"two\"]");
        assertThat(event.at("/multiValueHeaders/user-agent").toString()).isEqualTo("[\"curl/8\"]");
        assertThat(event.has("headers")).isFalse();
        assertThat(event.has("queryStringParameters")).isFalse();
    }

    @Test
    void should_write_format_2_with_joined_values_and_cookies_apart() {
        Http2Headers head = head("POST", "/a%20b?q=1&q=a%20b+c&bad=%zz")
                .add("x-list", "one")
                .add("x-list", "two")
                .add("cookie", "a=1; b=2");

        JsonNode event = event(httpApi, head);

        assertThat(event.at("/version").asString()).isEqualTo("2.0");
        assertThat(event.at("/routeKey").asString()).isEqualTo("$default");
        assertThat(event.at("/rawPath").asString()).isEqualTo("/a%20b");
        assertThat(event.at("/rawQueryString").asString()).isEqualTo("q=1&q=a%20b+c&bad=%zz");
        assertThat(event.at("/queryStringParameters").toString()).isEqualTo("{\"q\":\"1,a b c\",\"bad\":\"%zz\"}");
        assertThat(event.at("/headers/x-list").asString()).isEqualTo("one,two");
        assertThat(event.at("/cookies").toString()).isEqualTo("[\"a=1\",\"b=2\"]");
        assertThat(event.at("/headers").has("cookie")).isFalse();
        JsonNode context = event.at("/requestContext");
        assertThat(context.at("/http").toString())
                .isEqualTo("{\"method\":\"POST\",\"path\":\"/a%20b\",\"protocol\":\"HTTP/1.1\","
                        + "\"sourceIp\":\"192.0.2.7\",\"userAgent\":\"curl/8\"}");
        assertThat(context.at("/domainName").asString()).isEqualTo("shop.example.org");
        assertThat(context.at("/domainPrefix").asString()).isEqualTo("shop");
        assertThat(context.at("/requestId").asString()).hasSize(36);
        assertThat(context.at("/time").asString()).matches("\\d\\d/[A-Z][a-z]{2}/\\d{4}:\\d\\d:\\d\\d:\\d\\d \\+0000");
        assertThat(context.at("/timeEpoch").asLong()).isPositive();
        assertThat(event.has("body")).isFalse();
        assertThat(event.at("/isBase64Encoded").booleanValue()).isFalse();
    }

    @Test
    void should_leave_out_what_a_request_of_format_2_does_not_have() {
        JsonNode event = event(httpApi, head("GET", "/"));

        assertThat(event.has("cookies")).isFalse();
        assertThat(event.has("queryStringParameters")).isFalse();
        assertThat(event.at("/rawQueryString").asString()).isEmpty();
    }

    @Test
    void should_write_null_for_what_a_request_to_a_rest_api_does_not_have() {
        JsonNode event = event(restApi, head("GET", "/"));

        assertThat(event.at("/resource").asString()).isEqualTo("/");
        for (String absent : new String[] {
            "body", "pathParameters", "stageVariables", "queryStringParameters", "multiValueQueryStringParameters"
        }) {
            assertThat(event.get(absent).isNull()).as(absent).isTrue();
        }
        assertThat(event.at("/isBase64Encoded").booleanValue()).isFalse();
    }

    @Test
    void should_use_the_request_id_it_is_given_or_a_new_one() {
        assertThat(event(functionUrl, head("GET", "/")).at("/requestContext/requestId"))
                .isNotEqualTo(event(functionUrl, head("GET", "/")).at("/requestContext/requestId"));
        byte[] named = functionUrl.write(head("GET", "/"), Unpooled.EMPTY_BUFFER, "r-1", LIMIT);
        assertThat(JSON.readTree(named).at("/requestContext/requestId").asString())
                .isEqualTo("r-1");
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {
                "text/plain,                     -,    false, false, false",
                "Text/HTML;charset=utf-8,        -,    false, false, false",
                "application/json,               -,    false, false, false",
                "'application/json ; a=b',      -,    false, false, false",
                "application/javascript,         -,    false, false, false",
                "application/xml,                -,    false, false, false",
                "application/vnd.api+json,       -,    true,  false, false",
                "image/svg+xml,                  -,    true,  false, true",
                "application/x-www-form-urlencoded, -, true,  true,  false",
                "application/octet-stream,       -,    true,  true,  true",
                "image/png,                      -,    true,  true,  true",
                "Video/MP4; codecs=x,            -,    true,  true,  true",
                "textual/plain,                  -,    true,  true,  false",
                "-,                              -,    true,  true,  false",
                "text/plain,                     gzip, true,  true,  true",
                "application/json,               identity, true, true, true",
            })
    void should_encode_what_is_not_text(
            String type, String encoding, boolean byAlb, boolean byHttpApi, boolean byRestApi) {
        Http2Headers head = head("POST", "/");
        if (type != null) {
            head.add("content-type", type);
        }
        if (encoding != null) {
            head.add("content-encoding", encoding);
        }
        byte[] body = utf8("{\"grün\":\"\\\"\u2028😀\"}");

        assertBody(event(alb, head, body), body, byAlb);
        assertBody(event(albMulti, head, body), body, byAlb);
        assertBody(event(httpApi, head, body), body, byHttpApi);
        assertBody(event(functionUrl, head, body), body, byHttpApi);
        assertBody(event(restApi, head, body), body, byRestApi);
    }

    private static void assertBody(JsonNode event, byte[] body, boolean encoded) {
        assertThat(event.at("/isBase64Encoded").booleanValue()).isEqualTo(encoded);
        String text = event.at("/body").asString();
        assertThat(encoded ? Base64.getDecoder().decode(text) : utf8(text)).isEqualTo(body);
    }

    @Test
    void should_encode_text_that_is_not_utf_8_so_that_no_byte_is_lost() {
        byte[] latin1 = "grün".getBytes(StandardCharsets.ISO_8859_1);
        Http2Headers head = head("POST", "/").add("content-type", "text/plain; charset=iso-8859-1");

        assertBody(event(alb, head, latin1), latin1, true);
        assertBody(event(restApi, head, latin1), latin1, true);
    }

    @Test
    void should_keep_every_byte_of_a_body_of_any_length() {
        Http2Headers head = head("POST", "/").add("content-type", "image/png");
        for (int length = 1; length < 70; length++) {
            byte[] body = new byte[length];
            for (int i = 0; i < length; i++) {
                body[i] = (byte) (i * 37 + length);
            }
            assertBody(event(httpApi, head, body), body, true);
        }
    }

    @Test
    void should_stop_at_the_limit() {
        Http2Headers head = head("POST", "/").add("content-type", "text/plain");
        byte[] body = new byte[3000];
        int whole = alb.write(head, Unpooled.wrappedBuffer(body), LIMIT).length;

        assertThat(alb.write(head, Unpooled.wrappedBuffer(body), whole)).hasSize(whole);
        assertThatThrownBy(() -> alb.write(head, Unpooled.wrappedBuffer(body), whole - 1))
                .isInstanceOf(EventTooLargeException.class);
    }

    @ParameterizedTest
    @CsvSource({
        "[2001:db8::1]:81, http, 81",
        "[2001:db8::1], https, 443",
        "a.example, http, 80",
        "a.example:99999, https, 443"
    })
    void should_tell_the_port_of_the_authority_or_of_the_scheme(String authority, String scheme, String port) {
        Http2Headers head = head("GET", "/").authority(authority).set("x-forwarded-proto", scheme);

        assertThat(event(alb, head).at("/headers/x-forwarded-port").asString()).isEqualTo(port);
    }

    /** Version 4 is what SecureRandom makes. */
    @Test
    void should_make_request_ids_that_no_snapshot_repeats() {
        for (int i = 0; i < 20; i++) {
            assertThat(UUID.fromString(EventWriter.orNew(null)).version()).isEqualTo(4);
        }
        assertThat(EventWriter.orNew("given")).isEqualTo("given");
    }
}
