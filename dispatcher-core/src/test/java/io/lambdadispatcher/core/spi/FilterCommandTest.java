package io.lambdadispatcher.core.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FilterCommandTest {
    private static FilterCommand named(String name) {
        return new FilterCommand(name, "Clears.", "Always.", "bytes", "bytes", filter -> 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"cache clear", "c c2", "hot-cache clear-all"})
    void should_be_named_by_a_noun_and_a_verb(String name) {
        assertThat(named(name).name()).isEqualTo(name);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "cache",
                "clear-cache",
                "cache  clear",
                " cache clear",
                "cache clear all",
                "Cache clear",
                "a/b c"
            })
    void should_refuse_any_other_name(String name) {
        assertThatThrownBy(() -> named(name))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("name \"" + name + "\", expected a noun, a space and a verb in lower case");
    }
}
