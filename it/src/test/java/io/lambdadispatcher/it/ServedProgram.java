package io.lambdadispatcher.it;

import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.core.ConditionTimeoutException;

/**
 * The command {@code serve} in a process of its own, with the function {@code shop}. It has two
 * local workers with two worker streams each, and launches no more.
 */
final class ServedProgram implements AutoCloseable {
    final int publicPort = FreePort.next();
    final int adminPort = FreePort.next();
    final int workersPort = FreePort.next();
    private final HttpClient client = HttpClient.newHttpClient();
    private final Path log;
    private final Process process;

    /**
     * @param more settings, by environment variable without its prefix; empty = not set
     * @param environment other environment variables
     */
    private ServedProgram(Map<String, String> more, Map<String, String> environment) throws IOException {
        log = Files.createTempFile("served-program", ".log");
        ProcessBuilder builder = command("serve").redirectErrorStream(true).redirectOutput(log.toFile());
        Map<String, String> settings = new HashMap<>();
        settings.put("PUBLIC_PLAIN_PORT", Integer.toString(publicPort));
        settings.put("ADMIN_PORT", Integer.toString(adminPort));
        settings.put("WORKERS_PORT", "127.0.0.1:" + workersPort);
        settings.put("SHUTDOWN_DELAY", "0");
        settings.put("FUNCTION_NAME", "shop");
        settings.put("FUNCTION_LAUNCHER", "local");
        settings.put("FUNCTION_HANDLER", "io.lambdadispatcher.server.demo.DemoHandler");
        settings.put("FUNCTION_MIN_WORKERS", "2");
        settings.put("FUNCTION_MAX_WORKERS", "2");
        settings.put("FUNCTION_WORKER_CONCURRENCY", "2");
        settings.put("FUNCTION_QUEUE_TIMEOUT", "20s");
        settings.put("FUNCTION_WORKER_TIMEOUT", "15s");
        settings.putAll(more);
        settings.values().removeIf(String::isEmpty);
        builder.environment().putAll(environment);
        settings.forEach((name, value) -> builder.environment().put("LAMBDA_DISPATCHER_" + name, value));
        process = builder.start();
    }

    /** Returns once both workers are ready. */
    static ServedProgram start(Map<String, String> more) throws Exception {
        return start(more, Map.of());
    }

    /** Returns once both workers are ready. */
    static ServedProgram start(Map<String, String> more, Map<String, String> environment) throws Exception {
        ServedProgram program = new ServedProgram(more, environment);
        try {
            program.awaitWorkers();
            return program;
        } catch (ConditionTimeoutException | IllegalStateException e) {
            System.out.println("the log of a program that does not start:\n" + Files.readString(program.log));
            program.close();
            throw e;
        }
    }

    private void awaitWorkers() {
        Await.until("two workers are ready", Duration.ofSeconds(150), () -> {
            if (!process.isAlive()) {
                throw new IllegalStateException("it has ended with exit code " + process.exitValue());
            }
            return document("workers")
                            .filter(each -> "ready".equals(each.get("state")))
                            .count()
                    == 2;
        });
    }

    /** Returns a command of the program, to be started with the tests' class path. */
    static ProcessBuilder command(String... arguments) {
        List<String> words = ChildJvm.command(ChildJvm.SERVER);
        words.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(words);
        builder.environment().put("LAMBDA_DISPATCHER_LOCAL_JVM_FLAGS", ChildJvm.workerFlags());
        return builder;
    }

    String adminUrl() {
        return "http://127.0.0.1:" + adminPort;
    }

    /** Returns the objects of an array in {@code /api}; none if the dispatcher is starting. */
    Stream<Map<String, ?>> document(String name) {
        try {
            HttpResponse<byte[]> answer = client.send(
                    HttpRequest.newBuilder(URI.create(adminUrl() + "/api/" + name))
                            .build(),
                    BodyHandlers.ofByteArray());
            return answer.statusCode() == 200
                    ? ((List<Map<String, ?>>) Json.read(answer.body())).stream()
                    : Stream.empty();
        } catch (IOException e) {
            return Stream.empty();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Sends a request of a client. */
    CompletableFuture<HttpResponse<String>> get(String path) {
        return get(path, "accept", "*/*");
    }

    /** Sends a request of a client with a header. */
    CompletableFuture<HttpResponse<String>> get(String path, String header, String value) {
        return client.sendAsync(
                HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + publicPort + path))
                        .header(header, value)
                        .build(),
                BodyHandlers.ofString());
    }

    /** Returns what the program and its workers have logged. */
    String log() throws IOException {
        return Files.readString(log);
    }

    void killOneWorker() {
        process.children().findFirst().orElseThrow().destroyForcibly();
    }

    @Override
    public void close() throws Exception {
        process.destroy();
        if (!process.waitFor(30, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
        Files.delete(log);
    }
}
