package io.lambdadispatcher.core.internal.ingress.http1;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.ingress.edge.AbruptClose;
import io.lambdadispatcher.core.internal.ingress.edge.ClientAccount;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.internal.ingress.edge.LoopWatch;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.wire.http.WebSocketKey;
import io.lambdadispatcher.wire.http2.CoalescedFlush;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOption;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.ssl.SslCloseCompletionEvent;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An HTTP/1.1 connection whose client has asked for a WebSocket. If the worker's response opens the
 * tunnel, this class removes HTTP from the pipeline and passes bytes in both directions. Otherwise,
 * it is an ordinary response, which {@link Http1ClientExchange} handles. Event loop only. Buffers
 * are passed on by reference.
 *
 * <p>Each side ends its direction separately: the client with FIN or close_notify, the worker with
 * END, which the client receives as FIN or close_notify.
 *
 * <p>An open tunnel may be silent forever. The idle timeout applies only while a peer could
 * disconnect unnoticed: one direction has ended, or the client is not read, because the handler
 * does not read.
 */
final class Http1Tunnel extends ChannelDuplexHandler implements ResponseSink, LoopWatch.Watched, ClientAccount.Holder {

    private static final Logger log = LoggerFactory.getLogger(Http1Tunnel.class);

    private enum State {
        /** No final response headers have arrived. */
        ASKED,
        /** An ordinary response is sent. */
        REFUSED,
        OPEN,
        /** The client has ended its direction. */
        CLIENT_ENDED,
        /** The worker has ended its direction. The client may not have read all of it. */
        WORKER_ENDED,
        CLOSED
    }

    private final Http1ClientExchange exchange;
    private final Http1ClientConnection connection;
    private final IngressContext context;
    private final WebSocketKey key;
    private final int windowBytes;

    private State state = State.ASKED;
    private @Nullable RequestSink request;
    private @Nullable ChannelHandlerContext ctx;
    private @Nullable CoalescedFlush flush;
    private @Nullable LoopWatch watch;

    private int requestUntaken;
    private long received;
    private long written;
    private long taken;

    private long movedAtWatch;
    private long takenAtWatch;
    private long stillSinceNanos;
    private long stuckSinceNanos;

    Http1Tunnel(Http1ClientExchange exchange, Http1ClientConnection connection, WebSocketKey key) {
        this.exchange = exchange;
        this.connection = connection;
        this.context = connection.context();
        this.key = key;
        this.windowBytes = context.limits().streamWindowBytes();
    }

    // Calls from the worker's side, before the final response headers and for a refusal.

    @Override
    public Requester requester() {
        return exchange;
    }

    @Override
    public void onInterim(Http2Headers head) {
        exchange.onInterim(head);
    }

    @Override
    public void onHead(Http2Headers head, boolean end) {
        if (!TunnelHead.opens(head)) {
            state = State.REFUSED;
            head.remove(TunnelHead.NOT_SWITCHED);
            exchange.onHead(head, end);
            return;
        }
        RequestSink sink = exchange.openTunnel();
        if (sink == null) {
            return; // the client has disconnected
        }
        request = sink;
        state = State.OPEN;
        connection.become(this, exchange.switching(head, key));
        if (end) {
            onWorkerEnded();
        }
    }

    @Override
    public void handlerAdded(ChannelHandlerContext added) {
        ctx = added;
        flush = new CoalescedFlush(this, added);
        flush.request();
        Channel channel = added.channel();
        // A tunnel may be silent for days, so TCP keep-alive must detect a lost client.
        channel.config().setOption(ChannelOption.SO_KEEPALIVE, true);
        if (channel.pipeline().get(SslHandler.class) == null) {
            // With TLS, close_notify ends a direction. A FIN without it ends both.
            channel.config().setOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
        }
        channel.config().setAutoRead(true);
        stillSinceNanos = stuckSinceNanos = now();
        watch = LoopWatch.of(added.executor());
        watch.add(this);
        context.drain().leave(channel);
        context.account().heldBy(this);
    }

    // Calls from the client's side.

    @Override
    public void channelRead(ChannelHandlerContext reading, Object message) {
        RequestSink to = request;
        if (to == null || state != State.OPEN && state != State.WORKER_ENDED || !(message instanceof ByteBuf content)) {
            ReferenceCountUtil.release(message);
            return;
        }
        received += content.readableBytes();
        requestUntaken += content.readableBytes();
        if (requestUntaken > context.account().windowBytes(windowBytes)) {
            ctx().channel().config().setAutoRead(false);
        }
        to.data(content, false);
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext on, Object event) throws Exception {
        if (event instanceof ChannelInputShutdownEvent
                || event instanceof SslCloseCompletionEvent closed && closed.isSuccess()) {
            onClientEnded();
        }
        super.userEventTriggered(on, event);
    }

    private void onClientEnded() {
        RequestSink to = request;
        if (to == null || state != State.OPEN && state != State.WORKER_ENDED) {
            return;
        }
        boolean over = state == State.WORKER_ENDED;
        state = over ? State.CLOSED : State.CLIENT_ENDED;
        to.data(Unpooled.EMPTY_BUFFER, true);
        if (over) {
            ctx().writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(done -> ctx().close());
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext inactive) {
        release();
    }

    @Override
    public void release() {
        if (watch != null) {
            watch.remove(this);
        }
        if (state != State.CLOSED) {
            state = State.CLOSED;
            if (request != null) {
                request.cancel(ErrorCode.CANCELLED);
            }
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext on, Throwable cause) {
        log.debug("client {}: tunnel: {}", context.client(), PrintableText.startOf(cause));
        on.close();
    }

    // Calls from the worker's side.

    @Override
    public void onData(ByteBuf data, boolean end) {
        if (state == State.REFUSED) {
            exchange.onData(data, end);
            return;
        }
        int bytes = data.readableBytes();
        if (state != State.OPEN && state != State.CLIENT_ENDED) {
            data.release();
            onWritten(bytes);
            return;
        }
        if (bytes == 0) {
            data.release();
        } else {
            written += bytes;
            context.account().onHeld(bytes);
            ctx().write(data, ctx().newPromise().addListener(done -> onWritten(bytes)));
            flushSoon();
        }
        if (end) {
            onWorkerEnded();
        }
    }

    /** Ends the direction. The trailers are dropped, because a tunnel has no place for them. */
    @Override
    public void onTrailers(Http2Headers trailers) {
        if (state == State.REFUSED) {
            exchange.onTrailers(trailers);
        } else if (state == State.OPEN || state == State.CLIENT_ENDED) {
            onWorkerEnded();
        }
    }

    private void onWorkerEnded() {
        boolean over = state == State.CLIENT_ENDED;
        state = over ? State.CLOSED : State.WORKER_ENDED;
        ctx().writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(written -> {
            if (over || !written.isSuccess()) {
                ctx().close();
            } else if (ctx().channel().isActive()) {
                endOutput(ctx().channel());
            }
        });
    }

    private static void endOutput(Channel channel) {
        SslHandler tls = channel.pipeline().get(SslHandler.class);
        if (tls != null) {
            tls.closeOutbound();
        } else if (channel instanceof DuplexChannel duplex) {
            duplex.shutdownOutput();
        } else {
            channel.close();
        }
    }

    /** The socket has accepted the bytes, or never will. */
    private void onWritten(int bytes) {
        taken += bytes;
        if (request != null && bytes > 0) {
            request.responseTaken(bytes);
        }
    }

    @Override
    public void onFailure(Failure failure) {
        switch (state) {
            case ASKED, REFUSED -> exchange.onFailure(failure);
            case OPEN, CLIENT_ENDED, WORKER_ENDED -> {
                state = State.CLOSED;
                exchange.countCut(failure);
                AbruptClose.of(ctx().channel());
            }
            case CLOSED -> {}
        }
    }

    @Override
    public void onRequestTaken(int bytes) {
        requestUntaken -= bytes;
        if (requestUntaken <= context.account().windowBytes(windowBytes) / 2 && ctx != null) {
            ctx.channel().config().setAutoRead(true);
        }
    }

    @Override
    public long heldBytes() {
        return ClientAccount.EXCHANGE_BYTES + requestUntaken + (request == null ? 0 : request.heldBytes());
    }

    private void flushSoon() {
        if (flush != null) {
            flush.request();
        }
    }

    @Override
    public void look(long now) {
        if (written == taken || taken != takenAtWatch) {
            takenAtWatch = taken;
            stuckSinceNanos = now;
        }
        // Without reading, the dispatcher would not notice that the client has disconnected.
        boolean blind = !ctx().channel().config().isAutoRead();
        boolean ending = state == State.CLIENT_ENDED || state == State.WORKER_ENDED;
        if (!blind && !ending || received + taken != movedAtWatch) {
            movedAtWatch = received + taken;
            stillSinceNanos = now;
        }
        if (now - stuckSinceNanos > context.limits().writeTimeout().toNanos()
                || now - stillSinceNanos > context.limits().idleTimeout().toNanos()) {
            AbruptClose.of(ctx().channel());
        }
    }

    private long now() {
        return ctx().executor().ticker().nanoTime();
    }

    private ChannelHandlerContext ctx() {
        return Objects.requireNonNull(ctx, "tunnel is in no pipeline");
    }
}
