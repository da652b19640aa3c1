package io.lambdadispatcher.core.observe;

import java.time.Instant;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Formats one exchange as a JSON object in one line of printable ASCII. Other characters are
 * escaped, so that a client's path can neither start a new line, nor end its string, nor control a
 * terminal.
 */
final class AccessLine {
    /**
     * The maximum length of a text, in characters. A longer one is cut off and ends with three
     * dots.
     */
    static final int MAX_TEXT_CHARS = 4096;

    private final StringBuilder line = new StringBuilder(256);

    private AccessLine() {}

    static String of(ExchangeEnd end, long epochMillis) {
        AccessLine line = new AccessLine();
        line.text("time", Instant.ofEpochMilli(epochMillis).toString());
        line.text("function", end.function());
        line.text("worker", end.workerId());
        line.text("method", end.method());
        line.text("path", end.path());
        line.number("status", end.status());
        line.text("outcome", end.outcome().name().toLowerCase(Locale.ROOT));
        line.text("failure", end.failure());
        line.number("request_bytes", end.requestBytes());
        line.number("response_bytes", end.responseBytes());
        line.number("queue_us", end.queueNanos() / 1000);
        line.number("total_us", end.totalNanos() / 1000);
        line.number("attempts", end.attempts());
        return line.line.append('}').toString();
    }

    private void number(String key, long value) {
        key(key);
        line.append(value);
    }

    /** Appends a text, or nothing if it is {@code null}. */
    private void text(String key, @Nullable CharSequence value) {
        if (value == null) {
            return;
        }
        key(key);
        line.append('"');
        int length = Math.min(value.length(), MAX_TEXT_CHARS);
        for (int i = 0; i < length; i++) {
            escape(value.charAt(i));
        }
        line.append(length < value.length() ? "...\"" : "\"");
    }

    private void key(String key) {
        line.append(line.length() == 0 ? '{' : ',').append('"').append(key).append("\":");
    }

    private void escape(char c) {
        if (c == '"' || c == '\\') {
            line.append('\\').append(c);
        } else if (c >= ' ' && c < 0x7f) {
            line.append(c);
        } else {
            line.append("\\u");
            for (int shift = 12; shift >= 0; shift -= 4) {
                line.append(Character.forDigit(c >> shift & 0xf, 16));
            }
        }
    }
}
