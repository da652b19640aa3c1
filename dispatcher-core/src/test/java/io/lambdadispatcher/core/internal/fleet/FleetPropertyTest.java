package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.fleet.SimulatedFleet.SimulatedDispatcher;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Runs fleets with random faults in virtual time. No limit may be exceeded in any state, and a
 * fleet without faults must recover. {@code -Djvm.flags="-Dfleet.seeds=10000 -Dfleet.first=1"} runs
 * more seeds; a failure names its seed.
 */
class FleetPropertyTest {
    private static final long SECOND = SimulatedFleet.SECOND;

    @Test
    void should_exceed_no_limit_and_recover() {
        long first = Long.getLong("fleet.first", 1);
        long count = Long.getLong("fleet.seeds", 50);
        for (long seed = first; seed < first + count; seed++) {
            try {
                run(seed);
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
        }
    }

    private static void run(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int maxWorkers = random.nextInt(1, 12);
        boolean limited = random.nextInt(4) == 0;
        SimulatedFleet fleet = new SimulatedFleet(
                random.nextLong(),
                maxWorkers,
                limited ? maxWorkers * random.nextInt(60, 600) : 0,
                Duration.ofSeconds(random.nextInt(30, 120)));
        int dispatchers = random.nextInt(2, 11);
        for (int i = 0; i < dispatchers; i++) {
            fleet.start();
        }
        while (fleet.time.nanos() < 90 * SECOND) {
            fleet.streams = random.nextInt(3) == 0 ? 0 : random.nextInt(1, 10 * maxWorkers + 1);
            pass(fleet, random.nextLong(SECOND, 6 * SECOND));
            fault(fleet, random);
        }
        heal(fleet);
        fleet.streams = random.nextInt(1, 8 * maxWorkers + 1);
        // The longest fault ends, those who were cut off are taken for gone, and orphans are
        // replaced.
        pass(fleet, 45 * SECOND);
        mustServe(fleet);
        mustOwn(fleet);
        fleet.streams = 0;
        pass(fleet, 40 * SECOND);
        BudgetLimits limits = BudgetLimits.of(fleet.function);
        pass(fleet, limits.slotMillis() * 1_000_000 + 30 * SECOND);
        fleet.checkSpending();
        assertThat(fleet.workers).isEmpty();
        assertThat(fleet.budget().slots()).isEmpty();
    }

    private static void pass(SimulatedFleet fleet, long nanos) {
        long end = fleet.time.nanos() + nanos;
        while (fleet.time.nanos() < end) {
            fleet.time.runUntil(Math.min(end, fleet.time.nanos() + SECOND / 4));
            fleet.checkAdmitted();
        }
    }

    /**
     * While slots are free, the demand must be met within 5 s and the time that a worker takes to
     * start.
     */
    private static void mustServe(SimulatedFleet fleet) {
        long unmetNanos = 0;
        for (int i = 0; i < 60; i++) {
            pass(fleet, SECOND / 2);
            boolean unmet = !fleet.isDemandMet() && fleet.areSlotsFree();
            unmetNanos = unmet ? unmetNanos + SECOND / 2 : 0;
            if (unmetNanos > 8 * SECOND) {
                fleet.fail("the demand of " + fleet.streams + " streams is not met, although slots are free: "
                        + fleet.budget().text());
            }
        }
    }

    /**
     * Each slot that counts must belong to a dispatcher that lives, and have a worker or get one
     * soon.
     */
    private static void mustOwn(SimulatedFleet fleet) {
        List<String> alive =
                fleet.serving().stream().map(each -> each.member.id).toList();
        fleet.budget().slots().forEach((id, slot) -> {
            boolean old = fleet.time.millis() - slot.grantedMillis() > 60_000;
            if (!slot.replaced() && (!alive.contains(slot.owner()) || old && !fleet.workers.containsKey(id))) {
                fleet.fail("slot " + id + " is not used: " + slot);
            }
        });
    }

    private static void fault(SimulatedFleet fleet, SplittableRandom random) {
        List<SimulatedDispatcher> all = fleet.serving();
        if (all.isEmpty()) {
            fleet.start();
            return;
        }
        SimulatedDispatcher one = all.get(random.nextInt(all.size()));
        switch (random.nextInt(9)) {
            case 0 -> {
                one.kill();
                fleet.time.after(random.nextLong(10 * SECOND), fleet::start);
            }
            case 1 -> one.pause(random.nextLong(SECOND, 25 * SECOND));
            case 2 -> {
                one.ledger.cutOff = !one.ledger.cutOff;
                fleet.note("cut off " + one.member.id + ": " + one.ledger.cutOff);
            }
            case 3 -> {
                one.ledger.lostAnswers = one.ledger.lostAnswers > 0 ? 0 : 0.3;
                fleet.note("lost answers " + one.member.id + ": " + one.ledger.lostAnswers);
            }
            case 4 -> {
                fleet.store.down = !fleet.store.down;
                fleet.note("ledger down: " + fleet.store.down);
            }
            case 5 -> {
                one.leave();
                fleet.start();
            }
            case 6 -> fleet.workers.values().stream().findAny().ifPresent(worker -> worker.crash());
            case 7 -> one.share.setLaunching(random.nextInt(3) > 0);
            default -> {
                if (all.size() < 10) {
                    fleet.start();
                }
            }
        }
    }

    private static void heal(SimulatedFleet fleet) {
        fleet.note("heal");
        fleet.store.down = false;
        fleet.slowStarts = false;
        fleet.dispatchers.forEach(each -> {
            each.ledger.cutOff = false;
            each.ledger.lostAnswers = 0;
        });
        if (fleet.serving().isEmpty()) {
            fleet.start();
        }
        pass(fleet, 30 * SECOND);
        fleet.serving().get(0).share.setLaunching(true);
    }
}
