package io.lambdadispatcher.core.internal.ingress.http1;

import io.lambdadispatcher.core.internal.ingress.edge.AbruptClose;
import io.lambdadispatcher.core.internal.ingress.edge.ClientAccount;
import io.lambdadispatcher.core.internal.ingress.edge.ConnectionAge;
import io.lambdadispatcher.core.internal.ingress.edge.HeadRules;
import io.lambdadispatcher.core.internal.ingress.edge.IngressContext;
import io.lambdadispatcher.core.internal.ingress.edge.IngressDrain;
import io.lambdadispatcher.core.internal.ingress.edge.LingeringClose;
import io.lambdadispatcher.core.internal.ingress.edge.LoopWatch;
import io.lambdadispatcher.core.internal.ingress.edge.ResponseDate;
import io.lambdadispatcher.core.internal.ingress.edge.WriteWatch;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.wire.http.PrintableText;
import io.lambdadispatcher.wire.http.TextAnswer;
import io.lambdadispatcher.wire.http2.CoalescedFlush;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.codec.DecoderResult;
import io.netty.handler.codec.TooLongFrameException;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseEncoder;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.TooLongHttpHeaderException;
import io.netty.handler.codec.http.TooLongHttpLineException;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's HTTP/1.1 connection (RFC 9112). It has one exchange at a time. Pipelined requests wait
 * undecoded, and reading stops until their turn. It closes the connection if it is idle, stuck,
 * malicious, old or drained. Event loop only.
 */
public final class Http1ClientConnection extends ChannelDuplexHandler
        implements IngressDrain.Drainable, LoopWatch.Watched, ClientAccount.Holder {
    private static final Logger log = LoggerFactory.getLogger(Http1ClientConnection.class);

    /** Ratio of the objects of an incomplete request head on the heap to its bytes. */
    private static final int HEAD_FACTOR = 2;

    private enum State {
        /** Between requests. */
        IDLE,
        /** An exchange is in flight. */
        EXCHANGE,
        /** The last response was written. Further bytes are dropped. */
        LINGERING,
        CLOSED
    }

    private final IngressContext context;
    private final HeadTranslator translator;
    private final StrictRequestDecoder decoder;
    private final Encoder encoder;
    private final ArrayDeque<HttpObject> early = new ArrayDeque<>(4);

    private State state = State.IDLE;
    private @Nullable Http1ClientExchange exchange;
    private boolean requestEnded;
    private boolean draining;

    /**
     * Whether the connection has reached its maximum age. It is closed after a response that says
     * so, and not before: a request of the client may be in transit.
     */
    private boolean old;

    private long idleSinceNanos;

    /** Whether the client had sent only a part of its headers at the last check. */
    private boolean insideHead;

    private long insideHeadSinceNanos;

    private @Nullable ChannelHandlerContext ctx;
    private @Nullable CoalescedFlush flush;
    private @Nullable HeadRules rules;
    private @Nullable WriteWatch writes;
    private @Nullable LoopWatch watch;
    private @Nullable ConnectionAge age;

    private Http1ClientConnection(IngressContext context, StrictRequestDecoder decoder, Encoder encoder) {
        this.context = context;
        this.translator = new HeadTranslator(
                context.limits().maxHeaders(),
                HeadRules.fieldsAdded(context.headers().policy()),
                context.scheme());
        this.decoder = decoder;
        this.encoder = encoder;
    }

    /** Adds decoder, encoder and handler to the pipeline of an active channel. */
    public static void install(ChannelPipeline pipeline, IngressContext context) {
        StrictRequestDecoder decoder = new StrictRequestDecoder(context.limits());
        Encoder encoder = new Encoder();
        pipeline.addLast(decoder, encoder, new Http1ClientConnection(context, decoder, encoder));
    }

    /** Writes no body in the response to HEAD. */
    static final class Encoder extends HttpResponseEncoder {
        private boolean headRequest;

        @Override
        protected boolean isContentAlwaysEmpty(HttpResponse response) {
            return headRequest && response.status().code() >= 200 || super.isContentAlwaysEmpty(response);
        }
    }

    @Override
    public void handlerAdded(ChannelHandlerContext added) {
        ctx = added;
        flush = new CoalescedFlush(this, added);
        rules = new HeadRules(context, ResponseDate.of(added.executor()));
        idleSinceNanos = now();
        age = new ConnectionAge(context.limits().maxConnectionAge(), idleSinceNanos);
        writes = new WriteWatch(added.channel());
        watch = LoopWatch.of(added.executor());
        watch.add(this);
        context.drain().register(added.channel(), this);
        context.account().heldBy(this);
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext removed) {
        stop();
    }

    @Override
    public void channelInactive(ChannelHandlerContext inactive) {
        stop();
    }

    private void stop() {
        if (state == State.CLOSED) {
            return;
        }
        state = State.CLOSED;
        if (watch != null && writes != null) {
            watch.remove(this);
            writes.stop();
        }
        dropEarly();
        if (exchange != null) {
            exchange.onClientGone();
        }
    }

    // Calls from the client's side.

    @Override
    public void channelRead(ChannelHandlerContext reading, Object message) {
        if (state == State.CLOSED || state == State.LINGERING || !(message instanceof HttpObject object)) {
            ReferenceCountUtil.release(message);
            return;
        }
        if (!early.isEmpty() || !isNextTurn()) {
            early.add(object);
            context.account().onHeld(bytesOf(object));
            setReading(false);
            return;
        }
        onObject(object);
    }

    /**
     * Returns whether the next part of a request may be handled. Between requests, the channel must
     * be writable: a client that reads no response would otherwise fill the memory with responses.
     */
    private boolean isNextTurn() {
        return switch (state) {
            case IDLE -> ctx().channel().isWritable();
            case EXCHANGE -> !requestEnded;
            case LINGERING, CLOSED -> false;
        };
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext changed) {
        if (state == State.IDLE && changed.channel().isWritable()) {
            // Later, because this is called during a flush.
            changed.executor().execute(this::serveEarly);
        }
        changed.fireChannelWritabilityChanged();
    }

    private void onObject(HttpObject object) {
        if (state == State.IDLE && object instanceof HttpRequest request) {
            encoder.headRequest = request.method().equals(io.netty.handler.codec.http.HttpMethod.HEAD);
        }
        DecoderResult result = object.decoderResult();
        if (result.isFailure()) {
            ReferenceCountUtil.release(object);
            onMalformed(result.cause());
            return;
        }
        if (object instanceof HttpRequest request) {
            onRequest(request);
        }
        if (object instanceof HttpContent content) {
            onContent(content);
        }
    }

    private void onRequest(HttpRequest request) {
        state = State.EXCHANGE;
        requestEnded = false;
        insideHead = false;
        Http1ClientExchange next =
                new Http1ClientExchange(this, request, context.limits().streamWindowBytes());
        exchange = next;
        next.open(request);
    }

    private void onContent(HttpContent content) {
        boolean last = content instanceof io.netty.handler.codec.http.LastHttpContent;
        requestEnded |= last;
        Http1ClientExchange current = exchange;
        if (current == null || state != State.EXCHANGE) {
            content.release();
            return;
        }
        current.onContent(content, last);
        if (last && exchange == current && current.isResponseEnded()) {
            onExchangeEnded(current);
        }
    }

    /**
     * Answers invalid bytes if no response headers were sent, and closes the connection, because
     * nobody knows where the next request starts.
     */
    private void onMalformed(Throwable cause) {
        HttpResponseStatus status = HttpResponseStatus.BAD_REQUEST;
        String detail = "malformed request";
        log.debug("client {}: malformed request: {}", context.client(), PrintableText.startOf(cause));
        if (cause instanceof TooLongHttpLineException) {
            status = HttpResponseStatus.REQUEST_URI_TOO_LONG;
            detail = "request line too long, limit " + context.limits().maxRequestLineBytes() + " bytes";
        } else if (cause instanceof TooLongHttpHeaderException || cause instanceof TooLongFrameException) {
            status = HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE;
            detail = "request headers too large, limit " + context.limits().maxHeaderBytes() + " bytes and "
                    + context.limits().maxHeaders() + " headers";
        }
        reject(status, detail);
    }

    private void reject(HttpResponseStatus status, String detail) {
        Http1ClientExchange current = exchange;
        if (current != null) {
            boolean headSent = current.isHeadSent();
            boolean responded = current.isResponseEnded();
            current.onClientGone();
            exchange = null;
            if (responded) {
                linger(); // A reset could lose the complete response before the client reads it.
                return;
            }
            if (headSent) {
                cut();
                return;
            }
        }
        TextAnswer answer = context.errors().reject(ctx().alloc(), status, detail, null);
        rules().ownResponse(answer.head());
        FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status, answer.body());
        Http1ClientExchange.copy(answer.head(), response.headers());
        response.headers().set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
        // Further bytes may follow, even if the decoder has reported the end of the request. It
        // does so for incomplete requests, too.
        requestEnded = false;
        ctx().write(response);
        linger();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext on, Throwable cause) {
        Throwable root = cause instanceof io.netty.handler.codec.DecoderException && cause.getCause() != null
                ? cause.getCause()
                : cause;
        if (state == State.CLOSED || state == State.LINGERING || root instanceof IOException) {
            log.debug("client {}: {}", context.client(), PrintableText.startOf(root));
            on.close();
        } else if (cause instanceof io.netty.handler.codec.DecoderException
                || root instanceof IllegalArgumentException) {
            onMalformed(root);
        } else {
            log.error(
                    "client {}: a fault of the dispatcher, please report it. The connection is closed",
                    context.client(),
                    cause);
            cut();
        }
    }

    // Calls from the exchange.

    void write(Object message) {
        ctx().write(message);
        flushSoon();
    }

    /**
     * @param bytes reported to the exchange as taken when the socket has accepted them, or never
     *     will
     */
    void writeBody(Object message, int bytes, Http1ClientExchange from) {
        ctx().write(message, ctx().newPromise().addListener(done -> from.onWritten(bytes)));
        flushSoon();
    }

    void flushSoon() {
        if (flush != null) {
            flush.request();
        }
    }

    /** The complete response was written. */
    void onExchangeEnded(Http1ClientExchange ended) {
        if (exchange != ended || state != State.EXCHANGE) {
            return;
        }
        if (!requestEnded && (ended.isBodyEnded() || ended.dropsRest())) {
            setReading(true);
            return; // onContent() calls this again when the decoder reports the request's end
        }
        if (!requestEnded || !ended.isKeepAlive()) {
            exchange = null;
            linger();
            return;
        }
        exchange = null;
        state = State.IDLE;
        idleSinceNanos = now();
        encoder.headRequest = false;
        if (early.isEmpty()) {
            if (draining) {
                linger();
            }
            setReading(true);
            return;
        }
        // In a separate task, because the previous response can still be on the stack.
        ctx().executor().execute(this::serveEarly);
    }

    private void serveEarly() {
        while (!early.isEmpty() && isNextTurn()) {
            onObject(early.remove());
        }
        if (state == State.CLOSED) {
            return;
        }
        if (state == State.LINGERING) {
            dropEarly();
        }
        if (early.isEmpty()) {
            setReading(true);
        }
    }

    void setReading(boolean on) {
        if (state != State.CLOSED) {
            ctx().channel().config().setAutoRead(on && early.isEmpty() || state == State.LINGERING);
        }
    }

    /**
     * Resets the connection. If the body ends with the connection, a clean end would make a partial
     * response look complete.
     */
    void cut() {
        if (state != State.CLOSED) {
            AbruptClose.of(ctx().channel());
        }
    }

    /** Closes the connection after the last response, which is written. */
    private void linger() {
        if (state == State.CLOSED || state == State.LINGERING) {
            return;
        }
        state = State.LINGERING;
        dropEarly();
        setReading(true);
        ChannelHandlerContext c = ctx();
        if (!requestEnded || decoder.isHolding()) {
            ChannelPipeline pipeline = c.pipeline();
            pipeline.addBefore(pipeline.context(decoder).name(), null, new LingeringClose());
        }
        decoder.drop();
        c.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(written -> {
            c.close();
            if (draining) {
                endLingering();
            }
        });
    }

    /** Nobody waits as long for a client that is still sending as {@link LingeringClose} does. */
    private void endLingering() {
        Channel channel = ctx().channel();
        channel.eventLoop()
                .schedule(() -> LingeringClose.end(channel), IngressDrain.TRANSIT_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void dropEarly() {
        for (HttpObject object = early.poll(); object != null; object = early.poll()) {
            ReferenceCountUtil.release(object);
        }
    }

    @Override
    public void drain() {
        draining = true;
        if (state == State.IDLE && early.isEmpty() && !decoder.isInsideHead()) {
            // A request may already be in transit. It is answered with "connection: close".
            ctx().executor().schedule(this::closeIfIdle, IngressDrain.TRANSIT_MILLIS, TimeUnit.MILLISECONDS);
        } else if (exchange != null && exchange.isResponseEnded()) {
            linger(); // does not wait for the rest of the request's body
        } else if (state == State.LINGERING && waitingBytes() == 0) {
            endLingering();
        }
    }

    private void closeIfIdle() {
        if (state == State.IDLE && early.isEmpty() && !decoder.isInsideHead()) {
            // The socket may not have accepted all of the last response yet.
            requestEnded = true;
            linger();
        }
    }

    /** Returns whether the response whose headers are sent now is the last. */
    boolean isAtLastResponse() {
        return draining || old;
    }

    @Override
    public void look(long now) {
        HttpLimits limits = context.limits();
        old = Objects.requireNonNull(age, "handler is in no pipeline").isReached(now);
        if (writes != null && writes.isTooSlow(now, limits.writeTimeout().toNanos(), limits.minDataRate())) {
            context.observer().onProtection(Protection.RESPONSE_TOO_SLOW);
            cut();
        } else if (state == State.IDLE) {
            lookAtIdle(now);
        } else if (state == State.EXCHANGE && exchange != null && !requestEnded) {
            exchange.look(now, isReading(), waitingBytes() == 0);
        }
    }

    private void lookAtIdle(long now) {
        boolean reading = isReading() && early.isEmpty() && waitingBytes() == 0;
        boolean inside = reading && decoder.isInsideHead();
        if (!reading) {
            idleSinceNanos = now;
        }
        if (!inside || !insideHead) {
            insideHeadSinceNanos = now;
        }
        insideHead = inside;
        if (now - insideHeadSinceNanos > context.limits().headerTimeout().toNanos()) {
            reject(
                    HttpResponseStatus.REQUEST_TIMEOUT,
                    "no complete request headers within "
                            + context.limits().headerTimeout().toMillis() + " ms");
        } else if (!inside
                && now - idleSinceNanos > context.limits().idleTimeout().toNanos()) {
            ctx().close();
        }
    }

    private boolean isReading() {
        return ctx().channel().config().isAutoRead();
    }

    void onBodyTooSlow() {
        context.observer().onProtection(Protection.BODY_TOO_SLOW);
        reject(HttpResponseStatus.REQUEST_TIMEOUT, "the request body arrives too slowly");
    }

    /**
     * Returns the bytes that were written and that the socket has not accepted, including those of
     * ended exchanges.
     */
    private long waitingBytes() {
        ChannelOutboundBuffer out = ctx().channel().unsafe().outboundBuffer();
        return out == null ? 0 : out.totalPendingWriteBytes();
    }

    @Override
    public void release() {
        stop();
    }

    @Override
    public long heldBytes() {
        long waiting = 0;
        for (HttpObject object : early) {
            waiting += bytesOf(object);
        }
        return waiting + (long) decoder.headBytes() * HEAD_FACTOR + (exchange == null ? 0 : exchange.heldBytes());
    }

    private static int bytesOf(HttpObject object) {
        return ClientAccount.EXCHANGE_BYTES
                + (object instanceof HttpContent content ? content.content().readableBytes() : 0);
    }

    // What the exchange needs.

    IngressContext context() {
        return context;
    }

    HeadTranslator translator() {
        return translator;
    }

    HeadRules rules() {
        return Objects.requireNonNull(rules, "handler is in no pipeline");
    }

    ChannelHandlerContext ctx() {
        return Objects.requireNonNull(ctx, "handler is in no pipeline");
    }

    /** Passes the connection to the tunnel, with the bytes that followed its request. */
    void become(Http1Tunnel tunnel, HttpResponse switching) {
        ChannelHandlerContext c = ctx();
        ChannelPipeline pipeline = c.pipeline();
        exchange = null;
        c.write(switching);
        pipeline.addLast(tunnel);
        pipeline.remove(this);
        pipeline.remove(encoder);
        pipeline.remove(decoder);
    }

    private long now() {
        return ctx().executor().ticker().nanoTime();
    }
}
