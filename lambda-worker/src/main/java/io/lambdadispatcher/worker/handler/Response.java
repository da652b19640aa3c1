package io.lambdadispatcher.worker.handler;

import io.lambdadispatcher.wire.worker.ErrorCode;
import io.netty.buffer.ByteBuf;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;

/**
 * The response to one request: {@link #interim} any number of times, {@link #head}, {@link #write} any number of times, {@link #end};
 * or {@link #fail} at any point. Calls may come from any thread, but one after the other. Calls out of order throw {@link
 * IllegalStateException} (and release the buffer they were given). After a cancellation all of them do nothing.
 */
public interface Response {
    /** @param head with a {@code :status} of 100 to 199, 101 excepted */
    void interim(Http2Headers head);

    /** @param head with a {@code :status} of 200 to 999; not to be changed afterwards */
    void head(Http2Headers head);

    default void head(int status) {
        head(new DefaultHttp2Headers(false)
                .status(HttpResponseStatus.valueOf(status).codeAsText()));
    }

    /**
     * Appends to the body, by reference.
     *
     * @param octets the response's from now on, even where this throws; its content must not change any more
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

    /**
     * Breaks the response off: the client sees an error instead of a head, or a broken response, never a clean end. Does nothing
     * after the end.
     *
     * @param text seen by the client where no head has been sent: nothing secret
     */
    void fail(ErrorCode code, String text);
}
