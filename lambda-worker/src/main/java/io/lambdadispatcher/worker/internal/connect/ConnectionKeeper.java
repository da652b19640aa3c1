package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.worker.ControlMessage.DrainCode;
import io.lambdadispatcher.wire.worker.ControlMessage.Hello;
import io.lambdadispatcher.wire.worker.HostPort;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.config.WorkerTls;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.security.cert.CertificateException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one worker connection open, and tries the addresses in turn. As soon as the dispatcher at
 * the other end has said which one it is, the keeper dials only that dispatcher. Confined to one
 * event loop, which is also that of the connections. {@link #start}, {@link #drain}, {@link #share}
 * and {@link #address} can be called on any thread.
 *
 * <pre>
 *   IDLE ──start──▶ DIALLING ──ready──▶ UP ──closed──▶ WAITING ──back-off over──▶ DIALLING
 *                      └──failed──▶ WAITING
 *   any ──drain, refused for good──▶ STOPPING ──closed──▶ STOPPED
 * </pre>
 */
public final class ConnectionKeeper {

    /** The owner of the keepers. Called on the keeper's event loop. */
    public interface Owner {
        void onReady(ConnectionKeeper keeper);

        /** The connection is lost. The keeper tries again. */
        void onLost(ConnectionKeeper keeper);

        /**
         * The dispatcher has named the dispatchers that share the worker, and itself, which is now
         * the keeper's {@link #address}.
         */
        void onPeers(ConnectionKeeper keeper, List<String> addresses);

        /** Returns whether the worker can stay without the dispatcher at this address. */
        boolean staysWithout(String address);

        /** The dispatcher shuts down, and the worker stays. The keeper tries again. */
        void onLeaving(ConnectionKeeper keeper);

        /** The dispatcher drains this worker. */
        void onDrain(DrainReason reason, Duration grace);

        /**
         * The dispatcher shuts down. The keeper tries again.
         *
         * @param dialledNanos when the connection was dialled, by {@link System#nanoTime}
         */
        void onShutdown(Duration grace, long dialledNanos);

        /**
         * The last call.
         *
         * @param detail the reason
         */
        void onStopped(ConnectionKeeper keeper, boolean refused, String detail);
    }

    private static final long FIRST_WAIT_MILLIS = 100;
    private static final long MOST_WAIT_MILLIS = 10_000;

    /** A fleet changes at most once a second. */
    private static final int MOST_PEERS_PER_WINDOW = 100;

    private static final long PEERS_WINDOW_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final String AGENT = "lambda-dispatcher-java/0.1.0-SNAPSHOT";

    private static final Logger log = LoggerFactory.getLogger(ConnectionKeeper.class);

    private enum State {
        IDLE,
        DIALLING,
        UP,
        WAITING,
        STOPPING,
        STOPPED
    }

    private final WorkerConfig config;
    private final Handler handler;
    private final Dialler dialler;
    private final EventLoop loop;
    private final Owner owner;
    private final DownstreamShare share;
    private final RequestLimit.Part limit;
    private final long deadlineNanos;
    private final Tally tally = new Tally();
    private final Backoff backoff = new Backoff(FIRST_WAIT_MILLIS, MOST_WAIT_MILLIS, ConnectionKeeper::random);

    private State state = State.IDLE;
    private List<InetSocketAddress> addresses;
    private int nextAddress;
    private volatile String address;
    private @Nullable Slots slots;
    private @Nullable DispatcherConnection connection;

    /**
     * @param index of the connection among those to its dispatcher. With several addresses, the
     *     keeper starts at this one
     * @param slots {@code null} until {@link #share}
     * @param deadlineNanos time by {@link System#nanoTime}; 0 if there is none
     */
    ConnectionKeeper(
            WorkerConfig config,
            Handler handler,
            Dialler dialler,
            EventLoop loop,
            List<InetSocketAddress> addresses,
            int index,
            @Nullable Slots slots,
            DownstreamShare share,
            RequestLimit limit,
            long deadlineNanos,
            Owner owner) {
        this.config = config;
        this.addresses = addresses;
        this.slots = slots;
        this.share = share;
        this.limit = limit.part(index);
        this.handler = handler;
        this.dialler = dialler;
        this.loop = loop;
        this.nextAddress = index % addresses.size();
        this.address = HostPort.text(addresses.get(nextAddress));
        this.deadlineNanos = deadlineNanos;
        this.owner = owner;
    }

    Tally tally() {
        return tally;
    }

    /** Returns what the connection takes of the worker's limit. */
    RequestLimit.Part limit() {
        return limit;
    }

    /** Returns the address that is dialled first or was last, or that the dispatcher has named. */
    String address() {
        return address;
    }

    /** Uses slots from now on, because other dispatchers send requests, too. */
    void share(Slots shared) {
        loop.execute(() -> {
            slots = shared;
            shared.add(config.streams());
            if (connection != null) {
                connection.share(shared);
            }
        });
    }

    void start() {
        loop.execute(() -> {
            if (state == State.IDLE) {
                dial();
            }
        });
    }

    /**
     * Stops when the exchanges in flight have ended, or the grace period is over. Further calls
     * have no effect.
     */
    void drain(DrainCode reason, Duration grace) {
        int graceMillis = (int) Math.min(Integer.MAX_VALUE, grace.toMillis());
        loop.execute(() -> onDrainAsked(reason, graceMillis));
    }

    /**
     * Returns a random number from a UUID, because a thread's generator is equal in all
     * environments that are restored from one snapshot (AWS Lambda developer guide, SnapStart and
     * uniqueness).
     */
    private static double random() {
        return (UUID.randomUUID().getLeastSignificantBits() & (1L << 53) - 1) * 0x1.0p-53;
    }

    private void onDrainAsked(DrainCode reason, int graceMillis) {
        switch (state) {
            case IDLE, WAITING -> stopped(false, "drained: " + PrintableText.of(reason));
            case DIALLING, UP, STOPPING -> {
                state = State.STOPPING;
                if (connection != null) {
                    connection.drain(reason, graceMillis);
                    if (!connection.isConnected()) {
                        // A connection attempt can take longer than the worker has.
                        stopped(false, "drained: " + PrintableText.of(reason));
                    }
                }
            }
            case STOPPED -> {}
        }
    }

    private void dial() {
        state = State.DIALLING;
        InetSocketAddress target = addresses.get(nextAddress);
        nextAddress = (nextAddress + 1) % addresses.size();
        String text = HostPort.text(target);
        address = text;
        DispatcherConnection dialled = new DispatcherConnection(settings(text), handler, slots, new Events(text));
        connection = dialled;
        dialler.dial(loop, target, dialled, cause -> onDialFailed(text, cause));
    }

    private ConnectionSettings settings(String authority) {
        return new ConnectionSettings(
                authority,
                config.tls() != null,
                config.credential().token(config.function(), Objects.requireNonNull(config.workerId()), Instant.now()),
                config.streams(),
                remainingMillis(),
                (int) Math.min(Integer.MAX_VALUE, config.drainGrace().toMillis()),
                config.streamWindowBytes(),
                AGENT,
                config.zone(),
                share,
                limit);
    }

    private int remainingMillis() {
        if (deadlineNanos == 0) {
            return Hello.NO_DEADLINE;
        }
        long millis = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
        return (int) Math.max(0, Math.min(Integer.MAX_VALUE, millis));
    }

    private void onDialFailed(String dialled, Throwable cause) {
        if (state == State.STOPPED) {
            return;
        }
        String why = PrintableText.ofFailure(cause);
        log.warn("cannot reach dispatcher {}: {}", dialled, why);
        connection = null;
        // Who has another key does not know the worker's secret, and would reject its token.
        WorkerTls tls = config.tls();
        boolean refused =
                cause instanceof CertificateException && tls != null && tls.trust() == WorkerTls.Trust.FINGERPRINT;
        retryOrStop(refused, "cannot reach " + dialled + ": " + why);
    }

    private void retryOrStop(boolean refusedForGood, String detail) {
        if (state == State.STOPPING || refusedForGood) {
            stopped(refusedForGood, detail);
            return;
        }
        boolean wasUp = state == State.UP;
        state = State.WAITING;
        if (wasUp) {
            owner.onLost(this);
        }
        loop.schedule(this::onWaited, backoff.nextMillis(), TimeUnit.MILLISECONDS);
    }

    private void onWaited() {
        if (state == State.WAITING) {
            dial();
        }
    }

    private void stopped(boolean refused, String detail) {
        state = State.STOPPED;
        owner.onStopped(this, refused, detail);
    }

    /** The events of one connection. */
    private final class Events implements ConnectionListener {
        private final String dialled;
        private final long dialledNanos = System.nanoTime();
        private boolean ready;
        private long peersSinceNanos;
        private int peersCount;

        Events(String dialled) {
            this.dialled = dialled;
        }

        @Override
        public void onServing() {
            ready = true;
            backoff.reset();
            tally.onConnection();
            if (state == State.DIALLING) {
                state = State.UP;
            }
        }

        @Override
        public void onReady() {
            log.debug("worker connection to {} is ready", dialled);
            if (state == State.UP) {
                owner.onReady(ConnectionKeeper.this);
            }
        }

        @Override
        public void onExchangeStarted() {
            tally.onStarted();
        }

        @Override
        public void onExchangeEnded(boolean failed, long requestBytes, long responseBytes) {
            tally.onEnded(failed, requestBytes, responseBytes);
        }

        @Override
        public boolean onPeers(List<String> peers) {
            long now = System.nanoTime();
            if (peersCount == 0 || now - peersSinceNanos >= PEERS_WINDOW_NANOS) {
                peersSinceNanos = now;
                peersCount = 0;
            }
            if (++peersCount > MOST_PEERS_PER_WINDOW) {
                return false;
            }
            InetSocketAddress sender = HostPort.parse(peers.get(0));
            if (sender == null) {
                log.warn("the dispatcher {} names itself '{}', expected host:port", dialled, peers.get(0));
                return true;
            }
            addresses = List.of(sender);
            nextAddress = 0;
            address = HostPort.text(sender);
            owner.onPeers(ConnectionKeeper.this, peers);
            return true;
        }

        @Override
        public void onDrain(DrainReason reason, Duration grace) {
            log.info("the dispatcher {} is draining this connection: {}", dialled, PrintableText.of(reason));
            if (reason == DrainReason.SHUTDOWN && owner.staysWithout(address)) {
                if (connection != null) {
                    connection.leave();
                }
                owner.onLeaving(ConnectionKeeper.this);
            } else if (reason == DrainReason.SHUTDOWN && config.credential().outlivesDispatcher()) {
                owner.onShutdown(grace, dialledNanos);
            } else {
                state = State.STOPPING;
                owner.onDrain(reason, grace);
            }
        }

        @Override
        public void onClosed(Closing closing) {
            if (state == State.STOPPED) {
                return;
            }
            switch (closing.cause()) {
                case DRAINED -> log.debug("worker connection to {} closed: {}", dialled, closing.detail());
                case NOT_NOW -> log.info("worker connection to {} is postponed: {}", dialled, closing.detail());
                case REFUSED, LOST ->
                    log.warn("worker connection to {} {}: {}", dialled, ready ? "lost" : "failed", closing.detail());
            }
            connection = null;
            retryOrStop(closing.cause() == Closing.Cause.REFUSED, closing.detail());
        }
    }
}
