package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.wire.http.FlatHeadersDecoder;
import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.http2.EagerFrameReader;
import io.lambdadispatcher.wire.http2.FairFlowController;
import io.lambdadispatcher.wire.http2.GatheringFrameWriter;
import io.lambdadispatcher.wire.http2.LivenessProbe;
import io.lambdadispatcher.wire.worker.WireLimits;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionDecoder;
import io.netty.handler.codec.http2.DefaultHttp2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.ssl.SslContext;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sets up each connection that a worker opens. Shared by all event loops; immutable but for the clock of {@link #logRejection}.
 */
public final class WorkerPort extends ChannelInitializer<Channel> {
    /** The most of one response body that waits in the dispatcher. */
    static final int STREAM_WINDOW_BYTES = 256 * 1024;

    /** DATA is passed on as it arrives, so a large frame costs no memory and saves the worker headers. */
    private static final int MAX_FRAME_BYTES = 256 * 1024;

    private static final long MAX_CONTROL_HEAD_BYTES = 8 * 1024;
    private static final long LOG_EVERY_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final Logger log = LoggerFactory.getLogger(WorkerPort.class);

    private final Map<String, FunctionPool> pools;
    private final Map<EventLoop, Integer> loopIndexes;
    private final byte[] secret;
    private final WorkerEvents events;
    private final DispatcherObserver observer;
    private final @Nullable SslContext tls;
    private final Duration pingInterval;
    private final Duration pingTimeout;
    private final Duration handshakeTimeout;
    private final AtomicLong lastLogNanos = new AtomicLong(System.nanoTime() - LOG_EVERY_NANOS);

    /** @param tls {@code null} = h2c with prior knowledge */
    public WorkerPort(
            Map<String, FunctionPool> pools,
            Map<EventLoop, Integer> loopIndexes,
            byte[] secret,
            WorkerEvents events,
            DispatcherObserver observer,
            @Nullable SslContext tls,
            Duration pingInterval,
            Duration pingTimeout,
            Duration handshakeTimeout) {
        this.pools = pools;
        this.loopIndexes = loopIndexes;
        this.secret = secret;
        this.events = events;
        this.observer = observer;
        this.tls = tls;
        this.pingInterval = pingInterval;
        this.pingTimeout = pingTimeout;
        this.handshakeTimeout = handshakeTimeout;
    }

    @Override
    protected void initChannel(Channel channel) {
        if (tls != null) {
            channel.pipeline().addLast(tls.newHandler(channel.alloc()));
        }
        Http2Connection connection = new DefaultHttp2Connection(true);
        connection.remote().flowController(new FairFlowController(connection));
        GatheringFrameWriter frames = new GatheringFrameWriter();
        Http2ConnectionEncoder encoder = new DefaultHttp2ConnectionEncoder(connection, frames);
        Http2ConnectionDecoder decoder = new DefaultHttp2ConnectionDecoder(
                connection, encoder, new EagerFrameReader(new FlatHeadersDecoder(MAX_CONTROL_HEAD_BYTES, 0)));
        ConnectionHandler handler = new ConnectionHandler(decoder, encoder, frames);
        channel.pipeline().addLast(handler.liveness, handler);
    }

    /** Netty's part of a worker connection; hands all events to {@link WorkerConnection}. */
    private final class ConnectionHandler extends CoalescingHttp2Handler implements LivenessProbe.Listener {
        private final LivenessProbe liveness = new LivenessProbe(this);
        private @Nullable WorkerConnection connection;

        ConnectionHandler(Http2ConnectionDecoder decoder, Http2ConnectionEncoder encoder, GatheringFrameWriter frames) {
            super(
                    decoder,
                    encoder,
                    frames,
                    Http2Settings.defaultSettings()
                            .initialWindowSize(STREAM_WINDOW_BYTES)
                            .maxFrameSize(MAX_FRAME_BYTES)
                            .maxConcurrentStreams(WireLimits.MAX_STREAMS_PER_CONNECTION + 1L)
                            .maxHeaderListSize(MAX_CONTROL_HEAD_BYTES));
        }

        @Override
        public void handlerAdded(ChannelHandlerContext ctx) throws Exception {
            connection = new WorkerConnection(WorkerPort.this, this, ctx, liveness);
            decoder().frameListener(connection);
            super.handlerAdded(ctx);
        }

        /** To whoever is not let in we answer nothing that can be asked for without end. */
        @Override
        protected void onStreamError(
                ChannelHandlerContext ctx, boolean outbound, Throwable cause, Http2Exception.StreamException error) {
            if (outbound || connection != null && connection.isAdmitted()) {
                super.onStreamError(ctx, outbound, cause, error);
            } else {
                onConnectionError(
                        ctx,
                        false,
                        cause,
                        Http2Exception.connectionError(error.error(), "not admitted: %s", error.getMessage()));
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext ctx) throws Exception {
            if (connection != null) {
                connection.onInactive();
            }
            super.channelInactive(ctx);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) throws Exception {
            if (cause instanceof java.io.IOException || cause instanceof io.netty.handler.codec.DecoderException) {
                log.debug("worker connection {}: {}", ctx.channel().remoteAddress(), cause.toString());
                ctx.close();
            } else {
                super.exceptionCaught(ctx, cause);
            }
        }

        @Override
        public void onProbe() {
            if (connection != null) {
                connection.onProbe();
            }
        }

        @Override
        public void onSilent(long silentMillis) {
            if (connection != null) {
                connection.onSilent(silentMillis);
            }
        }
    }

    @Nullable
    FunctionPool pool(String function) {
        return pools.get(function);
    }

    int loopIndex(EventLoop loop) {
        Integer index = loopIndexes.get(loop);
        if (index == null) {
            throw new IllegalStateException("connection on a foreign event loop " + loop);
        }
        return index;
    }

    byte[] secret() {
        return secret;
    }

    WorkerEvents events() {
        return events;
    }

    DispatcherObserver observer() {
        return observer;
    }

    long pingIntervalMillis() {
        return pingInterval.toMillis();
    }

    long pingTimeoutMillis() {
        return pingTimeout.toMillis();
    }

    long handshakeTimeoutMillis() {
        return handshakeTimeout.toMillis();
    }

    /** Every rejection is counted by the observer; the log gets one now and then, for whoever knocks can knock fast. */
    void logRejection(SocketAddress remote, String reason) {
        long now = System.nanoTime();
        long last = lastLogNanos.get();
        if (now - last >= LOG_EVERY_NANOS && lastLogNanos.compareAndSet(last, now)) {
            log.warn("turned away a dial-in from {}: {}", remote, reason);
        }
    }
}
