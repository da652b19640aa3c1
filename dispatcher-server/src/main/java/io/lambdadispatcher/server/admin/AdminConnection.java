package io.lambdadispatcher.server.admin;

import static io.netty.handler.codec.http.HttpResponseStatus.BAD_REQUEST;
import static io.netty.handler.codec.http.HttpResponseStatus.METHOD_NOT_ALLOWED;
import static io.netty.handler.codec.http.HttpResponseStatus.OK;
import static io.netty.handler.codec.http.HttpResponseStatus.REQUEST_ENTITY_TOO_LARGE;
import static io.netty.handler.codec.http.HttpResponseStatus.SERVICE_UNAVAILABLE;
import static io.netty.handler.codec.http.HttpResponseStatus.UNAUTHORIZED;

import io.lambdadispatcher.core.observe.Protection;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.net.SocketAddress;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Objects;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One client connection of the admin port. It answers one request at a time, and reads nothing
 * until the response is written. Confined to the port's event loop.
 */
final class AdminConnection extends ChannelInboundHandlerAdapter {
    /**
     * Within this time a request must arrive. It starts when the connection opens, or with the
     * first byte of a later request.
     */
    static final int REQUEST_SECONDS = 5;
    /** Within this time a response must be written. */
    static final int ANSWER_SECONDS = 10;

    private static final int EVENT_MILLIS = 1000;
    static final int IDLE_SECONDS = 30;
    /** No page needs a body. */
    static final int MAX_BODY_BYTES = 1024;

    private static final Logger log = LoggerFactory.getLogger(AdminConnection.class);

    private final AdminConnections all;
    private final AdminPages pages;
    private final Consumer<Protection> protections;
    /**
     * Messages that were read together with the request that is being answered. Netty's codec
     * permits 128 requests.
     */
    private final Deque<HttpObject> pipelined = new ArrayDeque<>();

    private @Nullable ChannelHandlerContext context;
    private @Nullable HttpRequest request;
    private @Nullable Future<?> timeout;
    private AdminConnections.Unwritten unwritten;
    private long bodyBytes;
    private boolean receiving;
    private Standing standing = Standing.IDLE;

    /** What happens to a connection if there are too many: those with a lower one close first. */
    enum Standing {
        /** The answer to a wrong token waits. */
        DELAYED,
        /** No request is being answered. */
        IDLE,
        /** A request without a token is being answered. */
        ANSWERING,
        /** A request with a token is being answered. */
        ANSWERING_KNOWN
    }

    AdminConnection(AdminConnections all, AdminPages pages, Consumer<Protection> protections) {
        this.all = all;
        this.pages = pages;
        this.protections = protections;
        this.unwritten = all.events;
    }

    /** Returns a handler that notices the first byte of a request. Place it before the decoder. */
    ChannelHandler firstByteWatch() {
        return new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object bytes) {
                if (!receiving) {
                    receiving = true;
                    closeAfter(REQUEST_SECONDS);
                }
                ctx.fireChannelRead(bytes);
            }
        };
    }

    Standing standing() {
        return standing;
    }

    private boolean isAnswering() {
        return standing != Standing.IDLE;
    }

    /** Returns the host or network of the client. */
    Object network() {
        return Guesses.network(context().channel().remoteAddress());
    }

    void close() {
        context().close();
    }

    private ChannelHandlerContext context() {
        return Objects.requireNonNull(context);
    }

    private void closeAfter(int seconds) {
        cancelTimeout();
        timeout = context().executor().schedule(this::close, seconds, TimeUnit.SECONDS);
    }

    private void cancelTimeout() {
        if (timeout != null) {
            timeout.cancel(false);
            timeout = null;
        }
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        context = ctx;
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        all.opened(this);
        receiving = true;
        closeAfter(REQUEST_SECONDS);
        ctx.read();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        all.closed(this);
        cancelTimeout();
    }

    /** The decoder may pass messages on until now. */
    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        standing = Standing.ANSWERING;
        pipelined.forEach(ReferenceCountUtil::release);
        pipelined.clear();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        pipelined.add((HttpObject) message);
        takeAll();
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        if (!isAnswering()) {
            ctx.read();
        }
    }

    private void takeAll() {
        while (!isAnswering() && !pipelined.isEmpty()) {
            HttpObject next = pipelined.remove();
            try {
                take(next);
            } finally {
                ReferenceCountUtil.release(next);
            }
        }
    }

    private void take(HttpObject message) {
        if (message.decoderResult().isFailure()) {
            refuse(AdminAnswers.text(BAD_REQUEST, "expected an HTTP/1.1 request with at most 8 KiB of headers\n"));
            return;
        }
        if (message instanceof HttpRequest head) {
            request = head;
            bodyBytes = 0;
        }
        if (message instanceof HttpContent content) {
            bodyBytes += content.content().readableBytes();
            if (bodyBytes > MAX_BODY_BYTES) {
                refuse(AdminAnswers.text(
                        REQUEST_ENTITY_TOO_LARGE, "expected at most " + MAX_BODY_BYTES + " bytes of body\n"));
            } else if (message instanceof LastHttpContent) {
                answer(Objects.requireNonNull(request));
            }
        }
    }

    /**
     * Closes the connection after the response, because the start of the next request is unknown.
     */
    private void refuse(FullHttpResponse answer) {
        beginAnswer(Standing.ANSWERING);
        write(answer, false);
    }

    private void beginAnswer(Standing begun) {
        standing = begun;
        all.changed(this);
        cancelTimeout();
    }

    private void answer(HttpRequest request) {
        AdminAccess.Caller caller = all.access().caller(request);
        beginAnswer(caller.isKnown() ? Standing.ANSWERING_KNOWN : Standing.ANSWERING);
        boolean keepAlive = request.protocolVersion().isKeepAliveDefault() && HttpUtil.isKeepAlive(request);
        SocketAddress remote = context().channel().remoteAddress();
        AdminPages.Page page = pages.find(request.uri());
        boolean change = page.changes(request);
        FullHttpResponse refusal = refusal(request, page, caller);
        if (refusal != null) {
            boolean guess =
                    refusal.status().equals(UNAUTHORIZED) && request.headers().contains(HttpHeaderNames.AUTHORIZATION);
            if (change || guess) {
                all.audit.refused(request, remote, caller.token(), refusal, System.nanoTime());
            }
            if (guess) {
                standing = Standing.DELAYED;
                context()
                        .executor()
                        .schedule(
                                () -> writeNow(refusal, keepAlive),
                                all.guesses.delayMillis(remote, System.nanoTime()),
                                TimeUnit.MILLISECONDS);
            } else {
                write(refusal, keepAlive);
            }
            return;
        }
        Supplier<byte[]> event = page.event();
        if (event != null) {
            beginEvents(page.executor(), event);
            return;
        }
        page.executor().execute(() -> {
            FullHttpResponse made = page.answer(request);
            if (change) {
                Audit.attempted(request, remote, caller.token(), made);
                if (made.status().equals(OK)) {
                    all.changes().accept(Audit.what(request, remote, caller.token()));
                }
            }
            write(made, keepAlive);
        });
    }

    /** Answers with events until the client disconnects, one a second or fewer. */
    private void beginEvents(Executor executor, Supplier<byte[]> event) {
        if (!all.mayStream(this)) {
            write(AdminAnswers.text(SERVICE_UNAVAILABLE, "too many viewers of the live page\n"), false);
            return;
        }
        unwritten = standing == Standing.ANSWERING_KNOWN ? all.knownEvents : all.events;
        context().writeAndFlush(AdminAnswers.events());
        // Notices when the client disconnects.
        context().read();
        nextEvent(executor, event);
    }

    private void nextEvent(Executor executor, Supplier<byte[]> event) {
        executor.execute(() -> {
            byte[] made = event.get();
            context().executor().execute(() -> writeEvent(made, executor, event));
        });
    }

    /** The next event follows a second after this one has been written. */
    private void writeEvent(byte[] made, Executor executor, Supplier<byte[]> event) {
        if (!context().channel().isActive() || !mayStillWatch() || !unwritten.mayWrite(made.length)) {
            close();
            return;
        }
        closeAfter(ANSWER_SECONDS);
        context()
                .writeAndFlush(new DefaultHttpContent(Unpooled.wrappedBuffer(made)))
                .addListener((ChannelFuture written) -> {
                    unwritten.wrote(made.length);
                    cancelTimeout();
                    if (written.isSuccess()) {
                        timeout = context()
                                .executor()
                                .schedule(() -> nextEvent(executor, event), EVENT_MILLIS, TimeUnit.MILLISECONDS);
                    } else {
                        close();
                    }
                });
    }

    /** A reload may have revoked the viewer's token, or have set the first one. */
    private boolean mayStillWatch() {
        HttpRequest watching = Objects.requireNonNull(request);
        FullHttpResponse refusal =
                refusal(watching, pages.find(watching.uri()), all.access().caller(watching));
        ReferenceCountUtil.release(refusal);
        return refusal == null;
    }

    private @Nullable FullHttpResponse refusal(HttpRequest request, AdminPages.Page page, AdminAccess.Caller caller) {
        FullHttpResponse refusal = page.forAnyHost() ? null : all.access().refuseHost(request);
        if (refusal == null && !page.allows(request.method())) {
            return AdminAnswers.text(
                    METHOD_NOT_ALLOWED, "expected " + page.methods() + "\n", HttpHeaderNames.ALLOW, page.methods());
        }
        if (refusal == null && page.changes(request)) {
            refusal = all.access().refuseChange(request, caller);
        } else if (refusal == null && !page.open()) {
            refusal = all.access().refuseRead(caller);
        }
        if (refusal != null) {
            protections.accept(Protection.ADMIN_REFUSED);
        }
        return refusal;
    }

    /**
     * Writes in a later task, so that pipelined requests do not recurse through {@link #takeAll}.
     */
    private void write(FullHttpResponse made, boolean keepAlive) {
        context().executor().execute(() -> writeNow(made, keepAlive));
    }

    private void writeNow(FullHttpResponse made, boolean keepAlive) {
        int bytes = made.content().readableBytes();
        if (!context().channel().isActive() || !all.answers.mayWrite(bytes)) {
            made.release();
            close();
            return;
        }
        HttpUtil.setKeepAlive(made, keepAlive);
        closeAfter(ANSWER_SECONDS);
        context().writeAndFlush(made).addListener((ChannelFuture written) -> {
            all.answers.wrote(bytes);
            if (keepAlive && written.isSuccess()) {
                awaitNext();
            } else {
                close();
            }
        });
    }

    private void awaitNext() {
        standing = Standing.IDLE;
        receiving = !pipelined.isEmpty();
        all.changed(this);
        closeAfter(receiving ? REQUEST_SECONDS : IDLE_SECONDS);
        takeAll();
        if (!isAnswering()) {
            context().read();
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        log.debug("connection of {} to the admin port ends", ctx.channel().remoteAddress(), cause);
        ctx.close();
    }
}
