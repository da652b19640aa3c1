package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.worker.websocket.WebSocketHandler;
import io.lambdadispatcher.worker.websocket.WebSocketListener;
import io.lambdadispatcher.worker.websocket.WebSocketSession;
import io.netty.buffer.ByteBuf;
import java.io.ByteArrayOutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Tests the worker's WebSocket API with the JDK's client, a dispatcher and a worker process. */
class WebSocketHandlerIT {
    private static Rig rig;

    /** Runs in the worker processes. */
    public static final class Echo implements WebSocketHandler {
        public Echo() {}

        @Override
        public WebSocketListener onOpen(WebSocketSession session) {
            session.sendText("you are at " + session.request().path());
            return new WebSocketListener() {
                @Override
                public void onText(WebSocketSession session, String text) {
                    session.sendText(text);
                }

                @Override
                public void onBinary(WebSocketSession session, ByteBuf data) {
                    session.sendBinary(data);
                }
            };
        }
    }

    /** Collects events: text, {@code n bytes HASH}, {@code pong} or {@code closed CODE}. */
    private static final class Client implements WebSocket.Listener {
        final BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        private final StringBuilder text = new StringBuilder();
        private final ByteArrayOutputStream data = new ByteArrayOutputStream();
        final WebSocket socket;

        Client(Rig rig, String path) {
            socket = rig.client(HttpClient.Version.HTTP_1_1)
                    .newWebSocketBuilder()
                    .buildAsync(URI.create(rig.http(path).toString().replaceFirst("^http", "ws")), this)
                    .join();
        }

        String next() throws InterruptedException {
            String next = heard.poll(60, TimeUnit.SECONDS);
            assertThat(next).as("heard within 60 s").isNotNull();
            return next;
        }

        @Override
        public @Nullable CompletionStage<?> onText(WebSocket socket, CharSequence part, boolean last) {
            text.append(part);
            if (last) {
                heard.add(text.toString());
                text.setLength(0);
            }
            socket.request(1);
            return null;
        }

        @Override
        public @Nullable CompletionStage<?> onBinary(WebSocket socket, ByteBuffer part, boolean last) {
            byte[] bytes = new byte[part.remaining()];
            part.get(bytes);
            data.writeBytes(bytes);
            if (last) {
                heard.add(describe(data.toByteArray()));
                data.reset();
            }
            socket.request(1);
            return null;
        }

        @Override
        public @Nullable CompletionStage<?> onPong(WebSocket socket, ByteBuffer payload) {
            heard.add("pong " + payload.remaining());
            socket.request(1);
            return null;
        }

        @Override
        public @Nullable CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
            heard.add("closed " + code);
            return null;
        }
    }

    private static String describe(byte[] data) {
        return data.length + " bytes " + Arrays.hashCode(data);
    }

    @BeforeAll
    static void start() {
        rig = Rig.start();
        rig.worker(2, 50, Map.of("LAMBDA_DISPATCHER_HANDLER", Echo.class.getName()));
    }

    @AfterAll
    static void stop() throws Exception {
        rig.close();
    }

    @Test
    void should_carry_text_bytes_and_pings_and_close() throws Exception {
        Client client = new Client(rig, "/somewhere?x=1");
        assertThat(client.next()).isEqualTo("you are at /somewhere?x=1");
        client.socket.sendText("grüße 🙂", true).join();
        assertThat(client.next()).isEqualTo("grüße 🙂");

        byte[] data = new byte[1 << 20];
        new Random(3).nextBytes(data);
        client.socket.sendBinary(ByteBuffer.wrap(data, 0, 300_000), false).join();
        client.socket.sendPing(ByteBuffer.wrap(new byte[17])).join();
        client.socket
                .sendBinary(ByteBuffer.wrap(data, 300_000, data.length - 300_000), true)
                .join();
        assertThat(client.next()).isEqualTo("pong 17");
        assertThat(client.next()).isEqualTo(describe(data));

        client.socket.sendClose(4321, "enough").join();
        assertThat(client.next()).isEqualTo("closed 4321");
        rig.awaitAllFree();
    }

    @Test
    void should_serve_many_at_once_on_one_worker() throws Exception {
        Client[] clients = new Client[40];
        for (int i = 0; i < clients.length; i++) {
            clients[i] = new Client(rig, "/" + i);
        }
        for (int i = 0; i < clients.length; i++) {
            assertThat(clients[i].next()).isEqualTo("you are at /" + i);
            clients[i].socket.sendText("message " + i, true).join();
        }
        for (int i = 0; i < clients.length; i++) {
            assertThat(clients[i].next()).isEqualTo("message " + i);
            clients[i].socket.abort();
        }
        rig.awaitAllFree();
    }

    @Test
    void should_answer_426_to_ordinary_requests() throws Exception {
        try (Rig other = Rig.start()) {
            other.worker(1, 2, Map.of("LAMBDA_DISPATCHER_HANDLER", Echo.class.getName()));
            assertThat(other.client(HttpClient.Version.HTTP_1_1)
                            .send(HttpRequest.newBuilder(other.http("/")).build(), BodyHandlers.ofString())
                            .statusCode())
                    .isEqualTo(426);
        }
    }

    @Test
    void should_ask_clients_to_connect_again_when_the_worker_must_go() throws Exception {
        try (Rig other = Rig.start()) {
            Map<String, String> echo = Map.of("LAMBDA_DISPATCHER_HANDLER", Echo.class.getName());
            Process old = other.process(1, 5, echo);
            Client client = new Client(other, "/first");
            client.next();
            other.worker(1, 5, echo);
            old.destroy();
            assertThat(client.next()).isEqualTo("closed 1012");
            assertThat(old.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(old.exitValue()).isZero();

            Client again = new Client(other, "/again");
            assertThat(again.next()).isEqualTo("you are at /again");
            again.socket.abort();
        }
    }
}
