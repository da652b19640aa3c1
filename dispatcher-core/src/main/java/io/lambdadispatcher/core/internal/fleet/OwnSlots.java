package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.core.internal.capacity.FleetReport.SlotUse;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The slots of this dispatcher in the {@link Budget} of one function, as it knows them before the
 * budget does. What has become of a slot is written into each new budget until the budget says the
 * same.
 *
 * <pre>
 *   FREE ──launched──▶ LAUNCHED ──connected──▶ SEEN ──replaced──▶ REPLACED ──ended──▶ ENDED
 *     └──not needed──▶ RETURNED
 * </pre>
 *
 * <p>States may be skipped, and a slot never goes back. It is removed when the budget has it no
 * longer, or for another dispatcher. Confined to the executor of the {@link FleetMember}.
 */
final class OwnSlots {

    private enum State {
        /** Granted, but not launched. */
        FREE,
        /** Not launched, and to be returned. */
        RETURNED,
        LAUNCHED,
        /** The worker has connected. */
        SEEN,
        /** Another worker may be launched in place of this one. */
        REPLACED,
        ENDED
    }

    private static final class Own {
        /**
         * Whether nobody here is told when the worker ends, because another dispatcher has launched
         * it, or its launcher has lost it.
         */
        boolean endsUnseen;

        State state;

        /** When a worker has said goodbye, by the wall clock in milliseconds; 0 = it has not. */
        long goodbyeMillis;

        /** The downstream connections that the worker keeps to; 0 = not known, or not limited. */
        int connections;

        Own(State state, boolean endsUnseen) {
            this.state = state;
            this.endsUnseen = endsUnseen;
        }

        void advance(State to) {
            if (state.compareTo(to) < 0) {
                state = to;
            }
        }
    }

    /** How long before its slot ends a worker's next life must be paid for. */
    private static final long EXTENSION_MILLIS = TimeUnit.MINUTES.toMillis(2);

    /** In this time, most requests end that a worker still has at others after its goodbye. */
    private static final long LEAVING_MILLIS = TimeUnit.SECONDS.toMillis(30);

    private final String owner;
    private final Map<String, Own> slots = new LinkedHashMap<>();
    private boolean stopped;

    /** @param owner id of this dispatcher */
    OwnSlots(String owner) {
        this.owner = owner;
    }

    // What happens to the workers.

    /**
     * Returns the id with which the next worker is launched. {@link #free} must have been more than
     * 0.
     */
    String take() {
        for (Map.Entry<String, Own> each : slots.entrySet()) {
            if (each.getValue().state == State.FREE) {
                each.getValue().state = State.LAUNCHED;
                return each.getKey();
            }
        }
        throw new IllegalStateException("no free slot");
    }

    /** Records what the dispatcher knows about a worker that it launched. */
    void onUse(SlotUse use) {
        Own slot = slots.get(use.workerId());
        if (slot == null) {
            return;
        }
        slot.connections = use.connections();
        if (use.everReady()) {
            slot.advance(State.SEEN);
        }
        if (!use.capacity()) {
            slot.advance(State.REPLACED);
        }
    }

    /** Records that the launcher no longer knows whether a worker runs. */
    void onLost(String workerId) {
        Own slot = slots.get(workerId);
        if (slot != null) {
            slot.endsUnseen = true;
        }
    }

    /** Records that a worker has ended. */
    void onExit(String workerId) {
        Own slot = slots.get(workerId);
        if (slot != null) {
            slot.advance(State.ENDED);
        }
    }

    /** Records that a worker has said goodbye, so it ends. It may still serve other dispatchers. */
    void onGoodbye(String workerId, long nowMillis) {
        Own slot = slots.get(workerId);
        if (slot != null) {
            // Who is about to leave will not be there to end it later.
            slot.advance(stopped ? State.ENDED : State.REPLACED);
            slot.goodbyeMillis = nowMillis;
        }
    }

    /**
     * Records which workers the dispatcher knows. A worker that it launched and that is no longer
     * among them has ended. Whether an adopted or lost worker has ended is not known, unless it
     * said so. If it has never connected, no dispatcher accepts it any more, so it counts as ended.
     *
     * @param mayStart whether it counts even so, because a worker that was given up may still
     *     start, and open downstream connections before it is rejected
     */
    void onKnown(Set<String> workerIds, boolean mayStart) {
        slots.forEach((id, slot) -> {
            if (slot.state.compareTo(State.LAUNCHED) >= 0 && !workerIds.contains(id)) {
                boolean mayRun = slot.endsUnseen && (slot.state != State.LAUNCHED || mayStart);
                slot.advance(mayRun ? State.REPLACED : State.ENDED);
            }
        });
    }

    /** Returns all slots that were not launched, and those that are granted from now on. */
    void stop() {
        stopped = true;
        slots.values().stream().filter(each -> each.state == State.FREE).forEach(each -> each.state = State.RETURNED);
    }

    boolean isStopped() {
        return stopped;
    }

    /**
     * Returns the free slots that are not to be used. A worker that is launched too late after the
     * grant could outlive its slot. A slot that was granted with other limits has another share.
     */
    void returnOld(Budget budget, long nowMillis, BudgetLimits limits) {
        long latest = nowMillis + limits.launchMillis();
        slots.forEach((id, mine) -> {
            Slot slot = budget.slot(id);
            if (mine.state == State.FREE
                    && slot != null
                    && (slot.untilMillis() < latest || slot.downstreamShare() != limits.downstreamShare())) {
                mine.state = State.RETURNED;
            }
        });
    }

    // What is asked.

    /** Returns how many slots can be used for launches. */
    int free() {
        return count(State.FREE);
    }

    /** Returns how many slots are granted and not launched, those to be returned included. */
    int unused() {
        return count(State.FREE) + count(State.RETURNED);
    }

    int size() {
        return slots.size();
    }

    private int count(State state) {
        int count = 0;
        for (Own each : slots.values()) {
            count += each.state == state ? 1 : 0;
        }
        return count;
    }

    /** Returns how many workers of the budget are replaced or have ended, which it does not say. */
    int leaving(Budget budget) {
        int count = 0;
        for (Map.Entry<String, Own> each : slots.entrySet()) {
            Slot slot = budget.slot(each.getKey());
            boolean leaves = each.getValue().state.compareTo(State.REPLACED) >= 0;
            count += leaves && slot != null && !slot.replaced() ? 1 : 0;
        }
        return count;
    }

    // The budget.

    /**
     * Removes the slots that the budget has no longer, or for another dispatcher.
     *
     * @return the ids of the latter's workers
     */
    List<String> removeGone(Budget budget) {
        List<String> disowned = new ArrayList<>();
        Iterator<String> ids = slots.keySet().iterator();
        while (ids.hasNext()) {
            String id = ids.next();
            Slot slot = budget.slot(id);
            if (slot == null || !slot.owner().equals(owner)) {
                ids.remove();
            }
            if (slot != null && !slot.owner().equals(owner)) {
                disowned.add(id);
            }
        }
        return disowned;
    }

    /**
     * Adds the slots that the budget has for this dispatcher.
     *
     * @return the ids of the added workers that run, because they are adopted
     */
    List<String> addNew(Budget budget) {
        List<String> adopted = new ArrayList<>();
        budget.slots().forEach((id, slot) -> {
            if (slot.owner().equals(owner) && !slots.containsKey(id)) {
                State unseen = stopped ? State.RETURNED : State.FREE;
                slots.put(id, new Own(slot.seen() ? State.SEEN : unseen, slot.seen()));
                if (slot.seen()) {
                    adopted.add(id);
                }
            }
        });
        return adopted;
    }

    /** Changes a copy of the budget. Returns whether there is a difference. */
    boolean change(Budget next, long nowMillis, BudgetLimits limits) {
        boolean changed = false;
        for (Map.Entry<String, Own> each : slots.entrySet()) {
            String id = each.getKey();
            Own mine = each.getValue();
            Slot slot = next.slot(id);
            if (slot == null) {
                continue;
            }
            if (mine.connections > 0 && mine.connections < slot.downstreamShare()) {
                next.setDownstreamShare(id, mine.connections);
                changed = true;
            }
            if (mine.goodbyeMillis != 0 && nowMillis - mine.goodbyeMillis >= LEAVING_MILLIS) {
                mine.advance(State.ENDED);
            }
            switch (mine.state) {
                case FREE, LAUNCHED -> {}
                case RETURNED -> {
                    next.takeBack(id);
                    changed = true;
                }
                case SEEN -> {
                    changed |= !slot.seen();
                    next.markSeen(id);
                    changed |= extend(next, id, slot, nowMillis, limits);
                }
                case REPLACED -> {
                    changed |= !slot.replaced();
                    next.markReplaced(id);
                }
                case ENDED -> {
                    next.end(id, nowMillis, limits);
                    changed = true;
                }
            }
        }
        return changed;
    }

    /**
     * Pays for another life of a worker that outlives its slot, as local processes do. If the
     * spending limit does not permit that, the worker drains when its slot ends.
     */
    private static boolean extend(Budget next, String workerId, Slot slot, long nowMillis, BudgetLimits limits) {
        return slot.untilMillis() - nowMillis <= EXTENSION_MILLIS && !slot.replaced() && next.extend(workerId, limits);
    }
}
