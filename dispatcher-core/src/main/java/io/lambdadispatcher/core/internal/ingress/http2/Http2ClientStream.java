package io.lambdadispatcher.core.internal.ingress.http2;

import io.lambdadispatcher.core.internal.exchange.Exchange;
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
import io.lambdadispatcher.wire.http.Authority;
import io.lambdadispatcher.wire.http.Grpc;
import io.lambdadispatcher.wire.http.HeaderSyntax;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.http.TextAnswer;
import io.lambdadispatcher.wire.http.Trailers;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.wire.http2.DataOutlet;
import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpScheme;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.AsciiString;
import java.net.SocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One request of an HTTP/2 client and its response. When both have ended, the object is reused for
 * the connection's next request. Event loop only.
 */
final class Http2ClientStream implements ResponseSink, Requester, DataOutlet.Listener {

    private enum State {
        /** No response headers were sent. */
        REQUESTED,
        /** The response headers were sent. The response has not ended. */
        RESPONDING,
        /** The complete response is in the outlet, or in transit. */
        RESPONDED,
        /** Reset by either side, or closed with its connection. */
        CLOSED
    }

    private static final AsciiString PROTOCOL = Http2Headers.PseudoHeaderName.PROTOCOL.value();

    /**
     * Time between a complete response and the reset that stops the rest of the request. curl 7.88
     * loses the response if it reads both at once.
     */
    private static final long RESET_DELAY_MILLIS = 200;

    private final Http2ClientConnection connection;
    private final ChannelHandlerContext ctx;
    private final DataOutlet outlet;

    // Set by reopen().
    private Http2Stream stream;
    private State state = State.REQUESTED;
    private @Nullable RequestSink request;
    /** The exchange of the previous request. */
    private @Nullable Exchange ended;
    /** The request headers, for an error response. */
    private @Nullable Http2Headers head;

    private @Nullable SocketAddress client;

    /** The function that gets the request; {@code null} = none so far. */
    private @Nullable String function;

    private boolean headRequest;

    /** Whether it is a gRPC call, whose client may wait for the response before it sends more. */
    private boolean call;

    /** Whether a tunnel was requested and not refused so far. Its two directions end separately. */
    private boolean tunnel;

    private boolean bodyless;

    private long received;

    /** The part of {@code received} that has not been returned to the client's window. */
    private int requestUntaken;

    private int requestWithheld;
    private long taken;

    // Created by the first check that finds the dispatcher waiting for the client.
    private @Nullable Pace requestPace;
    private @Nullable Pace responsePace;

    Http2ClientStream(Http2ClientConnection connection, ChannelHandlerContext ctx, Http2Stream stream) {
        this.connection = connection;
        this.ctx = ctx;
        this.stream = stream;
        this.outlet = new DataOutlet(connection, ctx, stream, this);
        this.client = connection.context().client();
    }

    /**
     * Returns whether the stream is closed and its objects can serve another one. Its exchange has
     * ended by then, and calls nothing here any more.
     */
    boolean isReusable() {
        return state == State.CLOSED && outlet.isReusable();
    }

    /** Starts again for another stream of the connection. */
    void reopen(Http2Stream next) {
        stream = next;
        outlet.reopen(next);
        state = State.REQUESTED;
        if (request != null) {
            request.detach();
        }
        ended = request instanceof Exchange exchange ? exchange : null;
        request = null;
        head = null;
        client = connection.context().client();
        function = null;
        headRequest = false;
        call = false;
        tunnel = false;
        received = 0;
        requestUntaken = 0;
        requestWithheld = 0;
        taken = 0;
        requestPace = null;
        responsePace = null;
    }

    // Calls from the client's side.

    void onRequestHead(Http2Headers head, boolean end) {
        this.head = head;
        CharSequence method = head.method();
        headRequest = Methods.isHead(method);
        tunnel = Methods.isConnect(method);
        Rejection rejection = verify(head);
        if (rejection != null) {
            reject(rejection.status(), rejection.detail());
            return;
        }
        CharSequence expectation = tunnel ? null : head.get(HttpHeaderNames.EXPECT);
        if (expectation != null
                && (head.getAllAndRemove(HttpHeaderNames.EXPECT).size() > 1
                        || !HttpHeaderValues.CONTINUE.contentEqualsIgnoreCase(expectation))) {
            reject(HttpResponseStatus.EXPECTATION_FAILED, "unsupported expect header, expected 100-continue");
            return;
        }
        Failure refused =
                tunnel ? connection.rules().connect(head) : connection.rules().request(head);
        client = connection.rules().client();
        call = !end && Grpc.isCall(head);
        request = connection.context().account().openUnless(refused, head, end, this);
        if (expectation != null && !end && state == State.REQUESTED) {
            writeHead(new DefaultHttp2Headers(false).status(HttpResponseStatus.CONTINUE.codeAsText()), false);
        }
    }

    /**
     * Checks what Netty's codec does not check. The codec has checked pseudo-headers, names, values
     * and connection-specific headers.
     */
    private @Nullable Rejection verify(Http2Headers head) {
        int maxFields = connection.context().limits().maxHeaders();
        if (head.size() > maxFields) {
            return new Rejection(
                    HttpResponseStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    "request with " + head.size() + " headers, limit " + maxFields);
        }
        if (tunnel) {
            CharSequence protocol = head.get(PROTOCOL);
            if (protocol == null || !HttpHeaderValues.WEBSOCKET.contentEquals(protocol)) {
                return new Rejection(
                        HttpResponseStatus.NOT_IMPLEMENTED,
                        protocol == null
                                ? "CONNECT is not supported without :protocol"
                                : ":protocol " + protocol + ", expected " + HttpHeaderValues.WEBSOCKET);
            }
        }
        CharSequence host = null;
        if (head.contains(HttpHeaderNames.HOST)) {
            List<CharSequence> hosts = head.getAllAndRemove(HttpHeaderNames.HOST);
            if (hosts.size() > 1) {
                return Rejection.badRequest("more than one host");
            }
            host = hosts.get(0);
        }
        CharSequence authority = head.authority();
        if (authority == null) {
            if (host == null || host.length() == 0) {
                return Rejection.badRequest("neither :authority nor host");
            }
            head.authority(host);
        } else if (host != null && !Authority.isSame(host, authority, head.scheme())) {
            return Rejection.badRequest("host differs from :authority");
        }
        if (!connection.isAuthority(head.authority())) {
            return Rejection.badRequest(
                    "malformed :authority, or longer than " + HeaderSyntax.MOST_AUTHORITY_CHARS + " characters");
        }
        if (!HeaderSyntax.isToken(head.method())) {
            return Rejection.badRequest("malformed :method");
        }
        if (!HttpScheme.HTTP.name().contentEquals(head.scheme())
                && !HttpScheme.HTTPS.name().contentEquals(head.scheme())) {
            return Rejection.badRequest(":scheme, expected http or https");
        }
        return HeaderSyntax.isPath(head.path(), head.method()) ? null : Rejection.badRequest("malformed :path");
    }

    /** @return number of bytes that the window gets back immediately */
    int onRequestData(ByteBuf data, boolean end) {
        if (isAnsweredEarly()) {
            return 0; // The client should stop, and waits for no more than its window.
        }
        RequestSink to = request;
        if (to == null || state == State.RESPONDED && !tunnel || state == State.CLOSED) {
            return data.readableBytes();
        }
        if (end || data.isReadable()) {
            connection.onRequestPart();
        }
        received += data.readableBytes();
        requestUntaken += data.readableBytes();
        to.data(data.readRetainedSlice(data.readableBytes()), end);
        return 0;
    }

    void onRequestTrailers(Http2Headers trailers) {
        if (tunnel) {
            // RFC 9113 section 8.5: only DATA is allowed.
            connection.resetForFault(stream, Http2Error.PROTOCOL_ERROR);
            onClosed();
        } else if (request != null && state != State.CLOSED) {
            connection.rules().requestTrailers(trailers);
            request.trailers(trailers);
        }
    }

    /**
     * Resets the stream without an error if the response is complete and the request is not (RFC
     * 9113 section 8.1), unless the client ends it soon.
     */
    void onHalfClosed() {
        if (isAnsweredEarly()) {
            int id = stream.id();
            ctx.executor().schedule(() -> resetIfAnswered(id), RESET_DELAY_MILLIS, TimeUnit.MILLISECONDS);
        }
    }

    /** Resets the stream, unless it has ended. These objects can serve another one by then. */
    private void resetIfAnswered(int id) {
        if (stream.id() == id && isAnsweredEarly()) {
            connection.reset(stream, Http2Error.NO_ERROR);
        }
    }

    /** Returns whether the response was sent completely, and the request has not ended. */
    boolean isAnsweredEarly() {
        return state == State.RESPONDED && !tunnel && stream.state() == Http2Stream.State.HALF_CLOSED_LOCAL;
    }

    void onClosed() {
        State before = state;
        state = State.CLOSED;
        outlet.close();
        boolean wanted = before == State.REQUESTED || before == State.RESPONDING || tunnel && before == State.RESPONDED;
        if (request != null && wanted) {
            request.cancel(ErrorCode.CANCELLED);
        }
    }

    /**
     * Checks for a client that is too slow, because it occupies a worker stream.
     *
     * @param reading whether bytes of the client are read
     * @param windowOpen whether the connection's window lets the client send
     * @return whether a part of the response waits
     */
    boolean look(long now, boolean reading, boolean windowOpen) {
        HttpLimits limits = connection.context().limits();
        boolean pending = outlet.pendingBytes() > 0;
        boolean toTake = pending && reading && connection.isWindowClosed(stream);
        responsePace = responsePace == null && toTake ? new Pace() : responsePace;
        if (responsePace != null
                && responsePace.isTooSlow(
                        now, toTake, taken, limits.writeTimeout().toNanos(), tunnel ? 0 : limits.minDataRate())) {
            connection.context().observer().onProtection(Protection.RESPONSE_TOO_SLOW);
            cutOff();
        } else if (state == State.REQUESTED && !tunnel && !call) {
            lookAtBody(
                    now,
                    reading && windowOpen && stream.state().remoteSideOpen() && connection.isExpectingBody(stream));
        } else {
            lookAtSilence(now, !pending && mayBeForgotten());
        }
        return pending;
    }

    private void lookAtBody(long now, boolean toSend) {
        HttpLimits limits = connection.context().limits();
        requestPace =
                requestPace == null && toSend ? new Pace(limits.bodyTimeout().toNanos()) : requestPace;
        if (requestPace != null
                && requestPace.isTooSlow(
                        now, toSend, received, limits.bodyTimeout().toNanos(), limits.minDataRate())) {
            connection.context().observer().onProtection(Protection.BODY_TOO_SLOW);
            if (request != null) {
                request.cancel(ErrorCode.CANCELLED);
            }
            reject(HttpResponseStatus.REQUEST_TIMEOUT, "the request body arrives too slowly");
        }
    }

    /**
     * Returns whether the stream could stay open unnoticed if a peer is lost, because no timeout of
     * the request applies any more.
     */
    private boolean mayBeForgotten() {
        boolean clientEnded = !stream.state().remoteSideOpen();
        boolean responding = state == State.RESPONDING || call && state == State.REQUESTED;
        return tunnel ? clientEnded || state == State.RESPONDED : !clientEnded && responding;
    }

    private void lookAtSilence(long now, boolean silent) {
        requestPace = requestPace == null && silent ? new Pace() : requestPace;
        long timeout = connection.context().limits().idleTimeout().toNanos();
        if (requestPace != null && requestPace.isTooSlow(now, silent, received + taken, timeout, 0)) {
            cutOff();
        }
    }

    private void cutOff() {
        connection.resetForFault(stream, Http2Error.CANCEL);
        onClosed();
    }

    /**
     * Returns the bytes that are held of the request, and of a response that waits for the client's
     * window.
     */
    long heldBytes() {
        return ClientAccount.EXCHANGE_BYTES
                + requestUntaken
                + outlet.pendingBytes()
                + (request == null ? 0 : request.heldBytes());
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
    public @Nullable Exchange takeEndedExchange() {
        Exchange taken = ended;
        ended = null;
        return taken;
    }

    @Override
    public @Nullable SocketAddress remoteAddress() {
        return client;
    }

    @Override
    public ClientProtocol protocol() {
        return ClientProtocol.HTTP_2;
    }

    @Override
    public void onRouted(String name) {
        function = name;
    }

    @Override
    public void onInterim(Http2Headers head) {
        if (state != State.REQUESTED) {
            return;
        }
        if (!ctx.channel().isWritable()) {
            // Dropped, because flow control does not limit interim responses.
            connection.context().observer().onProtection(Protection.INTERIM_DROPPED);
        } else {
            connection.rules().informational(head);
            writeHead(head, false);
        }
    }

    /** The headers are encoded immediately, because no DATA precedes them. */
    @Override
    public boolean isDoneWithHead() {
        return true;
    }

    @Override
    public void onHead(Http2Headers head, boolean end) {
        if (state == State.REQUESTED) {
            state = end ? State.RESPONDED : State.RESPONDING;
            connection.rules().response(head);
            connection.context().errors().onResponse(function, this.head, head);
            if (tunnel) {
                onTunnelHead(head);
            }
            bodyless = StatusCode.isBodyless(StatusCode.parse(head.status()));
            writeHead(head, end);
            if (tunnel) {
                connection.leaveDrainIfOnlyTunnels();
            }
        }
    }

    /** Returns whether the stream is a tunnel that the worker has accepted. */
    boolean isTunnelOpen() {
        return tunnel && state != State.REQUESTED;
    }

    private void onTunnelHead(Http2Headers head) {
        tunnel = TunnelHead.opens(head);
        if (head.remove(TunnelHead.NOT_SWITCHED)) {
            // Any 2xx would tell the client that the tunnel is open (RFC 8441 section 5).
            head.status(HttpResponseStatus.BAD_GATEWAY.codeAsText());
        }
        if (tunnel) {
            head.status(HttpResponseStatus.OK.codeAsText());
            head.remove(HttpHeaderNames.CONTENT_LENGTH);
            head.remove(HttpHeaderNames.SEC_WEBSOCKET_ACCEPT);
        }
    }

    @Override
    public void onData(ByteBuf data, boolean end) {
        if (state == State.RESPONDING && end) {
            state = State.RESPONDED;
        }
        connection.context().account().onHeld(data.readableBytes());
        outlet.body(data);
        if (end) {
            outlet.end();
        }
        connection.flushSoon();
    }

    @Override
    public void onTrailers(Http2Headers trailers) {
        if (state == State.RESPONDING) {
            state = State.RESPONDED;
            if (tunnel || bodyless) {
                outlet.end();
                connection.flushSoon();
                return;
            }
            Trailers.removeForbidden(trailers);
            writeHead(trailers, true);
        }
    }

    @Override
    public void onFailure(Failure failure) {
        switch (state) {
            case REQUESTED -> {
                if (failure.kind() == Failure.Kind.DEADLINE_EXCEEDED && head != null && Grpc.isCall(head)) {
                    answerLateCall(failure);
                } else {
                    answer(connection.context().errors().answer(ctx.alloc(), failure, head, function));
                }
            }
            case RESPONDING -> cut(failure);
            case RESPONDED -> {
                if (tunnel) {
                    cut(failure);
                }
            }
            case CLOSED -> {}
        }
    }

    private void cut(Failure failure) {
        state = State.CLOSED;
        connection.context().errors().count(failure, head, function);
        connection.reset(stream, tunnel ? Http2Error.CANCEL : error(failure.kind()));
        outlet.close();
    }

    /**
     * Returns the error code for the client. gRPC, for example, reads CANCEL as its CANCELLED. On a
     * tunnel, a reset means what RST means to TCP (RFC 8441 section 5).
     */
    private static Http2Error error(Failure.Kind kind) {
        return switch (kind) {
            case HANDLER_CANCELLED, TIMEOUT, DEADLINE_EXCEEDED -> Http2Error.CANCEL;
            default -> Http2Error.INTERNAL_ERROR;
        };
    }

    @Override
    public void onRequestTaken(int bytes) {
        requestUntaken -= bytes;
        requestWithheld += bytes;
        int windowBytes = connection.context().limits().streamWindowBytes();
        int allowedBytes = connection.context().account().windowBytes(windowBytes);
        // If memory is scarce, the client may send more when half of its allowance has been taken.
        if (allowedBytes == windowBytes || requestUntaken <= allowedBytes / 2) {
            int back = requestWithheld;
            requestWithheld = 0;
            connection.giveBack(stream, back);
        }
    }

    @Override
    public void onTaken(int bodyBytes) {
        taken += bodyBytes;
        connection.onTaken(bodyBytes, outlet.pendingBytes() > 0);
        if (request != null) {
            request.responseTaken(bodyBytes);
        }
    }

    private void reject(HttpResponseStatus status, String detail) {
        answer(connection.context().errors().reject(ctx.alloc(), status, detail, head));
    }

    private void answer(TextAnswer answer) {
        state = State.RESPONDED;
        tunnel = false;
        connection.rules().ownResponse(answer.head());
        writeHead(answer.head(), headRequest);
        if (headRequest) {
            answer.body().release();
        } else {
            outlet.meta(answer.body());
            outlet.end();
        }
    }

    /** A gRPC client would make UNAVAILABLE of 504, and might repeat the call. */
    private void answerLateCall(Failure failure) {
        state = State.RESPONDED;
        connection.context().errors().count(failure, head, function);
        Http2Headers answer = Grpc.deadlineExceeded(failure.kind().message());
        connection.context().errors().allow(answer, head, function);
        connection.rules().ownResponse(answer);
        writeHead(answer, true);
    }

    private void writeHead(Http2Headers head, boolean end) {
        connection.encoder().writeHeaders(ctx, stream.id(), head, 0, end, connection.headPromise(stream));
        connection.flushSoon();
    }
}
