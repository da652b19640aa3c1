package io.lambdadispatcher.core.internal.ingress.http1;

import io.lambdadispatcher.core.internal.exchange.Failure;
import io.lambdadispatcher.core.internal.exchange.RequestSink;
import io.lambdadispatcher.core.internal.exchange.Requester;
import io.lambdadispatcher.core.internal.exchange.ResponseSink;
import io.lambdadispatcher.core.internal.ingress.edge.ClientAccount;
import io.lambdadispatcher.core.internal.ingress.edge.Pace;
import io.lambdadispatcher.core.internal.ingress.edge.Rejection;
import io.lambdadispatcher.core.observe.ClientProtocol;
import io.lambdadispatcher.core.observe.Protection;
import io.lambdadispatcher.core.options.HttpLimits;
import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.http.TextAnswer;
import io.lambdadispatcher.wire.http.Trailers;
import io.lambdadispatcher.wire.http.WebSocketKey;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.DefaultHttpContent;
import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.DefaultHttpResponse;
import io.netty.handler.codec.http.DefaultLastHttpContent;
import io.netty.handler.codec.http.EmptyHttpHeaders;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http2.Http2Headers;
import java.net.SocketAddress;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One HTTP/1.1 request and its response, translated to and from HTTP/2's form. Event loop only. */
final class Http1ClientExchange implements ResponseSink, Requester {

    /**
     * Maximum part of a body that is read and dropped after the response, so that the connection
     * can serve further requests. Go's server has the same limit.
     */
    static final int MAX_DROPPED_BYTES = 256 * 1024;

    private enum State {
        REQUESTED,
        RESPONDING,
        /** The complete response was written. */
        RESPONDED,
        /** The client has disconnected, or the response was cut off. */
        BROKEN
    }

    private final Http1ClientConnection connection;
    private final int windowBytes;
    private final boolean http10;
    private final boolean headRequest;
    /** Request headers, for an error response; {@code null} until they are translated. */
    private @Nullable Http2Headers requestHead;

    private boolean keepAlive;
    private boolean chunked;
    private boolean bodyEnded;
    private boolean upgradeRequired;
    /** The client waits for {@code 100 Continue} before it sends its body, and does not get it. */
    private boolean unconfirmed;

    /** Size of the request's body, or {@link ContentLength#UNKNOWN}. */
    private long declared;

    private State state = State.REQUESTED;
    private @Nullable RequestSink request;
    private @Nullable SocketAddress client;

    /** The function that gets the request; {@code null} = none so far. */
    private @Nullable String function;

    private int requestUntaken;
    private long received;
    private int dropped;
    private long taken;

    /** Created by the first check that finds the dispatcher waiting for the client. */
    private @Nullable Pace pace;

    Http1ClientExchange(Http1ClientConnection connection, HttpRequest head, int windowBytes) {
        this.connection = connection;
        this.windowBytes = windowBytes;
        this.http10 = !head.protocolVersion().isKeepAliveDefault();
        this.headRequest = head.method().equals(HttpMethod.HEAD);
        this.keepAlive = HttpUtil.isKeepAlive(head);
        this.client = connection.context().client();
    }

    boolean isKeepAlive() {
        return keepAlive;
    }

    boolean isHeadSent() {
        return state != State.REQUESTED;
    }

    boolean isResponseEnded() {
        return state == State.RESPONDED;
    }

    /** Returns whether the request has ended. The decoder may not have reported it yet. */
    boolean isBodyEnded() {
        return bodyEnded;
    }

    // Calls from the client's side.

    void open(HttpRequest from) {
        HttpHeaders fields = from.headers();
        String length = fields.get(HttpHeaderNames.CONTENT_LENGTH);
        declared = length == null ? ContentLength.UNKNOWN : ContentLength.parse(length);
        HeadTranslator translator = connection.translator();
        Rejection rejection = translator.verify(from, declared);
        if (rejection != null) {
            rejectLast(rejection);
            return;
        }
        Http2Headers head = translator.toHttp2(from);
        requestHead = head;
        rejection = translator.verifyTarget(from, head);
        if (rejection != null) {
            rejectLast(rejection);
            return;
        }
        if (fields.contains(HttpHeaderNames.UPGRADE) && openUpgraded(from, head)) {
            return;
        }
        boolean bodyless = declared <= 0 && !fields.contains(HttpHeaderNames.TRANSFER_ENCODING);
        boolean continueExpected = !http10 && HttpUtil.is100ContinueExpected(from) && !bodyless;
        head.remove(HttpHeaderNames.EXPECT);
        Failure refused = connection.rules().request(head);
        client = connection.rules().client();
        bodyEnded = bodyless;
        unconfirmed = continueExpected;
        request = connection.context().account().openUnless(refused, head, bodyless, this);
        if (continueExpected && state == State.REQUESTED) {
            unconfirmed = false;
            connection.write(new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE, Unpooled.EMPTY_BUFFER));
        }
    }

    /**
     * Handles a request for a WebSocket.
     *
     * @return false if the request is not one; then its {@code upgrade} is ignored (RFC 9110
     *     section 7.8)
     */
    private boolean openUpgraded(HttpRequest from, Http2Headers head) {
        if (!WebSocketHandshake.isAsked(from)) {
            return false;
        }
        // The connection serves no further request even if the handshake is rejected: bytes behind
        // it can be of either protocol, and guessing is unsafe.
        keepAlive = false;
        Rejection rejection = WebSocketHandshake.verify(from);
        if (rejection == null) {
            openWebSocket(head, WebSocketHandshake.key(from));
        } else {
            upgradeRequired = rejection.status().equals(HttpResponseStatus.UPGRADE_REQUIRED);
            rejectLast(rejection);
        }
        return true;
    }

    private void openWebSocket(Http2Headers head, WebSocketKey key) {
        bodyEnded = true;
        Failure refused = connection.rules().connect(head);
        client = connection.rules().client();
        request =
                connection.context().account().openUnless(refused, head, false, new Http1Tunnel(this, connection, key));
    }

    void onContent(HttpContent content, boolean last) {
        RequestSink to = request;
        if (state == State.RESPONDED) {
            drop(content, last);
            return;
        }
        if (to == null || bodyEnded || state == State.BROKEN) {
            content.release();
            return;
        }
        HttpHeaders trailers = last ? ((LastHttpContent) content).trailingHeaders() : EmptyHttpHeaders.INSTANCE;
        boolean withTrailers = !trailers.isEmpty();
        ByteBuf data = content.content();
        int bytes = data.readableBytes();
        if (bytes == 0 && !last) {
            content.release();
            return;
        }
        received += bytes;
        requestUntaken += bytes;
        if (requestUntaken > connection.context().account().windowBytes(windowBytes)) {
            connection.setReading(false);
        }
        bodyEnded = last;
        if (bytes > 0 || !withTrailers) {
            to.data(data, last && !withTrailers);
        } else {
            content.release();
        }
        if (withTrailers) {
            Http2Headers translated = HeadTranslator.toHttp2(trailers);
            connection.rules().requestTrailers(translated);
            to.trailers(translated);
        }
    }

    private void drop(HttpContent content, boolean last) {
        int bytes = content.content().readableBytes();
        content.release();
        received += bytes;
        dropped += bytes;
        bodyEnded |= last;
        if (!last && !dropsRest()) {
            connection.onExchangeEnded(this);
        }
    }

    /**
     * Returns whether the connection waits for the end of the body after the response, and then
     * serves further requests. Otherwise, it is closed.
     */
    boolean dropsRest() {
        long rest = declared == ContentLength.UNKNOWN ? dropped : declared - received;
        return keepAlive && !unconfirmed && rest <= MAX_DROPPED_BYTES;
    }

    /**
     * Checks a request whose end has not been decoded yet.
     *
     * @param reading whether the client may send
     * @param allTaken whether the client has read all of the response so far
     */
    void look(long now, boolean reading, boolean allTaken) {
        HttpLimits limits = connection.context().limits();
        boolean answered = state == State.RESPONDING;
        boolean waitedFor = !bodyEnded && (answered ? allTaken : reading);
        pace = pace == null && waitedFor ? new Pace(limits.bodyTimeout().toNanos()) : pace;
        if (pace == null) {
            return;
        }
        if (!answered) {
            if (pace.isTooSlow(now, waitedFor, received, limits.bodyTimeout().toNanos(), limits.minDataRate())) {
                connection.onBodyTooSlow();
            }
        } else if (pace.isTooSlow(
                now, waitedFor, received + taken, limits.idleTimeout().toNanos(), 0)) {
            connection.cut();
        }
    }

    void onClientGone() {
        State before = state;
        state = State.BROKEN;
        if (request != null && (before == State.REQUESTED || before == State.RESPONDING)) {
            request.cancel(ErrorCode.CANCELLED);
        }
    }

    /**
     * Returns the bytes that are held of the request. Those of the response wait in the channel's
     * queue.
     */
    long heldBytes() {
        return ClientAccount.EXCHANGE_BYTES + requestUntaken + (request == null ? 0 : request.heldBytes());
    }

    // Calls from the dispatcher.

    @Override
    public Requester requester() {
        return this;
    }

    @Override
    public Object key(Http2Headers head) {
        return connection.rules().key(client, head);
    }

    @Override
    public @Nullable SocketAddress remoteAddress() {
        return client;
    }

    @Override
    public ClientProtocol protocol() {
        return ClientProtocol.HTTP_1;
    }

    @Override
    public void onRouted(String name) {
        function = name;
    }

    @Override
    public void onInterim(Http2Headers head) {
        if (state != State.REQUESTED || http10) {
            return;
        }
        if (!connection.ctx().channel().isWritable()) {
            // Dropped, because flow control does not limit interim responses.
            connection.context().observer().onProtection(Protection.INTERIM_DROPPED);
        } else {
            connection.rules().informational(head);
            DefaultFullHttpResponse interim =
                    new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, status(head), Unpooled.EMPTY_BUFFER);
            copy(head, interim.headers());
            connection.write(interim);
        }
    }

    @Override
    public void onHead(Http2Headers head, boolean end) {
        if (state != State.REQUESTED) {
            return;
        }
        state = State.RESPONDING;
        connection.rules().response(head);
        connection.context().errors().onResponse(function, requestHead, head);
        HttpResponse response = new DefaultHttpResponse(
                HttpVersion.HTTP_1_1,
                status(head),
                DefaultHttpHeadersFactory.headersFactory().withValidation(false));
        copy(head, response.headers());
        frame(response, end, end || request == null);
        connection.write(response);
        if (end) {
            writeLast(LastHttpContent.EMPTY_LAST_CONTENT);
        }
    }

    /**
     * Hands the connection over to a tunnel.
     *
     * @return the sink for the client's bytes; {@code null} if the client has disconnected
     */
    @Nullable
    RequestSink openTunnel() {
        if (state != State.REQUESTED) {
            return null;
        }
        // A tunnel without one would be silent forever, and no timeout applies to it.
        RequestSink its = Objects.requireNonNull(request, "the request is still being opened");
        state = State.BROKEN;
        return its;
    }

    /** Returns the response that opens a WebSocket (RFC 6455 section 4.2.2). */
    HttpResponse switching(Http2Headers head, WebSocketKey key) {
        connection.rules().informational(head);
        head.remove(HttpHeaderNames.CONTENT_LENGTH);
        HttpResponse response = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1,
                HttpResponseStatus.SWITCHING_PROTOCOLS,
                Unpooled.EMPTY_BUFFER,
                DefaultHttpHeadersFactory.headersFactory().withValidation(false),
                DefaultHttpHeadersFactory.trailersFactory());
        copy(head, response.headers());
        response.headers()
                .set(HttpHeaderNames.CONNECTION, HttpHeaderValues.UPGRADE)
                .set(HttpHeaderNames.UPGRADE, HttpHeaderValues.WEBSOCKET)
                .set(HttpHeaderNames.SEC_WEBSOCKET_ACCEPT, key.accept());
        return response;
    }

    /**
     * Sets the headers that tell the client where the body ends (RFC 9112 section 6).
     *
     * @param end whether the response has no body
     * @param whole whether the response ends now, as one without a body or from no worker does
     */
    private void frame(HttpResponse response, boolean end, boolean whole) {
        HttpHeaders fields = response.headers();
        int code = response.status().code();
        boolean bodyAllowed = !headRequest && !StatusCode.isBodyless(code);
        if (bodyAllowed && !fields.contains(HttpHeaderNames.CONTENT_LENGTH)) {
            if (end) {
                fields.set(HttpHeaderNames.CONTENT_LENGTH, HttpHeaderValues.ZERO);
            } else if (http10) {
                keepAlive = false;
            } else {
                chunked = true;
                fields.set(HttpHeaderNames.TRANSFER_ENCODING, HttpHeaderValues.CHUNKED);
            }
        }
        // If the rest of the request's body is too large to be dropped, the connection is closed,
        // which the response must announce (RFC 9112 section 9.6).
        boolean early = whole && !bodyEnded;
        keepAlive &= !connection.isAtLastResponse() && (!early || declared != ContentLength.UNKNOWN && dropsRest());
        if (!keepAlive) {
            fields.set(HttpHeaderNames.CONNECTION, HttpHeaderValues.CLOSE);
        } else if (http10) {
            fields.set(HttpHeaderNames.CONNECTION, HttpHeaderValues.KEEP_ALIVE);
        }
    }

    private static HttpResponseStatus status(Http2Headers head) {
        return HttpResponseStatus.valueOf(StatusCode.parse(head.status()));
    }

    static void copy(Http2Headers from, HttpHeaders to) {
        for (Map.Entry<CharSequence, CharSequence> field : from) {
            if (field.getKey().charAt(0) != ':') {
                to.add(field.getKey(), field.getValue());
            }
        }
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        int bytes = data.readableBytes();
        if (state != State.RESPONDING) {
            data.release();
            onWritten(bytes);
            return;
        }
        connection.context().account().onHeld(bytes);
        connection.writeBody(new DefaultHttpContent(data), bytes, this);
        if (end) {
            writeLast(LastHttpContent.EMPTY_LAST_CONTENT);
        }
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        if (state != State.RESPONDING) {
            return;
        }
        Trailers.removeForbidden(trailers);
        if (!chunked) {
            writeLast(LastHttpContent.EMPTY_LAST_CONTENT);
            return;
        }
        DefaultLastHttpContent last = new DefaultLastHttpContent(
                Unpooled.EMPTY_BUFFER,
                DefaultHttpHeadersFactory.trailersFactory().withValidation(false));
        copy(trailers, last.trailingHeaders());
        writeLast(last);
    }

    private void writeLast(LastHttpContent last) {
        state = State.RESPONDED;
        pace = null;
        connection.write(last);
        connection.onExchangeEnded(this);
    }

    /** The socket has accepted the bytes, or never will. */
    void onWritten(int bytes) {
        taken += bytes;
        if (request != null && bytes > 0) {
            request.responseTaken(bytes);
        }
    }

    @Override
    public void onFailure(Failure failure) {
        switch (state) {
            case REQUESTED ->
                answer(
                        failure.kind().status(),
                        connection.context().errors().answer(connection.ctx().alloc(), failure, requestHead, function));
            case RESPONDING -> {
                state = State.BROKEN;
                countCut(failure);
                connection.cut();
            }
            case RESPONDED, BROKEN -> {}
        }
    }

    /** Counts a failure after which the response is cut off. */
    void countCut(Failure failure) {
        connection.context().errors().count(failure, requestHead, function);
    }

    /** Rejects a request after which no further one can be read. */
    private void rejectLast(Rejection rejection) {
        keepAlive = false;
        answer(
                rejection.status(),
                connection
                        .context()
                        .errors()
                        .reject(connection.ctx().alloc(), rejection.status(), rejection.detail(), requestHead));
    }

    private void answer(HttpResponseStatus status, TextAnswer answer) {
        connection.rules().ownResponse(answer.head());
        HttpResponse response = new DefaultHttpResponse(HttpVersion.HTTP_1_1, status);
        copy(answer.head(), response.headers());
        frame(response, false, true);
        if (upgradeRequired) {
            // RFC 6455 section 4.4, RFC 9110 section 15.5.22.
            response.headers()
                    .set(HttpHeaderNames.SEC_WEBSOCKET_VERSION, WebSocketHandshake.SUPPORTED_VERSION)
                    .set(HttpHeaderNames.UPGRADE, HttpHeaderValues.WEBSOCKET)
                    .add(HttpHeaderNames.CONNECTION, HttpHeaderValues.UPGRADE);
        }
        connection.write(response);
        if (headRequest) {
            answer.body().release();
        } else {
            connection.write(new DefaultHttpContent(answer.body()));
        }
        writeLast(LastHttpContent.EMPTY_LAST_CONTENT);
    }

    @Override
    public void onRequestTaken(int bytes) {
        requestUntaken -= bytes;
        if (requestUntaken <= connection.context().account().windowBytes(windowBytes) / 2) {
            connection.setReading(true);
        }
    }
}
