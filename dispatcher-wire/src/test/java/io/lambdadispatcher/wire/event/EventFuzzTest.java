package io.lambdadispatcher.wire.event;

import static org.assertj.core.api.Assertions.assertThat;

import com.code_intelligence.jazzer.junit.FuzzTest;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.HeaderText;
import io.lambdadispatcher.wire.http.HopByHop;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Locale;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/**
 * Requests as events and back, and whatever a function answers. {@code JAZZER_FUZZ=1} looks for
 * more input.
 */
class EventFuzzTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LIMIT = 1 << 20;

    /**
     * The input is a request: the path's line, header lines, an empty line, the body. What a
     * client's connection would refuse is left out.
     */
    @FuzzTest(maxDuration = "20m")
    void should_write_any_request_as_an_event(byte[] input) {
        Http2Headers head =
                new DefaultHttp2Headers(false).method("PUT").scheme("http").authority("a:1");
        int at = 0;
        for (int end = lineEnd(input, at); end > at; at = end + 1, end = lineEnd(input, at)) {
            add(head, new String(input, at, end - at, StandardCharsets.ISO_8859_1));
        }
        if (head.path() == null) {
            return;
        }
        ByteBuf body =
                Unpooled.wrappedBuffer(input, Math.min(at + 1, input.length), Math.max(0, input.length - at - 1));
        for (EventFormat format : EventFormat.values()) {
            verify(format, head, body);
        }
    }

    private static int lineEnd(byte[] input, int from) {
        int end = from;
        while (end < input.length && input[end] != '\n') {
            end++;
        }
        return end;
    }

    private static void add(Http2Headers head, String line) {
        int colon = line.indexOf(':');
        if (head.path() == null) {
            if (HeaderSyntax.isPath(line, "OPTIONS")) {
                head.path(line);
            }
        } else if (colon > 0) {
            String name = line.substring(0, colon).toLowerCase(Locale.ROOT);
            String value = HeaderSyntax.withoutOuterBlanks(line.substring(colon + 1));
            if (HeaderSyntax.isToken(name) && HeaderSyntax.isValue(value)) {
                head.add(name, value);
            }
        }
    }

    private static void verify(EventFormat format, Http2Headers head, ByteBuf body) {
        JsonNode event = JSON.readTree(EventWriter.of(format, "f").write(head, body, LIMIT));
        boolean format2 = format == EventFormat.HTTP_API_V2 || format == EventFormat.FUNCTION_URL;
        assertThat(event.at(format2 ? "/requestContext/http/method" : "/httpMethod")
                        .asString())
                .as("%s", format)
                .isEqualTo("PUT");
        String text = event.path("body").isString() ? event.path("body").asString() : "";
        byte[] read = event.path("isBase64Encoded").asBoolean()
                ? Base64.getDecoder().decode(text)
                : text.getBytes(StandardCharsets.UTF_8);
        assertThat(read).as("%s", format).isEqualTo(ByteBufUtil.getBytes(body));
        if (format == EventFormat.ALB_MULTI_VALUE) {
            head.forEach(field -> {
                if (field.getKey().toString().startsWith("x-a")) {
                    assertThat(event.at("/multiValueHeaders/" + pointer(field.getKey()))
                                    .valueStream()
                                    .map(JsonNode::asString))
                            .contains(HeaderText.decode(field.getValue()));
                }
            });
        }
    }

    /** RFC 6901. */
    private static String pointer(CharSequence name) {
        return name.toString().replace("~", "~0").replace("/", "~1");
    }

    /** Whatever a function returns, HTTP can hold what is made of it. */
    @FuzzTest(maxDuration = "20m")
    void should_read_any_response_of_a_function(byte[] payload) {
        for (EventFormat format : EventFormat.values()) {
            for (String method : new String[] {"GET", "HEAD"}) {
                try {
                    FunctionResponse response = new ResponseReader(format).read(payload, method);
                    verify(response.head());
                    CharSequence length = response.head().get("content-length");
                    if (method.equals("HEAD")) {
                        assertThat(response.body()).isEmpty();
                    } else if (!"304".contentEquals(response.head().status())) {
                        assertThat(length == null ? "0" : length.toString())
                                .isEqualTo(Integer.toString(response.body().length));
                    }
                } catch (BadResponseException e) {
                    assertThat(e.getMessage()).isNotEmpty();
                }
            }
        }
    }

    @FuzzTest(maxDuration = "20m")
    void should_read_any_prelude_of_a_streamed_response(byte[] prelude) {
        try {
            verify(StreamPrelude.read(prelude));
        } catch (BadResponseException e) {
            assertThat(e.getMessage()).isNotEmpty();
        }
    }

    private static void verify(Http2Headers head) {
        assertThat(Integer.parseInt(head.status().toString())).isBetween(200, 999);
        assertThat(head.getAll("content-length").size()).isLessThanOrEqualTo(1);
        head.forEach(field -> {
            String name = field.getKey().toString();
            if (!name.equals(":status")) {
                assertThat(HeaderSyntax.isToken(name)).as(name).isTrue();
                assertThat(name).isEqualTo(name.toLowerCase(Locale.ROOT));
                assertThat(HopByHop.contains(name)).as(name).isFalse();
                assertThat(HeaderSyntax.isValue(field.getValue())).as(name).isTrue();
            }
        });
    }
}
