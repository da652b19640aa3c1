package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Uses the API incorrectly, and checks that the program gets an error instead of a hang, and that
 * concurrent requests are answered. {@code wrong-uses.txt} has the expected results. {@code
 * -Ddocs.update=true} writes this file.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
@Timeout(100)
class MisuseIT {
    private static final boolean UPDATE = Boolean.getBoolean("docs.update");
    private static final Path PAGE = Path.of("src/test/resources/wrong-uses.txt");
    private static final String INTRODUCTION = """
            # Errors for wrong uses of the API

            Developers whose program embeds the dispatcher or runs a worker get these errors for their mistakes.

            - None of these mistakes makes a call hang or affects concurrent requests, except code that blocks an event loop.
            - Exceptions appear with their simple class names.
            - If a handler throws an exception, the worker's log has it. The client gets a general error, or the mistake if the response is
              malformed (`BAD_RESPONSE`).
            - `client:` stands before the response or exception that the sender of the request gets. `log:` stands before a line of the log.
            """;

    private final MisuseRig rig = new MisuseRig();
    /** Results by heading and name, as the file has them. */
    private final Map<String, String> results = new HashMap<>();

    @BeforeAll
    void readPage() throws IOException {
        String heading = "";
        for (String line : Files.readAllLines(PAGE)) {
            if (line.startsWith("## ")) {
                heading = line.substring(3);
            } else if (line.startsWith("| ")) {
                String[] cells = line.substring(2, line.length() - 2).split(" \\| ", 2);
                results.put(heading + ": " + cells[0], cells[1]);
            }
        }
    }

    /**
     * The tests have compared the results that the file has. What remains is compared here: its
     * other text, and which rows there are in which order. So this holds if only some tests have
     * run, too.
     */
    @AfterAll
    void end() throws IOException {
        rig.close();
        StringBuilder text = new StringBuilder(INTRODUCTION);
        String heading = "";
        for (Misuse use : Stream.of(
                        MisusedDispatcher.starts(),
                        MisusedDispatcher.requests(),
                        MisusedWorker.handlers(),
                        MisusedWorker.starts())
                .flatMap(uses -> uses)
                .toList()) {
            if (!use.heading().equals(heading)) {
                heading = use.heading();
                text.append("\n## " + heading + "\n\n| wrong use | result |\n| --- | --- |\n");
            }
            text.append("| " + use.name() + " | " + results.get(use.toString()) + " |\n");
        }
        if (UPDATE) {
            Files.writeString(PAGE, text);
        }
        assertThat(Files.readString(PAGE))
                .as("%s; -Ddocs.update=true writes it again", PAGE)
                .isEqualTo(text.toString());
    }

    @Order(1)
    @ParameterizedTest(name = "{0}")
    @MethodSource("io.lambdadispatcher.it.MisusedDispatcher#starts")
    void should_tell_of_a_wrong_dispatcher(Misuse use) {
        check(use);
    }

    @Order(2)
    @ParameterizedTest(name = "{0}")
    @MethodSource("io.lambdadispatcher.it.MisusedDispatcher#requests")
    void should_tell_of_a_wrong_request(Misuse use) {
        check(use);
    }

    @Order(3)
    @ParameterizedTest(name = "{0}")
    @MethodSource("io.lambdadispatcher.it.MisusedWorker#handlers")
    void should_tell_of_a_wrong_handler(Misuse use) {
        check(use);
    }

    @Order(4)
    @ParameterizedTest(name = "{0}")
    @MethodSource("io.lambdadispatcher.it.MisusedWorker#starts")
    void should_tell_of_a_wrong_worker(Misuse use) {
        check(use);
    }

    private void check(Misuse use) {
        rig.logged.clear();
        String told;
        try {
            told = masked(use.code().run(rig));
        } catch (Exception | AssertionError e) {
            // Maven's reports do not name the parameter of a test.
            throw new AssertionError(use.toString(), e);
        }
        if (UPDATE) {
            results.put(use.toString(), told);
        }
        assertThat(told).as(use.toString()).isNotEmpty().isEqualTo(results.get(use.toString()));
    }

    /** Replaces parts that differ between runs. */
    private static String masked(String told) {
        return told.replaceAll("Thread\\[[^\\]]*\\]", "Thread[...]")
                .replaceAll("stream \\d+", "stream N")
                .replaceAll("@[0-9a-f]{5,}", "")
                // The dispatcher and the worker have the same deadline, and either can be first.
                .replace(
                        "the handler timed out: the request's deadline has passed",
                        "no complete response within 2000 ms")
                .replaceAll("\\$\\$Lambda\\S*", "")
                .replace("|", "\\|")
                .replace("\n", " ");
    }
}
