package io.lambdadispatcher.core.internal.inprocess;

import io.lambdadispatcher.core.spi.InProcessResponse;
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

/** The response of a handler that may block. Confined to the handler's thread. */
final class HandlerAnswer implements InProcessResponse {
    private final OutputStream body;
    private final FlatHeaders head = new FlatHeaders();
    private @Nullable FlatHeaders trailers;
    private boolean begun;
    private boolean headSent;

    HandlerAnswer(OutputStream body) {
        this.body = body;
    }

    @Override
    public InProcessResponse status(int status) {
        verifyHeadOpen("status()");
        if (!StatusCode.isFinal(status) || status > 999) {
            throw new IllegalArgumentException("status " + status + ", expected 200 to 999");
        }
        begun = true;
        head.status(text(status));
        return this;
    }

    @Override
    public InProcessResponse header(String name, String value) {
        verifyHeadOpen("header()");
        begun = true;
        add(head, name, value);
        return this;
    }

    @Override
    public InProcessResponse trailer(String name, String value) {
        trailers = trailers == null ? new FlatHeaders() : trailers;
        add(trailers, name, value);
        return this;
    }

    private static void add(Http2Headers to, String name, String value) {
        OutgoingHeaders.verifyName(name);
        to.add(AsciiString.of(name).toLowerCase(), OutgoingHeaders.verifyValue(name, value));
    }

    private static AsciiString text(int number) {
        return AsciiString.of(Integer.toString(number));
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

    /** Returns status and headers, which are sent now; {@code null} if they have been sent. */
    @Nullable
    Http2Headers takeHead() {
        if (headSent) {
            return null;
        }
        headSent = true;
        if (head.status() == null) {
            head.status(text(200));
        }
        return head;
    }

    /** Returns {@code null} if there are none. */
    @Nullable
    Http2Headers trailers() {
        return trailers;
    }

    /** @throws IllegalStateException if the handler has not responded */
    void verifyBegun() {
        if (!begun) {
            throw new IllegalStateException(
                    "the handler returned without a response, expected status(), a header or a body");
        }
    }
}
