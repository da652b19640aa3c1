package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.TunnelHead;
import io.lambdadispatcher.wire.http.WebSocketKey;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One request to the application and its response, over one HTTP/1.1 connection.
 *
 * <pre>
 *   WAITING ─────connection──▶ REQUESTED ──head──▶ RESPONDING ──end──▶ ENDED
 *       ▲                        │   └──101──▶ TUNNELLING ──either end──▶ ENDED
 *       └──stale connection──────┘        any ──cancelled, failed──▶ ENDED
 * </pre>
 *
 * Bodies pass by reference. A body without a length is held for a moment, see {@link
 * UncountedBody}. A slow application pauses the request's body, and a slow client pauses reading
 * from the application. Confined to an event loop.
 *
 * <p><b>Errors.</b> A failure before the response's headers results in 502, or in a failed response
 * (see {@link Origin}). A failure after them breaks off the response.
 *
 * <p><b>Retries.</b> A request that met a connection that the application had just closed is sent
 * once more on a new connection (RFC 9112 section 9.3.1). Its method must be idempotent (RFC 9110
 * section 9.2.2), and it must have no body.
 */
final class Http1Exchange extends AppExchange {
    private static final int HEAD_BYTES = 1024;
    private static final int CHUNK_HEADER_BYTES = 16;

    /**
     * RFC 9110 section 10.1.1: a client does not wait forever for a 100 response, so neither do we.
     */
    private static final long CONTINUE_TIMEOUT_MILLIS = 1_000;

    private static final long NO_KEEP_ALIVE = -1;
    private static final AsciiString KEEP_ALIVE = AsciiString.cached("keep-alive");
    private static final String TIMEOUT_PARAMETER = "timeout=";

    private final Http1Upstream upstream;
    private final boolean replayable;
    private final @Nullable WebSocketKey key;

    private @Nullable Http1Connection connection;
    private boolean replayed;

    private Http1RequestHead.Body framing = Http1RequestHead.Body.NONE;
    private @Nullable ContentLength requestLength;
    private boolean chunkOpen;
    private boolean bodyReading;
    private boolean requestEnded;
    private boolean continueExpected;
    private @Nullable Future<?> bodyTimer;

    /** The body until the request is sent. {@code null} if its length is known, or after that. */
    private @Nullable UncountedBody held;

    /**
     * Held until it is known whether a body follows, because a complete response is sent as one
     * frame.
     */
    private @Nullable Http2Headers heldHead;

    private boolean keepAlive;
    private long keepAliveSeconds = NO_KEEP_ALIVE;
    private boolean interim;

    Http1Exchange(Http1Upstream upstream, Request request, Response response, Origin origin) {
        super(upstream.config, request, response, origin);
        this.upstream = upstream;
        this.key = RequestTarget.isWebSocket(request.headers()) ? WebSocketKey.random() : null;
        this.replayable = bodyless && Methods.isIdempotent(request.method());
    }

    boolean isReplayable() {
        return replayable;
    }

    // ---- the request

    @Override
    void acquire() {
        if (bodyless
                || key != null
                || request.headers().contains(HttpHeaderNames.CONTENT_LENGTH)
                || request.headers().contains(HttpHeaderNames.EXPECT)) {
            upstream.acquire(this);
            return;
        }
        held = new UncountedBody();
        bodyTimer = request.eventLoop().schedule(this::onHeldEnough, UncountedBody.WAIT_MILLIS, TimeUnit.MILLISECONDS);
        bodyReading = true;
        request.body().read(this);
    }

    /** The body that is held has ended, is large, or is late. Asks for a connection, once. */
    private void onHeldEnough() {
        if (bodyTimer != null) {
            stopWaiting();
            upstream.acquire(this);
        }
    }

    void onConnected(Http1Connection to) {
        if (state != State.WAITING) {
            to.giveBack();
            return;
        }
        UncountedBody first = held;
        held = null;
        if (first != null && first.length() >= 0) {
            request.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, first.length());
        }
        ByteBuf text = to.newBuffer(HEAD_BYTES);
        Http1RequestHead head =
                new Http1RequestHead(text, request.headers(), origin, config, key == null ? null : key.text());
        try {
            head.write(bodyless);
        } catch (BadMessageException e) {
            text.release();
            if (first != null) {
                first.release();
            }
            to.giveBack();
            answer(HttpResponseStatus.BAD_REQUEST, e.getMessage());
            return;
        }
        connection = to;
        state = State.REQUESTED;
        framing = head.body();
        requestLength = head.length();
        requestEnded = bodyless;
        to.begin(this, Methods.isHead(request.method()));
        to.write(text);
        if (first != null) {
            if (!first.passTo(this) && to.isWritable()) {
                request.body().resume();
            }
        } else if (head.expectsContinue()) {
            awaitContinue();
        } else if (!bodyless && key == null) {
            readBody();
        }
    }

    private void awaitContinue() {
        continueExpected = true;
        bodyTimer = request.eventLoop().schedule(this::readBody, CONTINUE_TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
    }

    private void readBody() {
        stopWaiting();
        if (!bodyReading && (state == State.REQUESTED || state == State.TUNNELLING)) {
            bodyReading = true;
            request.body().read(this);
        }
    }

    private void stopWaiting() {
        if (bodyTimer != null) {
            bodyTimer.cancel(false);
            bodyTimer = null;
        }
    }

    @Override
    public void onData(ByteBuf bytes) {
        Http1Connection to = connection;
        if (held != null) {
            held.add(bytes);
            if (held.isFull()) {
                request.body().pause();
                onHeldEnough();
            }
            return;
        }
        if (to == null) {
            bytes.release();
            return;
        }
        boolean writable = switch (framing) {
            case LENGTH -> writeCounted(to, bytes);
            case CHUNKED -> writeChunk(to, bytes);
            default -> to.write(bytes);
        };
        if (!writable) {
            request.body().pause();
        }
    }

    /**
     * Writes bytes of the body, but never more than its content-length: the application would read
     * the excess as the next request.
     */
    private boolean writeCounted(Http1Connection to, ByteBuf bytes) {
        if (requestLength != null && !requestLength.add(bytes.readableBytes(), false)) {
            bytes.release();
            refuse("the request's body is longer than its content-length");
            return true;
        }
        return to.write(bytes);
    }

    private boolean writeChunk(Http1Connection to, ByteBuf bytes) {
        ByteBuf header = to.newBuffer(CHUNK_HEADER_BYTES);
        if (chunkOpen) {
            header.writeShort('\r' << 8 | '\n');
        }
        chunkOpen = true;
        header.writeCharSequence(Integer.toHexString(bytes.readableBytes()), StandardCharsets.US_ASCII);
        header.writeShort('\r' << 8 | '\n');
        to.write(header);
        return to.write(bytes);
    }

    @Override
    public void onEnd(Http2Headers trailers) {
        Http1Connection to = connection;
        if (held != null) {
            held.end(trailers);
            onHeldEnough();
            return;
        }
        if (to == null) {
            return;
        }
        switch (framing) {
            case LENGTH -> endCounted();
            case CHUNKED -> endChunks(to, trailers);
            case TUNNEL -> to.shutdownOutput();
            case NONE -> requestEnded = true;
        }
    }

    private void endCounted() {
        if (requestLength == null || requestLength.add(0, true)) {
            requestEnded = true;
        } else {
            refuse("the request's body is shorter than its content-length");
        }
    }

    private void endChunks(Http1Connection to, Http2Headers trailers) {
        ByteBuf end = to.newBuffer(CHUNK_HEADER_BYTES);
        if (chunkOpen) {
            end.writeShort('\r' << 8 | '\n');
        }
        try {
            Http1RequestHead.writeTrailers(end, trailers, origin);
        } catch (BadMessageException e) {
            end.release();
            refuse("trailer " + e.getMessage());
            return;
        }
        requestEnded = true;
        to.write(end);
    }

    void onAppWritable() {
        if (bodyReading && state != State.ENDED) {
            request.body().resume();
        }
    }

    // ---- the response

    void onHead(HttpResponse from) {
        Http2Headers head;
        try {
            head = AppResponseHead.of(from);
        } catch (BadMessageException e) {
            breakOff(FailureReason.BAD_MESSAGE, e.getMessage());
            return;
        }
        int status = from.status().code();
        interim = status < HttpResponseStatus.OK.code();
        if (state != State.REQUESTED) {
            breakOff(FailureReason.BAD_MESSAGE, "the app answered twice");
        } else if (status == HttpResponseStatus.SWITCHING_PROTOCOLS.code()) {
            onSwitched(from, head);
        } else if (interim) {
            onInterim(status, head);
        } else {
            onFinalHead(from, head);
        }
    }

    private void onInterim(int status, Http2Headers head) {
        boolean isContinue = status == HttpResponseStatus.CONTINUE.code();
        if (!isContinue || continueExpected) {
            response.interim(head);
        }
        if (isContinue && continueExpected) {
            readBody();
        }
    }

    private void onFinalHead(HttpResponse from, Http2Headers head) {
        stopWaiting();
        if (key != null && from.status().code() < HttpResponseStatus.MULTIPLE_CHOICES.code()) {
            head.set(TunnelHead.NOT_SWITCHED, "1");
        }
        state = State.RESPONDING;
        keepAlive = HttpUtil.isKeepAlive(from);
        keepAliveSeconds = keepAliveSeconds(from.headers().get(KEEP_ALIVE));
        heldHead = head;
    }

    private static long keepAliveSeconds(@Nullable String field) {
        int at = field == null ? -1 : field.indexOf(TIMEOUT_PARAMETER);
        if (field == null || at < 0) {
            return NO_KEEP_ALIVE;
        }
        long seconds = 0;
        for (int i = at + TIMEOUT_PARAMETER.length(); i < field.length() && seconds < Integer.MAX_VALUE; i++) {
            int digit = Character.digit(field.charAt(i), 10);
            if (digit < 0) {
                break;
            }
            seconds = seconds * 10 + digit;
        }
        return seconds;
    }

    private void onSwitched(HttpResponse from, Http2Headers head) {
        if (key == null || connection == null || !key.isAccepted(from.headers())) {
            breakOff(FailureReason.BAD_MESSAGE, "the app switched protocols without a valid upgrade request");
            return;
        }
        state = State.TUNNELLING;
        head.remove(HttpHeaderNames.SEC_WEBSOCKET_ACCEPT);
        head.status(HttpResponseStatus.OK.codeAsText());
        response.head(head);
    }

    void onContent(HttpContent content) {
        boolean last = content instanceof LastHttpContent;
        if (content.decoderResult().isFailure()) {
            content.release();
            breakOff(FailureReason.BAD_MESSAGE, "the app's response is malformed: " + content.decoderResult());
        } else if (state == State.TUNNELLING) {
            content.release();
            enterTunnel();
        } else if (interim) {
            content.release();
        } else if (last) {
            onLastContent((LastHttpContent) content);
        } else {
            try {
                releaseHead();
            } catch (RuntimeException | Error e) {
                content.release();
                throw e;
            }
            write(content.content());
        }
    }

    /** Passes bytes unparsed from now on: after the headers, there are no more HTTP messages. */
    private void enterTunnel() {
        if (connection != null) {
            connection.becomeTunnel();
        }
        readBody();
    }

    private void onLastContent(LastHttpContent last) {
        Http2Headers trailers;
        try {
            trailers = AppHeaders.trailers(last.trailingHeaders());
        } catch (BadMessageException e) {
            last.release();
            breakOff(FailureReason.BAD_MESSAGE, "trailer " + e.getMessage());
            return;
        }
        Http1Connection from = connection;
        connection = null;
        state = State.ENDED;
        if (from != null) {
            from.finish(keepAlive && requestEnded, keepAliveSeconds);
        }
        try {
            endResponse(last.content(), trailers);
        } catch (RuntimeException | Error e) {
            // The connection no longer refers to this exchange, so nobody else would answer.
            response.fail(FailureReason.BAD_MESSAGE, "the app's response could not be passed on: " + e.getMessage());
            throw e;
        }
    }

    private void endResponse(ByteBuf bytes, Http2Headers trailers) {
        Http2Headers head = heldHead;
        heldHead = null;
        if (!trailers.isEmpty()) {
            if (head != null) {
                response.head(head);
            }
            write(bytes);
            response.end(trailers);
        } else if (head == null) {
            write(bytes);
            response.end();
        } else if (bytes.isReadable()) {
            response.respond(head, bytes);
        } else {
            bytes.release();
            response.respond(head);
        }
    }

    private void releaseHead() {
        Http2Headers head = heldHead;
        if (head != null) {
            heldHead = null;
            response.head(head);
        }
    }

    private void write(ByteBuf bytes) {
        if (!bytes.isReadable()) {
            bytes.release();
        } else if (!response.write(bytes) && connection != null) {
            connection.setReading(false);
        }
    }

    void onBytes(ByteBuf bytes) {
        write(bytes);
    }

    void onReadComplete() {
        releaseHead();
    }

    @Override
    void onClientWritable() {
        if (connection != null) {
            connection.setReading(true);
        }
    }

    // ---- the end

    /** @param cause why the connection broke, or {@code null} if it was closed in order */
    void onClosed(@Nullable Throwable cause, boolean bytesRead) {
        Http1Connection closed = connection;
        connection = null;
        boolean stale = closed != null && closed.isUsed() && !bytesRead;
        if (state == State.REQUESTED && stale && replayable && !replayed) {
            replayed = true;
            state = State.WAITING;
            upstream.connect(this);
        } else if (state == State.TUNNELLING && cause == null) {
            end();
            response.end();
        } else if (state != State.ENDED) {
            breakOff(
                    FailureReason.HANDLER_FAILED,
                    "the app closed its connection before its response had ended"
                            + (cause == null ? "" : ": " + cause.getMessage()));
        }
    }

    @Override
    boolean isHeadSent() {
        return heldHead == null && super.isHeadSent();
    }

    @Override
    void end() {
        state = State.ENDED;
        stopWaiting();
        heldHead = null;
        if (held != null) {
            held.release();
            held = null;
        }
        Http1Connection open = connection;
        connection = null;
        if (open != null) {
            open.close();
        }
        if (bodyReading) {
            // The rest of a tunnel's request is dropped. A body that stays paused would block the
            // worker stream.
            request.body().resume();
        }
    }
}
