package io.lambdadispatcher.it.docker;

import static org.assertj.core.api.Assertions.assertThat;

import com.amazonaws.services.lambda.runtime.events.APIGatewayV2HTTPEvent;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.it.functions.HttpApiFunction;
import io.lambdadispatcher.wire.testkit.Await;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import org.joda.time.DateTime;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.testcontainers.containers.GenericContainer;

/**
 * Tests workers in Lambda's runtime interface emulator with AWS's Java runtime client, and with
 * Lambda's timeouts, memory and CPU limits.
 */
@DockerTest(Image.EMULATOR)
class EmulatorIT {
    private static final Logger log = LoggerFactory.getLogger(EmulatorIT.class);

    private static FunctionOptions function(CapacityPolicy capacity) {
        return FunctionOptions.builder("function")
                .capacity(capacity)
                // A late worker must not be replaced: the emulator fails at a second concurrent
                // invoke.
                .launching(LaunchLimits.builder()
                        .launchTimeout(Duration.ofMinutes(2))
                        .build())
                .streamsPerConnection(20)
                .queue(1000, Duration.ofSeconds(30))
                .build();
    }

    @Test
    void should_replace_workers_before_their_time_out_and_lose_no_request_under_load() throws Exception {
        Emulator lambda = new Emulator("function", 4, Duration.ofSeconds(30), 512, 1);
        RecordingObserver observer = new RecordingObserver();
        try (CloudRig rig = new CloudRig(lambda, function(CapacityPolicy.fixed(2)), observer)) {
            Await.until("two are ready", Duration.ofMinutes(2), () -> rig.pool().readyWorkers() == 2);
            Load load = new Load(8, () -> rig.uri("/delay?delay=200"));
            Await.until("workers are replaced", Duration.ofMinutes(4), () -> observer.launchEnds.size() >= 5);
            load.stop();

            log.info("8 clients while 5 workers of 30 s were replaced: {}; they ended: {}", load, observer.launchEnds);
            assertThat(load.failures()).isZero();
            assertThat(load.count("200")).isGreaterThan(1000);
            assertThat(observer.launchEnds).allMatch(end -> end.detail().equals("deadline"));
            for (GenericContainer<?> container : lambda.containers()) {
                assertThat(container.getLogs()).doesNotContain("Task timed out");
            }
        }
    }

    @Test
    void should_let_a_long_response_run_until_the_true_deadline() throws Exception {
        Emulator lambda = new Emulator("function", 2, Duration.ofSeconds(30), 512, 1);
        RecordingObserver observer = new RecordingObserver();
        try (CloudRig rig = new CloudRig(lambda, function(CapacityPolicy.fixed(1)), observer)) {
            Await.until("one is ready", Duration.ofMinutes(2), () -> rig.pool().readyWorkers() == 1);

            // Ends 2 s before the deadline. A drain that took 3/4 of the rest would end before.
            Thread.sleep(Math.max(0, 10_000 - millisSinceLaunch(observer))); // The worker gets older.
            long delayMillis = 27_500 - millisSinceLaunch(observer);
            assertThat(rig.get("/delay?delay=" + delayMillis).statusCode()).isEqualTo(200);
        }
    }

    private static long millisSinceLaunch(RecordingObserver observer) {
        return (System.nanoTime() - observer.launches.element().nanos()) / 1_000_000;
    }

    private static String jarOf(Class<?> type) throws Exception {
        return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI())
                .toString();
    }

    /** Returns the function's own code and libraries. AWS's runtime converts the events. */
    private static Emulator.Code code(Class<?> function) throws Exception {
        String classes = "/" + function.getPackageName().replace('.', '/');
        return new Emulator.Code(
                function.getName(),
                Map.of(
                        Path.of(jarOf(function) + classes), "/var/task" + classes,
                        Path.of(jarOf(APIGatewayV2HTTPEvent.class)), "/var/task/lib/events.jar",
                        Path.of(jarOf(DateTime.class)), "/var/task/lib/joda-time.jar"));
    }

    @Test
    void should_serve_requests_and_ordinary_invokes_with_a_plain_function() throws Exception {
        Emulator lambda = new Emulator("function", 1, Duration.ofSeconds(60), 512, 1, code(HttpApiFunction.class));
        String event = "{\"rawPath\":\"/echo\",\"headers\":{\"x-status\":\"201\"},\"body\":\"by an invoke\"}";
        HttpResponse<String> invoked = HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(lambda.invocations())
                                .POST(HttpRequest.BodyPublishers.ofString(event))
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
        assertThat(invoked.body()).contains("\"statusCode\":201", "\"body\":\"by an invoke\"");

        try (CloudRig rig = new CloudRig(lambda, function(CapacityPolicy.fixed(1)))) {
            Await.until("it is ready", Duration.ofMinutes(2), () -> rig.pool().readyWorkers() == 1);

            byte[] binary = new byte[168_161];
            new Random(3).nextBytes(binary);
            assertThat(rig.post("/echo", binary).body()).isEqualTo(binary);
            assertThat(new String(rig.get("/facts").body(), StandardCharsets.UTF_8))
                    .startsWith("1 ");
        }
    }

    @Test
    void should_serve_in_the_memory_and_the_processor_of_a_512_mb_environment() throws Exception {
        Emulator lambda = new Emulator("function", 1, Duration.ofSeconds(300), 512, 512 / 1769.0);
        try (CloudRig rig = new CloudRig(lambda, function(CapacityPolicy.fixed(1)))) {
            long start = System.nanoTime();
            Await.until("it is ready", Duration.ofMinutes(3), () -> rig.pool().readyWorkers() == 1);
            log.info("ready after {} ms on {} of a processor", (System.nanoTime() - start) / 1_000_000, 512 / 1769.0);
            try (Load load = new Load(10, () -> rig.uri("/public/silly-test-image.jpg"))) {
                Await.until("300 images", Duration.ofMinutes(4), () -> load.count("200") >= 300);
                load.stop();
                assertThat(load.failures()).isZero();
                log.info("images: {}", load);
            }
            byte[] large = new byte[9_365_076];
            new Random(2).nextBytes(large);
            assertThat(rig.post("/echo", large).body()).isEqualTo(large);

            GenericContainer<?> container = lambda.containers().get(0);
            String most = container
                    .execInContainer(
                            "sh",
                            "-c",
                            "cat /sys/fs/cgroup/memory/memory.max_usage_in_bytes /sys/fs/cgroup/memory.peak 2>/dev/null")
                    .getStdout()
                    .strip();
            log.info("the most memory it has used: {} bytes", most);
            assertThat(container.getCurrentContainerInfo().getState().getOOMKilled())
                    .isFalse();
        }
    }
}
