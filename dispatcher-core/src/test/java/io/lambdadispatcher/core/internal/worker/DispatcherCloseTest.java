package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.CapacityPolicy;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
import io.lambdadispatcher.core.testkit.RecordingLauncher;
import io.lambdadispatcher.core.testkit.RecordingObserver;
import io.lambdadispatcher.wire.testkit.Await;
import io.lambdadispatcher.wire.testkit.EachRelease;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersEncoder;
import io.netty.handler.codec.http2.Http2CodecUtil;
import io.netty.util.concurrent.EventExecutor;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what clients receive while the dispatcher closes. */
@EachRelease
class DispatcherCloseTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    /** Ten zeros on stream 1, and END_STREAM. */
    private static final String DATA_AND_END = "00000a000100000001" + "00".repeat(10);

    private final EventLoopGroup workerLoops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
    private final RecordingObserver observer = new RecordingObserver();
    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.builder("f")
                    .queue(10, Duration.ofSeconds(30))
                    .build())
            .observer(observer)
            .publicListener(ListenerOptions.plain("127.0.0.1", 0))
            .workerListener(ListenerOptions.plain("127.0.0.1", 0))
            .secret(SECRET)
            .eventLoopGroup(loops)
            .start();

    @AfterEach
    void stop() throws Exception {
        dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
        loops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        workerLoops.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    /**
     * One event loop is busy while the worker ends its responses and leaves. If it is not the
     * worker's, then the last bytes are not yet written when no worker is left.
     */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void should_send_the_last_bytes_of_streams_that_workers_end(int busy) throws Exception {
        List<Socket> clients = new ArrayList<>();
        try (ScriptedWorker worker = worker(4)) {
            List<Integer> streams = List.of(9, 7, 5, 3);
            for (int stream : streams) {
                Socket client = connect();
                clients.add(client);
                client.getOutputStream().write(http2Request());
                worker.expect(stream + " REQUEST_HEAD /events end");
                worker.respond(stream, new DefaultHttp2Headers().status("200"), false);
            }
            CompletableFuture<Void> closed =
                    dispatcher.close(Duration.ofSeconds(4)).toCompletableFuture();
            worker.expect("1 DRAIN");
            List<EventExecutor> executors = new ArrayList<>();
            loops.forEach(executors::add);
            // Blocks the event loop, so that what follows waits.
            executors.get(busy).execute(() -> LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(500)));
            for (int stream : streams) {
                worker.data(stream, 10, true);
            }
            worker.say(new ControlMessage.Goodbye("done"));
            worker.close();
            for (Socket client : clients) {
                assertThat(ByteBufUtil.hexDump(client.getInputStream().readAllBytes()))
                        .contains(DATA_AND_END);
            }
            closed.get(10, TimeUnit.SECONDS);
        } finally {
            for (Socket client : clients) {
                client.close();
            }
        }
    }

    @Test
    void should_answer_requests_that_are_left_at_the_end() throws Exception {
        try (ScriptedWorker worker = worker(1);
                Socket served = connect();
                Socket queued = connect()) {
            send(served, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
            worker.expect("3 REQUEST_HEAD /a end");
            send(queued, "GET /b HTTP/1.1\r\nHost: a\r\n\r\n");
            awaitStarted(2);
            dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
            assertThat(List.of(answer(served), answer(queued)))
                    .allSatisfy(answer ->
                            assertThat(answer).startsWith("HTTP/1.1 503 ").contains("the dispatcher shuts down"));
        }
    }

    /** A response would be lost if the connection closed while the client still sends. */
    @Test
    void should_answer_queued_requests_whose_bodies_are_not_complete() throws Exception {
        try (Socket queued = connect()) {
            send(queued, "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nbegun");
            awaitStarted(1);
            CompletableFuture<Void> closed = dispatcher.close(Duration.ZERO).toCompletableFuture();
            Await.remains("it waits for the client", Duration.ofMillis(100), () -> !closed.isDone());
            send(queued, "more");
            assertThat(answer(queued)).startsWith("HTTP/1.1 503 ").contains("retry-after: 1\r\n");
            closed.get(10, TimeUnit.SECONDS);
        }
    }

    /** Half of the grace is for requests, and workers may connect until then. */
    @Test
    void should_not_wait_for_requests_that_no_worker_can_serve_any_more() throws Exception {
        try (Socket queued = connect()) {
            send(queued, "GET /b HTTP/1.1\r\nHost: a\r\n\r\n");
            awaitStarted(1);
            long startNanos = System.nanoTime();
            CompletableFuture<Void> closed =
                    dispatcher.close(Duration.ofSeconds(6)).toCompletableFuture();
            assertThat(answer(queued)).startsWith("HTTP/1.1 503 ");
            closed.get(10, TimeUnit.SECONDS);
            assertThat(System.nanoTime() - startNanos)
                    .isBetween(TimeUnit.SECONDS.toNanos(3), TimeUnit.SECONDS.toNanos(5));
        }
    }

    /** A browser connects in advance, and its first request can be in transit. */
    @Test
    void should_serve_the_first_request_of_a_connection() throws Exception {
        try (ScriptedWorker worker = worker(1);
                Socket client = connect()) {
            awaitConnected();
            dispatcher.close(Duration.ofSeconds(20));
            // The worker was told to drain within this time when the dispatcher did not wait.
            Await.remains(
                    "the worker is ready",
                    Duration.ofMillis(100),
                    () -> dispatcher.pools().get(0).readyWorkers() == 1);
            send(client, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
            worker.expect("3 REQUEST_HEAD /a end");
            worker.respond(3, new DefaultHttp2Headers().status("204"), true);
            assertThat(answer(client)).startsWith("HTTP/1.1 204 ").contains("connection: close\r\n");
            worker.expect("1 DRAIN");
        }
    }

    @Test
    void should_close_a_connection_without_a_request() throws Exception {
        try (Socket client = connect()) {
            awaitConnected();
            dispatcher.close(Duration.ofSeconds(60)).toCompletableFuture().get(10, TimeUnit.SECONDS);
            assertThat(client.getInputStream().read()).isEqualTo(-1);
        }
    }

    /** An HTTP/1.0 client would take a clean end for the end of the response. */
    @Test
    void should_not_end_a_connection_cleanly_before_the_end_of_its_response() throws Exception {
        try (ScriptedWorker worker = worker(1);
                Socket client = connect()) {
            send(client, "GET /a HTTP/1.0\r\n\r\n");
            worker.expect("3 REQUEST_HEAD /a end");
            worker.respond(3, new DefaultHttp2Headers().status("200"), false);
            worker.data(3, 1000, false);
            assertThat(client.getInputStream().read()).isPositive();
            dispatcher.close(Duration.ZERO).toCompletableFuture().get(10, TimeUnit.SECONDS);
            assertThatThrownBy(() -> client.getInputStream().readAllBytes()).isInstanceOf(SocketException.class);
        }
    }

    /** A program that blocks an event loop would otherwise keep what its launchers have started. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void should_close_launchers_although_an_event_loop_is_blocked(int index) throws Exception {
        RecordingLauncher launcher = new RecordingLauncher();
        Dispatcher other = Dispatcher.builder()
                .function(FunctionOptions.builder("f")
                        .capacity(CapacityPolicy.fixed(1))
                        .build())
                .publicListener(ListenerOptions.plain("127.0.0.1", 0))
                .workerListener(ListenerOptions.plain("127.0.0.1", 0))
                .secret(SECRET)
                .launcher(launcher)
                .eventLoopGroup(loops)
                .start();
        CountDownLatch blocked = new CountDownLatch(1);
        try {
            launcher.next();
            List<EventExecutor> executors = new ArrayList<>();
            loops.forEach(executors::add);
            executors.get(index).execute(() -> {
                try {
                    blocked.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            other.close(Duration.ZERO);
            Await.until("the launcher is closed", () -> launcher.closes.get() == 1);
        } finally {
            blocked.countDown();
        }
    }

    private ScriptedWorker worker(int streams) throws Exception {
        ScriptedWorker worker =
                new ScriptedWorker(workerLoops, dispatcher.workerAddress(), "f", "w", SECRET).ready(streams);
        Await.until("the worker is ready", () -> dispatcher.pools().get(0).readyWorkers() == 1);
        return worker;
    }

    private Socket connect() throws IOException {
        Socket socket =
                new Socket("127.0.0.1", dispatcher.publicAddresses().get(0).getPort());
        socket.setSoTimeout(10_000);
        return socket;
    }

    private static void send(Socket to, String text) throws IOException {
        to.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    }

    /** Returns what the dispatcher sends until it ends the connection. */
    private static String answer(Socket from) throws IOException {
        return new String(from.getInputStream().readAllBytes(), StandardCharsets.US_ASCII);
    }

    private void awaitStarted(int requests) {
        Await.until("requests have started", () -> observer.starts.size() == requests);
    }

    private void awaitConnected() {
        Await.until("the client is connected", () -> observer.clientsConnected.get() > 0);
    }

    private static byte[] http2Request() throws Exception {
        ByteBuf block = Unpooled.buffer();
        new DefaultHttp2HeadersEncoder()
                .encodeHeaders(
                        1,
                        new DefaultHttp2Headers()
                                .method("GET")
                                .scheme("http")
                                .path("/events")
                                .authority("a"),
                        block);
        return ByteBufUtil.getBytes(Unpooled.buffer()
                .writeBytes(Http2CodecUtil.connectionPrefaceBuf())
                .writeBytes(ByteBufUtil.decodeHexDump("000000040000000000"))
                .writeMedium(block.readableBytes())
                .writeBytes(ByteBufUtil.decodeHexDump("010500000001"))
                .writeBytes(block));
    }
}
