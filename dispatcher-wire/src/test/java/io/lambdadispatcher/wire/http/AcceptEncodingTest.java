package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.util.AsciiString;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AcceptEncodingTest {
    private static final List<AsciiString> ENCODINGS =
            List.of(AsciiString.of("zstd"), AsciiString.of("br"), AsciiString.of("gzip"));

    private static String choose(String... values) {
        FlatHeaders request = new FlatHeaders();
        for (String value : values) {
            request.add("accept-encoding", value);
        }
        int index = AcceptEncoding.choose(request, ENCODINGS);
        return index == AcceptEncoding.IDENTITY
                ? "identity"
                : ENCODINGS.get(index).toString();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "gzip                              | gzip",
                "gzip, deflate, br, zstd           | zstd",
                "gzip, deflate, br                 | br",
                "br;q=0.9, gzip                    | gzip",
                "gzip;q=0.5, br;q=0.50, zstd;q=.9  | br",
                "gzip;q=0.001                      | gzip",
                "gzip;q=0                          | identity",
                "gzip;q=0.000, br;q=0              | identity",
                "*                                 | zstd",
                "*;q=0                             | identity",
                "*;q=0, gzip                       | gzip",
                "zstd;q=0, *                       | br",
                "identity, gzip;q=0.5              | identity",
                "identity;q=0.5, gzip              | gzip",
                "identity, gzip                    | gzip",
                "identity;q=0                      | identity",
                "*;q=1, gzip;q=0.5, br;q=0, zstd;q=0 | identity",
                "deflate, compress                 | identity",
                "\"\"                              | identity",
                "GZIP                              | gzip",
                "x-gzip                            | gzip",
                "x-gzip;q=0, gzip;q=0              | identity",
                "\"  br  ;  Q=1.000  ,\"           | br",
                "\" , ,gzip\"                      | gzip",
                "gzip;level=1                      | identity",
                "gzip;q=1.001                      | identity",
                "gzip;q=0.1234                     | identity",
                "gzip;q=                           | identity",
                "gzip;q=a                          | identity",
                "gzipped                           | identity",
                "g                                 | identity",
            })
    void should_choose_what_the_client_likes_best(String header, String expected) {
        assertThat(choose(header)).isEqualTo(expected);
    }

    @Test
    void should_compress_nothing_if_the_client_says_nothing() {
        assertThat(choose()).isEqualTo("identity");
    }

    @Test
    void should_read_several_headers_as_one_list() {
        assertThat(choose("deflate", "gzip;q=0.5", "br;q=0.6")).isEqualTo("br");
    }

    @Test
    void should_accept_any_text() {
        Random random = new Random(42);
        String characters = "gzip br zstd*;q=01.,\t";
        for (int i = 0; i < 100_000; i++) {
            StringBuilder text = new StringBuilder();
            for (int j = random.nextInt(20); j > 0; j--) {
                text.append(characters.charAt(random.nextInt(characters.length())));
            }
            assertThat(choose("a" + text + "a")).isNotNull();
        }
    }
}
