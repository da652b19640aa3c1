package io.lambdadispatcher.it;

import io.lambdadispatcher.server.demo.DemoHandler;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The JVMs that tests start. There are hundreds, so they only use the first compiler, and load
 * their classes from archives, which {@link #main} makes before the tests.
 */
public final class ChildJvm {
    public static final String SERVER = "io.lambdadispatcher.server.Main";
    public static final String WORKER = "io.lambdadispatcher.worker.WorkerMain";

    private static final Path ARCHIVES = Path.of("target", "class-archives").toAbsolutePath();
    private static final List<String> FLAGS = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    private ChildJvm() {}

    public static String java() {
        return Path.of(System.getProperty("java.home"), "bin", "java").toString();
    }

    /**
     * Returns the tests' class path. An archive is made of its first entries, and valid if others
     * follow.
     */
    public static String classPath() {
        return Stream.concat(entries(true), entries(false)).collect(Collectors.joining(File.pathSeparator));
    }

    /** Directories cannot be in an archive, and the manifest of DynamoDBLocal names one. */
    private static Stream<String> entries(boolean inArchive) {
        return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> inArchive == (entry.endsWith(".jar") && !entry.contains("DynamoDBLocal")));
    }

    /** Returns the command that runs a class, to which arguments can be added. */
    public static List<String> command(String main, String... flags) {
        List<String> command = new ArrayList<>(List.of(java()));
        command.addAll(flags(main));
        command.addAll(List.of(flags));
        command.addAll(List.of("-cp", classPath(), main));
        return command;
    }

    /** Returns the flags for a local worker of a dispatcher, as a setting. */
    static String workerFlags() {
        return "-Xmx256m " + String.join(" ", flags(WORKER));
    }

    private static List<String> flags(String main) {
        List<String> flags = new ArrayList<>(FLAGS);
        Path archive = archive(main);
        if (Files.exists(archive)) {
            // If another JVM has made the archive, or of other jars, the JVM continues without it.
            flags.addAll(List.of("-XX:SharedArchiveFile=" + archive, "-Xlog:cds=off", "-Xlog:cds+dynamic=off"));
        }
        return flags;
    }

    private static Path archive(String main) {
        return ARCHIVES.resolve(main + ".jsa");
    }

    private static String archiveAtExit(String main) {
        return "-XX:ArchiveClassesAtExit=" + archive(main);
    }

    /** Makes the archives of a dispatcher and of a worker that have served a request. */
    public static void main(String... arguments) throws Exception {
        Files.createDirectories(ARCHIVES);
        Files.deleteIfExists(archive(SERVER));
        Files.deleteIfExists(archive(WORKER));
        List<String> command = new ArrayList<>(List.of(java()));
        command.addAll(FLAGS);
        command.addAll(List.of(archiveAtExit(SERVER), "-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-cp"));
        command.add(entries(true).collect(Collectors.joining(File.pathSeparator)));
        command.addAll(List.of(SERVER, "serve"));
        int port = FreePort.next();
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ARCHIVES.resolve("log").toFile());
        Map.of(
                        "PUBLIC_PLAIN_PORT",
                        Integer.toString(port),
                        "ADMIN_PORT",
                        Integer.toString(FreePort.next()),
                        "WORKERS_PORT",
                        Integer.toString(FreePort.next()),
                        "SHUTDOWN_DELAY",
                        "0",
                        "FUNCTION_NAME",
                        "shop",
                        "FUNCTION_LAUNCHER",
                        "local",
                        "FUNCTION_HANDLER",
                        DemoHandler.class.getName(),
                        "FUNCTION_MIN_WORKERS",
                        "1",
                        "FUNCTION_MAX_WORKERS",
                        "1",
                        "LOCAL_JVM_FLAGS",
                        String.join(" ", FLAGS) + " -Xlog:cds=off -Xlog:cds+dynamic=off " + archiveAtExit(WORKER))
                .forEach((name, value) -> builder.environment().put("LAMBDA_DISPATCHER_" + name, value));
        Process process = builder.start();
        HttpClient client = HttpClient.newHttpClient();
        HttpRequest ping = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/ping"))
                .build();
        // A machine under load needs long: two JVMs start without an archive.
        Await.until("the worker answers", Duration.ofMinutes(5), () -> {
            try {
                return client.send(ping, BodyHandlers.discarding()).statusCode() == 200;
            } catch (IOException e) {
                return false;
            }
        });
        process.destroy();
        process.waitFor(60, TimeUnit.SECONDS);
        System.out.println(
                "Archives of classes: " + Files.exists(archive(SERVER)) + ", " + Files.exists(archive(WORKER)));
    }
}
