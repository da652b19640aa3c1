package io.lambdadispatcher.wire.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.core.JacksonException;

class JsonTest {
    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void should_write_what_it_reads() {
        String text =
                "{\"b\":[1,-2.50,1E+400,true,false,null,\"\\u00E4\\u007F\\\"\"],\"a\":{},\"c\":12345678901234567890}";
        Object value = Json.read(utf8(text));
        assertThat(Json.write(value)).isEqualTo(text);
        assertThat(Json.bytes(value)).asString(StandardCharsets.US_ASCII).isEqualTo(text);
        assertThat(Json.readObject(utf8(text))).containsEntry("c", new BigDecimal("12345678901234567890"));
    }

    @Test
    void should_write_what_java_has() {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("int", 1);
        members.put("long", Long.MIN_VALUE);
        members.put("list", Arrays.asList("a", null, List.of()));
        assertThat(Json.write(members)).isEqualTo("{\"int\":1,\"long\":-9223372036854775808,\"list\":[\"a\",null,[]]}");
    }

    /** Every ordinary invocation is read, whatever it holds. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "[1]",
                "7",
                "null",
                "\"x\"",
                "{\"a\":",
                "{\"a\":1",
                "{a:1}",
                "{\"a\":1e99999999999}",
                "{} x",
                "\u0000"
            })
    void should_read_no_members_from_anything_but_an_object(String text) {
        assertThat(Json.readObject(utf8(text))).isEmpty();
    }

    @Test
    void should_read_numbers_and_booleans_of_the_top_level_only() {
        String text = "{\"a\":{\"b\":[1,{}]},\"c\":[2],\"d\":3,\"e\":true,\"f\":\"g\",\"h\":null} x";
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("a", null);
        members.put("c", null);
        members.put("d", new BigDecimal(3));
        members.put("e", true);
        members.put("f", null);
        members.put("h", null);
        assertThat(Json.readTopLevel(utf8(text))).isEqualTo(members);
        assertThat(Json.readTopLevel(utf8("{\"a\":1"))).isEmpty();
        assertThat(Json.readTopLevel(utf8("[1]"))).isEmpty();
    }

    @Test
    void should_survive_an_event_of_a_thousand_levels() {
        assertThat(Json.readObject(utf8("{\"a\":".repeat(1000) + "1" + "}".repeat(1000))))
                .isEmpty();
    }

    @Test
    void should_refuse_what_is_not_json() {
        for (String text : new String[] {"{\"a\":x}", "{\"a\":1}{\"b\":2}", "{} 1", "1 2", "", " "}) {
            assertThatThrownBy(() -> Json.read(utf8(text))).as(text).isInstanceOf(JacksonException.class);
        }
        assertThat(Json.read(utf8(" null "))).isNull();
        assertThat(Json.isJson(utf8("{\"a\":[1]}"))).isTrue();
        assertThat(Json.isJson(utf8("{\"a\":[1]} 2"))).isFalse();
        assertThat(Json.isJson(utf8(""))).isFalse();
    }
}
