package io.lambdadispatcher.worker.aws;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.worker.snapshot.SnapshotsOfContext;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.crac.Context;
import org.crac.Resource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.reactivestreams.Publisher;
import software.amazon.awssdk.auth.credentials.AnonymousCredentialsProvider;
import software.amazon.awssdk.core.async.SdkPublisher;
import software.amazon.awssdk.core.client.config.ClientOverrideConfiguration;
import software.amazon.awssdk.http.SdkHttpMethod;
import software.amazon.awssdk.http.SdkHttpRequest;
import software.amazon.awssdk.http.SdkHttpResponse;
import software.amazon.awssdk.http.async.AsyncExecuteRequest;
import software.amazon.awssdk.http.async.SdkAsyncHttpResponseHandler;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.DefaultRetryStrategy;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;

/** Runs real SDK clients that do not retry, so that each failure of a connection is visible. */
@EachRelease
@Timeout(180)
class AwsConnectionsTest {
    private static final Map<String, AttributeValue> ITEM = Map.of("id", AttributeValue.fromS("1"));

    private final ManualFreezeClocks clocks = new ManualFreezeClocks();
    private final FakeContext context = new FakeContext();
    private final ImpatientServer server = new ImpatientServer();
    private final AwsConnections connections = builder().build();

    AwsConnectionsTest() throws Exception {}

    private AwsConnections.Builder builder() {
        return AwsConnections.builder().clocks(clocks).snapshots(SnapshotsOfContext.of(context));
    }

    private static final class FakeContext extends Context<Resource> {
        final List<Resource> resources = new ArrayList<>();

        @Override
        public void register(Resource resource) {
            resources.add(resource);
        }

        @Override
        public void beforeCheckpoint(Context<? extends Resource> parent) {
            resources.forEach(resource -> run(() -> resource.beforeCheckpoint(this)));
        }

        @Override
        public void afterRestore(Context<? extends Resource> parent) {
            resources.forEach(resource -> run(() -> resource.afterRestore(this)));
        }

        private interface Step {
            void run() throws Exception;
        }

        private static void run(Step step) {
            try {
                step.run();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }
    }

    @AfterEach
    void close() throws Exception {
        connections.close();
        server.close();
    }

    /** Both kinds of client. */
    private enum Kind {
        ASYNC {
            @Override
            CompletableFuture<?> put(AwsConnections connections, ImpatientServer server) {
                DynamoDbAsyncClient client = DynamoDbAsyncClient.builder()
                        .httpClient(connections.async())
                        .endpointOverride(server.endpoint())
                        .region(Region.EU_WEST_1)
                        .credentialsProvider(AnonymousCredentialsProvider.create())
                        .overrideConfiguration(ONCE)
                        .build();
                return client.putItem(put -> put.tableName("items").item(ITEM))
                        .whenComplete((done, error) -> client.close());
            }
        },
        BLOCKING {
            @Override
            CompletableFuture<?> put(AwsConnections connections, ImpatientServer server) {
                return CompletableFuture.supplyAsync(
                        () -> {
                            try (DynamoDbClient client = DynamoDbClient.builder()
                                    .httpClient(connections.blocking())
                                    .endpointOverride(server.endpoint())
                                    .region(Region.EU_WEST_1)
                                    .credentialsProvider(AnonymousCredentialsProvider.create())
                                    .overrideConfiguration(ONCE)
                                    .build()) {
                                return client.putItem(
                                        put -> put.tableName("items").item(ITEM));
                            }
                        },
                        task -> new Thread(task).start());
            }
        };

        static final ClientOverrideConfiguration ONCE = ClientOverrideConfiguration.builder()
                .retryStrategy(DefaultRetryStrategy.doNotRetry())
                .build();

        abstract CompletableFuture<?> put(AwsConnections connections, ImpatientServer server);
    }

    @Test
    void should_dial_nothing_before_the_first_request() {
        assertThat(connections.async()).isNotNull();
        assertThat(connections.blocking()).isNotNull();
        assertThat(context.resources).hasSize(1);
        assertThat(server.accepted()).isZero();
    }

    @ParameterizedTest
    @EnumSource
    void should_keep_one_connection_for_all_clients_and_requests(Kind kind) {
        for (int i = 0; i < 20; i++) {
            kind.put(connections, server).join();
            clocks.pass(4000);
        }
        assertThat(server.requests()).isEqualTo(20);
        assertThat(server.accepted()).isOne();
    }

    @ParameterizedTest
    @EnumSource
    void should_not_fail_when_the_peer_has_reset_connections_during_a_freeze(Kind kind) throws Exception {
        for (int freeze = 1; freeze <= 5; freeze++) {
            kind.put(connections, server).join();
            clocks.freeze(600_000);
            server.resetAll();
        }
        kind.put(connections, server).join();
        assertThat(server.requests()).isEqualTo(6);
        assertThat(server.accepted()).isEqualTo(6);
    }

    @ParameterizedTest
    @EnumSource
    void should_close_connections_of_before_a_freeze(Kind kind) throws Exception {
        kind.put(connections, server).join();
        server.awaitOpen(1);
        clocks.freeze(600_000);
        kind.put(connections, server).join();
        assertThat(server.accepted()).isEqualTo(2);
        server.awaitOpen(1);
    }

    @ParameterizedTest
    @EnumSource
    void should_let_a_request_end_that_a_freeze_has_met(Kind kind) throws Exception {
        CountDownLatch answers = new CountDownLatch(1);
        server.hold(answers);
        CompletableFuture<?> before = kind.put(connections, server);
        server.awaitOpen(1);
        clocks.freeze(600_000);
        CompletableFuture<?> after = kind.put(connections, server);
        server.awaitOpen(2);
        answers.countDown();
        before.join();
        after.join();
        server.awaitOpen(1);
    }

    @Test
    void should_close_an_idle_connection_in_time_by_itself() throws Exception {
        try (AwsConnections hasty = builder().maxIdle(Duration.ofMillis(100)).build()) {
            Kind.ASYNC.put(hasty, server).join();
            server.awaitOpen(0);
            Kind.ASYNC.put(hasty, server).join();
        }
        assertThat(server.requests()).isEqualTo(2);
    }

    @ParameterizedTest
    @EnumSource
    void should_have_no_connection_at_a_checkpoint_and_dial_after_the_restore(Kind kind) throws Exception {
        Set<Thread> ofOthers = eventLoops();
        kind.put(connections, server).join();
        Set<Thread> ours = eventLoops();
        ours.removeAll(ofOthers);
        assertThat(ours).hasSize(kind == Kind.ASYNC ? 1 : 0);
        context.beforeCheckpoint(context);
        server.awaitOpen(0);
        for (Thread thread : ours) {
            // The event loop reports its end a moment before its thread ends.
            thread.join(TimeUnit.SECONDS.toMillis(20));
            assertThat(thread.isAlive()).isFalse();
        }

        context.afterRestore(context);
        assertThat(server.accepted()).isOne();
        kind.put(connections, server).join();
        assertThat(server.accepted()).isEqualTo(2);
    }

    /**
     * Returns the event loops of all tests in this process. The demo's connections are never
     * closed.
     */
    private static Set<Thread> eventLoops() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("aws-http"))
                .collect(Collectors.toCollection(HashSet::new));
    }

    @Test
    void should_drop_after_the_restore_what_was_dialled_after_the_checkpoint() throws Exception {
        context.beforeCheckpoint(context);
        Kind.ASYNC.put(connections, server).join();
        server.awaitOpen(1);
        context.afterRestore(context);
        server.awaitOpen(0);
        Kind.ASYNC.put(connections, server).join();
    }

    /** While the old event loop ends, another thread may send a request. */
    @Test
    void should_serve_requests_after_a_close_that_another_request_has_met() throws Exception {
        AtomicInteger clients = new AtomicInteger();
        CountDownLatch loopIsBusy = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        try (AwsConnections busy = builder()
                .async(client -> {
                    clients.incrementAndGet();
                    return client;
                })
                .build()) {
            busy.async().execute(request(new BusyLoop(loopIsBusy, goOn)));
            assertThat(loopIsBusy.await(20, TimeUnit.SECONDS)).isTrue();
            CompletableFuture<Void> closed = CompletableFuture.runAsync(busy::close);
            Await.until("another client", () -> {
                Kind.ASYNC.put(busy, server);
                return clients.get() == 2;
            });
            goOn.countDown();
            closed.join();
            Kind.ASYNC.put(busy, server).join();
        } finally {
            goOn.countDown();
        }
    }

    private AsyncExecuteRequest request(SdkAsyncHttpResponseHandler handler) {
        return AsyncExecuteRequest.builder()
                .request(SdkHttpRequest.builder()
                        .method(SdkHttpMethod.GET)
                        .uri(server.endpoint())
                        .putHeader("Host", server.endpoint().getRawAuthority())
                        .build())
                .requestContentPublisher(new Primer.Nothing())
                .responseHandler(handler)
                .build();
    }

    /** Blocks the event loop of the client. */
    private record BusyLoop(CountDownLatch isBusy, CountDownLatch until) implements SdkAsyncHttpResponseHandler {
        @Override
        public void onHeaders(SdkHttpResponse head) {
            isBusy.countDown();
            try {
                until.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }

        @Override
        public void onStream(Publisher<ByteBuffer> body) {
            SdkPublisher.adapt(body).subscribe(bytes -> {});
        }

        @Override
        public void onError(Throwable error) {}
    }

    @Test
    void should_prime_at_once_where_no_snapshot_is_to_be_taken() throws Exception {
        CountDownLatch answers = new CountDownLatch(1);
        server.hold(answers); // so that all connections are needed at the same time
        CompletableFuture<Void> primed = connections.prime(server.endpoint(), 3).toCompletableFuture();
        server.awaitOpen(3);
        answers.countDown();
        primed.join();
        Kind.ASYNC.put(connections, server).join();
        assertThat(server.accepted()).isEqualTo(3);
    }

    @Test
    void should_prime_after_the_restore_only_where_a_snapshot_is_to_be_taken() throws Exception {
        try (AwsConnections snapStart = builder().beforeSnapshot(true).build()) {
            snapStart.prime(server.endpoint(), 2).toCompletableFuture().join();
            assertThat(server.accepted()).isZero();
            context.beforeCheckpoint(context);
            assertThat(server.accepted()).isZero();

            CountDownLatch answers = new CountDownLatch(1);
            server.hold(answers);
            context.afterRestore(context);
            server.awaitOpen(2);
            answers.countDown();
        }
    }

    @Test
    void should_not_fail_when_nobody_answers_to_the_priming() throws Exception {
        server.close();
        connections.prime(server.endpoint(), 2).toCompletableFuture().join();
    }

    @Test
    void should_name_settings_that_cannot_be() {
        assertThatThrownBy(() -> AwsConnections.builder().maxIdle(Duration.ZERO))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("PT0S");
        assertThatThrownBy(() -> AwsConnections.builder().callsOfRequest(0))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("0, expected");
    }
}
