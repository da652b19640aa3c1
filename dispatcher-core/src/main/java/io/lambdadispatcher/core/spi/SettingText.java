package io.lambdadispatcher.core.spi;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Reads values in the form that all settings of the standalone dispatcher have, for filters with
 * settings of their own. Any thread.
 */
public final class SettingText {
    /** With more digits, days overflow. */
    private static final Pattern DURATION = Pattern.compile("(\\d{1,14})(ms|s|m|h|d)");

    private static final Pattern SIZE = Pattern.compile("(\\d{1,15})(B|KiB|MiB|GiB)?");

    /** No timeout is longer. A long holds 292 years in nanoseconds. */
    private static final Duration LONGEST = Duration.ofDays(366);

    private SettingText() {}

    /**
     * Returns the duration of a text such as {@code 500ms}, {@code 10s}, {@code 15m}, {@code 1h} or
     * {@code 7d}.
     *
     * @throws IllegalArgumentException for any other text, or more than 366 days
     */
    public static Duration duration(String text) {
        Matcher matcher = match(DURATION, text);
        long count = Long.parseLong(matcher.group(1));
        Duration duration = switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(count);
            case "s" -> Duration.ofSeconds(count);
            case "m" -> Duration.ofMinutes(count);
            case "h" -> Duration.ofHours(count);
            default -> Duration.ofDays(count);
        };
        if (duration.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(text + ", expected at most 366d");
        }
        return duration;
    }

    /**
     * Returns the bytes of a text such as {@code 100}, {@code 100B}, {@code 64KiB}, {@code 1MiB} or
     * {@code 1GiB}.
     *
     * @throws IllegalArgumentException for any other text, or less than {@code min} or more than
     *     {@code max} bytes
     */
    public static int bytes(String text, int min, int max) {
        Matcher matcher = match(SIZE, text);
        String unit = matcher.group(2);
        int shift = unit == null ? 0 : "B  KiBMiBGiB".indexOf(unit) / 3 * 10;
        long count = Long.parseLong(matcher.group(1));
        if (count > max >> shift || count << shift < min) {
            throw new IllegalArgumentException(text + ", expected from " + min + " to " + max + " bytes");
        }
        return (int) (count << shift);
    }

    private static Matcher match(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException(text + ", expected the form " + pattern);
        }
        return matcher;
    }
}
