package io.lambdadispatcher.core.internal.engine;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.testkit.LoggedLines;
import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@EachRelease
class DescriptorsTest {
    @TempDir
    Path directory;

    @ParameterizedTest
    @CsvSource({
        "10000, 300, 1048576, 200, 10000",
        "10000, 300, 10300, 200, 10000",
        "10000, 301, 10300, 200, 9999",
        "10000, 300, 1024, 200, 724",
        "10000, 300, 1024, 300, 660",
        "10000, 1000, 1024, 200, 512",
        "10000, 300, 256, 100, 92",
        "10000, 300, 256, 200, 1",
        "10000, 300, 9223372036854775807, 0, 10000"
    })
    void should_keep_descriptors_for_workers(int wanted, long reserve, long max, long open, int expected) {
        assertThat(new Descriptors(max, open).forClients(wanted, reserve)).isEqualTo(expected);
    }

    @Test
    void should_say_how_many_connections_are_served_and_what_to_raise() {
        LoggedLines log = LoggedLines.of(Descriptors.class, Level.WARN);
        try (log) {
            new Descriptors(1024, 200).forClients(10_000, 300);
        }
        assertThat(log.messages())
                .containsExactly(
                        "http.max-connections: 10000, but the process may open only 1024 files and keeps 300 for"
                                + " workers: at most 724 client connections are served. Raise the limit (ulimit -n) to at least"
                                + " 10300.");
    }

    @ParameterizedTest
    @CsvSource({"1048576, 200, 10000, 256", "1024, 200, 724, 50", "256, 100, 92, 32", "256, 250, 1, 2", "256, 300, 1, 1"
    })
    void should_accept_no_more_at_once_than_there_are_descriptors(long max, long open, int clients, int expected) {
        assertThat(new Descriptors(max, open).acceptsPerTurn(clients)).isEqualTo(expected);
    }

    /** Otherwise a jar that cannot be opened later is missing until the process ends. */
    @Test
    void should_open_all_jars_of_the_class_path() throws Exception {
        Path jar = directory.resolve("late.jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
            out.putNextEntry(new JarEntry("late/Late.class"));
        }
        List<URL> classPath = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            classPath.add(Path.of(entry).toUri().toURL());
        }
        classPath.add(jar.toUri().toURL());
        try (URLClassLoader loader = new URLClassLoader(classPath.toArray(URL[]::new), new LogsOnly())) {
            Class<?> descriptors = loader.loadClass(Descriptors.class.getName());

            descriptors.getMethod("ofProcess").invoke(null);

            Files.delete(jar);
            assertThat(loader.getResource("late/Late.class")).isNotNull();
        }
    }

    /**
     * A log that has begun already. Otherwise, its search for a provider and for its settings would
     * open all jars.
     */
    private static final class LogsOnly extends ClassLoader {
        LogsOnly() {
            super(getPlatformClassLoader());
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (name.startsWith("org.slf4j.")) {
                return DescriptorsTest.class.getClassLoader().loadClass(name);
            }
            throw new ClassNotFoundException(name);
        }
    }

    /** 256, and 5 for each of 20 workers: 10 workers, and 10 that replace them. */
    @Test
    void should_reserve_for_each_worker_and_its_replacement() {
        FunctionOptions function = FunctionOptions.builder("a")
                .capacity(CapacityPolicy.builder().workers(0, 10).build())
                .connectionsPerWorker(2)
                .build();
        assertThat(Descriptors.reserve(List.of(function))).isEqualTo(256 + 20 * 5);
    }

    @Test
    void should_serve_a_client_of_this_process() {
        assertThat(Descriptors.ofProcess().forClients(HttpLimits.defaults(), List.of()))
                .isPositive();
    }
}
