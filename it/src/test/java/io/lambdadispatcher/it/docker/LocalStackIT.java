package io.lambdadispatcher.it.docker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.aws.LambdaLauncher;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.options.TlsOptions;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.core.testkit.RecordingObserver.Launch;
import io.lambdadispatcher.wire.testkit.Await;
import io.netty.pkitesting.CertificateBuilder;
import io.netty.pkitesting.X509Bundle;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests workers that LocalStack runs as Lambda functions, each in its own container. The AWS SDK
 * invokes them.
 */
@DockerTest({Image.LOCALSTACK, Image.LAMBDA})
class LocalStackIT {
    private static Cloud cloud;

    @BeforeAll
    static void start() {
        cloud = Cloud.start();
    }

    @AfterAll
    static void stop() {
        cloud.close();
    }

    private static FunctionOptions function(String name, CapacityPolicy capacity) {
        return function(name, capacity, Duration.ofSeconds(90));
    }

    private static FunctionOptions function(String name, CapacityPolicy capacity, Duration queueTimeout) {
        return FunctionOptions.builder(name)
                .capacity(capacity)
                .launching(LaunchLimits.builder()
                        .launchTimeout(Duration.ofSeconds(90))
                        .build())
                .streamsPerConnection(10)
                .queue(1000, queueTimeout)
                .build();
    }

    @Test
    void should_serve_from_a_function_that_the_first_request_launches() throws Exception {
        cloud.createWorkerFunction("first", Duration.ofMinutes(5));
        try (CloudRig rig = new CloudRig(cloud.endpoint(), function("first", CapacityPolicy.between(0, 2)))) {
            HttpResponse<byte[]> pong = rig.get("/ping");
            assertThat(pong.statusCode()).isEqualTo(200);
            assertThat(new String(pong.body())).isEqualTo("pong");

            HttpResponse<byte[]> image = rig.get("/public/silly-test-image.jpg");
            assertThat(image.statusCode()).isEqualTo(200);
            assertThat(image.body()).hasSize(168_161);

            byte[] large = new byte[9_365_076];
            new Random(1).nextBytes(large);
            CloudRig.Echo echo = rig.post("/echo", large);
            assertThat(echo.statusLine()).isEqualTo("HTTP/1.1 200 OK");
            assertThat(echo.body()).isEqualTo(large);
            assertThat(rig.pool().workers()).isEqualTo(1);
        }
    }

    /** Launches happen in one step, or in a few while the burst arrives, but not one per second. */
    @Test
    void should_ask_at_once_for_all_that_a_burst_needs_and_go_back_to_zero() throws Exception {
        cloud.createWorkerFunction("burst", Duration.ofMinutes(5));
        CapacityPolicy capacity = CapacityPolicy.builder()
                .workers(0, 6)
                .idleTimeout(Duration.ofSeconds(3))
                .scaleDownDelay(Duration.ofSeconds(1))
                .build();
        RecordingObserver observer = new RecordingObserver();
        try (CloudRig rig = new CloudRig(cloud.endpoint(), function("burst", capacity), observer)) {
            List<CompletableFuture<HttpResponse<String>>> burst = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                burst.add(rig.getAsync("/delay?delay=500"));
            }
            for (CompletableFuture<HttpResponse<String>> response : burst) {
                assertThat(response.get(120, TimeUnit.SECONDS).statusCode()).isEqualTo(200);
            }

            assertThat(observer.launches).hasSize(6);
            List<Launch> launches = List.copyOf(observer.launches);
            assertThat(Duration.ofNanos(
                            launches.get(5).nanos() - launches.get(0).nanos()))
                    .isLessThan(Duration.ofMillis(900));
            Await.until(
                    "no worker is left",
                    Duration.ofSeconds(90),
                    () -> rig.pool().workers() == 0);
            Await.until("all have ended well", Duration.ofSeconds(60), () -> observer.launchEnds.size() == 6);
            assertThat(observer.launchEnds).allMatch(end -> end.detail().equals("fewer workers are needed"));

            assertThat(rig.get("/ping").statusCode()).isEqualTo(200);
            assertThat(observer.launches).hasSize(7);
        }
    }

    @Test
    void should_have_workers_dial_over_tls_whatever_names_the_certificate_bears(@TempDir Path directory)
            throws Exception {
        cloud.createWorkerFunction("secure", Duration.ofSeconds(60));
        X509Bundle bundle = new CertificateBuilder()
                .subject("CN=nobody dials this name")
                .ecp256()
                .setIsCertificateAuthority(true)
                .buildSelfSigned();
        Path certificate = Files.writeString(directory.resolve("cert.pem"), bundle.getCertificatePathPEM());
        Path key = Files.writeString(directory.resolve("key.pem"), bundle.getPrivateKeyPEM());
        LambdaLauncher launcher = LambdaLauncher.builder()
                .function("secure", "secure")
                .region(Cloud.REGION)
                .endpoint(cloud.endpoint())
                .build();
        FunctionOptions function = function("secure", CapacityPolicy.between(0, 1));
        TlsOptions tls = TlsOptions.of(certificate, key);
        try (CloudRig rig = new CloudRig(launcher, function, DispatcherObserver.NONE, tls)) {
            assertThat(rig.get("/ping").statusCode()).isEqualTo(200);
        }
    }

    @Test
    void should_answer_503_and_back_off_when_the_function_fails() throws Exception {
        cloud.createFunction(
                "broken",
                Duration.ofSeconds(30),
                "io.lambdadispatcher.worker.LambdaHandler",
                Map.of("LAMBDA_DISPATCHER_HANDLER", "no.such.Handler"));
        RecordingObserver observer = new RecordingObserver();
        FunctionOptions function = function("broken", CapacityPolicy.between(0, 5), Duration.ofSeconds(5));
        try (CloudRig rig = new CloudRig(cloud.endpoint(), function, observer)) {
            HttpResponse<byte[]> response = rig.get("/ping");

            assertThat(response.statusCode()).isEqualTo(503);
            assertThat(response.headers().firstValue("retry-after")).isPresent();
            awaitObstacle(rig, "no.such.Handler");
            assertThat(observer.launches).hasSizeBetween(1, 10);
        }
    }

    /** LocalStack may start or refuse a container only after the client's request has timed out. */
    private static void awaitObstacle(CloudRig rig, String part) {
        Await.until("the obstacle is named", Duration.ofSeconds(90), () -> {
            String obstacle = rig.capacity().blockedReason();
            return obstacle != null && obstacle.contains(part);
        });
    }

    @Test
    void should_open_the_circuit_at_once_when_there_is_no_such_function() throws Exception {
        RecordingObserver observer = new RecordingObserver();
        FunctionOptions function = function("missing", CapacityPolicy.between(0, 5), Duration.ofSeconds(2));
        try (CloudRig rig = new CloudRig(cloud.endpoint(), function, observer)) {
            assertThat(rig.get("/ping").statusCode()).isEqualTo(503);
            awaitObstacle(rig, "missing");
            assertThat(rig.capacity().blockedReason()).startsWith("launching is blocked by the open circuit breaker");
            assertThat(observer.launches).hasSizeBetween(1, 3);
        }
    }

    @Test
    void should_serve_with_what_a_throttled_function_gives_and_say_so() throws Exception {
        cloud.createWorkerFunction("throttled", Duration.ofMinutes(5));
        cloud.lambda()
                .putFunctionConcurrency(put -> put.functionName("throttled").reservedConcurrentExecutions(1))
                .join();
        RecordingObserver observer = new RecordingObserver();
        try (CloudRig rig = new CloudRig(cloud.endpoint(), function("throttled", CapacityPolicy.fixed(3)), observer)) {
            Await.until(
                    "one is ready", Duration.ofSeconds(90), () -> rig.capacity().ready() == 1);
            Await.until("others are throttled", Duration.ofSeconds(60), () -> observer.launchEnds.size() >= 2);

            assertThat(observer.launchEnds).allMatch(end -> end.detail().contains("Exceeded"));
            assertThat(rig.get("/ping").statusCode()).isEqualTo(200);
            assertThat(rig.capacity().ready()).isEqualTo(1);
        }
    }
}
