package io.lambdadispatcher.server.task;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.Test;

class RepeatedTest {
    @Test
    void should_go_on_after_an_error_and_log_it_once_until_it_succeeds() {
        Iterator<Boolean> fails = List.of(true, true, false, true).iterator();
        Repeated repeated = new Repeated("cleaning", () -> {
            if (fails.next()) {
                throw new OutOfMemoryError("no memory");
            }
        });

        try (LoggedLines log = LoggedLines.of(Repeated.class, Level.ERROR)) {
            while (fails.hasNext()) {
                repeated.run();
            }

            assertThat(log.messages())
                    .containsExactly("cleaning failed, and is tried again", "cleaning failed, and is tried again");
        }
    }
}
