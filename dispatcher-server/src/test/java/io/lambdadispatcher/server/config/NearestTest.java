package io.lambdadispatcher.server.config;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NearestTest {
    @ParameterizedTest
    @CsvSource({"'', abc, 3", "port, prot, 1", "port, ports, 1", "port, pert, 1", "kitten, sitting, 3", "a, a, 0"})
    void should_count_the_letters_that_differ(String a, String b, int expected) {
        assertThat(Nearest.distance(a, b)).isEqualTo(expected);
        assertThat(Nearest.distance(b, a)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({
        "pubic.port, public.plain.port",
        "public.plain.prt, public.plain.port",
        "admin.prot, admin.port",
        "nothing.like.it, "
    })
    void should_find_the_nearest_name_or_none(String name, String expected) {
        Set<String> known = Set.of("public.plain.port", "admin.port", "workers.secret");

        assertThat(Nearest.find(name, known)).isEqualTo(Optional.ofNullable(expected));
    }
}
