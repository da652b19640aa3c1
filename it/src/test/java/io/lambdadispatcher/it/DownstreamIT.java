package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Local workers open as many connections to a database as they may have, while all of them are
 * replaced several times. The database counts its connections.
 */
@Timeout(300)
class DownstreamIT {
    private static final int LIMIT = 12;
    private static final String TOKEN = "0123456789abcdef";

    /** Counts connections from their arrival until the end of their input. */
    private static final class Database implements AutoCloseable {
        final ServerSocket listener = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        final AtomicInteger open = new AtomicInteger();
        final AtomicInteger most = new AtomicInteger();

        Database() throws IOException {
            daemon(this::accept);
        }

        private static void daemon(Runnable task) {
            Thread thread = new Thread(task, "database");
            thread.setDaemon(true);
            thread.start();
        }

        private void accept() {
            try {
                while (true) {
                    Socket connection = listener.accept();
                    int now = open.incrementAndGet();
                    most.accumulateAndGet(now, Math::max);
                    daemon(() -> awaitEnd(connection));
                }
            } catch (IOException e) {
                // The test is over.
            }
        }

        private void awaitEnd(Socket connection) {
            try (connection;
                    InputStream in = connection.getInputStream()) {
                in.read();
            } catch (IOException e) {
                // A worker that was killed resets its connections.
            } finally {
                open.decrementAndGet();
            }
        }

        @Override
        public void close() throws IOException {
            listener.close();
        }
    }

    @Test
    void should_never_open_more_connections_than_the_limit_while_workers_are_replaced() throws Exception {
        try (Database database = new Database();
                ServedProgram program = ServedProgram.start(
                        Map.of(
                                "FUNCTION_HANDLER", SharedDatabaseHandler.class.getName(),
                                "FUNCTION_DOWNSTREAM_CONNECTIONS", Integer.toString(LIMIT),
                                "ADMIN_TOKEN", TOKEN),
                        Map.of(SharedDatabaseHandler.PORT, Integer.toString(database.listener.getLocalPort())))) {
            // Two workers and one replacement.
            assertThat(program.get("/").get().body()).isEqualTo("4 4");
            for (int round = 0; round < 3; round++) {
                Set<String> old = ready(program);
                recycle(program);
                Await.until("both workers are replaced", Duration.ofSeconds(120), () -> {
                    Set<String> now = ready(program);
                    return now.size() == 2 && now.stream().noneMatch(old::contains);
                });
            }
            Await.until("the replaced workers have ended", () -> database.open.get() == 8);
            assertThat(database.most)
                    .as("connections of two workers and a replacement")
                    .hasValue(LIMIT);
        }
    }

    private static Set<String> ready(ServedProgram program) {
        return program.document("workers")
                .filter(each -> "ready".equals(each.get("state")))
                .map(each -> String.valueOf(each.get("id")))
                .collect(Collectors.toSet());
    }

    private static void recycle(ServedProgram program) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(
                        URI.create(program.adminUrl() + "/api/workers/recycle?function=shop"))
                .header("authorization", "Bearer " + TOKEN)
                .POST(BodyPublishers.noBody())
                .build();
        assertThat(HttpClient.newHttpClient()
                        .send(request, BodyHandlers.ofString())
                        .statusCode())
                .isEqualTo(200);
    }
}
