package io.lambdadispatcher.wire.event;

import static io.lambdadispatcher.wire.testkit.HeaderBytes.random;
import static io.lambdadispatcher.wire.testkit.HeaderBytes.text;
import static io.lambdadispatcher.wire.testkit.HeaderBytes.value;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;

/**
 * What a function reads of any bytes in values, paths and queries, and what a client gets of any
 * text in the function's headers. The model is Java's strict decoder.
 */
@EachRelease
class EventTextTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int LIMIT = 1 << 20;
    private static final int ROUNDS = 2_000;

    private static JsonNode event(EventFormat format, Http2Headers head) {
        return JSON.readTree(EventWriter.of(format, "f").write(head, Unpooled.EMPTY_BUFFER, LIMIT));
    }

    private static boolean isFormat2(EventFormat format) {
        return format == EventFormat.HTTP_API_V2 || format == EventFormat.FUNCTION_URL;
    }

    private static String pointer(EventFormat format, String member, String name) {
        boolean multi = format == EventFormat.ALB_MULTI_VALUE;
        String first =
                multi ? "/multiValue" + Character.toUpperCase(member.charAt(0)) + member.substring(1) : "/" + member;
        return first + "/" + name + (multi ? "/0" : "");
    }

    @ParameterizedTest
    @EnumSource
    void should_show_any_bytes_of_a_request_as_text(EventFormat format) {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int i = 0; i < ROUNDS; i++) {
            byte[] value = random(random);
            byte[] path = random(random);
            byte[] query = random(random);
            AsciiString target = value("/", path).concat(value("?q=", query));
            assertThat(HeaderSyntax.isPath(target, "GET")).isTrue();
            Http2Headers head = new FlatHeaders()
                    .method("GET")
                    .authority("h")
                    .path(target)
                    .add("x-a", value("", value))
                    .add("user-agent", value("", value))
                    .add("cookie", value("c=", value))
                    .add("cookie", value("d=", path));

            JsonNode event = event(format, head);
            String round = format + ", round " + i + " of seed " + seed;
            assertThat(event.at(pointer(format, "headers", "x-a")).asString())
                    .as(round)
                    .isEqualTo(text(value));
            assertThat(event.at(isFormat2(format) ? "/rawPath" : "/path").asString())
                    .as(round)
                    .isEqualTo("/" + text(path));
            assertThat(event.at(pointer(format, "queryStringParameters", "q")).asString())
                    .as(round)
                    .isEqualTo(text(query));
            if (isFormat2(format)) {
                assertThat(event.at("/rawQueryString").asString())
                        .as(round)
                        .isEqualTo(text(value("q=", query).array()));
                assertThat(event.at("/cookies").valueStream().map(JsonNode::asString))
                        .as(round)
                        .containsExactly("c=" + text(value), "d=" + text(path));
                assertThat(event.at("/requestContext/http/userAgent").asString())
                        .as(round)
                        .isEqualTo(text(value));
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"REST_API", "HTTP_API_V2", "FUNCTION_URL"})
    void should_decode_any_escaped_bytes_of_a_query(EventFormat format) {
        Random random = new Random(7);
        for (int i = 0; i < ROUNDS; i++) {
            byte[] query = random(random);
            StringBuilder escaped = new StringBuilder();
            for (byte one : query) {
                escaped.append(random.nextBoolean() ? String.format("%%%02x", one & 0xFF) : (char) (one & 0xFF));
            }
            JsonNode event = event(format, new FlatHeaders().method("GET").path("/?q=" + escaped));
            assertThat(event.at("/queryStringParameters/q").asString()).isEqualTo(text(query));
        }
    }

    @ParameterizedTest
    @CsvSource({"%zz, %zz", "a%2, a%2", "a%, a%", "%, %", "a+b%20c, a b c", "%\u0661\u0661, %\u0661\u0661"})
    void should_leave_malformed_escapes_alone(String query, String expected) {
        assertThat(QueryString.decoded("q=" + query).get("q").last()).isEqualTo(expected);
        assertThat(expected.contains("%")
                        || URLDecoder.decode(query, StandardCharsets.UTF_8).equals(expected))
                .isTrue();
    }

    /** The text that a function read comes back as the bytes that it was read of. */
    @ParameterizedTest
    @EnumSource
    void should_send_any_text_of_a_response_as_utf_8(EventFormat format) throws BadResponseException {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int i = 0; i < ROUNDS; i++) {
            String text = text(random(random));
            Map<String, Object> response = new LinkedHashMap<>();
            response.put("statusCode", 200);
            if (format == EventFormat.ALB_MULTI_VALUE || format == EventFormat.REST_API) {
                response.put("multiValueHeaders", Map.of("x-a", List.of(text)));
            }
            response.put("headers", Map.of("x-a", text));
            byte[] payload = Json.bytes(response);
            String round = format + ", round " + i + " of seed " + seed;

            Http2Headers head = new ResponseReader(format).read(payload, "GET").head();
            assertThat(head.getAll("x-a")).as(round).hasSize(1);
            assertThat(AsciiString.of(head.get("x-a")).toByteArray())
                    .as(round)
                    .isEqualTo(text.getBytes(StandardCharsets.UTF_8));
            assertThat(AsciiString.of(StreamPrelude.read(payload).get("x-a")).toByteArray())
                    .as(round)
                    .isEqualTo(text.getBytes(StandardCharsets.UTF_8));
        }
    }

    /** No character becomes a control character, and no control character passes. */
    @ParameterizedTest
    @EnumSource
    void should_let_no_character_of_a_response_end_its_line(EventFormat format) {
        for (int c = 0; c <= Character.MAX_VALUE; c++) {
            boolean control = c < ' ' && c != '\t' || c == 0x7F;
            if (!control && c >= 0x80 && (c & 0xFF) > ' ') {
                continue; // only those whose lower byte is a control character are of interest
            }
            byte[] payload = Json.bytes(Map.of(
                    "statusCode",
                    200,
                    "headers",
                    Map.of("x-a", "a" + (char) c + "b"),
                    "multiValueHeaders",
                    Map.of("x-a", List.of("a" + (char) c + "b"))));
            try {
                CharSequence value =
                        new ResponseReader(format).read(payload, "GET").head().get("x-a");
                assertThat(control).as("U+%04X", c).isFalse();
                assertThat(HeaderSyntax.isValue(value)).as("U+%04X", c).isTrue();
            } catch (BadResponseException e) {
                assertThat(control).as("U+%04X: %s", c, e.getMessage()).isTrue();
            }
        }
    }
}
