package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.worker.internal.transport.Http2Client;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionAdapter;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One HTTP/2 connection to the application, with a stream for each exchange. It can be used from
 * the application's SETTINGS until its GOAWAY or the close. Confined to an event loop.
 */
final class H2cConnection extends Http2Client.Owner {
    private static final int STREAM_WINDOW_BYTES = 512 * 1024;

    /** RFC 8441 section 3. */
    private static final char ENABLE_CONNECT_PROTOCOL = 0x8;

    private static final Logger log = LoggerFactory.getLogger(H2cConnection.class);

    private final H2cUpstream upstream;
    private final Http2Client http2;
    private final Http2Connection.PropertyKey exchangeKey;

    private @Nullable ChannelHandlerContext ctx;
    private boolean ready;
    private boolean ended;
    private boolean used;
    private boolean webSockets;
    private int lastTakenStreamId = Integer.MAX_VALUE;
    private long idleSinceNanos;
    private long idleSinceMillis;
    private @Nullable Future<?> settingsTimer;

    H2cConnection(H2cUpstream upstream) {
        this.upstream = upstream;
        this.http2 = Http2Client.create(this, STREAM_WINDOW_BYTES);
        this.exchangeKey = http2.connection().newKey();
        http2.connection().addListener(new StreamWatch());
        noteIdle();
    }

    CoalescingHttp2Handler http2() {
        return http2;
    }

    ChannelHandlerContext ctx() {
        if (ctx == null) {
            throw new IllegalStateException("used before the channel was active");
        }
        return ctx;
    }

    /** Returns whether the application accepts WebSockets over HTTP/2 (RFC 8441). */
    boolean takesWebSockets() {
        return webSockets;
    }

    boolean isUsed() {
        return used;
    }

    /** Returns the maximum number of concurrent streams, from the application's SETTINGS. */
    int mostStreams() {
        return http2.connection().local().maxActiveStreams();
    }

    /**
     * Returns whether another stream can be opened. The channel is checked too, because a channel
     * that closes ends its streams before {@link #onInactive}, and each end may start the next
     * request.
     */
    boolean hasRoom() {
        return !ended
                && ctx().channel().isActive()
                && http2.connection().local().canOpenStream()
                && !http2.connection().goAwayReceived();
    }

    /**
     * Returns whether nothing is in flight and the connection has been idle for the limit, by
     * either clock.
     */
    boolean isStale(long limitNanos) {
        if (http2.connection().numActiveStreams() > 0) {
            return false;
        }
        long wallMillis = upstream.clocks.wallMillis() - idleSinceMillis;
        return Math.max(upstream.clocks.nanos() - idleSinceNanos, TimeUnit.MILLISECONDS.toNanos(wallMillis))
                >= limitNanos;
    }

    private void noteIdle() {
        idleSinceNanos = upstream.clocks.nanos();
        idleSinceMillis = upstream.clocks.wallMillis();
    }

    /** @return {@code null} if the connection cannot open more streams */
    @Nullable
    Http2Stream open(H2cExchange exchange, Http2Headers head, boolean end) {
        int id = http2.connection().local().incrementAndGetNextStreamId();
        if (id < 0) {
            close();
            return null;
        }
        http2.encoder().writeHeaders(ctx(), id, head, 0, end, ctx().newPromise());
        http2.flushSoon();
        Http2Stream stream = http2.connection().stream(id);
        if (stream != null) {
            stream.setProperty(exchangeKey, exchange);
        }
        return stream;
    }

    void writeTrailers(Http2Stream stream, Http2Headers trailers) {
        http2.encoder().writeHeaders(ctx(), stream.id(), trailers, 0, true, http2.headPromise(stream));
        http2.flushSoon();
    }

    void reset(Http2Stream stream, Http2Error error) {
        if (stream.state() != Http2Stream.State.CLOSED && !stream.isResetSent()) {
            http2.reset(stream, error);
        }
    }

    void close() {
        ended = true;
        if (ctx != null) {
            ctx.close();
        }
    }

    // ---- the connection

    @Override
    protected void onConnected(ChannelHandlerContext connected) {
        ctx = connected;
        settingsTimer = connected
                .executor()
                .schedule(() -> connected.close(), Http1Upstream.CONNECT_TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
    }

    @Override
    public void onSettingsRead(ChannelHandlerContext reading, Http2Settings settings) throws Http2Exception {
        super.onSettingsRead(reading, settings);
        Long enabled = settings.get(ENABLE_CONNECT_PROTOCOL);
        webSockets |= enabled != null && enabled == 1;
        if (!ready) {
            ready = true;
            stopTimer();
            // The rest of the SETTINGS frame is handled after this call. Its limits also apply to
            // the first stream.
            reading.executor().execute(this::onReady);
        }
    }

    private void onReady() {
        if (ended || !ctx().channel().isActive()) {
            upstream.onNotReady(new IOException("the app closed the connection after its settings"));
        } else {
            upstream.onReady(this);
        }
    }

    private void stopTimer() {
        if (settingsTimer != null) {
            settingsTimer.cancel(false);
            settingsTimer = null;
        }
    }

    @Override
    protected void onInactive(@Nullable Throwable failure) {
        boolean wasReady = ready;
        ended = true;
        ready = true;
        stopTimer();
        upstream.onClosed(this);
        if (!wasReady) {
            upstream.onNotReady(new IOException("the app closed the connection, expected HTTP/2 settings", failure));
        }
    }

    @Override
    public void onGoAwayRead(ChannelHandlerContext reading, int lastStreamId, long errorCode, ByteBuf debugData) {
        log.debug("the app says goodbye: error {}, last stream {}", errorCode, lastStreamId);
        lastTakenStreamId = lastStreamId;
        upstream.onClosed(this);
        if (http2.connection().numActiveStreams() == 0) {
            close();
        }
        ended = true;
    }

    // ---- the streams

    private @Nullable H2cExchange exchange(int streamId) {
        Http2Stream stream = http2.connection().stream(streamId);
        return stream == null ? null : stream.getProperty(exchangeKey);
    }

    @Override
    public void onHeadersRead(
            ChannelHandlerContext reading, int streamId, Http2Headers headers, int padding, boolean endOfStream) {
        H2cExchange exchange = exchange(streamId);
        if (exchange != null) {
            used = true;
            guarded(exchange, () -> exchange.onHeaders(headers, endOfStream));
        }
    }

    /**
     * Calls {@code call}. If the response cannot be passed on, only its exchange fails, because the
     * connection carries others.
     */
    private static void guarded(H2cExchange exchange, Runnable call) {
        try {
            call.run();
        } catch (IllegalStateException | IllegalArgumentException e) {
            exchange.onMalformed(String.valueOf(e.getMessage()));
        }
    }

    @Override
    public int onDataRead(ChannelHandlerContext reading, int streamId, ByteBuf data, int padding, boolean endOfStream) {
        int bytes = data.readableBytes();
        H2cExchange exchange = exchange(streamId);
        if (exchange == null) {
            return bytes + padding;
        }
        try {
            return exchange.onData(data, endOfStream) + padding;
        } catch (IllegalStateException | IllegalArgumentException e) {
            exchange.onMalformed(String.valueOf(e.getMessage()));
            return bytes + padding;
        }
    }

    @Override
    public void onRstStreamRead(ChannelHandlerContext reading, int streamId, long errorCode) {
        H2cExchange exchange = exchange(streamId);
        if (exchange != null) {
            exchange.onReset(Http2Error.valueOf(errorCode));
        }
    }

    /** Watches the end of streams, because not every end is announced by a frame. */
    private final class StreamWatch extends Http2ConnectionAdapter {
        @Override
        public void onStreamClosed(Http2Stream stream) {
            H2cExchange exchange = stream.getProperty(exchangeKey);
            if (exchange != null) {
                exchange.onStreamClosed(stream.id() > lastTakenStreamId);
            }
            if (http2.connection().numActiveStreams() == 0) {
                noteIdle();
                if (http2.connection().goAwayReceived()) {
                    ctx().executor().execute(H2cConnection.this::close);
                }
            }
        }
    }
}
