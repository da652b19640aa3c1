package io.lambdadispatcher.core.internal.launch;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.netty.channel.embedded.EmbeddedChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class WarmEnvironmentsTest {
    private static final long MINUTE = TimeUnit.MINUTES.toNanos(1);

    private final List<Integer> warmUps = new ArrayList<>();
    private final WarmEnvironments environments = new WarmEnvironments(new GuardedLauncher(
            new WorkerLauncher() {
                @Override
                public LaunchedWorker launch(LaunchRequest request) {
                    throw new AssertionError("asked for warm-ups only");
                }

                @Override
                public void warmUp(String function, int count) {
                    warmUps.add(count);
                }

                @Override
                public void close(Duration grace) {}
            },
            "f",
            new EmbeddedChannel().eventLoop()));

    @Test
    void should_warm_up_every_four_minutes() {
        for (int minute = 0; minute < 9; minute++) {
            environments.keep(minute * MINUTE, 2);
        }
        assertThat(warmUps).containsExactly(2, 2, 2);
    }

    @Test
    void should_warm_up_immediately_when_another_count_is_wanted() {
        environments.keep(0, 2);
        environments.onOtherCount();
        environments.keep(MINUTE, 3);
        environments.keep(4 * MINUTE, 3);
        environments.keep(5 * MINUTE, 3);
        assertThat(warmUps).containsExactly(2, 3, 3);
    }

    @Test
    void should_wait_for_the_next_turn_after_one_without_environments() {
        environments.keep(0, 0);
        environments.keep(MINUTE, 2);
        assertThat(warmUps).isEmpty();
        environments.keep(4 * MINUTE, 2);
        assertThat(warmUps).containsExactly(2);
    }
}
