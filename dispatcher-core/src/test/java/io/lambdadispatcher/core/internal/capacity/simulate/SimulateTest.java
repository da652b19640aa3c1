package io.lambdadispatcher.core.internal.capacity.simulate;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SimulateTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @Test
    void should_print_a_table_and_write_results(@TempDir Path directory) throws IOException {
        int status = run("scale-up", "--requests", "200", "--out", directory.toString());

        assertThat(status).isZero();
        assertThat(out.toString(UTF_8)).contains("published: dispatch 81 rps").containsPattern("answered +200 +200");
        assertThat(directory.resolve("scale-up.json"))
                .content()
                .contains("\"requests\": 200.0", "\"ready\": 20", "\"answered\": 200");
        assertThat(directory.resolve("scale-up.svg"))
                .content()
                .startsWith("<svg")
                .endsWith("</svg>\n");
    }

    @Test
    void should_say_what_it_expected() throws IOException {
        assertThat(run("scale-down")).isEqualTo(2);
        assertThat(run("spike", "--rates", "7")).isEqualTo(2);
        assertThat(run("spike", "--rate", "many")).isEqualTo(2);
        assertThat(run("spike", "--rate", "-1")).isEqualTo(2);

        assertThat(err.toString(UTF_8).lines())
                .satisfiesExactly(
                        line -> assertThat(line).contains("scale-down", "scale-up-small"),
                        line -> assertThat(line).contains("--rates"),
                        line -> assertThat(line).contains("many", "number"),
                        line -> assertThat(line).contains("-1", "0 or more"));
    }

    @Test
    void should_list_what_there_is() throws IOException {
        assertThat(run("--help")).isZero();

        assertThat(out.toString(UTF_8)).contains("diurnal", "--service-millis", "--gb-second-dollars");
    }

    private int run(String... arguments) throws IOException {
        return Simulate.run(arguments, new PrintStream(out, true, UTF_8), new PrintStream(err, true, UTF_8));
    }
}
