package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.wire.worker.ControlCodec;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.Endpoints;
import io.lambdadispatcher.wire.worker.FrameReader;
import io.lambdadispatcher.wire.worker.FrameType;
import io.lambdadispatcher.wire.worker.FrameWriter;
import io.lambdadispatcher.wire.worker.HeadDecoder;
import io.lambdadispatcher.wire.worker.HeadEncoder;
import io.lambdadispatcher.wire.worker.LaunchToken;
import io.lambdadispatcher.wire.worker.WireException;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2FrameAdapter;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A worker that sends the frames that the test says, valid or not. Each received frame becomes a
 * line of text that starts with the id of the HTTP/2 stream, such as {@code "3 REQUEST_HEAD /path
 * end"}.
 */
final class ScriptedWorker implements AutoCloseable {
    String zone = "use1-az1";
    int remainingMillis = ControlMessage.Hello.NO_DEADLINE;
    private final BlockingQueue<String> received = new LinkedBlockingQueue<>();
    private final Map<Integer, HeadDecoder> decoders = new HashMap<>();
    private final Map<Integer, HeadEncoder> encoders = new HashMap<>();
    private final Map<Integer, FrameReader> readers = new HashMap<>();
    private final Map<Integer, ByteBuf> held = new HashMap<>();
    private Runnable onHeld = () -> {};
    private final String token;
    private final ControlCodec codec;
    private final Channel channel;
    private final Listener listener = new Listener();
    private ChannelHandlerContext ctx;
    private Http2ConnectionHandler http2;

    /** The last PEERS. */
    volatile List<String> peers = List.of();

    ScriptedWorker(EventLoopGroup loops, InetSocketAddress dispatcher, String function, String id, byte[] secret)
            throws Exception {
        this(
                loops,
                dispatcher,
                new LaunchToken(function, id, Instant.now().plusSeconds(60)).sign(LaunchToken.key(secret, function)));
    }

    ScriptedWorker(EventLoopGroup loops, InetSocketAddress dispatcher, String token) throws Exception {
        this.token = token;
        codec = new ControlCodec(ControlCodec.Role.WORKER, token);
        channel = new Bootstrap()
                .group(loops)
                .channel(NioSocketChannel.class)
                .handler(new io.netty.channel.ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel c) {
                        http2 = new Http2ConnectionHandlerBuilder()
                                .server(false)
                                .initialSettings(Http2Settings.defaultSettings())
                                .frameListener(listener)
                                .build();
                        c.pipeline().addLast(http2);
                        ctx = c.pipeline().context(http2);
                    }
                })
                .connect(dispatcher)
                .sync()
                .channel();
    }

    /** Opens the control stream, then {@code streams} worker streams, and sends READINESS. */
    ScriptedWorker ready(int streams) throws Exception {
        return ready(1, streams, false);
    }

    /** Does what {@link #ready(int)} does, in a version of the protocol. */
    ScriptedWorker ready(int version, int streams, boolean expectsPeers) throws Exception {
        openControl();
        hello(version, streams);
        expect("1 :status 200");
        expect("1 WELCOME");
        if (expectsPeers) {
            expect("1 PEERS");
        }
        for (int i = 0; i < streams; i++) {
            openStream(3 + 2 * i);
            expect(3 + 2 * i + " :status 200");
        }
        say(new ControlMessage.Readiness(true));
        return this;
    }

    void openControl() throws Exception {
        Http2Headers head = head(Endpoints.CONTROL_PATH).set("authorization", Endpoints.BEARER + token);
        run(() -> http2.encoder().writeHeaders(ctx, 1, head, 0, false, ctx.newPromise()));
    }

    void hello(int version, int streams) throws Exception {
        say(new ControlMessage.Hello(version, version, streams, remainingMillis, "script", "7", "its log", zone));
    }

    void openStream(int id) throws Exception {
        run(() -> http2.encoder().writeHeaders(ctx, id, head(Endpoints.STREAM_PATH), 0, false, ctx.newPromise()));
    }

    /** Returns the number of streams that the dispatcher allows now. */
    int maxStreams() throws Exception {
        BlockingQueue<Integer> found = new LinkedBlockingQueue<>();
        run(() -> found.add(http2.connection().local().maxActiveStreams()));
        return found.take();
    }

    void ignoreMaxStreams() throws Exception {
        run(() -> http2.connection().local().maxActiveStreams(Integer.MAX_VALUE));
    }

    /** Ends a worker stream with an empty DATA frame. */
    void end(int id) throws Exception {
        run(() -> http2.encoder().writeData(ctx, id, Unpooled.EMPTY_BUFFER, 0, true, ctx.newPromise()));
        run(ctx::flush);
    }

    /** Ends a worker stream with trailers, which it must not have. */
    void endWithTrailers(int id) throws Exception {
        Http2Headers trailers = new DefaultHttp2Headers().set("x", "y");
        run(() -> http2.encoder().writeHeaders(ctx, id, trailers, 0, true, ctx.newPromise()));
        run(ctx::flush);
    }

    void reset(int id) throws Exception {
        run(() -> http2.resetStream(ctx, id, Http2Error.CANCEL.code(), ctx.newPromise()));
    }

    /**
     * Waits until the dispatcher has read everything that was sent: opens a stream that HELLO has
     * not announced, and waits until it is refused.
     */
    void awaitRead(int unannouncedId) throws Exception {
        openStream(unannouncedId);
        expect(unannouncedId + " :status 403");
        expect(unannouncedId + " RST_STREAM 0");
    }

    private static Http2Headers head(CharSequence path) {
        return new DefaultHttp2Headers()
                .method("POST")
                .scheme("http")
                .authority("d")
                .path(path)
                .set("content-type", Endpoints.MEDIA_TYPE);
    }

    void say(ControlMessage message) throws Exception {
        bytes(1, out -> codec.write(out, message));
    }

    void respond(int id, Http2Headers head, boolean end) throws Exception {
        bytes(id, out -> {
            try {
                FrameWriter.writeResponseHead(out, encoders.computeIfAbsent(id, i -> new HeadEncoder()), head, end);
            } catch (WireException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    void data(int id, int bytes, boolean end) throws Exception {
        bytes(id, out -> {
            FrameWriter.writeDataHeader(out, bytes, end);
            out.writeZero(bytes);
        });
    }

    /** Sends any bytes on a stream. */
    void bytes(int id, Consumer<ByteBuf> writer) throws Exception {
        ByteBuf out = Unpooled.buffer();
        writer.accept(out);
        run(() -> http2.encoder().writeData(ctx, id, out, 0, false, ctx.newPromise()));
    }

    /** Leaves the bytes of the stream unread, and in its window, until {@link #read}. */
    void hold(int id) throws Exception {
        run(() -> {
            held.put(id, Unpooled.buffer());
            Http2Connection connection = http2.connection();
            try {
                // Then the stream's window is used up before the connection's.
                connection
                        .local()
                        .flowController()
                        .incrementWindowSize(connection.connectionStream(), WorkerPort.STREAM_WINDOW_BYTES);
            } catch (Http2Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    void read(int id) throws Exception {
        run(() -> {
            ByteBuf content = held.remove(id);
            try {
                int bytes = content.readableBytes();
                Http2Connection connection = http2.connection();
                connection.local().flowController().consumeBytes(connection.stream(id), bytes);
                listener.onDataRead(ctx, id, content, 0, false);
            } catch (Http2Exception e) {
                throw new IllegalStateException(e);
            } finally {
                content.release();
            }
        });
    }

    /**
     * Waits for a line, and removes it and the DATA of the stream before it.
     *
     * @return number of bytes of that DATA, in frames without END
     */
    int dataBefore(int id, String line) throws Exception {
        return dataUntil(id, line)[0];
    }

    /**
     * Does what {@link #dataBefore} does.
     *
     * @return the number of bytes, and the number of DATA frames
     */
    int[] dataUntil(int id, String line) throws Exception {
        String data = id + " DATA ";
        int bytes = 0;
        for (int parts = 0; ; parts++) {
            String next = received.poll(10, TimeUnit.SECONDS);
            if (line.equals(next)) {
                return new int[] {bytes, parts};
            }
            if (next == null || !next.startsWith(data) || next.endsWith(" end")) {
                throw new AssertionError("received '" + next + "', expected '" + line + "'");
            }
            bytes += Integer.parseInt(next.substring(data.length()));
        }
    }

    /** Waits for the end of a request's body, and returns its bytes. */
    int body(int id) throws Exception {
        String data = id + " DATA ";
        int bytes = 0;
        while (true) {
            String next = received.poll(10, TimeUnit.SECONDS);
            if (next == null || !next.startsWith(data)) {
                throw new AssertionError("received '" + next + "', expected DATA of stream " + id);
            }
            bytes += Integer.parseInt(next.substring(data.length()).replace(" end", ""));
            if (next.endsWith(" end")) {
                return bytes;
            }
        }
    }

    /** Waits until this many bytes of a held stream have arrived. */
    void awaitHeld(int id, int bytes) throws Exception {
        BlockingQueue<Integer> full = new LinkedBlockingQueue<>();
        run(() -> onHeld = () -> {
            int heldBytes = held.get(id).readableBytes();
            if (heldBytes >= bytes) {
                full.add(heldBytes);
            }
        });
        run(() -> onHeld.run());
        if (full.poll(10, TimeUnit.SECONDS) == null) {
            throw new AssertionError("stream " + id + " has not brought " + bytes + " bytes");
        }
        run(() -> onHeld = () -> {});
    }

    /** Reads nothing any more, so that it answers no ping. */
    void fallSilent() {
        channel.config().setAutoRead(false);
    }

    private void run(Runnable call) throws Exception {
        channel.eventLoop()
                .submit(() -> {
                    call.run();
                    http2.flush(ctx);
                })
                .sync();
    }

    void expect(String line) throws Exception {
        String next = received.poll(10, TimeUnit.SECONDS);
        if (!line.equals(next)) {
            throw new AssertionError("received '" + next + "', expected '" + line + "'");
        }
    }

    void awaitClosed() throws Exception {
        if (!channel.closeFuture().await(10, TimeUnit.SECONDS)) {
            throw new AssertionError("the dispatcher has not closed the connection");
        }
    }

    @Override
    public void close() throws Exception {
        // Bypasses the HTTP/2 handler, which would wait for its streams to end.
        ctx.close().sync();
        channel.eventLoop()
                .submit(() -> readers.values().forEach(FrameReader::close))
                .sync();
    }

    private final class Listener extends Http2FrameAdapter {
        @Override
        public void onHeadersRead(ChannelHandlerContext c, int id, Http2Headers head, int padding, boolean end) {
            received.add(id + " :status " + head.status());
        }

        @Override
        public void onHeadersRead(
                ChannelHandlerContext c,
                int id,
                Http2Headers head,
                int dep,
                short weight,
                boolean ex,
                int p,
                boolean end) {
            onHeadersRead(c, id, head, p, end);
        }

        @Override
        public void onRstStreamRead(ChannelHandlerContext c, int id, long code) {
            received.add(id + " RST_STREAM " + code);
        }

        @Override
        public int onDataRead(ChannelHandlerContext c, int id, ByteBuf data, int padding, boolean end) {
            ByteBuf unread = held.get(id);
            if (unread != null) {
                unread.writeBytes(data);
                onHeld.run();
                return padding;
            }
            int bytes = data.readableBytes() + padding;
            try {
                readers.computeIfAbsent(id, this::reader).read(data);
            } catch (WireException e) {
                received.add(id + " " + e.getMessage());
            }
            return bytes;
        }

        private FrameReader reader(int id) {
            FrameReader.Listener listener = new FrameReader.Listener() {
                @Override
                public void onData(ByteBuf part, boolean end) {
                    received.add(id + " DATA " + part.readableBytes() + (end ? " end" : ""));
                    part.release();
                }

                @Override
                public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
                    String more = "";
                    if (type.isControl()) {
                        ControlMessage message = codec.read(type, payload, offset);
                        peers = message instanceof ControlMessage.Peers its ? its.addresses() : peers;
                    } else if (type == FrameType.REQUEST_HEAD) {
                        payload.readInt();
                        Http2Headers head = decoders.computeIfAbsent(id, i -> new HeadDecoder())
                                .decode(payload, offset);
                        CharSequence trace = head.get("traceparent");
                        more = " " + head.path() + (trace == null ? "" : " " + trace);
                    } else if (type == FrameType.CANCEL) {
                        more = " " + payload.readInt();
                    }
                    received.add(id + " " + type + more + (end ? " end" : ""));
                }
            };
            return id == 1
                    ? FrameReader.ofControlStream(ctx.alloc(), listener)
                    : FrameReader.ofWorkerStream(ctx.alloc(), listener);
        }
    }
}
