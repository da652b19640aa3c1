package io.lambdadispatcher.core.internal.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;

import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.AsciiString;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class ResponseDateTest {
    /** A quarter of a second after the time that RFC 9110 section 5.6.7 has as its example. */
    private long nowMillis = 784_111_777_250L;

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final ResponseDate date = new ResponseDate(channel.eventLoop(), () -> nowMillis);

    @BeforeEach
    void freeze() {
        channel.freezeTime();
    }

    private void pass(long millis) {
        nowMillis += millis;
        channel.advanceTimeBy(millis, TimeUnit.MILLISECONDS);
        channel.runPendingTasks();
    }

    @Test
    void should_change_when_a_second_begins() {
        AsciiString first = date.value();
        assertThat((Object) first).hasToString("Sun, 06 Nov 1994 08:49:37 GMT");
        pass(749);
        assertThat((Object) date.value()).isSameAs(first);
        pass(1);
        AsciiString second = date.value();
        assertThat((Object) second).hasToString("Sun, 06 Nov 1994 08:49:38 GMT");
        pass(999);
        assertThat((Object) date.value()).isSameAs(second);
        pass(1);
        assertThat((Object) date.value()).hasToString("Sun, 06 Nov 1994 08:49:39 GMT");
    }

    @Test
    void should_have_no_timer_without_responses() {
        date.value();
        pass(750);
        pass(1000);
        assertThat(channel.runScheduledPendingTasks())
                .as("time to the next task")
                .isEqualTo(-1);
        pass(3_600_000);
        assertThat((Object) date.value()).hasToString("Sun, 06 Nov 1994 09:49:39 GMT");
    }
}
