package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CookiesTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            nullValues = "none",
            value = {
                "a=1                 | 1",
                "b=2; a=1            | 1",
                "b=2;a=1;c=3         | 1",
                "b=2;  a=1 ; c=3     | 1",
                "a=x=y               | x=y",
                "a=                  | \"\"",
                "a=1; a=2            | 1",
                "aa=1; b=a=2         | none",
                "a                   | none",
                "a ;=1;              | none",
                ";;; a=1             | 1",
                "A=1                 | none",
            })
    void should_find_the_first_cookie_of_a_name(String header, String value) {
        CharSequence found = Cookies.find(header, "a");
        assertThat(found == null ? null : found.toString()).isEqualTo(value);
    }
}
