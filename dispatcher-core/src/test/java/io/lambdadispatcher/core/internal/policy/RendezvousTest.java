package io.lambdadispatcher.core.internal.policy;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;

class RendezvousTest {
    private final List<SimulatedMember> workers = new ArrayList<>();

    private SimulatedMember join(String workerId) {
        SimulatedMember worker = new SimulatedMember(workerId);
        workers.add(worker);
        return worker;
    }

    private SimulatedMember[] all() {
        return workers.toArray(SimulatedMember[]::new);
    }

    private SimulatedMember choose(String key) {
        return Rendezvous.choose(Rendezvous.hash(key), all(), new long[0]);
    }

    private Map<String, SimulatedMember> chosen(int keys) {
        Map<String, SimulatedMember> chosen = new HashMap<>();
        for (int i = 0; i < keys; i++) {
            chosen.put("key-" + i, choose("key-" + i));
        }
        return chosen;
    }

    @RepeatedTest(20)
    void should_move_only_keys_of_workers_that_come_and_go() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int i = 0; i < 2 + random.nextInt(20); i++) {
            join("first-" + random.nextLong());
        }
        Map<String, SimulatedMember> before = chosen(1_000);
        for (int step = 0; step < 20; step++) {
            boolean leaves = workers.size() > 2 && random.nextBoolean();
            SimulatedMember changed =
                    leaves ? workers.remove(random.nextInt(workers.size())) : join("later-" + random.nextLong());
            Map<String, SimulatedMember> after = chosen(1_000);
            int n = leaves ? workers.size() + 1 : workers.size();
            int moved = 0;
            for (String key : before.keySet()) {
                if (before.get(key) != after.get(key)) {
                    moved++;
                    assertThat(leaves ? before.get(key) : after.get(key))
                            .as("key %s, step %d, seed %d", key, step, seed)
                            .isSameAs(changed);
                }
            }
            // Six standard deviations of a binomial distribution.
            double share = 1.0 / n;
            assertThat(moved)
                    .as("step %d of seed %d", step, seed)
                    .isBetween(
                            (int) (1_000 * share - 6 * Math.sqrt(1_000 * share * (1 - share))),
                            (int) (1_000 * share + 6 * Math.sqrt(1_000 * share * (1 - share))) + 1);
            before = after;
        }
    }

    @RepeatedTest(20)
    void should_keep_every_load_within_the_bound() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        int n = 1 + random.nextInt(20);
        for (int i = 0; i < n; i++) {
            join("worker-" + random.nextLong());
        }
        int total = 0;
        for (int step = 0; step < 2_000; step++) {
            SimulatedMember any = workers.get(random.nextInt(n));
            if (any.load > 0 && random.nextInt(5) < 2) {
                any.load--;
                total--;
            } else {
                SimulatedMember chosen = choose("key-" + random.nextInt(3));
                chosen.load++;
                total++;
                assertThat(chosen.load).as("step %d, seed %d", step, seed).isLessThanOrEqualTo((int)
                        Math.max(Rendezvous.FLOOR, Math.ceil(1.25 * total / n)));
            }
        }
    }

    @Test
    void should_choose_the_next_worker_while_the_first_has_no_room() {
        join("a");
        join("b");
        join("c");
        SimulatedMember first = choose("key");
        first.streams = 0;
        SimulatedMember second = choose("key");
        assertThat(second).isNotSameAs(first);
        assertThat(Rendezvous.isFirst(Rendezvous.hash("key"), all(), second)).isFalse();
        first.streams = 1;
        assertThat(choose("key")).isSameAs(first);
    }

    @Test
    void should_choose_the_connection_with_fewer_requests_of_one_worker() {
        SimulatedMember one = join("a");
        SimulatedMember other = join("a");
        one.load = 1;
        assertThat(choose("key")).isSameAs(other);
    }

    @Test
    void should_choose_nobody_if_nobody_has_room() {
        assertThat(choose("key")).isNull();
        join("a").streams = 0;
        assertThat(choose("key")).isNull();
    }

    /** The dispatchers of a fleet, whose versions may differ, must agree. */
    @Test
    void should_never_change_hashes() {
        assertThat(Rendezvous.hash("")).isEqualTo(-1166397803181037274L);
        assertThat(WorkerTag.append("id", WorkerTag.of("worker-1"))).isEqualTo("id~w13d3xsoovicfo");
    }
}
