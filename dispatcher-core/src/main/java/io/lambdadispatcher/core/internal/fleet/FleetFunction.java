package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.core.internal.capacity.FleetReport;
import io.lambdadispatcher.core.internal.capacity.FleetView;
import io.lambdadispatcher.core.internal.capacity.Rollout;
import io.lambdadispatcher.core.internal.loop.Loops;
import io.lambdadispatcher.core.observe.FleetSnapshot.FunctionSlots;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.wire.worker.LaunchToken;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One function of the fleet, as this dispatcher sees it: the {@link Budget} as it was last read or
 * written, and what this dispatcher wants to change in it. Changes are repeated until they are seen
 * in the budget, so a write that fails, or whose outcome is not known, needs no special treatment.
 *
 * <p><i>Threading:</i> confined to the executor of its {@link FleetMember}.
 */
public final class FleetFunction {

    /** What the dispatcher must do because of the other dispatchers. */
    public interface Listener {
        /** More workers may be launched, or the fleet has changed. */
        void onChange();

        /**
         * This dispatcher now drains and replaces a worker, because the one that launched it is
         * gone.
         */
        void onAdopted(String workerId);

        /**
         * Another dispatcher now drains and replaces a worker, because this one seemed to be gone.
         */
        void onDisowned(String workerId);

        /** A worker is being replaced, so it serves only until its replacement does. */
        void onReplaced(String workerId);

        /** A worker has no slot, because it was given up. It must not serve. */
        void onEnded(String workerId);

        /** The kill switch of the fleet has changed; {@code false} = no launches. */
        void onLaunching(boolean launching);
    }

    /**
     * How long the survivors of a dispatcher have to adopt its workers, before these are replaced.
     */
    private static final long ADOPTION_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** The least time between reads for workers that dial in. */
    private static final long DIAL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private static final Logger log = LoggerFactory.getLogger(FleetFunction.class);

    private final String function;
    private volatile BudgetLimits limits;
    private final FleetMember member;
    private final Ledger ledger;
    private final Listener listener;
    private final OwnSlots own;
    private final KillSwitch killSwitch = new KillSwitch();
    private Set<String> known = Set.of();
    private volatile Map<String, SlotState> slotStates = Map.of();
    private @Nullable Budget budget;
    /** Why the budget cannot be read, so that it must not be changed; {@code null} = it can be. */
    private @Nullable String unreadable;

    private long version;
    /** When this dispatcher last wrote. A read that began before may not see it. */
    private long writtenNanos;

    private @Nullable String conflict;
    private boolean writing;
    /** Completes when the latest write has, never exceptionally. */
    private CompletableFuture<Void> written = CompletableFuture.completedFuture(null);
    /** The phase of the change to another version that this dispatcher wants. */
    private @Nullable String rolloutTo;
    /** The phase that must be in the budget, so that the wanted one may follow it. */
    private String rolloutFrom = "";

    private long heldUntilMillis;
    /** Workers that the fleet needs and that have not been launched. */
    private int missing;
    /** How many workers the fleet should have that are not being replaced. */
    private int target;

    private double streams;

    FleetFunction(String function, BudgetLimits limits, FleetMember member, Ledger ledger, Listener listener) {
        this.function = function;
        this.limits = limits;
        this.member = member;
        this.ledger = ledger;
        this.listener = listener;
        this.own = new OwnSlots(member.id);
    }

    String key() {
        return "function/" + function;
    }

    BudgetLimits limits() {
        return limits;
    }

    /** Replaces the limits. The other dispatchers see them with this dispatcher's next entry. */
    public void setLimits(BudgetLimits value) {
        limits = value;
    }

    double streams() {
        return streams;
    }

    // What the dispatcher asks and tells.

    /**
     * Returns what an evaluation must know of the fleet.
     *
     * @param workerIds the workers that this dispatcher launched or that are connected to it
     */
    public FleetView view(Set<String> workerIds) {
        setKnown(workerIds);
        return new FleetView(
                member.peerStreams(function),
                peerWorkers(),
                member.isLeaseValid() && member.hasTurn(),
                true,
                budget == null || budget.affords(member.time.millis(), limits),
                launchable(),
                budget == null ? null : seat(budget));
    }

    /** Returns how many workers may be launched now. */
    private int launchable() {
        if (budget != null) {
            own.returnOld(budget, member.time.millis(), limits);
        }
        return member.isLeaseValid() && unreadable == null ? own.free() : 0;
    }

    /**
     * Tells the other dispatchers what this one needs and has, and asks for the workers that it
     * could not launch. Called after each evaluation.
     */
    public void onEvaluated(FleetReport report) {
        setKnown(report.workerIds());
        streams = report.streams();
        missing = own.isStopped() ? 0 : report.ungranted();
        report.uses().forEach(own::onUse);
        if (budget != null) {
            rolloutTo = report.rollout();
            rolloutFrom = budget.rollout();
            target = budget.workers() - own.leaving(budget) + missing - own.free();
        }
        flush();
    }

    /** Returns the part of this dispatcher in a change to another version. */
    private Rollout.Seat seat(Budget seen) {
        String launcher = Rollout.launcher(seen.rollout());
        boolean lives = launcher.equals(member.id) || member.isAlive(launcher);
        return new Rollout.Seat(member.id, isFirst(), lives ? launcher : busiestOwner(seen), seen.rollout());
    }

    /**
     * Returns the live dispatcher with the most workers. It launches the watched workers, because
     * it can replace some of its workers by them if the maximum permits no more.
     */
    private String busiestOwner(Budget seen) {
        Map<String, Integer> counts = new TreeMap<>(Map.of(member.id, 0));
        for (Slot slot : seen.slots().values()) {
            if (!slot.replaced() && (slot.owner().equals(member.id) || member.isAlive(slot.owner()))) {
                counts.merge(slot.owner(), 1, Integer::sum);
            }
        }
        return Collections.max(counts.entrySet(), Map.Entry.comparingByValue()).getKey();
    }

    private void setKnown(Set<String> workerIds) {
        known = workerIds;
        own.onKnown(workerIds, limits.downstream() != null);
    }

    /**
     * Records that the launcher no longer knows whether a worker runs. Other dispatchers may be
     * connected to it, so its slot remains until it has certainly ended.
     */
    public void onLost(String workerId) {
        own.onLost(workerId);
    }

    /** Records that the launcher has reported the end of a worker. */
    public void onExit(String workerId) {
        own.onExit(workerId);
    }

    /** Records a goodbye. The worker may still serve others, but its end is not reported here. */
    public void onGoodbye(String workerId) {
        own.onGoodbye(workerId, member.time.millis());
    }

    /**
     * Returns the id with which the next worker is launched. Called at most as often as the latest
     * {@link #view} permits.
     */
    public String take() {
        return own.take();
    }

    /** Returns what was granted and not launched, and asks for nothing more. */
    void stopLaunching() {
        own.stop();
        missing = 0;
        flush();
    }

    /** Sets the kill switch of the fleet; {@code false} = no launches. */
    public void setLaunching(boolean value) {
        killSwitch.set(value, member.time.nanos());
        flush();
    }

    /** Delays the launches of all dispatchers, because one was throttled. */
    public void hold(long nanos) {
        heldUntilMillis = member.time.millis() + TimeUnit.NANOSECONDS.toMillis(nanos);
    }

    /**
     * Returns the workers of other dispatchers that this one does not know, but that serve or
     * start.
     */
    private int peerWorkers() {
        int count = 0;
        if (budget != null) {
            for (Map.Entry<String, Slot> each : budget.slots().entrySet()) {
                count += !each.getValue().replaced()
                                && !each.getValue().owner().equals(member.id)
                                && !known.contains(each.getKey())
                        ? 1
                        : 0;
            }
        }
        return count;
    }

    /**
     * Returns whether this dispatcher does what one dispatcher of the fleet does for all. For a
     * moment, none or two may do it.
     */
    public boolean isFirst() {
        return member.isLeaseValid() && member.rank() == 0;
    }

    /** Returns why fewer workers are launched than wanted, in one line, or {@code null}. */
    @Nullable
    public String obstacle() {
        if (unreadable != null && member.isLeaseValid()) {
            return "launching is blocked because the entry '" + key() + "' of the fleet's ledger cannot be read: "
                    + unreadable;
        }
        if (budget == null || !member.isLeaseValid()) {
            return member.isCutOff() ? "launching is blocked because the ledger of the fleet cannot be reached" : null;
        }
        return missing > own.free() ? budget.obstacle(member.time.millis(), limits) : null;
    }

    FunctionSlots snapshot() {
        Budget seen = budget == null ? new Budget() : budget;
        long now = member.time.millis();
        int workers = seen.workers();
        int unused = own.unused();
        return new FunctionSlots(
                function,
                killSwitch.isLaunching(),
                workers,
                seen.slots().size() - workers,
                own.size() - unused,
                unused,
                seen.launchesInLastMinute(now),
                BudgetLimits.gbSeconds(seen.megabyteMillisOfLastHour(now, limits.workerMegabytes())),
                member.conflict(function, limits));
    }

    // The ledger.

    /**
     * @param entry the function's entry; {@code null} if there is none yet
     * @param beganNanos when the read began
     */
    void onRead(Ledger.@Nullable Entry entry, long beganNanos) {
        long readVersion = entry == null ? 0 : entry.version();
        boolean older = readVersion < version && beganNanos - writtenNanos < 0;
        // An entry without a value may have any version.
        boolean broken = unreadable != null || entry != null && entry.value().isEmpty();
        if (budget == null || broken || readVersion != version && !older) {
            Budget read = entry == null ? new Budget() : parsed(entry);
            if (read != null) {
                budget = read;
                version = readVersion;
                unreadable = null;
                recognise(read);
            }
        }
        reportConflict();
        if (budget != null && unreadable == null) {
            if (!writing) {
                killSwitch.onRead(budget, beganNanos);
            }
            judge(budget);
        }
        flush();
        listener.onChange();
    }

    /**
     * Returns the budget, or {@code null} if it cannot be read. The workers that it granted before
     * keep serving then, because nothing says that they must not. Nobody can count them, so nothing
     * is launched.
     */
    private @Nullable Budget parsed(Ledger.Entry entry) {
        try {
            Budget read = Budget.parse(entry.value());
            member.onReadable(entry.key());
            return read;
        } catch (IllegalArgumentException e) {
            unreadable = String.valueOf(e.getMessage());
            member.onUnreadable(entry.key(), unreadable);
            return null;
        }
    }

    /** Ends or replaces the workers that the fleet no longer permits. */
    private void judge(Budget read) {
        for (String id : known) {
            Slot slot = read.slot(id);
            if (slot == null && id.startsWith(LaunchToken.FLEET_WORKER_ID_PREFIX)) {
                listener.onEnded(id);
            } else if (slot != null && slot.replaced()) {
                listener.onReplaced(id);
            }
        }
    }

    private void reportConflict() {
        String now = member.conflict(function, limits);
        if (!Objects.equals(conflict, now)) {
            conflict = now;
            if (now != null) {
                log.warn("function {}: {}. The limits of all dispatchers of a fleet should be equal", function, now);
            }
        }
    }

    /** Compares what this dispatcher believes of its slots with the budget. */
    private void recognise(Budget read) {
        List<String> disowned = own.removeGone(read);
        List<String> adopted = own.addNew(read);
        boolean switched = killSwitch.onBudget(read);
        publish();
        disowned.forEach(listener::onDisowned);
        adopted.forEach(listener::onAdopted);
        if (switched) {
            listener.onLaunching(killSwitch.isLaunching());
        }
    }

    /** @param wasValid whether launches were permitted before */
    void onRenewed(boolean wasValid) {
        flush();
        if (!wasValid) {
            listener.onChange();
        }
    }

    /**
     * Completes when what this dispatcher wants to change is written, or cannot be written now.
     */
    CompletableFuture<Void> settle() {
        flush();
        // A write in progress may have been too early for the latest changes.
        return written.thenCompose(first -> written);
    }

    /**
     * Writes what this dispatcher wants to change, if there is anything and nothing is being
     * written.
     */
    void flush() {
        if (writing || budget == null || unreadable != null || !member.isLeaseValid()) {
            return;
        }
        Budget next = budget.copy();
        if (!change(next)) {
            return;
        }
        writing = true;
        long expected = version;
        written = FleetMember.asked(() -> ledger.write(key(), expected, next.text()))
                .handleAsync(
                        (accepted, failure) -> {
                            onWritten(next, expected, accepted, failure);
                            return (Void) null;
                        },
                        member.executor)
                .toCompletableFuture();
    }

    private void onWritten(Budget next, long expected, @Nullable Boolean accepted, @Nullable Throwable failure) {
        writing = false;
        if (failure != null) {
            log.debug("the write of {} failed, so its outcome is not known until the next read", key(), failure);
        } else if (Boolean.TRUE.equals(accepted)) {
            if (version == expected) {
                version = expected + 1;
                writtenNanos = member.time.nanos();
                budget = next;
                recognise(next);
                flush();
            }
            listener.onChange();
        } else {
            member.readSoon(0);
        }
    }

    /** Changes a copy of the budget. Returns whether there is a difference. */
    private boolean change(Budget next) {
        long nowMillis = member.time.millis();
        own.returnOld(next, nowMillis, limits);
        int before = next.slots().size();
        next.expire(nowMillis, limits);
        boolean changed = next.slots().size() < before;
        changed |= own.change(next, nowMillis, limits);
        changed |= changeOrphans(next);
        changed |= killSwitch.change(next);
        if (rolloutTo != null && next.rollout().equals(rolloutFrom)) {
            next.setRollout(rolloutTo);
            rolloutTo = null;
            changed = true;
        }
        if (heldUntilMillis > nowMillis && next.hold(heldUntilMillis)) {
            changed = true;
        }
        int count = Math.min(missing - own.free(), target - next.workers());
        return grant(next, count, nowMillis) || changed;
    }

    private boolean grant(Budget next, int count, long nowMillis) {
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            ids.add(member.newWorkerId());
        }
        return next.grant(ids, member.id, nowMillis, limits) > 0;
    }

    /**
     * Changes the slots of dispatchers that are gone. Whoever knows the worker adopts it. A worker
     * that nobody adopts is replaced, because it does not serve or cannot be seen.
     */
    private boolean changeOrphans(Budget next) {
        boolean changed = false;
        for (Map.Entry<String, Slot> each : List.copyOf(next.slots().entrySet())) {
            String owner = each.getValue().owner();
            if (!owner.equals(member.id) && !member.isAlive(owner)) {
                if (known.contains(each.getKey())) {
                    next.adopt(each.getKey(), member.id);
                    changed = true;
                } else if (!each.getValue().replaced() && member.goneNanos(owner) >= ADOPTION_NANOS) {
                    next.markReplaced(each.getKey());
                    changed = true;
                }
            }
        }
        return changed;
    }

    // What other threads ask.

    /**
     * Returns whether a worker may connect that has no connection, and that this dispatcher has not
     * launched. It must have connected to the dispatcher that has. If the worker is not known, this
     * dispatcher reads the ledger soon, so that one of the worker's next attempts succeeds. Any
     * thread.
     *
     * @param workerId id of a worker that a dispatcher of the fleet has launched
     */
    public SlotState slotState(String workerId) {
        SlotState slotState = slotStates.get(workerId);
        if (slotState == null) {
            Loops.execute(member.executor, () -> member.readSoon(DIAL_NANOS));
            return SlotState.NOT_KNOWN;
        }
        return slotState;
    }

    private void publish() {
        Map<String, SlotState> all = new HashMap<>();
        if (budget != null) {
            budget.slots().forEach((id, slot) -> {
                if (slot.seen()) {
                    all.put(id, SlotState.GRANTED);
                } else if (slot.replaced()) {
                    all.put(id, SlotState.ENDED);
                }
            });
        }
        slotStates = all;
    }
}
