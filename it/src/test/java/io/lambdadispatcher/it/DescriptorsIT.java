package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.FreePort;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A dispatcher that may open few files, to which many clients connect before it has served any. A
 * JVM without free file descriptors cannot load classes.
 */
class DescriptorsIT {
    /** Files besides the jars of the class path. */
    private static final int MORE_FILES = 140;

    private static final int CLIENTS = 500;

    @TempDir
    Path directory;

    private final int publicPort = FreePort.next();
    private final int adminPort = FreePort.next();
    private final List<Socket> clients = new ArrayList<>();
    private Process process;

    private Path log() {
        return directory.resolve("log");
    }

    @BeforeEach
    void start() throws IOException {
        long jars = List.of(System.getProperty("java.class.path").split(File.pathSeparator)).stream()
                .filter(entry -> entry.endsWith(".jar"))
                .count();
        List<String> command = new ArrayList<>(
                List.of("/bin/sh", "-c", "ulimit -n \"$0\" && exec \"$@\"", Long.toString(jars + MORE_FILES)));
        command.addAll(ServedProgram.command("serve").command());
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log().toFile());
        builder.environment()
                .putAll(Map.of(
                        "LAMBDA_DISPATCHER_PUBLIC_PLAIN_PORT",
                        Integer.toString(publicPort),
                        "LAMBDA_DISPATCHER_ADMIN_PORT",
                        Integer.toString(adminPort),
                        "LAMBDA_DISPATCHER_WORKERS_PORT",
                        Integer.toString(FreePort.next()),
                        "LAMBDA_DISPATCHER_WORKERS_SECRET",
                        Rig.SECRET,
                        "LAMBDA_DISPATCHER_FUNCTION_NAME",
                        "shop",
                        "LAMBDA_DISPATCHER_FUNCTION_QUEUE_TIMEOUT",
                        "100ms",
                        "LAMBDA_DISPATCHER_HTTP_ERROR_FORMAT",
                        "problem-json",
                        "LAMBDA_DISPATCHER_ACCESS_LOG_FILE",
                        "stdout"));
        process = builder.start();
    }

    @AfterEach
    void stop() throws Exception {
        closeClients();
        process.destroy();
        if (!process.waitFor(30, TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
        }
    }

    private void closeClients() throws IOException {
        for (Socket client : clients) {
            client.close();
        }
        clients.clear();
    }

    private boolean connect() {
        Socket client = new Socket();
        try {
            client.connect(new InetSocketAddress("127.0.0.1", publicPort), 1000);
            client.getOutputStream().write("GET / HTTP/1.1\r\nhost: a\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            clients.add(client);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    private static HttpResponse<String> get(int port, String path) throws Exception {
        return HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                                .build(),
                        BodyHandlers.ofString());
    }

    @Test
    void should_serve_after_more_clients_have_connected_at_the_start_than_files_can_be_open() throws Exception {
        Await.until("the port is open", this::connect);
        for (int i = 0; i < CLIENTS; i++) {
            connect();
        }
        TimeUnit.SECONDS.sleep(2); // No file can be opened for a while.
        closeClients();
        Await.until("a request is answered", () -> {
            try {
                return get(publicPort, "/").statusCode() == 503;
            } catch (Exception e) {
                return false;
            }
        });

        HttpResponse<String> response = get(publicPort, "/");
        assertThat(response.statusCode()).isEqualTo(503);
        assertThat(response.headers().firstValue("content-type")).contains("application/problem+json");
        assertThat(response.body()).contains("\"failure\":\"queue_timeout\"");
        assertThat(get(adminPort, "/metrics").body()).contains("lambda_dispatcher_requests_total");
        assertThat(get(adminPort, "/api/functions").statusCode()).isEqualTo(200);
        assertThat(Files.readString(log()))
                .contains("client connections are served. Raise the limit (ulimit -n)")
                .doesNotContain("NoClassDefFoundError")
                .doesNotContain("ClassNotFoundException")
                .doesNotContain("Too many open files");
    }
}
