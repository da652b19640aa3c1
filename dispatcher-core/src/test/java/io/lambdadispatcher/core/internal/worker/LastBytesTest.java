package io.lambdadispatcher.core.internal.worker;

import static org.assertj.core.api.Assertions.assertThat;

import io.lambdadispatcher.core.Dispatcher;
import io.lambdadispatcher.core.options.FunctionOptions;
import io.lambdadispatcher.core.options.ListenerOptions;
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
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests what happens to the last bytes of responses that end because the dispatcher closes. */
class LastBytesTest {
    private static final byte[] SECRET = "sixteen bytes at least".getBytes(StandardCharsets.UTF_8);

    /** Ten zeros on stream 1, and END_STREAM. */
    private static final String DATA_AND_END = "00000a000100000001" + "00".repeat(10);

    private final EventLoopGroup workerLoops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
    private final Dispatcher dispatcher = Dispatcher.builder()
            .function(FunctionOptions.of("f"))
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
        try (ScriptedWorker worker =
                new ScriptedWorker(workerLoops, dispatcher.workerAddress(), "f", "w", SECRET).ready(4)) {
            List<Integer> streams = List.of(9, 7, 5, 3);
            for (int stream : streams) {
                Socket client = new Socket(
                        "127.0.0.1", dispatcher.publicAddresses().get(0).getPort());
                clients.add(client);
                client.setSoTimeout(10_000);
                client.getOutputStream().write(request());
                worker.expect(stream + " REQUEST_HEAD /events end");
                worker.respond(stream, new DefaultHttp2Headers().status("200"), false);
            }
            CompletableFuture<Void> closed =
                    dispatcher.close(Duration.ofSeconds(4)).toCompletableFuture();
            worker.expect("1 DRAIN");
            List<EventExecutor> executors = new ArrayList<>();
            loops.forEach(executors::add);
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

    private static byte[] request() throws Exception {
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
