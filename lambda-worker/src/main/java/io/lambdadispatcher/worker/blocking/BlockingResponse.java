package io.lambdadispatcher.worker.blocking;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;

/**
 * The response of a handler that may block: status and headers, body, trailers. It ends when the
 * handler returns. Its methods must be called on the handler's thread.
 */
public interface BlockingResponse {
    /**
     * Sends an interim response, such as 103 (Early Hints).
     *
     * @param status 100 to 199, except 101
     * @throws IllegalArgumentException if the status or a header cannot be sent
     */
    void interim(int status, Map<String, String> headers);

    /**
     * Sets the status. Default: 200.
     *
     * @param status 200 to 999
     * @throws IllegalStateException if the status has been sent, with the body's first bytes
     */
    BlockingResponse status(int status);

    /**
     * Adds a header.
     *
     * @param name sent in lower case
     * @param value text, sent as UTF-8
     * @throws IllegalArgumentException if the header cannot be sent
     * @throws IllegalStateException if the headers have been sent, with the body's first bytes
     */
    BlockingResponse header(String name, String value);

    /**
     * Returns the body. Writing blocks while too many bytes wait to be sent. Small writes are
     * gathered until {@code flush}, or until the handler returns. Status and headers are sent
     * before the first bytes.
     */
    OutputStream body();

    /**
     * Adds a trailer, sent after the body when the handler returns.
     *
     * @throws IllegalArgumentException if the trailer cannot be sent
     */
    BlockingResponse trailer(String name, String value);

    /** Responds with a text in UTF-8 and its {@code content-length}. */
    void respond(int status, String text) throws IOException;

    /** Responds with a body and its {@code content-length}. */
    void respond(int status, String contentType, byte[] body) throws IOException;

    /** Responds with JSON in UTF-8 and its {@code content-length}. */
    default void json(int status, byte[] json) throws IOException {
        respond(status, "application/json", json);
    }
}
