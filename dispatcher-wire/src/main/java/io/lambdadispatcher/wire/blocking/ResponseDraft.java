package io.lambdadispatcher.wire.blocking;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.lambdadispatcher.wire.http.OutgoingHeaders;
import io.lambdadispatcher.wire.http.StatusCode;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The response of a blocking handler. Status and headers are sent with the first bytes of the body.
 * Confined to the handler's thread.
 *
 * @param <R> the type of the response that the handler sees, which a subclass implements
 */
public abstract class ResponseDraft<R> {
    private final OutputStream body;
    private final FlatHeaders head = new FlatHeaders();
    private @Nullable FlatHeaders trailers;
    private boolean begun;
    private boolean headSent;

    protected ResponseDraft(OutputStream body) {
        this.body = body;
    }

    protected abstract R self();

    public R status(int status) {
        verifyHeadOpen("status()");
        if (!StatusCode.isFinal(status) || status > 999) {
            throw new IllegalArgumentException("status " + status + ", expected 200 to 999");
        }
        begun = true;
        head.status(text(status));
        return self();
    }

    public R header(String name, String value) {
        verifyHeadOpen("header()");
        begun = true;
        add(head, name, value);
        return self();
    }

    public R trailer(String name, String value) {
        trailers = trailers == null ? new FlatHeaders() : trailers;
        add(trailers, name, value);
        return self();
    }

    protected static void add(Http2Headers to, String name, String value) {
        OutgoingHeaders.verifyName(name);
        to.add(AsciiString.of(name).toLowerCase(), OutgoingHeaders.verifyValue(name, value));
    }

    protected static AsciiString text(int number) {
        return AsciiString.of(Integer.toString(number));
    }

    private void verifyHeadOpen(String call) {
        if (headSent) {
            throw new IllegalStateException(call + " after the body's first bytes have been sent, expected before");
        }
    }

    public OutputStream body() {
        begun = true;
        return body;
    }

    public void respond(int status, String text) throws IOException {
        respond(status, "text/plain; charset=utf-8", text.getBytes(StandardCharsets.UTF_8));
    }

    public void respond(int status, String contentType, byte[] bytes) throws IOException {
        status(status);
        header("content-type", contentType);
        head.set(HttpHeaderNames.CONTENT_LENGTH, text(bytes.length));
        body.write(bytes);
    }

    /** Returns status and headers; {@code null} if they have been sent. */
    public final @Nullable Http2Headers unsentHead() {
        if (headSent) {
            return null;
        }
        if (head.status() == null) {
            head.status(text(200));
        }
        return head;
    }

    public final void onHeadSent() {
        headSent = true;
    }

    /** Returns {@code null} if there are none. */
    public final @Nullable Http2Headers trailers() {
        return trailers;
    }

    /** @throws IllegalStateException if the handler has not responded */
    public final void verifyBegun() {
        if (!begun) {
            throw new IllegalStateException(
                    "the handler returned without a response, expected status(), a header or a body");
        }
    }
}
