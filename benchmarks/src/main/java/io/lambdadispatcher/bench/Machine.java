package io.lambdadispatcher.bench;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** What results depend on besides the code that they measure. Anything that cannot be found out is {@code unknown}. */
final class Machine {
    private static final String UNKNOWN = "unknown";

    private Machine() {}

    /** Where the build puts its results: the directory of the jar, or of the classes. */
    static Path target() {
        try {
            return Path.of(Machine.class
                            .getProtectionDomain()
                            .getCodeSource()
                            .getLocation()
                            .toURI())
                    .getParent();
        } catch (URISyntaxException e) {
            throw new IllegalStateException("no path to this class", e);
        }
    }

    /** What the working tree around the jar has checked out. */
    static String commit() {
        try {
            Process git = new ProcessBuilder("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
                    .directory(target().toFile())
                    .redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            String commit = new String(git.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
            return commit.isEmpty() ? UNKNOWN : commit;
        } catch (IOException e) {
            return UNKNOWN;
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
