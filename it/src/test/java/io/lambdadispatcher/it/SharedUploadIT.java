package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.spi.Ledger;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.worker.Worker;
import io.lambdadispatcher.worker.config.WorkerConfig;
import io.lambdadispatcher.worker.handler.Handler;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests uploads through two dispatchers to a worker that is too small for both. */
class SharedUploadIT {
    private static final int STREAMS = 3;
    private static final int CLIENTS = 12;
    private static final int UPLOADS = 20;

    private final ConcurrentMap<String, Ledger.Entry> entries = new ConcurrentHashMap<>();

    private Rig rig() {
        return Rig.start(
                Rig.function().queue(100, Duration.ofSeconds(60)).build(),
                DispatcherObserver.NONE,
                builder -> builder.ledger(Ledger.inMemory(entries)));
    }

    /** A part of the body is sent to a busy worker first, and the client may send as much again. */
    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void should_repeat_uploads_to_a_busy_worker(HttpClient.Version version) throws Exception {
        Handler echo = (request, response) -> request.body()
                .readAll(
                        1 << 20,
                        body -> request.eventLoop()
                                .schedule(
                                        () -> response.respond(200, "application/octet-stream", body),
                                        3,
                                        TimeUnit.MILLISECONDS));
        try (Rig one = rig();
                Rig other = rig();
                Worker worker = new Worker(
                                WorkerConfig.of("demo", Rig.SECRET, one.dispatcher.workerAddress()).toBuilder()
                                        .plain()
                                        .streams(STREAMS)
                                        .build(),
                                echo)
                        .start()) {
            List<CompletableFuture<Void>> clients = new ArrayList<>();
            for (Rig each : List.of(one, other)) {
                awaitServed(each.dispatcher);
                HttpClient client = each.client(version);
                for (int i = 0; i < CLIENTS; i++) {
                    clients.add(upload(each, client, new Random(i), UPLOADS));
                }
            }
            clients.forEach(client -> client.orTimeout(120, TimeUnit.SECONDS).join());
        }
    }

    private static void awaitServed(Dispatcher dispatcher) {
        Await.until(
                "the dispatcher has a worker", () -> dispatcher.pools().get(0).streams() == STREAMS);
    }

    private static CompletableFuture<Void> upload(Rig rig, HttpClient client, Random random, int count) {
        if (count == 0) {
            return CompletableFuture.completedFuture(null);
        }
        byte[] body = new byte[random.nextInt(300_000)];
        random.nextBytes(body);
        HttpRequest request = HttpRequest.newBuilder(rig.https("/echo"))
                .POST(BodyPublishers.ofByteArray(body))
                .build();
        return client.sendAsync(request, BodyHandlers.ofByteArray()).thenCompose(response -> {
            verify(response, body);
            return upload(rig, client, random, count - 1);
        });
    }

    private static void verify(HttpResponse<byte[]> response, byte[] body) {
        assertThat(response.statusCode()).isEqualTo(200);
        assertThat(response.body()).isEqualTo(body);
    }
}
