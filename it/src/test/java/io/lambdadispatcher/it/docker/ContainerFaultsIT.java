package io.lambdadispatcher.it.docker;

import static org.assertj.core.api.Assertions.assertThat;

import com.github.dockerjava.api.DockerClient;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.LaunchLimits;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.testcontainers.DockerClientFactory;

/**
 * Tests faults between containers under load: 12 clients send GETs that take 100 ms each, to three
 * workers. The outcome of every request is counted.
 */
@DockerTest({Image.LOCALSTACK, Image.LAMBDA})
class ContainerFaultsIT {
    private static final Logger log = LoggerFactory.getLogger(ContainerFaultsIT.class);
    private static final DockerClient DOCKER = DockerClientFactory.lazyClient();
    private static final Duration LAUNCH_TIMEOUT = Duration.ofSeconds(20);

    private static Cloud cloud;
    private static int tests;

    /**
     * A different name for each test, because LocalStack keeps containers for later invokes, even
     * dead ones.
     */
    private final String name = "faults" + ProcessHandle.current().pid() + "x" + ++tests;

    private final RecordingObserver observer = new RecordingObserver();
    private CloudRig rig;
    private Load load;

    @BeforeAll
    static void start() {
        cloud = Cloud.start();
    }

    @AfterAll
    static void stop() {
        cloud.close();
    }

    @BeforeEach
    void serve() {
        cloud.createWorkerFunction(name, Duration.ofMinutes(10));
        FunctionOptions function = FunctionOptions.builder(name)
                .capacity(CapacityPolicy.builder()
                        .workers(3, 3)
                        .idleTimeout(Duration.ofMinutes(5))
                        .scaleDownDelay(Duration.ofSeconds(5))
                        .build())
                .launching(LaunchLimits.builder().launchTimeout(LAUNCH_TIMEOUT).build())
                .streamsPerConnection(10)
                .queue(1000, Duration.ofSeconds(30))
                .build();
        rig = new CloudRig(cloud.endpoint(), function, observer);
        awaitThreeReady();
        load = new Load(12, () -> rig.uri("/delay?delay=100"));
        awaitAnswers(100);
    }

    @AfterEach
    void end() {
        if (load != null) {
            load.stop();
        }
        rig.close();
        cloud.deleteFunction(name);
    }

    private void awaitThreeReady() {
        Await.until(
                "three workers are ready",
                Duration.ofMinutes(2),
                () -> rig.pool().readyWorkers() == 3);
    }

    private void awaitAnswers(int more) {
        long before = load == null ? 0 : load.count("200");
        Await.until(more + " more answers", Duration.ofSeconds(60), () -> load.count("200") >= before + more);
    }

    /**
     * Returns the container of a connected worker. On a busy machine, there are also containers of
     * workers that dialled in too late.
     */
    private String oneWorker() {
        List<String> addresses = rig.dispatcher.workers().toCompletableFuture().join().stream()
                .filter(worker -> worker.state() == WorkerSnapshot.State.READY)
                .map(worker -> String.valueOf(worker.remoteAddress()))
                .toList();
        return Cloud.containersOf(name).stream()
                .filter(container -> addresses.stream().anyMatch(each -> each.contains("/" + address(container) + ":")))
                .findFirst()
                .orElseThrow();
    }

    private static String address(String container) {
        return DOCKER.inspectContainerCmd(container)
                .exec()
                .getNetworkSettings()
                .getNetworks()
                .get("bridge")
                .getIpAddress();
    }

    private void report(String what) {
        load.stop();
        log.info("{}: {}", what, load);
    }

    @Test
    void should_answer_all_when_a_worker_is_killed() {
        int started = observer.launches.size();
        DOCKER.killContainerCmd(oneWorker()).exec();
        Await.until("it is out", Duration.ofSeconds(20), () -> rig.pool().workers() < 3);
        awaitAnswers(200);
        awaitThreeReady();
        awaitAnswers(100);

        report("one of three workers killed");
        // A GET may be retried, because no response had begun.
        assertThat(load.failures()).isZero();
        assertThat(observer.launches).hasSize(started + 1);
    }

    @Test
    void should_answer_all_when_a_worker_stops_responding_and_take_it_back_later() {
        int ended = observer.launchEnds.size();
        String frozen = oneWorker();
        DOCKER.pauseContainerCmd(frozen).exec();
        try {
            Await.until("it is out", Duration.ofSeconds(20), () -> rig.pool().workers() < 3);
            awaitAnswers(100);
            awaitThreeReady();
        } finally {
            DOCKER.unpauseContainerCmd(frozen).exec();
        }
        Await.until(
                "there are three of four again",
                Duration.ofMinutes(2),
                () -> observer.launchEnds.size() == ended + 1 && rig.pool().readyWorkers() == 3);
        awaitAnswers(100);

        report("one of three workers frozen for some seconds");
        assertThat(load.failures()).isZero();
    }

    @Test
    void should_answer_all_when_a_workers_network_is_cut_and_healed() {
        String cut = oneWorker();
        DOCKER.disconnectFromNetworkCmd()
                .withNetworkId("bridge")
                .withContainerId(cut)
                .withForce(true)
                .exec();
        Await.until("it is out", Duration.ofSeconds(20), () -> rig.pool().workers() < 3);
        awaitAnswers(100);
        DOCKER.connectToNetworkCmd()
                .withNetworkId("bridge")
                .withContainerId(cut)
                .exec();
        awaitThreeReady();
        awaitAnswers(200);

        report("network of one of three workers cut and healed");
        assertThat(load.failures()).isZero();
    }

    @Test
    void should_keep_serving_while_lambda_itself_cannot_be_reached() {
        int launched = observer.launches.size();
        String localStack = cloud.container().getContainerId();
        DOCKER.pauseContainerCmd(localStack).exec();
        try {
            DOCKER.killContainerCmd(oneWorker()).exec();
            Await.until("a replacement is launched", Duration.ofSeconds(20), () -> observer.launches.size() > launched);
            String replacement = List.copyOf(observer.launches).get(launched).workerId();
            Await.until(
                    "its launch has timed out",
                    LAUNCH_TIMEOUT.plusSeconds(30),
                    () -> observer.launchEnds.stream()
                            .anyMatch(end -> end.workerId().equals(replacement)));
            assertThat(rig.pool().readyWorkers()).isEqualTo(2);
            awaitAnswers(100);
        } finally {
            DOCKER.unpauseContainerCmd(localStack).exec();
        }
        awaitThreeReady();
        awaitAnswers(100);

        report("LocalStack paused until a launch timed out, a worker killed meanwhile");
        assertThat(load.failures()).isZero();
    }
}
