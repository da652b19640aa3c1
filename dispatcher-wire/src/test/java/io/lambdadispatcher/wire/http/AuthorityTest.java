package io.lambdadispatcher.wire.http;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.EachRelease;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@EachRelease
class AuthorityTest {
    private static final List<String> HOSTS = List.of("a.example", "b.example", "a", "10.0.0.1", "[::1]", "[fe80::a]");
    private static final List<Integer> PORTS = List.of(80, 443, 8080, 8, 0, 65_535);

    /** A host and port, and one of the ways to write them. */
    private record Written(String host, int port, String text) {}

    private static Written write(Random random, String scheme) {
        String host = HOSTS.get(random.nextInt(HOSTS.size()));
        int port = PORTS.get(random.nextInt(PORTS.size()));
        StringBuilder text = new StringBuilder(random.nextBoolean() ? host : host.toUpperCase(Locale.ROOT));
        if (!host.startsWith("[") && random.nextInt(4) == 0) {
            text.append('.');
        }
        boolean isDefault = port == (scheme.equals("https") ? 443 : 80);
        if (isDefault && random.nextBoolean()) {
            text.append(random.nextBoolean() ? ":" : "");
        } else {
            text.append(':').append(random.nextInt(4) == 0 ? "0" : "").append(port);
        }
        return new Written(host, port, text.toString());
    }

    /** The model is the host and port that the text was made of. */
    @Test
    void should_compare_hosts_and_ports_whatever_way_they_are_written() {
        for (int seed = 0; seed < 50_000; seed++) {
            Random random = new Random(seed);
            String scheme = random.nextBoolean() ? "http" : "https";
            Written one = write(random, scheme);
            Written other = write(random, scheme);
            boolean same = one.host.equals(other.host) && one.port == other.port;
            String at = "seed " + seed + ": " + scheme + " " + one.text + " " + other.text;
            assertThat(HeaderSyntax.isAuthority(one.text)).as(at).isTrue();
            assertThat(Authority.isSame(one.text, other.text, scheme)).as(at).isEqualTo(same);
            assertThat(Authority.normalized(one.text, scheme).equals(Authority.normalized(other.text, scheme)))
                    .as(at)
                    .isEqualTo(same);
            assertThat(one.text.substring(0, Authority.hostEnd(one.text)))
                    .as(at)
                    .isEqualToIgnoringCase(one.host);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "a:80, a, , false",
        "a:, a, , true",
        "a:8080, a:8080, , true",
        "a:443, a, http, false",
        "a:80, a, https, false",
        "a:65616, a, http, false",
        "a:99999999999, a:99999999998, http, false",
        "a:99999999999, A:99999999999, http, true",
        "a..:80, a, http, false",
        "[::1]:80, [::1], http, true",
        "::80, '', http, false"
    })
    void should_compare_what_is_unusual(String one, String other, String scheme, boolean same) {
        assertThat(Authority.isSame(one, other, scheme)).isEqualTo(same);
        assertThat(Authority.isSame(other, one, scheme)).isEqualTo(same);
    }
}
