package io.lambdadispatcher.it.docker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.testkit.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.testcontainers.containers.Container.ExecResult;

/** Tests the image of the server with {@code docker run} and {@code docker stop}. */
@DockerTest(Image.DISPATCHER)
class ServerImageIT {
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @Test
    void should_start_without_root_become_healthy_and_serve() throws Exception {
        try (ServerContainer server = ServerContainer.withLocalWorkers()) {
            server.start();
            HttpResponse<String> pong =
                    client.send(HttpRequest.newBuilder(server.uri("/ping")).build(), BodyHandlers.ofString());

            assertThat(pong.body()).isEqualTo("pong");
            assertThat(server.execInContainer("id", "-u").getStdout().strip()).isEqualTo("10001");
            Await.until("Docker finds it healthy", Duration.ofMinutes(2), server::isHealthy);
        }
    }

    @Test
    void should_have_a_command_for_operators() throws Exception {
        try (ServerContainer server =
                ServerContainer.withLocalWorkers().withEnv("LAMBDA_DISPATCHER_ADMIN_TOKEN", "token-of-the-test")) {
            server.start();

            assertThat(command(server, "status")).contains("FUNCTION", "2/2");
            assertThat(command(server, "--version")).startsWith("Lambda Dispatcher ");
            assertThat(command(server, "config", "check")).isNotEmpty();
            String worker = worker(server);
            assertThat(command(server, "worker", "drain", worker)).contains(worker);
            assertThat(command(server, "launch", "pause")).contains("accepted");
        }
    }

    /** Runs the image's command {@code dispatcher} as {@code docker exec} does. */
    private static String command(ServerContainer server, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of("dispatcher"));
        command.addAll(List.of(arguments));
        ExecResult result = server.execInContainer(command.toArray(new String[0]));
        assertThat(result.getExitCode()).as(result.toString()).isZero();
        assertThat(result.getStderr()).isEmpty();
        return result.getStdout();
    }

    private String worker(ServerContainer server) throws Exception {
        byte[] workers = client.send(
                        HttpRequest.newBuilder(server.admin("/api/workers")).build(), BodyHandlers.ofByteArray())
                .body();
        Map<?, ?> first = (Map<?, ?>) ((List<?>) Json.read(workers)).get(0);
        return (String) first.get("id");
    }

    @Test
    void should_drain_on_docker_stop_without_losing_a_request() throws Exception {
        ServerContainer server = ServerContainer.withLocalWorkers().withEnv("LAMBDA_DISPATCHER_SHUTDOWN_DELAY", "6s");
        try (server) {
            server.start();
            // Behaves like a load balancer: it stops sending when /ready fails, and requests in
            // flight are answered.
            URI uri = server.uri("/delay?delay=100");
            Load load = new Load(10, () -> uri);
            Thread balancer = new Thread(() -> {
                Await.until("/ready says no", Duration.ofMinutes(2), () -> !isReady(server));
                load.stop();
            });
            balancer.start();
            List<CompletableFuture<HttpResponse<String>>> slow = new ArrayList<>();
            for (int i = 0; i < 5; i++) {
                slow.add(client.sendAsync(
                        HttpRequest.newBuilder(server.uri("/delay?delay=10000")).build(), BodyHandlers.ofString()));
            }
            Await.until("load is on", Duration.ofSeconds(60), () -> load.count("200") > 100);

            int exitCode = server.stopGracefully(Duration.ofSeconds(60));
            balancer.join();

            assertThat(load.failures()).describedAs(load.toString()).isZero();
            for (CompletableFuture<HttpResponse<String>> response : slow) {
                assertThat(response.get(30, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
            }
            assertThat(exitCode).isZero();
        }
    }

    private boolean isReady(ServerContainer server) {
        try {
            return client.send(HttpRequest.newBuilder(server.admin("/ready")).build(), BodyHandlers.discarding())
                            .statusCode()
                    == 200;
        } catch (Exception e) {
            return false;
        }
    }
}
