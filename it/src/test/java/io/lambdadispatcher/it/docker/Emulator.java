package io.lambdadispatcher.it.docker;

import io.lambdadispatcher.aws.LambdaLauncher;
import io.lambdadispatcher.core.spi.WorkerLauncher;
import io.lambdadispatcher.server.demo.DemoHandler;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.MountableFile;

/**
 * Launches workers in a few containers of Lambda's runtime interface emulator. Each container is an
 * execution environment that runs one invoke at a time. A launch uses a free one, or is throttled.
 */
final class Emulator implements WorkerLauncher {
    private static final int PORT = 8080;
    private static final Path FUNCTION = unpackedFunction();

    /** One execution environment and the launcher that invokes it. */
    private static final class Environment {
        final GenericContainer<?> container;
        final LambdaLauncher launcher;
        boolean busy;

        Environment(String function, Duration timeout, int megabytes, double processors, Code code) {
            container = new GenericContainer<>(Image.EMULATOR.imageName())
                    .withExposedPorts(PORT)
                    .withExtraHost(Cloud.HOST, "host-gateway")
                    .withEnv("AWS_LAMBDA_FUNCTION_TIMEOUT", Long.toString(timeout.toSeconds()))
                    .withEnv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", Integer.toString(megabytes))
                    .withEnv("LAMBDA_DISPATCHER_HANDLER", code.handler())
                    .withEnv("JAVA_HEAP", "-XX:MaxRAMPercentage=60")
                    .withCopyFileToContainer(MountableFile.forHostPath(FUNCTION), "/var/task/lib")
                    .withCreateContainerCmdModifier(create -> create.getHostConfig()
                            .withMemory(megabytes * 1024L * 1024)
                            .withMemorySwap(megabytes * 1024L * 1024)
                            .withCpuPeriod(100_000L)
                            .withCpuQuota((long) (processors * 100_000)))
                    .waitingFor(Wait.forListeningPort().withStartupTimeout(Duration.ofMinutes(3)));
            code.files()
                    .forEach((path, target) ->
                            container.withCopyFileToContainer(MountableFile.forHostPath(path), target));
            container.start();
            launcher = LambdaLauncher.builder()
                    .function(function, "function")
                    .region(Cloud.REGION)
                    .endpoint(URI.create("http://" + container.getHost() + ":" + container.getMappedPort(PORT)))
                    .build();
        }
    }

    /**
     * The code of the workers.
     *
     * @param files from paths on this machine to paths in the function
     */
    record Code(String handler, Map<Path, String> files) {}

    private final List<Environment> environments = new ArrayList<>();

    /** @param processors limit of each environment; AWS provides one per 1,769 MB */
    Emulator(String function, int count, Duration timeout, int megabytes, double processors) {
        this(
                function,
                count,
                timeout,
                megabytes,
                processors,
                new Code(DemoHandler.class.getName(), Map.of(FunctionArchive.demoJar(), "/var/task/lib/demo.jar")));
    }

    Emulator(String function, int count, Duration timeout, int megabytes, double processors, Code code) {
        System.setProperty("aws.accessKeyId", "test");
        System.setProperty("aws.secretAccessKey", "test");
        for (int i = 0; i < count; i++) {
            environments.add(new Environment(function, timeout, megabytes, processors, code));
        }
    }

    private static Path unpackedFunction() {
        Path directory = Path.of("target", "function-lib").toAbsolutePath();
        try (ZipInputStream zip =
                new ZipInputStream(Files.newInputStream(Path.of(System.getProperty("it.function.zip"))))) {
            Files.createDirectories(directory);
            for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
                if (entry.getName().endsWith(".jar")) {
                    Path jar = directory.resolve(Path.of(entry.getName()).getFileName());
                    try (InputStream content = new java.io.ByteArrayInputStream(zip.readAllBytes())) {
                        Files.copy(content, jar, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
                    }
                }
            }
            return directory;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the URL of the first environment's Invoke API, for calls without the launcher. */
    URI invocations() {
        GenericContainer<?> container = environments.get(0).container;
        return URI.create("http://" + container.getHost() + ":" + container.getMappedPort(PORT)
                + "/2015-03-31/functions/function/invocations");
    }

    List<? extends GenericContainer<?>> containers() {
        return environments.stream().map(environment -> environment.container).toList();
    }

    @Override
    public LaunchedWorker launch(LaunchRequest request) {
        Environment free = take();
        if (free == null) {
            return new Throttled();
        }
        LaunchedWorker worker = free.launcher.launch(request);
        worker.exit().whenComplete((exit, never) -> giveBack(free));
        return worker;
    }

    private synchronized Environment take() {
        for (Environment environment : environments) {
            if (!environment.busy) {
                environment.busy = true;
                return environment;
            }
        }
        return null;
    }

    private synchronized void giveBack(Environment environment) {
        environment.busy = false;
    }

    @Override
    public void close(Duration grace) {
        environments.forEach(environment -> environment.launcher.close(grace));
        environments.forEach(environment -> environment.container.stop());
    }

    private static final class Throttled implements LaunchedWorker {
        @Override
        public CompletableFuture<WorkerExit> exit() {
            return CompletableFuture.completedFuture(new WorkerExit(Cause.THROTTLED, "no environment is free"));
        }

        @Override
        public void kill() {}
    }
}
