package io.lambdadispatcher.core.options;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * What a running dispatcher tells operators has the names of settings, and durations in seconds.
 * Whoever builds one gets exceptions with the names of options, and what a fleet writes into its
 * ledger is for other dispatchers.
 */
class MessagesTest {
    private static final Path MAIN = Path.of("src/main/java/io/lambdadispatcher/core/internal");
    private static final Set<String> FOR_PROGRAMS = Set.of("assembly", "BudgetLimits.java");
    private static final Pattern TEXT = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"");
    private static final Pattern OPTION =
            Pattern.compile("\\b(?:maxWorkers|minWorkers|launchesPerMinute|gbSecondsPerHour"
                    + "|launchTimeout|queueTimeout|requestTimeout|maxConnections|maxWorkerAge|downstreamConnections"
                    + "|connectionsPerWorker|streamsPerConnection|queueLimit)\\b(?!\\()");
    private static final Pattern ISO_DURATION = Pattern.compile(
            "\"[^\"]* (?:within|for|after) \" \\+ (?!PrintableText)(?:\\w+\\.)*\\w*[tT]imeout(?:\\(\\))?[ ;)]");

    @Test
    void should_have_names_of_settings_and_seconds() throws IOException {
        List<String> found = new ArrayList<>();
        try (Stream<Path> files = Files.walk(MAIN)) {
            for (Path file :
                    files.filter(each -> each.toString().endsWith(".java")).toList()) {
                if (FOR_PROGRAMS.stream().noneMatch(each -> file.toString().contains(each))) {
                    look(file, found);
                }
            }
        }
        assertThat(found).isEmpty();
    }

    private static void look(Path file, List<String> found) throws IOException {
        for (String line : Files.readAllLines(file)) {
            Matcher text = TEXT.matcher(line);
            while (text.find()) {
                if (OPTION.matcher(text.group(1)).find()) {
                    found.add(file.getFileName() + ": " + line.strip());
                }
            }
            if (ISO_DURATION.matcher(line).find()) {
                found.add(file.getFileName() + ": " + line.strip());
            }
        }
    }
}
