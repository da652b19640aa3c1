package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.WorkerSnapshot;
import io.lambdadispatcher.core.options.Affinity;
import io.lambdadispatcher.core.options.TrafficPolicy;
import io.lambdadispatcher.wire.testkit.Await;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Sessions whose state is in the memory of worker processes. Workers join and drain. */
@Timeout(300)
class SessionsIT {
    private static final Map<String, String> HANDLER =
            Map.of("LAMBDA_DISPATCHER_HANDLER", SessionHandler.class.getName());

    private static Rig start(Affinity affinity) {
        Rig rig = Rig.start(
                Rig.function()
                        .traffic(TrafficPolicy.builder().affinity(affinity).build())
                        .build(),
                DispatcherObserver.NONE);
        rig.process(2, 20, HANDLER);
        rig.process(2, 20, HANDLER);
        return rig;
    }

    private static HttpResponse<String> get(HttpClient client, URI uri, String... headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(uri);
        for (int i = 0; i < headers.length; i += 2) {
            request.header(headers[i], headers[i + 1]);
        }
        return client.send(request.build(), BodyHandlers.ofString());
    }

    private static List<String> workers(Rig rig) throws Exception {
        return rig.dispatcher.workers().toCompletableFuture().get(10, TimeUnit.SECONDS).stream()
                .map(WorkerSnapshot::workerId)
                .toList();
    }

    private static void drain(Rig rig, String id) throws Exception {
        rig.dispatcher
                .drain(worker -> worker.workerId().equals(id))
                .toCompletableFuture()
                .get(10, TimeUnit.SECONDS);
        // Not only until it drains: each of its connections is told by another event loop.
        Await.until("the worker has left", () -> !workers(rig).contains(id));
    }

    /** One session as a client sees it. */
    private static final class Client {
        private final HttpClient http;
        private final Rig rig;
        private final boolean tls;
        private String id = "";
        private String process = "";
        private int calls;

        Client(Rig rig, int number) throws Exception {
            this.rig = rig;
            tls = number % 2 == 0;
            http = rig.client(tls ? Version.HTTP_2 : Version.HTTP_1_1);
            begin();
        }

        private URI uri(String path) {
            return tls ? rig.https(path) : rig.http(path);
        }

        void begin() throws Exception {
            HttpResponse<String> response = get(http, uri("/sessions"));
            assertThat(response.statusCode()).isEqualTo(200);
            id = response.headers().firstValue("mcp-session-id").orElseThrow();
            process = response.body();
            calls = 0;
        }

        void call() throws Exception {
            HttpResponse<String> response = get(http, uri("/calls"), "mcp-session-id", id);
            assertThat(response.statusCode()).isEqualTo(200);
            assertThat(response.body()).isEqualTo(process + " " + ++calls);
        }

        int status() throws Exception {
            HttpResponse<String> response = get(http, uri("/calls"), "mcp-session-id", id);
            calls += response.statusCode() == 200 ? 1 : 0;
            return response.statusCode();
        }
    }

    @Test
    void should_keep_sessions_of_a_header_on_the_worker_that_created_them() throws Exception {
        try (Rig rig = start(Affinity.sessionHeader("mcp-session-id"))) {
            List<Client> clients = new ArrayList<>();
            Set<String> processes = new HashSet<>();
            for (int i = 0; i < 20; i++) {
                Client client = new Client(rig, i);
                clients.add(client);
                processes.add(client.process);
                assertThat(client.id).matches("[0-9a-f-]{36}~w[0-9a-z]{13}");
            }
            assertThat(processes).hasSize(2);
            for (Client client : clients) {
                client.call();
            }

            String old = workers(rig).get(0);
            rig.process(2, 20, HANDLER);
            for (int i = 0; i < 3; i++) {
                for (Client client : clients) {
                    client.call();
                }
            }

            drain(rig, old);
            Set<String> lost = new HashSet<>();
            for (Client client : clients) {
                int status = client.status();
                if (status == 404) {
                    lost.add(client.process);
                    client.begin();
                } else {
                    assertThat(status).isEqualTo(200);
                }
            }
            assertThat(lost).hasSize(1);
            for (Client client : clients) {
                assertThat(lost).doesNotContain(client.process);
                client.call();
            }
        }
    }

    @Test
    void should_keep_clients_with_a_cookie_on_their_worker() throws Exception {
        try (Rig rig = start(Affinity.ownCookie("lb"))) {
            HttpClient http = rig.client(Version.HTTP_1_1);
            for (int i = 0; i < 6; i++) {
                HttpResponse<String> first = get(http, rig.http("/process"));
                String cookie =
                        first.headers().firstValue("set-cookie").orElseThrow().split(";")[0];
                for (int call = 0; call < 5; call++) {
                    HttpResponse<String> next = get(http, rig.http("/process"), "cookie", "a=b; " + cookie);
                    assertThat(next.body()).isEqualTo(first.body());
                    assertThat(next.headers().firstValue("set-cookie")).isEmpty();
                }
            }
        }
    }

    @Test
    void should_send_requests_with_the_same_header_to_the_same_worker() throws Exception {
        try (Rig rig = start(Affinity.header("x-tenant"))) {
            Set<String> processes = new HashSet<>();
            HttpClient http = rig.client(Version.HTTP_2);
            for (int tenant = 0; tenant < 20; tenant++) {
                Set<String> of = new HashSet<>();
                for (int call = 0; call < 5; call++) {
                    of.add(get(http, rig.https("/process"), "x-tenant", "tenant-" + tenant)
                            .body());
                }
                assertThat(of).hasSize(1);
                processes.addAll(of);
            }
            assertThat(processes).hasSize(2);
        }
    }
}
