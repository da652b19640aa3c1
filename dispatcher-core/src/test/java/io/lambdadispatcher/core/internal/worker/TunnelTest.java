package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.observe.ExchangeEnd;
import io.lambdadispatcher.core.observe.Outcome;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.request.DispatchRequest;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.handler.codec.http2.Http2Headers;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests WebSockets between a client with a raw socket and a worker that follows a script. */
class TunnelTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    private final RecordingObserver observer = new RecordingObserver();
    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.builder("f")
                    .queue(10, Duration.ofSeconds(30))
                    .build())
            .publicListener(ListenerOptions.plain("127.0.0.1", 0))
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .secret(SECRET)
            .eventLoops(2)
            .observer(observer)
            .start();

    @AfterEach
    void stop() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    private ScriptedWorker worker() throws Exception {
        return new ScriptedWorker(loops, dispatcher.workerAddress(), "f", "w", SECRET).ready(1);
    }

    private static Http2Headers status(String status) {
        return new DefaultHttp2Headers().status(status);
    }

    private Socket connect() throws IOException {
        Socket socket =
                new Socket("127.0.0.1", dispatcher.publicAddresses().get(0).getPort());
        socket.setSoTimeout(10_000);
        return socket;
    }

    private Socket ask() throws IOException {
        Socket socket = connect();
        send(
                socket,
                "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n");
        return socket;
    }

    private static void send(Socket to, String text) throws IOException {
        to.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    }

    private static String head(Socket from) throws IOException {
        InputStream in = from.getInputStream();
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int value = in.read();
            if (value < 0) {
                throw new IOException("ended after '" + head + "'");
            }
            head.append((char) value);
        }
        return head.toString();
    }

    /** Clients are on both event loops, so some requests cross to the worker's. */
    @Test
    void should_free_the_stream_when_both_directions_have_ended() throws Exception {
        try (ScriptedWorker worker = worker()) {
            for (int i = 0; i < 6; i++) {
                boolean workerFirst = i < 3;
                try (Socket client = ask()) {
                    worker.expect("3 REQUEST_HEAD /ws");
                    worker.respond(3, status("200").set("content-length", "1"), false);
                    assertThat(head(client)).startsWith("HTTP/1.1 101 ").doesNotContain("content-length");
                    worker.data(3, 10, workerFirst);
                    assertThat(client.getInputStream().readNBytes(10)).hasSize(10);
                    send(client, "seven..");
                    worker.expect("3 DATA 7");
                    client.shutdownOutput();
                    worker.expect("3 DATA 0 end");
                    if (!workerFirst) {
                        worker.data(3, 10, true);
                        assertThat(client.getInputStream().readNBytes(10)).hasSize(10);
                    }
                    assertThat(client.getInputStream().read()).isEqualTo(-1);
                }
                ExchangeEnd end = observer.ends.poll(10, TimeUnit.SECONDS);
                assertThat(end.outcome()).isEqualTo(Outcome.COMPLETED);
                assertThat(end.isTunnel()).isTrue();
                assertThat(end.requestBytes()).isEqualTo(7);
                assertThat(end.responseBytes()).isEqualTo(workerFirst ? 10 : 20);
            }
            dispatcher.dispatch(
                    DispatchRequest.builder("GET", "/next").authority("a").build());
            worker.expect("3 REQUEST_HEAD /next end");
        }
    }

    @Test
    void should_keep_the_stream_while_one_direction_is_open() throws Exception {
        try (ScriptedWorker worker = worker();
                Socket client = ask()) {
            worker.expect("3 REQUEST_HEAD /ws");
            worker.respond(3, status("200"), true);
            head(client);
            assertThat(client.getInputStream().read()).isEqualTo(-1);
            dispatcher.dispatch(
                    DispatchRequest.builder("GET", "/next").authority("a").build());
            send(client, "more");
            worker.expect("3 DATA 4");
            client.close();
            worker.expect("3 DATA 0 end");
            worker.expect("3 REQUEST_HEAD /next end");
        }
    }

    @Test
    void should_take_a_frame_behind_the_workers_end_for_a_violation() throws Exception {
        try (ScriptedWorker worker = worker();
                Socket client = ask()) {
            worker.expect("3 REQUEST_HEAD /ws");
            worker.respond(3, status("200"), false);
            head(client);
            worker.data(3, 0, true);
            assertThat(client.getInputStream().read()).isEqualTo(-1);
            worker.data(3, 1, false);
            worker.expect("3 RST_STREAM 1");
            assertThat(observer.ends.poll(10, TimeUnit.SECONDS).failure()).isEqualTo("worker_lost");
            assertThatThrownBy(() -> {
                        long startNanos = System.nanoTime();
                        while (System.nanoTime() - startNanos < TimeUnit.SECONDS.toNanos(10)) {
                            send(client, "into the void");
                        }
                    })
                    .isInstanceOf(SocketException.class);
        }
    }

    /** The worker has ended its direction, so it does not answer the CANCEL. */
    @Test
    void should_cancel_what_the_client_leaves_half_open() throws Exception {
        try (ScriptedWorker worker = worker();
                Socket client = ask()) {
            worker.expect("3 REQUEST_HEAD /ws");
            worker.respond(3, status("200"), true);
            head(client);
            client.setSoLinger(true, 0);
            client.close();
            worker.expect("3 CANCEL " + ErrorCode.CANCELLED.code());
            dispatcher.dispatch(
                    DispatchRequest.builder("GET", "/next").authority("a").build());
            worker.expect("3 REQUEST_HEAD /next end");
            assertThat(observer.ends.poll(10, TimeUnit.SECONDS).outcome()).isEqualTo(Outcome.COMPLETED);
        }
    }

    /** The next request on a stream would wait behind bytes that the worker does not read. */
    @Test
    void should_use_no_stream_whose_last_bytes_are_not_taken() throws Exception {
        int bytes = Http2CodecUtil.DEFAULT_WINDOW_SIZE + 10_000;
        try (ScriptedWorker worker = new ScriptedWorker(loops, dispatcher.workerAddress(), "f", "w", SECRET).ready(2);
                Socket client = ask()) {
            worker.expect("5 REQUEST_HEAD /ws");
            worker.hold(5);
            worker.respond(5, status("200"), true);
            head(client);
            send(client, "x".repeat(bytes));
            client.shutdownOutput();
            assertThat(observer.ends.poll(10, TimeUnit.SECONDS).outcome()).isEqualTo(Outcome.COMPLETED);
            dispatcher.dispatch(
                    DispatchRequest.builder("GET", "/next").authority("a").build());
            worker.expect("3 REQUEST_HEAD /next end");
            worker.read(5);
            assertThat(worker.dataBefore(5, "5 DATA 0 end")).isEqualTo(bytes);
            dispatcher.dispatch(
                    DispatchRequest.builder("GET", "/then").authority("a").build());
            worker.expect("5 REQUEST_HEAD /then end");
        }
    }

    /**
     * The client sends chunks of one byte. As single frames, each would take four more bytes, and a
     * buffer of hundreds of bytes.
     */
    @Test
    void should_make_one_frame_of_many_small_parts() throws Exception {
        int count = 10_000;
        try (ScriptedWorker worker = worker();
                Socket client = connect()) {
            send(client, "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
            worker.expect("3 REQUEST_HEAD /a");
            worker.hold(3);
            send(client, "ffff\r\n" + "x".repeat(0xffff) + "\r\n");
            send(client, "1\r\nx\r\n".repeat(count) + "0\r\na: b\r\n\r\n");
            worker.awaitHeld(3, 65_000);
            awaitHeldForClients(count);
            worker.read(3);
            int[] bytesAndFrames = worker.dataUntil(3, "3 TRAILERS");
            assertThat(bytesAndFrames[0]).isEqualTo(0xffff + count);
            // There are far fewer, because all bytes have arrived while the worker did not read.
            assertThat(bytesAndFrames[1]).isLessThan(count / 2);
        }
    }

    /** Each part would keep the complete buffer into which it was read. */
    @Test
    void should_copy_small_parts_together_as_soon_as_the_window_is_used_up() throws Exception {
        int parts = 12;
        try (ScriptedWorker worker = worker();
                Socket client = connect()) {
            send(client, "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
            worker.expect("3 REQUEST_HEAD /a");
            worker.hold(3);
            send(client, "ffff\r\n" + "x".repeat(0xffff) + "\r\n");
            worker.awaitHeld(3, 65_000);
            send(client, ("400\r\n" + "y".repeat(0x400) + "\r\n").repeat(parts) + "0\r\na: b\r\n\r\n");
            awaitHeldForClients(parts * 0x400);
            worker.read(3);
            int[] bytesAndFrames = worker.dataUntil(3, "3 TRAILERS");
            assertThat(bytesAndFrames[0]).isEqualTo(0xffff + parts * 0x400);
            assertThat(bytesAndFrames[1]).isLessThan(parts);
        }
    }

    /** Waits for this many held bytes, besides those of one connection and one request. */
    private void awaitHeldForClients(int bytes) {
        Await.until(bytes + " bytes are held", () -> dispatcher.clients().heldBytes() >= 9 * 1024 + bytes);
    }

    /** {@link RequestSender#onTaken} is not called for frames without bytes. */
    @Test
    void should_let_no_part_wait_behind_frames_that_were_empty() throws Exception {
        String head = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        try (ScriptedWorker worker = worker();
                Socket client = connect()) {
            for (int i = 0; i < 40; i++) {
                send(client, head);
                worker.expect("3 REQUEST_HEAD /a");
                send(client, "0\r\n\r\n");
                worker.expect("3 DATA 0 end");
                worker.respond(3, status("204"), true);
                head(client);
            }
            send(client, head);
            worker.expect("3 REQUEST_HEAD /a");
            send(client, "1\r\nx\r\n");
            worker.expect("3 DATA 1");
        }
    }

    /** Neither its parts nor their count of bytes may be left for the next request. */
    @Test
    void should_forget_small_parts_of_a_request_whose_client_has_gone() throws Exception {
        try (ScriptedWorker worker = worker()) {
            try (Socket client = connect()) {
                send(client, "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
                worker.expect("3 REQUEST_HEAD /a");
                worker.hold(3);
                send(client, "ffff\r\n" + "x".repeat(0xffff) + "\r\n" + "1\r\nx\r\n".repeat(10_000));
                worker.awaitHeld(3, 65_000);
            }
            assertThat(observer.ends.poll(10, TimeUnit.SECONDS).outcome()).isEqualTo(Outcome.CANCELLED);
            worker.read(3);
            worker.dataUntil(3, "3 CANCEL " + ErrorCode.CANCELLED.code());
            worker.respond(3, status("204"), true);
            dispatcher.dispatch(
                    DispatchRequest.builder("GET", "/next").authority("a").build());
            worker.expect("3 REQUEST_HEAD /next end");
        }
    }

    @Test
    void should_treat_a_refusal_as_any_early_response() throws Exception {
        try (ScriptedWorker worker = worker();
                Socket client = ask()) {
            worker.expect("3 REQUEST_HEAD /ws");
            worker.respond(3, status("403"), true);
            worker.expect("3 CANCEL " + ErrorCode.NOT_NEEDED.code());
            assertThat(head(client)).startsWith("HTTP/1.1 403 ").contains("connection: close");
            assertThat(client.getInputStream().read()).isEqualTo(-1);
            assertThat(observer.ends.poll(10, TimeUnit.SECONDS).isTunnel()).isFalse();
        }
    }

    @Test
    void should_cut_the_client_when_the_worker_resets() throws Exception {
        try (ScriptedWorker worker = worker();
                Socket client = ask()) {
            worker.expect("3 REQUEST_HEAD /ws");
            worker.respond(3, status("200"), false);
            head(client);
            worker.bytes(3, out -> FrameWriter.writeReset(out, ErrorCode.HANDLER_FAILED, "because"));
            assertThatThrownBy(() -> client.getInputStream().read()).isInstanceOf(SocketException.class);
            worker.expect("3 CANCEL " + ErrorCode.NOT_NEEDED.code());
        }
    }

    /**
     * Bytes that the client can no longer receive still count in the worker's window, which
     * outlives the exchange.
     */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void should_give_back_the_bytes_of_a_response_that_breaks_off(boolean tunnel) throws Exception {
        try (ScriptedWorker worker = worker()) {
            for (int bytes = 0; bytes < 2 * WorkerPort.STREAM_WINDOW_BYTES; bytes += 60_000) {
                try (Socket client = tunnel ? ask() : connect()) {
                    if (!tunnel) {
                        send(client, "GET /ws HTTP/1.1\r\nHost: a\r\n\r\n");
                    }
                    worker.expect("3 REQUEST_HEAD /ws" + (tunnel ? "" : " end"));
                    worker.respond(3, status("200"), false);
                    head(client);
                    // Sent together, so that the client's socket gets no bytes before the reset.
                    worker.bytes(3, out -> {
                        FrameWriter.writeDataHeader(out, 60_000, false);
                        out.writeZero(60_000);
                        FrameWriter.writeReset(out, ErrorCode.HANDLER_FAILED, "because");
                    });
                    assertThatThrownBy(() -> client.getInputStream().readAllBytes())
                            .isInstanceOf(SocketException.class)
                            .isNotInstanceOf(SocketTimeoutException.class);
                    if (tunnel) {
                        worker.expect("3 CANCEL " + ErrorCode.NOT_NEEDED.code());
                    }
                }
            }
        }
    }

    /**
     * RFC 9113 section 3.1 has made {@code Upgrade: h2c} obsolete. Behind other proxies, clients
     * could use it to bypass their rules.
     */
    @Test
    void should_serve_a_request_that_asks_for_h2c_as_any_other() throws Exception {
        try (ScriptedWorker worker = worker();
                Socket client = connect()) {
            send(
                    client,
                    "GET /asks HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                            + "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
            worker.expect("3 REQUEST_HEAD /asks end");
            worker.respond(3, status("204"), true);
            assertThat(head(client)).startsWith("HTTP/1.1 204 ");
            worker.expect("3 REQUEST_HEAD /next end");
            worker.respond(3, status("204"), true);
            assertThat(head(client)).startsWith("HTTP/1.1 204 ");
        }
    }

    /** The drain of clients must not wait for a tunnel that the worker is to end. */
    @Test
    void should_tell_the_worker_of_an_http2_tunnel_to_drain_without_delay() throws Exception {
        try (ScriptedWorker worker = worker();
                Socket client = connect()) {
            ByteBuf block = Unpooled.buffer();
            new DefaultHttp2HeadersEncoder()
                    .encodeHeaders(
                            1,
                            new DefaultHttp2Headers()
                                    .method("CONNECT")
                                    .add(":protocol", "websocket")
                                    .scheme("http")
                                    .path("/ws")
                                    .authority("a"),
                            block);
            ByteBuf out = Unpooled.buffer()
                    .writeBytes(Http2CodecUtil.connectionPrefaceBuf())
                    .writeBytes(ByteBufUtil.decodeHexDump("000000040000000000"))
                    .writeMedium(block.readableBytes())
                    .writeBytes(ByteBufUtil.decodeHexDump("010400000001"))
                    .writeBytes(block);
            client.getOutputStream().write(ByteBufUtil.getBytes(out));
            worker.expect("3 REQUEST_HEAD /ws");
            worker.respond(3, status("200"), false);
            worker.data(3, 10, false);

            long startNanos = System.nanoTime();
            dispatcher.close(Duration.ofSeconds(16));
            worker.expect("1 DRAIN");
            assertThat(System.nanoTime() - startNanos).isLessThan(TimeUnit.SECONDS.toNanos(4));
            worker.data(3, 0, true);
        }
    }

    @Test
    void should_refuse_a_tunnel_of_the_embedding_program() {
        assertThatThrownBy(() -> dispatcher.dispatch(
                        DispatchRequest.builder("CONNECT", "/ws").authority("a").build()))
                .isInstanceOf(IllegalArgumentException.class);
    }
}
