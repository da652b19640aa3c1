package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.options.DownstreamBudget;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.wire.worker.LaunchToken;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class BudgetTest {
    private static final long NOW = 1_790_000_000_123L;
    private static final long MINUTE = 60_000;
    private static final BudgetLimits LIMITS = limits(10, 300, 0);

    private final Budget budget = new Budget();

    private static BudgetLimits limits(int workers, int launches, double gbSeconds) {
        return new BudgetLimits(
                workers,
                2 * workers,
                launches,
                (long) (gbSeconds * 1024_000),
                1024,
                MINUTE - 10_000,
                14 * MINUTE,
                null);
    }

    private static List<String> ids(int first, int count) {
        List<String> ids = new ArrayList<>();
        for (int i = first; i < first + count; i++) {
            ids.add("w" + i);
        }
        return ids;
    }

    private static BudgetLimits sharing(int connections, int workers) {
        DownstreamBudget downstream = DownstreamBudget.of(connections, 1, 0, workers);
        return new BudgetLimits(
                downstream.maxWorkers(), downstream.maxAlive(), 300, 0, 1024, MINUTE - 10_000, 14 * MINUTE, downstream);
    }

    @Test
    void should_grant_only_slots_whose_shares_fit_beside_those_of_all_others() {
        // 4 workers and 1 replacement with 4 connections each.
        BudgetLimits before = sharing(20, 4);
        assertThat(budget.grant(ids(0, 9), "a", NOW, before)).isEqualTo(4);
        ids(0, 4).forEach(budget::markReplaced);
        assertThat(budget.grant(ids(10, 9), "a", NOW, before)).isEqualTo(1);
        assertThat(budget.obstacle(NOW, before))
                .isEqualTo(
                        "launching is limited by function.downstream-connections: 20 for the fleet, and 5 workers run, start"
                                + " or end");

        // The new share is 2, but the slots keep their shares until their workers confirm.
        BudgetLimits after = sharing(20, 8);
        Budget seen = Budget.parse(budget.text());
        assertThat(seen.grant(ids(20, 9), "b", NOW, after)).isZero();
        seen.setDownstreamShare("w0", 2);
        assertThat(seen.grant(ids(20, 9), "b", NOW, after)).isEqualTo(1);
        assertThat(seen.slot("w20").downstreamShare()).isEqualTo(2);
    }

    @Test
    void should_count_a_slot_without_a_share_like_a_new_one() {
        // A dispatcher of an earlier version grants such slots.
        assertThat(budget.grant(ids(0, 3), "a", NOW, limits(3, 300, 0))).isEqualTo(3);
        assertThat(budget.grant(ids(10, 9), "b", NOW, sharing(20, 4))).isEqualTo(1);
        assertThat(budget.grant(ids(20, 100), "b", NOW, sharing(100, 40))).isEqualTo(36);
    }

    @Test
    void should_grant_no_more_than_the_maximum() {
        assertThat(budget.grant(ids(0, 7), "a", NOW, LIMITS)).isEqualTo(7);
        assertThat(budget.grant(ids(7, 7), "b", NOW, LIMITS)).isEqualTo(3);
        assertThat(budget.grant(ids(20, 1), "b", NOW, LIMITS)).isZero();
        assertThat(budget.obstacle(NOW, LIMITS))
                .isEqualTo("launching is limited by function.max-workers: 10 for the fleet");
        assertThat(budget.slot("w9")).isEqualTo(new Slot("b", NOW, NOW + 15 * MINUTE, false, false, 0));
    }

    @Test
    void should_grant_replacements_until_there_are_twice_as_many() {
        budget.grant(ids(0, 10), "a", NOW, LIMITS);
        ids(0, 10).forEach(budget::markReplaced);

        assertThat(budget.grant(ids(10, 20), "a", NOW, LIMITS)).isEqualTo(10);
        ids(10, 5).forEach(budget::markReplaced);

        assertThat(budget.grant(ids(30, 5), "a", NOW, LIMITS)).isZero();
        budget.end("w0", NOW, LIMITS);
        assertThat(budget.grant(ids(30, 5), "a", NOW, LIMITS)).isEqualTo(1);
    }

    @Test
    void should_count_launches_of_a_minute() {
        BudgetLimits limits = limits(1000, 5, 0);
        assertThat(budget.grant(ids(0, 4), "a", NOW, limits)).isEqualTo(4);
        assertThat(budget.grant(ids(4, 4), "b", NOW + 30_000, limits)).isEqualTo(1);
        assertThat(budget.obstacle(NOW + 59_000, limits)).contains("function.launches-per-minute: 5");
        assertThat(budget.grant(ids(8, 4), "a", NOW + 59_900, limits)).isZero();
        assertThat(budget.grant(ids(8, 9), "a", NOW + 61_000, limits)).isEqualTo(4);
        // A slot that was never used has still been a launch.
        budget.takeBack("w8");
        assertThat(budget.launchesInLastMinute(NOW + 61_000)).isEqualTo(5);
    }

    @Test
    void should_charge_until_the_end_in_advance_and_pay_back() {
        BudgetLimits limits = limits(1000, 300, 10 * 15 * 60);
        assertThat(budget.grant(ids(0, 100), "a", NOW, limits)).isEqualTo(10);
        assertThat(budget.obstacle(NOW, limits)).contains("spending limit: 9000 GB-seconds per hour");

        // One minute of ten workers is spent, so nine full lives and a part of one are left.
        ids(0, 10).forEach(id -> budget.end(id, NOW + MINUTE, limits));
        assertThat(budget.grant(ids(100, 100), "a", NOW + MINUTE, limits)).isEqualTo(9);
        assertThat(budget.megabyteMillisOfLastHour(NOW + MINUTE, 1024)).isEqualTo(10 * MINUTE * 1024);
    }

    /** A fixed hour would permit the limit just before its end, and again just after it. */
    @Test
    void should_grant_for_hours_as_much_as_the_limit_permits() {
        BudgetLimits limits = limits(1000, 300, 5 * 15 * 60);
        int granted = 0;
        for (int minute = 0; minute < 240; minute++) {
            budget.expire(NOW + minute * MINUTE, limits);
            granted += budget.grant(ids(minute * 100, 100), "a", NOW + minute * MINUTE, limits);
        }
        assertThat(granted).isBetween(5 * 3, 5 * 4);
    }

    /** Changes a budget at random for some hours. Each slot is used until it ends. */
    @Test
    void should_exceed_no_limit_whatever_changes() {
        for (int seed = 0; seed < 300; seed++) {
            try {
                changeAtRandom(new SplittableRandom(seed));
            } catch (AssertionError e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
    }

    private static void changeAtRandom(SplittableRandom random) {
        int workers = random.nextInt(1, 30);
        BudgetLimits limits = new BudgetLimits(
                workers,
                2 * workers,
                random.nextInt(1, 20),
                random.nextLong(20, 400) * MINUTE * 1024,
                1024,
                random.nextLong(10_000, 60_000),
                random.nextLong(30_000, 15 * MINUTE),
                null);
        Map<String, long[]> uses = new LinkedHashMap<>();
        List<Long> grants = new ArrayList<>();
        Budget budget = new Budget();
        long now = NOW + random.nextLong(60 * MINUTE);
        long longest = random.nextBoolean() ? 5_000 : 3 * MINUTE;
        for (int step = 0; step < 400; step++) {
            now += random.nextLong(longest);
            budget = Budget.parse(budget.text());
            budget.expire(now, limits);
            List<String> slots = List.copyOf(budget.slots().keySet());
            String one = slots.isEmpty() ? "none" : slots.get(random.nextInt(slots.size()));
            switch (random.nextInt(6)) {
                case 0 -> {
                    if (uses.containsKey(one)) {
                        uses.get(one)[1] = now;
                    }
                    budget.end(one, now, limits);
                }
                case 1 -> {
                    uses.remove(one);
                    budget.takeBack(one);
                }
                case 2 -> budget.markReplaced(one);
                case 3 -> {
                    if (budget.extend(one, limits)) {
                        uses.get(one)[1] += limits.lifeMillis();
                    }
                }
                default -> {
                    int count = budget.grant(ids(step * 100, random.nextInt(1, 10)), "a", now, limits);
                    for (int i = 0; i < count; i++) {
                        uses.put("w" + (step * 100 + i), new long[] {now, now + limits.slotMillis()});
                        grants.add(now);
                    }
                }
            }
            assertThat(budget.workers()).isLessThanOrEqualTo(limits.maxWorkers());
            assertThat(budget.slots().size()).isLessThanOrEqualTo(2 * limits.maxWorkers());
        }
        mustKeepRates(limits, grants, uses.values());
    }

    private static void mustKeepRates(BudgetLimits limits, List<Long> grants, Collection<long[]> uses) {
        for (long grant : grants) {
            assertThat(grants.stream().filter(each -> each <= grant && each > grant - MINUTE))
                    .hasSizeLessThanOrEqualTo(limits.launchesPerMinute());
        }
        for (long[] last : uses) {
            // An hour of the highest spending ends with the end of a use, or begins with its start.
            for (long end : new long[] {last[1], last[0] + 60 * MINUTE}) {
                long sum = 0;
                for (long[] use : uses) {
                    sum += Math.max(0, Math.min(use[1], end) - Math.max(use[0], end - 60 * MINUTE));
                }
                assertThat(sum * 1024).isLessThanOrEqualTo(limits.megabyteMillisPerHour());
            }
        }
    }

    @Test
    void should_charge_for_another_life() {
        BudgetLimits limits = limits(1000, 300, 15 * 60 + 14 * 60);
        budget.grant(ids(0, 1), "a", NOW, limits);

        assertThat(budget.extend("w0", limits)).isTrue();
        assertThat(budget.slot("w0").untilMillis()).isEqualTo(NOW + 29 * MINUTE);
        assertThat(budget.extend("w0", limits)).isFalse();
        assertThat(budget.grant(ids(1, 1), "a", NOW, limits)).isZero();
    }

    @Test
    void should_stop_and_delay_launches() {
        budget.setLaunching(false);
        assertThat(budget.grant(ids(0, 1), "a", NOW, LIMITS)).isZero();
        assertThat(budget.obstacle(NOW, LIMITS)).contains("kill switch");
        budget.setLaunching(true);

        assertThat(budget.hold(NOW + 1000)).isTrue();
        assertThat(budget.hold(NOW + 500)).isFalse();
        assertThat(budget.grant(ids(0, 1), "a", NOW + 999, LIMITS)).isZero();
        assertThat(budget.grant(ids(0, 1), "a", NOW + 1000, LIMITS)).isEqualTo(1);
    }

    @Test
    void should_end_slots_whose_time_is_over() {
        budget.grant(ids(0, 2), "a", NOW, LIMITS);
        budget.expire(NOW + 15 * MINUTE - 1, LIMITS);
        assertThat(budget.slots()).hasSize(2);
        budget.expire(NOW + 15 * MINUTE, LIMITS);
        assertThat(budget.slots()).isEmpty();
    }

    @Test
    void should_be_the_same_after_it_was_written_and_read() {
        budget.grant(ids(0, 3), "a", NOW, LIMITS);
        budget.markSeen("w0");
        budget.markReplaced("w1");
        budget.adopt("w2", "b");
        budget.end("w0", NOW + 7 * MINUTE, LIMITS);
        budget.hold(NOW + 77);
        budget.setLaunching(false);

        Budget read = Budget.parse(budget.text());

        assertThat(read.text()).isEqualTo(budget.text());
        assertThat(read.slots()).isEqualTo(budget.slots());
        assertThat(read.slot("w2").owner()).isEqualTo("b");
    }

    @Test
    void should_fit_into_an_entry_of_the_ledger() {
        BudgetLimits limits = limits(BudgetLimits.MOST_WORKERS, 100_000, 1e9);
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < 2 * BudgetLimits.MOST_WORKERS; i++) {
            ids.add("%s%016x".formatted(LaunchToken.FLEET_WORKER_ID_PREFIX, i));
        }
        assertThat(budget.grant(ids, "0123456789abcdef", NOW, limits)).isEqualTo(BudgetLimits.MOST_WORKERS);
        ids.subList(0, BudgetLimits.MOST_WORKERS).forEach(budget::markReplaced);
        assertThat(budget.grant(ids.subList(BudgetLimits.MOST_WORKERS, ids.size()), "0123456789abcdef", NOW, limits))
                .isEqualTo(BudgetLimits.MOST_WORKERS);
        for (int minute = 0; minute < 120; minute++) {
            budget.expire(NOW + minute * MINUTE, limits);
            budget.grant(List.of(), "a", NOW + minute * MINUTE, limits);
        }

        assertThat(budget.slots()).isEmpty();
        budget.grant(ids, "0123456789abcdef", NOW + 120 * MINUTE, limits);
        ids.forEach(budget::markReplaced);
        budget.grant(
                ids.subList(BudgetLimits.MOST_WORKERS, ids.size()), "0123456789abcdef", NOW + 121 * MINUTE, limits);
        assertThat(budget.slots()).hasSize(2 * BudgetLimits.MOST_WORKERS);
        assertThat(budget.text().length()).isLessThan(Ledger.MAX_VALUE_BYTES);
    }

    @Test
    void should_name_what_it_cannot_read() {
        assertThatThrownBy(() -> Budget.parse("{\"format\":2}")).hasMessageContaining("format 2, expected 1");
        assertThatThrownBy(() -> Budget.parse("nonsense")).hasMessageContaining("a member is missing");
        assertThatThrownBy(() -> Budget.parse(budget.text().replace("true", "7")))
                .hasMessageContaining("has another type");
    }

    @Test
    void should_name_limits_in_which_two_dispatchers_differ() {
        assertThat(LIMITS.difference(LIMITS.toString())).isNull();
        assertThat(LIMITS.difference(limits(4, 300, 0.5).toString()))
                .isEqualTo("function.max-workers=4, function.spending-limit=0.5, not function.max-workers=10,"
                        + " function.spending-limit=0.0");
        assertThat(LIMITS.difference(LIMITS + ", fromNewerVersion=1")).isEqualTo("fromNewerVersion=1");
        assertThat(LIMITS)
                .hasToString("function.max-workers=10, function.launches-per-minute=300, function.spending-limit=0.0,"
                        + " function.worker-memory=1024, function.launch-timeout=50.0 s,"
                        + " function.max-worker-age=840.0 s");
    }

    /** Dispatchers are upgraded one after the other, so some do not know everything. */
    @Test
    void should_keep_what_a_newer_dispatcher_has_added() {
        budget.setRollout("STEADY\t7\t\t0\t\t");
        budget.grant(ids(0, 1), "a", NOW, LIMITS);
        String text = budget.text();
        String newer = text.substring(0, text.length() - 1) + ",\"added\":{\"a\":[1,\"b\",null,true]}}";

        Budget read = Budget.parse(newer).copy();
        read.end("w0", NOW, LIMITS);
        assertThat(read.text())
                .endsWith(",\"rollout\":\"STEADY\\t7\\t\\t0\\t\\t\",\"added\":{\"a\":[1,\"b\",null,true]}}");
        assertThat(Budget.parse(newer).text()).isEqualTo(newer);
    }
}
