package io.lambdadispatcher.it.docker;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Dispatchers from the server's image that launch workers in LocalStack, and die. */
@DockerTest({Image.LOCALSTACK, Image.LAMBDA, Image.DISPATCHER})
class TwoDispatchersIT {
    private static final Logger log = LoggerFactory.getLogger(TwoDispatchersIT.class);
    private static final String FUNCTION = "two" + ProcessHandle.current().pid();

    private static Cloud cloud;
    private final HttpClient client =
            HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    @BeforeAll
    static void start() {
        cloud = Cloud.start();
        cloud.createWorkerFunction(FUNCTION, Duration.ofSeconds(180));
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
        try (ServerContainer first = ServerContainer.withLambda(cloud, FUNCTION, 2);
                ServerContainer second = ServerContainer.withLambda(cloud, FUNCTION, 2)) {
            first.start();
            second.start();
            assertThat(workersReady(first)).isEqualTo(2);
            assertThat(workersReady(second)).isEqualTo(2);
            assertThat(Cloud.containersOf(FUNCTION)).hasSize(4);

            // A client that goes on to the next dispatcher when one does not answer, as a load balancer does.
            AtomicInteger turn = new AtomicInteger();
            boolean[] firstIsUp = {true};
            Load load = new Load(
                    8,
                    () -> firstIsUp[0] && turn.getAndIncrement() % 2 == 0
                            ? first.uri("/delay?delay=50")
                            : second.uri("/delay?delay=50"));
            try (load) {
                CloudRig.await("both serve", Duration.ofSeconds(20), () -> load.count("200") > 200);
                assertThat(load.failures()).isZero();

                java.net.URI gone = first.uri("/");
                first.kill();
                firstIsUp[0] = false;
                long before = load.count("200");
                CloudRig.await("the second serves all", Duration.ofSeconds(20), () -> load.count("200") > before + 500);
                load.stop();
                log.info("of two dispatchers, {} killed: {}", gone, load);

                // At most what each client had under way, and one more attempt that was chosen before the news came.
                assertThat(load.failures()).isLessThanOrEqualTo(16);
                assertThat(workersReady(second)).isEqualTo(2);
            }
        }
    }

    @Test
    void should_take_workers_back_after_it_was_killed_and_started_again() {
        try (ServerContainer server = ServerContainer.withLambda(cloud, FUNCTION, 2)) {
            server.start();
            server.kill();
            server.startAgain();
            CloudRig.await("it is ready again", Duration.ofSeconds(40), () -> workersReady(server) >= 2);

            Load load = new Load(4, () -> server.uri("/delay?delay=20"));
            CloudRig.await("it serves", Duration.ofSeconds(20), () -> load.count("200") > 200);
            load.stop();
            assertThat(load.failures()).isZero();
        }
    }
}
