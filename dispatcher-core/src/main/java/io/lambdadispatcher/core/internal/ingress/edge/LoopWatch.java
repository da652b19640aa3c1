package io.lambdadispatcher.core.internal.ingress.edge;

import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.FastThreadLocal;
import io.netty.util.concurrent.Future;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Checks all client connections of an event loop once a second. They share one timer, so an idle
 * connection costs a method call per second. After a pause of the process, one check is left out.
 * Event loop only.
 */
public final class LoopWatch {
    private static final Logger log = LoggerFactory.getLogger(LoopWatch.class);

    static final long PERIOD_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** Maximum time between two checks if this process gets the CPU time that it needs. */
    static final long MAX_PAUSE_NANOS = 2 * PERIOD_NANOS;

    private static final FastThreadLocal<LoopWatch> OF_THREAD = new FastThreadLocal<>();

    /** The protocol handler of a connection. */
    public interface Watched {
        /** Checks the timeouts of the connection. May remove the connection from the watch. */
        void look(long nowNanos);
    }

    private final EventExecutor loop;
    private final Set<Watched> watched = new LinkedHashSet<>();
    private @Nullable Future<?> timer;
    private long lookedAtNanos;

    private LoopWatch(EventExecutor loop) {
        this.loop = loop;
    }

    /** Returns the watch of an event loop. Called on that event loop. */
    public static LoopWatch of(EventExecutor loop) {
        LoopWatch known = OF_THREAD.get();
        if (known == null || known.loop != loop) {
            known = new LoopWatch(loop);
            OF_THREAD.set(known);
        }
        return known;
    }

    public void add(Watched connection) {
        watched.add(connection);
        if (timer == null) {
            lookedAtNanos = loop.ticker().nanoTime();
            timer = loop.scheduleWithFixedDelay(this::look, PERIOD_NANOS, PERIOD_NANOS, TimeUnit.NANOSECONDS);
        }
    }

    public void remove(Watched connection) {
        watched.remove(connection);
        if (watched.isEmpty() && timer != null) {
            timer.cancel(false);
            timer = null;
        }
    }

    private void look() {
        long now = loop.ticker().nanoTime();
        boolean paused = now - lookedAtNanos > MAX_PAUSE_NANOS;
        lookedAtNanos = now;
        if (paused) {
            // This process did not run. What clients have sent meanwhile is read before the next
            // check.
            return;
        }
        // A copy, because a connection that is closed by its check removes itself from the set.
        for (Watched connection : watched.toArray(new Watched[0])) {
            try {
                connection.look(now);
            } catch (RuntimeException e) {
                // An exception would end the timer, and with it the timeouts of all other
                // connections.
                log.error("checking a client connection failed", e);
                remove(connection);
            }
        }
    }
}
