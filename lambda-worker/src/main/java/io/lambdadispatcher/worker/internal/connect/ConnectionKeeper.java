package io.lambdadispatcher.worker.internal.connect;

import io.lambdadispatcher.wire.worker.ControlMessage.Hello;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps one worker connection open, and tries the addresses in turn. Confined to one event loop,
 * which is also that of the connections. {@link #start} and {@link #drain} can be called on any
 * thread.
 *
 * <pre>
 *   IDLE ──start──▶ DIALLING ──ready──▶ UP ──closed──▶ WAITING ──back-off over──▶ DIALLING
 *                      └──failed──▶ WAITING
 *   any ──drain, refused for good──▶ STOPPING ──closed──▶ STOPPED
 * </pre>
 */
public final class ConnectionKeeper {

    /** The worker. Called on the keeper's event loop. */
    public interface Owner {
        void onReady(ConnectionKeeper keeper);

        /** The connection is lost. The keeper tries again. */
        void onLost(ConnectionKeeper keeper);

        /** The dispatcher drains this worker. */
        void onDrain(DrainReason reason, Duration grace);

        /** The dispatcher shuts down. The keeper tries again. */
        void onShutdown(Duration grace);

        /**
         * The last call.
         *
         * @param detail the reason
         */
        void onStopped(ConnectionKeeper keeper, boolean refused, String detail);
    }

    private static final long FIRST_WAIT_MILLIS = 100;
    private static final long MOST_WAIT_MILLIS = 10_000;
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
    private final long deadlineNanos;
    private final Tally tally = new Tally();
    private final Backoff backoff = new Backoff(
            FIRST_WAIT_MILLIS,
            MOST_WAIT_MILLIS,
            () -> ThreadLocalRandom.current().nextDouble());

    private State state = State.IDLE;
    private int nextAddress;
    private @Nullable DispatcherConnection connection;

    /**
     * @param index index of this keeper in its worker, at which it starts in the list of addresses
     * @param deadlineNanos time by {@link System#nanoTime}; 0 if there is none
     */
    public ConnectionKeeper(
            WorkerConfig config,
            Handler handler,
            Dialler dialler,
            EventLoop loop,
            int index,
            long deadlineNanos,
            Owner owner) {
        this.config = config;
        this.handler = handler;
        this.dialler = dialler;
        this.loop = loop;
        this.nextAddress = index % config.addresses().size();
        this.deadlineNanos = deadlineNanos;
        this.owner = owner;
    }

    public Tally tally() {
        return tally;
    }

    public void start() {
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
    public void drain(DrainReason reason, Duration grace) {
        int graceMillis = (int) Math.min(Integer.MAX_VALUE, grace.toMillis());
        loop.execute(() -> onDrainAsked(reason, graceMillis));
    }

    private void onDrainAsked(DrainReason reason, int graceMillis) {
        switch (state) {
            case IDLE, WAITING -> stopped(false, "drained: " + reason);
            case DIALLING, UP -> {
                state = State.STOPPING;
                if (connection != null) {
                    connection.drain(reason, graceMillis);
                }
            }
            case STOPPING, STOPPED -> {}
        }
    }

    private void dial() {
        state = State.DIALLING;
        InetSocketAddress address = config.addresses().get(nextAddress);
        nextAddress = (nextAddress + 1) % config.addresses().size();
        DispatcherConnection dialled = new DispatcherConnection(settings(address), handler, new Events(text(address)));
        connection = dialled;
        dialler.dial(loop, address, dialled, cause -> onDialFailed(text(address), cause));
    }

    private ConnectionSettings settings(InetSocketAddress address) {
        return new ConnectionSettings(
                text(address),
                config.tls() != null,
                config.credential().token(config.function(), config.workerId(), Instant.now()),
                config.streams(),
                remainingMillis(),
                (int) Math.min(Integer.MAX_VALUE, config.drainGrace().toMillis()),
                config.streamWindowBytes(),
                AGENT,
                config.zone());
    }

    private static String text(InetSocketAddress address) {
        return address.getHostString() + ":" + address.getPort();
    }

    private int remainingMillis() {
        if (deadlineNanos == 0) {
            return Hello.NO_DEADLINE;
        }
        long millis = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
        return (int) Math.max(0, Math.min(Integer.MAX_VALUE, millis));
    }

    private void onDialFailed(String address, Throwable cause) {
        log.warn("cannot reach dispatcher {}: {}", address, cause.toString());
        connection = null;
        retryOrStop(false, "cannot reach " + address + ": " + cause);
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
        private final String address;
        private boolean ready;

        Events(String address) {
            this.address = address;
        }

        @Override
        public void onReady() {
            ready = true;
            backoff.reset();
            tally.onConnection();
            log.debug("worker connection to {} is ready", address);
            if (state == State.DIALLING) {
                state = State.UP;
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
        public void onDrain(DrainReason reason, Duration grace) {
            log.info("the dispatcher {} is draining this connection: {}", address, reason);
            boolean comesBack =
                    reason == DrainReason.SHUTDOWN && config.credential().outlivesDispatcher();
            if (comesBack) {
                owner.onShutdown(grace);
            } else {
                state = State.STOPPING;
                owner.onDrain(reason, grace);
            }
        }

        @Override
        public void onClosed(Closing closing) {
            if (closing.drained()) {
                log.debug("worker connection to {} closed: {}", address, closing.detail());
            } else {
                log.warn("worker connection to {} {}: {}", address, ready ? "lost" : "failed", closing.detail());
            }
            connection = null;
            retryOrStop(closing.isPermanent(), closing.detail());
        }
    }
}
