package io.lambdadispatcher.core.internal.loop;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Incident;
import io.lambdadispatcher.core.observe.Incident.Kind;
import io.netty.util.concurrent.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes incidents of single events: however many there are, the log and the observer are told once
 * when an incident begins, and once when it ends. An incident of another function, or with another
 * code, is another incident, so nothing hides it.
 *
 * <p>Nothing calls this for a request that succeeds.
 *
 * <p><i>Threading:</i> any thread.
 */
public final class Incidents {
    /** An incident of single events ends when there was none for this time. */
    public static final long QUIET_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** A state that begins again within this time has not ended. */
    public static final long FLAPPING_NANOS = TimeUnit.SECONDS.toNanos(5);

    private static final Logger log = LoggerFactory.getLogger(Incidents.class);

    private record Key(Kind kind, String function, String code) {}

    /**
     * An incident that goes on. Immutable.
     *
     * @param cause what was reported first
     * @param latest what was reported last
     * @param isNews whether this differs from what was reported before
     * @param held whether it lasts until {@link #end}
     */
    private record Open(
            String cause,
            String latest,
            boolean isNews,
            Instant since,
            long sinceNanos,
            long lastNanos,
            long count,
            boolean held) {

        static Open begun(String cause, long nowNanos, boolean held) {
            return new Open(cause, cause, true, Instant.now(), nowNanos, nowNanos, 1, held);
        }

        Open counted(long nowNanos) {
            return new Open(cause, latest, false, since, sinceNanos, nowNanos, count + 1, held);
        }

        Open held(String text, long nowNanos) {
            return new Open(cause, text, !text.equals(latest), since, sinceNanos, nowNanos, count + 1, true);
        }

        Open released(long nowNanos) {
            return held ? new Open(cause, latest, false, since, sinceNanos, nowNanos, count, false) : this;
        }

        boolean isOver(long nowNanos, Kind kind) {
            return !held && nowNanos - lastNanos >= (kind.unit().isEmpty() ? FLAPPING_NANOS : QUIET_NANOS);
        }

        Incident incident(Key of, @Nullable Duration lasted) {
            return new Incident(of.kind, of.function, of.code, cause, since, count, lasted);
        }

        Incident ended(Key of) {
            return incident(of, Duration.ofNanos(lastNanos - sinceNanos));
        }
    }

    private final Map<Key, Open> open = new ConcurrentHashMap<>();
    private final DispatcherObserver observer;
    private final Ticker ticker;

    public Incidents(DispatcherObserver observer, Ticker ticker) {
        this.observer = observer;
        this.ticker = ticker;
    }

    /** Creates incidents that only the log is told of. */
    public static Incidents unobserved() {
        return new Incidents(DispatcherObserver.NONE, Ticker.systemTicker());
    }

    /**
     * Counts an event. An incident begins with the first one.
     *
     * @param code must be one of a few, because each is an incident
     * @param cause what happened, in one line; called only for the first event
     */
    public void count(Kind kind, String function, String code, Supplier<String> cause) {
        long now = ticker.nanoTime();
        Key key = new Key(kind, function, code);
        tellNews(
                key,
                open.compute(
                        key,
                        (its, before) -> before == null ? Open.begun(cause.get(), now, false) : before.counted(now)));
    }

    /**
     * Begins a state, which lasts until {@link #end}. If it lasts already, a kind without a unit
     * has another cause now, and the others are counted.
     */
    public void begin(Kind kind, String function, String code, String cause) {
        beginUntold(kind, function, code, cause).run();
    }

    /**
     * Begins a state as {@link #begin} does, for a caller with a lock. The observer may wait for
     * threads that need the lock.
     *
     * @return tells the observer; to be run without the lock
     */
    public Runnable beginUntold(Kind kind, String function, String code, String cause) {
        long now = ticker.nanoTime();
        Key key = new Key(kind, function, code);
        Open its = open.compute(
                key, (of, before) -> before == null ? Open.begun(cause, now, true) : before.held(cause, now));
        return () -> tellNews(key, its);
    }

    private void tellNews(Key key, Open now) {
        if (now.count == 1) {
            tell(now.incident(key, null));
        } else if (now.isNews && key.kind.unit().isEmpty()) {
            log.warn("incident goes on: {}: {}", key.kind.headline(key.function, key.code), now.latest);
        }
    }

    /** Ends a state, unless it begins again within a few seconds. */
    public void end(Kind kind, String function, String code) {
        long now = ticker.nanoTime();
        open.computeIfPresent(new Key(kind, function, code), (key, its) -> its.released(now));
    }

    /** Ends the incidents of which nothing was heard for a while. Called about once a second. */
    public void tick() {
        long now = ticker.nanoTime();
        open.forEach((key, its) -> {
            // Whoever counts at the same time replaces the value, so that it is not removed.
            if (its.isOver(now, key.kind) && open.remove(key, its)) {
                tell(its.ended(key));
            }
        });
    }

    private void tell(Incident incident) {
        log.warn("{}", incident);
        observer.onIncident(incident);
    }
}
