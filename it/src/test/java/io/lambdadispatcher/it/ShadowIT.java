package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.shadow.ShadowPolicy;
import io.lambdadispatcher.shadow.ShadowTraffic;
import io.lambdadispatcher.wire.testkit.Alone;
import io.lambdadispatcher.wire.testkit.Await;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Shadow traffic with worker processes, and clients that send 200 requests/s. */
@Timeout(300)
class ShadowIT {
    private final RecordingObserver observer = new RecordingObserver();

    /** Returns the number of copies by their result. */
    private Map<String, Long> shadows() {
        return observer.filterEvents.stream()
                .filter(event -> event.name().equals("shadow.requests"))
                .collect(Collectors.groupingBy(event -> event.labels().get("result"), Collectors.counting()));
    }

    private static TrafficPolicy copied(ShadowPolicy policy) {
        return TrafficPolicy.builder().extension(ShadowPolicy.class, policy).build();
    }

    /** Starts the function {@code demo} with healthy workers, and one worker of {@code next}. */
    private Rig rig(TrafficPolicy policy, Map<String, String> handler, Map<String, String> nextHandler) {
        FunctionOptions next = FunctionOptions.builder("next")
                .connectionsPerWorker(2)
                .streamsPerConnection(100)
                .workerTimeout(Duration.ofSeconds(5))
                .build();
        Rig rig = Rig.start(
                Rig.function().traffic(policy).build(),
                observer,
                builder -> builder.function(next).filter(new ShadowTraffic()));
        rig.process(2, 50, handler);
        Map<String, String> variables = new HashMap<>(nextHandler);
        variables.put("LAMBDA_DISPATCHER_FUNCTION", "next");
        rig.launch(2, 50, variables);
        Await.until(
                "the other function has a worker",
                () -> rig.dispatcher.pools().get(1).free() == 100);
        return rig;
    }

    private static Map<String, String> kind(String kind) {
        return Map.of("LAMBDA_DISPATCHER_HANDLER", TrafficHandler.class.getName(), "IT_TRAFFIC", kind);
    }

    @Test
    @Alone("compares latencies")
    void should_not_delay_requests_while_their_copies_hang() throws Exception {
        TrafficPolicy policy = copied(ShadowPolicy.of("next", 1));
        try (Rig unhindered = rig(TrafficPolicy.NEUTRAL, kind("healthy"), kind("silent"));
                Rig handicapped = rig(policy, kind("healthy"), kind("silent"))) {
            TrafficIT.load(unhindered, 500);
            TrafficIT.load(handicapped, 500);
            TrafficIT.assertNoSlower(unhindered, handicapped, 1_000);
            assertThat(shadows()).containsKeys("skipped", "failed");
            Await.until(
                    "no copy is left",
                    () -> handicapped.dispatcher.pools().get(1).free() == 100);
        }
    }

    @Test
    void should_compare_copies_with_their_requests() throws Exception {
        TrafficPolicy policy = copied(ShadowPolicy.of("next", 1));
        try (Rig rig = rig(policy, kind("healthy"), kind("broken"))) {
            // One after the other, because copies are skipped while too many are in flight.
            TrafficIT.oneByOne(rig, 100);
            Await.until("copies have ended", () -> shadows().getOrDefault("different", 0L) == 100);
        }
    }

    @Test
    void should_deliver_whole_bodies_that_are_too_large_to_copy() throws Exception {
        TrafficPolicy policy = copied(ShadowPolicy.of("next", 1).withAllMethods());
        try (Rig rig = rig(policy, Rig.DEMO, kind("silent"))) {
            for (HttpClient.Version version : HttpClient.Version.values()) {
                boolean secure = version == HttpClient.Version.HTTP_2;
                // Over HTTP/1.1, Java's client reads nothing before it has sent all, so sockets
                // must hold the response.
                byte[] body = new byte[secure ? 8 << 20 : 300 << 10];
                HttpRequest request = HttpRequest.newBuilder(secure ? rig.https("/echo") : rig.http("/echo"))
                        .POST(BodyPublishers.ofByteArray(body))
                        .build();
                HttpClient client = rig.client(version);
                for (int i = 0; i < 10; i++) {
                    HttpResponse<byte[]> response = client.send(request, BodyHandlers.ofByteArray());
                    assertThat(response.statusCode()).isEqualTo(200);
                    assertThat(response.body()).isEqualTo(body);
                }
            }
            assertThat(shadows()).containsEntry("lagged", 20L);
            rig.awaitAllFree();
        }
    }
}
