package io.lambdadispatcher.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.net.http.WebSocketHandshakeException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests WebSockets over HTTP/1.1 (RFC 6455), with the JDK's client and with bytes on a socket,
 * through a dispatcher and a worker process.
 */
class WebSocketIT {
    static final Map<String, String> ECHO = Map.of("LAMBDA_DISPATCHER_HANDLER", WebSocketEcho.class.getName());

    private static final String HANDSHAKE =
            "GET %s HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";

    private static Rig rig;
    private static HttpClient pages;

    /** Has a request timeout of 3 s and an idle timeout of 2 s, for tests of timeouts only. */
    private static Rig impatient;

    @BeforeAll
    static void start() {
        rig = Rig.start();
        pages = rig.client(HttpClient.Version.HTTP_1_1);
        rig.worker(2, 50, ECHO);
        impatient = Rig.start(
                Rig.function().workerTimeout(Duration.ofSeconds(3)).build(),
                DispatcherObserver.NONE,
                builder -> builder.limits(limits(Duration.ofSeconds(2))));
        impatient.worker(1, 10, ECHO);
    }

    /** Idle connections are checked once a second. */
    private static HttpLimits limits(Duration idleTimeout) {
        return HttpLimits.builder()
                .headerTimeout(Duration.ofSeconds(1))
                .idleTimeout(idleTimeout)
                .build();
    }

    @AfterAll
    static void stop() throws Exception {
        rig.close();
        impatient.close();
    }

    @AfterEach
    void should_leave_nothing_behind() {
        rig.awaitAllFree();
        impatient.awaitAllFree();
    }

    private static int seen(String what) {
        try {
            String all = pages.send(HttpRequest.newBuilder(rig.http("/seen")).build(), BodyHandlers.ofString())
                    .body();
            return count(all, what);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Reads a count from the page of {@link WebSocketEcho}. */
    static int count(String page, String what) {
        java.util.regex.Matcher found =
                java.util.regex.Pattern.compile("[{ ]" + what + "=(\\d+)").matcher(page);
        return found.find() ? Integer.parseInt(found.group(1)) : 0;
    }

    private static URI uri(Rig of, String scheme, String path) {
        URI http = scheme.equals("wss") ? of.https(path) : of.http(path);
        return URI.create(http.toString().replaceFirst("^http", "ws"));
    }

    /** Collects the events of a client in order. */
    static final class Told implements WebSocket.Listener {
        final BlockingQueue<Object> messages = new LinkedBlockingQueue<>();
        final CompletableFuture<Integer> closed = new CompletableFuture<>();
        private final StringBuilder text = new StringBuilder();
        private final ByteArrayOutputStream binary = new ByteArrayOutputStream();

        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
            text.append(data);
            if (last) {
                messages.add(text.toString());
                text.setLength(0);
            }
            socket.request(1);
            return null;
        }

        @Override
        public CompletionStage<?> onBinary(WebSocket socket, ByteBuffer data, boolean last) {
            byte[] part = new byte[data.remaining()];
            data.get(part);
            binary.writeBytes(part);
            if (last) {
                messages.add(binary.toByteArray());
                binary.reset();
            }
            socket.request(1);
            return null;
        }

        @Override
        public CompletionStage<?> onPong(WebSocket socket, ByteBuffer data) {
            messages.add("pong " + StandardCharsets.UTF_8.decode(data));
            socket.request(1);
            return null;
        }

        @Override
        public CompletionStage<?> onClose(WebSocket socket, int status, String reason) {
            closed.complete(status);
            return null;
        }

        @Override
        public void onError(WebSocket socket, Throwable error) {
            closed.completeExceptionally(error);
        }

        Object next() throws InterruptedException {
            Object next = messages.poll(60, TimeUnit.SECONDS);
            assertThat(next).as("message").isNotNull();
            return next;
        }
    }

    private static WebSocket connect(Rig to, String scheme, Told told) {
        return to.client(HttpClient.Version.HTTP_1_1)
                .newWebSocketBuilder()
                .buildAsync(uri(to, scheme, "/ws"), told)
                .join();
    }

    private static byte[] random(int bytes) {
        byte[] content = new byte[bytes];
        new Random(bytes).nextBytes(content);
        return content;
    }

    @ParameterizedTest
    @ValueSource(strings = {"ws", "wss"})
    void should_echo_messages_of_every_kind(String scheme) throws Exception {
        Told told = new Told();
        WebSocket socket = connect(rig, scheme, told);
        socket.sendText("gr\u00fc\u00df dich", true).join();
        assertThat(told.next()).isEqualTo("gr\u00fc\u00df dich");
        for (int bytes : new int[] {0, 1, 125, 126, 65_535, 65_536, 1_000_000}) {
            byte[] message = random(bytes);
            socket.sendBinary(ByteBuffer.wrap(message), true).join();
            assertThat((byte[]) told.next()).isEqualTo(message);
        }
        socket.sendText("one ", false).join();
        socket.sendText("two ", false).join();
        socket.sendPing(ByteBuffer.wrap("between".getBytes(StandardCharsets.US_ASCII)))
                .join();
        socket.sendText("three", true).join();
        assertThat(told.next()).isEqualTo("pong between");
        assertThat(told.next()).isEqualTo("one two three");
        socket.sendClose(4001, "enough").join();
        assertThat(told.closed.get(60, TimeUnit.SECONDS)).isEqualTo(4001);
    }

    @Test
    void should_agree_on_a_subprotocol() throws Exception {
        WebSocket socket = rig.client(HttpClient.Version.HTTP_1_1)
                .newWebSocketBuilder()
                .subprotocols("other", "chat")
                .buildAsync(uri(rig, "ws", "/ws"), new Told())
                .join();
        assertThat(socket.getSubprotocol()).isEqualTo("chat");
        socket.sendClose(1000, "").join();
    }

    @ParameterizedTest
    @ValueSource(strings = {"ws", "wss"})
    void should_carry_many_at_once(String scheme) throws Exception {
        List<Told> all = new ArrayList<>();
        List<WebSocket> sockets = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            Told told = new Told();
            all.add(told);
            sockets.add(connect(rig, scheme, told));
        }
        for (int round = 0; round < 20; round++) {
            for (int i = 0; i < sockets.size(); i++) {
                sockets.get(i).sendText(i + " in round " + round, true).join();
            }
        }
        for (int i = 0; i < all.size(); i++) {
            for (int round = 0; round < 20; round++) {
                assertThat(all.get(i).next()).isEqualTo(i + " in round " + round);
            }
        }
        for (int i = 0; i < all.size(); i++) {
            sockets.get(i).sendClose(1000, "").join();
            assertThat(all.get(i).closed.get(60, TimeUnit.SECONDS)).isEqualTo(1000);
        }
    }

    /** Here, the function's request timeout is 3 s and the idle timeout is 2 s. */
    @Test
    void should_outlive_the_request_timeout_once_it_is_open() throws Exception {
        Told told = new Told();
        WebSocket socket = connect(impatient, "ws", told);
        // What is opened later times out, so this one has outlived both timeouts.
        assertTimesOutUntilOpen();
        socket.sendText("still there", true).join();
        assertThat(told.next()).isEqualTo("still there");
        socket.sendClose(1000, "").join();
    }

    private void assertTimesOutUntilOpen() throws Exception {
        try (Socket socket = new Socket("127.0.0.1", impatient.plainPort())) {
            socket.setSoTimeout(60_000);
            socket.getOutputStream().write(HANDSHAKE.formatted("/late").getBytes(StandardCharsets.US_ASCII));
            assertThat(head(socket.getInputStream())).startsWith("HTTP/1.1 504 ");
        }
    }

    @Test
    void should_pass_a_refusal_on_as_an_ordinary_response() {
        CompletableFuture<WebSocket> refused = rig.client(HttpClient.Version.HTTP_1_1)
                .newWebSocketBuilder()
                .buildAsync(uri(rig, "ws", "/refuse"), new Told());
        assertThat(refused)
                .failsWithin(Duration.ofSeconds(60))
                .withThrowableThat()
                .havingCause()
                .isInstanceOfSatisfying(
                        WebSocketHandshakeException.class,
                        e -> assertThat(e.getResponse().statusCode()).isEqualTo(403));
    }

    @ParameterizedTest
    @CsvSource({"ws, end", "wss, end"})
    void should_tell_the_handler_of_a_client_that_leaves(String scheme, String what) throws Exception {
        int before = seen(what) + seen("failed-CANCELLED");
        Told told = new Told();
        WebSocket socket = connect(rig, scheme, told);
        socket.sendText("here", true).join();
        assertThat(told.next()).isEqualTo("here");
        socket.abort();
        Await.until("the handler knows", () -> seen(what) + seen("failed-CANCELLED") > before);
    }

    @Test
    void should_cancel_when_the_client_resets() throws Exception {
        int before = seen("cancel-CANCELLED");
        Socket socket = new Socket("127.0.0.1", rig.plainPort());
        socket.getOutputStream().write(HANDSHAKE.formatted("/raw").getBytes(StandardCharsets.US_ASCII));
        assertThat(head(socket.getInputStream())).startsWith("HTTP/1.1 101 ");
        socket.setSoLinger(true, 0);
        socket.close();
        Await.until("CANCEL has come", () -> seen("cancel-CANCELLED") > before);
    }

    @Test
    void should_cancel_when_the_client_leaves_before_the_answer() throws Exception {
        int before = seen("cancel-CANCELLED");
        try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
            socket.getOutputStream().write(HANDSHAKE.formatted("/silent").getBytes(StandardCharsets.US_ASCII));
            Await.until(
                    "the stream is taken", () -> rig.pool().free() < rig.pool().streams());
        }
        Await.until("CANCEL has come", () -> seen("cancel-CANCELLED") > before);
    }

    // Tests with bytes on a socket.

    private static String head(InputStream in) throws Exception {
        StringBuilder head = new StringBuilder();
        while (!head.toString().endsWith("\r\n\r\n")) {
            int value = in.read();
            assertThat(value).as("byte after " + head).isNotNegative();
            head.append((char) value);
        }
        return head.toString();
    }

    /** Uses the key and the answer of RFC 6455 section 1.3. */
    @Test
    void should_answer_the_handshake_of_the_rfc() throws Exception {
        try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
            socket.getOutputStream().write(HANDSHAKE.formatted("/raw").getBytes(StandardCharsets.US_ASCII));
            assertThat(head(socket.getInputStream()))
                    .startsWith("HTTP/1.1 101 Switching Protocols\r\n")
                    .containsIgnoringCase("\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n")
                    .containsIgnoringCase("\r\nupgrade: websocket\r\n")
                    .containsIgnoringCase("\r\nconnection: upgrade\r\n")
                    .doesNotContainIgnoringCase("content-length")
                    .doesNotContainIgnoringCase("transfer-encoding");
        }
    }

    /** Each half-close arrives at the other end, and the other direction continues. */
    @Test
    void should_end_each_direction_by_itself() throws Exception {
        try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
            socket.setSoTimeout(60_000);
            socket.getOutputStream().write(HANDSHAKE.formatted("/raw").getBytes(StandardCharsets.US_ASCII));
            head(socket.getInputStream());
            socket.getOutputStream().write("to the end".getBytes(StandardCharsets.US_ASCII));
            socket.shutdownOutput();
            assertThat(socket.getInputStream().readAllBytes())
                    .asString(StandardCharsets.US_ASCII)
                    .isEqualTo("to the end");
        }
        int before = seen("end-after-end");
        try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
            socket.setSoTimeout(60_000);
            socket.getOutputStream().write(HANDSHAKE.formatted("/first").getBytes(StandardCharsets.US_ASCII));
            head(socket.getInputStream());
            assertThat(socket.getInputStream().readAllBytes())
                    .asString(StandardCharsets.US_ASCII)
                    .isEqualTo("bye");
            socket.getOutputStream().write("later".getBytes(StandardCharsets.US_ASCII));
            Await.until("what came after the end is read", () -> seen("after-end-later") > 0);
            socket.shutdownOutput();
            Await.until("the end is read", () -> seen("end-after-end") > before);
        }
    }

    @Test
    void should_keep_bytes_that_come_behind_the_handshake() throws Exception {
        byte[] early = random(300_000);
        for (int split : new int[] {0, 1, 150_000, 300_000}) {
            try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
                socket.setSoTimeout(60_000);
                ByteArrayOutputStream first = new ByteArrayOutputStream();
                // Behind a request that is answered first, too.
                first.writeBytes("GET /seen HTTP/1.1\r\nHost: a\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                first.writeBytes(HANDSHAKE.formatted("/raw").getBytes(StandardCharsets.US_ASCII));
                first.write(early, 0, split);
                Thread writer = new Thread(() -> {
                    try {
                        socket.getOutputStream().write(first.toByteArray());
                        socket.getOutputStream().write(early, split, early.length - split);
                    } catch (java.io.IOException e) {
                        throw new java.io.UncheckedIOException(e);
                    }
                });
                writer.start();
                InputStream in = socket.getInputStream();
                String page = head(in);
                java.util.regex.Matcher length = java.util.regex.Pattern.compile("(?i)content-length: (\\d+)")
                        .matcher(page);
                if (length.find()) {
                    in.readNBytes(Integer.parseInt(length.group(1)));
                } else {
                    // As many chunks as the application's writes have arrived in.
                    for (int chunk = Integer.parseInt(line(in), 16);
                            chunk > 0;
                            chunk = Integer.parseInt(line(in), 16)) {
                        in.readNBytes(chunk + 2);
                    }
                    line(in);
                }
                assertThat(head(in)).startsWith("HTTP/1.1 101 ");
                assertThat(in.readNBytes(early.length)).isEqualTo(early);
                writer.join();
            }
        }
    }

    private static String line(InputStream in) throws Exception {
        StringBuilder line = new StringBuilder();
        while (line.indexOf("\r\n") < 0) {
            line.append((char) in.read());
        }
        return line.substring(0, line.length() - 2);
    }

    @Test
    void should_stop_the_worker_when_the_client_does_not_read() throws Exception {
        try (Socket socket = new Socket()) {
            socket.setReceiveBufferSize(4096);
            socket.connect(new InetSocketAddress("127.0.0.1", rig.plainPort()));
            socket.getOutputStream().write(HANDSHAKE.formatted("/flood").getBytes(StandardCharsets.US_ASCII));
            head(socket.getInputStream());
            int last = (int) Await.settled("messages of the flood", Duration.ofMillis(300), () -> seen("flood"));
            assertThat(last).isLessThan(1000);
            socket.getInputStream().readNBytes(20_000_000);
            assertThat(seen("flood")).isGreaterThan(last);
        }
    }

    /**
     * At the end, the client disconnects. The dispatcher cannot notice it, because it does not
     * read. So the idle timeout ends the tunnel.
     */
    @Test
    void should_stop_the_client_when_the_handler_does_not_read() throws Exception {
        RecordingObserver observer = new RecordingObserver();
        try (Rig other =
                Rig.start(Rig.function().build(), observer, builder -> builder.limits(limits(Duration.ofSeconds(5))))) {
            other.worker(1, 2, ECHO);
            try (SocketChannel socket = SocketChannel.open(new InetSocketAddress("127.0.0.1", other.plainPort()))) {
                socket.write(ByteBuffer.wrap(HANDSHAKE.formatted("/stuck").getBytes(StandardCharsets.US_ASCII)));
                head(socket.socket().getInputStream());
                // Two windows, and the kernel's buffers of three connections.
                assertThat(sendUntilStuck(socket, 100_000_000)).isLessThan(30_000_000);
            }
            assertThat(observer.ends.poll(60, TimeUnit.SECONDS).isTunnel()).isTrue();
        }
    }

    private static long sendUntilStuck(SocketChannel socket, long mostBytes) throws Exception {
        socket.configureBlocking(false);
        long sent = 0;
        for (int idle = 0; idle < 20 && sent < mostBytes; idle++) {
            int bytes = socket.write(ByteBuffer.allocate(65_536));
            if (bytes > 0) {
                idle = 0;
                sent += bytes;
            } else {
                TimeUnit.MILLISECONDS.sleep(25); // A socket is stuck if it takes nothing 20 times in a row.
            }
        }
        return sent;
    }

    @Test
    void should_cut_a_half_open_tunnel_that_was_forgotten() throws Exception {
        try (Socket socket = new Socket("127.0.0.1", impatient.plainPort())) {
            socket.setSoTimeout(60_000);
            socket.getOutputStream().write(HANDSHAKE.formatted("/stuck").getBytes(StandardCharsets.US_ASCII));
            head(socket.getInputStream());
            socket.shutdownOutput();
            assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketException.class);
        }
    }

    /**
     * Closing with unread bytes would reset the connection, so the client would lose the answer.
     */
    @Test
    void should_drop_what_comes_behind_a_handshake_that_is_refused() throws Exception {
        for (int i = 0; i < 5; i++) {
            try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
                socket.setSoTimeout(60_000);
                // In one write, because bytes that arrive half a second after the answer are not
                // awaited.
                String more = "GET /seen HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3000);
                socket.getOutputStream()
                        .write((HANDSHAKE.formatted("/refuse") + more).getBytes(StandardCharsets.US_ASCII));
                String answer = new String(socket.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1);
                assertThat(answer).startsWith("HTTP/1.1 403 ").containsOnlyOnce("HTTP/1.1");
            }
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            GET /ws HTTP/1.1~Upgrade: websocket~Connection: Upgrade~Sec-WebSocket-Version: 13~~                            | 400
            GET /ws HTTP/1.1~Upgrade: websocket~Connection: Upgrade~Sec-WebSocket-Version: 13~Sec-WebSocket-Key: AAAA~~    | 400
            GET /ws HTTP/1.1~Upgrade: websocket~Connection: Upgrade~Sec-WebSocket-Version: 13~Sec-WebSocket-Key: !!!!!!!!!!!!!!!!!!!!!!==~~ | 400
            GET /ws HTTP/1.1~Upgrade: websocket~Connection: Upgrade~Sec-WebSocket-Version: 13~Sec-WebSocket-Key: KEY~Sec-WebSocket-Key: KEY~~ | 400
            GET /ws HTTP/1.1~Upgrade: websocket~Connection: Upgrade~Sec-WebSocket-Version: 8~Sec-WebSocket-Key: KEY~~      | 426
            GET /ws HTTP/1.1~Upgrade: websocket~Connection: Upgrade~Sec-WebSocket-Key: KEY~~                               | 426
            POST /ws HTTP/1.1~Upgrade: websocket~Connection: Upgrade~Sec-WebSocket-Version: 13~Sec-WebSocket-Key: KEY~~    | 400
            GET /ws HTTP/1.1~Upgrade: websocket~Connection: Upgrade~Sec-WebSocket-Version: 13~Sec-WebSocket-Key: KEY~Content-Length: 2~~ab | 400
            GET /ws HTTP/1.1~Upgrade: websocket~Connection: Upgrade~Sec-WebSocket-Version: 13~Sec-WebSocket-Key: KEY~Transfer-Encoding: chunked~~0~~ | 400
            GET /ws HTTP/1.1~Upgrade: websocket~Connection: close~Sec-WebSocket-Version: 13~Sec-WebSocket-Key: KEY~~       | 200
            GET /ws HTTP/1.1~Upgrade: quic~Connection: Upgrade, close~~                                                    | 200
            GET /ws HTTP/1.0~Upgrade: websocket~Connection: Upgrade~Sec-WebSocket-Version: 13~Sec-WebSocket-Key: KEY~~     | 200
            GET /ws HTTP/1.1~upgrade: foo, WebSocket~connection: close, UPGRADE~Sec-WebSocket-Version: 13~Sec-WebSocket-Key: KEY~~ | 101
            """)
    void should_take_a_handshake_for_one_only_if_it_is_one(String request, String expected) throws Exception {
        String content = request.strip()
                .replaceFirst("~", "~Host: a~")
                .replace("KEY", "dGhlIHNhbXBsZSBub25jZQ==")
                .replace("~", "\r\n");
        try (Socket socket = new Socket("127.0.0.1", rig.plainPort())) {
            socket.setSoTimeout(60_000);
            socket.getOutputStream().write(content.getBytes(StandardCharsets.ISO_8859_1));
            String head = head(socket.getInputStream());
            assertThat(head).startsWith("HTTP/1.1 " + expected);
            if (expected.equals("426")) {
                assertThat(head)
                        .containsIgnoringCase("\r\nsec-websocket-version: 13\r\n")
                        .containsIgnoringCase("\r\nupgrade: websocket\r\n");
            }
        }
    }

    /** A handler that does not know tunnels must not open one by answering 200. */
    @Test
    void should_say_501_for_handlers_that_serve_no_tunnels() throws Exception {
        try (Rig other = Rig.start()) {
            other.worker(1, 2);
            try (Socket socket = new Socket("127.0.0.1", other.plainPort())) {
                socket.getOutputStream().write(HANDSHAKE.formatted("/ping").getBytes(StandardCharsets.US_ASCII));
                assertThat(head(socket.getInputStream())).startsWith("HTTP/1.1 501 ");
            }
            other.awaitAllFree();
        }
    }

    @Test
    void should_cut_the_connection_when_the_worker_dies() throws Exception {
        try (Rig other = Rig.start()) {
            Process worker = other.process(1, 2, ECHO);
            try (Socket socket = new Socket("127.0.0.1", other.plainPort())) {
                socket.setSoTimeout(60_000);
                socket.getOutputStream().write(HANDSHAKE.formatted("/raw").getBytes(StandardCharsets.US_ASCII));
                head(socket.getInputStream());
                worker.destroyForcibly();
                assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketException.class);
            }
        }
    }

    @Test
    void should_say_goodbye_when_the_worker_is_told_to_end() throws Exception {
        try (Rig other = Rig.start()) {
            Process worker = other.process(1, 2, ECHO);
            Told told = new Told();
            WebSocket socket = other.client(HttpClient.Version.HTTP_1_1)
                    .newWebSocketBuilder()
                    .buildAsync(URI.create(other.http("/ws").toString().replaceFirst("^http", "ws")), told)
                    .join();
            worker.destroy();
            assertThat(told.closed.get(60, TimeUnit.SECONDS)).isEqualTo(1001);
            assertThat(worker.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(worker.exitValue()).isZero();
            assertThat(socket.isInputClosed()).isTrue();
        }
    }

    /** The application does not know that its worker drains. */
    @ParameterizedTest
    @ValueSource(strings = {"ws", "wss"})
    void should_ask_the_client_to_connect_again_if_the_application_does_not(String scheme) throws Exception {
        try (Rig other = Rig.start()) {
            Map<String, String> variables = new HashMap<>(ECHO);
            variables.put("LAMBDA_DISPATCHER_DRAIN_GRACE_MILLIS", "4000");
            Process worker = other.process(1, 2, variables);
            Told told = new Told();
            WebSocket socket = other.client(HttpClient.Version.HTTP_1_1)
                    .newWebSocketBuilder()
                    .buildAsync(uri(other, scheme, "/stuck"), told)
                    .join();
            worker.destroy();
            assertThat(told.closed.get(60, TimeUnit.SECONDS)).isEqualTo(1012);
            assertThat(worker.waitFor(60, TimeUnit.SECONDS)).isTrue();
            assertThat(worker.exitValue()).isZero();
            assertThat(socket.isInputClosed()).isTrue();
            assertThat(told.messages).isEmpty();
        }
    }

    /**
     * Does not wait for half of the grace period, in which clients may disconnect by themselves.
     */
    @Test
    void should_say_goodbye_when_the_dispatcher_closes() throws Exception {
        Rig other = Rig.start();
        other.worker(1, 2, ECHO);
        Told told = new Told();
        other.client(HttpClient.Version.HTTP_1_1)
                .newWebSocketBuilder()
                .buildAsync(URI.create(other.http("/ws").toString().replaceFirst("^http", "ws")), told)
                .join();
        long before = System.nanoTime();
        CompletableFuture<Void> closed =
                other.dispatcher.close(Duration.ofMinutes(2)).toCompletableFuture();
        assertThat(told.closed.get(50, TimeUnit.SECONDS)).isEqualTo(1001);
        closed.get(60, TimeUnit.SECONDS);
        assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(60));
        other.close();
    }
}
