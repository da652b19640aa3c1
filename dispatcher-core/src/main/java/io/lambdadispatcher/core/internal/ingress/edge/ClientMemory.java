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
 * Bounds what the dispatcher holds for the clients of one event loop: connections, requests that
 * wait, bodies on their way, and responses that clients do not take. Nobody else suffers for it:
 * worker connections and the admin port do not pass through here.
 *
 * <p>Nothing is counted off on the way of a request. What arrives is added to one number, and when
 * that has grown by a sixteenth of the limit, all connections of the event loop are asked what they
 * hold. So a look is rare if little arrives, and after a look the number is exact again. Between
 * two looks, at most a sixteenth of the limit arrives unnoticed.
 *
 * <ul>
 *   <li>Above 75 % of the limit, less of each request body is buffered ({@link Level#TIGHT}).
 *   <li>Above 85 %, requests of connections that hold much are refused ({@link Level#REFUSING}).
 *   <li>Above 95 %, no connection is accepted, and those that hold the most are closed until 90 %
 *       is left ({@link Level#FULL}).
 * </ul>
 *
 * <p><b>Threading:</b> confined to the event loop, except for {@link #heldBytes} and {@link
 * #level}.
 */
final class ClientMemory {

    /** How scarce memory is. The order matters. */
    enum Level {
        CALM,
        /** Of a request body, at most {@link ClientAccount#TIGHT_WINDOW_BYTES} are buffered. */
        TIGHT,
        /**
         * Connections that do not hold little get 503 for new requests: see {@link
         * ClientMemory#admitsRequest}.
         */
        REFUSING,
        /** Connections are closed, now or at the end of this turn of the event loop. */
        FULL
    }

    /** Connections alone may take so much of the limit: the rest is for requests and responses. */
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

    /** What all connections take before their first request. */
    private long baseBytes;

    private long arrivedSinceLook;
    private boolean lookScheduled;
    private boolean cutScheduled;

    // Written on the event loop only, and at a look only.
    private volatile long held;
    private volatile Level level = Level.CALM;

    // The event loop's own copy.
    private Level current = Level.CALM;

    ClientMemory(EventLoop loop, long limitBytes, DispatcherObserver observer) {
        this.loop = loop;
        this.limitBytes = limitBytes;
        this.observer = observer;
    }

    /** Returns what was held at the last look, which is at most a second ago. Any thread. */
    long heldBytes() {
        return held;
    }

    /** Returns what was free at the last look, in bytes. Any thread. */
    long freeBytes() {
        return Math.max(0, limitBytes - held);
    }

    /** Any thread. */
    Level level() {
        return level;
    }

    /** Returns an account for a connection, or {@code null} if there is no memory for it. */
    @Nullable
    ClientAccount open(Channel channel, ExchangeOpener opener, int connectionBytes) {
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

    /** The connection has ended. Harmless when repeated. */
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
     * Something has been read from a client's socket. Nothing else of a client connection is on the
     * stack, so connections can be closed at once: many sockets may be read in this turn of the
     * event loop.
     */
    void onRead(int bytes) {
        count(bytes);
        if (current == Level.FULL) {
            cut();
        }
    }

    /** Something has come for a client, or is made for it, that may be held for a while. */
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
     * Returns whether a request may be served. Those who hold little may still come when memory is
     * almost used up: otherwise, one client that holds much would keep out all others. Little is
     * less than half of the average. If memory is not used up yet, it is also at most half of what
     * a connection takes before its first request, because idle connections lower the average.
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
            sum += accounts.get(i).lookAtHeldBytes();
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
        largestFirst.sort(Comparator.comparingLong(ClientAccount::heldAtLook).reversed());
        for (ClientAccount account : largestFirst) {
            if (left <= percent(RELIEVED_PERCENT)) {
                break;
            }
            left -= account.heldAtLook();
            close(account);
            observer.onProtection(Protection.MEMORY_CUT);
            account.cut();
        }
        note(left);
    }

    /** So that the figures are fresh, and relief is noticed, if nothing arrives. */
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
