package io.lambdadispatcher.wire.http;

import java.time.Duration;
import java.util.Locale;
import java.util.regex.Pattern;

/**
 * Makes text from outside safe for a log, a terminal and a page: it has no characters that begin a
 * line, control a terminal, or hide or reorder what is next to them. These are the Unicode
 * categories Cc, Cf (with the bidirectional controls), Zl and Zp. Each of their UTF-16 units
 * becomes {@code \}{@code u} and four hexadecimal digits, as in JSON. A tab becomes a space, and an
 * unpaired surrogate, which many parsers of JSON reject, becomes U+FFFD. A backslash stays, so text
 * that is already printable does not change. Any thread.
 *
 * <p>Text is made printable where it is read. The server's log does it once more, because libraries
 * log, too.
 */
public final class PrintableText {
    private static final int MAX_START_CHARS = 500;

    /** The AWS SDK lists why each of its eight sources of credentials failed: 1,500 characters. */
    private static final int MAX_FAILURE_CHARS = 4000;

    private static final int MAX_CAUSES = 20;
    private static final String LEFT_OUT = " ... ";
    private static final Pattern LINE_BREAK = Pattern.compile("\\R\\s*");

    private PrintableText() {}

    /**
     * Returns a number with what it counts.
     *
     * @param one what follows if the number is 1
     * @param many what follows otherwise
     */
    public static String counted(long number, String one, String many) {
        return number + " " + (number == 1 ? one : many);
    }

    /** Returns a duration as settings have it, for example {@code 30 s} or {@code 1500 ms}. */
    public static String of(Duration duration) {
        long millis = duration.toMillis();
        return millis % 1000 == 0 ? millis / 1000 + " s" : millis + " ms";
    }

    /** Returns the name of a constant in words, for example {@code scale in}. */
    public static String of(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    /** Returns the complete text, itself if it is a printable string. */
    public static String of(CharSequence text) {
        int length = text.length();
        StringBuilder escaped = null;
        int copied = 0;
        int next;
        for (int i = 0; i < length; i = next) {
            int c = Character.codePointAt(text, i);
            next = i + Character.charCount(c);
            if (!isPrintable(c)) {
                escaped = escaped == null ? new StringBuilder(length + 32) : escaped;
                escaped.append(text, copied, i);
                appendReplacement(escaped, text, i, next);
                copied = next;
            }
        }
        return escaped == null
                ? text.toString()
                : escaped.append(text, copied, length).toString();
    }

    /**
     * Returns the text, or its start and three dots if it is longer than {@code maxChars}. The
     * result can be six times as long.
     */
    public static String of(CharSequence text, int maxChars) {
        return text.length() <= maxChars ? of(text) : of(text.subSequence(0, maxChars)) + "...";
    }

    /** Returns the text, or its start if it is too long for a line of a log. */
    public static String startOf(CharSequence text) {
        return of(text, MAX_START_CHARS);
    }

    /**
     * Returns the class and the message of an exception, which can quote a peer, and of its causes.
     * See {@link #ofFailure(Throwable)}.
     */
    public static String startOf(Throwable failure) {
        return ofFailure(withCauses(failure.toString(), failure));
    }

    /**
     * Returns the description of a failure. The middle of a very long one is left out, because the
     * root cause often stands at the end.
     */
    public static String ofFailure(CharSequence text) {
        int length = text.length();
        if (length <= MAX_FAILURE_CHARS) {
            return of(text);
        }
        int half = MAX_FAILURE_CHARS / 2 - LEFT_OUT.length();
        return of(text.subSequence(0, half)) + LEFT_OUT + of(text.subSequence(length - half, length));
    }

    /**
     * Returns the message of an exception, followed by each of its causes that it does not quote,
     * down to the root cause. Line breaks become spaces.
     */
    public static String ofFailure(Throwable failure) {
        Throwable told = failure;
        // The message of a wrapper, for example a CompletionException, is that of its cause.
        while (told.getCause() != null
                && (told.getMessage() == null
                        || told.getMessage().equals(told.getCause().toString()))) {
            told = told.getCause();
        }
        return ofFailure(withCauses(said(told), told));
    }

    private static String withCauses(String first, Throwable failure) {
        StringBuilder text = new StringBuilder(inOneLine(first));
        Throwable root = failure;
        for (int i = 0; root.getCause() != null && i < MAX_CAUSES; i++) {
            root = root.getCause();
            if (text.indexOf(inOneLine(said(root))) < 0) {
                text.append(": ").append(inOneLine(root.toString()));
            }
        }
        // The root cause could be quoted in the middle, which is left out.
        return text.length() > MAX_FAILURE_CHARS && root != failure
                ? text + ": " + inOneLine(root.toString())
                : text.toString();
    }

    /**
     * One word, for example the name of a file or a host, says nothing without the class. Nor does
     * the message of an error of the JVM, which is the name of a class or a method.
     */
    private static String said(Throwable failure) {
        String message = failure.getMessage();
        return message == null || message.indexOf(' ') < 0 || failure instanceof Error ? failure.toString() : message;
    }

    private static String inOneLine(String text) {
        return LINE_BREAK.matcher(text).replaceAll(" ");
    }

    /** Appends the escape sequence of any character, for text that is ASCII only. */
    public static void appendEscape(StringBuilder to, char c) {
        to.append("\\u");
        for (int shift = 12; shift >= 0; shift -= 4) {
            to.append(Character.forDigit(c >> shift & 0xf, 16));
        }
    }

    private static void appendReplacement(StringBuilder to, CharSequence text, int start, int end) {
        char first = text.charAt(start);
        if (first == '\t') {
            to.append(' ');
        } else if (end - start == 1 && Character.isSurrogate(first)) {
            to.append('\ufffd');
        } else {
            for (int i = start; i < end; i++) {
                appendEscape(to, text.charAt(i));
            }
        }
    }

    private static boolean isPrintable(int c) {
        if (c < 0x7F) {
            return c >= ' ';
        }
        return switch (Character.getType(c)) {
            case Character.CONTROL,
                    Character.FORMAT,
                    Character.SURROGATE,
                    Character.LINE_SEPARATOR,
                    Character.PARAGRAPH_SEPARATOR -> false;
            default -> true;
        };
    }
}
