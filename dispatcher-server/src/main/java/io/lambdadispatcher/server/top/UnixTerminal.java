package io.lambdadispatcher.server.top;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The controlling terminal of this process, operated by {@code stty}. */
public final class UnixTerminal implements Terminal {
    private static final Size WITHOUT_TERMINAL = new Size(120, 40);
    private static final Pattern SIZE = Pattern.compile("(\\d{1,4}) (\\d{1,4})");
    private static final Pattern NUMBER = Pattern.compile("[1-9]\\d{0,3}");
    private static final File TTY = new File("/dev/tty");
    private static final int STTY_SECONDS = 5;

    private final Map<String, String> environment;
    private final boolean present;
    private @Nullable InputStream keys;
    private volatile @Nullable String saved;

    /** @param environment {@code COLUMNS} and {@code LINES} override the terminal's size */
    public UnixTerminal(Map<String, String> environment) {
        this.environment = environment;
        this.present = isOutput();
    }

    /** Returns whether the standard output of this process is a terminal. */
    public boolean isPresent() {
        return present;
    }

    /** The JDK cannot tell a terminal from a file if only the input is one of them. */
    private static boolean isOutput() {
        try {
            run(Redirect.INHERIT, "test", "-t", "1");
            return TTY.canRead();
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public Size size() throws IOException {
        Size size = present ? sizeOf(stty("size")) : WITHOUT_TERMINAL;
        return new Size(number("COLUMNS", size.columns()), number("LINES", size.rows()));
    }

    /** Some terminals do not know their size, and say 0. */
    private static Size sizeOf(String rowsAndColumns) {
        Matcher matcher = SIZE.matcher(rowsAndColumns);
        if (!matcher.matches()) {
            return WITHOUT_TERMINAL;
        }
        int rows = Integer.parseInt(matcher.group(1));
        int columns = Integer.parseInt(matcher.group(2));
        return new Size(
                columns == 0 ? WITHOUT_TERMINAL.columns() : columns, rows == 0 ? WITHOUT_TERMINAL.rows() : rows);
    }

    private int number(String variable, int otherwise) {
        String value = environment.getOrDefault(variable, "");
        return NUMBER.matcher(value).matches() ? Integer.parseInt(value) : otherwise;
    }

    /** Without Ctrl-Z, because a stopped process would leave the terminal in this mode. */
    @Override
    public void enter() throws IOException {
        saved = stty("-g");
        stty("-icanon", "-echo", "min", "0", "time", "10", "susp", "undef");
        keys = new FileInputStream(TTY);
    }

    @Override
    public int key() throws IOException {
        // With the time of 10, read ends after a second, as if this were the end of a file.
        return keys == null ? NO_KEY : keys.read();
    }

    @Override
    public void leave() {
        String mode = saved;
        if (mode != null) {
            saved = null;
            try {
                stty(mode);
            } catch (IOException e) {
                // The terminal has been closed.
            }
        }
    }

    private static String stty(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of("stty"));
        command.addAll(List.of(arguments));
        return run(Redirect.PIPE, command.toArray(String[]::new));
    }

    private static String run(Redirect output, String... command) throws IOException {
        Process process = new ProcessBuilder(command)
                .redirectInput(TTY)
                .redirectOutput(output)
                .redirectError(Redirect.DISCARD)
                .start();
        try {
            String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).trim();
            if (!process.waitFor(STTY_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0) {
                throw new IOException(String.join(" ", command) + " has failed");
            }
            return text;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }
}
