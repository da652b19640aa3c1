package io.lambdadispatcher.core.internal.policy;

import io.lambdadispatcher.core.options.DeadlinePolicy;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Reads and writes the headers with which clients say how long they wait. {@code grpc-timeout} is 1
 * to 8 digits and a unit: H, M, S, m, u or n. Any other header is 1 to 10 digits, in milliseconds
 * or with the unit ms or s. A value that is not valid counts as absent, because it says nothing
 * about how long the client waits.
 */
public final class DeadlineHeaders {
    /** There is no deadline. */
    public static final long NONE = Long.MAX_VALUE;

    private static final AsciiString GRPC_TIMEOUT = AsciiString.cached("grpc-timeout");
    private static final int MAX_GRPC_DIGITS = 8;
    private static final long MAX_GRPC_VALUE = 99_999_999;
    private static final int MAX_DIGITS = 10;
    private static final long INVALID = -1;

    private DeadlineHeaders() {}

    /**
     * Returns the time that a request has, from its arrival: the shortest of the policy's limit and
     * of the headers that it names.
     *
     * @return nanoseconds, 0 or more; {@link #NONE} if nothing limits the time
     */
    public static long budgetNanos(DeadlinePolicy policy, Http2Headers request) {
        long budget = policy.limit().isZero() ? NONE : policy.limit().toNanos();
        List<CharSequence> names = policy.headers();
        for (int i = 0; i < names.size(); i++) {
            long given = parse(names.get(i), request.get(names.get(i)));
            if (given != INVALID && given < budget) {
                budget = given;
            }
        }
        return budget;
    }

    /**
     * Replaces the time in each header that the policy names and the request has.
     *
     * @param leftNanos time that is left, more than 0
     */
    public static void writeLeft(DeadlinePolicy policy, Http2Headers request, long leftNanos) {
        List<CharSequence> names = policy.headers();
        for (int i = 0; i < names.size(); i++) {
            CharSequence name = names.get(i);
            CharSequence given = request.get(name);
            if (given != null) {
                request.set(name, GRPC_TIMEOUT.contentEquals(name) ? formatGrpc(leftNanos) : format(leftNanos, given));
            }
        }
    }

    /** @return nanoseconds, or {@link #INVALID} */
    private static long parse(CharSequence name, @Nullable CharSequence value) {
        if (value == null) {
            return INVALID;
        }
        boolean grpc = GRPC_TIMEOUT.contentEquals(name);
        int digits = 0;
        long number = 0;
        while (digits < value.length() && isDigit(value.charAt(digits))) {
            if (digits == (grpc ? MAX_GRPC_DIGITS : MAX_DIGITS)) {
                return INVALID;
            }
            number = 10 * number + value.charAt(digits++) - '0';
        }
        TimeUnit unit = digits == 0 ? null : grpc ? grpcUnit(value, digits) : unit(value, digits);
        return unit == null ? INVALID : unit.toNanos(number);
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    private static @Nullable TimeUnit grpcUnit(CharSequence value, int at) {
        if (value.length() != at + 1) {
            return null;
        }
        return switch (value.charAt(at)) {
            case 'H' -> TimeUnit.HOURS;
            case 'M' -> TimeUnit.MINUTES;
            case 'S' -> TimeUnit.SECONDS;
            case 'm' -> TimeUnit.MILLISECONDS;
            case 'u' -> TimeUnit.MICROSECONDS;
            case 'n' -> TimeUnit.NANOSECONDS;
            default -> null;
        };
    }

    private static @Nullable TimeUnit unit(CharSequence value, int at) {
        int rest = value.length() - at;
        if (rest == 0 || rest == 2 && value.charAt(at) == 'm' && value.charAt(at + 1) == 's') {
            return TimeUnit.MILLISECONDS;
        }
        return rest == 1 && value.charAt(at) == 's' ? TimeUnit.SECONDS : null;
    }

    /** Rounds down, so that nobody waits longer than the client. */
    private static AsciiString formatGrpc(long nanos) {
        long micros = Math.max(1, TimeUnit.NANOSECONDS.toMicros(nanos));
        if (micros <= MAX_GRPC_VALUE) {
            return AsciiString.of(micros + "u");
        }
        long millis = TimeUnit.MICROSECONDS.toMillis(micros);
        return AsciiString.of(
                millis <= MAX_GRPC_VALUE
                        ? millis + "m"
                        : Math.min(MAX_GRPC_VALUE, TimeUnit.MILLISECONDS.toSeconds(millis)) + "S");
    }

    private static AsciiString format(long nanos, CharSequence given) {
        long millis = Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos));
        boolean plain = given.length() == 0 || isDigit(given.charAt(given.length() - 1));
        return AsciiString.of(plain ? Long.toString(millis) : millis + "ms");
    }
}
