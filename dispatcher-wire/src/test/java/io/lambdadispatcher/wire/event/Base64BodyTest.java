package io.lambdadispatcher.wire.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Base64;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class Base64BodyTest {
    private static final String[] BREAKS = {"\r\n", "\n", "\r", " ", "\t", "\n\n"};

    /** Java's encoders for MIME and others, with and without padding, with breaks at any place. */
    @Test
    void should_decode_base64_with_breaks_anywhere() throws Exception {
        Random random = new Random(3);
        for (int i = 0; i < 2_000; i++) {
            byte[] body = new byte[random.nextInt(300)];
            random.nextBytes(body);
            Base64.Encoder encoder = random.nextBoolean() ? Base64.getEncoder() : Base64.getMimeEncoder();
            StringBuilder text =
                    new StringBuilder((random.nextBoolean() ? encoder : encoder.withoutPadding()).encodeToString(body));
            for (int breaks = random.nextInt(4); breaks > 0; breaks--) {
                text.insert(random.nextInt(text.length() + 1), BREAKS[random.nextInt(BREAKS.length)]);
            }
            assertThat(Base64Body.decode(text.toString())).as("%s", text).isEqualTo(body);
            byte[] response = Json.bytes(Map.of("statusCode", 200, "isBase64Encoded", true, "body", text));
            assertThat(new ResponseReader(EventFormat.REST_API)
                            .read(response, "GET")
                            .body())
                    .isEqualTo(body);
        }
    }

    /** A decoder for MIME would drop these characters, and a part of the body with them. */
    @ParameterizedTest
    @ValueSource(strings = {"-_8=", "YQ==Yg==", "Y", "YWI=\u00e9", "YWI\u0100", "{}", "YW\u0000I="})
    void should_refuse_what_is_not_base64(String text) {
        assertThatThrownBy(() -> Base64Body.decode(text)).isInstanceOf(IllegalArgumentException.class);
        byte[] response = Json.bytes(Map.of("statusCode", 200, "isBase64Encoded", true, "body", text));
        assertThatThrownBy(() -> new ResponseReader(EventFormat.HTTP_API_V2).read(response, "GET"))
                .isInstanceOf(BadResponseException.class)
                .hasMessage("body is not base64");
    }
}
