package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.HostPort;
import io.lambdadispatcher.wire.worker.WireLimits;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.internal.relay.WireCodes;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The dispatchers that a worker serves, with a {@link ConnectionKeeper} for each connection.
 *
 * <p>At first, the connections are spread over the configured addresses. A dispatcher of a fleet
 * then names all dispatchers of the fleet in PEERS, and the worker opens as many connections to
 * each of them as are configured. The targets are all dispatchers that any connected one names. If
 * none is connected, they are the last known ones, and the worker also tries the configured
 * addresses.
 *
 * <p>A connection on which PEERS has arrived is a connection to the sender, whatever address was
 * dialled: that may be the address of a load balancer. A connection without PEERS is none of the
 * fleet's, because its dispatcher has no fleet or speaks version 1. It is kept as it would be
 * without a fleet.
 *
 * <p><i>Threading:</i> confined to the worker's home event loop. Keepers call on their own.
 */
public final class Dispatchers {

    /** The worker. Called on the home event loop. */
    public interface Owner {
        /** A connection can take requests. */
        void onReady();

        /** A dispatcher drains this worker. */
        void onDrain(DrainReason reason, Duration grace);

        /**
         * The only dispatcher shuts down. The worker waits for the next one. Each connection says
         * so.
         *
         * @param dialledNanos when that connection was dialled, by {@link System#nanoTime}
         */
        void onShutdown(Duration grace, long dialledNanos);

        /**
         * All connections are closed, and no other is dialled. The last call.
         *
         * @param refused whether a dispatcher has refused the worker
         * @param detail the reason
         */
        void onEnded(boolean refused, String detail);
    }

    /**
     * The time until a dispatcher of the fleet, or a configured address, is dialled again that has
     * refused the worker. It may be shutting down, and its successor has the same address.
     */
    private static final long REFUSED_WAIT_MILLIS = 10_000;

    private static final Logger log = LoggerFactory.getLogger(Dispatchers.class);

    private final WorkerConfig config;
    private final Handler handler;
    private final Dialler dialler;
    private final EventLoopGroup loops;
    private final EventLoop home;
    private final DownstreamShare share;
    private final RequestLimit limit;
    private final long deadlineNanos;
    private final Owner owner;
    private final List<String> configured;

    /** The keepers that have not stopped. */
    private final Set<ConnectionKeeper> keepers = new LinkedHashSet<>();

    private final Set<ConnectionKeeper> up = new HashSet<>();
    private final Set<ConnectionKeeper> dropped = new HashSet<>();

    /** The dispatchers of the fleet to which keepers belong. */
    private final Map<ConnectionKeeper, String> members = new HashMap<>();

    /** What the connected dispatchers have named. */
    private final Map<ConnectionKeeper, Set<String>> named = new HashMap<>();

    /** Further addresses of dispatchers that call themselves by another one. */
    private final Set<String> aliases = new HashSet<>();

    /** The dispatchers that shut down. */
    private final Set<String> leaving = new HashSet<>();

    /** The dispatchers of the fleet; empty = no fleet. */
    private Set<String> targets = Set.of();

    /** Those of {@link #targets} that do not shut down. */
    private volatile Set<String> staying = Set.of();

    /** Tries the configured addresses while no dispatcher of the fleet is connected. */
    private @Nullable ConnectionKeeper seeker;

    private int seekers;

    /** {@code null} until there are more connections than configured for one dispatcher. */
    private @Nullable Slots slots;

    private final Tally stopped = new Tally();
    private boolean draining;
    private boolean refused;
    private long aloneSinceNanos;

    /** @param deadlineNanos time by {@link System#nanoTime}; 0 if there is none */
    public Dispatchers(
            WorkerConfig config,
            Handler handler,
            Dialler dialler,
            EventLoopGroup loops,
            EventLoop home,
            DownstreamShare share,
            RequestLimit limit,
            long deadlineNanos,
            Owner owner) {
        this.config = config;
        this.handler = handler;
        this.dialler = dialler;
        this.loops = loops;
        this.home = home;
        this.share = share;
        this.limit = limit;
        this.deadlineNanos = deadlineNanos;
        this.owner = owner;
        this.configured = config.addresses().stream().map(HostPort::text).toList();
    }

    public void start() {
        aloneSinceNanos = System.nanoTime();
        for (int i = 0; i < config.connections(); i++) {
            add(i == 0 ? home : loops.next(), config.addresses(), i);
        }
    }

    private ConnectionKeeper add(EventLoop loop, List<InetSocketAddress> addresses, int index) {
        if (slots == null && keepers.size() == config.connections()) {
            share();
        }
        ConnectionKeeper keeper = new ConnectionKeeper(
                config, handler, dialler, loop, addresses, index, slots, share, limit, deadlineNanos, new Events());
        keepers.add(keeper);
        keeper.start();
        return keeper;
    }

    /** Returns whether there are connections, or they are being dialled. */
    public boolean isRunning() {
        return !keepers.isEmpty();
    }

    /** Drains all connections. */
    public void drain(DrainReason reason, Duration grace) {
        draining = true;
        keepers.forEach(keeper -> keeper.drain(WireCodes.code(reason), grace));
    }

    /** Returns for how long no connection could take requests; 0 if one can. */
    public long aloneNanos() {
        return up.isEmpty() ? System.nanoTime() - aloneSinceNanos : 0;
    }

    /** Returns the sum over all connections, past and present. */
    public long sum(ToLongFunction<Tally> part) {
        long sum = part.applyAsLong(stopped);
        for (ConnectionKeeper keeper : keepers) {
            sum += part.applyAsLong(keeper.tally());
        }
        return sum;
    }

    // The fleet.

    private void onPeers(ConnectionKeeper keeper, List<String> addresses) {
        if (draining || !keepers.contains(keeper) || dropped.contains(keeper)) {
            return;
        }
        Set<String> names = new LinkedHashSet<>();
        for (String text : addresses) {
            InetSocketAddress address = HostPort.parse(text);
            if (address == null) {
                log.warn("the dispatcher {} names '{}', expected host:port", keeper.address(), text);
            } else {
                names.add(HostPort.text(address));
            }
        }
        String dialled = members.put(keeper, keeper.address());
        if (dialled != null && !dialled.equals(keeper.address()) && !aliases.contains(keeper.address())) {
            aliases.add(dialled);
        }
        named.put(keeper, names);
        retarget();
    }

    /**
     * Dials new dispatchers, and closes connections that are no longer wanted. New ones do not
     * delay this: a dispatcher that is connected names itself, so what is closed has no connection,
     * or has another one.
     */
    private void retarget() {
        if (draining || named.isEmpty() && targets.isEmpty()) {
            return;
        }
        if (!named.isEmpty()) {
            targets = named.values().stream()
                    .flatMap(Set::stream)
                    .distinct()
                    .limit(WireLimits.MAX_PEERS)
                    .collect(Collectors.toCollection(LinkedHashSet::new));
            aliases.retainAll(targets);
            targets.removeAll(aliases);
        }
        leaving.retainAll(targets);
        Set<String> others = new HashSet<>(targets);
        others.removeAll(leaving);
        staying = Set.copyOf(others);
        dropStrangers();
        targets.forEach(this::connect);
    }

    /** From now on, there are more worker streams than the worker has room for requests. */
    private void share() {
        Slots shared = new Slots(System::nanoTime);
        slots = shared;
        limit.share(shared);
        keepers.forEach(keeper -> keeper.share(shared));
    }

    private void dropStrangers() {
        for (ConnectionKeeper keeper : List.copyOf(keepers)) {
            String member = members.get(keeper);
            boolean sought = keeper == seeker && member == null && !up.contains(keeper) && !named.isEmpty();
            if (sought || member != null && !targets.contains(member)) {
                drop(keeper);
            }
        }
    }

    /** Opens or closes connections to one dispatcher until there are as many as configured. */
    private void connect(String target) {
        List<ConnectionKeeper> its = new ArrayList<>();
        int connected = 0;
        for (ConnectionKeeper keeper : keepers) {
            if (!dropped.contains(keeper)
                    && members.getOrDefault(keeper, keeper.address()).equals(target)) {
                // Those that are up come first.
                its.add(up.contains(keeper) ? connected++ : its.size(), keeper);
            }
        }
        int kept = Math.min(its.size(), config.connections());
        its.subList(kept, its.size()).forEach(this::drop);
        its.subList(0, kept)
                .sort(Comparator.comparingInt(keeper -> keeper.limit().index()));
        InetSocketAddress address = HostPort.parse(target);
        for (int i = 0; i < config.connections(); i++) {
            if (i < kept) {
                its.get(i).limit().setIndex(i);
            } else if (address != null) {
                members.put(add(loops.next(), List.of(address), i), target);
            }
        }
    }

    private void drop(ConnectionKeeper keeper) {
        if (dropped.add(keeper)) {
            named.remove(keeper);
            seeker = seeker == keeper ? null : seeker;
            keeper.drain(DrainCode.LEAVING, config.drainGrace());
        }
    }

    /** Without any dispatcher of the fleet, a configured address may lead to a new one. */
    private void seek() {
        boolean lost = up.isEmpty() && !targets.isEmpty() && members.keySet().containsAll(keepers);
        if (!draining && !keepers.isEmpty() && lost && !targets.containsAll(configured)) {
            // A seeker ends when its dispatcher refuses it. The next begins at the next address.
            List<InetSocketAddress> addresses = new ArrayList<>(config.addresses());
            Collections.rotate(addresses, -seekers++);
            seeker = add(loops.next(), addresses, 0);
        }
    }

    // What keepers say.

    private void onReady(ConnectionKeeper keeper) {
        up.add(keeper);
        if (leaving.remove(keeper.address())) {
            retarget();
        }
        owner.onReady();
    }

    private void onLost(ConnectionKeeper keeper) {
        forget(keeper);
        seek();
    }

    private void forget(ConnectionKeeper keeper) {
        if (up.remove(keeper) && up.isEmpty()) {
            aloneSinceNanos = System.nanoTime();
        }
        if (named.remove(keeper) != null) {
            retarget();
        }
    }

    private void onLeaving(ConnectionKeeper keeper) {
        leaving.add(keeper.address());
        named.remove(keeper);
        retarget();
    }

    private void onStopped(ConnectionKeeper keeper, boolean wasRefused, String detail) {
        if (!keepers.remove(keeper)) {
            return;
        }
        stopped.add(keeper.tally());
        members.remove(keeper);
        dropped.remove(keeper);
        seeker = seeker == keeper ? null : seeker;
        refused |= wasRefused && (targets.isEmpty() || keepers.isEmpty());
        forget(keeper);
        if (keepers.isEmpty()) {
            draining = true;
            owner.onEnded(refused, detail);
        } else if (wasRefused) {
            home.schedule(this::retry, REFUSED_WAIT_MILLIS, TimeUnit.MILLISECONDS);
        } else {
            seek();
        }
    }

    private void retry() {
        retarget();
        seek();
    }

    /** Brings what keepers say to the home event loop. */
    private final class Events implements ConnectionKeeper.Owner {
        @Override
        public void onReady(ConnectionKeeper keeper) {
            home.execute(() -> Dispatchers.this.onReady(keeper));
        }

        @Override
        public void onLost(ConnectionKeeper keeper) {
            home.execute(() -> Dispatchers.this.onLost(keeper));
        }

        @Override
        public void onPeers(ConnectionKeeper keeper, List<String> addresses) {
            home.execute(() -> Dispatchers.this.onPeers(keeper, addresses));
        }

        @Override
        public boolean staysWithout(String address) {
            Set<String> now = staying;
            return now.size() > 1 || now.size() == 1 && !now.contains(address);
        }

        @Override
        public void onLeaving(ConnectionKeeper keeper) {
            home.execute(() -> Dispatchers.this.onLeaving(keeper));
        }

        @Override
        public void onDrain(DrainReason reason, Duration grace) {
            home.execute(() -> owner.onDrain(reason, grace));
        }

        @Override
        public void onShutdown(Duration grace, long dialledNanos) {
            home.execute(() -> owner.onShutdown(grace, dialledNanos));
        }

        @Override
        public void onStopped(ConnectionKeeper keeper, boolean refused, String detail) {
            home.execute(() -> Dispatchers.this.onStopped(keeper, refused, detail));
        }
    }
}
