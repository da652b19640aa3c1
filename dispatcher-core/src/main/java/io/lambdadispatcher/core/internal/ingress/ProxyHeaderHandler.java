package io.lambdadispatcher.core.internal.ingress;

import io.lambdadispatcher.core.internal.loop.SeldomLog;
import io.lambdadispatcher.core.observe.DispatcherObserver;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.wire.http.PrintableText;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.haproxy.HAProxyCommand;
import io.netty.handler.codec.haproxy.HAProxyMessage;
import io.netty.handler.codec.haproxy.HAProxyMessageDecoder;
import io.netty.handler.codec.haproxy.HAProxyProtocolException;
import io.netty.util.NetUtil;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Ticker;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits for the PROXY header that a load balancer sends before the bytes of the client, and then
 * removes itself from the pipeline. The header has version 1 or 2 of the <a
 * href="https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt">PROXY protocol</a>. Event loop
 * only. Releases the header.
 *
 * <p><b>Errors.</b> A connection without a valid header, or whose header takes too long, is closed,
 * counted and logged. A peer that disconnects without a byte is not an error, because health checks
 * do it.
 */
final class ProxyHeaderHandler extends ChannelInboundHandlerAdapter {
    /**
     * Maximum size of the additions to a header. Load balancers send a few hundred bytes, and those
     * that terminate TLS can add the subject of a client's certificate.
     */
    private static final int MAX_ADDITIONS_BYTES = 4096;

    private static final Logger log = LoggerFactory.getLogger(ProxyHeaderHandler.class);
    private static final SeldomLog failures = new SeldomLog(log, Ticker.systemTicker());

    /** Continues with the bytes of the client. */
    interface Next {
        /**
         * @param client the client's address; {@code null} if the connection is closed
         * @param leftNanos what is left of the time for the connection's start
         */
        void begin(@Nullable SocketAddress client, long leftNanos);
    }

    private final long timeoutNanos;
    private final DispatcherObserver observer;
    private final Next next;
    private long begunNanos;
    private @Nullable Future<?> timer;
    private boolean failed;

    private ProxyHeaderHandler(long timeoutNanos, DispatcherObserver observer, Next next) {
        this.timeoutNanos = timeoutNanos;
        this.observer = observer;
        this.next = next;
    }

    /** Adds the decoder of the header and this handler to the pipeline. */
    static void install(ChannelPipeline pipeline, long timeoutNanos, DispatcherObserver observer, Next next) {
        pipeline.addLast(
                new HAProxyMessageDecoder(MAX_ADDITIONS_BYTES), new ProxyHeaderHandler(timeoutNanos, observer, next));
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        begunNanos = ctx.executor().ticker().nanoTime();
        timer = ctx.executor().schedule(() -> onTimeout(ctx), timeoutNanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        Objects.requireNonNull(timer, "handler is in no pipeline").cancel(false);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        SocketAddress client;
        try {
            client = clientOf((HAProxyMessage) message, ctx.channel().remoteAddress());
        } finally {
            ReferenceCountUtil.release(message);
        }
        ctx.pipeline().remove(this);
        next.begin(client, timeoutNanos - (ctx.executor().ticker().nanoTime() - begunNanos));
    }

    /**
     * Returns the client's address. It is the peer's if the load balancer itself has opened the
     * connection (LOCAL), or if the header does not name an IP address.
     */
    private static @Nullable SocketAddress clientOf(HAProxyMessage header, @Nullable SocketAddress peer) {
        if (header.command() == HAProxyCommand.LOCAL) {
            return peer;
        }
        return switch (header.proxiedProtocol().addressFamily()) {
            case AF_IPv4, AF_IPv6 -> {
                InetAddress address = NetUtil.createInetAddressFromIpAddressString(header.sourceAddress());
                if (address == null) {
                    throw new HAProxyProtocolException(
                            "source address: expected an IP address, got \"" + header.sourceAddress() + '"');
                }
                yield new InetSocketAddress(address, header.sourcePort());
            }
            default -> peer;
        };
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        if (cause instanceof DecoderException) {
            Throwable root = cause.getCause() == null ? cause : cause.getCause();
            fail(ctx, "no valid PROXY header: " + PrintableText.startOf(String.valueOf(root.getMessage())));
        } else {
            log.debug("connection from {}: {}", ctx.channel().remoteAddress(), PrintableText.startOf(cause));
            ctx.close();
        }
    }

    private void onTimeout(ChannelHandlerContext ctx) {
        fail(ctx, "no complete PROXY header within " + TimeUnit.NANOSECONDS.toMillis(timeoutNanos) + " ms");
    }

    private void fail(ChannelHandlerContext ctx, String reason) {
        if (failed) {
            return; // the decoder fails again for the rest of the bytes
        }
        failed = true;
        observer.onProtection(Protection.PROXY_HEADER);
        failures.warn(
                "connection from {} closed: {}. Turn on the PROXY protocol in the load balancer, or turn it off for"
                        + " this port.",
                ctx.channel().remoteAddress(),
                reason);
        ctx.close();
    }
}
