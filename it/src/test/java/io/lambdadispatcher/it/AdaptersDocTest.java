package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Checks that the tests exist which the page for contributors names as proofs. */
class AdaptersDocTest {
    private static final Path ROOT = Path.of("..");
    /**
     * {@code ClassTest} or {@code ClassIT$Nested.method_without_should}. An ellipsis may end the
     * method.
     */
    private static final Pattern NAMED =
            Pattern.compile("`([A-Z][a-zA-Z0-9]*(?:Test|IT))(?:\\$\\w+)?(?:\\.(?:should_)?([a-zA-Z_0-9]+)(…)?)?`");

    @Test
    void should_name_tests_that_there_are() throws IOException {
        Map<String, String> sources = sources();
        TreeSet<String> missing = new TreeSet<>();
        int named = 0;
        Matcher names = NAMED.matcher(Files.readString(ROOT.resolve("docs/contributing/conformance-tests.md")));
        for (; names.find(); named++) {
            if (!isThere(sources.get(names.group(1)), names.group(2), names.group(3) != null)) {
                missing.add(names.group());
            }
        }
        assertThat(named).isGreaterThan(40);
        assertThat(missing).isEmpty();
    }

    private static boolean isThere(String source, String method, boolean cut) {
        return source != null && (method == null || source.contains(" should_" + method + (cut ? "" : "(")));
    }

    private static Map<String, String> sources() throws IOException {
        Map<String, String> found = new HashMap<>();
        for (String module : new String[] {"dispatcher-wire", "dispatcher-core", "lambda-worker", "it"}) {
            try (Stream<Path> files = Files.walk(ROOT.resolve(module).resolve("src/test/java"))) {
                files.filter(file -> file.toString().endsWith(".java"))
                        .forEach(file -> found.put(nameOf(file), read(file)));
            }
        }
        return found;
    }

    private static String nameOf(Path file) {
        return file.getFileName().toString().replace(".java", "");
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
