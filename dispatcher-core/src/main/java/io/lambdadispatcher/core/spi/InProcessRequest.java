package io.lambdadispatcher.core.spi;

import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The request of an {@link InProcessHandler}. Its methods must be called on the handler's thread,
 * except {@link #isCancelled}.
 */
public interface InProcessRequest {
    String method();

    /** Returns the path and query, as the client has sent them. */
    String path();

    /** Returns the scheme that the client used to reach the dispatcher. */
    String scheme();

    /** Returns the host and port that the client asked for. */
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
     * Returns the body. Its methods wait for bytes to arrive, and the client waits for them to be
     * read. They throw {@link java.io.IOException} if the request is cancelled, and {@link
     * java.io.InterruptedIOException} if the thread was interrupted. What the handler does not read
     * is dropped.
     */
    InputStream body();

    /** Returns the trailers by name. Empty until the body has been read to its end. */
    Map<String, List<String>> trailers();

    /**
     * Returns the time that is left until the dispatcher ends the request, zero or more. Empty if
     * there is no limit.
     */
    Optional<Duration> remaining();

    /** Returns whether the response is no longer needed. Any thread. */
    boolean isCancelled();
}
