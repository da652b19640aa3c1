package io.lambdadispatcher.core.internal.worker;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.internal.pool.FunctionPool;
import io.lambdadispatcher.core.internal.pool.PoolShard;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.wire.http.FlatHeadersDecoder;
import io.lambdadispatcher.wire.http2.Http2Assembly;
import io.lambdadispatcher.wire.worker.WireLimits;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.ssl.SslContext;
import io.netty.util.concurrent.Ticker;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sets up each connection that a worker opens, and holds what these connections share. Used by all
 * event loops; immutable except for the clocks of its logs.
 */
public final class WorkerPort extends ChannelInitializer<Channel> {
    /** The most of one response body that waits in the dispatcher. */
    static final int STREAM_WINDOW_BYTES = 256 * 1024;

    /**
     * DATA is passed on as it arrives, so a large frame costs no memory and saves the worker
     * headers.
     */
    private static final int MAX_FRAME_BYTES = 256 * 1024;

    private static final long MAX_CONTROL_HEAD_BYTES = 8 * 1024;
    private static final Logger log = LoggerFactory.getLogger(WorkerPort.class);

    /**
     * How workers prove who they are, and how long they may take for it or be silent.
     *
     * @param keyOf returns the key that signs the launch tokens of the function with this name
     * @param tls {@code null} = h2c with prior knowledge
     * @param handshakeTimeout from the connection's start to HELLO
     */
    public record Access(
            Function<String, byte[]> keyOf,
            @Nullable SslContext tls,
            Duration pingInterval,
            Duration pingTimeout,
            Duration handshakeTimeout) {}

    final Access access;
    final WorkerEvents events;
    final DispatcherObserver observer;
    private final Map<String, FunctionPool> pools;
    private final Map<EventLoop, Integer> loopIndexes;
    private final SeldomLog rejections = new SeldomLog(log, Ticker.systemTicker());

    /** What admitted workers do wrong. */
    final SeldomLog violations = new SeldomLog(log, Ticker.systemTicker());

    /**
     * @param pools by function name
     * @param loopIndexes the place of each event loop's shard in a pool
     */
    public WorkerPort(
            Access access,
            Map<String, FunctionPool> pools,
            Map<EventLoop, Integer> loopIndexes,
            WorkerEvents events,
            DispatcherObserver observer) {
        this.access = access;
        this.pools = pools;
        this.loopIndexes = loopIndexes;
        this.events = events;
        this.observer = observer;
    }

    @Override
    protected void initChannel(Channel channel) {
        SslContext tls = access.tls();
        if (tls != null) {
            channel.pipeline().addLast(tls.newHandler(channel.alloc()));
        }
        WorkerPortHandler handler = Http2Assembly.server(
                new FlatHeadersDecoder(MAX_CONTROL_HEAD_BYTES, 0),
                Http2Settings.defaultSettings()
                        .initialWindowSize(STREAM_WINDOW_BYTES)
                        .maxFrameSize(MAX_FRAME_BYTES)
                        .maxConcurrentStreams(WireLimits.MAX_STREAMS_PER_CONNECTION + 1L)
                        .maxHeaderListSize(MAX_CONTROL_HEAD_BYTES),
                parts -> new WorkerPortHandler(parts, this));
        channel.pipeline().addLast(handler);
    }

    /** @return {@code null} if there is no such function */
    @Nullable
    PoolShard shard(String function, EventLoop loop) {
        Integer index = loopIndexes.get(loop);
        if (index == null) {
            throw new IllegalStateException("connection on a foreign event loop " + loop);
        }
        FunctionPool pool = pools.get(function);
        return pool == null ? null : pool.shard(index);
    }

    /**
     * Tells the observer of every rejection, and the log of one now and then, because whoever
     * knocks can knock fast.
     */
    void onRejected(SocketAddress remote, String reason) {
        observer.onWorkerRejected(remote, reason);
        rejections.warn("rejected a worker that dialled in from {}: {}", remote, reason);
    }
}
