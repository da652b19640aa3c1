package io.lambdadispatcher.wire.event;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * The request of {@code events/README.md} in each shape, against a file laid out as AWS's
 * description of it.
 */
class GoldenEventsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("dd/MMM/yyyy:HH:mm:ss Z", Locale.ENGLISH);

    private static Http2Headers head() {
        return new DefaultHttp2Headers()
                .method("POST")
                .scheme("https")
                .authority("id.example.org")
                .path("/my/path?parameter1=value1&parameter1=value2&parameter2=a%20b")
                .add("header1", "value1")
                .add("header2", "value1")
                .add("header2", "value2")
                .add("cookie", "cookie1=a; cookie2=b")
                .add("content-type", "text/plain")
                .add("user-agent", "agent")
                .add("x-forwarded-for", "192.0.2.7")
                .add("x-forwarded-proto", "https");
    }

    private static JsonNode golden(EventFormat format) throws Exception {
        String file = "/events/" + format.name().toLowerCase(Locale.ROOT).replace('_', '-') + ".json";
        try (InputStream in = GoldenEventsTest.class.getResourceAsStream(file)) {
            return JSON.readTree(in.readAllBytes());
        }
    }

    @ParameterizedTest
    @EnumSource
    void should_write_the_shape_that_aws_describes(EventFormat format) throws Exception {
        byte[] body = "Hello from client!".getBytes(StandardCharsets.UTF_8);
        JsonNode expected = golden(format);

        byte[] written = EventWriter.of(format, "f").write(head(), Unpooled.wrappedBuffer(body), "id", 1 << 20);

        JsonNode event = JSON.readTree(written);
        copyTime(event, expected, "time", "timeEpoch");
        copyTime(event, expected, "requestTime", "requestTimeEpoch");
        assertThat(event).isEqualTo(expected);
    }

    /** Makes the golden time the event's, where the event's is now, in the same words. */
    private static void copyTime(JsonNode event, JsonNode expected, String text, String epoch) {
        ObjectNode golden = (ObjectNode) expected.get("requestContext");
        if (golden.has(text)) {
            JsonNode context = event.get("requestContext");
            Instant at = Instant.ofEpochMilli(context.get(epoch).asLong());
            assertThat(at).isBetween(Instant.now().minusSeconds(60), Instant.now());
            assertThat(OffsetDateTime.parse(context.get(text).asString(), TIME).toEpochSecond())
                    .isEqualTo(at.getEpochSecond());
            golden.set(text, context.get(text));
            golden.set(epoch, context.get(epoch));
        }
    }
}
