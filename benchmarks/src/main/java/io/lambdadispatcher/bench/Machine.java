package io.lambdadispatcher.bench;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * The conditions that results depend on besides the measured code. A value that cannot be found is
 * {@code unknown}.
 */
final class Machine {
    private static final String UNKNOWN = "unknown";

    private Machine() {}

    /** Returns the directory for results: that of the jar, or of the classes. */
    static Path target() {
        try {
            Path code = Path.of(Machine.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
            return Objects.requireNonNull(code.getParent(), "the code is in the root directory");
        } catch (URISyntaxException e) {
            throw new IllegalStateException("no path to this class", e);
        }
    }

    /** Returns the commit that is checked out in the working tree around the jar. */
    static String commit() {
        String commit = git("rev-parse", "--short=12", "HEAD");
        return commit.isEmpty() ? UNKNOWN : commit;
    }

    /** Returns whether files under version control have changes that are not committed. */
    static boolean isDirty() {
        return !git("status", "--porcelain", "--untracked-files=no").isEmpty();
    }

    /** @return Git's output; empty if Git prints nothing, or fails */
    private static String git(String... arguments) {
        try {
            Process git = new ProcessBuilder(Stream.concat(Stream.of("git"), Stream.of(arguments))
                            .toList())
                    .directory(target().toFile())
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
        } catch (IOException e) {
            return "";
        }
    }

    static String cpu() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/cpuinfo"))) {
            return lines.filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).trim())
                    .findFirst()
                    .orElse(UNKNOWN);
        } catch (IOException e) {
            return UNKNOWN;
        }
    }
}
