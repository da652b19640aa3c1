package io.lambdadispatcher.wire.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class ResponseReaderTest {

    private static FunctionResponse read(EventFormat shape, String json, String method) throws BadResponseException {
        return new ResponseReader(shape).read(json.getBytes(StandardCharsets.UTF_8), method);
    }

    private static FunctionResponse read(EventFormat shape, String json) throws BadResponseException {
        return read(shape, json, "GET");
    }

    private static String head(FunctionResponse response) {
        return StreamSupport.stream(response.head().spliterator(), false)
                .map((Map.Entry<CharSequence, CharSequence> field) -> field.getKey() + "=" + field.getValue())
                .collect(Collectors.joining("|"));
    }

    private static String body(FunctionResponse response) {
        return new String(response.body(), StandardCharsets.UTF_8);
    }

    @ParameterizedTest
    @EnumSource
    void should_read_a_response_whatever_the_order_of_its_members(EventFormat shape) throws Exception {
        FunctionResponse response = read(
                shape,
                "{\"body\":\"Z3LDvG4=\",\"isBase64Encoded\":true,\"statusDescription\":\"201 Made\","
                        + "\"unknown\":{\"a\":[1,{}]},\"statusCode\":201}");

        assertThat(head(response)).isEqualTo(":status=201|content-length=5");
        assertThat(body(response)).isEqualTo("grün");
    }

    @Test
    void should_read_the_headers_that_the_shape_has() throws Exception {
        String json = "{\"statusCode\":200,\"headers\":{\"X-One\":\"1\",\"N\":7,\"B\":true,\"Z\":null},"
                + "\"multiValueHeaders\":{\"Set-Cookie\":[\"a=1\",\"b=2\"]},\"cookies\":[\"c=3\",\"d=4\"],\"body\":\"x\"}";

        assertThat(head(read(EventFormat.ALB, json))).isEqualTo(":status=200|x-one=1|n=7|b=true|content-length=1");
        assertThat(head(read(EventFormat.ALB_MULTI_VALUE, json)))
                .isEqualTo(":status=200|set-cookie=a=1|set-cookie=b=2|content-length=1");
        assertThat(head(read(EventFormat.HTTP_API_V2, json)))
                .isEqualTo(":status=200|x-one=1|n=7|b=true|set-cookie=c=3|set-cookie=d=4|content-length=1");
        assertThat(head(read(EventFormat.FUNCTION_URL, json))).isEqualTo(head(read(EventFormat.HTTP_API_V2, json)));
        assertThat(head(read(EventFormat.REST_API, json)))
                .isEqualTo(":status=200|set-cookie=a=1|set-cookie=b=2|x-one=1|n=7|b=true|content-length=1");
    }

    @Test
    void should_merge_the_two_kinds_of_headers_of_a_rest_api() throws Exception {
        String json = "{\"statusCode\":200,\"headers\":{\"X-Both\":\"1\",\"x-other\":\"1\"},"
                + "\"multiValueHeaders\":{\"x-both\":[\"1\",\"1\",\"2\"],\"X-Other\":[\"2\"]}}";

        assertThat(head(read(EventFormat.REST_API, json)))
                .isEqualTo(":status=200|x-both=1|x-both=1|x-both=2|x-other=2|x-other=1|content-length=0");
        assertThat(head(read(
                        EventFormat.REST_API,
                        "{\"statusCode\":200,\"headers\":{\"connection\":\"x-hop\"},"
                                + "\"multiValueHeaders\":{\"X-Hop\":[\"1\"],\"x-kept\":[\"1\"]}}")))
                .isEqualTo(":status=200|x-kept=1|content-length=0");
    }

    @Test
    void should_drop_what_belongs_to_a_connection() throws Exception {
        String json = "{\"statusCode\":200,\"headers\":{\"Connection\":\"close, X-Hop\",\"X-Hop\":\"1\","
                + "\"Keep-Alive\":\"5\",\"Transfer-Encoding\":\"chunked\",\"Upgrade\":\"h2c\",\"Content-Length\":\"99\","
                + "\"X-Kept\":\" v \"},\"body\":\"four\"}";

        assertThat(head(read(EventFormat.ALB, json))).isEqualTo(":status=200|x-kept=v|content-length=4");
    }

    @ParameterizedTest
    @CsvSource({
        "HEAD, 200, content-length=4",
        "GET,  204, ''",
        "GET,  304, content-length=77",
        "HEAD, 304, content-length=77",
        "HEAD, 204, ''"
    })
    void should_have_no_body_where_there_can_be_none(String method, int status, String length) throws Exception {
        FunctionResponse response = read(
                EventFormat.ALB,
                "{\"statusCode\":" + status + ",\"headers\":{\"content-length\":\"77\"},\"body\":\"four\"}",
                method);

        assertThat(response.body()).isEmpty();
        assertThat(head(response)).isEqualTo(":status=" + status + (length.isEmpty() ? "" : "|" + length));
    }

    @Test
    void should_keep_the_length_that_a_function_tells_for_head() throws Exception {
        String json = "{\"statusCode\":200,\"headers\":{\"content-length\":\"77\"}}";

        assertThat(head(read(EventFormat.ALB, json, "HEAD"))).isEqualTo(":status=200|content-length=77");
        assertThat(head(read(EventFormat.ALB, json.replace("77", "-7"), "HEAD")))
                .isEqualTo(":status=200");
        assertThat(head(read(EventFormat.ALB, json))).isEqualTo(":status=200|content-length=0");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"message\": \"hi\"} | {\"message\": \"hi\"}",
                "\"gr\\u00fcn\" | grün",
                "[1, 2] | [1, 2]",
                "null | null",
                "7 | 7",
                "{} | {}",
                "{\"body\": {\"a\": [1]}, \"b\": 2} | {\"body\": {\"a\": [1]}, \"b\": 2}",
                "{\"headers\": [{}], \"cookies\": \"oat\"} | {\"headers\": [{}], \"cookies\": \"oat\"}",
                "{\"headers\": {\"a b\": {\"c\": {}}}} | {\"headers\": {\"a b\": {\"c\": {}}}}",
                "{\"isBase64Encoded\": \"no\"} | {\"isBase64Encoded\": \"no\"}"
            })
    void should_take_any_other_json_for_the_body_in_format_2(String json, String body) throws Exception {
        FunctionResponse response = read(EventFormat.HTTP_API_V2, json);

        assertThat(body(response)).isEqualTo(body);
        assertThat(head(response)).startsWith(":status=200|content-type=application/json|content-length=");
        assertThatThrownBy(() -> read(EventFormat.ALB, json)).hasMessage("no statusCode");
        assertThatThrownBy(() -> read(EventFormat.REST_API, json)).hasMessage("no statusCode");
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"Hello, world!\"", "{\"message\": \"hi\"}", "null"})
    void should_take_any_other_json_as_it_is_for_the_body_of_a_function_url(String json) throws Exception {
        FunctionResponse response = read(EventFormat.FUNCTION_URL, json);

        assertThat(body(response)).isEqualTo(json);
        assertThat(head(response))
                .isEqualTo(":status=200|content-type=application/json|content-length=" + json.length());
    }

    /** Jackson has limits of its own, which are lower. */
    @Test
    void should_take_json_with_many_levels_and_long_names_and_numbers_for_the_body() throws Exception {
        for (String json : new String[] {
            "[".repeat(2_000) + "]".repeat(2_000), "{\"" + "n".repeat(60_000) + "\":" + "9".repeat(2_000) + "}"
        }) {
            assertThat(body(read(EventFormat.FUNCTION_URL, json))).isEqualTo(json);
        }
    }

    /** Each level takes memory, and a payload of 6 MB can have millions. */
    @Test
    void should_name_the_limit_of_levels() {
        assertThatThrownBy(() -> read(EventFormat.FUNCTION_URL, "[".repeat(10_001) + "]".repeat(10_001)))
                .isInstanceOf(BadResponseException.class)
                .hasMessage("JSON of more than 10000 levels");
    }

    @Test
    void should_refuse_a_response_with_a_status_though_the_status_comes_last() {
        assertThatThrownBy(() ->
                        read(EventFormat.HTTP_API_V2, "{\"headers\":{\"a b\":[{}]},\"body\":{},\"statusCode\":200}"))
                .hasMessage("the value of 'a b' is not a string");
        assertThatThrownBy(() -> read(EventFormat.HTTP_API_V2, "{\"body\":{},\"statusCode\":\"OK\"}"))
                .isInstanceOf(BadResponseException.class);
    }

    /** RFC 9110 section 15.3.6: the client is to empty its form, there is nothing to read. */
    @ParameterizedTest
    @EnumSource
    void should_have_no_body_with_205(EventFormat shape) throws Exception {
        FunctionResponse response = read(shape, "{\"statusCode\":205,\"body\":\"four\"}");

        assertThat(response.body()).isEmpty();
        assertThat(head(response)).isEqualTo(":status=205|content-length=0");
    }

    @ParameterizedTest
    @EnumSource
    void should_refuse_a_head_that_is_too_large(EventFormat shape) throws Exception {
        String one = "{\"statusCode\":200,\"headers\":{\"a\":\"%1$s\"},\"multiValueHeaders\":{\"a\":[\"%1$s\"]}}";
        String many = "{\"statusCode\":200,\"headers\":{%1$s},\"multiValueHeaders\":{%1$s}}";
        String values = "x".repeat(256 * 1024 - 32);
        String fields = IntStream.range(0, 8000)
                .mapToObj(i -> "\"f" + i + "\":" + (shape == EventFormat.ALB_MULTI_VALUE ? "[\"\"]" : "\"\""))
                .collect(Collectors.joining(","));

        assertThat(read(shape, one.formatted(values.substring(1))).head().get("a"))
                .hasSize(256 * 1024 - 33);
        assertThatThrownBy(() -> read(shape, one.formatted(values))).hasMessage("headers of more than 262144 bytes");
        assertThatThrownBy(() -> read(shape, many.formatted(fields))).hasMessage("headers of more than 262144 bytes");
    }

    /** An exception of another kind would be lost on the thread that brought the result. */
    @ParameterizedTest
    @EnumSource
    void should_read_or_refuse_whatever_the_bytes(EventFormat shape) {
        byte[] whole = ("{\"statusCode\":\"200\",\"headers\":{\"a\":\"\\u00e9\",\"n\":1.5e9},"
                        + "\"multiValueHeaders\":{\"a\":[\"b\",null,true]},\"cookies\":[\"c=d\"],"
                        + "\"isBase64Encoded\":true,\"x\":[[{}]],\"body\":\"Z3LDvG4=\"}")
                .getBytes(StandardCharsets.UTF_8);
        ResponseReader reader = new ResponseReader(shape);
        Random random = new Random(3);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = Arrays.copyOf(whole, i < whole.length ? i : whole.length);
            for (int n = i < whole.length ? 0 : 1 + random.nextInt(3); n > 0; n--) {
                bytes[random.nextInt(bytes.length)] = (byte)
                        (random.nextInt(4) == 0
                                ? random.nextInt(256)
                                : "{}[]\":,\\ntu019.-+e ".charAt(random.nextInt(19)));
            }
            verifyReadOrRefused(reader, bytes);
        }
        verifyReadOrRefused(reader, "[".repeat(100_000).getBytes(StandardCharsets.UTF_8));
        verifyReadOrRefused(reader, ("{\"headers\":" + "{\"a\":".repeat(100_000)).getBytes(StandardCharsets.UTF_8));
        verifyReadOrRefused(reader, ("{\"statusCode\":" + "9".repeat(100_000) + "}").getBytes(StandardCharsets.UTF_8));
        verifyReadOrRefused(reader, ("{\"" + "n".repeat(100_000) + "\":1}").getBytes(StandardCharsets.UTF_8));
        for (int[] mark :
                new int[][] {{0xEF, 0xBB, 0xBF}, {0xFE, 0xFF}, {0xFF, 0xFE}, {0, 0, 0xFE, 0xFF}, {0, 0, 0, '{'}, {0}}) {
            byte[] marked = new byte[mark.length + whole.length];
            for (int i = 0; i < mark.length; i++) {
                marked[i] = (byte) mark[i];
            }
            System.arraycopy(whole, 0, marked, mark.length, whole.length);
            verifyReadOrRefused(reader, marked);
        }
    }

    private static void verifyReadOrRefused(ResponseReader reader, byte[] bytes) {
        try {
            FunctionResponse response = reader.read(bytes, "GET");
            assertThat(response.head().status().toString()).matches("[2-9]\\d\\d");
            response.head()
                    .forEach(field -> assertThat(field.getValue().toString()).doesNotContain("\r", "\n", "\0"));
        } catch (BadResponseException e) {
            assertThat(e.getMessage()).doesNotContain("\r", "\n").hasSizeLessThan(200);
        }
    }

    @ParameterizedTest
    @EnumSource
    void should_refuse_what_is_no_response(EventFormat shape) {
        assertThatThrownBy(() -> read(shape, "")).hasMessage("empty");
        assertThatThrownBy(() -> read(shape, "{\"statusCode\":200")).hasMessage("malformed JSON");
        assertThatThrownBy(() -> read(shape, "<html>")).hasMessage("malformed JSON");
        assertThatThrownBy(() -> read(shape, "nul")).hasMessage("malformed JSON");
        assertThatThrownBy(() -> read(shape, "{\"statusCode\":200}{}")).hasMessage("JSON continues after its end");
        assertThatThrownBy(() -> read(shape, "{\"statusCode\":200,\"body\":{}}"))
                .hasMessage("body is not a string");
        assertThatThrownBy(() -> read(shape, "{\"statusCode\":200,\"body\":\"?\",\"isBase64Encoded\":true}"))
                .hasMessage("body is not base64");
        assertThatThrownBy(() -> read(shape, "{\"statusCode\":200,\"isBase64Encoded\":\"yes\"}"))
                .hasMessage("isBase64Encoded is neither true nor false");
    }

    @ParameterizedTest
    @ValueSource(strings = {"100", "199", "2e2", "20", "-200", "\"OK\"", "true", "{}", "[200]", "null"})
    void should_refuse_a_status_that_is_none(String status) {
        assertThatThrownBy(() -> read(EventFormat.ALB, "{\"statusCode\":" + status + "}"))
                .isInstanceOf(BadResponseException.class)
                .hasMessageStartingWith("statusCode is ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"\":\"v\"}",
                "{\":status\":\"200\"}",
                "{\"a b\":\"v\"}",
                "{\"a\\r\\nx\":\"v\"}",
                "{\"a\":\"v\\r\\nset-cookie: x=1\"}",
                "{\"a\":\"\\u0000\"}",
                "{\"a\":\"\\u20ac\\n\"}",
                "{\"a\":[\"v\"]}",
                "[]"
            })
    void should_refuse_headers_that_no_message_can_hold(String headers) {
        assertThatThrownBy(() -> read(EventFormat.HTTP_API_V2, "{\"statusCode\":200,\"headers\":" + headers + "}"))
                .isInstanceOf(BadResponseException.class);
    }
}
