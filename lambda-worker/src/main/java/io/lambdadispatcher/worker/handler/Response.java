package io.lambdadispatcher.worker.handler;

import io.lambdadispatcher.wire.http.FlatHeaders;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;

/**
 * The response to one request. Send it with {@link #respond}, or in parts: {@link #interim} any
 * number of times, {@link #head}, {@link #write} any number of times, {@link #end}. {@link #fail}
 * breaks it off at any point.
 *
 * <p><b>Threading.</b> Any thread, but one call after the other. After a cancellation, all methods
 * do nothing.
 *
 * <p><b>Errors.</b> Wrong calls throw, and release the buffer that they were given:
 * <ul>
 *   <li>{@link IllegalStateException}: the call is out of order, or the body is not as long as
 *       {@code content-length} says. The latter fails the response.
 *   <li>{@link IllegalArgumentException}: the status, a header's name or its value cannot be sent,
 *       or the buffer has been released.
 * </ul>
 *
 * <p>Header names are sent in lower case. A value that is an {@code AsciiString}, or a string whose
 * characters are the bytes of UTF-8, is sent unchanged, and other text is sent as UTF-8. The body
 * that is written to a HEAD request is not sent.
 */
public interface Response {
    /**
     * Sends an interim response, such as 103 (Early Hints).
     *
     * @param head with a {@code :status} of 100 to 199 except 101, not to be changed afterwards
     */
    void interim(Http2Headers head);

    /**
     * Sends the status and the headers.
     *
     * @param head with a {@code :status} of 200 to 999, not to be changed afterwards
     */
    void head(Http2Headers head);

    /** Sends the status without headers. See {@link #head(Http2Headers)}. */
    default void head(int status) {
        head(new FlatHeaders().status(HttpResponseStatus.valueOf(status).codeAsText()));
    }

    /**
     * Appends to the body, without a copy.
     *
     * @param data belongs to the response from now on, even if this method throws. It must be
     *     neither released nor changed, or the response breaks off
     * @return {@link #isWritable}. If it is false, the writer should wait, because further data is
     *     kept in memory
     */
    boolean write(ByteBuf data);

    /** Returns whether little enough waits to be sent. Always false after the end. Any thread. */
    boolean isWritable();

    /**
     * Sets a listener that is called on the event loop each time the response becomes writable
     * again. Replaces the previous listener.
     */
    void onWritable(Runnable listener);

    /** Ends the response without trailers. */
    void end();

    /** Ends the response with trailers. */
    void end(Http2Headers trailers);

    /** Sends a whole response: {@link #head}, {@link #write} and {@link #end} in one call. */
    void respond(Http2Headers head, ByteBuf body);

    /** Sends a whole response without a body: {@link #head} and {@link #end} in one call. */
    void respond(Http2Headers head);

    /** Responds with a text in UTF-8 and its {@code content-length}. */
    default void respond(int status, String text) {
        respond(status, "text/plain; charset=utf-8", text.getBytes(StandardCharsets.UTF_8));
    }

    /** Responds with JSON in UTF-8 and its {@code content-length}. */
    default void json(int status, byte[] json) {
        respond(status, "application/json", json);
    }

    /**
     * Responds with a body and its {@code content-length}.
     *
     * @param body not to be changed afterwards
     */
    default void respond(int status, CharSequence contentType, byte[] body) {
        Http2Headers head = new FlatHeaders()
                .status(HttpResponseStatus.valueOf(status).codeAsText())
                .set(HttpHeaderNames.CONTENT_TYPE, contentType)
                .set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(body.length)));
        respond(head, Unpooled.wrappedBuffer(body));
    }

    /**
     * Breaks the response off. The client receives an error if no head has been sent, and an
     * incomplete response otherwise. Does nothing after the end.
     *
     * @param text sent to the client if no head has been sent, so it must contain nothing secret
     */
    void fail(FailureReason code, String text);
}
