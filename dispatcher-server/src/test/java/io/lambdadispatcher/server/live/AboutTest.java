package io.lambdadispatcher.server.live;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import org.junit.jupiter.api.Test;

class AboutTest {
    private static final Instant LOADED = Instant.now();

    @Test
    void should_say_when_the_process_started() {
        assertThat(Instant.parse((String) About.version().get("started"))).isBefore(LOADED);
    }
}
