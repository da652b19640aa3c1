package io.lambdadispatcher.worker.adapter.web;

import io.lambdadispatcher.wire.http.ContentLength;
import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.HopByHop;
import io.lambdadispatcher.wire.http.Methods;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.wire.http.Trailers;
import io.lambdadispatcher.wire.http2.CoalescingHttp2Handler;
import io.lambdadispatcher.wire.http2.DataOutlet;
import io.lambdadispatcher.worker.handler.FailureReason;
import io.lambdadispatcher.worker.handler.Request;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpScheme;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.util.AsciiString;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One request to the application and its response, on one HTTP/2 stream.
 *
 * <pre>
 *   WAITING ──connection──▶ REQUESTED ──head──▶ RESPONDING ──END_STREAM──▶ ENDED
 *      ▲                       │                    any ──cancelled, failed──▶ ENDED
 *      └──refused, or stale────┘
 * </pre>
 *
 * Bytes are returned to the stream's window when the response has taken them. The request's body is
 * paused while too much of it waits for the application's window. Confined to an event loop.
 *
 * <p><b>Retries.</b> A request is sent once more, whatever its method, if the application has
 * refused it (RST_STREAM with REFUSED_STREAM, or a stream above the last one of a GOAWAY; RFC 9113
 * section 8.7). A request without a body and with an idempotent method is also sent once more if a
 * connection that was used before closes. Requests of which body bytes have been sent are never
 * repeated.
 */
final class H2cExchange extends AppExchange implements DataOutlet.Listener {
    /** Pauses the request's body at this many bytes that wait for the application's window. */
    private static final int HIGH_WATER_BYTES = 256 * 1024;

    private static final int LOW_WATER_BYTES = 64 * 1024;

    private final H2cUpstream upstream;

    private boolean repeated;
    private @Nullable H2cConnection connection;
    private @Nullable Http2Stream stream;
    private @Nullable DataOutlet outlet;

    /** {@link CoalescingHttp2Handler#flushes} when the request was written. */
    private long writtenAtFlush;

    private final ContentLength requestLength = new ContentLength();
    private boolean bodyReading;
    private boolean bodySent;
    private boolean paused;
    private int untakenBytes;

    H2cExchange(H2cUpstream upstream, Request request, Response response, Origin origin) {
        super(upstream.config, request, response, origin);
        this.upstream = upstream;
    }

    // ---- the request

    @Override
    void acquire() {
        upstream.acquire(this);
    }

    void onConnected(H2cConnection to) {
        if (state != State.WAITING) {
            return;
        }
        if (RequestTarget.isWebSocket(request.headers()) && !to.takesWebSockets()) {
            state = State.ENDED;
            upstream.http1().relay(request, response, origin);
            return;
        }
        Http2Headers head;
        try {
            head = translate(request.headers());
        } catch (BadMessageException e) {
            answer(HttpResponseStatus.BAD_REQUEST, e.getMessage());
            return;
        }
        Http2Stream opened = to.open(this, head, bodyless);
        if (opened == null) {
            answer(HttpResponseStatus.BAD_GATEWAY, "the app accepts no more streams");
            return;
        }
        connection = to;
        stream = opened;
        writtenAtFlush = to.http2().flushes();
        state = State.REQUESTED;
        if (!bodyless) {
            outlet = new DataOutlet(to.http2(), to.ctx(), opened, this);
            readBody();
        }
    }

    /** Reads the body. A repeated request has a reader already, so its body only resumes. */
    private void readBody() {
        if (!bodyReading) {
            bodyReading = true;
            request.body().read(this);
        } else {
            request.body().resume();
        }
    }

    private Http2Headers translate(Http2Headers from) throws BadMessageException {
        RequestTarget target = RequestTarget.of(from, origin, config);
        if (!RequestTarget.isConnect(from)) {
            AppHeaders.expectBody(requestLength, from, bodyless);
        }
        FlatHeaders to = new FlatHeaders();
        to.method(target.method())
                .scheme(HttpScheme.HTTP.name())
                .authority(target.authority())
                .path(target.path());
        for (Map.Entry<CharSequence, CharSequence> field : from) {
            if (!AppHeaders.isPseudo(field.getKey())) {
                copy(field.getKey(), field.getValue(), to);
            } else if (AsciiString.contentEquals(field.getKey(), RequestTarget.PROTOCOL)) {
                to.add(RequestTarget.PROTOCOL, field.getValue());
            }
        }
        return to;
    }

    private void copy(CharSequence name, CharSequence value, FlatHeaders to) throws BadMessageException {
        AppHeaders.verify(name, value);
        AsciiString source = config.authorizationSource;
        if (HopByHop.isDroppedFromRequest(name, value)
                || AsciiString.contentEquals(name, HttpHeaderNames.HOST)
                || !origin.mayHave(name)) {
            return;
        }
        if (source == null || !request.headers().contains(source)) {
            to.addValid(name, value);
        } else if (AsciiString.contentEquals(name, source)) {
            to.addValid(HttpHeaderNames.AUTHORIZATION, value);
        } else if (!AsciiString.contentEquals(name, HttpHeaderNames.AUTHORIZATION)) {
            to.addValid(name, value);
        }
    }

    @Override
    public void onData(ByteBuf content) {
        H2cConnection to = connection;
        DataOutlet out = outlet;
        if (to == null || out == null) {
            content.release();
            return;
        }
        if (!requestLength.add(content.readableBytes(), false)) {
            content.release();
            refuse("the request's body is longer than its content-length");
            return;
        }
        bodySent = true;
        out.body(content);
        to.http2().flushSoon();
        if (out.pendingBytes() > HIGH_WATER_BYTES) {
            paused = true;
            request.body().pause();
        }
    }

    /**
     * Resumes the body later, because this is called within a flush, when nothing may be written.
     */
    @Override
    public void onTaken(int bodyBytes) {
        DataOutlet out = outlet;
        if (paused && out != null && out.pendingBytes() <= LOW_WATER_BYTES) {
            paused = false;
            request.eventLoop().execute(request.body()::resume);
        }
    }

    @Override
    public void onEnd(Http2Headers trailers) {
        H2cConnection to = connection;
        DataOutlet out = outlet;
        Http2Stream on = stream;
        if (to == null || out == null || on == null) {
            return;
        }
        if (!requestLength.add(0, true)) {
            refuse("the request's body is shorter than its content-length");
            return;
        }
        bodySent = true;
        if (trailers.isEmpty()) {
            out.end();
            to.http2().flushSoon();
            return;
        }
        try {
            to.writeTrailers(on, AppHeaders.trailers(trailers, origin));
        } catch (BadMessageException e) {
            refuse("trailer " + e.getMessage());
        }
    }

    // ---- the response

    void onHeaders(Http2Headers head, boolean end) {
        if (state == State.RESPONDING) {
            onTrailers(head, end);
        } else if (state == State.REQUESTED && isUnsent()) {
            breakOff(FailureReason.BAD_MESSAGE, "the app answered before the request was sent");
        } else if (state == State.REQUESTED) {
            onHead(head, end);
        }
    }

    /** An application can guess the id of the next stream. Its frames belong to no request then. */
    private boolean isUnsent() {
        return connection != null && connection.http2().flushes() == writtenAtFlush;
    }

    private void onTrailers(Http2Headers trailers, boolean end) {
        if (!end || trailers.status() != null) {
            breakOff(FailureReason.BAD_MESSAGE, "the app answered twice");
            return;
        }
        Trailers.removeForbidden(trailers);
        endWith(() -> response.end(trailers));
    }

    private void onHead(Http2Headers head, boolean end) {
        int status = StatusCode.parse(head.status());
        boolean interim = StatusCode.isInterim(status);
        if (!interim && !StatusCode.isFinal(status)) {
            breakOff(
                    FailureReason.BAD_MESSAGE,
                    "the app answered with status " + head.status() + ", expected 100 to 999 and not 101");
            return;
        }
        HopByHop.removeFromResponse(head);
        if (interim && end) {
            breakOff(FailureReason.BAD_MESSAGE, "the app ended its response with status " + status);
        } else if (interim) {
            response.interim(head);
        } else if (end) {
            endWith(() -> response.respond(head));
        } else {
            state = State.RESPONDING;
            response.head(head);
        }
    }

    /** @return the bytes to return to the window now */
    int onData(ByteBuf data, boolean end) {
        int bytes = data.readableBytes();
        if (state != State.RESPONDING) {
            if (state == State.REQUESTED) {
                breakOff(FailureReason.BAD_MESSAGE, "the app sent a body before the response headers");
            }
            return bytes;
        }
        boolean writable = bytes == 0 || response.write(data.retainedSlice());
        if (end) {
            endWith(response::end);
            return bytes;
        }
        if (writable) {
            return bytes;
        }
        untakenBytes += bytes;
        return 0;
    }

    @Override
    void onClientWritable() {
        int bytes = untakenBytes;
        untakenBytes = 0;
        if (connection != null && stream != null) {
            connection.http2().giveBack(stream, bytes);
        }
    }

    /**
     * Ends the exchange. The connection no longer refers to it then, so nobody else would answer.
     */
    private void endWith(Runnable lastPart) {
        onResponseEnded();
        try {
            lastPart.run();
        } catch (RuntimeException | Error e) {
            response.fail(FailureReason.BAD_MESSAGE, "the app's response could not be passed on: " + e.getMessage());
            throw e;
        }
    }

    /**
     * Ends the exchange. If the application has responded without reading the complete request, it
     * is told with a reset that the rest does not come. This includes a rest that waits for the
     * window: an application that does not read on never opens it, and the stream would never end.
     */
    private void onResponseEnded() {
        H2cConnection from = connection;
        Http2Stream on = stream;
        leave();
        if (from != null && on != null && on.state().localSideOpen()) {
            // The stream cannot be reset within the frame that ends the response. What the window
            // lets through is sent before.
            request.eventLoop().execute(() -> from.reset(on, Http2Error.CANCEL));
        }
    }

    // ---- the end

    /** Breaks off the exchange because the response cannot be passed on. */
    void onMalformed(String text) {
        if (state != State.ENDED) {
            breakOff(FailureReason.BAD_MESSAGE, "the app's response is malformed: " + text);
        }
    }

    void onReset(@Nullable Http2Error error) {
        if (state == State.ENDED) {
            return;
        }
        if (error == Http2Error.REFUSED_STREAM && mayRepeat()) {
            repeat();
        } else {
            breakOff(codeOf(error), "the app reset its stream: " + error);
        }
    }

    private static FailureReason codeOf(@Nullable Http2Error error) {
        if (error == Http2Error.REFUSED_STREAM) {
            return FailureReason.REFUSED;
        }
        return error == Http2Error.CANCEL ? FailureReason.CANCELLED : FailureReason.HANDLER_FAILED;
    }

    /** @param refused whether the application has said that it has not processed the request */
    void onStreamClosed(boolean refused) {
        if (state == State.ENDED || state == State.WAITING) {
            return;
        }
        boolean stale = connection != null && connection.isUsed() && bodyless && Methods.isIdempotent(request.method());
        if (mayRepeat() && (refused || stale)) {
            repeat();
        } else if (refused && state == State.REQUESTED) {
            breakOff(FailureReason.REFUSED, "the app closed its connection without having processed the request");
        } else {
            breakOff(FailureReason.HANDLER_FAILED, "the app closed its connection before its response had ended");
        }
    }

    private boolean mayRepeat() {
        return state == State.REQUESTED && !bodySent && !repeated;
    }

    private void repeat() {
        repeated = true;
        state = State.WAITING;
        if (bodyReading) {
            request.body().pause();
        }
        detach();
        // Not within the frame that has refused the request.
        request.eventLoop().execute(() -> {
            if (state == State.WAITING) {
                upstream.connect(this);
            }
        });
    }

    @Override
    void end() {
        H2cConnection from = connection;
        Http2Stream on = stream;
        leave();
        if (from != null && on != null) {
            from.reset(on, Http2Error.CANCEL);
        }
    }

    private void leave() {
        state = State.ENDED;
        onClientWritable();
        detach();
        if (paused) {
            // The rest of a tunnel's request is dropped. A body that stays paused would block the
            // worker stream.
            paused = false;
            request.body().resume();
        }
    }

    /** Detaches from the stream. Its end drops what is left in the outlet. */
    private void detach() {
        connection = null;
        stream = null;
        outlet = null;
    }
}
