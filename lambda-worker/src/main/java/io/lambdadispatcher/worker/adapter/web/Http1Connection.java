package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http2.CoalescedFlush;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.util.ReferenceCountUtil;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An HTTP/1.1 connection to the application, which carries one exchange after another. Bytes that
 * belong to no request close the connection. Confined to an event loop.
 */
final class Http1Connection extends ChannelDuplexHandler {
    private static final Logger log = LoggerFactory.getLogger(Http1Connection.class);

    private final Http1Upstream upstream;
    private final AppSocket socket;
    private final Http1ResponseDecoder decoder = new Http1ResponseDecoder();

    private @Nullable ChannelHandlerContext ctx;
    private @Nullable CoalescedFlush flush;
    private @Nullable Http1Exchange exchange;
    private boolean used;
    private boolean finished;
    private boolean closing;
    private long idleSinceNanos;
    private long idleSinceMillis;
    private long appLimitNanos = Long.MAX_VALUE;
    private long idleBeforeNanos;

    Http1Connection(Http1Upstream upstream, AppSocket socket) {
        this.upstream = upstream;
        this.socket = socket;
    }

    Http1ResponseDecoder decoder() {
        return decoder;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext added) {
        ctx = added;
        flush = new CoalescedFlush(this, added);
    }

    private ChannelHandlerContext ctx() {
        if (ctx == null) {
            throw new IllegalStateException("used before the channel was registered");
        }
        return ctx;
    }

    // ---- for the pool

    boolean isOpen() {
        return ctx().channel().isActive() && !closing;
    }

    /**
     * Returns the idle time, by the clock that says more. It is {@link Long#MAX_VALUE} from {@link
     * #announcedNanos} on.
     */
    long idleNanos() {
        long nanos = upstream.clocks.nanos() - idleSinceNanos;
        long wallNanos = TimeUnit.MILLISECONDS.toNanos(upstream.clocks.wallMillis() - idleSinceMillis);
        long age = Math.max(nanos, wallNanos);
        return age < appLimitNanos ? age : Long.MAX_VALUE;
    }

    /**
     * Returns three quarters of the keep-alive time that the application has announced, or zero if
     * it has announced none.
     */
    long announcedNanos() {
        return appLimitNanos == Long.MAX_VALUE ? 0 : appLimitNanos;
    }

    /**
     * Returns whether the application has not closed the connection, as far as the kernel knows.
     */
    boolean isQuiet() {
        return socket.isQuiet();
    }

    // ---- for the exchange

    /** Returns whether the connection has been idle, so the application may have closed it. */
    boolean isUsed() {
        return used;
    }

    void begin(Http1Exchange next, boolean toHead) {
        exchange = next;
        idleBeforeNanos = used ? idleNanos() : 0;
        decoder.expect(toHead);
    }

    ByteBuf newBuffer(int bytes) {
        return ctx().alloc().buffer(bytes);
    }

    /** @return false if the caller must wait for {@link Http1Exchange#onAppWritable} */
    boolean write(ByteBuf data) {
        ctx().write(data);
        if (flush != null) {
            flush.request();
        }
        return ctx().channel().isWritable();
    }

    boolean isWritable() {
        return ctx().channel().isWritable();
    }

    /** Closes the output after everything that was written has been sent. */
    void shutdownOutput() {
        ctx().writeAndFlush(newBuffer(0)).addListener(written -> {
            if (ctx().channel() instanceof DuplexChannel duplex && duplex.isActive()) {
                duplex.shutdownOutput();
            }
        });
    }

    void setReading(boolean reading) {
        ctx().channel().config().setAutoRead(reading);
    }

    /** Passes bytes unparsed in both directions from now on. */
    void becomeTunnel() {
        ctx().pipeline().remove(decoder);
    }

    /**
     * Ends the exchange and, if possible, keeps the connection.
     *
     * @param keepAliveSeconds how long the application keeps the connection, or -1 if it has not
     *     said
     */
    void finish(boolean reusable, long keepAliveSeconds) {
        exchange = null;
        used = true;
        upstream.onServed(idleBeforeNanos);
        if (!reusable || hasUnsentBytes() || decoder.isAmbiguous() || !isOpen()) {
            close();
            return;
        }
        if (keepAliveSeconds >= 0) {
            appLimitNanos = TimeUnit.SECONDS.toNanos(keepAliveSeconds) * 3 / 4;
        }
        setReading(true);
        finished = true;
    }

    /**
     * Returns whether a part of the request still waits for the socket. An application that has
     * answered need not read on, and the next request would wait behind that part.
     */
    private boolean hasUnsentBytes() {
        ChannelOutboundBuffer waiting = ctx().channel().unsafe().outboundBuffer();
        return waiting != null && waiting.totalPendingWriteBytes() > 0;
    }

    /**
     * Returns a connection on which nothing was sent since it was acquired. Its idle time
     * continues, because the application's own idle timer does.
     */
    void giveBack() {
        if (!used) {
            used = true;
            noteIdle();
        }
        offer();
    }

    void close() {
        exchange = null;
        if (!closing) {
            closing = true;
            ctx().close();
        }
    }

    private void noteIdle() {
        idleSinceNanos = upstream.clocks.nanos();
        idleSinceMillis = upstream.clocks.wallMillis();
    }

    private void offer() {
        if (isOpen()) {
            upstream.onIdle(this);
        }
    }

    // ---- from the channel

    @Override
    public void channelRead(ChannelHandlerContext reading, Object message) {
        Http1Exchange current = exchange;
        if (current == null) {
            ReferenceCountUtil.release(message);
        } else if (message instanceof ByteBuf data) {
            current.onBytes(data);
        } else if (message instanceof HttpObject part) {
            read(current, part);
        }
    }

    private static void read(Http1Exchange current, HttpObject part) {
        if (part instanceof HttpResponse head) {
            current.onHead(head);
        } else if (part instanceof HttpContent content) {
            current.onContent(content);
        }
    }

    /**
     * Offers the connection for reuse only here, because only now is it known that no bytes follow
     * the response.
     */
    @Override
    public void channelReadComplete(ChannelHandlerContext reading) {
        if (exchange != null) {
            exchange.onReadComplete();
        }
        if (decoder.hasSurplus() && !closing) {
            log.warn("the app sent bytes that belong to no request. Its connection is closed.");
            close();
        }
        if (finished) {
            finished = false;
            noteIdle();
            offer();
        }
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext changed) {
        if (exchange != null && changed.channel().isWritable()) {
            exchange.onAppWritable();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext failed, Throwable cause) {
        log.debug("connection to the app failed", cause);
        end(cause);
        close();
    }

    @Override
    public void channelInactive(ChannelHandlerContext inactive) {
        upstream.onClosed(this);
        closing = true;
        end(null);
    }

    private void end(@Nullable Throwable cause) {
        Http1Exchange cut = exchange;
        exchange = null;
        if (cut != null) {
            cut.onClosed(cause, decoder.hasReadBytes());
        }
    }
}
