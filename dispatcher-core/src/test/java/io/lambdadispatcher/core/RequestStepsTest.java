package io.lambdadispatcher.core;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * The line numbers of docs/explanation/a-request-step-by-step.md are those of the code. {@code
 * -Ddocs.update=true} writes them again.
 */
class RequestStepsTest {
    private static final Path PAGE = Path.of("..", "docs", "explanation", "a-request-step-by-step.md");

    /** A link to a line of a file, with the beginning of what is declared there. */
    private static final Pattern STEP = Pattern.compile("\\[(\\w+\\.java):\\d+]\\(([^)#]+)#L\\d+\\) `([^`]+)`");

    private static final Pattern LINK = Pattern.compile("\\]\\([^)]*\\.java");

    @Test
    void should_name_the_line_of_each_declaration() throws IOException {
        String page = Files.readString(PAGE);
        String right = STEP.matcher(page).replaceAll(step -> Matcher.quoteReplacement(numbered(step)));
        if (Boolean.getBoolean("docs.update")) {
            Files.writeString(PAGE, right);
            return;
        }
        assertThat(page)
                .as("lines in %s; -Ddocs.update=true writes them again", PAGE)
                .isEqualTo(right);
    }

    @Test
    void should_check_every_link_to_code() throws IOException {
        String page = Files.readString(PAGE);
        assertThat(STEP.matcher(page).results().count())
                .isEqualTo(LINK.matcher(page).results().count())
                .isGreaterThan(6);
    }

    private static String numbered(MatchResult step) {
        String link = step.group(2);
        String declaration = step.group(3);
        Path file = Objects.requireNonNull(PAGE.getParent()).resolve(link);
        assertThat(file).hasFileName(step.group(1));
        int line = lineOf(declaration, file);
        return "[" + step.group(1) + ":" + line + "](" + link + "#L" + line + ") `" + declaration + "`";
    }

    private static int lineOf(String declaration, Path file) {
        List<String> lines = read(file);
        List<Integer> found = IntStream.rangeClosed(1, lines.size())
                .filter(line -> lines.get(line - 1).strip().startsWith(declaration))
                .boxed()
                .toList();
        assertThat(found)
                .as(
                        "lines of %s that begin with '%s'; if there are several, %s must quote more",
                        file, declaration, PAGE)
                .hasSize(1);
        return found.get(0);
    }

    private static List<String> read(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            throw new AssertionError(file + " is named by " + PAGE, e);
        }
    }
}
