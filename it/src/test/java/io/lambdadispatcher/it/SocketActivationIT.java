package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.aws.DynamoDbLedger;
import io.lambdadispatcher.aws.LocalDynamoDb;
import io.lambdadispatcher.server.demo.DemoHandler;
import io.lambdadispatcher.wire.testkit.Alone;
import io.netty.channel.epoll.Epoll;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * The process of a dispatcher is replaced under load over HTTP/1.1 and HTTP/2, alone and as one of
 * a fleet, with listening sockets that another process holds. Workers keep running.
 */
@StartsPrograms
@Alone("connections are closed within fixed times")
class SocketActivationIT {
    private static final int CLIENTS = 4;
    private static final int RESTARTS = 2;
    private static final Duration MOST_START = Duration.ofSeconds(150);

    /** Clients and workers wait until the next process has started. */
    private static final Map<String, String> PATIENT = Map.of(
            "FUNCTION_QUEUE_TIMEOUT", "60s",
            "HTTP_HEADER_TIMEOUT", "60s",
            "WORKERS_KEEPALIVE", "2s timeout 30s",
            "WORKERS_SECRET", Rig.SECRET);

    @TempDir
    Path directory;

    @BeforeEach
    void needPython() throws Exception {
        Assumptions.assumeTrue(Epoll.isAvailable(), "sockets are taken with epoll only");
        Assumptions.assumeTrue(HeldSockets.isPossible(), "python3 holds the sockets, and is not installed");
    }

    private Process worker(int workerPort) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(ChildJvm.command(ChildJvm.WORKER, "-Xmx256m"))
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("worker.log").toFile());
        Map<String, String> environment = builder.environment();
        environment.putAll(Rig.DEMO);
        environment.put("LAMBDA_DISPATCHER_ADDRESSES", "127.0.0.1:" + workerPort);
        environment.put("LAMBDA_DISPATCHER_FUNCTION", "demo");
        environment.put("LAMBDA_DISPATCHER_SECRET", Rig.SECRET);
        environment.put("LAMBDA_DISPATCHER_EXIT_WITH_PARENT", "true");
        return builder.start();
    }

    @Test
    void should_lose_no_request_when_the_dispatcher_is_replaced() throws Exception {
        Process worker = null;
        try (HeldSockets dispatcher = new HeldSockets(directory, with("FUNCTION_NAME", "demo"), Map.of())) {
            worker = worker(dispatcher.workerPort);
            replaceUnderLoad(dispatcher, List.of(dispatcher.publicPort));
        } finally {
            if (worker != null) {
                worker.destroyForcibly().waitFor();
            }
        }
    }

    /** The workers serve the requests of both dispatchers. */
    @Test
    void should_lose_no_request_when_one_dispatcher_of_a_fleet_is_replaced() throws Exception {
        try (LocalDynamoDb dynamo = LocalDynamoDb.start()) {
            createTable(dynamo);
            Map<String, String> fleet = Map.ofEntries(
                    Map.entry("FLEET_TABLE", "fleet"),
                    Map.entry("FLEET_ENDPOINT", dynamo.endpoint().toString()),
                    Map.entry("AWS_REGION", "eu-central-1"),
                    Map.entry("FUNCTION_NAME", "shop"),
                    Map.entry("FUNCTION_LAUNCHER", "local"),
                    Map.entry("FUNCTION_HANDLER", DemoHandler.class.getName()),
                    Map.entry("FUNCTION_WORKER_CONCURRENCY", "50"),
                    Map.entry("FUNCTION_MIN_WORKERS", "2"),
                    Map.entry("FUNCTION_MAX_WORKERS", "2"),
                    Map.entry("LOCAL_JVM_FLAGS", "-Xmx128m -XX:TieredStopAtLevel=1"));
            Map<String, String> credentials = Map.of("AWS_ACCESS_KEY_ID", "test", "AWS_SECRET_ACCESS_KEY", "test");
            try (ServedProgram other = ServedProgram.start(and(PATIENT, fleet), credentials);
                    HeldSockets replaced = new HeldSockets(directory, and(PATIENT, fleet), credentials)) {
                replaceUnderLoad(replaced, List.of(replaced.publicPort, other.publicPort));
            }
        }
    }

    private static Map<String, String> with(String name, String value) {
        return and(PATIENT, Map.of(name, value));
    }

    private static Map<String, String> and(Map<String, String> one, Map<String, String> other) {
        Map<String, String> both = new HashMap<>(one);
        both.putAll(other);
        return both;
    }

    private static void createTable(LocalDynamoDb dynamo) {
        System.setProperty("aws.accessKeyId", "test");
        System.setProperty("aws.secretAccessKey", "test");
        try {
            DynamoDbLedger.builder()
                    .table("fleet")
                    .fleet("default")
                    .region("eu-central-1")
                    .endpoint(dynamo.endpoint())
                    .createTable();
        } finally {
            System.clearProperty("aws.accessKeyId");
            System.clearProperty("aws.secretAccessKey");
        }
    }

    /** @param ports the public ports of all dispatchers, the one that is replaced first */
    private static void replaceUnderLoad(HeldSockets dispatcher, List<Integer> ports) throws Exception {
        List<LoadClients> loads = ports.stream()
                .flatMap(port -> Stream.of(LoadClients.http1(port, CLIENTS), LoadClients.http2(port, CLIENTS)))
                .toList();
        for (int i = 0; i < RESTARTS; i++) {
            awaitProgress(loads);
            dispatcher.replace();
        }
        awaitProgress(loads);
        for (LoadClients load : loads) {
            load.close();
            LoggerFactory.getLogger(SocketActivationIT.class)
                    .info(
                            "{} dispatchers, one replaced {} times: {} served on {} connections, {} lost",
                            ports.size(),
                            RESTARTS,
                            load.served(),
                            load.connections(),
                            load.lost().size());
        }
        assertThat(loads).allSatisfy(load -> assertThat(load.lost()).isEmpty());
        assertThat(loads.subList(0, 2))
                .allSatisfy(load -> assertThat(load.connections()).isGreaterThan(RESTARTS * CLIENTS));
        assertThat(dispatcher.log()).contains("Using the socket of systemd on /127.0.0.1:" + dispatcher.publicPort);
    }

    private static void awaitProgress(List<LoadClients> loads) {
        LoadClients.awaitProgress(loads, MOST_START);
    }
}
