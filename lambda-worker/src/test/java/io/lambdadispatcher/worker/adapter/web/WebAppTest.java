package io.lambdadispatcher.worker.adapter.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.worker.adapter.web.WebConfig.Probe;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@EachRelease
@Timeout(180)
class WebAppTest {
    private static WebConfig.Builder probed(RawApp app) {
        return app.builder().readinessInterval(Duration.ofMillis(1)).readinessLimit(Duration.ofSeconds(60));
    }

    private static void await(CompletableFuture<Void> stage) throws Exception {
        stage.get(60, TimeUnit.SECONDS);
    }

    @Test
    void should_be_ready_when_the_app_answers_as_expected() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        RawApp[] it = new RawApp[1];
        try (RawApp app = new RawApp(connection -> {
            it[0].heard.add(connection.readHead());
            int status = asked.incrementAndGet() < 3 ? 503 : 204;
            connection.write("HTTP/1.1 " + status + " x\r\nContent-Length: 0\r\n\r\n");
        })) {
            it[0] = app;
            await(new WebApp(probed(app).readinessPath("/health").build())
                    .start()
                    .toCompletableFuture());
            assertThat(asked).hasValue(3);
            assertThat(app.takeHeard()).startsWith("GET /health HTTP/1.1\r\n");
        }
    }

    @Test
    void should_be_ready_when_a_connection_opens() throws Exception {
        try (RawApp app = new RawApp(RawApp.Connection::awaitEnd)) {
            await(new WebApp(probed(app).readinessProbe(Probe.TCP).build())
                    .start()
                    .toCompletableFuture());
        }
    }

    @Test
    void should_fail_to_start_when_the_limit_is_over() throws Exception {
        try (RawApp app = new RawApp(connection -> {
            connection.readHead();
            connection.write("HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n");
        })) {
            WebConfig config = probed(app).readinessLimit(Duration.ofMillis(50)).build();
            assertThatThrownBy(() -> await(new WebApp(config).start().toCompletableFuture()))
                    .isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(TimeoutException.class)
                    .hasMessageContaining("HTTP/1.1 500")
                    .hasMessageContaining("100-499");
        }
    }

    /** With waits that double each time, this test would take half a minute. */
    @Test
    void should_restart_after_the_shortest_wait_each_time_the_app_has_been_ready(@TempDir Path directory)
            throws Exception {
        Path starts = directory.resolve("starts");
        try (RawApp port = new RawApp(RawApp.Connection::awaitEnd)) {
            WebApp app = new WebApp(probed(port)
                    .command("echo start >> " + starts + "; sleep 0.1")
                    .readinessProbe(Probe.TCP)
                    .build());
            await(app.start().toCompletableFuture());
            Await.until(
                    "ten starts",
                    Duration.ofSeconds(25),
                    () -> Files.exists(starts) && Files.readAllLines(starts).size() >= 10);
            app.stop();
        }
    }

    @Test
    void should_fail_to_start_after_the_stop() throws Exception {
        try (RawApp port = new RawApp(RawApp.Connection::awaitEnd)) {
            WebApp app = new WebApp(
                    probed(port).command("sleep 1000").readinessProbe(Probe.TCP).build());
            app.stop();
            assertThatThrownBy(() -> await(app.start().toCompletableFuture()))
                    .hasMessageContaining("'sleep 1000' has been stopped");
        }
    }

    /** The probe asks every millisecond. */
    @Test
    void should_ask_no_more_once_it_is_stopped() throws Exception {
        try (RawApp busy = new RawApp(connection -> {
            connection.readHead();
            connection.write("HTTP/1.1 503 x\r\nContent-Length: 0\r\n\r\n");
        })) {
            WebApp app = new WebApp(probed(busy).build());
            CompletableFuture<Void> ready = app.start().toCompletableFuture();
            Await.until("two connections", () -> busy.connections() >= 2);
            app.stop();
            assertThatThrownBy(() -> await(ready))
                    .hasMessageContaining("the app at")
                    .hasMessageContaining("has been stopped");
            // The last question may still arrive.
            int asked = busy.connections() + 1;
            Await.remains("no more", Duration.ofMillis(100), () -> busy.connections() <= asked);
        }
    }

    @Test
    void should_not_wait_for_an_app_that_is_stopped_before_it_is_ready() throws Exception {
        try (RawApp nobody = new RawApp(RawApp.Connection::awaitEnd)) {
            nobody.close();
            WebApp app = new WebApp(probed(nobody).command("sleep 1000").build());
            CompletableFuture<Void> ready = app.start().toCompletableFuture();
            app.stop();
            assertThatThrownBy(() -> await(ready)).hasMessageContaining("'sleep 1000' has been stopped");
        }
    }

    @ParameterizedTest
    @CsvSource({"127.0.0.1, 127.0.0.1:1", "::1, [::1]:1"})
    void should_tell_the_app_where_to_listen(String host, String endpoint, @TempDir Path directory) throws Exception {
        Path told = directory.resolve("told");
        WebApp app = new WebApp(WebConfig.builder(new InetSocketAddress(host, 1))
                .command("echo $PORT $AWS_LAMBDA_HTTP_ENDPOINT > " + told + "; sleep 1000")
                .build());
        app.start();
        Await.until("the app's start", () -> Files.exists(told) && Files.size(told) > 0);
        assertThat(told).hasContent("1 " + endpoint + "\n");
        app.stop();
    }

    /** The script starts the application of a zip function, which the worker does not start. */
    @ParameterizedTest
    @CsvSource({
        "UNUSED=,                                                                  127.0.0.1:8080",
        "PORT=5,                                                                   127.0.0.1:5",
        "PORT=5 AWS_LWA_PORT=6 AWS_LWA_HOST=127.0.0.2,                             127.0.0.2:6",
        "AWS_LWA_PORT=6 LAMBDA_DISPATCHER_WEB_PORT=7 LAMBDA_DISPATCHER_WEB_HOST=h, h:7",
        "PORT=5 AWS_LAMBDA_HTTP_ENDPOINT=0.0.0.0:3000,                             0.0.0.0:3000"
    })
    void should_tell_the_app_of_a_zip_where_to_listen(String variables, String endpoint, @TempDir Path task)
            throws Exception {
        Path handler = Files.writeString(task.resolve("run.sh"), "#!/bin/sh\necho $AWS_LAMBDA_HTTP_ENDPOINT\n");
        assertThat(handler.toFile().setExecutable(true)).isTrue();
        ProcessBuilder script = new ProcessBuilder("sh", "src/build/layer/bootstrap").redirectErrorStream(true);
        script.environment()
                .keySet()
                .removeIf(name -> name.equals("PORT") || name.startsWith("AWS_") || name.startsWith("LAMBDA_"));
        script.environment().putAll(Map.of("LAMBDA_TASK_ROOT", task.toString(), "_HANDLER", "run.sh"));
        for (String variable : variables.split(" ")) {
            String[] parts = variable.split("=", 2);
            script.environment().put(parts[0], parts[1]);
        }
        Process process = script.start();
        assertThat(process.getInputStream()).hasContent(endpoint + "\n");
        assertThat(process.waitFor()).isZero();
    }

    @Test
    void should_fail_to_start_when_the_command_keeps_dying() throws Exception {
        // No process gets this port by chance. The probe continues to ask there.
        WebApp app = new WebApp(WebConfig.builder(1).command("exit 7").build());
        assertThatThrownBy(() -> await(app.start().toCompletableFuture()))
                .hasMessageContaining("exit 7")
                .hasMessageContaining("exit code 7");
        app.stop();
    }
}
