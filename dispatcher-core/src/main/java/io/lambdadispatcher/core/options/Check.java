package io.lambdadispatcher.core.options;

import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.netty.util.AsciiString;
import java.time.Duration;
import java.util.Locale;

/** Validates options. Every message has the option's name, its value, and what was expected. */
final class Check {
    private Check() {}

    static void range(String name, int value, int min, int max) {
        that(value >= min && value <= max, name, number(value), number(min) + " to " + number(max));
    }

    static void atLeast(String name, double value, double min) {
        that(value >= min, name, number(value), number(min) + " or more");
    }

    static void positive(String name, Duration value) {
        that(!value.isNegative() && !value.isZero(), name, value.toString(), "more than 0");
    }

    static void notNegative(String name, Duration value) {
        that(!value.isNegative(), name, value.toString(), "0 or more");
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
