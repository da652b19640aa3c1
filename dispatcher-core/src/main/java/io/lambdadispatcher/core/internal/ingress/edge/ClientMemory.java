package io.lambdadispatcher.core.internal.ingress.edge;

import io.lambdadispatcher.core.internal.exchange.ExchangeOpener;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Protection;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Limits the memory that the dispatcher uses for the clients of one event loop: connections, queued
 * requests, bodies in transit, and responses that clients do not read. Worker connections and the
 * admin port are not affected, because they do not pass through here.
 *
 * <p>No count decreases when a request ends. Arriving bytes are added to one number. When it has
 * grown by a sixteenth of the limit, all connections of the event loop are measured. Therefore,
 * measurements are rare if little arrives, and exact. Between two measurements, at most a sixteenth
 * of the limit arrives unnoticed.
 *
 * <ul>
 *   <li>Above 75 % of the limit, less of each request body is buffered ({@link Level#TIGHT}).
 *   <li>Above 85 %, requests of connections that hold much are refused ({@link Level#REFUSING}).
 *   <li>Above 95 %, the connections that hold the most are closed until 90 % is used ({@link
 *       Level#FULL}).
 * </ul>
 *
 * <p><b>Threading.</b> Confined to the event loop, except for {@link #heldBytes} and {@link
 * #level}.
 */
final class ClientMemory {

    /** How scarce memory is. The order matters. */
    enum Level {
        CALM,
        /** At most {@link ClientAccount#TIGHT_WINDOW_BYTES} of a request body are buffered. */
        TIGHT,
        /**
         * New requests get 503, except on connections that hold little: see {@link
         * ClientMemory#admitsRequest}.
         */
        REFUSING,
        /** Connections are closed, now or at the end of this turn of the event loop. */
        FULL
    }

    /**
     * Maximum share of the limit that idle connections use. The rest is for requests and responses.
     */
    private static final int CONNECTIONS_PERCENT = 50;

    private static final int TIGHT_PERCENT = 75;
    private static final int REFUSING_PERCENT = 85;
    private static final int FULL_PERCENT = 95;
    private static final int RELIEVED_PERCENT = 90;
    private static final int LOOKS_PER_LIMIT = 16;

    private static final long CALM_LOOK_MILLIS = 1000;
    private static final long PRESSED_LOOK_MILLIS = 100;

    private final EventLoop loop;
    private final long limitBytes;
    private final DispatcherObserver observer;
    private final List<ClientAccount> accounts = new ArrayList<>();

    /** Memory that all connections use before their first request. */
    private long baseBytes;

    private long arrivedSinceLook;
    private boolean lookScheduled;
    private boolean cutScheduled;

    // Written only on the event loop, at a measurement.
    private volatile long held;
    private volatile Level level = Level.CALM;

    // The event loop's own copy.
    private Level current = Level.CALM;

    ClientMemory(EventLoop loop, long limitBytes, DispatcherObserver observer) {
        this.loop = loop;
        this.limitBytes = limitBytes;
        this.observer = observer;
    }

    /**
     * Returns the bytes that were held at the last measurement, at most a second ago. Any thread.
     */
    long heldBytes() {
        return held;
    }

    /** Returns the bytes that were free at the last measurement. Any thread. */
    long freeBytes() {
        return Math.max(0, limitBytes - held);
    }

    /** Returns the level at the last measurement. Any thread. */
    Level level() {
        return level;
    }

    /**
     * Returns an account for a connection, or {@code null} if there is no memory for it. Like
     * {@link #onRead}, it can close others immediately, so a new client does not pay for those that
     * hold much.
     */
    @Nullable
    ClientAccount open(Channel channel, ExchangeOpener opener, int connectionBytes) {
        if (current == Level.FULL) {
            cut();
        }
        if (current == Level.FULL || baseBytes + connectionBytes > percent(CONNECTIONS_PERCENT)) {
            return null;
        }
        ClientAccount account = new ClientAccount(this, channel, opener, connectionBytes);
        account.index = accounts.size();
        accounts.add(account);
        baseBytes += connectionBytes;
        count(connectionBytes);
        return account;
    }

    /** Removes the account of a closed connection. Further calls have no effect. */
    void close(ClientAccount account) {
        if (account.index < 0) {
            return;
        }
        ClientAccount last = accounts.remove(accounts.size() - 1);
        if (last != account) {
            accounts.set(account.index, last);
            last.index = account.index;
        }
        account.index = -1;
        baseBytes -= account.connectionBytes();
        if (!lookScheduled && !loop.isShuttingDown()) {
            scheduleLook();
        }
    }

    /**
     * Counts bytes that were read from a client's socket. No other code of a client connection is
     * on the stack, so connections can be closed immediately: many sockets can be read in this turn
     * of the event loop.
     */
    void onRead(int bytes) {
        count(bytes);
        if (current == Level.FULL) {
            cut();
        }
    }

    /** Counts bytes that were received or made for a client and may be held for some time. */
    void onMade(int bytes) {
        count(bytes);
        if (current == Level.FULL && !cutScheduled) {
            cutScheduled = true;
            loop.execute(this::cut);
        }
    }

    private void count(int bytes) {
        arrivedSinceLook += bytes;
        if (arrivedSinceLook >= limitBytes / LOOKS_PER_LIMIT) {
            look();
        }
        if (!lookScheduled) {
            scheduleLook();
        }
    }

    boolean isTight() {
        return current != Level.CALM;
    }

    /**
     * Returns whether a request may be served. A connection that holds little is served even if
     * memory is nearly used up, otherwise one client that holds much would keep out all others.
     * Little means less than half of the average. Below {@link Level#FULL}, it also means at most
     * half of what a connection uses before its first request, because idle connections lower the
     * average.
     */
    boolean admitsRequest(ClientAccount account) {
        onMade(ClientAccount.EXCHANGE_BYTES);
        if (current.compareTo(Level.REFUSING) < 0 || accounts.isEmpty()) {
            return true;
        }
        long its = account.heldBytes();
        boolean isNew = current != Level.FULL && its <= account.connectionBytes() * 3L / 2;
        if (isNew || its < held / accounts.size() / 2) {
            return true;
        }
        observer.onProtection(Protection.MEMORY_REFUSED);
        return false;
    }

    private long percent(int percent) {
        return limitBytes * percent / 100;
    }

    private void look() {
        long sum = 0;
        for (int i = 0; i < accounts.size(); i++) {
            ClientAccount account = accounts.get(i);
            account.heldAtLook = account.heldBytes();
            sum += account.heldAtLook;
        }
        arrivedSinceLook = 0;
        note(sum);
    }

    private void note(long heldNow) {
        held = heldNow;
        current = levelOf(heldNow);
        level = current;
    }

    private Level levelOf(long bytes) {
        if (bytes > percent(FULL_PERCENT)) {
            return Level.FULL;
        }
        if (bytes > percent(REFUSING_PERCENT)) {
            return Level.REFUSING;
        }
        return bytes > percent(TIGHT_PERCENT) ? Level.TIGHT : Level.CALM;
    }

    private void cut() {
        cutScheduled = false;
        look();
        if (current != Level.FULL) {
            return;
        }
        long left = held;
        List<ClientAccount> largestFirst = new ArrayList<>(accounts);
        largestFirst.sort(
                Comparator.comparingLong((ClientAccount its) -> its.heldAtLook).reversed());
        for (ClientAccount account : largestFirst) {
            if (left <= percent(RELIEVED_PERCENT)) {
                break;
            }
            left -= account.heldAtLook;
            close(account);
            observer.onProtection(Protection.MEMORY_CUT);
            account.cut();
        }
        note(left);
    }

    /**
     * Measures once a second, so that the figures are fresh and a decrease is noticed even if
     * nothing arrives.
     */
    private void scheduleLook() {
        lookScheduled = true;
        loop.schedule(
                this::lookAgain, current == Level.CALM ? CALM_LOOK_MILLIS : PRESSED_LOOK_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void lookAgain() {
        lookScheduled = false;
        boolean quiet = arrivedSinceLook == 0 && current == Level.CALM;
        look();
        if (current == Level.FULL) {
            cut();
        }
        if (!quiet && !lookScheduled) {
            scheduleLook();
        }
    }
}
