package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.core.options.DownstreamBudget;
import io.lambdadispatcher.wire.event.Json;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What the dispatchers of a fleet share about one function: the {@link Slot}s, the spending of the
 * last hour, the launches of the last minute, the kill switch, a pause after throttled launches,
 * and the change to another version. A dispatcher reads it from the ledger, changes a copy, and
 * writes the copy on condition that nobody has written since. So each change sees all changes
 * before it, and no limit is exceeded.
 *
 * <p><i>Threading:</i> not thread-safe. Times are in milliseconds since 1970-01-01, by the clock of
 * the dispatcher that makes the change.
 */
final class Budget {
    /**
     * The spending of an hour is counted in windows, because a fixed hour lets twice the limit pass
     * around its end.
     */
    static final long WINDOW_MILLIS = 5 * 60_000;
    /** An hour that begins within a window touches one more than it has. */
    static final int WINDOWS_PER_HOUR = 13;

    private static final long MINUTE_SECONDS = 60;
    private static final int FORMAT = 1;
    private static final Set<String> MEMBERS =
            Set.of("format", "launching", "heldUntil", "launches", "megabyteMillis", "workers", "rollout");

    private boolean launching = true;
    private long heldUntilMillis;
    /** Launches by second since 1970-01-01. */
    private final TreeMap<Long, Integer> launches = new TreeMap<>();
    /**
     * Megabytes multiplied by milliseconds of workers whose slots have ended, by window since
     * 1970-01-01.
     */
    private final TreeMap<Long, Long> spent = new TreeMap<>();

    private final Map<String, Slot> slots = new LinkedHashMap<>();

    /** The phase of the change to another version of the function; empty = there is none. */
    private String rollout = "";
    /** What a newer dispatcher of the fleet has added, so that this one does not erase it. */
    private final Map<String, Object> others = new LinkedHashMap<>();

    Budget copy() {
        Budget copy = new Budget();
        copy.launching = launching;
        copy.heldUntilMillis = heldUntilMillis;
        copy.launches.putAll(launches);
        copy.spent.putAll(spent);
        copy.slots.putAll(slots);
        copy.rollout = rollout;
        copy.others.putAll(others);
        return copy;
    }

    // What it says.

    /** Returns whether launches are permitted: the kill switch is off. */
    boolean isLaunching() {
        return launching;
    }

    String rollout() {
        return rollout;
    }

    Map<String, Slot> slots() {
        return Collections.unmodifiableMap(slots);
    }

    @Nullable
    Slot slot(String workerId) {
        return slots.get(workerId);
    }

    /** Returns the number of slots whose workers are not being replaced. */
    int workers() {
        int count = 0;
        for (Slot slot : slots.values()) {
            count += slot.replaced() ? 0 : 1;
        }
        return count;
    }

    int launchesInLastMinute(long nowMillis) {
        int count = 0;
        // A launch at the end of a second counts until the end of that second, a minute later.
        for (int each :
                launches.tailMap(nowMillis / 1000 - MINUTE_SECONDS, true).values()) {
            count += each;
        }
        return count;
    }

    /** Returns the charge of the last 60 minutes up to now, rounded up to whole windows. */
    long megabyteMillisOfLastHour(long nowMillis, int workerMegabytes) {
        long window = nowMillis / WINDOW_MILLIS;
        long sum = 0;
        for (long each = window - WINDOWS_PER_HOUR + 1; each <= window; each++) {
            sum += spent.getOrDefault(each, 0L);
            for (Slot slot : slots.values()) {
                long end = Math.min(slot.untilMillis(), nowMillis);
                sum += overlapMillis(each, slot.grantedMillis(), end) * workerMegabytes;
            }
        }
        return sum;
    }

    /**
     * Returns why no worker can be launched now, in one line, or {@code null} if one can.
     */
    @Nullable
    String obstacle(long nowMillis, BudgetLimits limits) {
        if (!launching) {
            return "launching is paused by the kill switch of the fleet";
        }
        if (nowMillis < heldUntilMillis) {
            return "launching is delayed because launches of the fleet were throttled";
        }
        if (launchesInLastMinute(nowMillis) >= limits.launchesPerMinute()) {
            return "launching is limited by function.launches-per-minute: " + limits.launchesPerMinute()
                    + " for the fleet";
        }
        if (!affords(nowMillis, limits)) {
            return "launching is limited by the spending limit: "
                    + Math.round(BudgetLimits.gbSeconds(limits.megabyteMillisPerHour()))
                    + " GB-seconds per hour for the fleet";
        }
        if (limits.downstream() != null && downstreamRoom(limits) == 0) {
            return "launching is limited by function.downstream-connections: "
                    + limits.downstream().connections() + " for the fleet, and " + slots.size()
                    + " workers run, start or end";
        }
        return workers() >= limits.maxWorkers() || slots.size() >= limits.maxAlive()
                ? "launching is limited by function.max-workers: " + limits.maxWorkers() + " for the fleet"
                : null;
    }

    // Changes.

    void setLaunching(boolean value) {
        launching = value;
    }

    void setRollout(String value) {
        rollout = value;
    }

    /**
     * Delays all launches of the fleet until the given time, because one was throttled.
     *
     * @return false if they are already delayed for as long
     */
    boolean hold(long untilMillis) {
        boolean longer = untilMillis > heldUntilMillis;
        heldUntilMillis = Math.max(heldUntilMillis, untilMillis);
        return longer;
    }

    /**
     * Grants a slot for each of the first ids, as many as the limits permit.
     *
     * @return the number of ids that were granted
     */
    int grant(List<String> ids, String owner, long nowMillis, BudgetLimits limits) {
        if (!launching || nowMillis < heldUntilMillis) {
            return 0;
        }
        int most = Math.min(ids.size(), limits.launchesPerMinute() - launchesInLastMinute(nowMillis));
        most = Math.min(most, limits.maxWorkers() - workers());
        most = Math.min(most, limits.maxAlive() - slots.size());
        most = Math.min(most, downstreamRoom(limits));
        int count = affordable(most, nowMillis, limits);
        for (int i = 0; i < count; i++) {
            long until = nowMillis + limits.slotMillis();
            slots.put(ids.get(i), new Slot(owner, nowMillis, until, false, false, limits.downstreamShare()));
        }
        if (count > 0) {
            launches.merge(nowMillis / 1000, count, Integer::sum);
        }
        return Math.max(0, count);
    }

    /**
     * Returns how many more workers there are connections for. A slot keeps its share until it has
     * ended, also if the limits have changed. If a slot has none, because an earlier version has
     * granted it or there was no limit, it counts as the share of a new worker.
     */
    private int downstreamRoom(BudgetLimits limits) {
        DownstreamBudget downstream = limits.downstream();
        if (downstream == null) {
            return Integer.MAX_VALUE;
        }
        long left = downstream.connections();
        for (Slot slot : slots.values()) {
            left -= slot.downstreamShare() == 0 ? downstream.share() : slot.downstreamShare();
        }
        return (int) Math.max(0, left / downstream.share());
    }

    /** Returns whether the spending limit permits one more slot. */
    boolean affords(long nowMillis, BudgetLimits limits) {
        return affordable(1, nowMillis, limits) > 0;
    }

    /** Returns how many more slots the spending limit permits, 0 to {@code most}. */
    private int affordable(int most, long nowMillis, BudgetLimits limits) {
        return most <= 0 ? 0 : (int) Math.min(most, paidFor(nowMillis, nowMillis + limits.slotMillis(), limits, most));
    }

    /**
     * Returns how many workers can be paid for from one time to another: the charges of every 60
     * minutes that touch the time, with all slots until their end, are within the limit.
     */
    private long paidFor(long fromMillis, long untilMillis, BudgetLimits limits, long most) {
        if (limits.megabyteMillisPerHour() == 0) {
            return most;
        }
        long first = fromMillis / WINDOW_MILLIS;
        long lastMillis = untilMillis;
        for (Slot slot : slots.values()) {
            lastMillis = Math.max(lastMillis, slot.untilMillis());
        }
        long begin = first - WINDOWS_PER_HOUR + 1;
        int count = (int) ((lastMillis - 1) / WINDOW_MILLIS - begin + 1);
        long left = most;
        long charged = 0;
        long added = 0;
        long[] charges = charges(begin, count, limits.workerMegabytes());
        for (int end = 0; end < count; end++) {
            charged += charges[end];
            added += overlapMillis(begin + end, fromMillis, untilMillis) * limits.workerMegabytes();
            if (end >= WINDOWS_PER_HOUR) {
                long before = begin + end - WINDOWS_PER_HOUR;
                charged -= charges[end - WINDOWS_PER_HOUR];
                added -= overlapMillis(before, fromMillis, untilMillis) * limits.workerMegabytes();
            }
            if (added > 0) {
                left = Math.min(left, Math.max(0, limits.megabyteMillisPerHour() - charged) / added);
            }
        }
        return left;
    }

    /** Returns the charges of consecutive windows. */
    private long[] charges(long firstWindow, int count, int workerMegabytes) {
        long[] charges = new long[count];
        spent.subMap(firstWindow, firstWindow + count)
                .forEach((window, sum) -> charges[(int) (window - firstWindow)] += sum);
        for (Slot slot : slots.values()) {
            long window = Math.max(firstWindow, slot.grantedMillis() / WINDOW_MILLIS);
            for (; window * WINDOW_MILLIS < slot.untilMillis(); window++) {
                charges[(int) (window - firstWindow)] +=
                        overlapMillis(window, slot.grantedMillis(), slot.untilMillis()) * workerMegabytes;
            }
        }
        return charges;
    }

    private static long overlapMillis(long window, long fromMillis, long untilMillis) {
        long from = Math.max(fromMillis, window * WINDOW_MILLIS);
        long until = Math.min(untilMillis, (window + 1) * WINDOW_MILLIS);
        return Math.max(0, until - from);
    }

    void adopt(String workerId, String owner) {
        slots.computeIfPresent(workerId, (id, slot) -> slot.ownedBy(owner));
    }

    void markSeen(String workerId) {
        slots.computeIfPresent(workerId, (id, slot) -> slot.asSeen());
    }

    /** Records that a worker has closed connections, and will not open more than so many. */
    void setDownstreamShare(String workerId, int connections) {
        slots.computeIfPresent(workerId, (id, slot) -> slot.withDownstreamShare(connections));
    }

    void markReplaced(String workerId) {
        slots.computeIfPresent(workerId, (id, slot) -> slot.asReplaced());
    }

    /** Takes back a slot with which nothing was launched. Nothing is charged. */
    void takeBack(String workerId) {
        slots.remove(workerId);
    }

    /** Ends a slot. The time until now is charged, the rest is paid back. */
    void end(String workerId, long nowMillis, BudgetLimits limits) {
        Slot slot = slots.remove(workerId);
        if (slot != null) {
            long until = Math.min(nowMillis, slot.untilMillis());
            for (long each = slot.grantedMillis() / WINDOW_MILLIS; each * WINDOW_MILLIS < until; each++) {
                spent.merge(
                        each, overlapMillis(each, slot.grantedMillis(), until) * limits.workerMegabytes(), Long::sum);
            }
        }
    }

    /**
     * Pays for another life of a worker.
     *
     * @return false if the spending limit does not permit it
     */
    boolean extend(String workerId, BudgetLimits limits) {
        Slot slot = slots.get(workerId);
        if (slot == null) {
            return false;
        }
        long until = slot.untilMillis() + limits.lifeMillis();
        if (paidFor(slot.untilMillis(), until, limits, 1) < 1) {
            return false;
        }
        slots.put(workerId, slot.until(until));
        return true;
    }

    /** Ends the slots whose time is over, and forgets what no limit needs any more. */
    void expire(long nowMillis, BudgetLimits limits) {
        List<String> over = new ArrayList<>();
        slots.forEach((id, slot) -> {
            if (slot.untilMillis() <= nowMillis) {
                over.add(id);
            }
        });
        over.forEach(id -> end(id, nowMillis, limits));
        launches.headMap(nowMillis / 1000 - MINUTE_SECONDS, false).clear();
        spent.headMap(nowMillis / WINDOW_MILLIS - WINDOWS_PER_HOUR, false).clear();
    }

    // The entry of the ledger.

    String text() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put("format", FORMAT);
        all.put("launching", launching);
        all.put("heldUntil", heldUntilMillis);
        all.put("launches", launches);
        all.put("megabyteMillis", spent);
        Map<String, Object> workers = new LinkedHashMap<>();
        slots.forEach((id, slot) -> workers.put(id, parts(slot)));
        all.put("workers", workers);
        if (!rollout.isEmpty()) {
            all.put("rollout", rollout);
        }
        all.putAll(others);
        return Json.write(all);
    }

    private static List<Object> parts(Slot slot) {
        List<Object> parts = new ArrayList<>(List.of(
                slot.owner(),
                slot.grantedMillis(),
                slot.untilMillis() - slot.grantedMillis(),
                slot.seen() ? 1 : 0,
                slot.replaced() ? 1 : 0));
        if (slot.downstreamShare() > 0) {
            parts.add(slot.downstreamShare());
        }
        return parts;
    }

    /** @throws IllegalArgumentException if the text is not that of a budget */
    static Budget parse(String text) {
        Budget budget = new Budget();
        try {
            Map<?, ?> all = JsonParts.object(text);
            if (JsonParts.number(all.get("format")) != FORMAT) {
                throw new IllegalArgumentException(
                        "format " + all.get("format") + ", expected " + FORMAT + ". Upgrade this dispatcher");
            }
            budget.launching = (Boolean) JsonParts.expect(all.get("launching"));
            budget.heldUntilMillis = JsonParts.number(all.get("heldUntil"));
            budget.rollout = all.get("rollout") instanceof String phase ? phase : "";
            all.forEach((name, value) -> {
                if (name instanceof String other && !MEMBERS.contains(other)) {
                    budget.others.put(other, value);
                }
            });
            ((Map<?, ?>) JsonParts.expect(all.get("launches")))
                    .forEach((second, count) ->
                            budget.launches.put(Long.valueOf(String.valueOf(second)), (int) JsonParts.number(count)));
            ((Map<?, ?>) JsonParts.expect(all.get("megabyteMillis")))
                    .forEach((window, sum) ->
                            budget.spent.put(Long.valueOf(String.valueOf(window)), JsonParts.number(sum)));
            ((Map<?, ?>) JsonParts.expect(all.get("workers")))
                    .forEach(
                            (id, slot) -> budget.slots.put(String.valueOf(id), slot((List<?>) JsonParts.expect(slot))));
        } catch (ClassCastException | IndexOutOfBoundsException e) {
            throw new IllegalArgumentException("a member is missing or has another type: " + e.getMessage(), e);
        }
        return budget;
    }

    private static Slot slot(List<?> parts) {
        long granted = JsonParts.number(parts.get(1));
        return new Slot(
                (String) JsonParts.expect(parts.get(0)),
                granted,
                granted + JsonParts.number(parts.get(2)),
                JsonParts.number(parts.get(3)) == 1,
                JsonParts.number(parts.get(4)) == 1,
                parts.size() > 5 ? (int) JsonParts.number(parts.get(5)) : 0);
    }
}
