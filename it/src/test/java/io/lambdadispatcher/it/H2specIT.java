package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Runs h2spec's strict tests of HTTP/2 (RFC 9113). Skipped if h2spec is not installed. */
@Timeout(300)
class H2specIT {
    private static final Path OF_GO = Path.of(System.getProperty("user.home"), "go", "bin", "h2spec");

    /** The route /ping may answer before h2spec has sent what a stream must not survive. */
    private static final String WAITS_FOR_THE_BODY = "/debug";

    private static String program = "";
    private static Rig rig;

    @BeforeAll
    static void start() throws Exception {
        program = Stream.of("h2spec", OF_GO.toString())
                .filter(H2specIT::isInstalled)
                .findFirst()
                .orElse("");
        assumeTrue(!program.isEmpty(), "h2spec is not installed");
        rig = Rig.start();
        rig.worker(1, 20);
    }

    private static boolean isInstalled(String name) {
        try {
            return new ProcessBuilder(name, "--version").start().waitFor() == 0;
        } catch (IOException | InterruptedException e) {
            return false;
        }
    }

    @AfterAll
    static void stop() throws Exception {
        if (rig != null) {
            rig.close();
        }
    }

    /** @return the names of the tests that failed */
    private static List<String> failures(int port, String... flags) throws Exception {
        List<String> command = new ArrayList<>(
                List.of(program, "-S", "-h", "127.0.0.1", "-p", "" + port, "-P", WAITS_FOR_THE_BODY, "-o", "10"));
        command.addAll(List.of(flags));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        assertThat(output).containsPattern("14\\d passed, 0 skipped");
        return output.lines()
                .map(String::strip)
                .filter(line -> line.startsWith("\u00d7"))
                .distinct()
                .toList();
    }

    @Test
    void should_pass_all_tests_over_tls() throws Exception {
        int port = rig.dispatcher.publicAddresses().get(1).getPort();
        assertThat(failures(port, "-t", "-k")).isEmpty();
    }

    /** On this port, bytes that are not HTTP/2's preface are HTTP/1.1, so they get an answer. */
    @Test
    void should_pass_all_tests_on_the_plain_port_except_that_of_a_bad_preface() throws Exception {
        assertThat(failures(rig.plainPort())).containsOnly("\u00d7 2: Sends invalid connection preface");
    }
}
