package io.lambdadispatcher.worker.blocking;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.lambdadispatcher.wire.http.StatusCode;
import io.lambdadispatcher.worker.handler.Response;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The response of a blocking handler. Status and headers are sent with the first bytes of the body.
 * Confined to the handler's thread.
 */
final class BlockingAnswer implements BlockingResponse {
    private final Response to;
    private final BodyOutput body;
    private final FlatHeaders head = new FlatHeaders();
    private @Nullable FlatHeaders trailers;
    private boolean begun;
    private boolean headSent;

    BlockingAnswer(Response to, BodyOutput body) {
        this.to = to;
        this.body = body;
    }

    @Override
    public void interim(int status, Map<String, String> headers) {
        FlatHeaders interim = new FlatHeaders();
        interim.status(text(status));
        headers.forEach((name, value) -> add(interim, name, value));
        to.interim(interim);
    }

    @Override
    public BlockingResponse status(int status) {
        verifyHeadOpen("status()");
        if (!StatusCode.isFinal(status) || status > 999) {
            throw new IllegalArgumentException("status " + status + ", expected 200 to 999");
        }
        begun = true;
        head.status(text(status));
        return this;
    }

    @Override
    public BlockingResponse header(String name, String value) {
        verifyHeadOpen("header()");
        begun = true;
        add(head, name, value);
        return this;
    }

    @Override
    public BlockingResponse trailer(String name, String value) {
        trailers = trailers == null ? new FlatHeaders() : trailers;
        add(trailers, name, value);
        return this;
    }

    private static void add(Http2Headers to, String name, String value) {
        OutgoingHeaders.verifyName(name);
        to.add(AsciiString.of(name).toLowerCase(), OutgoingHeaders.verifyValue(name, value));
    }

    private static AsciiString text(int status) {
        return AsciiString.of(Integer.toString(status));
    }

    private void verifyHeadOpen(String call) {
        if (headSent) {
            throw new IllegalStateException(call + " after the body's first bytes have been sent, expected before");
        }
    }

    @Override
    public OutputStream body() {
        begun = true;
        return body;
    }

    @Override
    public void respond(int status, String text) throws IOException {
        respond(status, "text/plain; charset=utf-8", text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void respond(int status, String contentType, byte[] bytes) throws IOException {
        status(status);
        header("content-type", contentType);
        head.set(HttpHeaderNames.CONTENT_LENGTH, text(bytes.length));
        body.write(bytes);
    }

    /** Sends status and headers if they have not been sent. */
    void sendHead() {
        if (!headSent) {
            to.head(finishedHead());
            headSent = true;
        }
    }

    private Http2Headers finishedHead() {
        if (head.status() == null) {
            head.status(text(200));
        }
        return head;
    }

    /**
     * Ends the response after the handler has returned. If the complete body was gathered, it is
     * sent together with the headers.
     *
     * @throws IllegalStateException if the handler has not responded, or the body does not match
     *     the headers
     */
    void end() throws IOException {
        if (!begun) {
            throw new IllegalStateException(
                    "the handler returned without a response, expected status(), a header or a body");
        }
        if (trailers != null) {
            body.flush();
            to.end(trailers);
        } else if (headSent) {
            body.flush();
            to.end();
        } else {
            respondAll(body.takeGathered());
        }
    }

    private void respondAll(@Nullable ByteBuf gathered) {
        if (gathered == null) {
            to.respond(finishedHead());
        } else {
            to.respond(finishedHead(), gathered);
        }
    }
}
