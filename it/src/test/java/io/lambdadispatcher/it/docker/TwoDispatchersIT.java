package io.lambdadispatcher.it.docker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Tests dispatchers in containers that launch workers in LocalStack, and are killed. */
@DockerTest({Image.LOCALSTACK, Image.LAMBDA, Image.DISPATCHER})
class TwoDispatchersIT {
    private static final Logger log = LoggerFactory.getLogger(TwoDispatchersIT.class);

    private static Cloud cloud;
    private static int tests;
    private final String function = "two" + ProcessHandle.current().pid() + "x" + ++tests;
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    private volatile Load load;

    @BeforeAll
    static void start() {
        cloud = Cloud.start();
    }

    @BeforeEach
    void createFunction() {
        cloud.createWorkerFunction(function, Duration.ofMinutes(10));
    }

    @AfterAll
    static void stop() {
        cloud.close();
    }

    private int workersReady(ServerContainer server) {
        try {
            String metrics = client.send(
                            HttpRequest.newBuilder(server.admin("/metrics")).build(), BodyHandlers.ofString())
                    .body();
            return metrics.lines()
                    .filter(line -> line.startsWith("lambda_dispatcher_workers_ready{"))
                    .mapToInt(line -> (int) Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                    .sum();
        } catch (Exception e) {
            return -1;
        }
    }

    @Test
    void should_have_workers_of_its_own_each_and_take_the_traffic_of_one_that_dies() {
        try (ServerContainer first = ServerContainer.withLambda(cloud, function, 2);
                ServerContainer second = ServerContainer.withLambda(cloud, function, 2)) {
            first.start();
            second.start();
            assertThat(workersReady(first)).isEqualTo(2);
            assertThat(workersReady(second)).isEqualTo(2);
            assertThat(Cloud.containersOf(function)).hasSize(4);

            // When one dispatcher does not answer, all clients use the other one, as with a load
            // balancer. At most the requests in flight are lost.
            AtomicInteger turn = new AtomicInteger();
            URI one = first.uri("/delay?delay=50");
            URI other = second.uri("/delay?delay=50");
            load = new Load(8, () -> turn.getAndIncrement() % 2 == 0 && !isAnythingLost() ? one : other);
            try (Load both = load) {
                Await.until("both serve", Duration.ofSeconds(60), () -> both.count("200") > 200);
                assertThat(both.failures()).isZero();

                first.kill();
                long before = both.count("200");
                Await.until("the second serves all", Duration.ofSeconds(90), () -> both.count("200") > before + 500);
                both.stop();
                log.info("one of two dispatchers killed: {}", both);

                assertThat(both.failures()).isBetween(1L, 8L);
                assertThat(workersReady(second)).isEqualTo(2);
            }
        }
    }

    private boolean isAnythingLost() {
        Load all = load;
        return all != null && all.failures() > 0;
    }

    @Test
    void should_take_workers_back_after_it_was_killed_and_started_again() {
        try (ServerContainer server = ServerContainer.withLambda(cloud, function, 2)) {
            server.start();
            server.kill();
            server.startAgain();
            Await.until("it is ready again", Duration.ofMinutes(2), () -> workersReady(server) >= 2);

            URI uri = server.uri("/delay?delay=20");
            try (Load four = new Load(4, () -> uri)) {
                Await.until("it serves", Duration.ofSeconds(60), () -> four.count("200") > 200);
                four.stop();
                assertThat(four.failures()).isZero();
            }
        }
    }
}
