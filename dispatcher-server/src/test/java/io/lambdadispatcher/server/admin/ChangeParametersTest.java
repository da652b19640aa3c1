package io.lambdadispatcher.server.admin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ChangeParametersTest {
    @Test
    void should_decode_names_and_values_in_their_order() {
        assertThat(ChangeParameters.of("/a?b+c=%3D&d&=e")).hasToString("{b c==, d=, =e}");
        assertThat(ChangeParameters.of("/a")).isEmpty();
        assertThat(ChangeParameters.of("/a?")).isEmpty();
    }

    @Test
    void should_refuse_a_percent_sign_without_two_digits() {
        assertThatThrownBy(() -> ChangeParameters.of("/a?b=%4"))
                .isInstanceOf(RefusedException.class)
                .hasMessage("'%4': expected percent signs with two digits");
    }
}
