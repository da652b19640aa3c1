package io.lambdadispatcher.worker.websocket;

import static io.lambdadispatcher.worker.websocket.ScriptedClient.MASKED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.worker.Harness;
import io.lambdadispatcher.worker.ScriptedStream;
import io.lambdadispatcher.worker.handler.DrainReason;
import io.lambdadispatcher.worker.handler.Handler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.websocketx.BinaryWebSocketFrame;
import io.netty.handler.codec.http.websocketx.CloseWebSocketFrame;
import io.netty.handler.codec.http.websocketx.ContinuationWebSocketFrame;
import io.netty.handler.codec.http.websocketx.PingWebSocketFrame;
import io.netty.handler.codec.http.websocketx.PongWebSocketFrame;
import io.netty.handler.codec.http.websocketx.TextWebSocketFrame;
import io.netty.handler.codec.http.websocketx.WebSocketFrame;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(180)
class WebSocketHandlerTest {
    private static final int FIN_TEXT = 0x81;
    private static final int CLOSE = 0x88;
    private static final int MOST_BYTES = 1 << 20;

    private final BlockingQueue<WebSocketSession> sessions = new LinkedBlockingQueue<>();
    private final BlockingQueue<String> closes = new LinkedBlockingQueue<>();
    private Harness harness;
    private ScriptedClient client;

    /** Echoes messages, and fails or pauses if a message asks for it. */
    private final class Echo implements WebSocketListener {
        @Override
        public void onText(WebSocketSession session, String text) {
            if (text.equals("fail")) {
                throw new IllegalStateException("asked to fail");
            }
            if (text.equals("error")) {
                throw new NoClassDefFoundError("asked to fail");
            }
            if (text.equals("pause")) {
                session.pause();
                return;
            }
            session.sendText(text);
        }

        @Override
        public void onBinary(WebSocketSession session, ByteBuf payload) {
            session.sendBinary(payload);
        }

        @Override
        public void onClose(WebSocketSession session, int code, String reason) {
            closes.add(code + " " + reason);
        }
    }

    private WebSocketListener open(WebSocketSession session) {
        sessions.add(session);
        return new Echo();
    }

    private ScriptedStream serve(WebSocketOptions options) throws InterruptedException {
        harness = new Harness(((WebSocketHandler) this::open).asHandler(options), config -> config);
        return harness.stream();
    }

    private void start(WebSocketOptions options) throws InterruptedException {
        client = ScriptedClient.open(serve(options));
        assertThat(client.answer.status().toString()).isEqualTo("200");
    }

    private void start() throws InterruptedException {
        start(WebSocketOptions.usual());
    }

    private String closed() throws InterruptedException {
        return closes.poll(20, TimeUnit.SECONDS);
    }

    private WebSocketSession session() throws InterruptedException {
        return sessions.poll(20, TimeUnit.SECONDS);
    }

    @AfterEach
    void close() {
        if (client != null) {
            client.close();
        }
        harness.close();
    }

    private String takeText() throws InterruptedException {
        TextWebSocketFrame frame = client.take(TextWebSocketFrame.class);
        try {
            return frame.text();
        } finally {
            frame.release();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "hello", "grüße, 世界 🙂"})
    void should_carry_text_both_ways(String text) throws Exception {
        start();
        client.send(new TextWebSocketFrame(text));
        assertThat(takeText()).isEqualTo(text);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 125, 126, 65_535, 65_536, MOST_BYTES})
    void should_carry_bytes_both_ways(int bytes) throws Exception {
        start();
        byte[] payload = new byte[bytes];
        new Random(bytes).nextBytes(payload);
        client.send(new BinaryWebSocketFrame(Unpooled.wrappedBuffer(payload)));
        BinaryWebSocketFrame frame = client.take(BinaryWebSocketFrame.class);
        assertThat(ByteBufUtil.getBytes(frame.content())).isEqualTo(payload);
        frame.release();
    }

    @Test
    void should_understand_frames_byte_by_byte() throws Exception {
        start();
        for (byte value : client.bytes(new TextWebSocketFrame("naïve"))) {
            client.send(new byte[] {value});
        }
        assertThat(takeText()).isEqualTo("naïve");
    }

    @Test
    void should_put_fragments_together_and_answer_a_ping_between_them() throws Exception {
        start();
        byte[] text = "naïve".getBytes(StandardCharsets.UTF_8);
        // Split within a letter of two bytes.
        client.send(new TextWebSocketFrame(false, 0, Unpooled.copiedBuffer(text, 0, 3)));
        client.send(new PingWebSocketFrame(Unpooled.copiedBuffer("are you there?", StandardCharsets.US_ASCII)));
        client.send(new ContinuationWebSocketFrame(true, 0, Unpooled.copiedBuffer(text, 3, text.length - 3)));
        PongWebSocketFrame pong = client.take(PongWebSocketFrame.class);
        assertThat(pong.content().toString(StandardCharsets.US_ASCII)).isEqualTo("are you there?");
        pong.release();
        assertThat(takeText()).isEqualTo("naïve");
    }

    @Test
    void should_end_with_the_clients_close_frame_and_serve_the_next() throws Exception {
        start();
        client.send(new CloseWebSocketFrame(1000, "bye"));
        assertThat(client.takeClose()).isEqualTo(1000);
        client.takeEnd();
        assertThat(closed()).isEqualTo("1000 bye");
        client.stream.data(new byte[0], true);

        ScriptedClient next = ScriptedClient.open(client.stream);
        next.send(new CloseWebSocketFrame());
        assertThat(next.takeClose()).isEqualTo(-1);
        next.takeEnd();
        assertThat(closed()).isEqualTo("1005 ");
        next.close();
    }

    @Test
    void should_wait_for_the_answer_to_its_own_close_frame_and_hear_nothing_more() throws Exception {
        start();
        session().close(4000, "enough");
        assertThat(client.takeClose()).isEqualTo(4000);
        client.send(new TextWebSocketFrame("fail"));
        client.send(new CloseWebSocketFrame(4000, ""));
        client.takeEnd();
        assertThat(closed()).isEqualTo("4000 ");
    }

    @Test
    void should_not_wait_for_an_answer_for_ever() throws Exception {
        start(WebSocketOptions.usual().withCloseWithin(Duration.ofMillis(50)));
        session().close(1000, "");
        assertThat(client.takeClose()).isEqualTo(1000);
        client.takeEnd();
        assertThat(closed()).startsWith("1006 ");
    }

    /**
     * Otherwise, the bytes behind it would wait forever, and the client's end with them. The stream
     * would never be free again.
     */
    @Test
    void should_take_what_comes_to_a_paused_session_that_has_ended() throws Exception {
        start();
        client.send(ByteBufUtil.getBytes(Unpooled.wrappedBuffer(
                client.bytes(new TextWebSocketFrame("pause")), client.bytes(new CloseWebSocketFrame(1000, "")))));
        assertThat(client.takeClose()).isEqualTo(1000);
        client.takeEnd();
        assertThat(closed()).isEqualTo("1000 ");
        for (int i = 0; i < 64; i++) {
            client.send(new byte[60_000]);
        }
        client.stream.data(new byte[0], true);

        ScriptedClient next = ScriptedClient.open(client.stream);
        next.send(new CloseWebSocketFrame());
        assertThat(next.takeClose()).isEqualTo(-1);
        next.close();
    }

    @Test
    void should_hear_the_answer_to_its_own_close_frame_though_paused() throws Exception {
        start();
        WebSocketSession session = session();
        session.pause();
        session.close(4000, "enough");
        assertThat(client.takeClose()).isEqualTo(4000);
        client.send(new CloseWebSocketFrame(4000, ""));
        client.takeEnd();
        assertThat(closed()).isEqualTo("4000 ");
    }

    @Test
    void should_take_nothing_after_the_end() throws Exception {
        start();
        WebSocketSession session = session();
        client.stream.data(new byte[0], true);
        client.takeEnd();
        assertThat(closed()).startsWith("1006 ");
        assertThat(session.sendText("too late")).isFalse();
        assertThat(session.sendBinary(Unpooled.wrappedBuffer(new byte[9]))).isFalse();
        session.close(1000, "");
        assertThat(harness.worker.done().toCompletableFuture().isDone()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_hear_that_the_client_has_gone(boolean withinMessage) throws Exception {
        start();
        if (withinMessage) {
            client.send(new PingWebSocketFrame());
            client.send(new TextWebSocketFrame(false, 0, "one"));
            client.take(PongWebSocketFrame.class).release();
        }
        client.stream.cancel(ErrorCode.CANCELLED);
        assertThat(closed()).isEqualTo("1006 CANCELLED");
    }

    /** The handler decides later, for example when it has asked who the client is. */
    @Test
    void should_open_nothing_for_a_client_that_has_gone() throws Exception {
        Handler later = ((WebSocketHandler) this::open).asHandler(WebSocketOptions.usual());
        BlockingQueue<String> handled = new LinkedBlockingQueue<>();
        harness = new Harness(
                (request, response) ->
                        request.onCancel(code -> request.eventLoop().execute(() -> {
                            try {
                                later.handle(request, response);
                                handled.add("handled");
                            } catch (Exception e) {
                                handled.add(e.toString());
                            }
                        })),
                config -> config);
        harness.stream().requestAndCancel(ScriptedClient.head("/ws"));
        assertThat(handled.poll(20, TimeUnit.SECONDS)).isEqualTo("handled");
        assertThat(sessions).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "129, 0, 1002", // not masked
        "193, 128, 1002", // an extension's bit
        "131, 128, 1002", // an opcode that is none
        "128, 128, 1002", // continues nothing
        "9, 128, 1002", // a fragment of a ping
    })
    void should_close_when_the_client_breaks_the_protocol(int firstByte, int mask, int code) throws Exception {
        start();
        client.send(firstByte, mask, new byte[] {'a'});
        assertThat(client.takeClose()).isEqualTo(code);
        client.takeEnd();
        assertThat(closed()).startsWith(code + " ");
    }

    /** RFC 6455 section 7.4: codes that are reserved, unknown or never sent. */
    @ParameterizedTest
    @ValueSource(ints = {0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535})
    void should_refuse_a_close_frame_whose_code_may_not_be_sent(int code) throws Exception {
        start();
        client.send(CLOSE, MASKED, new byte[] {(byte) (code >> 8), (byte) code});
        assertThat(client.takeClose()).isEqualTo(1002);
        client.takeEnd();
        assertThat(closed()).startsWith("1002 ");
    }

    @ParameterizedTest
    @ValueSource(
            ints = {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999})
    void should_give_back_a_close_frame_whose_code_may_be_sent(int code) throws Exception {
        start();
        client.send(CLOSE, MASKED, new byte[] {(byte) (code >> 8), (byte) code, 'a'});
        assertThat(client.takeClose()).isEqualTo(code);
        client.takeEnd();
        assertThat(closed()).isEqualTo(code + " a");
    }

    @Test
    void should_refuse_a_close_frame_of_one_byte() throws Exception {
        start();
        client.send(CLOSE, MASKED, new byte[] {3});
        assertThat(client.takeClose()).isEqualTo(1002);
        client.takeEnd();
    }

    @Test
    void should_refuse_a_close_frame_whose_reason_is_no_utf_8() throws Exception {
        start();
        client.send(CLOSE, MASKED, new byte[] {3, (byte) 0xE8, (byte) 0xC3, 'a'});
        assertThat(client.takeClose()).isEqualTo(1007);
        client.takeEnd();
    }

    @Test
    void should_refuse_a_control_frame_that_is_too_long() throws Exception {
        start();
        client.send(new byte[] {(byte) 0x89, (byte) (MASKED | 126), 0, 126, 0, 0, 0, 0});
        assertThat(client.takeClose()).isEqualTo(1002);
        client.takeEnd();
    }

    @Test
    void should_refuse_a_message_within_a_message() throws Exception {
        start();
        client.send(new TextWebSocketFrame(false, 0, "one"));
        client.send(new TextWebSocketFrame(true, 0, "two"));
        assertThat(client.takeClose()).isEqualTo(1002);
        client.takeEnd();
    }

    /** The first wrong byte ends the session, not the last fragment. */
    @Test
    void should_refuse_bad_utf_8_as_soon_as_it_comes() throws Exception {
        start();
        client.send(new TextWebSocketFrame(false, 0, "good"));
        client.send(0x00, MASKED, new byte[] {(byte) 0xFF});
        assertThat(client.takeClose()).isEqualTo(1007);
        client.takeEnd();
    }

    @Test
    void should_refuse_text_that_ends_within_a_letter() throws Exception {
        start();
        client.send(FIN_TEXT, MASKED, new byte[] {'a', (byte) 0xC3});
        assertThat(client.takeClose()).isEqualTo(1007);
        client.takeEnd();
    }

    /** Random frames, split at random, lead to at most one close frame and the end. */
    @RepeatedTest(20)
    void should_survive_nonsense(RepetitionInfo repetition) throws Exception {
        start();
        Random random = new Random(repetition.getCurrentRepetition());
        for (int i = 0; i < 50; i++) {
            byte[] payload = new byte[random.nextInt(40)];
            random.nextBytes(payload);
            client.send(payload);
        }
        client.stream.data(new byte[0], true);
        assertThat(closed()).isNotNull();
        ScriptedStream.Data last = client.stream.take(ScriptedStream.Data.class);
        while (!last.end()) {
            last = client.stream.take(ScriptedStream.Data.class);
        }
    }

    @Test
    void should_close_when_text_is_no_utf_8_but_not_before_what_came_before() throws Exception {
        start();
        byte[] good = client.bytes(new TextWebSocketFrame("good"));
        byte[] bad = {(byte) FIN_TEXT, (byte) (MASKED | 2), 0, 0, 0, 0, (byte) 0xC3, 'a'};
        client.send(ByteBufUtil.getBytes(Unpooled.wrappedBuffer(good, bad)));
        assertThat(takeText()).isEqualTo("good");
        assertThat(client.takeClose()).isEqualTo(1007);
        client.takeEnd();
        assertThat(closed()).startsWith("1007 ");
    }

    @Test
    void should_close_when_a_message_is_too_big_in_one_frame_or_in_many() throws Exception {
        start(WebSocketOptions.usual().withMostMessageBytes(100));
        client.send(new BinaryWebSocketFrame(Unpooled.wrappedBuffer(new byte[101])));
        assertThat(client.takeClose()).isEqualTo(1009);
        client.takeEnd();
        client.stream.data(new byte[0], true);

        try (ScriptedClient next = ScriptedClient.open(client.stream)) {
            next.send(new BinaryWebSocketFrame(false, 0, Unpooled.wrappedBuffer(new byte[60])));
            next.send(new ContinuationWebSocketFrame(true, 0, Unpooled.wrappedBuffer(new byte[60])));
            assertThat(next.takeClose()).isEqualTo(1009);
            next.takeEnd();
        }
    }

    @Test
    void should_close_the_one_session_whose_listener_fails() throws Exception {
        start();
        client.send(new TextWebSocketFrame("fail"));
        assertThat(client.takeClose()).isEqualTo(1011);
        client.send(new CloseWebSocketFrame(1011, ""));
        client.takeEnd();
        assertThat(closed()).isEqualTo("1011 ");
    }

    /** For example, a class is missing. */
    @Test
    void should_close_a_session_whose_listener_throws_an_error() throws Exception {
        start();
        client.send(new TextWebSocketFrame("error"));
        assertThat(client.takeClose()).isEqualTo(1011);
        client.send(new CloseWebSocketFrame(1011, ""));
        client.takeEnd();
        assertThat(closed()).isEqualTo("1011 ");
    }

    @Test
    void should_close_what_the_handler_does_not_open() throws Exception {
        harness = new Harness(((WebSocketHandler) session -> {
                    throw new IllegalStateException("full");
                })
                .asHandler());
        client = ScriptedClient.open(harness.stream());
        assertThat(client.takeClose()).isEqualTo(1011);
        client.send(new CloseWebSocketFrame(1011, ""));
        client.takeEnd();
    }

    @Test
    void should_refuse_kinds_of_messages_that_nobody_listens_to() throws Exception {
        harness = new Harness(((WebSocketHandler) session -> new WebSocketListener() {}).asHandler());
        client = ScriptedClient.open(harness.stream());
        client.send(new BinaryWebSocketFrame(Unpooled.wrappedBuffer(new byte[10])));
        assertThat(client.takeClose()).isEqualTo(1003);
        client.send(new CloseWebSocketFrame(1003, ""));
        client.takeEnd();
    }

    @Test
    void should_answer_what_is_no_web_socket() throws Exception {
        ScriptedStream stream = serve(WebSocketOptions.usual());
        ScriptedStream.Gathered response = stream.exchange(ScriptedStream.get("/ws"));
        assertThat(response.status()).isEqualTo("426");
        assertThat(response.head().headers().get("sec-websocket-version").toString())
                .isEqualTo("13");
        stream.request(ScriptedClient.head("/ws").set("sec-websocket-version", "8"), 0, false);
        assertThat(stream.gather().status()).isEqualTo("426");
    }

    @Test
    void should_choose_a_subprotocol() throws Exception {
        ScriptedStream stream = serve(WebSocketOptions.usual().withSubprotocols(List.of("chat.2", "chat.1")));
        client = ScriptedClient.open(
                stream, ScriptedClient.head("/ws").add("sec-websocket-protocol", "soap, chat.1, chat.2"));
        assertThat(client.answer.get("sec-websocket-protocol").toString()).isEqualTo("chat.2");
        assertThat(session().subprotocol()).isEqualTo("chat.2");
    }

    @Test
    void should_ping_a_silent_client_and_give_it_up() throws Exception {
        start(WebSocketOptions.usual().withPingEvery(Duration.ofSeconds(1)));
        client.take(PingWebSocketFrame.class).release();
        client.send(new PongWebSocketFrame());
        client.take(PingWebSocketFrame.class).release();
        assertThat(client.takeClose()).isEqualTo(1001);
        client.takeEnd();
        assertThat(closed()).startsWith("1001 ");
    }

    /** The client's answers to pings wait behind its other messages. */
    @Test
    void should_not_give_up_a_client_that_is_not_listened_to() throws Exception {
        start(WebSocketOptions.usual().withPingEvery(Duration.ofMillis(100)));
        WebSocketSession session = session();
        session.pause();
        session.request().eventLoop().submit(() -> {}).get(); // the session is paused now
        client.send(new CloseWebSocketFrame(1000, ""));
        assertThat(closes.poll(400, TimeUnit.MILLISECONDS)).isNull();
        session.resume();
        assertThat(closed()).isEqualTo("1000 ");
    }

    /** Returns when more bytes wait for the client than the response has room for. */
    private void fill(WebSocketSession session) throws Exception {
        client.stream.holdsWindow = true;
        session.request()
                .eventLoop()
                .submit(() -> {
                    while (session.isWritable()) {
                        session.sendBinary(Unpooled.wrappedBuffer(new byte[65_536]));
                    }
                })
                .get();
    }

    /** Returns the text of the first pong, behind messages and pings. */
    private String takePong() throws InterruptedException {
        while (true) {
            WebSocketFrame frame = client.take(WebSocketFrame.class);
            try {
                if (!(frame instanceof BinaryWebSocketFrame || frame instanceof PingWebSocketFrame)) {
                    assertThat(frame).isInstanceOf(PongWebSocketFrame.class);
                    return frame.content().toString(StandardCharsets.US_ASCII);
                }
            } finally {
                frame.release();
            }
        }
    }

    @Test
    void should_answer_the_latest_ping_when_the_client_reads_again() throws Exception {
        start();
        WebSocketSession session = session();
        fill(session);
        client.send(new PingWebSocketFrame(Unpooled.copiedBuffer("early", StandardCharsets.US_ASCII)));
        client.send(new PingWebSocketFrame(Unpooled.copiedBuffer("latest", StandardCharsets.US_ASCII)));
        client.stream.link().roundTrip();
        client.stream.releaseWindow();
        assertThat(takePong()).isEqualTo("latest");
    }

    @Test
    void should_not_give_up_a_client_that_reads_slowly() throws Exception {
        start(WebSocketOptions.usual().withPingEvery(Duration.ofMillis(300)));
        WebSocketSession session = session();
        fill(session);
        assertThat(closes.poll(900, TimeUnit.MILLISECONDS)).isNull();
        client.send(new PingWebSocketFrame(Unpooled.copiedBuffer("latest", StandardCharsets.US_ASCII)));
        client.stream.link().roundTrip();
        client.stream.releaseWindow();
        assertThat(takePong()).isEqualTo("latest");
    }

    @Test
    void should_say_goodbye_when_the_worker_drains() throws Exception {
        start();
        session();
        harness.worker.drain(DrainReason.REQUESTED);
        CloseWebSocketFrame close = client.take(CloseWebSocketFrame.class);
        assertThat(close.statusCode()).isEqualTo(1012);
        assertThat(close.reasonText()).contains("reconnect");
        close.release();
        client.send(new CloseWebSocketFrame(1012, ""));
        client.takeEnd();
        assertThat(closed()).startsWith("1012 ");
    }

    @Test
    void should_send_in_the_order_of_each_thread() throws Exception {
        start();
        WebSocketSession session = session();
        Thread sender = new Thread(() -> IntStream.range(0, 500).forEach(i -> session.sendText("message " + i)));
        sender.start();
        for (int i = 0; i < 500; i++) {
            assertThat(takeText()).isEqualTo("message " + i);
        }
        sender.join();
    }

    @Test
    void should_refuse_codes_and_limits_that_cannot_be() throws Exception {
        start();
        WebSocketSession session = session();
        assertThatThrownBy(() -> session.close(5000, "")).hasMessageContaining("5000");
        assertThatThrownBy(() -> WebSocketOptions.usual().withMostMessageBytes(0))
                .hasMessageContaining("0, expected");
        assertThatThrownBy(() -> session.close(WebSocketSession.ABNORMAL, ""))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("1006");
    }

    @Test
    void should_leave_out_a_reason_that_is_too_long() throws Exception {
        start();
        session().close(1000, "ü".repeat(62));
        CloseWebSocketFrame close = client.take(CloseWebSocketFrame.class);
        assertThat(close.reasonText()).isEmpty();
        close.release();
    }
}
