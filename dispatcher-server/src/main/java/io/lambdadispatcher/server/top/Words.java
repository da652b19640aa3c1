package io.lambdadispatcher.server.top;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Locale;

/** Writes values as the live page does. */
final class Words {
    private static final int FEW_SECONDS = 10;
    private static final int SIGNIFICANT_DIGITS = 2;
    private static final int MINUTE = 60;
    private static final int HOUR = 3600;
    private static final double KILOBYTE = 1e3;
    private static final double MEGABYTE = 1e6;

    private Words() {}

    static String number(double value) {
        return String.format(Locale.ROOT, value == Math.rint(value) ? "%,.0f" : "%,.1f", value);
    }

    /** Writes a number and a noun, such as "1 launch" or "2 launches". */
    static String count(double value, String one, String many) {
        return number(value) + " " + (value == 1 ? one : many);
    }

    /** Writes a clause as a sentence. */
    static String sentence(String clause) {
        return clause.substring(0, 1).toUpperCase(Locale.ROOT) + clause.substring(1) + ".";
    }

    static String percent(double part) {
        return Math.round(part * 100) + " %";
    }

    static String duration(double seconds) {
        if (seconds < FEW_SECONDS) {
            return number(Math.round(seconds * 10) / 10.0) + " s";
        }
        long whole = Math.round(seconds);
        if (whole < MINUTE) {
            return whole + " s";
        }
        return whole < HOUR
                ? whole / MINUTE + " min " + whole % MINUTE + " s"
                : whole / HOUR + " h " + whole % HOUR / MINUTE + " min";
    }

    static String bytes(double value) {
        if (value < KILOBYTE) {
            return number(value) + " B";
        }
        return value < MEGABYTE
                ? String.format(Locale.ROOT, "%.1f KB", value / KILOBYTE)
                : String.format(Locale.ROOT, "%.1f MB", value / MEGABYTE);
    }

    static String dollars(double value) {
        if (value >= 1) {
            return String.format(Locale.ROOT, "$%.2f", value);
        }
        BigDecimal rounded = new BigDecimal(value).round(new MathContext(SIGNIFICANT_DIGITS));
        return "$"
                + (value == 0
                        ? "0"
                        : rounded.setScale(rounded.scale() + SIGNIFICANT_DIGITS - rounded.precision())
                                .toPlainString());
    }

    /** Returns hours, minutes and seconds of a time such as 2026-11-23T12:30:45Z. */
    static String time(String iso) {
        return iso.length() < "2026-11-23T12:30:45".length() ? iso : iso.substring(11, 19);
    }

    /** Shortens an id of a worker. */
    static String id(String id) {
        return id.length() > 13 ? id.substring(0, 8) + ".." : id;
    }
}
