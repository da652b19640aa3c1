package io.lambdadispatcher.core.internal.ingress.http2;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.ingress.http2.RecentStreams.End;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class RecentStreamsTest {
    private final RecentStreams streams = new RecentStreams();

    @Test
    void should_know_nothing_of_streams_that_have_yet_to_begin() {
        assertThat(streams.of(1, -1)).isEqualTo(End.UNKNOWN);
        streams.add(5, End.ENDED);
        assertThat(streams.of(7, 5)).isEqualTo(End.UNKNOWN);
    }

    @Test
    void should_know_that_a_stream_was_skipped() {
        assertThat(streams.of(3, 5)).isEqualTo(End.SKIPPED);
        streams.add(5, End.ENDED);
        assertThat(streams.of(1, 5)).isEqualTo(End.SKIPPED);
    }

    @Test
    void should_forget_all_but_the_last_32() {
        streams.add(1, End.ENDED);
        assertThat(streams.of(1, 63)).isEqualTo(End.ENDED);
        assertThat(streams.of(1, 65)).isEqualTo(End.UNKNOWN);
        streams.add(1, End.RESET_BY_US);
        assertThat(streams.of(1, 65)).isEqualTo(End.UNKNOWN);
        assertThat(streams.of(Integer.MAX_VALUE - 2, Integer.MAX_VALUE)).isEqualTo(End.SKIPPED);
    }

    @Test
    void should_remember_what_a_map_would() {
        Random random = new Random(1);
        Map<Integer, End> expected = new HashMap<>();
        End[] ends = {End.ENDED, End.RESET_BY_CLIENT, End.RESET_BY_US};
        int newest = -1;
        for (int step = 0; step < 10_000; step++) {
            newest += 2 * (1 + random.nextInt(random.nextInt(50) == 0 ? 40 : 2));
            int id = newest - 2 * random.nextInt(Math.min(32, (newest + 1) / 2));
            if (!expected.containsKey(id)) {
                End end = ends[random.nextInt(ends.length)];
                streams.of(1, newest);
                streams.add(id, end);
                expected.put(id, end);
            }
            int asked = newest - 2 * random.nextInt(Math.min(40, (newest + 1) / 2));
            End known = (newest - asked) / 2 < 32 ? expected.getOrDefault(asked, End.SKIPPED) : End.UNKNOWN;
            assertThat(streams.of(asked, newest)).as("step %d", step).isEqualTo(known);
        }
    }
}
