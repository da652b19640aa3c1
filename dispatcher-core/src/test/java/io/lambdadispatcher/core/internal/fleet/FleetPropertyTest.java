package io.lambdadispatcher.core.internal.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.internal.fleet.SimulatedFleet.Kind;
import io.lambdadispatcher.core.internal.fleet.SimulatedFleet.SimulatedDispatcher;
import io.lambdadispatcher.core.internal.fleet.SimulatedFleet.SimulatedWorker;
import io.lambdadispatcher.core.options.DownstreamBudget;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
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
        long count = Long.getLong("fleet.seeds", 20);
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
        SimulatedFleet fleet = new SimulatedFleet(random.nextLong(), kind(random));
        int maxWorkers = fleet.kind.maxWorkers();
        int dispatchers = random.nextInt(2, 11);
        for (int i = 0; i < dispatchers; i++) {
            fleet.start();
        }
        fleet.badMoments = true;
        boolean busy = random.nextBoolean();
        while (fleet.time.nanos() < 90 * SECOND) {
            boolean idle = !busy && random.nextInt(3) == 0;
            fleet.streams = idle ? 0 : random.nextInt(busy ? 7 * maxWorkers : 1, 10 * maxWorkers + 1);
            fleet.pass(random.nextLong(SECOND, 6 * SECOND));
            fault(fleet, random);
        }
        heal(fleet);
        for (int i = 0; i < 3; i++) {
            fleet.streams = random.nextInt(1, 8 * maxWorkers + 1);
            mustServe(fleet);
        }
        mustAgree(fleet);
        mustOwn(fleet);
        fleet.streams = 0;
        mustEnd(fleet);
        fleet.invariants.checkSpending();
    }

    private static Kind kind(SplittableRandom random) {
        int maxWorkers = random.nextInt(1, 12);
        boolean local = random.nextInt(4) == 0;
        int least = (int) DownstreamBudget.least(1, maxWorkers);
        // A local worker's next life is paid two minutes before its slot ends, so that it outlasts
        // all faults.
        int life = local ? random.nextInt(130, 200) : random.nextInt(30, 120);
        return new Kind(
                maxWorkers,
                random.nextInt(3) == 0 ? random.nextInt(maxWorkers, 3 * maxWorkers + 1) : 300,
                random.nextInt(3) == 0 ? maxWorkers * random.nextInt(40, local ? 500 : 300) : 0,
                Duration.ofSeconds(life),
                local,
                random.nextInt(4) == 0,
                random.nextInt(3) == 0 ? random.nextInt(least, 4 * maxWorkers + 8) : 0);
    }

    /**
     * While slots are free, the demand must be met within 5 s and the time that a worker takes to
     * start.
     */
    private static void mustServe(SimulatedFleet fleet) {
        long unmetNanos = 0;
        for (int i = 0; i < 24; i++) {
            fleet.pass(SECOND / 2);
            boolean unmet = !fleet.isDemandMet() && fleet.areSlotsFree();
            unmetNanos = unmet ? unmetNanos + SECOND / 2 : 0;
            if (unmetNanos > 8 * SECOND) {
                fleet.fail("the demand of " + fleet.streams + " streams is not met, although slots are free: "
                        + fleet.budget().text());
            }
        }
    }

    /** All dispatchers must know of each other, and nothing of those that are gone. */
    private static void mustAgree(SimulatedFleet fleet) {
        List<SimulatedDispatcher> alive = fleet.serving();
        assertThat(fleet.budget().isLaunching()).isTrue();
        assertThat(alive.stream().filter(each -> each.fleetFunction.isFirst())).hasSize(1);
        List<String> addresses = alive.stream().map(each -> each.address).toList();
        assertThat(alive)
                .allSatisfy(each ->
                        assertThat(each.peers).startsWith(each.address).containsExactlyInAnyOrderElementsOf(addresses));
        fleet.workers.values().forEach(worker -> {
            if (!worker.draining && fleet.time.nanos() - worker.startedNanos > 6 * SECOND) {
                assertThat(worker.connections.keySet()).containsAll(alive);
            }
        });
    }

    /**
     * Each slot that counts must belong to a dispatcher that lives, and have a worker or get one
     * soon.
     */
    private static void mustOwn(SimulatedFleet fleet) {
        List<String> alive =
                fleet.serving().stream().map(each -> each.member.id).toList();
        fleet.budget().slots().forEach((id, slot) -> {
            SimulatedWorker worker = fleet.everLaunched.get(id);
            // The owner of a worker that has just exited has not written this yet.
            boolean exits =
                    worker != null && worker.hasExited() && fleet.time.nanos() - worker.exitedNanos < 5 * SECOND;
            boolean old = fleet.time.millis() - slot.grantedMillis() > 60_000;
            if (!slot.replaced()
                    && (!alive.contains(slot.owner()) || old && !exits && !fleet.workers.containsKey(id))) {
                fleet.fail("slot " + id + " is not used: " + slot);
            }
        });
    }

    /** Without demand, all workers must end, and then all slots. */
    private static void mustEnd(SimulatedFleet fleet) {
        fleet.pass(40 * SECOND);
        long lastMillis = fleet.budget().slots().values().stream()
                .mapToLong(Slot::untilMillis)
                .max()
                .orElse(0);
        long latest = fleet.time.nanos() + (lastMillis - fleet.time.millis()) * 1_000_000 + 5 * SECOND;
        while (fleet.time.nanos() < latest && !fleet.budget().slots().isEmpty()) {
            fleet.pass(5 * SECOND);
        }
        assertThat(fleet.workers).isEmpty();
        assertThat(fleet.budget().slots()).isEmpty();
        assertThat(fleet.store.entries.keySet().stream().filter(key -> key.startsWith("member/")))
                .containsExactlyInAnyOrderElementsOf(fleet.serving().stream()
                        .map(each -> "member/" + each.member.id)
                        .toList());
    }

    private static void fault(SimulatedFleet fleet, SplittableRandom random) {
        List<SimulatedDispatcher> all = fleet.serving();
        if (all.isEmpty()) {
            fleet.start();
            return;
        }
        SimulatedDispatcher one = all.get(random.nextInt(all.size()));
        switch (random.nextInt(14)) {
            case 0 -> one.killAndRestart();
            case 1 -> one.pause(random.nextLong(SECOND, 25 * SECOND), random.nextBoolean());
            case 2 -> {
                one.ledger.cutOff = !one.ledger.cutOff;
                fleet.note("cut off " + one.member.id + ": " + one.ledger.cutOff);
            }
            case 3 -> {
                one.ledger.lostAnswers = one.ledger.lostAnswers > 0 ? 0 : 0.3;
                fleet.note("lost answers " + one.member.id + ": " + one.ledger.lostAnswers);
            }
            case 4 -> fleet.setDown(!fleet.store.down);
            case 5 -> {
                one.leave();
                fleet.start();
            }
            case 6 -> any(fleet, random).ifPresent(SimulatedWorker::crash);
            case 7 -> one.setLaunching(random.nextInt(3) > 0);
            case 8 -> fleet.setPartitioned(!fleet.partitioned);
            case 9 -> any(fleet, random).ifPresent(worker -> worker.cutOff(one, random.nextLong(SECOND, 40 * SECOND)));
            case 10 -> {
                if (!fleet.kind.local()) {
                    any(fleet, random).ifPresent(SimulatedWorker::lose);
                }
            }
            case 11 -> {
                fleet.note("throttled");
                fleet.throttledUntilNanos = fleet.time.nanos() + random.nextLong(8 * SECOND);
            }
            case 12 -> {
                one.ledger.unreadable = !one.ledger.unreadable;
                fleet.note("reads of " + one.member.id + " fail: " + one.ledger.unreadable);
            }
            default -> {
                if (all.size() < 10) {
                    fleet.start();
                }
            }
        }
    }

    private static Optional<SimulatedWorker> any(SimulatedFleet fleet, SplittableRandom random) {
        List<SimulatedWorker> all = List.copyOf(fleet.workers.values());
        return all.isEmpty() ? Optional.empty() : Optional.of(all.get(random.nextInt(all.size())));
    }

    private static void heal(SimulatedFleet fleet) {
        fleet.note("heal");
        fleet.setDown(false);
        fleet.setPartitioned(false);
        fleet.slowStarts = false;
        fleet.badMoments = false;
        fleet.dispatchers.forEach(each -> {
            each.ledger.cutOff = false;
            each.ledger.lostAnswers = 0;
            each.ledger.unreadable = false;
        });
        if (fleet.serving().isEmpty()) {
            fleet.start();
        }
        // The longest pause ends.
        fleet.pass(30 * SECOND);
        fleet.serving().get(0).setLaunching(true);
        // Those who were cut off are taken for gone, and orphans are replaced.
        fleet.pass(15 * SECOND);
    }
}
