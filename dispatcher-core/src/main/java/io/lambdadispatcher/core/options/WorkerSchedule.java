package io.lambdadispatcher.core.options;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The minimum number of workers at certain times, such as {@code 20 at 0 8 * * 1-5 for 2h in
 * Europe/Berlin}: from 8:00 to 10:00 on working days. If several entries apply, the largest counts.
 * Immutable.
 *
 * <p>A start that the clock skips when it is put forward is at this moment. A start that the clock
 * shows twice when it is put back counts both times.
 */
public final class WorkerSchedule {
    /** What an entry must look like, for messages. */
    public static final String EXPECTED =
            "a number of workers, at, the five fields of cron for the start, for, a duration from 1m to 7d, in, and a"
                    + " time zone, such as 20 at 0 8 * * 1-5 for 2h in Europe/Berlin";

    /** No time has a minimum of its own. */
    public static final WorkerSchedule NONE = new WorkerSchedule(List.of());

    private static final Pattern ENTRY =
            Pattern.compile("(\\d{1,6}) +at +(\\S+(?: +\\S+){4}) +for +(\\d{1,5})([mhd]) +in +(\\S+)");
    private static final Duration SHORTEST = Duration.ofMinutes(1);
    private static final Duration LONGEST = Duration.ofDays(7);

    private final List<Entry> entries;

    private WorkerSchedule(List<Entry> entries) {
        this.entries = entries;
    }

    private record Entry(int workers, Cron start, Duration lasting, ZoneId zone) {
        boolean applies(Instant now, Duration lead) {
            // The end of a minimum does not belong to it, the begin does.
            return startsIn(now.minus(lasting).plusNanos(1), now.plus(lead).plusNanos(1));
        }

        private boolean startsIn(Instant from, Instant until) {
            ZoneRules rules = zone.getRules();
            Instant at = from;
            ZoneOffsetTransition change = rules.nextTransition(at);
            while (change != null && change.getInstant().isBefore(until)) {
                // What the clock skips belongs to the time before.
                LocalDateTime end = change.isGap() ? change.getDateTimeAfter() : change.getDateTimeBefore();
                if (start.beginsIn(LocalDateTime.ofInstant(at, zone), end)) {
                    return true;
                }
                at = change.getInstant();
                change = rules.nextTransition(at);
            }
            LocalDateTime end = LocalDateTime.ofInstant(until, rules.getOffset(at));
            return start.beginsIn(LocalDateTime.ofInstant(at, zone), end);
        }
    }

    /**
     * Returns a schedule of entries such as {@code 20 at 0 8 * * 1-5 for 2h in Europe/Berlin}.
     *
     * @throws IllegalArgumentException if an entry is not what {@link #EXPECTED} says
     */
    public static WorkerSchedule parse(List<String> entries) {
        List<Entry> parsed = new ArrayList<>();
        for (String text : entries) {
            try {
                parsed.add(entry(text));
            } catch (IllegalArgumentException | DateTimeException e) {
                throw new IllegalArgumentException("schedule: " + text + ", expected " + EXPECTED, e);
            }
        }
        return new WorkerSchedule(List.copyOf(parsed));
    }

    private static Entry entry(String text) {
        Matcher matcher = ENTRY.matcher(text);
        Check.that(matcher.matches(), "entry", text, EXPECTED);
        int workers = Integer.parseInt(matcher.group(1));
        Check.range("workers", workers, 1, CapacityPolicy.MAX_WORKERS);
        int count = Integer.parseInt(matcher.group(3));
        Duration lasting = switch (matcher.group(4)) {
            case "m" -> Duration.ofMinutes(count);
            case "h" -> Duration.ofHours(count);
            default -> Duration.ofDays(count);
        };
        Check.that(lasting.compareTo(SHORTEST) >= 0 && lasting.compareTo(LONGEST) <= 0, "for", text, "1m to 7d");
        return new Entry(workers, Cron.parse(matcher.group(2)), lasting, ZoneId.of(matcher.group(5)));
    }

    /** Returns whether no time has a minimum of its own. */
    public boolean isEmpty() {
        return entries.isEmpty();
    }

    /** Returns the largest minimum of any time. */
    public int largest() {
        return entries.stream().mapToInt(Entry::workers).max().orElse(0);
    }

    /**
     * Returns the minimum at a time. 0 = no entry applies.
     *
     * @param lead how long before its start a minimum of this many workers begins to apply
     */
    public int workers(Instant now, IntFunction<Duration> lead) {
        return entries.stream()
                .filter(entry -> entry.applies(now, lead.apply(entry.workers)))
                .mapToInt(Entry::workers)
                .max()
                .orElse(0);
    }
}
