package io.lambdadispatcher.server.top;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WordsTest {
    @ParameterizedTest
    @CsvSource({
        "0, 0 s",
        "0.04, 0 s",
        "1.25, 1.3 s",
        "9.94, 9.9 s",
        "10.4, 10 s",
        "59.4, 59 s",
        "60, 1 min 0 s",
        "3599, 59 min 59 s",
        "3600, 1 h 0 min",
        "90061, 25 h 1 min"
    })
    void should_write_durations(double seconds, String expected) {
        assertThat(Words.duration(seconds)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({"0, $0", "0.00001234, $0.000012", "0.5, $0.50", "12.345, $12.35"})
    void should_write_dollars(double dollars, String expected) {
        assertThat(Words.dollars(dollars)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({"999, 999 B", "1000, 1.0 KB", "2500000, 2.5 MB"})
    void should_write_bytes(double bytes, String expected) {
        assertThat(Words.bytes(bytes)).isEqualTo(expected);
    }
}
