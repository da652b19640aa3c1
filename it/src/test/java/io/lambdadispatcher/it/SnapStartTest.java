package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import com.amazonaws.services.lambda.crac.CheckpointException;
import com.amazonaws.services.lambda.crac.Core;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.worker.LambdaHandler;
import io.lambdadispatcher.worker.aws.AwsConnections;
import io.lambdadispatcher.worker.handler.Handler;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.lambdadispatcher.worker.snapshot.SnapshotListener;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;

/** Tests the snapshot hooks with the runtime client that calls them on Lambda. */
@EachRelease
@Timeout(60)
class SnapStartTest {
    /** The implementation of {@code org.crac}, which the image's flags set. */
    private static final String IMPLEMENTATION = "org.crac.Core.Compat";

    private static final Set<Integer> connections = ConcurrentHashMap.newKeySet();
    private static HttpServer server;

    private static final class Probe implements Handler, SnapshotListener {
        final List<String> heard = new ArrayList<>();

        @Override
        public void handle(Request request, Response response) {
            response.head(200);
            response.end();
        }

        @Override
        public void beforeCheckpoint() {
            heard.add("before");
        }

        @Override
        public void afterRestore() {
            heard.add("after");
        }
    }

    private static final class Function extends LambdaHandler {
        Function(Handler handler) {
            super(handler);
        }
    }

    @BeforeAll
    static void start() throws IOException {
        String flag = "-D" + IMPLEMENTATION + "=";
        System.setProperty(
                IMPLEMENTATION,
                Files.readAllLines(Path.of("../docker/worker.flags")).stream()
                        .filter(line -> line.startsWith(flag))
                        .map(line -> line.substring(flag.length()))
                        .findFirst()
                        .orElse(""));
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", SnapStartTest::answer);
        server.start();
    }

    private static void answer(HttpExchange exchange) throws IOException {
        connections.add(exchange.getRemoteAddress().getPort());
        exchange.getRequestBody().readAllBytes();
        exchange.getResponseHeaders().set("Content-Type", "application/x-amz-json-1.0");
        exchange.sendResponseHeaders(200, 2);
        exchange.getResponseBody().write(new byte[] {'{', '}'});
        exchange.close();
    }

    @AfterAll
    static void stop() {
        server.stop(0);
        System.clearProperty(IMPLEMENTATION);
    }

    @Test
    void should_close_connections_before_the_snapshot_and_tell_the_handler() throws Exception {
        Probe probe = new Probe();
        Function function = new Function(probe);
        try (AwsConnections aws = AwsConnections.builder().build();
                DynamoDbAsyncClient client = DynamoDbAsyncClient.builder()
                        .httpClient(aws.async())
                        .endpointOverride(URI.create(
                                "http://127.0.0.1:" + server.getAddress().getPort()))
                        .region(Region.US_EAST_1)
                        .credentialsProvider(AnonymousCredentialsProvider.create())
                        .build()) {
            put(client);
            put(client);
            int before = connections.size();
            assertThat(before).isPositive();

            System.gc(); // The runtime client has only weak references to its listeners.
            checkpoint();
            assertThat(probe.heard).containsExactly("before");
            Await.until(
                    "the threads have ended",
                    () -> Thread.getAllStackTraces().keySet().stream()
                            .noneMatch(thread -> thread.getName().startsWith("aws-http")));

            Core.getGlobalContext().afterRestore(null);
            assertThat(probe.heard).containsExactly("before", "after");
            assertThat(connections).hasSize(before);
            put(client);
            assertThat(connections).hasSize(before + 1);
        }
        assertThat(function).isNotNull();
    }

    /**
     * After the hooks, the client clears the JVM's DNS cache with native code. It loads this code
     * only when it runs a function.
     */
    private static void checkpoint() throws CheckpointException {
        try {
            Core.getGlobalContext().beforeCheckpoint(null);
        } catch (UnsatisfiedLinkError e) {
            assertThat(e).hasMessageContaining("DNSManager.clearCache");
        }
    }

    private static void put(DynamoDbAsyncClient client) {
        client.putItem(put -> put.tableName("items").item(Map.of("id", AttributeValue.fromS("1"))))
                .join();
    }
}
