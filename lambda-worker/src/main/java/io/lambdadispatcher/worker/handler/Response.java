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
 * The response to one request: {@link #interim} any number of times, {@link #head}, {@link #write} any number of times, {@link #end};
 * or {@link #respond}, which is all of it; or {@link #fail} at any point. Calls may come from any thread, but one after the other. After a
 * cancellation all of them do nothing.
 *
 * <p>Wrong calls throw, and release the buffer they were given. {@link IllegalStateException}: a call out of order, or a body that is not as long
 * as {@code content-length} says, which fails the response. {@link IllegalArgumentException}: a status, a header name or a value that cannot be
 * sent, or a buffer that has been released. Header names are sent in lower case.
 *
 * <p>A handler need not know of HEAD: what it writes to such a request is not sent.
 */
public interface Response {
    /** @param head with a {@code :status} of 100 to 199, 101 excepted; not to be changed afterwards */
    void interim(Http2Headers head);

    /** @param head with a {@code :status} of 200 to 999; not to be changed afterwards */
    void head(Http2Headers head);

    /** {@link #head(Http2Headers)} without headers. */
    default void head(int status) {
        head(new FlatHeaders().status(HttpResponseStatus.valueOf(status).codeAsText()));
    }

    /**
     * Appends to the body, by reference.
     *
     * @param octets the response's from now on, even where this throws: it must neither be released nor changed any more, or the response breaks
     *     off
     * @return {@link #isWritable}; false asks the writer to wait, and what it writes all the same is kept in memory
     */
    boolean write(ByteBuf octets);

    /** Less than a bounded amount waits to be sent. Always false after the end. Any thread. */
    boolean isWritable();

    /**
     * Calls {@code listener} on the event loop each time the response becomes writable again after it was not. Replaces the
     * listener before.
     */
    void onWritable(Runnable listener);

    void end();

    /** Ends the response with trailer fields. */
    void end(Http2Headers trailers);

    /** {@link #head}, {@link #write} and {@link #end} in one. */
    void respond(Http2Headers head, ByteBuf body);

    /** {@link #head} and {@link #end} in one: a response without a body. */
    void respond(Http2Headers head);

    /** Responds with a text in UTF-8 and its {@code content-length}. */
    default void respond(int status, String text) {
        respond(status, "text/plain; charset=utf-8", text.getBytes(StandardCharsets.UTF_8));
    }

    /** Responds with JSON in UTF-8 and its {@code content-length}. */
    default void json(int status, byte[] json) {
        respond(status, "application/json", json);
    }

    /** Responds with a body and its {@code content-length}. @param body not to be changed afterwards */
    default void respond(int status, CharSequence contentType, byte[] body) {
        Http2Headers head = new FlatHeaders()
                .status(HttpResponseStatus.valueOf(status).codeAsText())
                .set(HttpHeaderNames.CONTENT_TYPE, contentType)
                .set(HttpHeaderNames.CONTENT_LENGTH, AsciiString.of(Integer.toString(body.length)));
        respond(head, Unpooled.wrappedBuffer(body));
    }

    /**
     * Breaks the response off: the client sees an error instead of a head, or a broken response, never a clean end. Does nothing
     * after the end.
     *
     * @param text seen by the client where no head has been sent: nothing secret
     */
    void fail(FailureReason code, String text);
}
