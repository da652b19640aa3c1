package io.lambdadispatcher.bench;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.runner.options.Options;
import org.openjdk.jmh.runner.options.TimeValue;

class BenchmarksMainTest {
    @Test
    void should_have_defaults_of_its_own() throws CommandLineOptionException {
        Options options = options();

        assertThat(options.getForkCount().get()).isEqualTo(2);
        assertThat(options.getWarmupIterations().get()).isEqualTo(5);
        assertThat(options.getWarmupTime().get()).isEqualTo(TimeValue.seconds(1));
        assertThat(options.getMeasurementIterations().get()).isEqualTo(5);
        assertThat(options.getMeasurementTime().get()).isEqualTo(TimeValue.seconds(1));
        assertThat(options.getJvmArgsAppend().get()).containsExactly(BenchmarksMain.JVM_ARGUMENTS);
    }

    @Test
    void should_leave_the_last_word_to_the_command_line() throws CommandLineOptionException {
        Options options =
                options("-f", "1", "-wi", "2", "-w", "3s", "-i", "4", "-r", "100ms", "-jvmArgsAppend", "-Xmx1g");

        assertThat(options.getForkCount().get()).isEqualTo(1);
        assertThat(options.getWarmupIterations().get()).isEqualTo(2);
        assertThat(options.getWarmupTime().get()).isEqualTo(TimeValue.seconds(3));
        assertThat(options.getMeasurementIterations().get()).isEqualTo(4);
        assertThat(options.getMeasurementTime().get()).isEqualTo(TimeValue.milliseconds(100));
        assertThat(options.getJvmArgsAppend().get()).containsExactly("-Xmx1g");
    }

    private static Options options(String... arguments) throws CommandLineOptionException {
        return BenchmarksMain.withDefaults(new CommandLineOptions(arguments)).build();
    }
}
