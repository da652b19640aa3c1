package io.lambdadispatcher.worker.blocking;

import java.io.InputStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A request for a handler that may block. Of the handler's thread, except {@link #isCancelled}, which any thread may ask. */
public interface BlockingRequest {
    String method();

    /** Returns the path with the query, as the client sent it; {@code *} for OPTIONS of the server. */
    String path();

    /** Returns {@code http} or {@code https}: how the client came to the dispatcher. */
    String scheme();

    /** Returns host and port that the client asked for. HTTP/1.1 has them in {@code host}. */
    String authority();

    /** Returns the first value of a header, or {@code null} if there is none. @param name in any case */
    @Nullable
    String header(String name);

    /** Returns all values by name, in the order of their first appearance. Names are in lower case. Not modifiable. */
    Map<String, List<String>> headers();

    /**
     * Returns the body, whose methods block until bytes arrive. They throw {@link java.io.IOException} when the body broke off, and
     * {@link java.io.InterruptedIOException} when the thread was interrupted. {@code transferTo} the response's stream passes bytes on without
     * a copy.
     */
    InputStream body();

    /** Returns the trailers by name, as {@link #headers} does. Empty until the body has been read to its end. */
    Map<String, List<String>> trailers();

    /** Returns the time until the dispatcher gives up on the response, zero at least; empty if there is no limit. */
    Optional<Duration> remaining();

    /**
     * Returns what is left until the worker must go; empty while it need not. A handler of a stream without end looks now and then, and ends it
     * in time.
     */
    Optional<Duration> grace();

    /**
     * Calls {@code listener}, once, when the worker begins to drain, with what {@link #grace} has left; immediately if it already drains. On an
     * event loop, which the listener must not block: it sets a flag, or interrupts whoever waits.
     */
    void onDrain(Consumer<Duration> listener);

    /** Returns whether nobody wants the response any more. The thread has been interrupted then. */
    boolean isCancelled();
}
