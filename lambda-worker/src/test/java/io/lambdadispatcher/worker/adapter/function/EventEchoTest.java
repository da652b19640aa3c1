package io.lambdadispatcher.worker.adapter.function;

import static io.lambdadispatcher.worker.ScriptedStream.post;
import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.event.EventFormat;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.netty.handler.codec.http2.Http2Headers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Checks that nothing changes on the way: a request → its event → an object → the user's code → an
 * object → JSON → the response.
 */
@Timeout(120)
class EventEchoTest {
    private static final int ROUNDS = 150;
    private static final String[] TYPES = {
        "text/plain; charset=utf-8", "application/json", "application/octet-stream", "image/png",
        "application/x-www-form-urlencoded", "application/vnd.api+json", "multipart/form-data; boundary=x", ""
    };

    private static Class<?> echo(EventFormat format) {
        return switch (format) {
            case ALB, ALB_MULTI_VALUE -> EchoFunctions.OfLoadBalancer.class;
            case REST_API -> EchoFunctions.OfRestApi.class;
            case HTTP_API_V2, FUNCTION_URL -> EchoFunctions.OfHttpApi.class;
        };
    }

    private static FunctionHandler handler(EventFormat format) {
        return FunctionHandler.of(echo(format), null, Map.of(FunctionHandler.EVENT_VARIABLE, format.text()));
    }

    /** Returns any bytes, or any text with characters that JSON must escape. */
    private static byte[] body(Random random) {
        int length = random.nextInt(4) == 0 ? random.nextInt(4) : random.nextInt(6_000);
        if (random.nextBoolean()) {
            byte[] bytes = new byte[length];
            random.nextBytes(bytes);
            return bytes;
        }
        int[] points = random.ints(length, 0, 0x11000)
                .filter(point -> !Character.isSurrogate((char) point) || point > 0xFFFF)
                .toArray();
        return new String(points, 0, points.length).getBytes(StandardCharsets.UTF_8);
    }

    private static String values(EventFormat format) {
        return switch (format) {
            case ALB -> "[two]";
            case HTTP_API_V2, FUNCTION_URL -> "[one,two]";
            case ALB_MULTI_VALUE, REST_API -> "[one, two]";
        };
    }

    @ParameterizedTest
    @EnumSource
    void should_give_back_every_byte_whatever_the_body_and_its_type(EventFormat format) throws Exception {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        try (Harness harness = new Harness(handler(format))) {
            ScriptedStream stream = harness.stream();
            for (int i = 0; i < ROUNDS; i++) {
                String type = TYPES[random.nextInt(TYPES.length)];
                byte[] body = body(random);
                int status = 200 + random.nextInt(400);
                ScriptedStream.Gathered response = exchange(stream, type, status, body);
                String round = format + ", round " + i + " of seed " + seed + ", " + type;

                boolean bodyless = status == 204 || status == 205 || status == 304;
                assertThat(response.status()).as(round).isEqualTo(Integer.toString(status));
                assertThat(response.body()).as(round).isEqualTo(bodyless ? new byte[0] : body);
                assertThat(values(response, "content-type").toString())
                        .as(round)
                        .isEqualTo(type.isEmpty() ? "[]" : "[" + type + "]");
            }
        }
    }

    private static ScriptedStream.Gathered exchange(ScriptedStream stream, String type, int status, byte[] body)
            throws InterruptedException {
        Http2Headers head = post("/echo?a=1").add("x-status", Integer.toString(status));
        if (!type.isEmpty()) {
            head.add("content-type", type);
        }
        stream.request(head, 0, body.length == 0);
        if (body.length > 0) {
            stream.data(body, true);
        }
        return stream.gather();
    }

    private static List<String> values(ScriptedStream.Gathered response, String name) {
        return response.head().headers().getAll(name).stream()
                .map(CharSequence::toString)
                .toList();
    }

    @ParameterizedTest
    @EnumSource
    void should_keep_all_values_and_cookies_that_the_shape_has_room_for(EventFormat format) throws Exception {
        try (Harness harness = new Harness(handler(format))) {
            ScriptedStream.Gathered response = harness.stream()
                    .exchange(
                            post("/").add("x-list", "one").add("x-list", "two").add("cookie", "a=1; b=2"));

            assertThat(response.body()).isEmpty();
            assertThat(values(response, "x-list").toString()).isEqualTo(values(format));
            assertThat(values(response, "set-cookie").toString())
                    .isEqualTo(format == EventFormat.ALB ? "[]" : "[a=1, b=2]");
        }
    }
}
