package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.cache.CachePolicy;
import io.lambdadispatcher.cache.HttpCache;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.testkit.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Clients get stored responses, also when no worker is alive. */
class CacheIT {
    private static HttpResponse<String> get(HttpClient client, URI uri) throws Exception {
        return client.send(
                HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(60)).build(), BodyHandlers.ofString());
    }

    @ParameterizedTest
    @EnumSource(HttpClient.Version.class)
    void should_answer_stale_without_workers(HttpClient.Version version) throws Exception {
        FunctionOptions function = Rig.function()
                .queue(100, Duration.ofMillis(200))
                .traffic(TrafficPolicy.builder()
                        .extension(CachePolicy.class, CachePolicy.builder("it").build())
                        .build())
                .build();
        try (Rig rig =
                Rig.start(function, DispatcherObserver.NONE, builder -> builder.filter(new HttpCache(1 << 20)))) {
            Process worker = rig.process(1, 10, Map.of("LAMBDA_DISPATCHER_HANDLER", CacheHandler.class.getName()));
            boolean tls = version == HttpClient.Version.HTTP_2;
            HttpClient client = rig.client(version);
            URI uri = tls ? rig.https("/a") : rig.http("/a");
            URI secret = tls ? rig.https("/private") : rig.http("/private");
            assertThat(get(client, uri).body()).isEqualTo("number 1");
            assertThat(get(client, secret).body()).isEqualTo("number 2");
            assertThat(get(client, secret).body()).isEqualTo("number 3");
            worker.destroyForcibly().waitFor();
            Await.until("no worker", () -> rig.pool().workers() == 0);
            Await.until(
                    "it is stale",
                    () -> get(client, uri)
                            .headers()
                            .firstValue("cache-status")
                            .orElseThrow()
                            .contains("ttl=-"));
            HttpResponse<String> stale = get(client, uri);
            assertThat(stale.statusCode()).isEqualTo(200);
            assertThat(stale.body()).isEqualTo("number 1");
            assertThat(stale.version()).isEqualTo(version);
            assertThat(stale.headers().firstValue("cache-status").orElseThrow())
                    .startsWith("lambda-dispatcher; hit; ttl=-");
            assertThat(get(client, secret).statusCode()).isEqualTo(503);
        }
    }
}
