package io.lambdadispatcher.worker;

import io.lambdadispatcher.wire.worker.ControlCodec;
import io.lambdadispatcher.wire.worker.ControlMessage;
import io.lambdadispatcher.wire.worker.ControlMessage.Peers;
import io.lambdadispatcher.wire.worker.ControlMessage.Welcome;
import io.lambdadispatcher.wire.worker.Endpoints;
import io.lambdadispatcher.wire.worker.FrameReader;
import io.lambdadispatcher.wire.worker.FrameType;
import io.lambdadispatcher.wire.worker.WireException;
import io.lambdadispatcher.wire.worker.WireLimits;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2ConnectionHandlerBuilder;
import io.netty.handler.codec.http2.Http2EventAdapter;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.ssl.SslContext;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * A dispatcher on loopback that does what the test says. Its methods are called on the test's
 * thread.
 */
public final class ScriptedDispatcher implements AutoCloseable {
    /**
     * The maximum wait for something that must happen. It usually takes milliseconds, but a busy
     * machine may take many times as long.
     */
    public static final long WAIT_SECONDS = 60;

    private final EventLoopGroup loops = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    private final BlockingQueue<Link> ready = new LinkedBlockingQueue<>();
    private final List<Link> links = new CopyOnWriteArrayList<>();
    private final @Nullable SslContext tls;
    private Channel server;

    /** The status for the next control streams. */
    public volatile int controlStatus = 200;

    /**
     * The maximum number of streams of the next connections: the control stream and the worker
     * streams.
     */
    public volatile int maxStreams = 2000;

    public volatile boolean answersHello = true;

    /** Whether the next connections read nothing after HELLO, until {@link Link#thaw}. */
    public volatile boolean freezesAfterHello;

    /** The version of the protocol for the next connections. */
    public volatile int version = WireLimits.PROTOCOL_VERSION;

    /** Sent to the next connections after WELCOME, if there are any. */
    public volatile List<String> peers = List.of();

    public volatile int pingIntervalMillis = 5_000;
    public volatile int pingTimeoutMillis = 5_000;

    public ScriptedDispatcher() {
        this(null);
    }

    public ScriptedDispatcher(@Nullable SslContext tls) {
        this.tls = tls;
        server = bind(0);
    }

    private Channel bind(int port) {
        return new ServerBootstrap()
                .group(loops)
                .channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        init(channel.pipeline());
                    }
                })
                .bind(InetAddress.getLoopbackAddress(), port)
                .syncUninterruptibly()
                .channel();
    }

    private void init(ChannelPipeline pipeline) {
        if (tls != null) {
            pipeline.addLast(tls.newHandler(pipeline.channel().alloc()));
        }
        Link link = new Link();
        pipeline.addLast(link.http2);
        link.ctx = pipeline.context(link.http2);
        links.add(link);
    }

    public InetSocketAddress address() {
        return (InetSocketAddress) server.localAddress();
    }

    /** Closes all connections, and accepts none until {@link #listenAgain}. */
    public int stopListening() {
        int port = address().getPort();
        server.close().syncUninterruptibly();
        links.forEach(Link::cut);
        return port;
    }

    public void listenAgain(int port) {
        long untilNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
        while (true) {
            try {
                server = bind(port);
                return;
            } catch (Exception e) {
                // The selector releases the old socket in its next iteration.
                if (System.nanoTime() - untilNanos > 0) {
                    throw e;
                }
            }
        }
    }

    /** Returns the next connection that has sent READINESS. */
    public Link takeReady() throws InterruptedException {
        Link link = ready.poll(WAIT_SECONDS, TimeUnit.SECONDS);
        if (link == null) {
            throw new AssertionError("no worker connection became ready within " + WAIT_SECONDS + " s");
        }
        return link;
    }

    public List<Link> links() {
        return links;
    }

    @Override
    public void close() {
        server.close().syncUninterruptibly();
        links.forEach(Link::cut);
        // Loops that end in the middle of a TLS handshake lose what waits for its end.
        links.forEach(link -> link.ctx.channel().closeFuture().awaitUninterruptibly(5, TimeUnit.SECONDS));
        loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).syncUninterruptibly();
    }

    /** One worker connection. */
    public final class Link extends Http2EventAdapter implements FrameReader.Listener {
        final Http2ConnectionHandler http2;
        public final BlockingQueue<ControlMessage> messages = new LinkedBlockingQueue<>();
        public final BlockingQueue<ScriptedStream> streams = new LinkedBlockingQueue<>();
        public final BlockingQueue<String> closed = new LinkedBlockingQueue<>();
        private final Map<Integer, ScriptedStream> byId = new ConcurrentHashMap<>();
        private @Nullable FrameReader reader;
        private @Nullable ControlCodec codec;
        private int controlId;
        public volatile String authorization = "";
        volatile ChannelHandlerContext ctx;
        private final ArrayDeque<CountDownLatch> pings = new ArrayDeque<>();

        Link() {
            http2 = new Http2ConnectionHandlerBuilder()
                    .server(true)
                    .frameListener(this)
                    .initialSettings(Http2Settings.defaultSettings()
                            .initialWindowSize(65_535)
                            .maxConcurrentStreams(maxStreams))
                    .build();
        }

        /** Stops reading from the socket, so that not even PINGs are read. */
        public void freeze() {
            ctx.channel().config().setAutoRead(false);
        }

        public void thaw() {
            ctx.channel().config().setAutoRead(true);
        }

        public void cut() {
            ctx.executor().execute(() -> ctx.close());
        }

        /**
         * Returns when the worker has read everything that was written before, and this side has
         * read everything that the worker wrote before that.
         */
        public void roundTrip() throws InterruptedException {
            CountDownLatch back = new CountDownLatch(1);
            ctx.executor().execute(() -> {
                pings.add(back);
                http2.encoder().writePing(ctx, false, 7, ctx.newPromise());
                http2.flush(ctx);
            });
            if (!back.await(WAIT_SECONDS, TimeUnit.SECONDS)) {
                throw new AssertionError("no answer to PING within " + WAIT_SECONDS + " s");
            }
        }

        @Override
        public void onPingAckRead(ChannelHandlerContext reading, long data) {
            pings.remove().countDown();
        }

        public ScriptedStream takeStream() throws InterruptedException {
            ScriptedStream stream = streams.poll(WAIT_SECONDS, TimeUnit.SECONDS);
            if (stream == null) {
                throw new AssertionError("no worker stream was opened within " + WAIT_SECONDS + " s");
            }
            return stream;
        }

        /** Returns the next message of that type, and drops messages before it. */
        public <T extends ControlMessage> T takeMessage(Class<T> type) throws InterruptedException {
            while (true) {
                ControlMessage message = messages.poll(WAIT_SECONDS, TimeUnit.SECONDS);
                if (message == null) {
                    throw new AssertionError("no " + type.getSimpleName() + " came within " + WAIT_SECONDS + " s");
                }
                if (type.isInstance(message)) {
                    return type.cast(message);
                }
            }
        }

        public void awaitClosed() throws InterruptedException {
            if (closed.poll(WAIT_SECONDS, TimeUnit.SECONDS) == null) {
                throw new AssertionError("connection not closed within " + WAIT_SECONDS + " s");
            }
        }

        public void send(ControlMessage message) {
            ctx.executor().execute(() -> sendNow(message));
        }

        private void sendNow(ControlMessage message) {
            ByteBuf out = ctx.alloc().buffer();
            codec.write(out, message);
            writeNow(controlId, out);
        }

        void write(int streamId, ByteBuf content) {
            ctx.executor().execute(() -> writeNow(streamId, content));
        }

        private void writeNow(int streamId, ByteBuf content) {
            http2.encoder().writeData(ctx, streamId, content, 0, false, ctx.newPromise());
            http2.flush(ctx);
        }

        @Override
        public void onHeadersRead(
                ChannelHandlerContext reading, int streamId, Http2Headers headers, int padding, boolean end) {
            if (Endpoints.CONTROL_PATH.contentEquals(headers.path())) {
                onControl(streamId, headers);
            } else {
                respond(streamId, 200, false);
                ScriptedStream stream = new ScriptedStream(this, streamId);
                byId.put(streamId, stream);
                streams.add(stream);
            }
        }

        @Override
        public void onHeadersRead(
                ChannelHandlerContext reading,
                int streamId,
                Http2Headers headers,
                int dependency,
                short weight,
                boolean exclusive,
                int padding,
                boolean end) {
            onHeadersRead(reading, streamId, headers, padding, end);
        }

        private void onControl(int streamId, Http2Headers headers) {
            controlId = streamId;
            authorization = String.valueOf(headers.get("authorization"));
            codec = new ControlCodec(ControlCodec.Role.DISPATCHER, authorization.substring(Endpoints.BEARER.length()));
            reader = FrameReader.ofControlStream(ctx.alloc(), this);
            growWindow();
            respond(streamId, controlStatus, controlStatus != 200);
        }

        /** As a dispatcher does, so that a response that nobody reads does not block the others. */
        private void growWindow() {
            try {
                http2.connection()
                        .local()
                        .flowController()
                        .incrementWindowSize(http2.connection().connectionStream(), 1 << 20);
            } catch (Http2Exception e) {
                throw new AssertionError(e);
            }
        }

        private void respond(int streamId, int status, boolean end) {
            Http2Headers head = new DefaultHttp2Headers()
                    .status(Integer.toString(status))
                    .set("content-type", Endpoints.MEDIA_TYPE);
            http2.encoder().writeHeaders(ctx, streamId, head, 0, end, ctx.newPromise());
            http2.flush(ctx);
        }

        @Override
        public int onDataRead(ChannelHandlerContext reading, int streamId, ByteBuf data, int padding, boolean end)
                throws Http2Exception {
            int bytes = data.readableBytes() + padding;
            try {
                if (streamId == controlId) {
                    if (controlStatus == 200) {
                        reader.read(data);
                    }
                    return bytes;
                }
                ScriptedStream stream = byId.get(streamId);
                return stream.read(data, end) + padding;
            } catch (WireException e) {
                throw new AssertionError(e);
            }
        }

        @Override
        public void onRstStreamRead(ChannelHandlerContext reading, int streamId, long errorCode) {
            ScriptedStream stream = byId.get(streamId);
            if (stream != null) {
                stream.events.add(new ScriptedStream.StreamReset(errorCode));
            }
        }

        @Override
        public void onGoAwayRead(ChannelHandlerContext reading, int lastStreamId, long errorCode, ByteBuf debugData) {
            messages.add(new ControlMessage.Goodbye("GOAWAY " + errorCode));
        }

        @Override
        public void onData(ByteBuf part, boolean end) {
            part.release();
        }

        @Override
        public void onFrame(FrameType type, ByteBuf payload, boolean end, long offset) throws WireException {
            ControlMessage message = codec.read(type, payload, offset);
            messages.add(message);
            if (message instanceof ControlMessage.Hello && answersHello) {
                sendNow(new Welcome(version, pingIntervalMillis, pingTimeoutMillis));
                if (!peers.isEmpty()) {
                    sendNow(new Peers(peers));
                }
                if (freezesAfterHello) {
                    // Later, because Netty's decoder asks for more at the end of this read.
                    ctx.executor().execute(this::freeze);
                }
                ctx.channel().closeFuture().addListener(f -> onClosed());
            } else if (message instanceof ControlMessage.Readiness) {
                ready.add(this);
            }
        }

        private void onClosed() {
            reader.close();
            byId.values().forEach(ScriptedStream::close);
            closed.add("closed");
        }
    }
}
