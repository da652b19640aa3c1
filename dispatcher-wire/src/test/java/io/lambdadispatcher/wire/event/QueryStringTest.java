package io.lambdadispatcher.wire.event;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QueryStringTest {
    private static String parsed(String query) {
        Map<String, Object> parameters = new TreeMap<>();
        QueryString.raw(query).forEach((name, values) -> parameters.put(name, values.all()));
        return parameters.toString();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "a&b=1&&=x&c | {=[x], a=[], b=[1], c=[]}",
                "a=1&a=2=3&b | {a=[1, 2=3], b=[]}",
                "a=1&b&c&d=2 | {a=[1], b=[], c=[], d=[2]}",
                "a=&b | {a=[], b=[]}",
                "& | {}",
            })
    void should_split_names_and_values(String query, String expected) {
        assertThat(parsed(query)).isEqualTo(expected);
    }

    /** The event loop parses queries of clients, which may have any number of parameters. */
    @ParameterizedTest
    @ValueSource(strings = {"", "="})
    void should_take_time_in_proportion_to_the_length(String end) {
        String query = "a&".repeat(500_000) + "a" + end;
        assertTimeout(
                Duration.ofSeconds(2),
                () -> assertThat(QueryString.raw(query).get("a").all()).hasSize(500_001));
    }
}
