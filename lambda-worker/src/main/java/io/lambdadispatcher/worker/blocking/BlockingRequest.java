package io.lambdadispatcher.worker.blocking;

import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A request for a handler that may block. Its methods must be called on the handler's thread,
 * except {@link #isCancelled}, which is for any thread.
 */
public interface BlockingRequest {
    String method();

    /**
     * Returns the path with the query, as the client sent it. It is {@code *} for an OPTIONS
     * request to the server.
     */
    String path();

    /**
     * Returns the scheme that the client used to reach the dispatcher: {@code http} or {@code
     * https}.
     */
    String scheme();

    /**
     * Returns the host and port that the client asked for, which HTTP/1.1 sends as {@code host}.
     */
    String authority();

    /**
     * Returns the first value of a header as text: UTF-8, or ISO 8859-1 if it is not valid UTF-8.
     * {@code null} if there is none.
     *
     * @param name in any case
     */
    @Nullable
    String header(String name);

    /**
     * Returns all values by name, in the order of their first appearance. Names are in lower case,
     * and values are text as in {@link #header}. Not modifiable.
     */
    Map<String, List<String>> headers();

    /**
     * Returns the body. Its methods block until bytes arrive. They throw {@link
     * java.io.IOException} if the body broke off, and {@link java.io.InterruptedIOException} if the
     * thread was interrupted. {@code transferTo} with the response's body as target passes the
     * bytes on without a copy.
     */
    InputStream body();

    /**
     * Returns the trailers by name, as {@link #headers} does. Empty until the body has been read to
     * its end.
     */
    Map<String, List<String>> trailers();

    /**
     * Returns the time that is left until the dispatcher ends the request, zero or more. Empty if
     * there is no limit.
     */
    Optional<Duration> remaining();

    /**
     * Returns the time that is left until the worker breaks the response off because it drains.
     * Empty if the worker does not drain. A handler whose stream never ends checks this from time
     * to time, and ends the stream in time.
     */
    Optional<Duration> grace();

    /**
     * Sets a listener that is called once when the worker begins to drain, with the time that
     * {@link #grace} returns. It is called immediately if the worker already drains. It runs on an
     * event loop, which it must not block: set a flag, or interrupt the thread that waits.
     */
    void onDrain(Consumer<Duration> listener);

    /**
     * Returns whether the response is no longer needed. The handler's thread has been interrupted
     * then.
     */
    boolean isCancelled();
}
