package io.lambdadispatcher.core.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SettingTextTest {
    @ParameterizedTest
    @CsvSource({"0ms, PT0S", "500ms, PT0.5S", "10s, PT10S", "15m, PT15M", "1h, PT1H", "366d, P366D"})
    void should_read_durations(String text, Duration expected) {
        assertThat(SettingText.duration(text)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "s",
                "10",
                "10 s",
                "-1s",
                "1.5s",
                "1S",
                "367d",
                "99999999999999d",
                "999999999999999d",
                "1000000000000000ms"
            })
    void should_refuse_what_is_no_duration(String text) {
        assertThatThrownBy(() -> SettingText.duration(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(text + ", expected ");
    }

    @ParameterizedTest
    @CsvSource({"1, 1", "100B, 100", "64KiB, 65536", "1MiB, 1048576", "1GiB, 1073741824", "2147483647, 2147483647"})
    void should_read_sizes(String text, int expected) {
        assertThat(SettingText.bytes(text, 1, Integer.MAX_VALUE)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", "KiB", "0", "-1", "1 KiB", "1kib", "1.5MiB", "2GiB", "2147483648", "999999999999999GiB"})
    void should_refuse_what_is_no_size_within_the_range(String text) {
        assertThatThrownBy(() -> SettingText.bytes(text, 1, Integer.MAX_VALUE))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageStartingWith(text + ", expected ");
    }

    @Test
    void should_hold_the_range_at_each_unit() {
        for (String unit : new String[] {"B", "KiB", "MiB"}) {
            int one = SettingText.bytes("1" + unit, 0, Integer.MAX_VALUE);
            assertThat(SettingText.bytes("3" + unit, 3 * one, 3 * one)).isEqualTo(3 * one);
            assertThatThrownBy(() -> SettingText.bytes("4" + unit, 3 * one, 4 * one - 1))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> SettingText.bytes("2" + unit, 2 * one + 1, 3 * one))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }
}
