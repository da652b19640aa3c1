package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.core.internal.fleet.SimulatedFleet.SimulatedDispatcher;
import io.lambdadispatcher.core.internal.fleet.SimulatedFleet.SimulatedWorker;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What must hold in every state of a simulated fleet. It looks at the ledger, the launches and the
 * connections, not at what the dispatchers believe.
 */
final class FleetInvariants {
    private static final long SECOND = SimulatedFleet.SECOND;
    /**
     * A slot without a worker must be given back within this time: launch timeout, two evaluations,
     * and calls to the ledger that fail at first.
     */
    private static final long UNUSED_NANOS = 35 * SECOND;
    /** The time after which a dispatcher without faults has read and judged everything. */
    private static final long SETTLED_NANOS = 5 * SECOND;
    /** The time after which a dispatcher may be taken for gone, as the documents say. */
    static final long GONE_NANOS = 8 * SECOND;
    /** The time after which two dispatchers without faults agree about who is gone. */
    private static final long AGREED_NANOS = GONE_NANOS + 8 * SECOND;

    private final SimulatedFleet fleet;
    private final Set<String> launched = new HashSet<>();
    private final List<Long> grants = new ArrayList<>();
    private final Map<String, Long> unusedSince = new HashMap<>();
    private final Map<String, Long> straySince = new HashMap<>();
    private Budget before = new Budget();
    /** When the kill switch was set in the ledger; -1 = it is not set. */
    private long stoppedNanos = -1;

    FleetInvariants(SimulatedFleet fleet) {
        this.fleet = fleet;
    }

    private long now() {
        return fleet.time.nanos();
    }

    // The ledger.

    /** A dispatcher is about to write a budget. */
    void onSent(SimulatedDispatcher by) {
        mustHaveLease(by, "writes a budget");
        if (by.closed) {
            fleet.fail(by.member.id + " writes a budget after it has left");
        }
    }

    private void mustHaveLease(SimulatedDispatcher by, String what) {
        long age = now() - by.renewedNanos;
        if (by.renewedNanos < 0 || age >= FleetMember.LEASE_NANOS) {
            fleet.fail(by.member.id + " " + what + " " + age / 1e9 + " s after its lease was renewed");
        }
    }

    /** A dispatcher has written a budget. */
    void onBudget(SimulatedDispatcher by) {
        Budget now = fleet.budget();
        if (now.workers() > fleet.kind.maxWorkers()) {
            fleet.fail("granted " + now.workers() + " of " + fleet.kind.maxWorkers());
        }
        if (now.slots().size() > 2 * fleet.kind.maxWorkers()) {
            fleet.fail("granted in all " + now.slots().size() + " of twice " + fleet.kind.maxWorkers());
        }
        checkDownstream();
        checkGrants(now);
        before.slots().forEach((id, slot) -> {
            Slot after = now.slot(id);
            if (after == null) {
                onRemoved(by, id, slot);
            } else if (!slot.owner().equals(by.member.id)) {
                onOther(by, id, slot, after);
            }
        });
        stoppedNanos = now.isLaunching() ? -1 : stoppedNanos < 0 ? now() : stoppedNanos;
        before = now;
    }

    /** Compares the connections that all running workers may open with the limit. */
    void checkDownstream() {
        int limit = fleet.kind.downstreamConnections();
        int granted = 0;
        for (Slot slot : fleet.budget().slots().values()) {
            granted += slot.downstreamShare();
        }
        int used = 0;
        for (SimulatedWorker worker : fleet.workers.values()) {
            used += worker.downstreamShare;
        }
        if (limit > 0 && (granted > limit || used > limit)) {
            fleet.fail("of " + limit + " downstream connections, slots have " + granted + ", and workers " + used);
        }
    }

    void onBudgetRemoved() {
        before = new Budget();
    }

    private void checkGrants(Budget now) {
        int granted = 0;
        for (Map.Entry<String, Slot> each : now.slots().entrySet()) {
            if (before.slot(each.getKey()) == null) {
                granted++;
                grants.add(each.getValue().grantedMillis());
                long minuteAgo = each.getValue().grantedMillis() - 60_000;
                grants.removeIf(earlier -> earlier <= minuteAgo);
            }
        }
        if (grants.size() > fleet.kind.launchesPerMinute()) {
            fleet.fail("granted " + grants.size() + " slots in a minute, not " + fleet.kind.launchesPerMinute());
        }
        if (granted > 0 && !now.isLaunching()) {
            fleet.fail("granted while the kill switch is set");
        }
        String obstacle = now.obstacle(fleet.time.millis(), fleet.limits);
        if (granted > 0 && obstacle != null && obstacle.contains("throttled")) {
            fleet.fail("granted while launches are delayed");
        }
    }

    /** Before its time is over, a slot ends only if its worker has ended, and by its owner. */
    private void onRemoved(SimulatedDispatcher by, String id, Slot slot) {
        if (slot.untilMillis() <= fleet.time.millis()) {
            return;
        }
        SimulatedWorker worker = fleet.workers.get(id);
        if (worker != null && !worker.connections.isEmpty() && !worker.draining) {
            fleet.fail("the slot of a worker that serves has ended: " + id + " " + slot);
        }
        if (!slot.owner().equals(by.member.id)) {
            fleet.fail(by.member.id + " has ended a slot of another: " + id + " " + slot);
        }
    }

    /** A dispatcher has written, and this is the slot of another one, before and after. */
    private void onOther(SimulatedDispatcher by, String id, Slot slot, Slot after) {
        boolean given = !slot.owner().equals(after.owner());
        boolean replaced = !slot.replaced() && after.replaced();
        if ((given || replaced) && !isSilent(slot.owner())) {
            fleet.fail(by.member.id + " has changed a slot of a dispatcher that lives: " + id + " " + slot);
        }
        SimulatedWorker worker = fleet.everLaunched.get(id);
        if (worker != null) {
            worker.everAdopted |= given;
            worker.adoptedNanos = given ? now() : worker.adoptedNanos;
        }
        if (replaced && !given && worker != null && !worker.draining) {
            worker.connections.forEach((each, since) -> {
                if (fleet.wellNanos(each) >= AGREED_NANOS && now() - since >= AGREED_NANOS) {
                    fleet.fail(id + " is replaced, although " + each.member.id + " could adopt it: " + slot);
                }
            });
        }
    }

    /**
     * Returns whether the others may take a dispatcher for gone. If it has just renewed its lease
     * late, they may not know it yet, and a change can be on its way.
     */
    private boolean isSilent(String dispatcher) {
        for (SimulatedDispatcher each : fleet.dispatchers) {
            if (each.member.id.equals(dispatcher)) {
                return each.killed
                        || each.left
                        || each.silentNanos() >= GONE_NANOS
                        || fleet.upNanos() - each.lateUpNanos <= FleetMember.LEASE_NANOS + 6 * SECOND;
            }
        }
        return true;
    }

    // Launches.

    void onLaunch(SimulatedDispatcher by, String id) {
        mustHaveLease(by, "launches");
        if (!launched.add(id)) {
            fleet.fail("launched twice: " + id);
        }
        Slot slot = fleet.budget().slot(id);
        if (slot == null) {
            fleet.fail("launched without a slot: " + id);
        } else if (slot.untilMillis() < fleet.time.millis() + fleet.limits.launchMillis()) {
            fleet.fail("launched so late that the worker can outlive its slot: " + id + " " + slot);
        }
        if (stoppedNanos >= 0 && now() - stoppedNanos >= FleetMember.LEASE_NANOS && by.switchedOnNanos < stoppedNanos) {
            fleet.fail("launched " + (now() - stoppedNanos) / 1e9 + " s after the kill switch was set");
        }
    }

    // Workers.

    void checkAdmitted() {
        Budget now = fleet.budget();
        int all = 0;
        int lasting = 0;
        for (SimulatedWorker worker : fleet.workers.values()) {
            if (!worker.connections.isEmpty()) {
                Slot slot = now.slot(worker.id);
                all++;
                lasting += slot != null && slot.replaced() ? 0 : 1;
            }
        }
        if (lasting > fleet.kind.maxWorkers()) {
            fleet.fail("admitted " + lasting + " of " + fleet.kind.maxWorkers() + ": " + fleet.admitted());
        }
        if (all > 2 * fleet.kind.maxWorkers()) {
            fleet.fail("admitted in all " + all + " of twice " + fleet.kind.maxWorkers() + ": " + fleet.admitted());
        }
    }

    /** Called some times a second. */
    void checkLeft() {
        Budget now = fleet.budget();
        unusedSince.keySet().retainAll(now.slots().keySet());
        now.slots().forEach((id, slot) -> {
            if (!isUnused(id, slot)) {
                unusedSince.remove(id);
            } else if (now() - unusedSince.computeIfAbsent(id, first -> now()) >= UNUSED_NANOS) {
                fleet.fail("no worker has used the slot for " + UNUSED_NANOS / SECOND + " s: " + id + " " + slot);
            }
        });
        for (SimulatedWorker worker : fleet.workers.values()) {
            if (!isStray(now, worker)) {
                straySince.remove(worker.id);
            } else if (now() - straySince.computeIfAbsent(worker.id, first -> now()) >= SETTLED_NANOS) {
                fleet.fail("a worker without a slot serves: " + worker.id);
            }
        }
    }

    /**
     * Returns whether a dispatcher without faults keeps a slot, and knows that it needs none. It
     * cannot know this of a worker that another one has launched, or that its launcher has lost,
     * unless the worker has said goodbye.
     */
    private boolean isUnused(String id, Slot slot) {
        SimulatedDispatcher owner = fleet.dispatcher(slot.owner());
        SimulatedWorker worker = fleet.everLaunched.get(id);
        return owner != null
                && fleet.wellNanos(owner) > 0
                && (worker == null
                        || worker.farewell == owner
                        || worker.hasExited() && worker.launcher == owner && !worker.everAdopted && !worker.lost);
    }

    private boolean isStray(Budget now, SimulatedWorker worker) {
        return now.slot(worker.id) == null
                && !worker.draining
                && worker.connections.keySet().stream().anyMatch(each -> fleet.wellNanos(each) >= SETTLED_NANOS);
    }

    /** Compares the running time of all admitted workers in each 60 minutes with the limit. */
    void checkSpending() {
        double limit = fleet.kind.gbSecondsPerHour();
        List<SimulatedWorker> all = new ArrayList<>(fleet.everLaunched.values());
        all.removeIf(worker -> !worker.everAdmitted);
        for (long end = 0; limit > 0 && end <= now(); end += 30 * SECOND) {
            double sum = 0;
            for (SimulatedWorker worker : all) {
                long until = Math.min(worker.hasExited() ? worker.exitedNanos : now(), end);
                sum += Math.max(0, until - Math.max(worker.startedNanos, end - 3600 * SECOND)) / 1e9;
            }
            if (sum > limit) {
                fleet.fail("spent " + sum + " of " + limit + " GB-seconds in the hour until " + end / SECOND);
            }
        }
    }
}
