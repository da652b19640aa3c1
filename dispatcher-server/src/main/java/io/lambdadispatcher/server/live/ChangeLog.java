package io.lambdadispatcher.server.live;

import io.lambdadispatcher.core.observe.CapacitySnapshot;
import io.lambdadispatcher.core.observe.RolloutSnapshot;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The latest changes of the dispatcher and its workers. What happens to many workers within a few
 * seconds, or to one breaker within a minute, is one change, so that a burst does not displace the
 * rest. Any thread.
 */
final class ChangeLog {
    static final int SIZE = 100;
    /** Equal events of one function within this time are one change. */
    static final Duration TOGETHER = Duration.ofSeconds(10);
    /** New states of one breaker within this time are one change. */
    static final Duration BREAKER_TOGETHER = Duration.ofMinutes(1);
    /** A reload can change many settings. */
    static final int MAX_CHARACTERS = 1000;

    /** What has changed. */
    enum ChangeKind {
        /** The settings were read again, or a reload was refused. */
        RELOAD,
        /** Somebody has sent a command to the admin port. */
        COMMAND,
        /** Workers were launched. */
        LAUNCH,
        /** Launched workers have failed, or could not be launched. */
        LAUNCH_FAILED,
        /** Launched workers have ended as they should. */
        WORKER_ENDED,
        /** The change to another version of a function has a new state. */
        VERSION,
        /** A breaker has a new state. */
        BREAKER,
        INCIDENT,
        INCIDENT_OVER;

        String token() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * @param time of the first event
     * @param count of events
     * @param text of the latest event
     */
    record LoggedChange(
            Instant time, ChangeKind kind, @Nullable String function, long count, String text) {
        LoggedChange {
            text = text.substring(0, Math.min(text.length(), MAX_CHARACTERS));
        }
    }

    /** @param subject whose change it is: changes of different ones are not joined */
    private record Entry(String subject, LoggedChange change) {}

    private final InstantSource clock;
    private final ReentrantLock lock = new ReentrantLock();
    private final Deque<Entry> changes = new ArrayDeque<>();
    private final Map<String, RolloutSnapshot> rollouts = new HashMap<>();

    ChangeLog(InstantSource clock) {
        this.clock = clock;
    }

    /** Adds a change of the whole dispatcher. */
    void add(ChangeKind kind, String text) {
        add(kind, null, text);
    }

    void add(ChangeKind kind, @Nullable String function, String text) {
        LoggedChange change = new LoggedChange(clock.instant(), kind, function, 1, text);
        lock.lock();
        try {
            append(new Entry("", change));
        } finally {
            lock.unlock();
        }
    }

    /** Adds an event of one worker of a function. */
    void addOfWorker(ChangeKind kind, String function, String text) {
        join(kind, function, "", TOGETHER, text);
    }

    /** Adds a new state of a breaker of a function. */
    void addOfBreaker(String function, String breaker, String text) {
        join(ChangeKind.BREAKER, function, breaker, BREAKER_TOGETHER, text);
    }

    private void join(ChangeKind kind, String function, String subject, Duration within, String text) {
        Instant now = clock.instant();
        lock.lock();
        try {
            long count = 0;
            Instant begun = now;
            for (Iterator<Entry> latest = changes.descendingIterator(); latest.hasNext(); ) {
                Entry entry = latest.next();
                LoggedChange each = entry.change();
                if (each.kind() == kind
                        && function.equals(each.function())
                        && subject.equals(entry.subject())
                        && !each.time().plus(within).isBefore(now)) {
                    count = each.count();
                    begun = each.time();
                    latest.remove();
                    break;
                }
            }
            append(new Entry(subject, new LoggedChange(begun, kind, function, count + 1, text)));
        } finally {
            lock.unlock();
        }
    }

    private void append(Entry change) {
        if (changes.size() == SIZE) {
            changes.removeFirst();
        }
        changes.addLast(change);
    }

    /** Adds what has changed about the versions since the previous call. */
    synchronized void watchVersions(List<CapacitySnapshot> capacity) {
        for (CapacitySnapshot of : capacity) {
            RolloutSnapshot now = of.rollout();
            if (now == null) {
                continue;
            }
            RolloutSnapshot before = rollouts.put(of.function(), now);
            String text = text(now);
            if (before == null ? now.state() != RolloutSnapshot.State.STEADY : !text.equals(text(before))) {
                add(ChangeKind.VERSION, of.function(), text);
            }
        }
    }

    private static String text(RolloutSnapshot of) {
        return switch (of.state()) {
            case STEADY -> "version " + of.version() + " serves";
            case WATCHING -> "version " + of.newVersion() + " is watched with " + of.percent() + " % of the workers";
            case ROLLING -> "version " + of.newVersion() + " replaces version " + of.version();
            case STOPPED -> "the change to version " + of.newVersion() + " has stopped: " + of.reason();
        };
    }

    /** Returns a copy, the latest change first. */
    List<LoggedChange> list() {
        lock.lock();
        try {
            List<LoggedChange> all = new ArrayList<>();
            changes.descendingIterator().forEachRemaining(each -> all.add(each.change()));
            return all;
        } finally {
            lock.unlock();
        }
    }
}
