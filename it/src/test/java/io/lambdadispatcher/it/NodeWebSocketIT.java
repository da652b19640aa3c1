package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.lambdadispatcher.wire.testkit.Await;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests WebSockets with Node's common library {@code ws}: as a client, and as an unmodified
 * application beside the worker. Skipped if Node or its registry is not available.
 */
class NodeWebSocketIT {
    private static final String WS_VERSION = "8.23.0";

    @TempDir
    private static Path directory;

    @BeforeAll
    static void install() throws Exception {
        for (String script : new String[] {"client.js", "server.js"}) {
            try (InputStream in = NodeWebSocketIT.class.getResourceAsStream("/websocket/" + script)) {
                Files.copy(in, directory.resolve(script));
            }
        }
        Files.writeString(directory.resolve("package.json"), "{\"private\": true}");
        try {
            Process npm = start(Map.of(), "npm", "install", "--no-audit", "--no-fund", "ws@" + WS_VERSION);
            String output = new String(npm.getInputStream().readAllBytes());
            assumeTrue(npm.waitFor() == 0, () -> "npm cannot install ws: " + output);
        } catch (IOException e) {
            assumeTrue(false, "npm is not here: " + e.getMessage());
        }
    }

    private static Process start(Map<String, String> environment, String... command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .redirectInput(new File("/dev/null"));
        builder.environment().putAll(environment);
        return builder.start();
    }

    private static void talk(Rig rig, URI uri, String... more) throws Exception {
        String url = uri.toString().replaceFirst("^http", "ws");
        String[] command = new String[3 + more.length];
        command[0] = "node";
        command[1] = "client.js";
        command[2] = url;
        System.arraycopy(more, 0, command, 3, more.length);
        Process client =
                start(Map.of("NODE_EXTRA_CA_CERTS", rig.certificateFile().toString()), command);
        String output = new String(client.getInputStream().readAllBytes());
        assertThat(client.waitFor(150, TimeUnit.SECONDS)).isTrue();
        assertThat(client.exitValue()).as(output).isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_talk_to_a_handler(boolean tls) throws Exception {
        try (Rig rig = Rig.start()) {
            rig.worker(2, 20, WebSocketIT.ECHO);
            talk(rig, tls ? rig.https("/ws") : rig.http("/ws"));
            rig.awaitAllFree();
        }
    }

    /**
     * Client and application negotiate subprotocol and compression. The application learns how each
     * client has disconnected.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_talk_to_an_application(boolean tls) throws Exception {
        Process server = start(Map.of(), "node", "server.js");
        try (Rig rig = Rig.start()) {
            BufferedReader output = server.inputReader();
            rig.worker(2, 20, Map.of("LAMBDA_DISPATCHER_WEB_PORT", output.readLine()));
            talk(rig, tls ? rig.https("/") : rig.http("/"), "deflate");
            HttpClient pages = rig.client(HttpClient.Version.HTTP_1_1);
            Await.until("all have left", () -> left(rig, pages).split(" ").length == 21);
            assertThat(left(rig, pages)).contains("4001").contains("1006");
            rig.awaitAllFree();
        } finally {
            server.destroyForcibly().waitFor();
        }
    }

    private static String left(Rig rig, HttpClient client) {
        try {
            return client.send(HttpRequest.newBuilder(rig.http("/")).build(), BodyHandlers.ofString())
                    .body();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /**
     * If the application's process ends, its clients lose their connections without a close frame.
     */
    @Test
    void should_lose_the_connection_with_the_application() throws Exception {
        Process server = start(Map.of(), "node", "server.js");
        try (Rig rig = Rig.start()) {
            rig.worker(
                    1,
                    4,
                    Map.of("LAMBDA_DISPATCHER_WEB_PORT", server.inputReader().readLine()));
            WebSocketIT.Told told = new WebSocketIT.Told();
            rig.client(HttpClient.Version.HTTP_1_1)
                    .newWebSocketBuilder()
                    .buildAsync(URI.create(rig.http("/").toString().replaceFirst("^http", "ws")), told)
                    .join();
            server.destroyForcibly().waitFor();
            Await.until("the client knows", told.closed::isDone);
            rig.awaitAllFree();
        } finally {
            server.destroyForcibly().waitFor();
        }
    }
}
