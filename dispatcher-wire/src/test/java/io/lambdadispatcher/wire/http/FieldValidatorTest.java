package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** What it remembers shows by a value that changes behind its back. */
class FieldValidatorTest {
    private final FieldValidator validator = new FieldValidator();

    @Test
    void should_not_read_a_field_again_that_stands_where_it_stood() {
        String name = "a";
        StringBuilder value = new StringBuilder("valid");
        validator.verify(2, name, value);
        value.append('\n');
        assertThatCode(() -> validator.verify(2, name, value)).doesNotThrowAnyException();
        assertThatThrownBy(() -> validator.verify(4, name, value)).isInstanceOf(Exception.class);
    }

    /** It lives as long as the connection, and has room for 32 fields. */
    @Test
    void should_keep_no_large_field() {
        StringBuilder large = new StringBuilder("x".repeat(63_000));
        StringBuilder small = new StringBuilder("x");
        validator.verify(2, "a", large);
        validator.verify(4, large, small);
        large.append('\n');
        assertThatThrownBy(() -> validator.verify(2, "a", large)).isInstanceOf(Exception.class);
        assertThatThrownBy(() -> validator.verify(4, large, small)).isInstanceOf(Exception.class);
    }
}
