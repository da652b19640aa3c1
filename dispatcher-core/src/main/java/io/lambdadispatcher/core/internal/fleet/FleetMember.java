package io.lambdadispatcher.core.internal.fleet;

import io.lambdadispatcher.core.internal.capacity.OfferedLoad;
import io.lambdadispatcher.core.internal.fleet.MemberEntry.MemberDemand;
import io.lambdadispatcher.core.internal.loop.Incidents;
import io.lambdadispatcher.core.observe.FleetSnapshot;
import io.lambdadispatcher.core.observe.FleetSnapshot.Member;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.worker.LaunchToken;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This dispatcher as a member of a fleet. About once a second it renews its lease, which is its
 * entry in the ledger, and reads what the others have written.
 *
 * <p><i>Threading:</i> confined to one executor. {@link #tick} is called on it.
 */
public final class FleetMember {
    /**
     * The time for which a renewal permits launches. It is shorter than {@link #GONE_NANOS}, so a
     * dispatcher stops launching before the others take it for gone.
     */
    static final long LEASE_NANOS = TimeUnit.SECONDS.toNanos(5);
    /** The time without a beat after which a dispatcher counts as gone. */
    static final long GONE_NANOS = TimeUnit.SECONDS.toNanos(8);
    /**
     * The longest time between two reads that counts, so that nobody seems to be gone only because
     * this dispatcher or the ledger stood still.
     */
    private static final long LONGEST_LOOK_NANOS = TimeUnit.SECONDS.toNanos(2);
    /** The time after which the entry of a dispatcher that is gone is removed. */
    private static final long REMOVED_NANOS = TimeUnit.MINUTES.toNanos(1);

    /** The time between two beats of a dispatcher that is well. */
    private static final long PUNCTUAL_NANOS = TimeUnit.MILLISECONDS.toNanos(1200);

    private static final String PREFIX = "member/";
    private static final String FOREIGN = "no dispatcher of the fleet has written it";
    private static final Logger log = LoggerFactory.getLogger(FleetMember.class);

    final String id;
    final Executor executor;
    final FleetTime time;
    private final Ledger ledger;
    private final RandomGenerator random;
    private final Incidents incidents;
    private final Consumer<List<String>> onPeers;
    private final Broadcasts broadcasts;
    private final Map<String, FleetFunction> functions = new LinkedHashMap<>();
    private final Map<String, Peer> peers = new TreeMap<>();
    /** Since when dispatchers are gone whose entries were removed. */
    private final Map<String, Long> goneSinceNanos = new HashMap<>();
    /** Why each of these entries cannot be read, by key. */
    private final Map<String, String> unreadable = new TreeMap<>();

    private MemberDescription description = new MemberDescription(List.of(), "", "");
    private List<String> addresses = List.of();
    private long beat;
    private long version;
    private boolean renewed;
    private long renewedNanos;
    private long renewedMillis;
    private boolean everRead;
    private long readNanos;
    /** When the read of the latest entries began. An earlier read can end after it. */
    private long takenNanos;

    private boolean reading;
    private boolean ticking;
    /** Completes when the latest renewal has, never exceptionally. */
    private CompletableFuture<Void> renewal = CompletableFuture.completedFuture(null);

    private boolean stopping;
    private boolean leaving;
    private @Nullable CompletableFuture<Void> left;
    private volatile boolean failing;
    private volatile FleetSnapshot snapshot;

    /**
     * @param onPeers receives the addresses of all live dispatchers whenever they change, this
     *     one's first
     * @param onBroadcast receives what the others say with {@link #broadcast}
     */
    public FleetMember(
            Ledger ledger,
            Executor executor,
            FleetTime time,
            RandomGenerator random,
            Incidents incidents,
            Consumer<List<String>> onPeers,
            Consumer<String> onBroadcast) {
        this.incidents = incidents;
        this.ledger = ledger;
        this.executor = executor;
        this.time = time;
        this.random = random;
        this.onPeers = onPeers;
        this.broadcasts = new Broadcasts(time, onBroadcast);
        this.id = "%016x".formatted(random.nextLong());
        this.snapshot = new FleetSnapshot(id, false, -1, List.of(), List.of(), List.of());
    }

    /** Adds a function. Call before the first {@link #tick}. */
    public FleetFunction add(String function, BudgetLimits limits, FleetFunction.Listener listener) {
        FleetFunction added = new FleetFunction(function, limits, this, ledger, listener);
        functions.put(function, added);
        return added;
    }

    /** Returns an id for a worker of the fleet. No other worker has it. */
    String newWorkerId() {
        return "%s%016x".formatted(LaunchToken.FLEET_WORKER_ID_PREFIX, random.nextLong());
    }

    /** Calls the ledger, which must not throw, but which others write. */
    static <T> CompletionStage<T> asked(Supplier<CompletionStage<T>> call) {
        try {
            return call.get();
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    // What the functions ask.

    /** Returns whether this dispatcher may launch workers and change the budgets. */
    public boolean isLeaseValid() {
        return renewed
                && time.nanos() - renewedNanos < LEASE_NANOS
                && time.millis() - renewedMillis < TimeUnit.NANOSECONDS.toMillis(LEASE_NANOS);
    }

    boolean isAlive(String dispatcher) {
        Peer peer = peers.get(dispatcher);
        return peer != null && peer.isAlive();
    }

    /** Returns for how long a dispatcher has been gone. */
    long goneNanos(String dispatcher) {
        Peer peer = peers.get(dispatcher);
        if (peer != null) {
            return peer.silentNanos - GONE_NANOS;
        }
        // It has left, or its entry was removed.
        return time.nanos() - goneSinceNanos.computeIfAbsent(dispatcher, gone -> time.nanos());
    }

    /**
     * Returns the worker streams that the clients of the others need. The need of one that is
     * silent fades as fast as the estimates of the others rise, to which its clients go. Otherwise
     * they would be counted twice, and workers launched for them.
     */
    double peerStreams(String function) {
        double sum = 0;
        for (Peer peer : peers.values()) {
            MemberDemand demand = peer.entry.demands().get(function);
            if (demand != null) {
                double late = Math.max(0, time.nanos() - peer.beatNanos - PUNCTUAL_NANOS);
                sum += demand.streams() * Math.exp(-late / OfferedLoad.FAST_NANOS);
            }
        }
        return sum;
    }

    /**
     * Returns whether this second is this dispatcher's turn to do what only one should do at a
     * time.
     */
    boolean hasTurn() {
        int alive = 1;
        for (Peer peer : peers.values()) {
            alive += peer.isAlive() ? 1 : 0;
        }
        return time.millis() / 1000 % alive == rank();
    }

    /** Returns how many live dispatchers come before this one, in an order that all share. */
    int rank() {
        int rank = 0;
        for (Map.Entry<String, Peer> peer : peers.entrySet()) {
            rank += peer.getValue().isAlive() && peer.getKey().compareTo(id) < 0 ? 1 : 0;
        }
        return rank;
    }

    // The ledger.

    /** Sets what the others are told. Call before the first {@link #tick}. */
    public void describe(MemberDescription value) {
        description = value;
    }

    /** Returns the fleet as of the latest {@link #tick}. Any thread. */
    public FleetSnapshot snapshot() {
        return snapshot;
    }

    private FleetSnapshot newSnapshot() {
        List<Member> members = new ArrayList<>();
        Map<String, Double> own = new LinkedHashMap<>();
        functions.forEach((name, function) -> own.put(name, function.streams()));
        members.add(new Member(id, true, description.addresses(), description.zone(), description.version(), 0, own));
        peers.forEach((peerId, peer) -> {
            Map<String, Double> streams = new LinkedHashMap<>();
            peer.entry.demands().forEach((function, demand) -> streams.put(function, demand.streams()));
            members.add(new Member(
                    peerId,
                    peer.isAlive(),
                    peer.entry.addresses(),
                    peer.entry.zone(),
                    peer.entry.version(),
                    TimeUnit.NANOSECONDS.toMillis(peer.silentNanos),
                    streams));
        });
        return new FleetSnapshot(
                id,
                isLeaseValid(),
                renewed ? TimeUnit.NANOSECONDS.toMillis(time.nanos() - renewedNanos) : -1,
                members,
                functions.values().stream().map(FleetFunction::snapshot).toList(),
                List.copyOf(unreadable.keySet()));
    }

    /**
     * Returns which live dispatcher has other limits of a function, in one line, or {@code null}.
     */
    @Nullable
    String conflict(String function, BudgetLimits limits) {
        for (Map.Entry<String, Peer> peer : peers.entrySet()) {
            MemberDemand demand = peer.getValue().entry.demands().get(function);
            String difference =
                    demand == null || !peer.getValue().isAlive() ? null : limits.difference(demand.limits());
            if (difference != null) {
                return "dispatcher " + peer.getKey() + " has other limits: " + difference;
            }
        }
        return null;
    }

    /** Reads the ledger, then renews the lease. Called about once a second. */
    public void tick() {
        snapshot = newSnapshot();
        if (!ticking && !leaving) {
            ticking = true;
            read(this::renew);
        }
    }

    /**
     * Tells all others.
     *
     * @return completes when the ledger has it
     */
    public CompletionStage<Void> broadcast(String message) {
        CompletionStage<Void> written = broadcasts.add(message);
        tick();
        return written;
    }

    /** Reads the ledger soon, unless it was read a shorter time ago. */
    void readSoon(long afterNanos) {
        if (everRead && !leaving && !reading && !ticking && time.nanos() - readNanos >= afterNanos) {
            read(() -> {});
        }
    }

    private void read(Runnable then) {
        reading = true;
        long beganNanos = time.nanos();
        long beganMillis = time.millis();
        asked(ledger::read)
                .whenCompleteAsync(
                        (entries, failure) -> {
                            reading = false;
                            if (failure != null) {
                                onFailure("read", failure);
                                return;
                            }
                            if (time.nanos() - beganNanos >= LEASE_NANOS
                                    || time.millis() - beganMillis >= TimeUnit.NANOSECONDS.toMillis(LEASE_NANOS)) {
                                // This process stood still, and the others may have replaced it.
                                ticking = false;
                                return;
                            }
                            try {
                                onRead(entries, beganNanos);
                                if (!leaving) {
                                    then.run();
                                }
                            } catch (RuntimeException e) {
                                // Otherwise, no further tick would begin.
                                onFailure("read", e);
                            }
                        },
                        executor);
    }

    /**
     * Returns whether it cannot reach the ledger. A dispatcher that has just started, or has left
     * the fleet, has no lease either, but is not cut off.
     */
    boolean isCutOff() {
        return failing || renewed && !isLeaseValid();
    }

    /** Returns whether an access to the ledger has failed since the last renewal. Any thread. */
    public boolean isLedgerFailing() {
        return failing;
    }

    private void onFailure(String what, Throwable failure) {
        ticking = false;
        if (!failing) {
            failing = true;
            incidents.begin(
                    Incident.Kind.LEDGER_UNREACHABLE,
                    "",
                    "",
                    "it cannot be " + what + ": " + PrintableText.ofFailure(failure));
        }
    }

    private void onRead(List<Ledger.Entry> entries, long beganNanos) {
        if (leaving || everRead && beganNanos - takenNanos < 0) {
            return;
        }
        takenNanos = beganNanos;
        long now = time.nanos();
        long look = everRead ? Math.min(now - readNanos, LONGEST_LOOK_NANOS) : 0;
        everRead = true;
        readNanos = now;
        Map<String, Ledger.Entry> byKey = new HashMap<>();
        List<String> foreign = new ArrayList<>();
        for (Ledger.Entry entry : entries) {
            byKey.put(entry.key(), entry);
            if (entry.value().isEmpty()) {
                if (unreadable.put(entry.key(), FOREIGN) == null) {
                    foreign.add(entry.key());
                }
            } else if (unreadable.containsKey(entry.key()) && !isParsed(entry.key())) {
                onReadable(entry.key());
            }
        }
        if (!foreign.isEmpty()) {
            log.warn(
                    "{} ignored, because no dispatcher with the secret of this fleet has written {}, such as '{}'. Use"
                            + " another fleet.name for another fleet, otherwise remove them",
                    PrintableText.counted(foreign.size(), "entry of the ledger is", "entries of the ledger are"),
                    foreign.size() == 1 ? "it" : "them",
                    PrintableText.startOf(foreign.get(0)));
        }
        unreadable.keySet().retainAll(byKey.keySet());
        Ledger.Entry own = byKey.get(PREFIX + id);
        version = own == null ? 0 : own.version();
        onMembers(byKey, look);
        broadcasts.onRead();
        if (stopping && isAccompanied()) {
            // A successor has started.
            leave();
            return;
        }
        tellPeers();
        functions.values().forEach(function -> function.onRead(byKey.get(function.key()), beganNanos));
    }

    private void onMembers(Map<String, Ledger.Entry> byKey, long look) {
        peers.entrySet().removeIf(each -> {
            boolean removed = !byKey.containsKey(PREFIX + each.getKey());
            if (removed && !each.getValue().isAlive()) {
                goneSinceNanos.putIfAbsent(each.getKey(), time.nanos() - goneNanos(each.getKey()));
            }
            return removed;
        });
        byKey.forEach((key, entry) -> {
            if (key.startsWith(PREFIX) && !key.equals(PREFIX + id)) {
                onMember(key.substring(PREFIX.length()), entry, look);
            }
        });
    }

    private void onMember(String peerId, Ledger.Entry entry, long look) {
        Peer peer = peers.get(peerId);
        // What no dispatcher has written is no sign of life.
        boolean foreign = entry.value().isEmpty();
        if (peer == null) {
            if (foreign) {
                return;
            }
            Peer found = new Peer(parsed(entry, MemberEntry.UNKNOWN), entry.version(), time.nanos());
            peers.put(peerId, found);
            broadcasts.onEntry(peerId, found.entry);
            if (goneSinceNanos.remove(peerId) != null) {
                logBack(peerId);
            }
        } else if (peer.version != entry.version() && !foreign) {
            if (!peer.isAlive()) {
                logBack(peerId);
            }
            peer.hasBeaten = true;
            peer.entry = parsed(entry, peer.entry);
            peer.version = entry.version();
            peer.silentNanos = 0;
            peer.beatNanos = time.nanos();
            broadcasts.onEntry(peerId, peer.entry);
        } else {
            boolean wasAlive = peer.isAlive();
            peer.silentNanos += look;
            if (wasAlive && !peer.isAlive()) {
                logSilent(peerId, peer);
            }
            if (peer.silentNanos >= REMOVED_NANOS && hasTurn() && !unreadable.containsKey(entry.key())) {
                asked(() -> ledger.remove(PREFIX + peerId, entry.version()));
            }
        }
    }

    private static void logSilent(String peerId, Peer peer) {
        String shownId = PrintableText.startOf(peerId);
        if (peer.hasBeaten) {
            log.warn(
                    "dispatcher {} of the fleet is silent, and the others take over its workers: it has crashed, is"
                            + " paused, or cannot reach the ledger. Workers dialled it at {}",
                    shownId,
                    PrintableText.startOf(peer.entry.addresses().toString()));
        } else {
            log.info(
                    "dispatcher {} of the fleet has been silent since before this one started, so its entry is removed"
                            + " after a minute",
                    shownId);
        }
    }

    private static void logBack(String peerId) {
        log.info("dispatcher {} of the fleet is back", PrintableText.startOf(peerId));
    }

    /**
     * Returns what the entry says, or what it said before if it cannot be read. A dispatcher whose
     * entry changes lives, whatever the entry says, so its workers are not adopted.
     */
    private MemberEntry parsed(Ledger.Entry entry, MemberEntry before) {
        try {
            MemberEntry read = MemberEntry.parse(entry.value());
            onReadable(entry.key());
            return read;
        } catch (IllegalArgumentException e) {
            onUnreadable(entry.key(), String.valueOf(e.getMessage()));
            return before;
        }
    }

    private boolean isParsed(String key) {
        return key.startsWith(PREFIX)
                || functions.values().stream()
                        .anyMatch(function -> function.key().equals(key));
    }

    /** Records that an entry cannot be read. The other entries count nevertheless. */
    void onUnreadable(String key, String reason) {
        if (unreadable.putIfAbsent(key, reason) == null) {
            log.warn(
                    "the entry '{}' of the ledger cannot be read: {}. Upgrade this dispatcher if a newer one has"
                            + " written the entry, otherwise remove it",
                    PrintableText.startOf(key),
                    PrintableText.startOf(reason));
        }
    }

    void onReadable(String key) {
        if (unreadable.remove(key) != null) {
            log.info("the entry '{}' of the ledger can be read again", PrintableText.startOf(key));
        }
    }

    private void tellPeers() {
        List<String> now = new ArrayList<>(description.addresses());
        for (Peer peer : peers.values()) {
            if (peer.isAlive()) {
                now.addAll(peer.entry.addresses());
            }
        }
        if (!now.equals(addresses)) {
            addresses = now;
            onPeers.accept(now);
        }
    }

    private void renew() {
        // The others cannot see the new beat before this.
        long beganNanos = time.nanos();
        long beganMillis = time.millis();
        Map<String, MemberDemand> demands = new LinkedHashMap<>();
        functions.forEach((name, function) -> demands.put(
                name, new MemberDemand(function.streams(), function.limits().toString())));
        beat++;
        List<String> messages = broadcasts.texts();
        long told = broadcasts.told();
        MemberEntry entry = new MemberEntry(
                beat, description.addresses(), description.zone(), description.version(), demands, told, messages);
        renewal = asked(() -> ledger.write(PREFIX + id, version, entry.text()))
                .handleAsync(
                        (written, failure) -> {
                            ticking = false;
                            if (failure != null) {
                                onFailure("written", failure);
                            } else if (Boolean.TRUE.equals(written)) {
                                version++;
                                broadcasts.onWritten(told);
                                onRenewed(beganNanos, beganMillis);
                            }
                            return (Void) null;
                        },
                        executor)
                .toCompletableFuture();
    }

    private void onRenewed(long beganNanos, long beganMillis) {
        if (leaving) {
            // This dispatcher has left while it wrote, so the entry is still there.
            removeOwn();
            return;
        }
        boolean wasValid = isLeaseValid();
        renewed = true;
        renewedNanos = beganNanos;
        renewedMillis = beganMillis;
        if (failing) {
            failing = false;
            incidents.end(Incident.Kind.LEDGER_UNREACHABLE, "", "");
        }
        functions.values().forEach(function -> function.onRenewed(wasValid));
        if (!wasValid) {
            snapshot = newSnapshot();
        }
    }

    /**
     * Launches no more workers. Leaves at once if others live, so that they adopt the workers.
     * Otherwise, the workers end with this dispatcher, which records that until it leaves.
     */
    public void beginLeaving() {
        stopping = true;
        functions.values().forEach(FleetFunction::stopLaunching);
        if (isAccompanied()) {
            leave();
        }
    }

    private boolean isAccompanied() {
        return peers.values().stream().anyMatch(Peer::isAlive);
    }

    /**
     * Leaves the fleet. Further calls return the same future.
     *
     * @return completes when the last changes are written or have failed, never exceptionally
     */
    public CompletableFuture<Void> leave() {
        if (left == null) {
            leaving = true;
            broadcasts.onLeft();
            left = CompletableFuture.allOf(functions.values().stream()
                            .map(FleetFunction::settle)
                            .toArray(CompletableFuture<?>[]::new))
                    .thenCompose(settled -> renewal)
                    .thenComposeAsync(renewed -> removeOwn(), executor)
                    .handle((removed, failure) -> null);
        }
        return left;
    }

    private CompletionStage<Boolean> removeOwn() {
        renewed = false;
        return asked(() -> ledger.remove(PREFIX + id, version));
    }
}
