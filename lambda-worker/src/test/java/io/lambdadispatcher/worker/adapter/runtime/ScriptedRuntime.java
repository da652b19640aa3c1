package io.lambdadispatcher.worker.adapter.runtime;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedDispatcher;
import io.lambdadispatcher.worker.ScriptedStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * A worker whose child only prints the address of its Runtime API and sleeps. The test plays the
 * runtime. {@link #crash} ends the child.
 */
final class ScriptedRuntime implements AutoCloseable {
    /** Writes the process id too, and the complete line in one write. */
    private static final String CHILD =
            "echo \"$AWS_LAMBDA_RUNTIME_API $$ ${AWS_LAMBDA_MAX_CONCURRENCY-none}\" > %1$s.new; mv %1$s.new %1$s; exec sleep 1000";

    private final Path file;
    final RuntimeHandler handler;
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private Harness harness;

    ScriptedRuntime(Path directory) {
        this(directory, Map.of());
    }

    /** Does not wait for the worker, which is ready when it is asked for an invocation. */
    ScriptedRuntime(Path directory, Map<String, String> more) {
        file = directory.resolve("child");
        Map<String, String> variables = new HashMap<>(Map.of(
                "LAMBDA_DISPATCHER_RUNTIME",
                String.format(CHILD, file),
                "LAMBDA_DISPATCHER_RUNTIME_CHILDREN",
                "1",
                "AWS_REGION",
                "eu-central-1",
                "AWS_LAMBDA_FUNCTION_NAME",
                "shop"));
        variables.putAll(more);
        handler = RuntimeHandler.of(variables);
        harness = new Harness(handler, config -> config.connections(1).streams(4));
    }

    Harness harness() {
        return harness;
    }

    private String[] line() throws Exception {
        Await.until("a child has started", () -> Files.exists(file));
        return Files.readString(file).trim().split(" ");
    }

    String authority() throws Exception {
        return line()[0];
    }

    String maxConcurrency() throws Exception {
        return line()[2];
    }

    long pid() throws Exception {
        return Long.parseLong(line()[1]);
    }

    /** Waits until another child runs. */
    void awaitReplaced(long before) throws Exception {
        ProcessHandle.of(before).ifPresent(handle -> handle.onExit().join());
        Await.until("another child runs", () -> pid() != before);
    }

    /** Kills the child. The next child writes its line again. */
    void crash() throws Exception {
        long pid = pid();
        Files.delete(file);
        ProcessHandle.of(pid).orElseThrow().destroyForcibly();
    }

    HttpRequest.Builder request(String resource) throws Exception {
        return HttpRequest.newBuilder(URI.create("http://" + authority() + "/2018-06-01/runtime/" + resource))
                .timeout(Duration.ofSeconds(ScriptedDispatcher.WAIT_SECONDS));
    }

    CompletableFuture<HttpResponse<String>> next() throws Exception {
        return client.sendAsync(request("invocation/next").GET().build(), BodyHandlers.ofString());
    }

    HttpResponse<String> post(String resource, String body, String... headers) throws Exception {
        HttpRequest.Builder builder = request(resource).POST(BodyPublishers.ofString(body));
        if (headers.length > 0) {
            builder.headers(headers);
        }
        return send(builder.build());
    }

    HttpResponse<String> send(HttpRequest request) throws IOException, InterruptedException {
        return client.send(request, BodyHandlers.ofString());
    }

    static String id(HttpResponse<String> invocation) {
        return invocation.headers().firstValue("Lambda-Runtime-Aws-Request-Id").orElseThrow();
    }

    /** Answers the next invocation with a text. */
    void serve(String body) throws Exception {
        HttpResponse<String> invocation = next().get();
        post("invocation/" + id(invocation) + "/response", "{\"statusCode\":200,\"body\":\"" + body + "\"}");
    }

    ScriptedStream stream() throws InterruptedException {
        return harness.stream();
    }

    @Override
    public void close() {
        harness.close();
        handler.stop();
    }
}
