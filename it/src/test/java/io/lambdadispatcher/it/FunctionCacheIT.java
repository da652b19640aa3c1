package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lambdadispatcher.wire.testkit.Await;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Adds a cache of loaded classes to the zip of a function for a managed runtime, and starts it with
 * the JVM that has made the cache, and with others. Making the cache includes a launch, which
 * serves requests.
 */
@StartsPrograms
@Timeout(300)
class FunctionCacheIT {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final Path ZIP = ROOT.resolve("examples/hello/target/hello-function.zip");
    private static final String HANDLER = "io.lambdadispatcher.worker.LambdaHandler";
    private static final String FROM_CACHE = " source: shared objects file";

    @TempDir
    private static Path directory;

    private static Path maker;
    private static Path function;

    @BeforeAll
    static void addCache() throws Exception {
        maker = jdk("25");
        function = build(maker, "task", ZIP);
    }

    /** Returns the directory of a function whose cache is for this JVM. */
    private static Path build(Path jdk, String name, Path from) throws Exception {
        assumeTrue(Files.exists(from), from + " is missing: run mvn package first");
        Path zip = directory.resolve(name + ".zip");
        Path log = directory.resolve(name + ".log");
        String tool = ROOT.resolve("docker/build-function").toString();
        Process build = new ProcessBuilder(
                        tool,
                        "--jdk",
                        jdk.toString(),
                        "com.example.hello.HelloHandler",
                        from.toString(),
                        zip.toString())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        assertThat(build.waitFor(240, TimeUnit.SECONDS)).isTrue();
        assertThat(build.exitValue()).as(Files.readString(log)).isZero();
        Path task = Files.createDirectory(directory.resolve(name));
        run(List.of("python3", "-m", "zipfile", "-e", zip.toString(), task.toString()));
        // Lambda keeps the permissions and the times in a zip. This command does not.
        assertThat(task.resolve("bootstrap").toFile().setExecutable(true)).isTrue();
        try (Stream<Path> jars = Files.list(task.resolve("lib"))) {
            for (Path jar : jars.toList()) {
                Files.setLastModifiedTime(jar, FileTime.from(Instant.parse("2000-01-01T00:00:00Z")));
            }
        }
        return task;
    }

    /** A JDK of this release, or a skipped test. */
    private static Path jdk(String release) throws IOException {
        try (Stream<Path> homes = Files.list(Path.of("/usr/lib/jvm"))) {
            Path home = homes.filter(some -> Files.isExecutable(some.resolve("bin/jlink")))
                    .filter(some -> some.getFileName().toString().contains(release))
                    .min(Comparator.naturalOrder())
                    .orElse(null);
            assumeTrue(home != null, "no JDK " + release + " in /usr/lib/jvm");
            return home;
        }
    }

    private static void run(List<String> command) throws Exception {
        assertThat(new ProcessBuilder(command).inheritIO().start().waitFor()).isZero();
    }

    /**
     * Passes the command of a managed runtime to the wrapper script, until the handler's class is
     * loaded.
     *
     * @return the output, and a line for each loaded class
     */
    private static String start(Path task, Path java) throws Exception {
        Path output = Files.createTempFile(directory, "output", ".log");
        List<String> command = new ArrayList<>(List.of(task.resolve("bootstrap").toString()));
        command.addAll(
                List.of(java.resolve("bin/java").toString(), "-Xlog:class+load", "-Xshare:auto", "-XX:+UseSerialGC"));
        command.addAll(List.of(
                "-XX:TieredStopAtLevel=1",
                "-cp",
                directory.resolve("runtime.jar").toString()));
        command.addAll(List.of("com.amazonaws.services.lambda.runtime.api.client.AWSLambda", HANDLER));
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("LAMBDA_TASK_ROOT", task.toString());
        builder.environment().put("LAMBDA_DISPATCHER_HANDLER", "com.example.hello.HelloHandler");
        builder.environment().put("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:1");
        Process process = builder.start();
        try {
            Await.until(
                    "the handler is loaded, see " + output,
                    () -> read(output).contains("com.example.hello.HelloHandler source:"));
        } finally {
            process.destroyForcibly().waitFor();
        }
        return read(output);
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return "";
        }
    }

    /** A copy of the function whose other files are links. */
    private static Path copy(String name, String changed, byte[] content) throws IOException {
        Path copy = Files.createDirectory(directory.resolve(name));
        try (Stream<Path> files = Files.list(function)) {
            for (Path file : files.toList()) {
                Files.createSymbolicLink(copy.resolve(file.getFileName()), file);
            }
        }
        Files.delete(copy.resolve(changed));
        Files.write(copy.resolve(changed), content);
        return copy;
    }

    @Test
    void should_load_classes_from_the_cache_with_the_jvm_that_made_it() throws Exception {
        String output = startInLambda(function, maker);
        assertThat(output).contains(HANDLER + FROM_CACHE, "com.example.hello.HelloHandler" + FROM_CACHE);
        assertThat(output).doesNotContain("[warning", "[error");
    }

    @Test
    void should_load_classes_from_the_jars_with_an_older_jvm() throws Exception {
        String output = start(function, jdk("17"));
        assertThat(output).contains(HANDLER + " source: file:");
        assertThat(output).doesNotContain("[warning", "[error", "nrecognized");
    }

    @Test
    void should_load_classes_from_an_archive_with_the_older_jvm_that_made_it() throws Exception {
        Path old = jdk("17");
        String output = startInLambda(build(old, "old", ZIP), old);
        assertThat(output).contains(HANDLER + FROM_CACHE, "com.example.hello.HelloHandler" + FROM_CACHE);
        assertThat(output).doesNotContain("[warning", "[error", "nrecognized");
    }

    /** As in the zip of a Spring Boot application. */
    @Test
    void should_load_classes_beside_the_jars_from_the_cache() throws Exception {
        Path parts = Files.createDirectory(directory.resolve("parts"));
        run(List.of("python3", "-m", "zipfile", "-e", ZIP.toString(), parts.toString()));
        Path jar;
        try (Stream<Path> jars = Files.list(parts.resolve("lib"))) {
            jar = jars.filter(each -> each.getFileName().toString().startsWith("hello-"))
                    .findFirst()
                    .orElseThrow();
        }
        run(List.of("python3", "-m", "zipfile", "-e", jar.toString(), parts.toString()));
        Files.delete(jar);
        Path zip = directory.resolve("beside-lib.zip");
        run(List.of("python3", "-m", "zipfile", "-c", zip.toString(), parts + "/."));
        String output = startInLambda(build(maker, "beside", zip), maker);
        assertThat(output).contains("com.example.hello.HelloHandler" + FROM_CACHE);
        assertThat(output).doesNotContain("[warning", "[error");
    }

    /** A JVM may use a cache only if the jars have the same paths as when it was made. */
    private static String startInLambda(Path built, Path java) throws Exception {
        Path task = Path.of("/var/task");
        assumeTrue(Files.isWritable(task.getParent()) && !Files.exists(task), task + " cannot be created");
        Files.createSymbolicLink(task, built);
        try {
            return start(task, java);
        } finally {
            Files.delete(task);
        }
    }

    @Test
    void should_use_the_own_cache_of_another_build() throws Exception {
        Path other = copy("other", "classes.release", "JAVA_VERSION=\"25.0.1\"\n".getBytes(StandardCharsets.UTF_8));
        String output = start(other, maker);
        assertThat(output).contains("java.lang.Object" + FROM_CACHE, HANDLER + " source: file:");
        assertThat(output).doesNotContain("[warning", "[error");
    }

    @Test
    void should_start_without_a_cache_that_is_invalid() throws Exception {
        byte[] part = new byte[1 << 20];
        try (var cache = Files.newInputStream(function.resolve("classes.aot"))) {
            assertThat(cache.readNBytes(part, 0, part.length)).isEqualTo(part.length);
        }
        assertThat(start(copy("partial", "classes.aot", part), maker)).contains(HANDLER + " source: file:");
    }
}
