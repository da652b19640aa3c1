package io.lambdadispatcher.core.options;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.Month;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The five fields of crontab(5): minute, hour, day of month, month and day of week. If both days
 * are restricted, one of them must match. Immutable.
 */
final class Cron {
    private static final Pattern PART = Pattern.compile("(?:\\*|(\\w{1,3})(?:-(\\w{1,3}))?)(?:/(\\d{1,2}))?");
    private static final List<String> MONTHS =
            List.of("", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC");
    private static final List<String> WEEKDAYS = List.of("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT");

    /** Sunday is 0, and also 7. */
    private static final int SUNDAY = 7;

    private static final int HOURS = 24;

    private final long minutes;
    private final long hours;
    private final long days;
    private final long months;
    private final long weekdays;
    private final boolean anyDay;
    private final boolean anyWeekday;

    private Cron(String[] fields) {
        require(fields.length == 5);
        minutes = bits(fields[0], 0, 59, List.of());
        hours = bits(fields[1], 0, HOURS - 1, List.of());
        days = bits(fields[2], 1, 31, List.of());
        months = bits(fields[3], 1, 12, MONTHS);
        weekdays = bits(fields[4], 0, SUNDAY, WEEKDAYS);
        anyDay = fields[2].startsWith("*");
        anyWeekday = fields[4].startsWith("*");
        int firstDay = Long.numberOfTrailingZeros(days);
        require(!anyWeekday
                || Arrays.stream(Month.values()).anyMatch(m -> has(months, m.getValue()) && firstDay <= m.maxLength()));
    }

    /** @throws IllegalArgumentException if the text is none, or no date matches it */
    static Cron parse(String text) {
        return new Cron(text.split(" +"));
    }

    /** Returns one bit for each value of a field. */
    private static long bits(String field, int min, int max, List<String> names) {
        long bits = 0;
        for (String each : field.split(",", -1)) {
            Matcher part = PART.matcher(each);
            require(part.matches());
            boolean any = part.group(1) == null;
            boolean range = any || part.group(2) != null;
            int step = part.group(3) == null ? 1 : Integer.parseInt(part.group(3));
            int from = any ? min : value(part.group(1), names);
            int to = any ? max : value(part.group(range ? 2 : 1), names);
            require(step > 0 && (range || part.group(3) == null) && from >= min && from <= to && to <= max);
            for (int i = from; i <= to; i += step) {
                bits |= 1L << i;
            }
        }
        return bits;
    }

    private static int value(String text, List<String> names) {
        int named = names.indexOf(text.toUpperCase(Locale.ROOT));
        return named >= 0 ? named : Integer.parseInt(text);
    }

    private static void require(boolean holds) {
        if (!holds) {
            throw new IllegalArgumentException();
        }
    }

    private static boolean has(long bits, int value) {
        return (bits >> value & 1) != 0;
    }

    /** Returns whether a matching minute begins in this time, of which the end is no part. */
    boolean beginsIn(LocalDateTime from, LocalDateTime until) {
        LocalDateTime at = from.truncatedTo(ChronoUnit.MINUTES);
        at = at.isBefore(from) ? at.plusMinutes(1) : at;
        while (at.isBefore(until)) {
            if (!matches(at.toLocalDate())) {
                at = at.toLocalDate().plusDays(1).atStartOfDay();
            } else if (!has(hours, at.getHour())) {
                at = at.truncatedTo(ChronoUnit.HOURS).plusHours(1);
            } else if (!has(minutes, at.getMinute())) {
                at = at.plusMinutes(1);
            } else {
                return true;
            }
        }
        return false;
    }

    private boolean matches(LocalDate date) {
        int weekday = date.getDayOfWeek().getValue();
        boolean onDay = has(days, date.getDayOfMonth());
        boolean onWeekday = has(weekdays, weekday) || weekday == SUNDAY && has(weekdays, 0);
        return has(months, date.getMonthValue()) && (anyDay || anyWeekday ? onDay && onWeekday : onDay || onWeekday);
    }
}
