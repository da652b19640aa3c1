package io.lambdadispatcher.core.spi;

import java.io.IOException;
import java.io.OutputStream;

/**
 * The response of an {@link InProcessHandler}. It ends when the handler returns. Its methods must
 * be called on the handler's thread.
 */
public interface InProcessResponse {
    /**
     * Sets the status. Default: 200.
     *
     * @param status 200 to 999
     * @throws IllegalStateException if the status has been sent, with the body's first bytes
     */
    InProcessResponse status(int status);

    /**
     * Adds a header.
     *
     * @param name sent in lower case
     * @param value text, sent as UTF-8
     * @throws IllegalArgumentException if the header cannot be sent
     * @throws IllegalStateException if the headers have been sent, with the body's first bytes
     */
    InProcessResponse header(String name, String value);

    /**
     * Returns the body. Writing waits while the client has yet to take 256 KiB. Small writes are
     * gathered until {@code flush}, or until the handler returns. Status and headers are sent with
     * the first bytes. A response to HEAD has no body, so what is written is dropped.
     */
    OutputStream body();

    /**
     * Adds a trailer, sent after the body when the handler returns.
     *
     * @throws IllegalArgumentException if the trailer cannot be sent
     */
    InProcessResponse trailer(String name, String value);

    /** Responds with a text in UTF-8 and its {@code content-length}. */
    void respond(int status, String text) throws IOException;

    /** Responds with a body and its {@code content-length}. */
    void respond(int status, String contentType, byte[] body) throws IOException;
}
