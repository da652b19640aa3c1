package io.lambdadispatcher.server.status;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The size of the terminal that shows the standard output of this process.
 *
 * @param columns at least 20
 * @param rows at least 2; 0 = the output is not a terminal
 */
public record TerminalSize(int columns, int rows) {
    private static final int COLUMNS = 80;
    private static final int ROWS = 24;
    private static final int FEWEST_COLUMNS = 20;
    private static final int FEWEST_ROWS = 2;
    /** The JDK cannot tell whether only the output is a terminal. */
    private static final String QUESTION = "test -t 1 && stty size <&1 >&2";

    private static final Pattern ANSWER = Pattern.compile("(\\d{1,4}) (\\d{1,4})");

    boolean isTerminal() {
        return rows > 0;
    }

    /** @param environment {@code COLUMNS} and {@code LINES} override the size of the terminal */
    public static TerminalSize ofOutput(Map<String, String> environment) {
        Matcher rowsAndColumns = ANSWER.matcher(ask());
        if (!rowsAndColumns.matches()) {
            return new TerminalSize(number(environment.get("COLUMNS"), COLUMNS, FEWEST_COLUMNS), 0);
        }
        return new TerminalSize(
                number(environment.getOrDefault("COLUMNS", rowsAndColumns.group(2)), COLUMNS, FEWEST_COLUMNS),
                number(environment.getOrDefault("LINES", rowsAndColumns.group(1)), ROWS, FEWEST_ROWS));
    }

    /** Some terminals do not know their size, and say 0. */
    private static int number(@Nullable String text, int otherwise, int least) {
        return text != null && text.matches("[1-9]\\d{0,3}") ? Math.max(least, Integer.parseInt(text)) : otherwise;
    }

    private static String ask() {
        try {
            Process process = new ProcessBuilder("sh", "-c", QUESTION)
                    .redirectInput(Redirect.INHERIT)
                    .redirectOutput(Redirect.INHERIT)
                    .start();
            return new String(process.getErrorStream().readAllBytes(), StandardCharsets.US_ASCII).strip();
        } catch (IOException e) {
            // There is no shell, for example in an image without one.
            return "";
        }
    }
}
