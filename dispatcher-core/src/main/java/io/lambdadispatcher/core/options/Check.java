package io.lambdadispatcher.core.options;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.Locale;

/** Validates options. Every message has the option's name, its value, and what was expected. */
final class Check {
    /**
     * The maximum of every duration. Timers count nanoseconds in a {@code long}, which overflow
     * after 292 years.
     */
    static final Duration LONGEST = Duration.ofDays(366);

    private Check() {}

    static void range(String name, int value, int min, int max) {
        that(value >= min && value <= max, name, number(value), number(min) + " to " + number(max));
    }

    static void atLeast(String name, double value, double min) {
        that(value >= min, name, number(value), number(min) + " or more");
    }

    static void positive(String name, Duration value) {
        that(
                !value.isNegative() && !value.isZero() && value.compareTo(LONGEST) <= 0,
                name,
                value.toString(),
                "more than 0, at most 366 days");
    }

    static void notNegative(String name, Duration value) {
        that(!value.isNegative() && value.compareTo(LONGEST) <= 0, name, value.toString(), "0 to 366 days");
    }

    static void that(boolean holds, String name, String value, String expected) {
        if (!holds) {
            throw new IllegalArgumentException(name + ": " + value + ", expected " + expected);
        }
    }

    /** @return the name in lower case */
    static AsciiString headerName(String name) {
        that(HeaderSyntax.isToken(name), "header", "'" + name + "'", "the name of a header");
        return AsciiString.of(name).toLowerCase();
    }

    static String number(double value) {
        return value == Math.rint(value) ? String.format(Locale.ROOT, "%,.0f", value) : Double.toString(value);
    }
}
