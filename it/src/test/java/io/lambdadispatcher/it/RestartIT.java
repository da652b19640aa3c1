package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.server.demo.DemoHandler;
import io.lambdadispatcher.wire.event.Json;
import io.lambdadispatcher.wire.testkit.Alone;
import io.lambdadispatcher.wire.testkit.Await;
import io.netty.channel.epoll.Epoll;
import java.io.EOFException;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * A dispatcher that is alone on its machine is replaced under load: the new process serves beside
 * the old one, on the same socket, with the same workers and the same ledger in a file. Either
 * process is killed at each step.
 */
@StartsPrograms
@Alone("connections are closed within fixed times")
@Timeout(value = 10, unit = TimeUnit.MINUTES)
class RestartIT {
    private static final String TOKEN = "a-token-for-the-admin-port-of-this-test";
    private static final int CLIENTS = 3;
    private static final int WORKERS = 2;
    /**
     * A client may lose what it has on a connection, and a request with which it notices the end.
     * It may do so twice, because a new connection can be the last that a process has accepted.
     */
    private static final int MOST_LOST = 2 * CLIENTS * (1 + 1 + LoadClients.STREAMS + 1);

    private static final Duration MOST_START = Duration.ofSeconds(150);
    private static final String TAKES_SOCKET = "Using the socket of systemd on ";
    private static final Pattern ADMIN_URL = Pattern.compile("Listening for admin requests on (\\S+)");

    @TempDir
    Path directory;

    private final HttpClient client = HttpClient.newHttpClient();

    @BeforeEach
    void needPython() throws Exception {
        Assumptions.assumeTrue(Epoll.isAvailable(), "sockets are taken with epoll only");
        Assumptions.assumeTrue(HeldSockets.isPossible(), "python3 holds the sockets, and is not installed");
    }

    private HeldSockets dispatcher() throws Exception {
        return new HeldSockets(
                directory,
                Map.ofEntries(
                        Map.entry("FLEET_TABLE", directory.resolve("ledger").toString()),
                        Map.entry("WORKERS_SECRET", Rig.SECRET),
                        Map.entry("WORKERS_PORT", "127.0.0.1:0"),
                        Map.entry("ADMIN_PORT", "127.0.0.1:0"),
                        Map.entry("ADMIN_TOKEN", TOKEN),
                        Map.entry("SHUTDOWN_GRACE", "10m"),
                        Map.entry("FUNCTION_NAME", "shop"),
                        Map.entry("FUNCTION_LAUNCHER", "local"),
                        Map.entry("FUNCTION_HANDLER", DemoHandler.class.getName()),
                        Map.entry("FUNCTION_WORKER_CONCURRENCY", "50"),
                        Map.entry("FUNCTION_MIN_WORKERS", Integer.toString(WORKERS)),
                        Map.entry("FUNCTION_MAX_WORKERS", Integer.toString(WORKERS)),
                        Map.entry("FUNCTION_QUEUE_TIMEOUT", "60s"),
                        Map.entry("LOCAL_JVM_FLAGS", "-Xmx128m -XX:TieredStopAtLevel=1")),
                Map.of());
    }

    @Test
    void should_serve_beside_the_old_process_until_its_last_stream_has_ended() throws Exception {
        try (HeldSockets dispatcher = dispatcher();
                LoadClients http1 = LoadClients.http1(dispatcher.publicPort, CLIENTS);
                LoadClients http2 = LoadClients.http2(dispatcher.publicPort, CLIENTS)) {
            List<LoadClients> loads = List.of(http1, http2);
            dispatcher.awaitReady();
            awaitProgress(loads);
            command(dispatcher, "/launching?to=off");
            try (OpenRequest stream = new OpenRequest(dispatcher.publicPort)) {
                dispatcher.start();
                dispatcher.awaitReady();
                assertThat(get(adminUrl(dispatcher) + "/ready").statusCode())
                        .as("the new process has the workers when it says so")
                        .isEqualTo(200);
                dispatcher.terminate();

                int before = http1.served() + http2.served();
                awaitProgress(loads);
                awaitProgress(loads);
                stream.echo("in the old process");
                assertThat(http1.served() + http2.served()).isGreaterThan(before);
                assertThat(budget(dispatcher))
                        .as("what the new process knows")
                        .containsEntry("launching", false)
                        .containsEntry("workers", BigDecimal.valueOf(WORKERS))
                        .hasEntrySatisfying(
                                "gbSecondsLastHour",
                                spent -> assertThat(((Number) spent).doubleValue())
                                        .isPositive());
                stream.end();
            }
            dispatcher.awaitExit();
            awaitProgress(loads);

            assertThat(loads).allSatisfy(load -> assertThat(load.lost()).isEmpty());
            assertThat(launches(dispatcher)).isEqualTo(WORKERS);
        }
    }

    @Test
    void should_survive_the_death_of_either_process_at_each_step() throws Exception {
        try (HeldSockets dispatcher = dispatcher();
                LoadClients http1 = LoadClients.http1(dispatcher.publicPort, CLIENTS);
                LoadClients http2 = LoadClients.http2(dispatcher.publicPort, CLIENTS)) {
            List<LoadClients> loads = List.of(http1, http2);
            dispatcher.awaitReady();
            awaitProgress(loads);

            // The new one, before it is ready: nobody notices.
            dispatcher.start();
            Await.until(
                    "the new process has the sockets",
                    MOST_START,
                    () -> dispatcher.log().split(TAKES_SOCKET, -1).length - 1 == 2);
            dispatcher.kill(1);
            awaitProgress(loads);
            assertThat(loads).allSatisfy(load -> assertThat(load.lost()).isEmpty());

            // The old one, before it is told to end: the new one adopts the workers.
            dispatcher.start();
            dispatcher.awaitReady();
            dispatcher.kill(0);
            int logged = dispatcher.log().length();
            Await.until(
                    "the new process takes over the workers",
                    MOST_START,
                    () -> dispatcher.log().indexOf("the others take over its workers", logged) >= 0);
            awaitProgress(loads);
            assertThat(lost(loads)).isLessThanOrEqualTo(MOST_LOST);

            // The old one, while it drains.
            try (OpenRequest stream = new OpenRequest(dispatcher.publicPort)) {
                dispatcher.start();
                dispatcher.awaitReady();
                int lost = lost(loads);
                List<Integer> connections =
                        loads.stream().map(LoadClients::connections).toList();
                dispatcher.terminate();
                Await.until(
                        "all clients have left the old process",
                        MOST_START,
                        () -> IntStream.range(0, loads.size())
                                .allMatch(i -> loads.get(i).connections() >= connections.get(i) + CLIENTS));
                awaitProgress(loads);
                stream.echo("in the old process");
                dispatcher.kill(0);
                stream.awaitLoss();
                awaitProgress(loads);
                assertThat(lost(loads)).isEqualTo(lost);
            }
            assertThat(launches(dispatcher)).isEqualTo(WORKERS);
            assertThat(budget(dispatcher)).containsEntry("workers", BigDecimal.valueOf(WORKERS));
        }
    }

    /** Returns what the fleet shares about the function, as the newest process sees it. */
    private Map<String, Object> budget(HeldSockets dispatcher) throws Exception {
        Map<String, ?> fleet = (Map<String, ?>)
                Json.read(get(adminUrl(dispatcher) + "/api/fleet").body());
        return new HashMap<>(((List<Map<String, ?>>) fleet.get("functions")).get(0));
    }

    private HttpResponse<byte[]> get(String url) throws Exception {
        return client.send(HttpRequest.newBuilder(URI.create(url)).build(), BodyHandlers.ofByteArray());
    }

    private void command(HeldSockets dispatcher, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(adminUrl(dispatcher) + path))
                .header("authorization", "Bearer " + TOKEN)
                .POST(HttpRequest.BodyPublishers.noBody())
                .build();
        assertThat(client.send(request, BodyHandlers.discarding()).statusCode()).isEqualTo(200);
    }

    private static String adminUrl(HeldSockets dispatcher) {
        List<String> urls = ADMIN_URL
                .matcher(dispatcher.log())
                .results()
                .map((MatchResult found) -> found.group(1))
                .toList();
        return urls.get(urls.size() - 1);
    }

    /** A request that is in flight until the test ends it: an echo of a body that continues. */
    private static final class OpenRequest implements AutoCloseable {
        private final Socket socket;

        OpenRequest(int port) throws IOException {
            socket = new Socket("127.0.0.1", port);
            socket.setSoTimeout(30_000);
            send("POST /echo HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n");
            echo("first");
        }

        private void send(String text) throws IOException {
            socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
        }

        /** Sends a part of the body, and returns when it has come back. */
        void echo(String part) throws IOException {
            send(Integer.toHexString(part.length()) + "\r\n" + part + "\r\n");
            awaitText(part + "\r\n");
        }

        private void awaitText(String end) throws IOException {
            StringBuilder read = new StringBuilder();
            while (read.indexOf(end) < 0) {
                int next = socket.getInputStream().read();
                if (next < 0) {
                    throw new EOFException("closed after \"" + read + '"');
                }
                read.append((char) next);
            }
        }

        /** Ends the body, and returns when the response is complete. */
        void end() throws IOException {
            send("0\r\n\r\n");
            awaitText("0\r\n\r\n");
        }

        void awaitLoss() {
            assertThatThrownBy(() -> awaitText("0\r\n\r\n")).isInstanceOfAny(EOFException.class, SocketException.class);
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    private static long launches(HeldSockets dispatcher) {
        return dispatcher
                .log()
                .lines()
                .filter(line -> line.contains("launching worker "))
                .count();
    }

    private static int lost(List<LoadClients> loads) {
        return loads.stream().mapToInt(load -> load.lost().size()).sum();
    }

    private static void awaitProgress(List<LoadClients> loads) {
        LoadClients.awaitProgress(loads, MOST_START);
    }
}
