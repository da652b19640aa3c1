package io.lambdadispatcher.worker.internal.connect;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.cpu.CpuUse;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class RequestLimitTest {
    private static List<RequestLimit.Part> parts(RequestLimit limit, int connections) {
        return IntStream.range(0, connections).mapToObj(limit::part).toList();
    }

    @Test
    void should_give_the_connections_the_whole_limit_in_almost_equal_parts() {
        Random random = new Random(41);
        for (int run = 0; run < 20_000; run++) {
            int connections = 1 + random.nextInt(16);
            int streams = 1 + random.nextInt(100);
            RequestLimit limit = new RequestLimit(connections, streams);
            List<RequestLimit.Part> parts = parts(limit, connections);
            int requests = 1 + random.nextInt(connections * streams + 3);
            limit.set(requests);

            List<Integer> each = parts.stream().map(RequestLimit.Part::requests).toList();
            if (requests >= connections * streams) {
                assertThat(each).containsOnly(0);
                continue;
            }
            assertThat(each.stream().mapToInt(Integer::intValue).sum())
                    .as("%d requests on %d connections", requests, connections)
                    .isEqualTo(Math.max(requests, connections));
            int least = Collections.min(each);
            assertThat(each).allMatch(part -> part >= 1 && part <= streams && part - least <= 1);
        }
    }

    @Test
    void should_tell_connections_of_another_index_only_if_it_changes_a_part() {
        RequestLimit limit = new RequestLimit(3, 10);
        List<RequestLimit.Part> parts = parts(limit, 3);
        List<String> told = new ArrayList<>();
        parts.get(2).add(() -> told.add("changed"));
        parts.get(2).setIndex(0);
        assertThat(told).isEmpty();

        limit.set(4);
        assertThat(told).hasSize(1);
        assertThat(parts.get(2).requests()).isEqualTo(2);
        parts.get(2).setIndex(0);
        assertThat(told).hasSize(1);
        parts.get(2).setIndex(1);
        assertThat(told).hasSize(2);
        assertThat(parts.get(2).requests()).isEqualTo(1);
    }

    private static CpuUse used(double seconds) {
        return new CpuUse("group", 1, (long) (seconds * 1e9), 0, 0);
    }

    @Test
    void should_tell_connections_if_the_processor_time_does_not_suffice() {
        RequestLimit limit = new RequestLimit(2, 10);
        List<RequestLimit.Part> parts = parts(limit, 2);
        List<String> told = new ArrayList<>();
        parts.get(0).add(() -> told.add("changed"));
        limit.onCpu(0, used(0));
        limit.onCpu(1_000_000_000, used(0.5));
        assertThat(told).isEmpty();
        limit.onCpu(2_000_000_000, used(1.5));
        assertThat(told).hasSize(1);
        assertThat(parts.stream().map(RequestLimit.Part::requests)).containsExactly(9, 9);

        limit.set(4);
        assertThat(parts.stream().map(RequestLimit.Part::requests)).containsExactly(2, 2);
        limit.set(20);
        assertThat(parts.stream().map(RequestLimit.Part::requests)).containsExactly(9, 9);
        for (int i = 3; i < 6; i++) {
            limit.onCpu(i * 1_000_000_000L, used(1.5));
        }
        assertThat(parts.stream().map(RequestLimit.Part::requests)).containsExactly(0, 0);
    }
}
