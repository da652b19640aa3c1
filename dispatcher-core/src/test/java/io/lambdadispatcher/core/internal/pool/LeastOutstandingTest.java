package io.lambdadispatcher.core.internal.pool;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LeastOutstandingTest {
    private static final class Node extends LeastOutstanding.Entry {}

    @Test
    void should_go_round_among_equals() {
        LeastOutstanding<Node> structure = new LeastOutstanding<>();
        Node a = new Node();
        Node b = new Node();
        structure.put(a, 0);
        structure.put(b, 0);
        assertThat(structure.least()).isSameAs(a);
        structure.put(a, 0);
        assertThat(structure.least()).isSameAs(b);
    }

    /** Compares with a linear search, with ranks beyond one word of the bitmap. */
    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void should_always_pick_one_with_the_fewest(long seed) {
        Random random = new Random(seed);
        LeastOutstanding<Node> structure = new LeastOutstanding<>();
        List<Node> nodes = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            nodes.add(new Node());
        }
        Map<Node, Integer> model = new HashMap<>();
        for (int step = 0; step < 20_000; step++) {
            Node node = nodes.get(random.nextInt(nodes.size()));
            if (random.nextInt(3) == 0) {
                structure.remove(node);
                model.remove(node);
            } else {
                int outstanding = random.nextInt(300);
                structure.put(node, outstanding);
                model.put(node, outstanding);
            }
            Node least = structure.least();
            if (model.isEmpty()) {
                assertThat(least).as("seed %d step %d", seed, step).isNull();
            } else {
                int fewest = model.values().stream()
                        .mapToInt(Integer::intValue)
                        .min()
                        .orElseThrow();
                assertThat(model.get(least)).as("seed %d step %d", seed, step).isEqualTo(fewest);
            }
        }
    }
}
