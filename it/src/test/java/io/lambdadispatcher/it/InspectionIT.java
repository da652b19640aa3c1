package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.RequestSnapshot;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.AdmissionPolicy;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.request.DispatchResponse;
import io.lambdadispatcher.wire.testkit.Await;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the snapshots of workers and of requests in progress. */
@Timeout(120)
class InspectionIT {
    private final Rig rig = Rig.start(
            Rig.function()
                    .connectionsPerWorker(1)
                    .streamsPerConnection(2)
                    .traffic(TrafficPolicy.builder()
                            .admission(AdmissionPolicy.builder("test")
                                    .tenants("x-tenant", 0)
                                    .build())
                            .build())
                    .build(),
            DispatcherObserver.NONE);

    @AfterEach
    void close() throws Exception {
        rig.close();
    }

    private List<RequestSnapshot> requests(int limit) {
        try {
            return rig.dispatcher.requests(limit).toCompletableFuture().get(10, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private List<WorkerSnapshot> workers() throws Exception {
        return rig.dispatcher.workers().toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    private void startWorker() {
        Map<String, String> variables = new HashMap<>(Rig.DEMO);
        variables.put("AWS_LAMBDA_FUNCTION_VERSION", "7");
        variables.put("AWS_LAMBDA_LOG_STREAM_NAME", "2026/11/23/[7]0a1b");
        variables.put("LAMBDA_DISPATCHER_ZONE", "use1-az1");
        rig.process(1, 2, variables);
    }

    private CompletableFuture<HttpResponse<String>> get(String path, String... headers) {
        HttpRequest.Builder request = HttpRequest.newBuilder(rig.https(path));
        if (headers.length > 0) {
            request.headers(headers);
        }
        return rig.client(Version.HTTP_2).sendAsync(request.build(), BodyHandlers.ofString());
    }

    @Test
    void should_show_requests_from_the_oldest_on_and_where_each_is() throws Exception {
        startWorker();
        CompletableFuture<HttpResponse<String>> first = get("/delay?delay=4000&token=secret", "x-tenant", "acme");
        Await.until("the first is sent", () -> requests(9).size() == 1);
        CompletableFuture<HttpResponse<String>> second = get("/chunked-response?delay=400");
        Await.until(
                "the second responds",
                () -> requests(9).stream()
                        .anyMatch(
                                each -> each.state() == RequestSnapshot.State.RESPONDING && each.responseBytes() > 0));
        CompletableFuture<DispatchResponse> third =
                rig.dispatcher.dispatch(DispatchRequest.get("/ping").build()).toCompletableFuture();
        Await.until("the third waits", () -> requests(9).size() == 3);

        List<RequestSnapshot> seen = requests(9);
        assertThat(seen)
                .extracting(RequestSnapshot::state)
                .containsExactly(
                        RequestSnapshot.State.SENT, RequestSnapshot.State.RESPONDING, RequestSnapshot.State.QUEUED);
        assertThat(seen).extracting(RequestSnapshot::path).containsExactly("/delay", "/chunked-response", "/ping");
        assertThat(seen)
                .extracting(RequestSnapshot::protocol)
                .containsExactly(ClientProtocol.HTTP_2, ClientProtocol.HTTP_2, ClientProtocol.EMBEDDED);
        assertThat(seen).extracting(RequestSnapshot::tenant).containsExactly("acme", null, null);
        assertThat(seen).extracting(RequestSnapshot::attempts).containsExactly(1, 1, 0);
        assertThat(seen.get(0).workerId())
                .isEqualTo(workers().get(0).workerId())
                .isEqualTo(seen.get(1).workerId());
        assertThat(seen.get(2).workerId()).isNull();
        assertThat(((InetSocketAddress) seen.get(0).remoteAddress())
                        .getAddress()
                        .isLoopbackAddress())
                .isTrue();
        assertThat(seen.get(0).ageNanos()).isGreaterThan(seen.get(1).ageNanos());
        assertThat(requests(1)).extracting(RequestSnapshot::path).containsExactly("/delay");

        assertThat(first.get().statusCode()).isEqualTo(200);
        assertThat(second.get().statusCode()).isEqualTo(200);
        assertThat(third.get().status()).isEqualTo(200);
        third.get().discard();
        Await.until("all have ended", () -> requests(9).isEmpty());
    }

    @Test
    void should_show_the_start_of_a_long_path_and_method() {
        String path = "/" + "p".repeat(9_000);
        rig.dispatcher.dispatch(DispatchRequest.builder("M".repeat(900), path).build());
        Await.until("it waits", () -> requests(9).size() == 1);

        assertThat(requests(9).get(0).path()).isEqualTo(path.substring(0, 512));
        assertThat(requests(9).get(0).method()).isEqualTo("M".repeat(512));
    }

    @Test
    void should_count_the_part_of_a_body_that_has_arrived() throws Exception {
        startWorker();
        try (Socket client = new Socket("127.0.0.1", rig.plainPort())) {
            OutputStream out = client.getOutputStream();
            out.write("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"
                    .getBytes(StandardCharsets.US_ASCII));
            Await.until("its body arrives", () -> requests(9).stream().anyMatch(each -> each.requestBytes() == 3));
            assertThat(requests(9)).hasSize(1);
        }
        Await.until("it has ended", () -> requests(9).isEmpty());
    }

    @Test
    void should_show_what_a_worker_is_and_does() throws Exception {
        assertThat(workers()).isEmpty();
        startWorker();
        Await.until("it is ready", () -> rig.pool().readyWorkers() == 1);
        CompletableFuture<HttpResponse<String>> busy = get("/delay?delay=3000");
        assertThat(get("/fail").get().statusCode()).isEqualTo(500);
        Await.until("its request is there", () -> requests(9).size() == 1);

        WorkerSnapshot worker = workers().get(0);
        assertThat(worker.function()).isEqualTo("demo");
        assertThat(worker.state()).isEqualTo(WorkerSnapshot.State.READY);
        assertThat(worker.launched()).isFalse();
        assertThat(worker.connections()).isEqualTo(1);
        assertThat(worker.streams()).isEqualTo(2);
        assertThat(worker.busy()).isEqualTo(1);
        assertThat(worker.limit()).isEqualTo(2);
        assertThat(worker.completed()).isEqualTo(1);
        assertThat(worker.failed()).isEqualTo(1);
        assertThat(worker.version()).isEqualTo("7");
        assertThat(worker.zone()).isEqualTo("use1-az1");
        assertThat(worker.logStream()).isEqualTo("2026/11/23/[7]0a1b");
        assertThat(worker.ejection()).isNull();
        assertThat(Duration.between(worker.since(), Instant.now())).isLessThan(Duration.ofMinutes(1));
        Await.until("it reports its load", () -> {
            try {
                return workers().get(0).load() != null;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        assertThat(busy.get().statusCode()).isEqualTo(200);
    }

    @Test
    void should_reject_a_limit_below_one() {
        assertThatThrownBy(() -> rig.dispatcher.requests(0)).hasMessage("limit: 0, expected 1 or more");
    }
}
